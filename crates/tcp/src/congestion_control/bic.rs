//! *What it does.* BIC as in Linux: a binary search for the window between the last reduction and
//! the window of the last loss, and beyond it a search in the opposite direction.
//!
//! *Reference.* Linux `net/ipv4/tcp_bic.c` (read as of 6.x), after Xu, Harfoush & Rhee 2004,
//! “Binary increase congestion control for fast long-distance networks”.
//!
//! *Equations.* cwnd grows by one segment for each n segments acknowledged. With W the window of
//! the last loss, and d = ⌊(W − cwnd)/4⌋:
//!
//! | cwnd | n |
//! |---|---|
//! | up to 14 | cwnd |
//! | below W, d > 16 | cwnd/16 |
//! | below W, 2 ≤ d ≤ 16 | cwnd/d |
//! | below W, d < 2 | 5·cwnd |
//! | W to W + 3 | 5·cwnd |
//! | W + 4 to W + 47 | 3·cwnd/(cwnd − W) |
//! | above | cwnd/16 |
//!
//! Above 14 segments, n is at most 20 before the first loss, and is divided by the average number
//! of segments per ACK. This average starts at 2, and is updated by each ACK in the state Open,
//! with the weight 1/16. n is recomputed for a new cwnd, or after more than 28 ms.
//!
//! - *Loss.* W = cwnd, or 1843/2048·cwnd if cwnd < W (fast convergence); ssthresh =
//!   max(819/1024·cwnd, 2), or max(cwnd/2, 2) for cwnd ≤ 14.
//! - *Timeout.* The same ssthresh; W and the average return to their initial values.
//!
//! *Where it differs.* From the paper: a step covers a quarter of the distance, not half. The
//! module's parameters have their defaults.

use super::ack_samples::{self, AckSamples};
use super::jiffies::{self, HZ};
use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Sent, Start, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// BIC as in Linux: a binary search for the window of the last loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Each step covers 1/4 of the distance to the window of the last loss (`BICTCP_B`).
const SEARCH: u64 = 4;
/// Largest growth per round trip, in segments (`max_increment`).
const INCREMENT_MAX: u64 = 16;
/// Largest window, in segments, in which BIC grows as Reno does (`low_window`).
const LOW_WINDOW: u64 = 14;
/// Part of the window that remains after a reduction, in 1024ths (`beta`).
const BETA: u64 = 819;
const SCALE: u64 = 1024;
/// Next to the maximum, the window grows by one segment per `SMOOTH`/[`SEARCH`] windows
/// acknowledged (`smooth_part`).
const SMOOTH: u64 = 20;
/// Maximum number of acknowledged segments per increase before the first loss: growth of at least 5
/// % per round trip.
const FIRST_MOST: u64 = 20;
/// Fixed-point representation of 1 for the number of segments per ACK.
const RATIO_ONE: u64 = 16;
/// Age in ticks beyond which the growth is recomputed for an unchanged window (HZ/32).
const STALE: u64 = HZ / 32;

/// State of BIC.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    samples: AckSamples,
    /// Number of acknowledged segments per segment of growth (`cnt`).
    per: u64,
    /// Window at the last loss, in segments; 0 before the first loss (`last_max_cwnd`).
    last_max: u64,
    /// Window and tick of the last computation.
    computed: Option<(u64, u64)>,
    /// Average number of segments per ACK, in sixteenths.
    per_ack: u64,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            samples: AckSamples::default(),
            per: 0,
            last_max: 0,
            computed: None,
            per_ack: 2 * RATIO_ONE,
        }
    }

    /// Recomputes `per` for this window (`bictcp_update`).
    fn compute(&mut self, cwnd: u64, now: u64) {
        if self.computed.is_some_and(|(at_cwnd, at)| at_cwnd == cwnd && now - at <= STALE) {
            return;
        }
        self.computed = Some((cwnd, now));
        // In a small window BIC acts as Reno, and does not compensate for delayed ACKs.
        if cwnd <= LOW_WINDOW {
            self.per = cwnd;
            return;
        }
        let mut per = self.search(cwnd);
        // Without an estimate of the path, the window grows by at least 5 % per round trip.
        if self.last_max == 0 {
            per = per.min(FIRST_MOST);
        }
        self.per = (per.saturating_mul(RATIO_ONE) / self.per_ack).max(1);
    }

    /// Number of segments to be acknowledged per increase, if ACKs are not delayed.
    const fn search(&self, cwnd: u64) -> u64 {
        let near_maximum = cwnd.saturating_mul(SMOOTH) / SEARCH;
        // Below the maximum: far from it, the largest steps; nearer, a quarter of the distance;
        // next to it, one segment in five windows.
        if cwnd < self.last_max {
            return match (self.last_max - cwnd) / SEARCH {
                0 | 1 => near_maximum,
                step if step > INCREMENT_MAX => cwnd / INCREMENT_MAX,
                step => cwnd / step,
            };
        }
        // Above the maximum the growth accelerates with the distance from it.
        match cwnd - self.last_max {
            beyond if beyond < SEARCH => near_maximum,
            beyond if beyond < INCREMENT_MAX * (SEARCH - 1) => {
                cwnd.saturating_mul(SEARCH - 1) / beyond
            }
            _ => cwnd / INCREMENT_MAX,
        }
    }

    /// Remembers the window of a loss; returns the threshold, in segments
    /// (`bictcp_recalc_ssthresh`).
    fn ssthresh(&mut self, cwnd: u64) -> u64 {
        let share = |part: u64, whole: u64| {
            (u128::from(cwnd) * u128::from(part) / u128::from(whole)) as u64
        };
        // Fast convergence: a flow whose window shrinks from loss to loss yields to newer flows.
        self.last_max = if cwnd < self.last_max { share(SCALE + BETA, 2 * SCALE) } else { cwnd };
        if cwnd <= LOW_WINDOW { cwnd / 2 } else { share(BETA, SCALE) }
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

    /// Updates the average number of segments per ACK (`bictcp_acked`).
    fn observe(&mut self, ack: &Ack, smss: u32) {
        let sample = self.samples.evaluate(ack, smss);
        if sample.state == ack_samples::State::Open {
            self.per_ack = self.per_ack - self.per_ack / RATIO_ONE + sample.packets;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let Some(acked) = segments::slow_start(window, ack) else { return };
        self.compute(segments::cwnd_segments(window), jiffies::from_time(ack.now));
        self.segments.grow_additively(window, self.per, acked);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = self.ssthresh(segments::cwnd_segments(window));
        self.segments.reduce(window, loss, ssthresh);
        self.samples.on_reduction(loss);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let ssthresh = self.ssthresh(segments::cwnd_segments(window));
        self.segments.reduce_at_timeout(window, loss, repeated, ssthresh);
        self.samples.on_reduction(loss);
        // `bictcp_reset`: after a timeout the path counts as unknown.
        (self.per, self.last_max, self.computed, self.per_ack) = (0, 0, None, 2 * RATIO_ONE);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
        self.samples.on_undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at, loss, tcp, window};
    use super::*;

    fn bic() -> State {
        State::new(&Config {}, &tcp())
    }

    /// `per` at this window with this maximum, one segment per ACK.
    fn per(last_max: u64, cwnd: u64) -> u64 {
        let mut bic = bic();
        (bic.last_max, bic.per_ack) = (last_max, RATIO_ONE);
        bic.compute(cwnd, 0);
        bic.per
    }

    /// Growth per window acknowledged, with a maximum of 200 segments: 16 segments far below the
    /// maximum, then a quarter of the distance, then a fifth of a segment; above the maximum a
    /// fifth of a segment, then a third of the distance, then 16 segments.
    #[test]
    fn searches_the_maximum_and_beyond() {
        for (cwnd, expected) in [
            (14, 14),
            (100, 6),   // ⌊100/4⌋ = 25 > 16: 100/16
            (136, 8),   // 64/4 = 16: 136/16
            (160, 16),  // 40/4 = 10: 160/10
            (191, 95),  // 9/4 = 2: 191/2
            (193, 965), // 7/4 = 1: 5·193
            (199, 995), // 1/4 = 0: 5·199
            (203, 1015),
            (204, 153), // 3·204/4
            (225, 27),  // 3·225/25
            (247, 15),  // 3·247/47
            (248, 15),  // 248/16
            (260, 16),  // 260/16, and 3·260/60 = 13
        ] {
            assert_eq!(per(200, cwnd), expected, "{cwnd}");
        }
        assert_eq!([per(0, 160), per(0, 1000)], [10, 20], "5 % per round before the first loss");
    }

    /// The window closes in on the maximum ever more slowly, as in the paper's figure: each round
    /// covers at most a quarter of the distance, and at most 16 segments.
    #[test]
    fn closes_in_on_the_maximum() {
        let (mut bic, mut window) = (bic(), window(200, 1));
        bic.on_loss(&mut window, &loss(at(0), 200));
        assert_eq!((window.cwnd, bic.last_max), (159_000, 200));
        bic.per_ack = RATIO_ONE;
        let mut round = |now| {
            for _ in 0..window.cwnd / 1000 {
                bic.on_ack(&mut window, &ack(at(now), 1000));
            }
            window.cwnd / 1000
        };
        let windows = [100, 200, 300, 400, 500, 600, 700, 800].map(&mut round);
        let mut before = 159;
        for cwnd in windows {
            let step = cwnd - before;
            assert!(step >= 1 && 4 * step <= 200 - before + 4, "{before} → {cwnd}");
            before = cwnd;
        }
        assert!((190..=196).contains(&before), "{windows:?}");
    }

    #[test]
    fn growth_allows_for_delayed_acks() {
        let mut bic = bic();
        bic.compute(1000, 0);
        assert_eq!(bic.per, 10, "⌊20·16/32⌋");
        for _ in 0..200 {
            bic.observe(&ack(at(0), 1000), 1000);
        }
        assert_eq!(bic.per_ack, 31, "integers stop above 16: 31 − 1 + 1");
        bic.observe(&ack(at(0), 4000), 1000);
        assert_eq!(bic.per_ack, 34);
        bic.observe(&Ack { in_recovery: true, ..ack(at(0), 4000) }, 1000);
        assert_eq!(bic.per_ack, 34, "only in the state Open");
    }

    #[test]
    fn the_growth_is_computed_for_another_window_or_after_seven_ticks() {
        let mut bic = bic();
        bic.compute(100, 10);
        let first = bic.per;
        bic.last_max = 100;
        bic.compute(100, 17);
        assert_eq!(bic.per, first);
        bic.compute(100, 18);
        assert_eq!(bic.per, 250, "5·100/2");
        bic.compute(101, 18);
        assert_eq!(bic.per, 252);
    }

    #[test]
    fn slow_start_hands_on_the_rest() {
        let (mut bic, mut window) = (bic(), window(8, 10));
        bic.on_ack(&mut window, &ack(at(0), 4000));
        assert_eq!((window.cwnd, bic.segments.acked_segments), (10_000, 2));
        bic.on_ack(&mut window, &ack(at(0), 8000));
        assert_eq!(window.cwnd, 11_000, "Reno up to 14 segments");
        bic.on_ack(&mut window, &Ack { cwnd_limited: false, ..ack(at(0), 99_000) });
        assert_eq!(window.cwnd, 11_000);
    }

    #[test]
    fn reductions_and_fast_convergence() {
        let (mut bic, mut window) = (bic(), window(100, 1));
        let mut flight = 0;
        for (cwnd, last_max) in [(79, 100), (63, 71), (50, 56)] {
            flight += 1000;
            bic.on_loss(&mut window, &loss(at(flight), flight));
            assert_eq!((window.cwnd / 1000, bic.last_max), (cwnd, last_max));
        }
        let mut small = self::window(14, 1);
        self::bic().on_loss(&mut small, &loss(at(0), 14));
        assert_eq!((small.cwnd, small.ssthresh), (7000, 7000));
        window.cwnd = 40_000;
        let later = Loss { snd_una: 9_000_000, snd_max: 9_100_000, ..loss(at(9), 49) };
        bic.on_timeout(&mut window, &later, false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 31_000));
        assert_eq!((bic.last_max, bic.per, bic.per_ack), (0, 0, 32));
    }

    #[test]
    fn an_undo_keeps_the_maximum() {
        let (mut bic, mut window) = (bic(), window(100, 1));
        bic.on_loss(&mut window, &loss(at(0), 100));
        bic.on_undo(&mut window);
        assert!(!bic.samples.is_reduced());
        assert_eq!(bic.last_max, 100);
        bic.on_timeout(&mut window, &loss(at(1), 100), false);
        assert_eq!(window.ssthresh, 63_000, "another reduction: 79·0.8");
    }
}
