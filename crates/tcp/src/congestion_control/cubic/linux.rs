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
mod tests;
