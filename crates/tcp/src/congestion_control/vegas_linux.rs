//! *What it does.* Vegas as in Linux. Unlike the paper's, it has no fine-grained retransmission,
//! grows in every round of slow start, uses the minimum RTT of each round, and at the end of slow
//! start sets the window to match the measured rate.
//!
//! *Reference.* Linux `net/ipv4/tcp_vegas.c` (read as of 6.x), after Brakmo & Peterson 1995.
//!
//! *Equations.* In segments, per round trip with more than two RTT samples, the smallest of which
//! is rtt: target = ⌊cwnd·baseRTT/rtt⌋, diff = ⌊cwnd·(rtt − baseRTT)/baseRTT⌋.
//!
//! - *Slow start.* If diff > gamma, cwnd = min(cwnd, target + 1), and slow start ends.
//! - *Congestion avoidance.* −1 if diff > beta, +1 if diff < alpha.
//! - *After both.* cwnd is at least 2, and ssthresh = max(ssthresh, 3/4 cwnd).
//! - *Reno.* The window grows as Reno's after a round trip with two samples or fewer, and while a
//!   loss is being repaired.
//! - *Loss and timeout.* As Reno: ssthresh = max(cwnd/2, 2).
//!
//! *Where it differs.* From the paper: diff is divided by baseRTT, not by rtt, so it exceeds the
//! backlog by the factor rtt/baseRTT. Neither slow start nor the decisions depend on the number of
//! segments sent, or on whether the window limits the sender. From Linux: RTTs are in ns, while
//! Linux adds 1 to whole µs. A duplicate ACK counts as the state Disorder, which begins a new
//! round.

use super::segments::{self, SegmentCounter};
use super::send_times::SendTimes;
use super::{Ack, CongestionControl, Loss, Sent, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Vegas as in Linux: decides once per round trip by the smallest RTT, losses as Reno.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of queued segments below which the window grows. Linux: 2.
    pub alpha: u64,
    /// Number of queued segments above which the window shrinks. Linux: 4.
    pub beta: u64,
    /// Number of queued segments above which slow start ends. Linux: 1.
    pub gamma: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { alpha: 2, beta: 4, gamma: 1 }
    }
}

/// State of Vegas.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    times: SendTimes,
    segments: SegmentCounter,
    base: Duration,
    /// False while decisions are suspended: a loss is suspected or being repaired.
    enabled: bool,
    round_end: u64,
    least: Duration,
    samples: u64,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self {
            config: *config,
            times: SendTimes::default(),
            segments: SegmentCounter::default(),
            base: Duration::MAX,
            enabled: true,
            round_end: 0,
            least: Duration::MAX,
            samples: 0,
        }
    }

    fn begin_round(&mut self, snd_nxt: u64) {
        self.round_end = snd_nxt;
        self.least = Duration::MAX;
        self.samples = 0;
    }

    fn decide(&mut self, window: &mut Window, acked: u64) {
        let cwnd = segments::cwnd_segments(window);
        let (base, rtt) = (self.base.as_nanos().max(1), self.least.as_nanos().max(1));
        let share = |part: u64, whole: u64| {
            u64::try_from(u128::from(cwnd) * u128::from(part) / u128::from(whole))
                .unwrap_or(u64::MAX)
        };
        let target = share(base, rtt);
        let diff = share(rtt.saturating_sub(base), base);
        if window.in_slow_start() {
            if diff > self.config.gamma {
                window.cwnd =
                    segments::segments_to_bytes(window, cwnd.min(target.saturating_add(1)));
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                segments::grow_in_slow_start(window, acked);
            }
        } else if diff > self.config.beta {
            window.cwnd = segments::segments_to_bytes(window, cwnd - 1);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if diff < self.config.alpha {
            window.cwnd = window.cwnd.saturating_add(window.smss.into());
        }
        window.cwnd = window.cwnd.max(segments::segments_to_bytes(window, 2));
        // `tcp_current_ssthresh`, with which `tcp_vegas_cong_avoid` ends.
        window.ssthresh = window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4);
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, _: u32) {
        if let Some(rtt) = self.times.on_ack(ack) {
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
        // A duplicate ACK leads to `TCP_CA_Disorder`, in which `tcp_vegas_state` disables Vegas.
        if ack.bytes_acked == 0 {
            self.enabled = false;
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.flight_size <= u64::from(sent.bytes) {
            // Nothing was in flight: the path may have changed.
            self.base = Duration::MAX;
            self.enabled = true;
            self.begin_round(sent.position);
        }
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.in_recovery {
            self.enabled = false;
            self.segments.grow_like_reno(window, ack);
            return;
        }
        if !self.enabled {
            self.enabled = true;
            self.begin_round(ack.snd_nxt);
        }
        let acked = segments::delivered_segments(window, ack);
        if ack.snd_una > self.round_end {
            // At least one of three samples is not that of a delayed ACK.
            if self.samples > 2 {
                self.decide(window, acked);
            } else {
                self.segments.grow_like_reno(window, ack);
            }
            self.begin_round(ack.snd_nxt);
        } else if window.in_slow_start() {
            segments::grow_in_slow_start(window, acked);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let half = segments::cwnd_segments(window) / 2;
        self.segments.reduce(window, loss, half);
        self.enabled = false;
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.segments.halve_at_timeout(window, loss, repeated);
        self.enabled = false;
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Path, SMSS, ack, at, loss, tcp, window};
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn vegas() -> State {
        State::new(&Config::default(), &tcp())
    }

    /// diff = ⌊W·q/20⌋ with q = W − 20 queued: diff is 1 for q = 1, 2 to 4 for q = 2 to 4, and 6
    /// for q = 5.
    #[test]
    fn keeps_two_to_four_segments_in_the_queue() {
        for start in [5, 40] {
            let mut vegas = vegas();
            let mut path = Path::new(MS, MS * 20, window(1, 1));
            path.rounds(&mut vegas, 2);
            // With a window of one segment, every segment is sent while nothing is in flight, which
            // resets baseRTT; with a larger window it is not reset.
            path.window = window(start, 1);
            path.rounds(&mut vegas, 80);
            let queued = path.window.cwnd / u64::from(SMSS) - 20;
            assert!((2..=4).contains(&queued), "{queued} from {start}");
        }
    }

    fn decided(cwnd: u64, ssthresh: u64, base: u64, rtt: u64) -> (u64, u64) {
        let (mut vegas, mut window) = (vegas(), window(cwnd, ssthresh));
        (vegas.base, vegas.least) = (MS * base, MS * rtt);
        vegas.decide(&mut window, 1);
        (window.cwnd / 1000, window.ssthresh / 1000)
    }

    #[test]
    fn decisions() {
        // diff = ⌊20·30/100⌋ = 6, target = ⌊20·100/130⌋ = 15.
        assert_eq!(decided(20, 99, 100, 130), (16, 16));
        assert_eq!(decided(20, 10, 100, 130), (19, 14));
        // With diff = 2 and 4 the window is kept; with 1 it grows.
        assert_eq!(decided(20, 10, 100, 110), (20, 15));
        assert_eq!(decided(20, 10, 100, 124), (20, 15));
        assert_eq!(decided(20, 10, 100, 109), (21, 15));
        assert_eq!(decided(2, 2, 100, 900), (2, 1));
    }

    #[test]
    fn grows_as_reno_with_two_samples() {
        let (mut vegas, mut window) = (vegas(), window(4, 2));
        vegas.samples = 2;
        vegas.on_ack(&mut window, &Ack { snd_una: 10, snd_nxt: 20, ..ack(at(0), 4000) });
        assert_eq!(window.cwnd, 5000);
    }

    #[test]
    fn losses_as_reno() {
        let (mut vegas, mut window) = (vegas(), window(20, 99));
        vegas.on_loss(&mut window, &loss(at(0), 20));
        assert_eq!((window.cwnd, window.ssthresh), (10_000, 10_000));
        vegas.on_timeout(&mut window, &loss(at(9), 10), false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 10_000), "the same window");
    }

    #[test]
    fn a_timeout_halves_the_threshold() {
        for (cwnd, ssthresh) in [(40, 20_000), (5, 2000), (3, 2000)] {
            let (mut vegas, mut window) = (vegas(), window(cwnd, 99));
            vegas.on_timeout(&mut window, &loss(at(0), cwnd), false);
            assert_eq!((window.cwnd, window.ssthresh), (1000, ssthresh));
        }
    }
}
