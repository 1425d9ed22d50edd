//! *What it does.* HighSpeed TCP as in Linux: the larger the window, the faster its growth, and the
//! smaller its reduction.
//!
//! *Reference.* RFC 3649 §5 and appendix B; Linux `net/ipv4/tcp_highspeed.c` (read as of 6.x).
//!
//! *Equations.* In segments. a(w) is the row, counted from 1, of the first window in the RFC's
//! table that is not below w; b(w) is the decrease in this row, in 256ths.
//!
//! - *Congestion avoidance.* +a(w)/cwnd per ACK.
//! - *Loss and timeout.* ssthresh = max(cwnd − ⌊b(w)·cwnd⌋, 2).
//! - *Table.* a(w) = w²·p(w)·2·b(w)/(2 − b(w)), with b(w) = 0.5 − 0.4·ln(w/38)/ln(83000/38) and
//!   p(w) = 0.078/w^1.2. Up to 38 segments HighSpeed TCP is Reno.
//!
//! *Where it differs.* From the RFC: increases are whole segments, rounded up, and 72 at most. The
//! reduction uses b of the window at the last growth in congestion avoidance. In the first slow
//! start it is Reno's, however large the window. From Linux: no clamp of the window at 2^25
//! segments.

use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// HighSpeed TCP (RFC 3649) as in Linux: the larger the window, the faster it grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Largest windows for which the window grows by 1, 2, … segments per round trip (RFC 3649,
/// appendix B).
#[rustfmt::skip]
const WINDOWS: [u64; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1_058, 1_284, 1_529, 1_793, 2_076, 2_378, 2_699, 3_039, 3_399,
    3_778, 4_177, 4_596, 5_036, 5_497, 5_979, 6_483, 7_009, 7_558, 8_130, 8_726, 9_346, 9_991,
    10_661, 11_358, 12_082, 12_834, 13_614, 14_424, 15_265, 16_137, 17_042, 17_981, 18_955, 19_965,
    21_013, 22_101, 23_230, 24_402, 25_618, 26_881, 28_193, 29_557, 30_975, 32_450, 33_986, 35_586,
    37_253, 38_992, 40_808, 42_707, 44_694, 46_776, 48_961, 51_258, 53_677, 56_230, 58_932, 61_799,
    64_851, 68_113, 71_617, 75_401, 79_517, 84_035, 89_053,
];
/// Decrease for each of the [`WINDOWS`], in 256ths.
#[rustfmt::skip]
const DECREASES: [u64; 72] = [
    128, 112, 104, 98, 93, 89, 86, 83, 81, 78, 76, 74, 72, 71, 69, 68, 66, 65, 64, 62, 61, 60, 59,
    58, 57, 56, 55, 54, 53, 52, 52, 51, 50, 49, 48, 48, 47, 46, 45, 45, 44, 43, 43, 42, 41, 41, 40,
    39, 39, 38, 38, 37, 36, 36, 35, 35, 34, 33, 33, 32, 32, 31, 30, 30, 29, 28, 28, 27, 26, 26, 25,
    24,
];

/// State of HighSpeed TCP.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    /// Row of the tables for the window at its last growth in congestion avoidance.
    index: usize,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self { segments: SegmentCounter::default(), index: 0 }
    }

    fn avoid_congestion(&mut self, window: &mut Window) {
        let cwnd = segments::cwnd_segments(window);
        self.index = WINDOWS.partition_point(|most| *most < cwnd).min(WINDOWS.len() - 1);
        // The increase is counted per ACK, as in the kernel and in the RFC: delayed ACKs halve the
        // growth.
        self.segments.acked_segments += self.index as u64 + 1;
        if self.segments.acked_segments >= cwnd {
            self.segments.acked_segments -= cwnd;
            window.cwnd = window.cwnd.saturating_add(window.smss.into());
        }
    }

    fn ssthresh(&self, window: &Window) -> u64 {
        let cwnd = segments::cwnd_segments(window);
        // The index is not updated here: as in the kernel, only growth updates it.
        cwnd - (u128::from(cwnd) * u128::from(DECREASES[self.index]) / 256) as u64
    }
}

impl CongestionControl for State {
    fn observes(&self) -> bool {
        false
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
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
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let ssthresh = self.ssthresh(window);
        self.segments.reduce_at_timeout(window, loss, repeated, ssthresh);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at, loss, tcp, window};
    use super::*;

    fn highspeed() -> State {
        State::new(&Config {}, &tcp())
    }

    /// RFC 3649 §5, with Low_Window 38, High_Window 83,000, High_Decrease 0.1.
    fn decrease(w: f64) -> f64 {
        0.5 - 0.4 * libm::log(w / 38.0) / libm::log(83_000.0 / 38.0)
    }

    fn increase(w: f64) -> f64 {
        let p = 0.078 / libm::pow(w, 1.2);
        w * w * p * 2.0 * decrease(w) / (2.0 - decrease(w))
    }

    #[test]
    fn the_table_is_that_of_the_functions() {
        for (index, (w, b)) in WINDOWS.into_iter().zip(DECREASES).enumerate() {
            let w = w as f64;
            assert_eq!(b, (256.0 * decrease(w)) as u64, "b({w})");
            assert!((increase(w) - (index + 1) as f64).abs() < 0.05, "a({w})");
        }
    }

    /// The response function of RFC 3649 §5, W = 0.12/p^0.835, at p = 10⁻⁵ and 10⁻⁶. The table
    /// rounds increases up to whole segments, which gives larger windows: by 8 % at 10⁻⁵.
    #[test]
    fn the_window_at_a_loss_rate_is_that_of_the_rfc() {
        for (p, expected) in [(1e-5, 1795.0), (1e-6, 12_279.0)] {
            let every = (1.0 / p) as u64;
            let (mut highspeed, mut window) = (highspeed(), window(expected as u64, 2));
            let (mut sum, mut rounds, mut losses) = (0.0, 0.0, 0_u64);
            let acks = 10 * every;
            for n in 1..=acks {
                highspeed.on_ack(&mut window, &ack(at(0), 1000));
                // Each ACK stands for 1/cwnd of a round trip.
                rounds += 1000.0 / window.cwnd as f64;
                sum += 1.0;
                if n % every == 0 {
                    losses += 1;
                    let (snd_una, snd_max) = (losses, losses);
                    let lost = Loss { snd_una, snd_max, ..loss(at(0), 1) };
                    highspeed.on_loss(&mut window, &lost);
                }
            }
            let average = sum / rounds;
            let excess = average / expected - 1.0;
            assert!((0.0..0.1).contains(&excess), "{average}, not {expected} at {p}");
        }
    }

    /// Window after this many ACKs of a segment each.
    fn grown(from: u64, ssthresh: u64, acks: u64) -> u64 {
        let (mut highspeed, mut window) = (highspeed(), window(from, ssthresh));
        for _ in 0..acks {
            highspeed.on_ack(&mut window, &ack(at(0), 1000));
        }
        window.cwnd / 1000
    }

    #[test]
    fn grows_by_the_table() {
        assert_eq!(grown(4, 8, 9), 8, "slow start, and 5 of 8 ACKs");
        assert_eq!([37, 38].map(|acks| grown(38, 2, acks)), [38, 39], "as Reno");
        assert_eq!([19, 20].map(|acks| grown(39, 2, acks)), [39, 40], "2 per round");
        assert_eq!(grown(1058, 2, 1058), 1058 + 8, "8 per round");
        assert_eq!(grown(200_000, 2, 200_000), 200_000 + 72 - 1, "72 is the most");
        let (mut highspeed, mut window) = (highspeed(), window(10, 2));
        highspeed.on_ack(&mut window, &Ack { cwnd_limited: false, ..ack(at(0), 99_000) });
        assert_eq!(highspeed.segments.acked_segments, 0);
    }

    #[test]
    fn reductions_follow_the_window() {
        for (cwnd, left) in [(38, 19), (100, 57), (1000, 676), (83_000, 74_895)] {
            let (mut highspeed, mut window) = (highspeed(), window(cwnd, 2));
            highspeed.avoid_congestion(&mut window);
            window.cwnd = cwnd * 1000;
            highspeed.on_loss(&mut window, &loss(at(0), cwnd));
            assert_eq!((window.cwnd / 1000, window.ssthresh / 1000), (left, left));
        }
        let (mut first, mut window) = (highspeed(), window(1000, 9999));
        first.on_loss(&mut window, &loss(at(0), 1000));
        assert_eq!(window.cwnd, 500_000, "in the first slow start");
    }

    #[test]
    fn a_timeout_reduces_once_and_again_after_an_undo() {
        let (mut highspeed, mut window) = (highspeed(), window(1000, 2));
        highspeed.avoid_congestion(&mut window);
        highspeed.on_timeout(&mut window, &loss(at(0), 80), false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 676_000));
        window.cwnd = 100_000;
        highspeed.on_timeout(&mut window, &loss(at(1), 80), false);
        assert_eq!(window.ssthresh, 676_000, "the same window");
        window.cwnd = 100_000;
        highspeed.on_undo(&mut window);
        highspeed.on_timeout(&mut window, &loss(at(2), 80), false);
        assert_eq!(window.ssthresh, 68_000, "b(1000) of 100: no growth since");
    }
}
