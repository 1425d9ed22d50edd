//! Measures taken during a run: counts, moments, and averages over time ([`TimeMean`], [`Gauge`]).

mod over_time;

pub use over_time::{Gauge, LazyGauge, TimeMean};

use crate::reason::{Cause, EpisodeKind, SenderInference};
use retx_units::{Duration, Time};

/// Type of a flow's counter.
pub trait Measure {
    /// Value since the snapshot `start`.
    fn since(&self, start: &Self) -> Self;

    /// Integrates a quantity over time up to now.
    fn advance_to(&mut self, _now: Time) {}

    /// Resets the maximum, if the quantity has one, to the current value.
    fn restart_maximum(&mut self) {}
}

impl Measure for u64 {
    fn since(&self, start: &Self) -> Self {
        self - start
    }
}

impl Measure for u32 {
    fn since(&self, start: &Self) -> Self {
        self - start
    }
}

/// Maximum of a value since the statistics began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maximum(u32);

impl Maximum {
    /// Adds a value.
    pub fn note(&mut self, value: u32) {
        self.0 = self.0.max(value);
    }

    /// Maximum; 0 without a value.
    pub const fn value(self) -> u32 {
        self.0
    }
}

impl Measure for Maximum {
    fn since(&self, _start: &Self) -> Self {
        *self
    }

    fn restart_maximum(&mut self) {
        *self = Self::default();
    }
}

/// Recovery episodes by kind, by the cause that the sender inferred, and by their true cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Episodes {
    counts: [[[u32; 3]; 2]; 2],
}

impl Episodes {
    /// Number of episodes of a kind with a cause.
    pub fn count(&self, kind: EpisodeKind, cause: Cause) -> u64 {
        self.counts[kind as usize].iter().map(|causes| u64::from(causes[cause as usize])).sum()
    }

    /// Number of episodes with this inference of the sender and this cause.
    pub const fn count_inferred(&self, inference: SenderInference, cause: Cause) -> u64 {
        self.counts[inference.kind as usize][inference.inferred as usize][cause as usize] as u64
    }

    /// Number of episodes of a kind.
    pub fn total(&self, kind: EpisodeKind) -> u64 {
        self.counts[kind as usize].iter().flatten().map(|count| u64::from(*count)).sum()
    }

    /// Counts an episode.
    pub fn add(&mut self, inference: SenderInference, cause: Cause) {
        self.counts[inference.kind as usize][inference.inferred as usize][cause as usize] += 1;
    }

    /// Moves an episode that was counted with the cause `Spurious` to its true `cause`.
    pub fn correct_cause(&mut self, inference: SenderInference, cause: Cause) {
        let causes = &mut self.counts[inference.kind as usize][inference.inferred as usize];
        causes[Cause::Spurious as usize] -= 1;
        causes[cause as usize] += 1;
    }
}

impl Measure for Episodes {
    fn since(&self, start: &Self) -> Self {
        let mut since = *self;
        let ours = since.counts.iter_mut().flatten().flatten();
        for (ours, theirs) in ours.zip(start.counts.iter().flatten().flatten()) {
            *ours -= theirs;
        }
        since
    }
}

/// Event that ended a sender's pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleEnd {
    /// Expiry of the retransmission timer.
    Rto,
    /// Arrival of an acknowledgment, or probe of a closed window: the congestion window or the
    /// receive window limited the sender.
    Window,
    /// New data from the application, after a time without data to send.
    Application,
}

/// Total of a sender's pauses that were longer than a smoothed RTT, by the event that ended them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdleTimes {
    /// Total duration of the pauses ended by the retransmission timer.
    pub rto: Duration,
    /// Total duration of the pauses ended by an acknowledgment or a window probe.
    pub window: Duration,
    /// Total duration of the pauses in which the sender had no data to send.
    pub application: Duration,
    /// Longest pause with data to send.
    pub longest: Duration,
}

impl IdleTimes {
    /// Adds a pause.
    pub fn add(&mut self, pause: Duration, end: IdleEnd) {
        match end {
            IdleEnd::Rto => self.rto += pause,
            IdleEnd::Window => self.window += pause,
            IdleEnd::Application => self.application += pause,
        }
        if end != IdleEnd::Application {
            self.longest = self.longest.max(pause);
        }
    }

    /// Sum of all pauses with data to send.
    pub fn total(&self) -> Duration {
        self.rto + self.window
    }
}

impl Measure for IdleTimes {
    fn since(&self, start: &Self) -> Self {
        Self {
            rto: self.rto - start.rto,
            window: self.window - start.window,
            application: self.application - start.application,
            longest: self.longest,
        }
    }

    fn restart_maximum(&mut self) {
        self.longest = Duration::ZERO;
    }
}

/// Number, sum and sum of squares of durations; all are exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, packed(8))]
pub struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
}

impl Moments {
    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, sample: Duration) {
        let nanos = u128::from(sample.as_nanos());
        self.count += 1;
        self.sum += nanos;
        self.squares += nanos * nanos;
    }

    /// Number of samples.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Mean in seconds; `None` without a sample.
    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e9)
    }

    /// Sample standard deviation in seconds (n − 1 in the denominator); `None` below two samples.
    pub fn sd_s(&self) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let count = self.count as f64;
        // Σ(x − m)² with an integer m near the mean is exact. Floating point would have to subtract
        // two large and nearly equal numbers.
        let middle = self.sum / u128::from(self.count);
        let around =
            self.squares + middle * middle * u128::from(self.count) - 2 * middle * self.sum;
        let rest = (self.sum - middle * u128::from(self.count)) as f64;
        let variance = (around as f64 - rest * rest / count) / (count - 1.0);
        Some(libm::sqrt(variance.max(0.0)) / 1e9)
    }
}

impl Measure for Moments {
    fn since(&self, start: &Self) -> Self {
        Self {
            count: self.count - start.count,
            sum: self.sum - start.sum,
            squares: self.squares - start.squares,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn moments_of_a_known_sample() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean_s(), moments.sd_s()), (None, None));
        for sample in [2, 4, 4, 4, 5, 5, 7, 9] {
            moments.add(ms(sample));
        }
        // The variance is Σ(x − 5)²/7 = 32/7.
        assert_eq!(moments.mean_s(), Some(0.005));
        assert!((moments.sd_s().unwrap() - (32.0f64 / 7.0).sqrt() / 1e3).abs() < 1e-12);
    }

    /// The variance of large and nearly equal samples is right; with sums in floating point, no
    /// digit would be left for it.
    #[test]
    fn moments_do_not_cancel() {
        let mut moments = Moments::default();
        for sample in 0..1000u64 {
            moments.add(Duration::from_nanos(100_000_000_000 + sample % 2));
        }
        let sd = moments.sd_s().unwrap();
        assert!((sd / (0.25f64 * 1000.0 / 999.0).sqrt() * 1e9 - 1.0).abs() < 1e-9, "{sd}");
    }

    #[test]
    fn the_mean_over_time_skips_gaps() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut mean = TimeMean::default();
        mean.set(at(1), 10);
        mean.set(at(3), 40);
        mean.set(at(4), 40);
        mean.unset(at(5));
        mean.set(at(100), 10);
        mean.advance_to(at(101));
        // The value was 10 for 2 s, 40 for 2 s, and 10 for 1 s.
        assert_eq!(mean.mean(), Some(22.0));
        let snapshot = mean;
        mean.advance_to(at(103));
        assert_eq!(mean.since(&snapshot).mean(), Some(10.0));
    }
}
