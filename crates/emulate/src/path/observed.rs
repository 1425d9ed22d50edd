//! Record of a flow, computed from passing packets and from queries of its sender's socket.
//!
//! In a simulation the two connections update the [`FlowRecord`]. In an emulation, a segment counts
//! as arrived when it leaves the network at the receiver's host. An acknowledgment counts as
//! received when it leaves the network at the sender's host. The simulator's estimator computes the
//! smoothed RTT from the samples that Linux would take ([`RoundTrips`]). The losses that the sender
//! has detected, and its window, are read from its socket ([`TransitionDetector`]).

mod episodes;
mod round_trips;

use super::transitions::{Finding, Query, TransitionDetector};
use crate::socket_state::SocketState;
use retx_record::flow::{FlowRecord, SentSegment};
use retx_record::tables::Tables;
use retx_record::truth::{ArrivedData, SegmentCopy};
use retx_sim::Transmission;
use retx_tcp::Ranges;
use retx_tcp::congestion_control::CongestionControl;
use retx_tcp::rto::{self, Estimator, Limits};
use retx_units::{Duration, Time};
use round_trips::RoundTrips;

/// State of a flow that is observed on the path.
#[derive(Debug)]
pub struct ObservedFlow {
    /// Record of the flow.
    pub record: FlowRecord,
    /// Payload of a full segment.
    smss: u32,
    tcp: retx_tcp::Config,
    /// True if the congestion control, like BBR, also sets the window during a recovery.
    models_path: bool,
    /// True if the flow's sender answers requests.
    answers: bool,
    open: Open,
    /// True until the first data are sent on this connection.
    fresh: bool,
    /// Bytes acknowledged on earlier connections.
    earlier_bytes: u64,
    findings: Vec<Finding>,
}

/// State of the open connection.
#[derive(Debug)]
struct Open {
    received: Received,
    estimator: rto::State,
    round_trips: RoundTrips,
    /// Position before which everything is acknowledged.
    acknowledged: u64,
    /// Position after the highest byte of data ever sent.
    data_to: u64,
    watch: TransitionDetector,
}

/// Ranges that have reached the receiver.
#[derive(Debug, Default)]
struct Received(Ranges);

impl ArrivedData for Received {
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.0.first_gap(from, to)
    }
}

/// Acknowledgment as its packet states it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Acknowledgment {
    /// Position before which everything has arrived.
    pub cumulative: u64,
    /// SACK blocks; empty ones are unused.
    pub sack_blocks: [(u64, u64); 4],
}

impl Open {
    fn new(tcp: &retx_tcp::Config) -> Self {
        Self {
            received: Received::default(),
            estimator: tcp.rto.build(tcp),
            round_trips: RoundTrips::default(),
            acknowledged: 0,
            data_to: 1,
            watch: TransitionDetector::default(),
        }
    }

    /// Bytes of data acknowledged.
    fn acked_bytes(&self) -> u64 {
        // SYN and FIN occupy positions, but are not data.
        self.acknowledged.min(self.data_to).saturating_sub(1)
    }
}

impl ObservedFlow {
    /// Creates the observation of a flow whose full segments carry `smss` bytes.
    pub fn new(flow: u32, tcp: &retx_tcp::Config, smss: u32) -> Self {
        Self {
            record: FlowRecord::new(flow),
            smss,
            tcp: tcp.clone(),
            models_path: tcp.congestion_control.build(tcp).models_path(),
            answers: false,
            open: Open::new(tcp),
            fresh: true,
            earlier_bytes: 0,
            findings: Vec::new(),
        }
    }

    /// Marks the sender as answering requests. When all its data are acknowledged, it may be
    /// waiting for the next request.
    pub const fn mark_as_server(&mut self) {
        self.answers = true;
    }

    /// Begins the observation of a new connection.
    pub fn begin_connection(&mut self, now: Time, tables: &mut Tables) {
        self.end_observation(now, tables);
        self.earlier_bytes += self.open.acked_bytes();
        self.open = Open::new(&self.tcp);
        self.fresh = true;
        self.record.begin_connection(now);
    }

    /// Records a segment that the sender sends; before it, the sender had sent up to `snd_max`.
    /// Returns the kind of transmission and, if the table of segments is recorded, the segment's
    /// row.
    pub fn on_sent(
        &mut self,
        now: Time,
        segment: SentSegment,
        snd_max: u64,
        tables: &mut Tables,
    ) -> (Transmission, Option<u32>) {
        let SegmentCopy { from, to, .. } = segment.copy;
        if segment.payload_bytes > 0 {
            self.open.data_to = self.open.data_to.max(from + u64::from(segment.payload_bytes));
            // The program writes a file as fast as the socket accepts it, so the sender lacks data
            // only between files. A server also lacks data between requests.
            let fresh = std::mem::take(&mut self.fresh);
            let is_answered = self.answers && self.open.acknowledged >= snd_max;
            self.record.set_drained(fresh || is_answered);
        }
        let again = from < snd_max;
        if to > snd_max {
            // A segment that contains retransmitted bytes yields no RTT sample (Karn's algorithm).
            self.open.round_trips.on_sent(to, (!again).then_some(now));
        }
        if again {
            self.open.round_trips.on_retransmitted(from, to.min(snd_max));
        }
        let Open { estimator, received, .. } = &self.open;
        let longest = || estimator.srtt().unwrap_or(self.tcp.initial_rto);
        let transmission = self.record.on_sent(now, segment, longest, received);
        let row = self.record.write_sent((now, self.smss), segment, transmission, tables);
        (transmission, row)
    }

    /// Records that a segment has reached the receiver.
    pub fn on_arrived(&mut self, copy: SegmentCopy) {
        self.open.received.0.insert(copy.from, copy.to);
        // The emulator does not know here whether the copy is a retransmission. With `true`, the
        // record looks it up.
        self.record.on_arrived(|| (copy, true));
    }

    /// True once everything before this position has reached the receiver.
    pub fn has_arrived_before(&self, position: u64) -> bool {
        self.open.received.0.first_gap(0, position).is_none()
    }

    /// Records that an acknowledgment has reached the sender. The sender has sent up to `snd_max`,
    /// and `state` is the state of its socket after the acknowledgment.
    pub fn on_acknowledged(
        &mut self,
        now: Time,
        (ack, snd_max): (&Acknowledgment, u64),
        state: Option<&SocketState>,
        tables: &mut Tables,
    ) {
        self.record.note_sender_wakes();
        let acked_before = self.open.acknowledged;
        // An acknowledgment of bytes that were never sent is ignored.
        let acked =
            if ack.cumulative <= snd_max { ack.cumulative.max(acked_before) } else { acked_before };
        if let Some(state) = state {
            let query = Query {
                at: now,
                previous_una: acked_before,
                snd_una: acked,
                snd_max,
                retransmitted_position: None,
            };
            self.on_state(state, &query, tables);
        }
        let mut sent = None;
        // Both the cumulative and the selective acknowledgment are evaluated before a sample is
        // chosen, so that no segment yields two samples.
        for (from, to) in ack.sack_blocks.iter().filter(|(_, to)| *to <= snd_max) {
            let newly = self.open.round_trips.on_sacked((*from).max(acked_before), *to);
            sent = sent.into_iter().chain(newly).min();
        }
        if acked > acked_before {
            // Linux prefers the cumulative sample (`tcp_clean_rtx_queue`).
            sent = self.open.round_trips.on_acknowledged(acked).or(sent);
        }
        if let Some(sent) = sent {
            let rtt: Duration = now.since(sent);
            let limits = Limits::from_config(&self.tcp);
            self.open.estimator.on_rtt(rtt, acked, snd_max, &limits);
            self.record.counters.rtt.add(rtt);
        }
        if acked > acked_before {
            self.open.acknowledged = acked;
            let watch = &self.open.watch;
            self.record.on_acknowledged(now, acked, || watch.open_probe(), tables);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_record::reason::Cause;

    fn linux() -> retx_tcp::Config {
        (retx_tcp::presets::find("linux").expect("it is one").config)()
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn copy(number: u64, from: u64) -> SegmentCopy {
        SegmentCopy { number, from, to: from + 1000 }
    }

    /// Observed flow for tests, with tables that are not kept.
    struct Kept(ObservedFlow, Tables);

    impl Kept {
        fn syn(&mut self, at: u64) {
            self.0.begin_connection(ms(at), &mut self.1);
            let copy = SegmentCopy { number: 0, from: 0, to: 1 };
            self.0.on_sent(ms(at), SentSegment { copy, payload_bytes: 0 }, 0, &mut self.1);
            self.0.on_arrived(copy);
            self.heard(at + 40, 1, 1);
        }

        /// Sends a segment of 1000 bytes.
        fn sent(&mut self, at: u64, copy: SegmentCopy, snd_max: u64) -> Transmission {
            let segment = SentSegment { copy, payload_bytes: 1000 };
            self.0.on_sent(ms(at), segment, snd_max, &mut self.1).0
        }

        fn heard(&mut self, at: u64, position: u64, snd_max: u64) {
            let ack = Acknowledgment { cumulative: position, ..Acknowledgment::default() };
            self.0.on_acknowledged(ms(at), (&ack, snd_max), None, &mut self.1);
        }

        fn dropped(&mut self, copy: SegmentCopy, cause: Cause) -> Vec<u64> {
            self.0.record.on_dropped(copy, cause, &mut self.1)
        }
    }

    /// Sender whose handshake took 40 ms.
    fn connected() -> Kept {
        let mut flow = Kept(ObservedFlow::new(0, &linux(), 1000), Tables::default());
        flow.syn(0);
        flow
    }

    #[test]
    fn a_retransmission_is_unnecessary_until_the_original_is_dropped() {
        let mut flow = connected();
        assert_eq!(flow.sent(40, copy(1, 1), 1), Transmission::First);
        assert_eq!(flow.sent(41, copy(2, 1001), 1001), Transmission::First);
        assert_eq!(flow.sent(300, copy(3, 1), 2001), Transmission::Unnecessary);
        assert_eq!(flow.0.record.counters.retransmissions_unnecessary, 1);
        assert_eq!(flow.dropped(copy(1, 1), Cause::Wireless), [3]);
        assert_eq!(flow.0.record.counters.retransmissions_unnecessary, 0);
        // All copies of the segment are lost.
        assert!(flow.dropped(copy(3, 1), Cause::Congestion).is_empty());
        assert_eq!(flow.sent(900, copy(4, 1), 2001), Transmission::Necessary);
        flow.0.on_arrived(copy(4, 1));
        assert_eq!(flow.sent(901, copy(5, 1), 2001), Transmission::Unnecessary);
        assert_eq!(flow.0.record.counters.segments_retransmitted, 3);
    }

    #[test]
    fn pauses_are_longer_than_an_rtt_of_what_was_sent_once() {
        let mut flow = connected();
        flow.sent(40, copy(1, 1), 1);
        // Sending nothing for one RTT (40 ms) is not a pause; sending nothing for longer is.
        flow.sent(80, copy(2, 1001), 1001);
        assert_eq!(flow.0.record.counters.idle.total(), Duration::ZERO);
        flow.sent(121, copy(3, 1), 2001);
        assert_eq!(flow.0.record.counters.idle.total(), Duration::from_millis(41));
        // The first segment was sent twice, so its 160 ms are not a sample.
        flow.heard(200, 2001, 2001);
        assert_eq!(flow.0.open.estimator.srtt(), Some(Duration::from_millis(40)));
        assert_eq!(flow.0.record.counters.rtt.count(), 1);
        // Between two connections there is nothing to send.
        flow.syn(2000);
        flow.sent(2041, copy(5, 1), 1);
        let idle = flow.0.record.counters.idle;
        assert_eq!(idle.total(), Duration::from_millis(41));
        assert_eq!(idle.application, Duration::from_millis(1920));
        assert_eq!(flow.0.earlier_bytes, 2000);
    }
}
