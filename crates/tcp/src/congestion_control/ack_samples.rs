//! Acknowledgments as Linux passes them to its congestion controls (`pkts_acked`, called by
//! `tcp_clean_rtx_queue` in `net/ipv4/tcp_input.c`).
//!
//! *Where it differs.* The state Disorder ends with the next acknowledgment of new data, even if
//! selectively acknowledged data remain. A reduction by ECN-Echo ends like a recovery, once
//! everything outstanding at its start is acknowledged.

use super::send_times::SendTimes;
use super::{Ack, Loss, Sent, Start};
use retx_units::Duration;

/// State of the sender when an acknowledgment arrives, before its evaluation (`icsk_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// Duplicate ACKs have arrived, and no loss has been detected.
    Disorder,
    /// CWR, Recovery or Loss: the window was reduced, or a loss is being repaired.
    Reduced,
}

/// Content of an acknowledgment (`struct ack_sample`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckSample {
    /// Segments acknowledged cumulatively.
    pub packets: u64,
    /// RTT of the last segment delivered; `None` if it was retransmitted.
    pub rtt: Option<Duration>,
    /// State of the sender before the acknowledgment.
    pub state: State,
}

/// Tracker of the sender's state, which derives a sample from each acknowledgment.
#[derive(Debug, Clone)]
pub(crate) struct AckSamples {
    /// Transmission times of segments; `None` if the connection itself reports their RTTs.
    times: Option<SendTimes>,
    rtt: Option<Duration>,
    is_disordered: bool,
    /// Position whose acknowledgment ends the reduction; `None` if there is no reduction.
    high_seq: Option<u64>,
}

impl Default for AckSamples {
    fn default() -> Self {
        Self { times: Some(SendTimes::default()), rtt: None, is_disordered: false, high_seq: None }
    }
}

impl AckSamples {
    pub fn on_connected(&mut self, start: &Start) {
        if start.samples_segments {
            self.times = None;
        }
    }

    pub fn on_sent(&mut self, sent: &Sent) {
        if let Some(times) = &mut self.times {
            times.on_sent(sent);
        }
    }

    /// Records the RTT that the connection reports before [`Self::evaluate`].
    pub fn on_segments_acked(&mut self, rtt: Option<Duration>) {
        self.rtt = rtt;
    }

    /// Evaluates an acknowledgment; called in `observe`.
    pub fn evaluate(&mut self, ack: &Ack, smss: u32) -> AckSample {
        let rtt = match &mut self.times {
            Some(times) => times.on_ack(ack),
            None => self.rtt.take(),
        };
        let state = if self.is_reduced() || ack.in_recovery {
            State::Reduced
        } else if self.is_disordered {
            State::Disorder
        } else {
            State::Open
        };
        // Linux calls `pkts_acked` before it changes the state, so the acknowledgment that ends a
        // reduction still has the state Reduced.
        self.high_seq = self.high_seq.filter(|end| ack.snd_una < *end);
        self.is_disordered = ack.bytes_acked == 0;
        AckSample { packets: ack.bytes_acked.div_ceil(smss.into()), rtt, state }
    }

    /// True from a reduction until everything outstanding at its start is acknowledged.
    pub const fn is_reduced(&self) -> bool {
        self.high_seq.is_some()
    }

    /// Handles a reduction of the window.
    pub fn on_reduction(&mut self, loss: &Loss) {
        self.high_seq = Some(loss.snd_max);
    }

    /// Handles the undo of the last reduction.
    pub fn on_undo(&mut self) {
        self.high_seq = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss};
    use super::*;

    fn sent(ms: u64, position: u64) -> Sent {
        let retransmission = position == 1 && ms > 0;
        Sent { now: at(ms), position, bytes: SMSS, flight_size: 0, retransmission }
    }

    #[test]
    fn states_follow_from_duplicates_and_reductions() {
        let mut samples = AckSamples::default();
        let state = |samples: &mut AckSamples, snd_una, bytes| {
            samples.evaluate(&Ack { snd_una, ..ack(at(0), bytes) }, SMSS).state
        };
        assert_eq!(state(&mut samples, 1001, 1000), State::Open);
        assert_eq!(state(&mut samples, 1001, 0), State::Open, "the first duplicate arrives in it");
        assert_eq!(state(&mut samples, 1001, 0), State::Disorder);
        samples.on_reduction(&loss(at(0), 5));
        assert_eq!(state(&mut samples, 3001, 2000), State::Reduced);
        assert!(samples.is_reduced());
        assert_eq!(state(&mut samples, 5001, 2000), State::Reduced, "ends it");
        assert!(!samples.is_reduced());
        assert_eq!(state(&mut samples, 6001, 1000), State::Open);
        samples.on_reduction(&loss(at(0), 9));
        samples.on_undo();
        assert_eq!(state(&mut samples, 7001, 1000), State::Open);
        let recovering = Ack { in_recovery: true, ..ack(at(0), 1000) };
        assert_eq!(samples.evaluate(&recovering, SMSS).state, State::Reduced);
    }

    #[test]
    fn rtts_are_those_of_segments_sent_once() {
        let mut samples = AckSamples::default();
        for (ms, position) in [(0, 1), (5, 1001), (10, 2001), (70, 1)] {
            samples.on_sent(&sent(ms, position));
        }
        let mut take =
            |snd_una, bytes| samples.evaluate(&Ack { snd_una, ..ack(at(110), bytes) }, SMSS);
        let first = take(2001, 2000);
        assert_eq!((first.packets, first.rtt), (2, None));
        let second = take(3001, 999);
        assert_eq!((second.packets, second.rtt), (1, Some(Duration::from_millis(100))));
        let (rtt, identity) = (None, 0);
        samples.on_connected(&Start { now: at(0), rtt, samples_segments: true, identity });
        samples.on_segments_acked(Some(Duration::from_millis(7)));
        let passed = [(); 2].map(|()| samples.evaluate(&ack(at(120), 0), SMSS).rtt);
        assert_eq!(passed, [Some(Duration::from_millis(7)), None], "for one acknowledgment");
    }
}
