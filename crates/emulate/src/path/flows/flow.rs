//! One TCP flow: handling of its packets and of the states of its sender's socket.

use super::{Content, Context};
use crate::path::InspectedPacket;
use crate::path::limits::{Limiter, SenderSnapshot};
use crate::path::observed::{Acknowledgment, ObservedFlow};
use crate::path::transitions::Query;
use crate::socket_state::SocketState;
use retx_record::flow::SentSegment;
use retx_record::tables::{self, Tables};
use retx_record::truth::SegmentCopy;
use retx_sim::Transmission;
use retx_sim::engine::ExternalPacket;
use retx_sim::plan::Side;
use retx_units::{SeqNr, Time};
use retx_wire::{Flags, Segment};
use std::collections::BTreeMap;

/// One TCP flow: its record, its limiter, and the positions of its connection.
#[derive(Debug)]
pub(super) struct Flow {
    pub opener: Side,
    pub observed: ObservedFlow,
    pub limiter: Limiter,
    pub connection: u32,
    /// Streams of the data sender and of the receiver.
    pub streams: [Stream; 2],
    /// Port of the opener of the current connection.
    port: u16,
    /// Earlier connections by the opener's port. Their ends may still send packets, such as the FIN
    /// and its acknowledgment, when the next connection is open.
    earlier: BTreeMap<u16, EarlierConnection>,
}

/// Connection that another one of the flow has followed.
#[derive(Debug, Clone, Copy)]
struct EarlierConnection {
    number: u32,
    streams: [Stream; 2],
}

/// Stream sent by one end of the connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stream {
    initial: Option<SeqNr>,
    /// Position after the highest one ever sent.
    pub snd_max: u64,
}

impl Stream {
    const NONE: Self = Self { initial: None, snd_max: 0 };

    /// Positions of the segment's first byte and after its last one.
    fn range(&mut self, segment: &Segment) -> (u64, u64) {
        // If no SYN was observed, the stream begins with the first segment.
        let initial = *self.initial.get_or_insert(segment.seq);
        // A window probe may have the sequence number before the first unacknowledged one, hence
        // `max`.
        let position = segment.seq.unwrap_near(initial, self.snd_max).max(0) as u64;
        (position, position + u64::from(segment.seq_len()))
    }
}

impl Flow {
    pub const fn new(opener: Side, observed: ObservedFlow, limiter: Limiter) -> Self {
        let streams = [Stream::NONE; 2];
        let earlier = BTreeMap::new();
        Self { opener, observed, limiter, connection: 0, streams, port: 0, earlier }
    }

    pub fn on_sent(
        &mut self,
        (now, seen): (Time, &InspectedPacket),
        arriving: &mut ExternalPacket<'_>,
        context: &mut Context<'_>,
    ) -> Option<Content> {
        let segment = &seen.segment;
        let from = seen.destination.other();
        if self.take_late(seen, arriving) {
            return None;
        }
        if segment.flags.contains(Flags::SYN) {
            self.note_syn(now, seen, context);
        }
        let stream = &mut self.streams[from as usize];
        let (position, end) = stream.range(segment);
        let length = segment.seq_len();
        let snd_max = stream.snd_max;
        // The socket is queried at each retransmission, because the socket's state shows which
        // mechanism caused the retransmission.
        if from == Side::Sender
            && (position < snd_max && length > 0)
            && let Some(state) = context.senders.query(seen.flow)
        {
            self.on_state(now, Some(position), &state, context.tables);
        }
        self.streams[from as usize].snd_max = snd_max.max(end);
        arriving.position = position;
        // Copies are numbered from 0, so the number of a copy is the number of earlier ones.
        arriving.copy_number = self.observed.record.counters.frames_sent;
        arriving.connection = self.connection;
        if from == Side::Receiver {
            if length > 0 && position < snd_max {
                arriving.transmission = Transmission::Again;
            }
            return self.acknowledging(now, seen, arriving, context.tables);
        }
        self.observed.record.count_packet();
        if length == 0 {
            return None;
        }
        let copy = SegmentCopy { number: arriving.copy_number, from: position, to: end };
        let sent = SentSegment { copy, payload_bytes: segment.payload_bytes };
        (arriving.transmission, arriving.table_row) =
            self.observed.on_sent(now, sent, snd_max, context.tables);
        Some(Content::Segment(copy))
    }

    /// Handles the state of the sender's socket, queried at a retransmission or at another time.
    pub fn on_state(
        &mut self,
        at: Time,
        again: Option<u64>,
        state: &SocketState,
        tables: &mut Tables,
    ) {
        let acked = self.observed.snd_una();
        let snd_max = self.streams[Side::Sender as usize].snd_max;
        let query = Query {
            at,
            previous_una: acked,
            snd_una: acked,
            snd_max,
            retransmitted_position: again,
        };
        self.observed.on_state(state, &query, tables);
    }

    /// True if the sender's limit may have changed without an acknowledgment when it sent this
    /// segment.
    pub fn limit_may_have_ended(&self, transmission: Transmission) -> bool {
        self.limiter.may_end_at(self.observed.record.counters.limited_by.limit(), transmission)
    }

    /// Records the limit of the sender, given the state of its socket.
    pub fn note_limit(&mut self, now: Time, state: &SocketState, in_flight: &mut [u64]) {
        // The socket may have sent packets that the path has not received yet.
        let snd_max = self.streams[Side::Sender as usize].snd_max.max(1 + state.unique_bytes_sent);
        let acked = self.observed.snd_una();
        let flight_size = snd_max - acked.min(snd_max);
        let snapshot = SenderSnapshot { now, state, flight_size, snd_una: acked };
        self.limiter.record_limit(&snapshot, in_flight, &mut self.observed.record);
    }

    /// Records that a segment has reached the receiver.
    pub fn on_arrived(&mut self, now: Time, copy: SegmentCopy) {
        self.observed.on_arrived(copy);
        self.limiter.on_arrived(now, &mut self.observed.record);
        // The life of a flow ends with the arrival of its last byte.
        if self.limiter.end_of_flow().is_some_and(|end| self.observed.has_arrived_before(end)) {
            self.observed.record.counters.limited_by.end_life(now);
        }
    }

    /// Records the state of the sender.
    pub fn sample(&self, time: Time, state: &SocketState, tables: &mut Tables) {
        let snd_max = self.streams[Side::Sender as usize].snd_max;
        if let Some(samples) = tables.samples.as_mut().filter(|_| !state.is_closed()) {
            samples.push(self.observed.sample(time, snd_max, state));
        }
    }

    /// Records a packet sent by the data receiver.
    fn acknowledging(
        &mut self,
        now: Time,
        seen: &InspectedPacket,
        arriving: &mut ExternalPacket<'_>,
        tables: &mut Tables,
    ) -> Option<Content> {
        let flags = seen.segment.flags;
        self.observed.record.counters.acks_sent += u64::from(is_pure_ack(&seen.segment));
        let sender = self.streams[Side::Sender as usize];
        // Nothing can be acknowledged before the data sender's first segment.
        let initial = sender.initial.filter(|_| flags.contains(Flags::ACK))?;
        let position = |number: SeqNr| number.unwrap_near(initial, sender.snd_max).max(0) as u64;
        let ack = position(seen.segment.ack);
        if self.opener == Side::Receiver && !flags.contains(Flags::SYN) {
            self.limiter.on_client_connected(now, &mut self.observed.record);
        }
        let known = [self.observed.snd_una(), sender.snd_max];
        self.limiter.on_ack_sent(now, ack, known, &mut self.observed.record);
        let mut selective = [(0, 0); 4];
        for (room, block) in selective.iter_mut().zip(seen.segment.options.sack.as_slice()) {
            *room = (position(block.left), position(block.right));
        }
        if let Some(acks) = &mut tables.acks {
            let window_bytes = seen.window_bytes;
            let row = acks.push(tables::Ack { flow: seen.flow, sent: now, ack, window_bytes });
            arriving.table_row = Some(row);
        }
        Some(Content::Ack(Acknowledgment { cumulative: ack, sack_blocks: selective }))
    }

    /// Handles a packet of an earlier connection; false if it belongs to the current one. Such a
    /// packet is counted, but is none of the segments and acknowledgments that the record follows.
    fn take_late(&mut self, seen: &InspectedPacket, arriving: &mut ExternalPacket<'_>) -> bool {
        let (segment, from) = (&seen.segment, seen.destination.other());
        let Some(earlier) = self.earlier.get_mut(&seen.opener_port) else { return false };
        let stream = &mut earlier.streams[from as usize];
        let opens = segment.flags.contains(Flags::SYN) && from == self.opener;
        // The opener uses the port for a new connection.
        if opens && stream.initial != Some(segment.seq) {
            return false;
        }
        let (position, end) = stream.range(segment);
        arriving.connection = earlier.number;
        arriving.position = position;
        arriving.copy_number = self.observed.record.counters.frames_sent;
        if end > position && position < stream.snd_max {
            arriving.transmission = Transmission::Again;
        }
        stream.snd_max = stream.snd_max.max(end);
        if from == Side::Sender {
            self.observed.record.count_packet();
        } else {
            self.observed.record.counters.acks_sent += u64::from(is_pure_ack(segment));
        }
        true
    }

    /// Handles a SYN. A SYN with a new sequence number begins a connection.
    fn note_syn(&mut self, now: Time, seen: &InspectedPacket, context: &mut Context<'_>) {
        let (number, from) = (seen.segment.seq, seen.destination.other());
        // A retransmitted SYN opens no connection.
        if self.streams[from as usize].initial == Some(number) {
            return;
        }
        if from == self.opener {
            self.keep_earlier(seen.opener_port);
        }
        // Positions restart at the new initial sequence number.
        self.streams[from as usize] = Stream { initial: Some(number), snd_max: 0 };
        if from == self.opener {
            self.connection += 1;
            self.streams[from.other() as usize] = Stream::default();
            self.observed.begin_connection(now, context.tables);
            self.limiter.begin_connection(self.connection);
        }
        if from == self.opener && from == Side::Receiver {
            // The stored socket is that of the previous connection. The worker passes the new one
            // later, before the sender's first transmission.
            context.senders.close_socket(seen.flow);
        }
    }

    /// Moves the current connection to the earlier ones, when the opener begins one at this port.
    fn keep_earlier(&mut self, port: u16) {
        let before = std::mem::replace(&mut self.port, port);
        if self.connection > 0 {
            let earlier = EarlierConnection { number: self.connection, streams: self.streams };
            self.earlier.insert(before, earlier);
        }
        self.earlier.remove(&port);
    }
}

/// True for an acknowledgment alone. Segments of a handshake and requests also acknowledge, but do
/// not count as such.
fn is_pure_ack(segment: &Segment) -> bool {
    let control = Flags::SYN.with(Flags::FIN).with(Flags::RST);
    segment.seq_len() == 0 && segment.flags.0 & control.0 == 0
}
