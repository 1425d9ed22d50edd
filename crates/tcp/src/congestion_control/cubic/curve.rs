//! The window of RFC 9438, in segments and seconds.

use super::super::{Ack, Loss, Window};
use super::Config;
use retx_units::{Duration, Time};

/// State of the cubic function.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    c: f64,
    beta: f64,
    /// α of the Reno-friendly region.
    alpha: f64,
    fast_convergence: bool,
    shape: Shape,
    /// Shape of the cubic function before the last reduction, for an undo.
    before: Option<Shape>,
    /// Fractional part of the window's growth, in bytes.
    fraction: f64,
    /// Time of the last update: earlier time is already included in the epoch, or excluded from it.
    seen: Time,
}

/// Values that are restored if a reduction was unnecessary (§4.9).
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// Epoch of congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Epoch {
    start: Time,
    k: f64,
    origin: f64,
    w_est: f64,
}

impl Epoch {
    pub(super) fn new(start: Time, c: f64, w_max: f64, cwnd: f64) -> Self {
        let (k, origin) = if w_max > cwnd {
            // K and W_max of fig. 2.
            (libm::cbrt((w_max - cwnd) / c), w_max)
        } else {
            // §4.8, §4.10: no larger window is known, so K = 0 and the curve begins at cwnd.
            (0.0, cwnd)
        };
        Self { start, k, origin, w_est: cwnd }
    }

    /// W_cubic(t) of fig. 1, in segments.
    pub(super) fn w_cubic(&self, c: f64, t: f64) -> f64 {
        let distance = t - self.k;
        c * distance * distance * distance + self.origin
    }
}

impl Curve {
    pub fn new(config: &Config) -> Self {
        let beta = config.beta.value();
        Self {
            c: config.c.value(),
            beta,
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            fast_convergence: config.fast_convergence,
            shape: Shape::default(),
            before: None,
            fraction: 0.0,
            seen: Time::ZERO,
        }
    }

    /// Excludes the time up to now, in which the window did not limit the sender (§5.8).
    pub fn exclude_until(&mut self, now: Time) {
        if let Some(epoch) = &mut self.shape.epoch {
            // At most `now`: otherwise t would be negative.
            epoch.start = (epoch.start + now.since(self.seen)).min(now);
        }
        self.seen = now;
    }

    /// Grows the window in congestion avoidance (§4.2 – §4.5).
    pub fn grow(&mut self, window: &mut Window, ack: &Ack) {
        self.seen = ack.now;
        let smss = f64::from(window.smss);
        let cwnd = (window.cwnd as f64 + self.fraction) / smss;
        let Shape { w_max, cwnd_prior, .. } = self.shape;
        let c = self.c;
        let epoch = self.shape.epoch.get_or_insert_with(|| Epoch::new(ack.now, c, w_max, cwnd));
        let t = ack.now.since(epoch.start).as_secs_f64();
        let acked = ack.bytes_acked as f64 / smss;
        // §4.3: beyond cwnd_prior the smaller reduction has been made up for, and Reno's own
        // increase applies.
        let alpha = if epoch.w_est >= cwnd_prior { 1.0 } else { self.alpha };
        // W_est of fig. 4.
        epoch.w_est += alpha * acked / cwnd;
        let grown = if epoch.w_cubic(c, t) < epoch.w_est {
            epoch.w_est.max(cwnd)
        } else {
            let rtt = ack.srtt.unwrap_or(Duration::ZERO).as_secs_f64();
            // §4.2: the target is at least the window, and at most 1.5 times the window.
            let target = epoch.w_cubic(c, t + rtt).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        let bytes = grown * smss;
        window.cwnd = window.cwnd.max(bytes as u64);
        // cwnd is a whole number of bytes: growth of less than a byte per ACK must add up.
        self.fraction = (bytes - window.cwnd as f64).clamp(0.0, 1.0);
    }

    fn reduce(&mut self, window: &mut Window, loss: &Loss) {
        let smss = u64::from(window.smss);
        self.before = Some(self.shape);
        let cwnd = window.cwnd as f64 / smss as f64;
        self.shape.cwnd_prior = cwnd;
        // §4.7: the last maximum was not reached, so another flow needs bandwidth. A lower maximum
        // leaves more to that flow.
        self.shape.w_max = if self.fast_convergence && cwnd < self.shape.w_max {
            cwnd * (1.0 + self.beta) / 2.0
        } else {
            cwnd
        };
        self.shape.epoch = None;
        self.fraction = 0.0;
        window.ssthresh = ((loss.flight_size as f64 * self.beta) as u64).max(2 * smss);
    }

    pub fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        self.reduce(window, loss);
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    pub fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        // At a repeated timeout the window is one segment, which is not the window before the loss.
        if !repeated {
            self.reduce(window, loss);
        }
        // Without W_max the next epoch has K = 0 (§4.8).
        self.shape.w_max = 0.0;
        self.shape.epoch = None;
        window.cwnd = window.smss.into();
    }

    /// Undoes the last reduction.
    pub fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.shape = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{ack, at, loss, window};
    use super::*;

    fn curve(cwnd: u64) -> (Curve, Window) {
        (Curve::new(&Config::default()), window(cwnd, 1))
    }

    /// W_max = 100, cwnd_epoch = 70: K = ∛75 s.
    #[test]
    fn figures_1_and_2() {
        let epoch = Epoch::new(at(0), 0.4, 100.0, 70.0);
        assert!((epoch.k - 4.217_163_326_508_746).abs() < 1e-12);
        let close = |t, w: f64| assert!((epoch.w_cubic(0.4, t) - w).abs() < 1e-9, "at {t}");
        close(0.0, 70.0);
        close(epoch.k, 100.0);
        close(2.0 * epoch.k, 130.0);
        close(epoch.k + 10.0, 500.0);
        let flat = Epoch::new(at(0), 0.4, 50.0, 70.0);
        assert_eq!((flat.k.to_bits(), flat.origin.to_bits()), (0, 70_f64.to_bits()));
    }

    /// Plays one window of ACKs per RTT for `ms` milliseconds from `from` on.
    fn play(curve: &mut Curve, window: &mut Window, from: u64, ms: u64, rtt: u64) -> Time {
        let mut now = at(from).as_nanos();
        let end = now + ms * 1_000_000;
        while now < end {
            now += rtt * 1_000_000 * 1000 / window.cwnd;
            let srtt = Some(Duration::from_millis(rtt));
            let ack = Ack { srtt, ..ack(Time::from_nanos(now), 1000) };
            curve.grow(window, &ack);
        }
        Time::from_nanos(now)
    }

    /// The growth by (target − cwnd)/cwnd follows W_cubic with the time constant RTT, and hence
    /// lags it by RTT²·W''/2, here at most 0.05 segments.
    #[test]
    fn the_window_follows_the_curve() {
        let (mut curve, mut window) = curve(1000);
        curve.on_loss(&mut window, &loss(at(0), 1000));
        assert_eq!((window.cwnd, window.ssthresh), (700_000, 700_000));
        let epoch = Epoch::new(at(0), 0.4, 1000.0, 700.0);
        let mut from = 0;
        for seconds in [1, 3, 8, 9, 12, 16] {
            let now = play(&mut curve, &mut window, from, seconds * 1000 - from, 100);
            from = seconds * 1000;
            let expected = epoch.w_cubic(0.4, now.as_secs_f64());
            let cwnd = window.cwnd as f64 / 1000.0;
            assert!((cwnd - expected).abs() < 0.25, "{cwnd}, not {expected} at {seconds} s");
        }
    }

    /// At an RTT of 1 ms the cubic function lies below Reno's estimate, which grows by 9/17
    /// segments per RTT up to the prior window, and by 1 from there on.
    #[test]
    fn reno_friendly_region() {
        let (mut curve, mut window) = curve(100);
        curve.on_loss(&mut window, &loss(at(0), 100));
        // 30 segments at 9/17 take 56.7 RTTs.
        play(&mut curve, &mut window, 0, 34, 1);
        let cwnd = window.cwnd as f64 / 1000.0;
        assert!((cwnd - (70.0 + 34.0 * 9.0 / 17.0)).abs() < 0.6, "{cwnd}");
        play(&mut curve, &mut window, 34, 23, 1);
        let before = window.cwnd as f64 / 1000.0;
        assert!((before - 100.0).abs() < 0.6, "{before}");
        play(&mut curve, &mut window, 57, 20, 1);
        let cwnd = window.cwnd as f64 / 1000.0;
        assert!((cwnd - before - 20.0).abs() < 0.6, "{cwnd}");
    }

    #[test]
    fn fast_convergence_and_undo() {
        let (mut curve, mut window) = curve(100);
        curve.on_loss(&mut window, &loss(at(0), 100));
        assert!((curve.shape.w_max - 100.0).abs() < 1e-9);
        curve.grow(&mut window, &ack(at(10), 1000));
        let before = curve.shape;
        curve.on_loss(&mut window, &loss(at(20), 60));
        assert_eq!(window.cwnd, 42_000, "of what was in flight");
        assert!((curve.shape.w_max - 70.0 * 0.85).abs() < 0.1, "{}", curve.shape.w_max);
        curve.undo();
        assert_eq!(curve.shape.epoch, before.epoch);
        assert!((curve.shape.w_max - 100.0).abs() < 1e-9);
        let keeps = Config { fast_convergence: false, ..Config::default() };
        let mut slow = Curve { shape: curve.shape, ..Curve::new(&keeps) };
        let mut window = super::super::super::testing::window(60, 1);
        slow.on_loss(&mut window, &loss(at(0), 60));
        assert!((slow.shape.w_max - 60.0).abs() < 1e-9);
    }

    #[test]
    fn after_a_timeout_the_curve_begins_at_its_inflection() {
        let (mut curve, mut window) = curve(100);
        curve.on_timeout(&mut window, &loss(at(0), 100), false);
        assert_eq!((window.cwnd, window.ssthresh), (1_000, 70_000));
        window.cwnd = 70_000;
        curve.grow(&mut window, &ack(at(500), 1000));
        let epoch = curve.shape.epoch.expect("a stage");
        assert!(epoch.k.abs() < 1e-12 && (epoch.origin - 70.0).abs() < 1e-9);
    }

    #[test]
    fn time_without_a_full_window_does_not_count() {
        let (mut curve, mut window) = curve(100);
        curve.on_loss(&mut window, &loss(at(0), 100));
        curve.grow(&mut window, &ack(at(1000), 1000));
        curve.exclude_until(at(9000));
        curve.exclude_until(at(9500));
        assert_eq!(curve.shape.epoch.map(|epoch| epoch.start), Some(at(9500)));
        curve.grow(&mut window, &ack(at(9600), 1000));
        curve.exclude_until(at(9700));
        assert_eq!(curve.shape.epoch.map(|epoch| epoch.start), Some(at(9600)));
    }

    /// RFC 9438 §4.4: cwnd grows by (target − cwnd)/cwnd for each segment acknowledged. 1 s after a
    /// loss at 100 segments the target is 100 − 0.4·(∛75 − 1)³ = 86.68, so each adds 16.68/70.
    #[test]
    fn growth_is_proportional_to_the_data_acknowledged() {
        let grown = |bytes| {
            let (mut curve, mut window) = curve(100);
            curve.on_loss(&mut window, &loss(at(0), 100));
            curve.grow(&mut window, &ack(at(0), 1000));
            let before = window.cwnd;
            curve.grow(&mut window, &ack(at(1000), bytes));
            window.cwnd - before
        };
        assert!(grown(1000).abs_diff(238) <= 2, "{}", grown(1000));
        assert!(grown(2000).abs_diff(476) <= 3, "{}", grown(2000));
    }

    /// RFC 9438 §4.7: a loss at the former W_max does not lower it; a loss at a smaller window
    /// does.
    #[test]
    fn a_maximum_reached_again_stays() {
        for (cwnd, w_max) in [(99, 99.0 * 0.85), (100, 100.0), (101, 101.0)] {
            let (mut curve, mut window) = curve(cwnd);
            curve.shape.w_max = 100.0;
            curve.on_loss(&mut window, &loss(at(0), cwnd));
            assert!((curve.shape.w_max - w_max).abs() < 1e-9, "{cwnd}: {}", curve.shape.w_max);
        }
    }
}
