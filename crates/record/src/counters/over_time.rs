//! Means and maxima of values over time.

use super::Measure;
use retx_units::{Duration, Time};

/// Time average of a quantity, over the time in which it has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(8))]
pub struct TimeMean {
    /// Integral of the value over time, in value-nanoseconds.
    integral: u128,
    elapsed: Duration,
    /// Current value; 0 if there is none.
    value: u64,
    /// Time from which the current value holds; [`Time::NEVER`] if there is none.
    since: Time,
}

impl Default for TimeMean {
    fn default() -> Self {
        Self { integral: 0, elapsed: Duration::ZERO, value: 0, since: Time::NEVER }
    }
}

impl TimeMean {
    /// Sets the value from now on.
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        if self.value != value || self.since == Time::NEVER {
            self.advance_to(now);
            self.value = value;
            self.since = now;
        }
    }

    /// Records that the quantity has no value from now on.
    pub fn unset(&mut self, now: Time) {
        self.advance_to(now);
        self.value = 0;
        self.since = Time::NEVER;
    }

    /// Mean up to the last update; `None` if the quantity never had a value.
    pub fn mean(&self) -> Option<f64> {
        let elapsed = self.elapsed.as_nanos();
        (elapsed > 0).then(|| self.integral as f64 / elapsed as f64)
    }
}

impl Measure for TimeMean {
    fn advance_to(&mut self, now: Time) {
        if self.since != Time::NEVER {
            let span = now.since(self.since);
            self.integral += u128::from(self.value) * u128::from(span.as_nanos());
            self.elapsed += span;
            self.since = now;
        }
    }

    fn since(&self, start: &Self) -> Self {
        Self {
            integral: self.integral - start.integral,
            elapsed: self.elapsed - start.elapsed,
            value: self.value,
            since: self.since,
        }
    }
}

/// Quantity that rises and falls: time average, maximum, and current value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauge {
    over_time: TimeMean,
    /// Maximum since the statistics began.
    pub max: u64,
}

impl Gauge {
    /// Sets the value from now on.
    #[inline]
    pub fn set(&mut self, now: Time, value: u64) {
        self.over_time.set(now, value);
        self.max = self.max.max(value);
    }

    /// Records that the quantity has no value from now on.
    pub fn unset(&mut self, now: Time) {
        self.over_time.unset(now);
    }

    /// Current value; 0 if there is none.
    pub fn value(&self) -> u64 {
        self.over_time.value
    }

    /// Mean over the time in which the quantity had a value; 0 if it never had one.
    pub fn mean(&self) -> f64 {
        self.over_time.mean().unwrap_or(0.0)
    }
}

impl Measure for Gauge {
    fn advance_to(&mut self, now: Time) {
        self.over_time.advance_to(now);
    }

    fn restart_maximum(&mut self) {
        self.max = self.value();
    }

    fn since(&self, start: &Self) -> Self {
        Self { over_time: self.over_time.since(&start.over_time), max: self.max }
    }
}

/// Gauge that only few flows need; it is allocated when it is first set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LazyGauge(Option<Box<Gauge>>);

impl LazyGauge {
    /// Sets the value from now on.
    pub fn set(&mut self, now: Time, value: u64) {
        self.0.get_or_insert_default().set(now, value);
    }

    /// Records that the quantity has no value from now on.
    pub fn unset(&mut self, now: Time) {
        self.0.iter_mut().for_each(|level| level.unset(now));
    }

    /// Current value; 0 if there is none.
    pub fn value(&self) -> u64 {
        self.0.as_ref().map_or(0, |level| level.value())
    }

    /// Maximum since the statistics began.
    pub fn max(&self) -> u64 {
        self.0.as_ref().map_or(0, |level| level.max)
    }

    /// Mean over the time in which the quantity had a value; 0 if it never had one.
    pub fn mean(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |level| level.mean())
    }
}

impl Measure for LazyGauge {
    fn advance_to(&mut self, now: Time) {
        self.0.iter_mut().for_each(|level| level.advance_to(now));
    }

    fn restart_maximum(&mut self) {
        self.0.iter_mut().for_each(|level| level.restart_maximum());
    }

    fn since(&self, start: &Self) -> Self {
        let before = start.0.as_deref().copied().unwrap_or_default();
        Self(self.0.as_ref().map(|level| Box::new(level.since(&before))))
    }
}
