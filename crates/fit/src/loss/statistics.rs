//! Statistics of a sequence of fates: lengths of runs, autocorrelation, dispersion, changes.

/// Upper bounds of the classes of run lengths. A run is a number of consecutive losses, or of
/// consecutive deliveries.
const RUN_CLASSES: [usize; 22] = [
    1,
    2,
    3,
    4,
    6,
    8,
    12,
    16,
    24,
    32,
    48,
    64,
    96,
    128,
    256,
    512,
    1024,
    2048,
    4096,
    8192,
    32768,
    usize::MAX,
];
/// Number of candidate change points in the coarse search, before the best one is refined.
const POSITIONS: usize = 512;
/// Minimum number of copies between two change points.
pub const PART_COPIES_MIN: usize = 20;

/// Numbers of runs of losses (if `of` is true) or of arrivals, by length. The last run is not
/// counted, because its end is unknown.
pub fn run_length_counts(fates: &[bool], of: bool) -> Vec<f64> {
    let mut counts = vec![0.0; RUN_CLASSES.len()];
    let mut length = 0;
    for fate in fates {
        if *fate == of {
            length += 1;
        } else if length > 0 {
            counts[RUN_CLASSES.partition_point(|most| *most < length)] += 1.0;
            length = 0;
        }
    }
    counts
}

/// Distances at which the correlation is measured: up to `most` copies, in an approximately
/// geometric sequence.
pub fn lags_up_to(most: usize) -> Vec<usize> {
    let mut lags = Vec::new();
    let mut lag = 1.0_f64;
    while lag as usize <= most {
        lags.push(lag as usize);
        lag = (lag * 1.6).max(lag + 1.0);
    }
    lags
}

/// Correlation of the losses at each lag.
pub fn autocorrelation(fates: &[bool], lags: &[usize]) -> Vec<f64> {
    let lost: Vec<usize> =
        fates.iter().enumerate().filter(|(_, lost)| **lost).map(|(index, _)| index).collect();
    let count = fates.len() as f64;
    let mean = lost.len() as f64 / count;
    let variance = mean * (1.0 - mean);
    let at = |lag: &usize| {
        let both = lost.iter().filter(|index| fates.get(**index + lag) == Some(&true)).count();
        let both = both as f64 / (count - *lag as f64);
        if variance > 0.0 { (both - mean * mean) / variance } else { 0.0 }
    };
    lags.iter().map(at).collect()
}

/// Lengths of windows in which losses are counted: 8, 16, … copies. There are at least 16 windows
/// of each length.
pub fn window_sizes(copies: usize) -> Vec<usize> {
    (3..).map(|power| 1 << power).take_while(|window| window * 16 <= copies).collect()
}

/// Ratio of variance to mean of the number of losses in windows, for each length; 1 for independent
/// rare losses.
pub fn dispersion_indices(fates: &[bool], windows: &[usize]) -> Vec<f64> {
    let mut sums = Vec::with_capacity(fates.len() + 1);
    sums.push(0_u32);
    let mut sum = 0;
    for lost in fates {
        sum += u32::from(*lost);
        sums.push(sum);
    }
    let at = |window: &usize| {
        let counts: Vec<f64> = (0..fates.len() / window)
            .map(|index| f64::from(sums[(index + 1) * window] - sums[index * window]))
            .collect();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let squares: f64 = counts.iter().map(|it| (it - mean) * (it - mean)).sum();
        if mean > 0.0 { squares / counts.len() as f64 / mean } else { 1.0 }
    };
    windows.iter().map(at).collect()
}

/// Cumulative numbers of pairs of successive fates, up to each copy.
pub struct CumulativePairs {
    sums: Vec<[u32; 4]>,
}

impl CumulativePairs {
    /// Counts the pairs of a sequence.
    pub fn from_fates(fates: &[bool]) -> Self {
        let mut sums = Vec::with_capacity(fates.len());
        let mut sum = [0; 4];
        sums.push(sum);
        for pair in fates.windows(2) {
            sum[2 * usize::from(pair[0]) + usize::from(pair[1])] += 1;
            sums.push(sum);
        }
        Self { sums }
    }

    /// Log likelihood of the copies `from` … `to` under a first-order chain that is fitted to them.
    fn log_likelihood(&self, from: usize, to: usize) -> f64 {
        let (one, other) = (&self.sums[from], &self.sums[to]);
        let part = |index: usize| {
            let [a, b] = [index, index + 1].map(|it| f64::from(other[it] - one[it]));
            let term = |x: f64| if x > 0.0 { x * libm::log(x / (a + b)) } else { 0.0 };
            term(a) + term(b)
        };
        part(0) + part(2)
    }

    /// Copy at which a division of the part `from` … `to` increases the log likelihood most, and
    /// twice this increase.
    pub fn find_change(&self, (from, to): (usize, usize)) -> Option<(usize, f64)> {
        if to < from + 2 * PART_COPIES_MIN {
            return None;
        }
        let whole = self.log_likelihood(from, to);
        let gain =
            |at: usize| 2.0 * (self.log_likelihood(from, at) + self.log_likelihood(at, to) - whole);
        let (least, most) = (from + PART_COPIES_MIN, to - PART_COPIES_MIN);
        let step = (most - least).div_ceil(POSITIONS).max(1);
        let coarse = best(&gain, (least..=most).step_by(step));
        let near = coarse.0.saturating_sub(step).max(least)..=(coarse.0 + step).min(most);
        Some(best(&gain, near))
    }

    /// Number of pairs of successive fates.
    pub fn pair_count(&self) -> usize {
        self.sums.len() - 1
    }
}

fn best(gain: &dyn Fn(usize) -> f64, places: impl Iterator<Item = usize>) -> (usize, f64) {
    let each = places.map(|at| (at, gain(at)));
    each.max_by(|one, other| one.1.total_cmp(&other.1)).expect("at least one place")
}
