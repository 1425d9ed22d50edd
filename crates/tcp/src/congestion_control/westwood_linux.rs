//! *What it does.* Westwood+ as in Linux: Reno until the end of a recovery, which sets the window
//! to the estimated bandwidth times the minimum RTT.
//!
//! *Reference.* Linux `net/ipv4/tcp_westwood.c` (read in a mirror), after Grieco & Mascolo 2004.
//!
//! *Equations.* In ticks of 4 ms and whole bytes:
//!
//! - *Bandwidth.* An interval ends once more than max(RTT, 50 ms) has passed. Then b = ⌊credited
//!   bytes/interval⌋, B' = ⌊(7·B' + b)/8⌋, B = ⌊(7·B + B')/8⌋; an empty filter takes b as it is.
//! - *Credit.* A duplicate ACK counts one segment, which a later cumulative ACK does not count
//!   again.
//! - *Duplicate ACKs.* ssthresh = max(cwnd/2, 2) during recovery, and ssthresh = cwnd =
//!   max(⌊B·RTTmin/SMSS⌋, 2) at its end.
//! - *Timeout.* cwnd = 1. Unless the window has been reduced already, ssthresh =
//!   max(⌊B·RTTmin/SMSS⌋, 2), and RTTmin begins anew.
//! - *Growth* as `reno_linux`.
//!
//! *Where it differs.* From the paper (`westwood_plus`): the window is Reno's until recovery ends,
//! and may then be larger than before the loss. Samples pass two filters in series. From Linux: a
//! pure window update counts no segment, and ACKs of header prediction are treated like others. A
//! reduction by ECN-Echo ends with Reno's window.

use super::jiffies;
use super::segments::{self, SegmentCounter};
use super::send_times::SendTimes;
use super::{Ack, CongestionControl, Loss, Sent, Start, Window};
use retx_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Westwood+ as in Linux: the end of a recovery sets the window to bandwidth times smallest RTT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// `TCP_WESTWOOD_INIT_RTT`, in ticks: the RTT that is assumed before the first sample.
const INITIAL_RTT: u64 = 5000;
/// `TCP_WESTWOOD_RTT_MIN`, in ticks: the shortest interval of a sample.
const INTERVAL_MIN: u64 = 12;

/// State of Westwood+.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    times: SendTimes,
    /// Most recent RTT, in ticks.
    rtt: u64,
    least_rtt: u64,
    /// True if the next ACK's RTT becomes the smallest one.
    renew_least_rtt: bool,
    /// Start of the interval, in ticks.
    began: u64,
    /// Bytes credited since the start of the interval.
    credited: u64,
    /// Bytes credited to duplicate ACKs, and not covered by a cumulative ACK yet.
    by_duplicates: u64,
    /// True until the first acknowledgment.
    is_first: bool,
    /// B' and B, in bytes per tick.
    once_filtered: u64,
    bandwidth: u64,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            times: SendTimes::default(),
            rtt: INITIAL_RTT,
            least_rtt: INITIAL_RTT,
            renew_least_rtt: true,
            began: 0,
            credited: 0,
            by_duplicates: 0,
            is_first: true,
            once_filtered: 0,
            bandwidth: 0,
        }
    }

    /// Ends the sample's interval if it is long enough (`westwood_update_window`).
    fn end_interval(&mut self, now: u64) {
        let interval = now - self.began;
        if interval <= self.rtt.max(INTERVAL_MIN) {
            return;
        }
        let sample = self.credited / interval;
        // `westwood_filter`: an empty filter is filled with the first sample.
        if self.once_filtered == 0 && self.bandwidth == 0 {
            (self.once_filtered, self.bandwidth) = (sample, sample);
        } else {
            let filter = |old: u64, new: u64| (7 * old + new) / 8;
            self.once_filtered = filter(self.once_filtered, sample);
            self.bandwidth = filter(self.bandwidth, self.once_filtered);
        }
        (self.credited, self.began) = (0, now);
    }

    /// Bytes credited to an acknowledgment (`westwood_acked_count`).
    fn credit(&mut self, bytes_acked: u64, smss: u64) -> u64 {
        if bytes_acked == 0 {
            self.by_duplicates = self.by_duplicates.saturating_add(smss);
            return smss;
        }
        if std::mem::take(&mut self.is_first) {
            // The first acknowledgment only sets the position from which bytes are counted.
            return 0;
        }
        if bytes_acked <= smss {
            return bytes_acked;
        }
        if self.by_duplicates >= bytes_acked {
            self.by_duplicates -= bytes_acked;
            return smss;
        }
        bytes_acked - std::mem::take(&mut self.by_duplicates)
    }

    /// Threshold: bandwidth times minimum RTT, at least two segments (`tcp_westwood_bw_rttmin`).
    fn set_ssthresh(&self, window: &mut Window) {
        let carried = self.bandwidth.saturating_mul(self.least_rtt) / u64::from(window.smss);
        window.ssthresh = segments::segments_to_bytes(window, carried.max(2));
    }
}

impl CongestionControl for State {
    fn on_connected(&mut self, _: &mut Window, start: &Start) {
        self.began = jiffies::from_time(start.now);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn observe(&mut self, ack: &Ack, smss: u32) {
        if let Some(rtt) = self.times.on_ack(ack).filter(|rtt| !rtt.is_zero()) {
            self.rtt = jiffies::from_duration(rtt);
        }
        // In the order of `tcp_westwood_ack`: an acknowledgment counts for the interval that begins
        // with it.
        self.end_interval(jiffies::from_time(ack.now));
        let credit = self.credit(ack.bytes_acked, smss.into());
        self.credited = self.credited.saturating_add(credit);
        let renewed = std::mem::take(&mut self.renew_least_rtt);
        self.least_rtt = if renewed { self.rtt } else { self.rtt.min(self.least_rtt) };
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.segments.grow_like_reno(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let half = segments::cwnd_segments(window) / 2;
        self.segments.reduce(window, loss, half);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        // `CA_EVENT_LOSS`: sets the threshold, and lets the minimum RTT begin anew.
        if !self.segments.on_timeout(window, loss, repeated) {
            self.set_ssthresh(window);
            self.renew_least_rtt = true;
        }
    }

    fn on_recovery_end(&mut self, window: &mut Window, _: Time) {
        // `CA_EVENT_COMPLETE_CWR`: sets threshold and window.
        self.set_ssthresh(window);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss, tcp, window};
    use super::*;

    /// State after an ACK every 4 ms, each of a segment sent 100 ms before.
    fn settled() -> State {
        let mut state = State::new(&Config {}, &tcp());
        for n in 0..1000_u64 {
            let position = n * u64::from(SMSS);
            let sent = Sent {
                now: at(4 * n),
                position,
                bytes: SMSS,
                flight_size: 1 << 20,
                retransmission: false,
            };
            state.on_sent(&sent);
            if let Some(acked) = n.checked_sub(25) {
                let snd_una = (acked + 1) * u64::from(SMSS);
                state.observe(&Ack { snd_una, ..ack(at(4 * n), SMSS.into()) }, SMSS);
            }
        }
        state
    }

    /// B = 1000 bytes per tick and RTTmin = 25 ticks give B·RTTmin = 25 segments.
    #[test]
    fn recovery_halves_and_its_end_sets_the_window_to_the_path() {
        let mut westwood = settled();
        assert_eq!((westwood.bandwidth, westwood.least_rtt), (1000, 25));
        let mut window = window(40, 99);
        westwood.on_loss(&mut window, &loss(at(4000), 40));
        assert_eq!((window.cwnd, window.ssthresh), (20_000, 20_000));
        westwood.on_recovery_end(&mut window, at(4100));
        assert_eq!((window.cwnd, window.ssthresh), (25_000, 25_000));
    }

    #[test]
    fn a_timeout_sets_the_threshold_to_the_path_once() {
        let mut westwood = settled();
        let mut window = window(40, 99);
        westwood.on_timeout(&mut window, &loss(at(4000), 40), false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 25_000));
        westwood.rtt = 50;
        westwood.observe(&ack(at(4004), 0), SMSS);
        assert_eq!(westwood.least_rtt, 50, "anew");
        westwood.on_timeout(&mut window, &loss(at(5000), 1), true);
        assert_eq!(window.ssthresh, 25_000);
    }

    /// A silence of 200 ticks gives a sample of 1000/200 = 5 bytes per tick.
    #[test]
    fn silence_lowers_the_estimate_slowly() {
        let mut westwood = settled();
        westwood.credited = 1000;
        westwood.observe(&ack(at(4 * (westwood.began + 200)), 1000), SMSS);
        assert_eq!(westwood.once_filtered, (7 * 1000 + 5) / 8);
        assert_eq!(westwood.bandwidth, (7 * 1000 + 875) / 8);
    }

    #[test]
    fn each_byte_is_credited_once_and_the_first_not_at_all() {
        let mut state = State::new(&Config {}, &tcp());
        let credits = [2000, 1000, 0, 0, 3000, 0, 0, 2000].map(|acked| state.credit(acked, 1000));
        assert_eq!(credits, [0, 1000, 1000, 1000, 1000, 1000, 1000, 1000]);
    }

    #[test]
    fn without_an_estimate_two_segments() {
        let mut state = State::new(&Config {}, &tcp());
        let mut window = window(40, 99);
        state.on_recovery_end(&mut window, at(0));
        assert_eq!(window.cwnd, 2000);
    }

    /// `westwood_filter`: the first sample fills the filter only if both of its stages are empty.
    #[test]
    fn the_filter_is_filled_once() {
        for (before, after) in
            [((0, 0), (8, 8)), ((0, 80), (1, 70)), ((80, 0), (71, 8)), ((80, 80), (71, 78))]
        {
            let mut state = State::new(&Config {}, &tcp());
            (state.once_filtered, state.bandwidth) = before;
            (state.rtt, state.began, state.credited) = (1, 0, 8000);
            state.end_interval(1000);
            assert_eq!((state.once_filtered, state.bandwidth), after, "{before:?}");
        }
    }
}
