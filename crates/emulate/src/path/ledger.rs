//! What the way between the hosts has seen of each flow.

use super::Seen;
use retx_sim::Transmission;
use retx_sim::engine::Arriving;
use retx_sim::plan::Side;
use retx_units::SeqNr;
use retx_wire::{Flags, Segment};

/// Counts of a flow's packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// All packets of the data sender.
    pub frames_sent: u64,
    /// Its data segments, retransmissions included.
    pub segments_sent: u64,
    /// Of these, those that carry data sent before.
    pub segments_retransmitted: u64,
    /// Pure acknowledgments of the data receiver.
    pub acks_sent: u64,
}

impl FlowCounts {
    /// What was counted after `start`.
    #[must_use]
    pub const fn since(&self, start: &Self) -> Self {
        Self {
            frames_sent: self.frames_sent - start.frames_sent,
            segments_sent: self.segments_sent - start.segments_sent,
            segments_retransmitted: self.segments_retransmitted - start.segments_retransmitted,
            acks_sent: self.acks_sent - start.acks_sent,
        }
    }
}

/// What is known of all flows.
#[derive(Debug, Default)]
pub struct Ledger {
    flows: Vec<Flow>,
    /// The counts at the end of the warm-up.
    baseline: Vec<FlowCounts>,
    /// Packets that go to no host, or are no sound IPv4 packets.
    pub unroutable: u64,
}

#[derive(Debug, Clone, Copy)]
struct Flow {
    opener: Side,
    counts: FlowCounts,
    connection: u32,
    /// What the data sender, then the receiver, sends.
    streams: [Stream; 2],
}

/// What one end has sent on the connection.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    initial: Option<SeqNr>,
    /// Position after the last ever sent.
    sent_to: u64,
}

impl Ledger {
    /// Nothing seen yet, of flows opened by these ends.
    pub fn new(openers: impl Iterator<Item = Side>) -> Self {
        let flow = |opener| Flow {
            opener,
            counts: FlowCounts::default(),
            connection: 0,
            streams: [Stream::default(); 2],
        };
        let flows: Vec<Flow> = openers.map(flow).collect();
        let baseline = vec![FlowCounts::default(); flows.len()];
        Self { flows, baseline, unroutable: 0 }
    }

    /// Statistics start now.
    pub fn begin_statistics(&mut self) {
        self.baseline = self.flows.iter().map(|flow| flow.counts).collect();
    }

    /// The counts of each flow, from the end of the warm-up on.
    pub fn counts(&self) -> Vec<FlowCounts> {
        let flows = self.flows.iter().zip(&self.baseline);
        flows.map(|(flow, start)| flow.counts.since(start)).collect()
    }

    /// Counts a packet; returns it as the engine takes it, and the host that it goes to.
    pub fn arriving<'s>(&mut self, seen: &'s Seen) -> (Arriving<'s>, usize) {
        let mut arriving = Arriving {
            route: seen.route,
            flow: seen.flow,
            to: seen.to,
            segment: &seen.segment,
            bytes: seen.bytes,
            ecn: seen.ecn,
            position: 0,
            copy: 0,
            connection: 1,
            transmission: Transmission::First,
            row: None,
        };
        if let Some(flow) = self.flows.get_mut(seen.flow as usize) {
            flow.sent(seen, &mut arriving);
        }
        (arriving, seen.host)
    }
}

impl Flow {
    fn sent(&mut self, seen: &Seen, arriving: &mut Arriving<'_>) {
        let segment = &seen.segment;
        let from = seen.to.other();
        if segment.flags.contains(Flags::SYN) {
            self.note_syn(segment, from);
        }
        let stream = &mut self.streams[from as usize];
        let initial = *stream.initial.get_or_insert(segment.seq);
        // A probe of the window may lie one before what is acknowledged.
        let position = segment.seq.unwrap_near(initial, stream.sent_to).max(0) as u64;
        let length = segment.seq_len();
        let again = length > 0 && position < stream.sent_to;
        stream.sent_to = stream.sent_to.max(position + u64::from(length));
        arriving.position = position;
        arriving.copy = self.counts.frames_sent;
        arriving.connection = self.connection;
        if again {
            arriving.transmission = Transmission::Again;
        }
        let counts = &mut self.counts;
        if from == Side::Sender {
            counts.frames_sent += 1;
            if segment.payload_bytes > 0 {
                counts.segments_sent += 1;
                counts.segments_retransmitted += u64::from(again);
            }
        } else {
            let control = Flags::SYN.with(Flags::FIN).with(Flags::RST);
            counts.acks_sent += u64::from(length == 0 && segment.flags.0 & control.0 == 0);
        }
    }

    /// A SYN with another number than before begins a connection.
    fn note_syn(&mut self, segment: &Segment, from: Side) {
        let stream = &mut self.streams[from as usize];
        if stream.initial == Some(segment.seq) {
            return;
        }
        *stream = Stream { initial: Some(segment.seq), sent_to: 0 };
        if from == self.opener {
            self.connection += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_wire::Ecn;

    fn seen(to: Side, seq: u32, payload: u32, flags: Flags) -> Seen {
        let segment =
            Segment { seq: SeqNr(seq), payload_bytes: payload, flags, ..Segment::default() };
        Seen {
            route: 0,
            flow: 0,
            to,
            host: 1,
            segment,
            bytes: segment.packet_bytes(),
            ecn: Ecn::NotEct,
            from_opener: to == Side::Receiver,
        }
    }

    #[test]
    fn positions_wrap_and_retransmissions_are_known() {
        let mut ledger = Ledger::new([Side::Sender].into_iter());
        let start = u32::MAX - 1000;
        let mut position = |seq, payload, flags| {
            let seen = seen(Side::Receiver, seq, payload, flags);
            let (arriving, _) = ledger.arriving(&seen);
            (arriving.position, arriving.transmission, arriving.connection)
        };
        let first = start.wrapping_add(1);
        assert_eq!(position(start, 0, Flags::SYN), (0, Transmission::First, 1));
        assert_eq!(position(first, 0, Flags::ACK), (1, Transmission::First, 1));
        assert_eq!(position(first, 900, Flags::ACK), (1, Transmission::First, 1));
        let second = first.wrapping_add(900);
        assert_eq!(position(second, 900, Flags::ACK), (901, Transmission::First, 1));
        assert_eq!(position(first, 900, Flags::ACK), (1, Transmission::Again, 1));
        let third = second.wrapping_add(900);
        assert_eq!(position(third, 0, Flags::ACK.with(Flags::FIN)).0, 1801);
        assert_eq!(position(77, 0, Flags::SYN), (0, Transmission::First, 2));
        ledger.arriving(&seen(Side::Sender, 5, 0, Flags::ACK.with(Flags::SYN)));
        ledger.arriving(&seen(Side::Sender, 6, 0, Flags::ACK));
        let counts = ledger.counts()[0];
        let expected = FlowCounts {
            frames_sent: 7,
            segments_sent: 3,
            segments_retransmitted: 1,
            acks_sent: 1,
        };
        assert_eq!(counts, expected);
    }
}
