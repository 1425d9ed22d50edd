//! Distributions of times: exact moments and extremes, and quantiles from a histogram with
//! logarithmic classes, which takes about ten KB however long the run is.

use crate::counters::Moments;
use retx_units::Duration;
use serde::Serialize;

/// Number of classes (bins) per doubling of the time; the width of a class is at most 1/128 of each
/// time in it.
const CLASSES: usize = 128;

/// Distribution of times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    moments: Moments,
    least: Duration,
    most: Duration,
    /// Number of times in each class, up to the class of the longest time.
    classes: Vec<u64>,
}

/// Summary of a distribution; all values are `None` if the distribution contains no time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct DistributionSummary {
    pub mean_s: Option<f64>,
    pub sd_s: Option<f64>,
    pub min_s: Option<f64>,
    /// Median. The error of each quantile is at most 0.4 %.
    pub p50_s: Option<f64>,
    pub p95_s: Option<f64>,
    pub p99_s: Option<f64>,
    pub max_s: Option<f64>,
}

/// Class of a time in nanoseconds. Below [`CLASSES`] each nanosecond is a class of its own; above
/// that, each doubling is divided into [`CLASSES`] classes.
fn class(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(CLASSES.ilog2() + 1);
    shift as usize * CLASSES + (nanos >> shift) as usize
}

/// Middle of a class, in nanoseconds.
fn middle(class: usize) -> f64 {
    let shift = (class / CLASSES).saturating_sub(1);
    let least = ((class - shift * CLASSES) as u64) << shift;
    least as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

impl Distribution {
    /// Adds a time.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        if self.count() == 0 {
            self.least = time;
        }
        self.moments.add(time);
        self.least = self.least.min(time);
        self.most = self.most.max(time);
        let class = class(time.as_nanos());
        if class >= self.classes.len() {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
    }

    /// Number of times.
    pub const fn count(&self) -> u64 {
        self.moments.count()
    }

    /// Quantile `q` in seconds.
    fn quantile_s(&self, q: f64) -> Option<f64> {
        let rank = libm::ceil(q * self.count() as f64).max(1.0) as u64;
        let mut seen = 0;
        let class = self.classes.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let [least, most] = [self.least, self.most].map(|extreme| extreme.as_nanos() as f64);
        Some(middle(class).clamp(least, most) / 1e9)
    }

    /// Mean, standard deviation, extremes and quantiles, in seconds.
    pub fn summary(&self) -> DistributionSummary {
        let extreme = |time: Duration| (self.count() > 0).then(|| time.as_secs_f64());
        DistributionSummary {
            mean_s: self.moments.mean_s(),
            sd_s: self.moments.sd_s(),
            min_s: extreme(self.least),
            p50_s: self.quantile_s(0.5),
            p95_s: self.quantile_s(0.95),
            p99_s: self.quantile_s(0.99),
            max_s: extreme(self.most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The middle of a class is near each time in the class.
        #[test]
        fn the_middle_of_a_class_is_near(nanos in prop_oneof![0..2000u64, 0..1u64 << 62]) {
            let near = middle(class(nanos));
            prop_assert!((near - nanos as f64).abs() <= nanos as f64 / 256.0, "{near}");
            prop_assert!(class(nanos + 1) - class(nanos) <= 1);
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_times(
            times in prop::collection::vec(0..10_000_000_000u64, 1..200),
        ) {
            let mut distribution = Distribution::default();
            times.iter().for_each(|nanos| distribution.add(Duration::from_nanos(*nanos)));
            let mut times = times;
            times.sort_unstable();
            for q in [0.5, 0.95, 0.99] {
                let exact = times[((q * times.len() as f64).ceil() as usize).max(1) - 1] as f64;
                let found = distribution.quantile_s(q).expect("there are times") * 1e9;
                prop_assert!((found - exact).abs() <= exact / 256.0 + 1e-3, "{q}: {found} {exact}");
            }
        }
    }

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!(Distribution::default().summary(), DistributionSummary::default());
    }
}
