//! Linux's computation of the window: it grows by one segment for each `per` segments acknowledged.
//! Times are counted in jiffies, as in the kernel, and the cubic function in units of 1/1024 s.

use super::super::segments::{self, SegmentCounter};
use super::super::{Loss, Window};
use super::Config;
use retx_units::{Duration, Time};

/// Jiffy: a tick at HZ = 250.
const TICK: Duration = Duration::from_millis(4);
/// Age up to which `per` is kept for an unchanged window: HZ/32, which is 7 jiffies.
const KEPT: Duration = Duration::from_millis(28);
/// Units of time of the cubic function in a second (`BICTCP_HZ`).
const UNITS: u64 = 1024;
/// Time from the start of an epoch during which RTT samples are ignored.
const SETTLED: Duration = Duration::from_secs(1);

/// State of Linux's curve.
#[derive(Debug, Clone)]
pub(super) struct LinuxCurve {
    /// C and β in 1024ths.
    c: f64,
    beta: u64,
    fast_convergence: bool,
    segments: SegmentCounter,
    last_max: u64,
    delay_min: Duration,
    /// Window and jiffy of the most recent computation.
    computed: Option<(u64, Time)>,
    per: u64,
    /// Window for which `per` is kept, and the end of that time.
    kept: Option<(Window, Time)>,
    epoch: Option<Epoch>,
}

#[derive(Debug, Clone, Copy)]
struct Epoch {
    /// Jiffy in which the epoch began.
    start: Time,
    /// Time from the start to the plateau of the cubic function, in units of 1/1024 s.
    k: u64,
    origin: u64,
    /// Window that Reno would have; `acked` segments have been acknowledged since it last grew.
    reno: u64,
    acked: u64,
}

impl LinuxCurve {
    pub fn new(config: &Config) -> Self {
        Self {
            // 0.4 and 0.7 become 410/1024 and 717/1024.
            c: libm::round(config.c.value() * 102.4).max(1.0) * 10.0 / 1024.0,
            beta: (libm::round(config.beta.value() * 1024.0) as u64).clamp(1, 1023),
            fast_convergence: config.fast_convergence,
            segments: SegmentCounter::default(),
            last_max: 0,
            delay_min: Duration::ZERO,
            computed: None,
            per: 0,
            kept: None,
            epoch: None,
        }
    }

    /// True in the first second of congestion avoidance, whose RTTs are those of recovery.
    #[inline]
    pub fn is_in_first_second(&self, now: Time) -> bool {
        // The start is a multiple of a jiffy, so the current time need not be rounded down.
        self.epoch.is_some_and(|epoch| now < epoch.start + SETTLED)
    }

    /// Records a raw RTT sample.
    #[inline]
    pub fn sample(&mut self, rtt: Duration) {
        if self.delay_min.is_zero() || rtt < self.delay_min {
            self.delay_min = rtt;
        }
    }

    /// Excludes from the epoch a pause with nothing in flight, which ends now with new data.
    pub fn exclude_until(&mut self, now: Time, last_sent: Time) {
        if let Some(epoch) = &mut self.epoch {
            let pause = jiffy(now).since(jiffy(last_sent));
            epoch.start = (epoch.start + pause).min(jiffy(now));
        }
    }

    pub fn grow(&mut self, window: &mut Window, now: Time, acked: u64) {
        let cwnd = segments::cwnd_segments(window);
        self.compute(cwnd, now, acked);
        let computed = self.computed.filter(|computed| computed.0 == cwnd);
        self.kept = computed.map(|(_, at)| (*window, at + KEPT + TICK));
        self.segments.grow_additively(window, self.per, acked);
    }

    /// Does the same as [`Self::grow`], faster if `per` is kept and the window does not grow.
    #[inline(always)]
    pub fn grow_or_count(&mut self, window: &mut Window, now: Time, acked: u64) {
        let counted = self.segments.acked_segments + acked;
        let is_kept = self.kept.is_some_and(|(kept, end)| {
            (kept.cwnd, kept.smss) == (window.cwnd, window.smss) && now < end
        });
        if !is_kept || counted >= self.per {
            return self.grow(window, now, acked);
        }
        self.segments.acked_segments = counted;
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
    }

    fn compute(&mut self, cwnd: u64, now: Time, acked: u64) {
        let now = jiffy(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
        if let Some((at_cwnd, at)) = self.computed {
            // For an unchanged window `per` (Linux `cnt`) is kept for a short time.
            if at_cwnd == cwnd && now.since(at) <= KEPT {
                return;
            }
            // The cubic function is computed once per jiffy, Reno's bound for every ACK
            // (`bictcp_update`).
            if self.epoch.is_some() && now == at {
                self.limit_growth(cwnd);
                return;
            }
        }
        self.computed = Some((cwnd, now));
        let (c, last_max) = (self.c, self.last_max);
        let epoch = self.epoch.get_or_insert_with(|| {
            let missing = last_max.saturating_sub(cwnd);
            let k = (libm::cbrt(missing as f64 / c) * UNITS as f64) as u64;
            Epoch { start: now, k, origin: last_max.max(cwnd), reno: cwnd, acked }
        });
        // The target lies one minimum RTT ahead; in the RFC it is one SRTT.
        let delay = (Time::ZERO + self.delay_min).align_up(TICK).since(Time::ZERO);
        let t = units(now.since(epoch.start) + delay);
        // The kernel cubes the unsigned distance to K, and adds or subtracts it afterwards.
        let distance = t.abs_diff(epoch.k) as f64 / UNITS as f64;
        let delta = (c * distance * distance * distance) as u64;
        let target = if t < epoch.k {
            epoch.origin.saturating_sub(delta)
        } else {
            epoch.origin.saturating_add(delta)
        };
        // At or above the target the window grows by one segment in a hundred windows.
        self.per = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.last_max == 0 {
            // Without an estimate of the path, the window grows by at least 5 % per round trip.
            self.per = self.per.min(20);
        }
        self.limit_growth(cwnd);
    }

    /// Limits the growth: at least that of Reno, at most half that of slow start.
    fn limit_growth(&mut self, cwnd: u64) {
        if let Some(epoch) = &mut self.epoch {
            // `beta_scale` is 8/α: Reno's window grows by a segment for each cwnd/α acknowledged.
            let scale = 8 * (1024 + self.beta) / 3 / (1024 - self.beta);
            let per_segment = (cwnd.saturating_mul(scale) >> 3).max(1);
            if epoch.acked > per_segment {
                // Linux subtracts in a loop while the count exceeds `per_segment`, so the remainder
                // is never 0.
                let more = (epoch.acked - 1) / per_segment;
                epoch.acked -= more * per_segment;
                epoch.reno = epoch.reno.saturating_add(more);
            }
            if epoch.reno > cwnd {
                self.per = self.per.min(cwnd / (epoch.reno - cwnd));
            }
        }
        self.per = self.per.max(2);
    }

    /// Records the maximum for the next epoch; returns the new threshold in segments.
    fn ssthresh(&mut self, window: &Window) -> u64 {
        let cwnd = segments::cwnd_segments(window);
        let share = |numerator: u64, denominator: u64| {
            (u128::from(cwnd) * u128::from(numerator) / u128::from(denominator)) as u64
        };
        self.last_max = if self.fast_convergence && cwnd < self.last_max {
            share(1024 + self.beta, 2048)
        } else {
            cwnd
        };
        self.epoch = None;
        share(self.beta, 1024).max(2)
    }

    pub fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = self.ssthresh(window);
        self.segments.reduce(window, loss, ssthresh);
    }

    pub fn undo(&mut self) {
        self.segments.undo();
    }

    pub fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let ssthresh = self.ssthresh(window);
        if !self.segments.on_timeout(window, loss, repeated) {
            window.ssthresh = segments::segments_to_bytes(window, ssthresh);
        }
        // `cubictcp_state` calls `bictcp_reset` in `TCP_CA_Loss`.
        self.last_max = 0;
        self.delay_min = Duration::ZERO;
        self.computed = None;
        self.kept = None;
        self.per = 0;
    }
}

/// Start of the jiffy in which a time lies.
const fn jiffy(time: Time) -> Time {
    time.align_down(TICK)
}

/// Time in whole units of the cubic function.
const fn units(time: Duration) -> u64 {
    time.as_nanos() / TICK.as_nanos() * UNITS / 250
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{at, loss, window};
    use super::*;

    /// Plays one window of ACKs per RTT; returns the window at the end, in segments.
    fn play(curve: &mut LinuxCurve, window: &mut Window, ms: [u64; 2], rtt: u64) -> f64 {
        let mut now = at(ms[0]).as_nanos();
        while now < at(ms[1]).as_nanos() {
            now += rtt * 1_000_000 * 1000 / window.cwnd;
            curve.grow(window, Time::from_nanos(now), 1);
        }
        window.cwnd as f64 / 1000.0
    }

    /// Linux's C is 410/1024, β 717/1024; the curve is evaluated one minimum RTT ahead. Targets and
    /// quotients are integers, so the window lags by a few segments.
    #[test]
    fn follows_the_curve() {
        let mut curve = LinuxCurve::new(&Config::default());
        let mut window = window(1000, 1);
        curve.on_loss(&mut window, &loss(at(0), 1000));
        assert_eq!(window.cwnd, 700_000);
        curve.sample(Duration::from_millis(100));
        let k = libm::cbrt(300.0 * 1024.0 / 410.0);
        for seconds in [3, 9, 12, 16] {
            let from = if seconds == 3 { 0 } else { seconds - if seconds == 9 { 6 } else { 4 } };
            let from = if seconds == 12 { 9 } else { from };
            let cwnd = play(&mut curve, &mut window, [from * 1000, seconds * 1000], 100);
            let d = seconds as f64 - k;
            let expected = 410.0 / 1024.0 * d * d * d + 1000.0;
            assert!((cwnd / expected - 1.0).abs() < 0.01, "{cwnd}, not {expected} at {seconds} s");
        }
    }

    /// 8·1741/3/307 = 15: Reno's window grows by a segment per 15/8 windows.
    #[test]
    fn friendly_to_reno_and_no_more_than_that() {
        let mut curve = LinuxCurve::new(&Config::default());
        let mut window = window(100, 1);
        curve.on_loss(&mut window, &loss(at(0), 100));
        let cwnd = play(&mut curve, &mut window, [0, 2000], 20);
        assert!((cwnd - (70.0 + 100.0 * 8.0 / 15.0)).abs() < 2.0, "{cwnd}");
    }

    #[test]
    fn five_percent_per_round_before_the_first_loss() {
        let mut curve = LinuxCurve::new(&Config::default());
        let mut window = window(100, 1);
        // Ten rounds follow, each of which increases the window by 1/20.
        let cwnd = play(&mut curve, &mut window, [0, 500], 50);
        assert!((cwnd - 100.0 * libm::pow(1.05, 10.0)).abs() < 2.0, "{cwnd}");
    }

    #[test]
    fn fast_convergence_and_timeouts() {
        let mut curve = LinuxCurve::new(&Config::default());
        let mut lossy = window(100, 1);
        curve.on_loss(&mut lossy, &loss(at(0), 100));
        assert_eq!(curve.last_max, 100);
        curve.on_loss(&mut lossy, &loss(at(1), 70));
        assert_eq!((curve.last_max, lossy.cwnd), (59, 49_000));
        let later = Loss { snd_una: 900_000, snd_max: 999_000, ..loss(at(9), 49) };
        curve.on_timeout(&mut lossy, &later, false);
        assert_eq!((curve.last_max, lossy.cwnd, lossy.ssthresh), (0, 1000, 34_000));
    }

    /// The shortcut of the fast paths grows the window in the same way.
    #[test]
    fn counting_is_a_shortcut_of_growth() {
        let mut curves = [(); 2].map(|()| LinuxCurve::new(&Config::default()));
        let mut windows = [window(50, 1); 2];
        let mut counted = 0;
        for n in 0..20_000 {
            let (now, acked) = (Time::from_nanos(n * 700_000), 1 + n % 3);
            if n % 5_000 == 2_500 {
                windows.iter_mut().for_each(|window| window.smss += 1);
            }
            curves[0].grow(&mut windows[0], now, acked);
            let computed = curves[1].computed;
            curves[1].grow_or_count(&mut windows[1], now, acked);
            counted += u32::from(curves[1].computed == computed);
            assert_eq!(format!("{:?}", curves[0]), format!("{:?}", curves[1]), "{n}");
            assert_eq!(windows[0].cwnd, windows[1].cwnd, "{n}");
        }
        assert!(counted > 1_000 && windows[0].cwnd > 100_000, "{counted} {windows:?}");
    }

    fn epoch() -> Epoch {
        Epoch { start: at(0), k: 0, origin: 100, reno: 100, acked: 0 }
    }

    fn curve() -> LinuxCurve {
        LinuxCurve::new(&Config::default())
    }

    /// `cubictcp_acked`: RTTs are ignored for a second (`HZ`) after the start of the epoch.
    #[test]
    fn the_first_second_of_an_epoch() {
        let mut curve = curve();
        assert!(!curve.is_in_first_second(at(0)), "no epoch");
        curve.epoch = Some(epoch());
        assert_eq!(
            [0, 999, 1000, 1001].map(|ms| curve.is_in_first_second(at(ms))),
            [true, true, false, false]
        );
    }

    /// `bictcp_update`: for an unchanged window the result is kept for HZ/32, and the cubic
    /// function is computed at most once per jiffy.
    #[test]
    fn the_curve_is_computed_anew_after_a_while() {
        let last = TICK.as_nanos() - 1;
        for (cwnd, nanos, anew) in [
            (100, KEPT.as_nanos() + last, false),
            (100, KEPT.as_nanos() + last + 1, true),
            (101, 0, false),
            (101, last, false),
            (101, last + 1, true),
        ] {
            let mut curve = curve();
            (curve.epoch, curve.computed) = (Some(epoch()), Some((100, at(0))));
            let now = Time::from_nanos(nanos);
            curve.compute(cwnd, now, 0);
            let expected = if anew { (cwnd, jiffy(now)) } else { (100, at(0)) };
            assert_eq!(curve.computed, Some(expected), "{cwnd} at {nanos}");
        }
    }

    /// `bictcp_update`: times are differences of jiffies, and the minimum RTT is rounded up to
    /// jiffies (`usecs_to_jiffies`). With K = 0 and C = 410/1024 the target is 100 + 410·t³/2⁴⁰,
    /// where t is 1024/250 per jiffy, rounded down. It is 102 from 428 jiffies (1753 units) on.
    #[test]
    fn the_cubic_function_counts_jiffies() {
        let whole = [3, 4, 7, 8, 1000].map(|ms| units(Duration::from_millis(ms)));
        assert_eq!(whole, [0, 4, 4, 8, 1024]);
        let per = |start, now, delay_us| {
            let mut curve = curve();
            curve.delay_min = Duration::from_micros(delay_us);
            (curve.epoch, curve.last_max) = (Some(Epoch { start: at(start), ..epoch() }), 100);
            curve.compute(100, Time::from_nanos(now), 0);
            curve.per
        };
        // 427 jiffies (1708 ms) and a minimum RTT of 1 jiffy, or 426 jiffies and 2 of them.
        let ms = 1_000_000;
        assert_eq!(per(0, 1708 * ms - 1, 1), 100);
        assert_eq!(per(0, 1708 * ms, 1), 50);
        assert_eq!(per(0, 1704 * ms, 4_001), 50);
        assert_eq!(per(0, 1704 * ms, 4_000), 100);
    }

    /// `bictcp_update`: at 100 segments Reno's window grows by one per ⌊100·15/8⌋ = 187
    /// acknowledged; 500 are two of these and 126 more.
    #[test]
    fn the_window_of_reno_grows_by_whole_segments() {
        for (acked, reno, rest) in
            [(187, 100, 187), (188, 101, 1), (374, 101, 187), (500, 102, 126)]
        {
            let mut curve = curve();
            curve.epoch = Some(Epoch { acked, ..epoch() });
            curve.limit_growth(100);
            let epoch = curve.epoch.unwrap();
            assert_eq!((epoch.reno, epoch.acked), (reno, rest), "{acked}");
        }
    }

    /// `bictcp_update`: cnt is at most cwnd/(tcp_cwnd − cwnd), so that the window keeps up with
    /// Reno's, and never below 2.
    #[test]
    fn the_distance_to_reno_limits_the_count() {
        for (reno, per) in [(90, 1000), (100, 1000), (101, 100), (110, 10), (190, 2)] {
            let mut curve = curve();
            (curve.epoch, curve.per) = (Some(Epoch { reno, ..epoch() }), 1000);
            curve.limit_growth(100);
            assert_eq!(curve.per, per, "{reno}");
        }
    }

    /// `tcp_enter_loss` keeps ssthresh during a reduction that has not been undone: 717/1024 of 100
    /// segments are 70.
    #[test]
    fn after_an_undo_a_timeout_sets_the_threshold_again() {
        for (undone, ssthresh) in [(false, 999_000), (true, 70_000)] {
            let mut curve = curve();
            curve.on_loss(&mut window(100, 999), &loss(at(0), 100));
            if undone {
                curve.undo();
            }
            let mut window = window(100, 999);
            curve.on_timeout(&mut window, &loss(at(1), 100), false);
            assert_eq!(window.ssthresh, ssthresh);
        }
    }

    /// `cubictcp_acked` records the smallest RTT.
    #[test]
    fn samples_of_segments_reach_the_curve() {
        use super::super::{Avoidance, State, Variant};
        use crate::congestion_control::CongestionControl;
        use crate::congestion_control::testing::{ack, tcp};
        let config = Config { variant: Variant::Linux, ..Config::default() };
        let mut state = State::new(&config, &tcp());
        for (ms, least) in [(20, 20), (30, 20), (10, 10)] {
            let rtt = Some(Duration::from_millis(ms));
            state.on_segments_acked(&mut window(10, 999), &ack(at(0), 1000), rtt);
            let Avoidance::Linux(curve) = &state.avoidance else { panic!("the variant of Linux") };
            assert_eq!(curve.delay_min, Duration::from_millis(least));
        }
    }
}
