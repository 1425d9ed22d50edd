//! What is kept of a flow: its counters, and what the verdicts on its losses need.

use crate::packet::{Others, Packet, PacketMut, PacketRef, Transmission};
use crate::recorder::{Drop, Recorder};
use retx_record::counters::{FlowCounters, IdleEnd};
use retx_record::tables::{self, Unacked, packet_number};
use retx_record::truth::{Arrived, Correction, Retransmission, SegmentCopy, Truth};
use retx_tcp::{Connection, PlainTransmit};
use retx_units::Time;

mod episode;

use episode::LastEpisode;

/// A flow's books. What each segment needs comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Ledger {
    /// Index of the flow.
    pub flow: u32,
    /// What the sender is reacting to.
    pub impulse: IdleEnd,
    /// There was nothing to send.
    pub drained: bool,
    /// What was lost or sent again may yet have to be told of: else nobody looks at `truth`.
    at_issue: bool,
    /// When data were sent last; [`Time::NEVER`] before.
    last_data: Time,
    /// Position after the last ever sent, on this connection.
    sent_to: u64,
    /// What is counted.
    pub counters: FlowCounters,
    /// Losses and retransmissions of this connection, once there are any.
    truth: Option<Box<Truth>>,
    /// Rows of the `segments` table not yet acknowledged.
    unacked: Option<Box<Unacked>>,
    /// The last episode.
    episode: Option<LastEpisode>,
    /// When the initiator first opened; [`Time::NEVER`] before.
    start: Time,
    /// When the receiving application read the last byte; [`Time::NEVER`] before.
    finish: Time,
}

/// The receiving end, as the verdicts ask it.
struct Receiver<'a>(&'a Connection);

impl Arrived for Receiver<'_> {
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.0.first_missing(from, to)
    }
}

impl Ledger {
    /// Nothing has happened yet.
    pub fn new(flow: u32) -> Self {
        Self {
            flow,
            impulse: IdleEnd::Window,
            drained: false,
            at_issue: false,
            truth: None,
            unacked: None,
            last_data: Time::NEVER,
            sent_to: 0,
            counters: FlowCounters::default(),
            episode: None,
            start: Time::NEVER,
            finish: Time::NEVER,
        }
    }

    /// A connection begins; what is still on its way of the one before is of no interest any more.
    pub fn begin_connection(&mut self, now: Time) {
        self.start = self.start.min(now);
        self.sent_to = 0;
        self.truth = None;
        self.at_issue = false;
        self.episode = None;
        self.unacked = None;
    }

    /// When the initiator first opened.
    pub fn start(&self) -> Option<Time> {
        (self.start != Time::NEVER).then_some(self.start)
    }

    /// When the receiving application read the last byte.
    pub fn finish(&self) -> Option<Time> {
        (self.finish != Time::NEVER).then_some(self.finish)
    }

    /// The receiving application has read the last byte.
    pub fn note_finish(&mut self, now: Time) {
        self.finish = self.finish.min(now);
    }

    /// Something is to be noted in it.
    fn truth(&mut self) -> &mut Truth {
        self.at_issue = true;
        self.truth.get_or_insert_default()
    }

    /// The data sender sends a segment. Completes the packet that carries it.
    #[inline]
    pub fn sent(
        &mut self,
        now: Time,
        retransmission: bool,
        ends: [&Connection; 2],
        packet: &mut PacketMut<'_>,
    ) {
        let counters = &mut self.counters;
        packet.set_copy(counters.frames_sent);
        counters.frames_sent += 1;
        let end = packet.end();
        if end == packet.position {
            return;
        }
        assert!(
            retransmission == (packet.position < self.sent_to),
            "what counts as a retransmission"
        );
        if packet.payload_bytes() > 0 {
            counters.segments_sent += 1;
            if now != self.last_data {
                self.note_pause(now, ends[0]);
            }
        }
        if retransmission {
            self.retransmitted(ends[1], packet);
        }
        self.sent_to = self.sent_to.max(end);
    }

    /// The data sender sends a plain segment; returns its number.
    #[inline(always)]
    pub fn sent_plain(&mut self, now: Time, sent: &PlainTransmit, sender: &Connection) -> u64 {
        let counters = &mut self.counters;
        let copy = counters.frames_sent;
        counters.frames_sent += 1;
        if sent.segment.payload_bytes > 0 {
            assert!(sent.position >= self.sent_to, "what counts as a retransmission");
            self.sent_to = sent.position + u64::from(sent.segment.payload_bytes);
            counters.segments_sent += 1;
            if now != self.last_data {
                self.note_pause(now, sender);
            }
        }
        copy
    }

    /// Data are sent: was the time since the last longer than a pause may be?
    #[inline]
    fn note_pause(&mut self, now: Time, sender: &Connection) {
        let last = std::mem::replace(&mut self.last_data, now);
        let drained = std::mem::take(&mut self.drained);
        // Before the first sample this is the initial RTO, backed off if the SYN was lost.
        let longest = sender.srtt().unwrap_or_else(|| sender.rto());
        let pause = now.since(last);
        if last != Time::NEVER && pause > longest {
            let end = if drained { IdleEnd::Application } else { self.impulse };
            self.counters.idle.add(pause, end);
        }
    }

    #[cold]
    fn retransmitted(&mut self, peer: &Connection, packet: &mut PacketMut<'_>) {
        let copy = copy_of(packet, packet.copy());
        let sent_to = self.sent_to;
        let row = self.episode.and_then(LastEpisode::row);
        // Statistics are about data segments; a FIN alone is none.
        let counted = packet.payload_bytes() > 0;
        let again = Retransmission { copy, sent_to, episode: row, counted };
        let unnecessary = self.truth().retransmitted(again, &Receiver(peer));
        packet.set_transmission(if unnecessary {
            Transmission::Unnecessary
        } else {
            Transmission::Necessary
        });
        if counted {
            self.counters.segments_retransmitted += 1;
            self.counters.retransmissions_unnecessary += u64::from(unnecessary);
        }
    }

    /// The same segment in the tables.
    pub fn write_sent(
        &mut self,
        now: Time,
        smss: u32,
        packet: &mut PacketMut<'_>,
        to: &mut Recorder,
    ) {
        let retransmission = packet.transmission() != Transmission::First;
        if retransmission
            && let Some(row) = self.episode.and_then(LastEpisode::row)
            && let Some(episodes) = &mut to.tables.episodes
        {
            let episode = episodes.row_mut(row);
            episode.retransmitted += 1;
            episode.unnecessary += u64::from(packet.transmission() == Transmission::Unnecessary);
        }
        let Some(segments) = &mut to.tables.segments else { return };
        let end = packet.end();
        let row = segments.push(tables::Segment {
            flow: self.flow,
            sent: now,
            seq: packet.position,
            length_bytes: packet.payload_bytes(),
            packet_number: packet_number(packet.position, smss),
            retransmission,
            cause: self.episode.filter(|_| retransmission).map(|episode| episode.kind),
        });
        packet.set_row(row);
        self.unacked.get_or_insert_default().push(end, row, retransmission);
    }

    /// A segment of the sender has reached the receiver, which may have thrown it away.
    // Written out where segments arrive: nearly all are taken, and nothing is told of them.
    #[inline(always)]
    pub fn arrived(&mut self, packet: PacketRef<'_>, receiver: &Connection, to: &mut Recorder) {
        let end = packet.end();
        if receiver.rcv_nxt() < end && !receiver.has_received(packet.position, end) {
            self.refused(packet, to);
        } else if self.at_issue {
            self.truth().delivered(packet_copy(packet));
        } else {
            debug_assert!(self.has_settled_all(), "an arrival may be asked for");
        }
    }

    /// Nothing that was lost or sent again has to be told of any more.
    fn has_settled_all(&self) -> bool {
        self.truth.as_ref().is_none_or(|truth| truth.kept() == 0)
    }

    #[cold]
    fn refused(&mut self, packet: PacketRef<'_>, to: &mut Recorder) {
        to.refused(packet);
        if packet.others() == Others::OnTheirWay {
            self.truth().refused_so_far(packet_copy(packet));
            return;
        }
        self.truth().refused(packet_copy(packet), &mut to.corrections);
        self.correct(to);
    }

    /// A packet of this connection was dropped.
    pub fn dropped(
        &mut self,
        packet: PacketRef<'_>,
        drop: &Drop,
        ack: Option<u64>,
        to: &mut Recorder,
    ) {
        if packet.carries_data_direction() {
            if packet.seq_len() > 0 {
                let corrections = &mut to.corrections;
                if packet.others() == Others::Arrived {
                    // The receiver had thrown the other copy away.
                    self.truth().refused(packet_copy(packet), corrections);
                } else {
                    self.truth().dropped(packet_copy(packet), drop.cause, corrections);
                }
                self.correct(to);
            }
        } else if let Some(ack) = ack {
            self.truth().ack_dropped(ack);
        }
    }

    /// The last of a packet that the network has made more of is gone, and nothing has been dropped
    /// by that: some of it has arrived, and may all have been thrown away.
    pub fn let_go(&mut self, packet: PacketRef<'_>, to: &mut Recorder) {
        if self.has_refused(packet) {
            self.truth().refused(packet_copy(packet), &mut to.corrections);
            self.correct(to);
        }
    }

    fn has_refused(&self, packet: PacketRef<'_>) -> bool {
        packet.carries_data_direction()
            && self.truth.as_ref().is_some_and(|truth| truth.has_refused(packet.copy()))
    }

    /// True when a copy of a dropped packet that the network has made brings, or has brought, what
    /// it carried.
    pub fn is_brought_otherwise(&self, packet: PacketRef<'_>) -> bool {
        match packet.others() {
            Others::None => false,
            Others::OnTheirWay => true,
            Others::Arrived => !self.has_refused(packet),
        }
    }

    fn correct(&mut self, to: &mut Recorder) {
        for correction in to.corrections.drain(..) {
            match correction {
                Correction::Necessary { number, episode, counted } => {
                    if counted {
                        self.counters.retransmissions_unnecessary -= 1;
                    }
                    if let (Some(row), Some(episodes)) = (episode, &mut to.tables.episodes) {
                        episodes.row_mut(row).unnecessary -= 1;
                    }
                    if let Some(capture) = &mut to.capture {
                        capture.was_necessary(self.flow, number);
                    }
                }
                Correction::Cause { episode, belief, cause, counted } => {
                    if counted {
                        self.counters.episodes.correct(belief, cause);
                    }
                    if let (Some(row), Some(episodes)) = (episode, &mut to.tables.episodes) {
                        let row = episodes.row_mut(row);
                        row.cause = cause;
                        row.sub_cause = None;
                    }
                }
            }
        }
    }

    /// The sender has taken an acknowledgment.
    #[inline]
    pub fn acknowledged(&mut self, now: Time, sender: &Connection, to: &mut Recorder) {
        let snd_una = sender.snd_una();
        if self.at_issue {
            self.advance(snd_una, sender);
        }
        if let Some(segments) = &mut to.tables.segments
            && let Some(unacked) = &mut self.unacked
        {
            unacked.acknowledged(now, snd_una, segments);
        }
    }

    #[inline(never)]
    fn advance(&mut self, snd_una: u64, sender: &Connection) {
        let truth = self.truth();
        // An episode may yet be about what a probe has repaired.
        truth.advance(sender.open_probe().map_or(snd_una, |probe| probe.min(snd_una)));
        self.at_issue = truth.kept() > 0;
    }

    /// Statistics start now: returns what has been counted so far, to be taken off in the end.
    pub fn begin_statistics(&mut self, now: Time) -> FlowCounters {
        self.counters.cwnd.settle(now);
        self.counters.undelivered.settle(now);
        self.counters.restart_maxima();
        if let Some(truth) = &mut self.truth {
            truth.stop_counting();
        }
        self.counters.clone()
    }
}

fn packet_copy(packet: PacketRef<'_>) -> SegmentCopy {
    copy_of(&packet, packet.copy())
}

fn copy_of(packet: &Packet, number: u64) -> SegmentCopy {
    SegmentCopy { number, from: packet.position, to: packet.end() }
}
