//! *What it does.* TCP-Illinois as in Linux: growth and reduction follow the average queuing delay
//! of each round trip, so that the window grows fast while the queue is short.
//!
//! *Reference.* Linux `net/ipv4/tcp_illinois.c` (read as of 6.x), after Liu, Başar & Srikant 2008,
//! “TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed networks”.
//!
//! *Equations.* Times are in µs, α in 1/128 segments and β in 1/64. In each round trip, with RTTmin
//! and RTTmax the extremes of the connection: d_a = mean RTT − RTTmin, d_m = RTTmax − RTTmin, d_1 =
//! d_m/100, d_2 = d_m/10, d_3 = 8·d_m/10.
//!
//! - α = 10 for d_a ≤ d_1. After a round with d_a > d_1, this holds only from the fifth round with
//!   d_a ≤ d_1 on. For d_a > d_1, α = 10·(d_m − d_1)/((d_m − d_1) + (d_a − d_1)·(10 − 0.3)/0.3),
//!   which is 0.3 for d_a = d_m.
//! - β = 1/8 for d_a ≤ d_2, 1/2 for d_a ≥ d_3, and linear in between.
//! - α = 1 and β = 1/2 with a window of less than 15 segments, and after a timeout.
//! - Congestion avoidance: let n be α times the segments acknowledged since the last increase. Once
//!   n reaches cwnd, cwnd grows by ⌊n/cwnd⌋.
//! - Loss and timeout: ssthresh = max(cwnd − β·cwnd, 2).
//!
//! *Where it differs.* From the paper: RTTmin and RTTmax are never forgotten, α is 10 in the first
//! rounds, and the window grows in whole segments. The module's parameters `win_thresh` and `theta`
//! are fixed at 15 and 5.

use super::ack_samples::AckSamples;
use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Sent, Start, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP-Illinois as in Linux: growth and reduction by the average queuing delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Fixed-point representation of 1 for α, whose minimum is about 0.3 and whose maximum is 10.
const ALPHA_ONE: u64 = 128;
const ALPHA_MIN: u64 = 3 * ALPHA_ONE / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_ONE;
/// Fixed-point representation of 1 for β, whose minimum is 1/8 and whose maximum is 1/2.
const BETA_ONE: u64 = 64;
const BETA_MIN: u64 = BETA_ONE / 8;
const BETA_MAX: u64 = BETA_ONE / 2;
/// Upper bound of RTT samples, in µs (`RTT_MAX`).
const RTT_MAX: u64 = u32::MAX as u64 / ALPHA_MAX;
/// Smallest window with which the parameters are adapted, in segments (`win_thresh`).
const ADAPTED_FROM: u64 = 15;
/// Rounds with a short queue until α returns to its largest value (`theta`).
const SHORT_ROUNDS: u64 = 5;

/// State of TCP-Illinois.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    samples: AckSamples,
    alpha: u64,
    beta: u64,
    /// Smallest and largest RTT, in µs.
    base_rtt: u64,
    max_rtt: u64,
    /// Sum and number of the RTTs of this round.
    rtt_sum: u64,
    rtt_count: u64,
    round_end: u64,
    /// Segments acknowledged by the last ACK that are not yet counted towards an increase.
    acked: u64,
    /// True once the queuing delay was above its low threshold (`rtt_above`).
    was_above: bool,
    /// Rounds with a queuing delay of at most the low threshold since `was_above` became true
    /// (`rtt_low`).
    rounds_below: u64,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            samples: AckSamples::default(),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base_rtt: u64::MAX,
            max_rtt: 0,
            rtt_sum: 0,
            rtt_count: 0,
            round_end: 0,
            acked: 0,
            was_above: false,
            rounds_below: 0,
        }
    }

    fn begin_round(&mut self, snd_nxt: u64) {
        self.round_end = snd_nxt;
        (self.rtt_sum, self.rtt_count) = (0, 0);
    }

    /// Recomputes α and β at the end of a round (`update_params`).
    fn update(&mut self, cwnd: u64) {
        if cwnd < ADAPTED_FROM {
            (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        } else if let Some(mean) = self.rtt_sum.checked_div(self.rtt_count) {
            // Without samples in this round, α and β stay as they are.
            let (average, max) = (mean - self.base_rtt, self.max_rtt - self.base_rtt);
            self.alpha = self.alpha_at(average, max);
            self.beta = beta_at(average, max);
        }
    }

    /// α for the average queuing delay of a round, and the largest of the connection, in µs.
    fn alpha_at(&mut self, average: u64, max: u64) -> u64 {
        let low = max / 100;
        if average <= low {
            if self.was_above {
                // A single round with a short queue must not make the window jump.
                self.rounds_below += 1;
                if self.rounds_below < SHORT_ROUNDS {
                    return self.alpha;
                }
                (self.was_above, self.rounds_below) = (false, 0);
            }
            return ALPHA_MAX;
        }
        self.was_above = true;
        // This equals κ1/(κ2 + d_a) of the paper, without the intermediate divisions.
        let (max, average) = (max - low, average - low);
        max * ALPHA_MAX / (max + average * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }

    fn avoid_congestion(&mut self, window: &mut Window) {
        let cwnd = segments::cwnd_segments(window);
        self.segments.acked_segments = self.segments.acked_segments.saturating_add(self.acked);
        // An ACK that is not passed to `pkts_acked` before the next growth counts as one segment.
        self.acked = 1;
        let increase = self.segments.acked_segments.saturating_mul(self.alpha) / ALPHA_ONE;
        if increase >= cwnd {
            let grown = segments::segments_to_bytes(window, increase / cwnd);
            window.cwnd = window.cwnd.saturating_add(grown);
            self.segments.acked_segments = 0;
        }
    }

    fn ssthresh(&self, window: &Window) -> u64 {
        let cwnd = segments::cwnd_segments(window);
        cwnd - (u128::from(cwnd) * u128::from(self.beta) / u128::from(BETA_ONE)) as u64
    }
}

/// β for the average queuing delay of a round, and the largest of the connection, in µs.
const fn beta_at(average: u64, max: u64) -> u64 {
    let (low, high) = (max / 10, 8 * max / 10);
    if average <= low {
        BETA_MIN
    } else if average >= high || high <= low {
        BETA_MAX
    } else {
        (BETA_MIN * high + (BETA_MAX - BETA_MIN) * average - BETA_MAX * low) / (high - low)
    }
}

impl CongestionControl for State {
    fn on_connected(&mut self, _: &mut Window, start: &Start) {
        self.samples.on_connected(start);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.samples.on_sent(sent);
    }

    fn on_segments_acked(&mut self, _: &mut Window, _: &Ack, rtt: Option<Duration>) {
        self.samples.on_segments_acked(rtt);
    }

    /// Evaluates the RTT of an acknowledgment (`tcp_illinois_acked`).
    fn observe(&mut self, ack: &Ack, smss: u32) {
        let sample = self.samples.evaluate(ack, smss);
        self.acked = sample.packets;
        if let Some(rtt) = sample.rtt {
            // The product with α has to fit into 32 bits.
            let rtt = (rtt.as_nanos() / 1000).min(RTT_MAX);
            self.base_rtt = self.base_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.rtt_sum += rtt;
            self.rtt_count += 1;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.snd_una > self.round_end {
            self.update(segments::cwnd_segments(window));
            self.begin_round(ack.snd_nxt);
        }
        if !ack.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            segments::grow_in_slow_start(window, segments::delivered_segments(window, ack));
        } else {
            self.avoid_congestion(window);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = self.ssthresh(window);
        self.segments.reduce(window, loss, ssthresh);
        self.samples.on_reduction(loss);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let ssthresh = self.ssthresh(window);
        self.segments.reduce_at_timeout(window, loss, repeated, ssthresh);
        self.samples.on_reduction(loss);
        // The threshold above is computed with the old β, because `tcp_enter_loss` sets the state
        // last.
        (self.alpha, self.beta) = (ALPHA_ONE, BETA_MAX);
        (self.was_above, self.rounds_below) = (false, 0);
        self.begin_round(loss.snd_max);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
        self.samples.on_undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Path, ack, at, loss, tcp, window};
    use super::*;

    fn illinois() -> State {
        State::new(&Config {}, &tcp())
    }

    /// Compares α with the paper's form α = κ1/(κ2 + d_a), for d_m = 100 ms. Then d_1 is 1 ms, and
    /// the form gives 0.3 at d_a = d_m.
    #[test]
    fn alpha_falls_with_the_queuing_delay() {
        let mut illinois = illinois();
        assert_eq!(illinois.alpha_at(1000, 100_000), ALPHA_MAX);
        let mut alpha = |average| illinois.alpha_at(average, 100_000) as f64 / 128.0;
        // κ1 = 99·0.3·10/9.7, κ2 = 99·0.3/9.7 − 1, in ms. ALPHA_MIN is 38/128 instead of 0.3, a
        // difference of 1 %.
        for average in [2, 10, 50, 100] {
            let (k1, k2) = (99.0 * 3.0 / 9.7, 99.0 * 0.3 / 9.7 - 1.0);
            let paper = k1 / (k2 + f64::from(average));
            let share = alpha(1000 * average as u64) / paper;
            assert!((0.97..1.01).contains(&share), "{average} ms: {share}");
        }
        assert_eq!(illinois.alpha_at(100_000, 100_000), ALPHA_MIN);
    }

    #[test]
    fn beta_rises_with_the_queuing_delay() {
        // β between 10 and 80 ms, in 64ths: 8 + 24·(d − 10)/70.
        for (average, beta) in [(10, 8), (11, 8), (45, 20), (79, 31), (80, 32), (100, 32)] {
            assert_eq!(beta_at(average * 1000, 100_000), beta, "{average} ms");
        }
        assert_eq!([beta_at(0, 0), beta_at(1, 1)], [BETA_MIN, BETA_MAX]);
    }

    #[test]
    fn five_short_rounds_restore_the_fastest_growth() {
        let mut illinois = illinois();
        illinois.alpha = illinois.alpha_at(50_000, 100_000);
        let slow = illinois.alpha;
        let rounds = [(); 6].map(|()| {
            illinois.alpha = illinois.alpha_at(0, 100_000);
            illinois.alpha
        });
        assert_eq!(rounds, [slow, slow, slow, slow, ALPHA_MAX, ALPHA_MAX]);
    }

    #[test]
    fn slow_start_then_alpha_segments_per_window() {
        let (mut illinois, mut slow) = (illinois(), window(8, 10));
        illinois.on_ack(&mut slow, &ack(at(0), 4000));
        assert_eq!(slow.cwnd, 10_000, "the rest is dropped");
        let acks = |cwnd, alpha| {
            let (mut illinois, mut window) = (self::illinois(), window(cwnd, 2));
            (illinois.alpha, illinois.acked) = (alpha, 1);
            let acks = (1..).find(|_| {
                illinois.on_ack(&mut window, &ack(at(0), 1000));
                window.cwnd > cwnd * 1000
            });
            (acks.expect("growth"), window.cwnd / 1000 - cwnd)
        };
        assert_eq!(acks(20, ALPHA_ONE), (20, 1));
        assert_eq!(acks(100, ALPHA_MAX), (10, 1));
        assert_eq!(acks(4, ALPHA_MAX), (1, 2), "⌊10/4⌋");
        assert_eq!(acks(100, ALPHA_MIN), (337, 1), "100·128/38");
    }

    #[test]
    fn a_small_window_is_that_of_reno() {
        let mut illinois = illinois();
        (illinois.base_rtt, illinois.max_rtt) = (20_000, 120_000);
        for (cwnd, expected) in [(14, (ALPHA_ONE, BETA_MAX)), (15, (ALPHA_MAX, BETA_MIN))] {
            (illinois.rtt_sum, illinois.rtt_count) = (60_000, 3);
            illinois.update(cwnd);
            assert_eq!((illinois.alpha, illinois.beta), expected, "{cwnd}");
        }
        (illinois.rtt_sum, illinois.rtt_count) = (0, 0);
        illinois.update(20);
        assert_eq!(illinois.alpha, ALPHA_MAX, "nothing measured");
    }

    #[test]
    fn reductions() {
        for (beta, left) in [(BETA_MIN, 35), (20, 28), (BETA_MAX, 20)] {
            let (mut illinois, mut window) = (illinois(), window(40, 99));
            illinois.beta = beta;
            illinois.on_loss(&mut window, &loss(at(0), 20));
            assert_eq!((window.cwnd, window.ssthresh), (left * 1000, left * 1000));
        }
        let (mut illinois, mut window) = (illinois(), window(40, 99));
        (illinois.beta, illinois.rtt_count, illinois.was_above) = (BETA_MIN, 5, true);
        illinois.on_timeout(&mut window, &loss(at(0), 20), false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 35_000), "β of before");
        assert_eq!((illinois.alpha, illinois.beta), (ALPHA_ONE, BETA_MAX));
        assert_eq!((illinois.rtt_count, illinois.round_end), (0, 20_001));
        illinois.on_undo(&mut window);
        let next = window;
        illinois.on_timeout(&mut window, &loss(at(1), 1), false);
        assert_eq!((next.ssthresh, window.ssthresh), (35_000, 2000), "the undo ends the reduction");
    }

    /// A path of 20 segments, and at least 20 more in its queue.
    #[test]
    fn measures_a_path() {
        const MS: Duration = Duration::from_millis(1);
        let mut illinois = illinois();
        let mut path = Path::new(MS, MS * 20, window(1, 1));
        path.rounds(&mut illinois, 2);
        path.window = window(40, 1);
        for _ in 0..400 {
            path.window.cwnd = 40_000;
            path.step(&mut illinois);
        }
        assert_eq!(illinois.base_rtt, 20_000);
        assert!(illinois.max_rtt >= 40_000);
        assert!(illinois.alpha < ALPHA_ONE && illinois.beta > BETA_ONE / 4);
    }

    /// `alpha` in tcp_illinois.c with dm = 1000 and da = 510 µs: both less d1 = 10, so α =
    /// 990·1280/(990 + ⌊500·1242/38⌋) = ⌊73.1⌋.
    #[test]
    fn alpha_counts_delays_above_the_low_threshold() {
        assert_eq!(illinois().alpha_at(510, 1000), 73);
    }
}
