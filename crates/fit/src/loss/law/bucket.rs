//! Token buckets that agree with all fates of a series.
//!
//! *Equations.* The level of a bucket of size B is B − d, where the deficit d depends on the rate,
//! but not on B: d falls with the rate, not below 0, and rises by the size of each copy that
//! passes. A copy of s bytes passes if B ≥ s + d. For a given rate, the fates therefore agree with
//! all sizes between the largest s + d of the copies that passed, and the smallest of those that
//! were dropped. If the rate rises by 1 byte per second, s + d falls by as many bytes as seconds
//! have passed since the bucket was last full. At the two copies that limit the size, these times
//! therefore show whether a higher or a lower rate widens the range of sizes.
//!
//! *Estimate.* The likelihood is the same for all buckets that agree with all fates. The interval
//! is their range; the estimate is their mean, which minimises the mean square error if no bucket
//! is more likely than another.

use crate::loss::series::Series;

/// Packet transmissions (copies) whose fates are known.
pub struct Copies {
    /// Time since the previous copy, seconds.
    pub gap_s: Vec<f64>,
    /// IP packet lengths, bytes.
    pub bytes: Vec<f64>,
    /// True for each copy that was lost.
    pub lost: Vec<bool>,
}

impl Copies {
    /// The first `most` copies of a series with known fates.
    pub fn from_series(series: &Series, most: usize) -> Self {
        let (indices, lost) = series.fates();
        let mut before = series.times_s[indices[0]];
        let mut copies = Self { gap_s: Vec::new(), bytes: Vec::new(), lost };
        for index in indices.into_iter().take(most) {
            copies.gap_s.push(series.times_s[index] - before);
            before = series.times_s[index];
            copies.bytes.push(series.sizes[index]);
        }
        copies.lost.truncate(most);
        copies
    }

    /// Number of packets that contradict a token bucket with this rate (bytes per second) and size.
    pub fn contradictions(&self, rate: f64, bucket: f64) -> usize {
        let mut tokens = bucket;
        let mut count = 0;
        for ((gap, bytes), lost) in self.gap_s.iter().zip(&self.bytes).zip(&self.lost) {
            tokens = bucket.min(tokens + rate * gap);
            count += usize::from((tokens >= *bytes) == *lost);
            if !lost {
                // The packet was forwarded, so the real bucket had enough tokens, even if the
                // model's has fewer.
                tokens = (tokens - bytes).max(0.0);
            }
        }
        count
    }

    /// First estimate of the rate, bytes per second: the median of the rates at which bytes passed
    /// between successive drops, weighted by these bytes.
    pub fn first_rate(&self) -> Option<f64> {
        let (mut passed, mut time) = (0.0, 0.0);
        let mut rates = Vec::new();
        for ((gap, bytes), lost) in self.gap_s.iter().zip(&self.bytes).zip(&self.lost) {
            time += gap;
            if *lost {
                if passed > 0.0 && time > 0.0 {
                    rates.push((passed / time, passed));
                }
                (passed, time) = (0.0, 0.0);
            } else {
                passed += bytes;
            }
        }
        rates.sort_by(|one, other| one.0.total_cmp(&other.0));
        let half = 0.5 * rates.iter().map(|it| it.1).sum::<f64>();
        let mut sum = 0.0;
        rates
            .into_iter()
            .find(|(_, bytes)| {
                sum += bytes;
                sum >= half
            })
            .map(|it| it.0)
    }
}

/// Resolution of the times of a series, seconds. An error of two steps is tolerated.
const TICK_S: f64 = 1e-9;
/// The search starts at this share of the rate of the copies that passed.
const START: f64 = 0.5;
/// Maximum number of steps of Newton's method.
const STEPS: usize = 60;
/// Length of the range of sizes, in bytes, at which Newton's method aims.
const AIM: f64 = 0.01;
/// Number of bisections; each halves the range of rates.
const BISECTIONS: usize = 60;
/// Number of rates over which the mean of the buckets is computed.
const MEAN_OF: usize = 40;

/// Range of bucket sizes that agree with all fates, at a given rate. It is empty if `low` exceeds
/// `high`.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    low: f64,
    high: f64,
    /// Time since the bucket was last full, at the copy that passed and determines `low`.
    low_span_s: f64,
    /// Corresponding time at the dropped copy that determines `high`.
    high_span_s: f64,
    tolerance: f64,
}

impl Sizes {
    fn at(copies: &Copies, rate: f64) -> Self {
        let (low, high, tolerance) = (0.0, f64::INFINITY, 2.0 * TICK_S * rate);
        let mut sizes = Self { low, high, low_span_s: 0.0, high_span_s: 0.0, tolerance };
        let (mut deficit, mut span_s) = (0.0, 0.0);
        for ((gap, bytes), lost) in copies.gap_s.iter().zip(&copies.bytes).zip(&copies.lost) {
            deficit -= rate * gap;
            span_s += gap;
            if deficit <= 0.0 {
                (deficit, span_s) = (0.0, 0.0);
            }
            let needed = bytes + deficit;
            if *lost {
                if needed < sizes.high {
                    (sizes.high, sizes.high_span_s) = (needed, span_s);
                }
                continue;
            }
            if needed > sizes.low {
                (sizes.low, sizes.low_span_s) = (needed, span_s);
            }
            deficit = needed;
        }
        sizes
    }

    /// Length of the range of sizes; negative if the range is empty.
    fn length(&self) -> f64 {
        self.high - self.low + self.tolerance
    }
}

/// Buckets that agree with all fates.
#[derive(Debug, Clone, Copy)]
pub struct Buckets {
    /// Mean rate, bytes per second.
    pub rate: f64,
    /// Mean size, bytes.
    pub bucket_bytes: f64,
    /// Smallest and largest rate, bytes per second.
    pub rate_range: (f64, f64),
    /// Smallest and largest size, bytes.
    pub bucket_bytes_range: (f64, f64),
}

impl Buckets {
    /// Searches for the buckets that agree with all fates; `None` if there are none.
    pub fn search(copies: &Copies) -> Option<Self> {
        let inside = agreeing_rate(copies)?;
        let rates = (end(copies, inside, -1.0), end(copies, inside, 1.0));
        // The limits of the size fall when the rate rises.
        let buckets = (Sizes::at(copies, rates.1).low, Sizes::at(copies, rates.0).high);
        let (mut sum, mut rate_sum, mut bucket_sum) = (0.0, 0.0, 0.0);
        for index in 0..MEAN_OF {
            let share = (index as f64 + 0.5) / MEAN_OF as f64;
            let rate = rates.0 + share * (rates.1 - rates.0);
            let sizes = Sizes::at(copies, rate);
            let weight = sizes.length().max(0.0);
            sum += weight;
            rate_sum += weight * rate;
            bucket_sum += weight * 0.5 * (sizes.low + sizes.high);
        }
        let mean = Self {
            rate: rate_sum / sum,
            bucket_bytes: bucket_sum / sum,
            rate_range: rates,
            bucket_bytes_range: buckets,
        };
        (sum > 0.0 && buckets.1.is_finite()).then_some(mean)
    }
}

/// Rate for which the range of sizes is not empty; `None` if there is none.
///
/// The lower limit of the size is a convex function of the rate. Newton's method, started from a
/// low rate, therefore approaches the range of rates without passing it, apart from the effect of
/// the upper limit, which changes little near the range. From a high rate, the direction would
/// often be wrong, because a bucket that fills too fast is full most of the time.
fn agreeing_rate(copies: &Copies) -> Option<f64> {
    let passed: f64 =
        copies.bytes.iter().zip(&copies.lost).filter(|(_, lost)| !**lost).map(|it| it.0).sum();
    let mut rate = START * passed / copies.gap_s.iter().sum::<f64>();
    let mut below = rate;
    for _ in 0..STEPS {
        let sizes = Sizes::at(copies, rate);
        if sizes.length() > 0.0 {
            return Some(rate);
        }
        let slope = sizes.low_span_s - sizes.high_span_s;
        if slope <= 0.0 {
            break;
        }
        below = rate;
        rate += (AIM - sizes.length()) / slope;
    }
    let (rate, length) = bisected(copies, (below, rate));
    (length > 0.0).then_some(rate)
}

/// Rate, between two others, whose range of sizes is longest, and the length of this range.
fn bisected(copies: &Copies, (mut low, mut high): (f64, f64)) -> (f64, f64) {
    let mut best = (low, f64::NEG_INFINITY);
    for _ in 0..BISECTIONS {
        let rate = 0.5 * (low + high);
        let sizes = Sizes::at(copies, rate);
        if sizes.length() > best.1 {
            best = (rate, sizes.length());
        }
        if sizes.low_span_s > sizes.high_span_s { low = rate } else { high = rate }
    }
    best
}

/// End, in the direction `sign`, of the range of rates with some bucket that agrees with all fates.
fn end(copies: &Copies, inside: f64, sign: f64) -> f64 {
    let agrees = |step: f64| Sizes::at(copies, inside * (1.0 + sign * step)).length() > 0.0;
    let mut beyond = 1e-13;
    while beyond < 0.5 && agrees(beyond) {
        beyond *= 2.0;
    }
    let mut within = if beyond > 1e-13 { beyond / 2.0 } else { 0.0 };
    for _ in 0..20 {
        let middle = 0.5 * (within + beyond);
        if agrees(middle) { within = middle } else { beyond = middle }
    }
    inside * (1.0 + sign * within)
}
