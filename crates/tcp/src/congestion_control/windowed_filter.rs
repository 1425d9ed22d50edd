//! Largest sample of a sliding window, tracked with three samples: after K. Nichols, as in Linux's
//! `lib/win_minmax.c` (`minmax_running_max`, `minmax_subwin_update`).
//!
//! The best sample is the result. The second and third best come from later parts of the window, to
//! replace the best when it gets too old. The cost is constant, whatever the number of samples. If
//! samples keep falling, the result is the largest sample of slightly less than a window.

/// Sample with its time, on any monotonic clock.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    at: u64,
    value: u64,
}

/// Filter for the maximum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowedMax {
    window: u64,
    /// Samples, best first.
    best: [Sample; 3],
}

impl WindowedMax {
    /// Creates a filter over `window` units of the clock.
    pub fn new(window: u64) -> Self {
        Self { window, best: [Sample::default(); 3] }
    }

    /// Largest value.
    pub const fn max(&self) -> u64 {
        self.best[0].value
    }

    /// Adds a sample.
    #[inline]
    pub fn add(&mut self, at: u64, value: u64) {
        // The usual case: the sample is worse than all three, none of which is old.
        if value >= self.best[2].value || at - self.best[0].at > self.window / 4 {
            self.add_to_best(at, value);
        }
    }

    #[inline(never)]
    fn add_to_best(&mut self, at: u64, value: u64) {
        let sample = Sample { at, value };
        // A new maximum, or no sample left within the window: all three samples are replaced.
        if value >= self.best[0].value || at - self.best[2].at > self.window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].value {
            self.best[2] = sample;
        }
        self.age(sample);
    }

    fn age(&mut self, sample: Sample) {
        let age = sample.at - self.best[0].at;
        if age > self.window {
            // The best sample is too old, and possibly the second too.
            self.best = [self.best[1], self.best[2], sample];
            if sample.at - self.best[0].at > self.window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].at == self.best[0].at && age > self.window / 4 {
            // A quarter of the window has passed without a second-best sample: this one is taken.
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].at == self.best[1].at && age > self.window / 2 {
            self.best[2] = sample;
        }
    }
}

/// Smallest duration in a sliding window, in nanoseconds, by the same algorithm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowedMin(WindowedMax);

impl WindowedMin {
    /// Creates a filter over `window` units of the clock.
    pub fn new(window: u64) -> Self {
        Self(WindowedMax::new(window))
    }

    /// Smallest value; `u64::MAX` before the first.
    pub const fn min(&self) -> u64 {
        u64::MAX - self.0.max()
    }

    /// Adds a sample.
    pub fn add(&mut self, at: u64, value: u64) {
        // The largest complement is that of the smallest value.
        self.0.add(at, u64::MAX - value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the definition: the result lies between the newest value and the largest
        /// value of the window. A sample that is passed over would have changed nothing.
        #[test]
        fn bounds(samples in proptest::collection::vec((0..4_u64, 0..1000_u64), 1..200)) {
            let (mut filter, mut at) = (WindowedMax::new(10), 0);
            let mut seen: Vec<(u64, u64)> = Vec::new();
            for (after, value) in samples {
                at += after;
                let mut in_full = filter;
                in_full.add_to_best(at, value);
                filter.add(at, value);
                prop_assert_eq!(format!("{filter:?}"), format!("{in_full:?}"));
                seen.push((at, value));
                let inside = seen.iter().filter(|it| at - it.0 <= 10).map(|it| it.1);
                let largest = inside.max().expect("the newest");
                prop_assert!(filter.max() <= largest, "{} of {seen:?}", filter.max());
                prop_assert!(filter.max() >= value);
            }
        }
    }

    #[test]
    fn the_best_is_forgotten_after_a_window() {
        let mut filter = WindowedMax::new(10);
        filter.add(0, 90);
        for at in 1..=10 {
            filter.add(at, 50);
            assert_eq!(filter.max(), 90, "{at}");
        }
        filter.add(11, 40);
        assert_eq!(filter.max(), 50);
        let mut least = WindowedMin::new(10);
        assert_eq!(least.min(), u64::MAX);
        least.add(0, 7);
        least.add(5, 9);
        assert_eq!(least.min(), 7);
        least.add(16, 11);
        assert_eq!(least.min(), 11);
    }

    /// `minmax_subwin_update` in Linux `lib/win_minmax.c`: a second sample is taken after more than
    /// a quarter of the window, a third after more than half.
    #[test]
    fn later_samples_are_taken_after_a_quarter_and_a_half() {
        let mut filter = WindowedMax::new(12);
        let mut then = |at, value| {
            filter.add(at, value);
            filter.best.map(|it| (it.at, it.value))
        };
        assert_eq!(then(0, 90), [(0, 90); 3]);
        assert_eq!(then(1, 50), [(0, 90); 3]);
        assert_eq!(then(3, 50), [(0, 90); 3], "just a quarter");
        assert_eq!(then(4, 50), [(0, 90), (4, 50), (4, 50)]);
        assert_eq!(then(5, 40), [(0, 90), (4, 50), (4, 50)]);
        assert_eq!(then(6, 40), [(0, 90), (4, 50), (4, 50)], "just a half");
        assert_eq!(then(7, 40), [(0, 90), (4, 50), (7, 40)]);
        assert_eq!(then(8, 30), [(0, 90), (4, 50), (7, 40)], "there is a third");
    }

    #[test]
    fn a_maximum_as_old_as_the_window_counts() {
        for (at, max) in [(10, 90), (11, 50)] {
            let mut filter = WindowedMax::new(10);
            filter.add(0, 90);
            filter.add(at, 50);
            assert_eq!(filter.max(), max, "{at}");
        }
    }
}
