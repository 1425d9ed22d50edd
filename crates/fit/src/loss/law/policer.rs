//! Policer: a token bucket without a queue.
//!
//! *Equations.* Tokens accumulate at `rate` up to `bucket` bytes. A packet takes as many tokens as
//! it has bytes; if there are not enough, it is dropped. The level of the bucket follows from the
//! packets that passed, so the fate of each packet tests the model. With probability `loss`, a
//! packet has the opposite of the fate that the model predicts.
//!
//! *Search.* First, buckets are searched that agree with all fates (see `bucket`). If there are
//! none, other losses must have occurred. At a drop the bucket is almost empty. Between two
//! consecutive drops, rate × time bytes therefore pass, with an error of at most two packets. The
//! median of these rates is the first estimate. A grid over rate and bucket, refined around its
//! best point, then minimises the number of packets that contradict the model. The intervals
//! contain the values whose log likelihood is within 1.92 of the maximum.

use super::bucket::{Buckets, Copies};
use super::{Law, ModelProperties, Parameter, Scale, SearchResult, probability, round_probability};
use crate::loss::series::Series;
use retx_units::RandomStream;
use serde_json::{Value, json};

/// Token bucket.
pub struct Policer;

/// Minimum number of drops to estimate a rate.
const DROPS_LEAST: usize = 20;
/// Maximum number of packets on which the grid is evaluated.
const COPIES_MOST: usize = 20_000;
const GRID: usize = 12;
/// Number of packets used in the first search over a coarse grid.
const COPIES_FIRST: usize = 4_000;
/// Share of the drops that a policer must explain in the first search; otherwise the model is not
/// fitted.
const EXPLAINED_LEAST: f64 = 0.5;
/// Rounds of refinement of the grid.
const ROUNDS: usize = 6;
const FALL: f64 = 1.92;

/// Maximum log likelihood if `wrong` of `copies` copies contradict the model.
fn likelihood(wrong: usize, copies: usize) -> f64 {
    let (wrong, copies) = (wrong as f64, copies as f64);
    let right = copies - wrong;
    let part = |count: f64| if count > 0.0 { count * libm::log(count / copies) } else { 0.0 };
    part(wrong) + part(right)
}

/// Centre and half width of a logarithmic grid.
#[derive(Clone, Copy)]
struct Axis {
    centre: f64,
    factor: f64,
}

impl Axis {
    fn points(self) -> impl Iterator<Item = f64> {
        (0..=GRID).map(move |index| {
            let share = 2.0 * index as f64 / GRID as f64 - 1.0;
            self.centre * libm::pow(self.factor, share)
        })
    }

    fn narrowed(self, centre: f64) -> Self {
        Self { centre, factor: libm::pow(self.factor, 4.0 / GRID as f64) }
    }
}

/// Rate and bucket with the fewest contradictions. If several points of the grid are best, their
/// middle is taken.
fn best(copies: &Copies, rate: Axis, bucket: Axis) -> (f64, f64, usize) {
    let mut fewest = usize::MAX;
    let mut at: Vec<(f64, f64)> = Vec::new();
    for rate in rate.points() {
        for bucket in bucket.points() {
            let wrong = copies.contradictions(rate, bucket);
            if wrong < fewest {
                (fewest, at) = (wrong, Vec::new());
            }
            if wrong == fewest {
                at.push((rate, bucket));
            }
        }
    }
    let middle = at[at.len() / 2];
    (middle.0, middle.1, fewest)
}

fn axes(first: f64, largest: f64) -> (Axis, Axis) {
    (Axis { centre: first, factor: 1.4 }, Axis { centre: largest * 12.0, factor: 12.0 })
}

/// Searches rate and bucket on a coarse grid, then on finer grids. The last search follows the
/// directions in which a change of the rate compensates for a change of the bucket.
fn refined(copies: &Copies, first: f64, largest: f64) -> Found {
    let (mut rate, mut bucket) = axes(first, largest);
    let mut found = best(copies, rate, bucket);
    for _ in 0..ROUNDS {
        if found.2 == 0 {
            break;
        }
        (rate, bucket) = (rate.narrowed(found.0), bucket.narrowed(found.1));
        let next = best(copies, rate, bucket);
        if next.2 <= found.2 {
            found = next;
        }
    }
    let mut found = Found { rate: found.0, bucket: found.1, wrong: found.2 };
    let mut step = 0.5;
    while step > 1e-8 && found.wrong > 0 {
        let next = found.neighbours(copies, step).min_by_key(|it| it.wrong);
        match next {
            Some(next) if next.wrong < found.wrong => found = next,
            _ => step /= 2.0,
        }
    }
    found
}

/// Rate in bytes per second, bucket in bytes, and the number of packets that contradict them.
#[derive(Clone, Copy)]
struct Found {
    rate: f64,
    bucket: f64,
    wrong: usize,
}

/// Times after which a higher rate compensates for a smaller bucket, as shares of the duration of
/// the series.
const SPANS: [f64; 7] = [0.0, 0.02, 0.08, 0.25, 0.5, 0.75, 1.0];

impl Found {
    fn at(copies: &Copies, rate: f64, bucket: f64) -> Self {
        let possible = rate > 0.0 && bucket > 0.0;
        let wrong = if possible { copies.contradictions(rate, bucket) } else { usize::MAX };
        Self { rate, bucket, wrong }
    }

    /// Neighbouring combinations of rate and bucket. Some have a rate that differs by the fraction
    /// `step`, and a bucket that compensates for this after a certain time; others differ only in
    /// the bucket.
    fn neighbours(self, copies: &Copies, step: f64) -> impl Iterator<Item = Self> {
        let duration: f64 = copies.gap_s.iter().sum();
        let of_rate = [-step, step].into_iter().flat_map(move |share| {
            let more = self.rate * share;
            SPANS.iter().map(move |span| (self.rate + more, self.bucket - more * span * duration))
        });
        let of_bucket = [-step, step].map(|share| (self.rate, self.bucket * (1.0 + share)));
        let all = of_rate.chain(of_bucket);
        all.map(move |(rate, bucket)| Self::at(copies, rate, bucket))
    }

    /// Range of the rates that `holds` accepts with some bucket, and of the buckets that it accepts
    /// with some rate.
    fn ranges(self, copies: &Copies, holds: impl Fn(usize) -> bool) -> [(f64, f64); 2] {
        let duration: f64 = copies.gap_s.iter().sum();
        let accepts = |rate, bucket| holds(Self::at(copies, rate, bucket).wrong);
        let with_rate = |rate: f64| {
            let more = (rate - self.rate) * duration;
            SPANS.iter().any(|span| accepts(rate, self.bucket - more * span))
        };
        let with_bucket = |bucket: f64| {
            let less = (self.bucket - bucket) / duration;
            let rate = |span: &f64| if *span > 0.0 { less / span } else { 0.0 };
            SPANS.iter().any(|span| accepts(self.rate + rate(span), bucket))
        };
        [range(self.rate, with_rate), range(self.bucket, with_bucket)]
    }
}

/// Smallest and largest value of the interval around `value` in which `holds` is true.
fn range(value: f64, holds: impl Fn(f64) -> bool) -> (f64, f64) {
    let end = |sign: f64| {
        let mut step = 1e-6;
        while step < 1.0 && holds(value * libm::exp(sign * step)) {
            step *= 2.0;
        }
        let (mut within, mut beyond) = (step / 2.0, step);
        for _ in 0..8 {
            let middle = 0.5 * (within + beyond);
            if holds(value * libm::exp(sign * middle)) { within = middle } else { beyond = middle }
        }
        value * libm::exp(sign * beyond)
    };
    (end(-1.0), end(1.0))
}

/// Result if all fates agree with a bucket.
fn certain(buckets: Buckets, count: usize) -> SearchResult {
    let (rates, most) = (buckets.rate_range, 1.0 - libm::pow(0.025, 1.0 / count as f64));
    SearchResult {
        values: vec![8.0 * buckets.rate, buckets.bucket_bytes, 0.0],
        ranges: vec![(8.0 * rates.0, 8.0 * rates.1), buckets.bucket_bytes_range, (0.0, most)],
    }
}

/// Result if no bucket agrees with all fates.
fn approximate(copies: &Copies, found: Found) -> SearchResult {
    let (count, wrong) = (copies.lost.len(), found.wrong);
    let least = likelihood(wrong, count) - FALL;
    let holds = |wrong| wrong <= count && likelihood(wrong, count) >= least;
    let [rates, buckets] = found.ranges(copies, holds);
    let loss = wrong as f64 / count as f64;
    let spread = 1.96 * libm::sqrt((loss + 1.0 / count as f64) / count as f64);
    let losses = ((loss - spread).max(0.0), (loss + spread).min(1.0));
    SearchResult {
        values: vec![8.0 * found.rate, found.bucket, loss],
        ranges: vec![(8.0 * rates.0, 8.0 * rates.1), buckets, losses],
    }
}

impl Law for Policer {
    fn name(&self) -> &'static str {
        "policer"
    }

    fn title(&self) -> &'static str {
        "policer: a token bucket without a queue"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const ALL: [Parameter; 3] = [
            Parameter { name: "rate", unit: "bit/s", scale: Scale::Positive },
            Parameter { name: "bucket", unit: "bytes", scale: Scale::Positive },
            probability("loss"),
        ];
        &ALL
    }

    fn log_likelihood(&self, values: &[f64], series: &Series) -> f64 {
        let copies = Copies::from_series(series, usize::MAX);
        let wrong = copies.contradictions(values[0] / 8.0, values[1]);
        likelihood(wrong, copies.lost.len())
    }

    fn starts(&self, _: &Series) -> Vec<Vec<f64>> {
        Vec::new()
    }

    fn has_own_search(&self) -> bool {
        true
    }

    fn search(&self, series: &Series) -> Option<SearchResult> {
        let copies = Copies::from_series(series, COPIES_MOST);
        let drops = copies.lost.iter().filter(|lost| **lost).count();
        let largest = copies.bytes.iter().fold(0.0_f64, |most, it| most.max(*it));
        if drops < DROPS_LEAST || drops == copies.lost.len() || largest <= 0.0 {
            return None;
        }
        if let Some(buckets) = Buckets::search(&copies) {
            return Some(certain(buckets, copies.lost.len()));
        }
        let first = copies.first_rate()?;
        let start = Copies::from_series(series, COPIES_FIRST);
        let start_drops = start.lost.iter().filter(|lost| **lost).count();
        let (rates, buckets) = axes(first, largest);
        let unexplained = best(&start, rates, buckets).2;
        if unexplained as f64 > (1.0 - EXPLAINED_LEAST) * start_drops as f64 {
            return None;
        }
        Some(approximate(&copies, refined(&copies, first, largest)))
    }

    fn draw(&self, values: &[f64], series: &Series, stream: &mut RandomStream) -> Vec<bool> {
        let (rate, bucket) = (values[0] / 8.0, values[1]);
        let mut tokens = bucket;
        let mut before = series.times_s[0];
        let draw = |(time, bytes): (&f64, &f64)| {
            tokens = bucket.min(tokens + rate * (time - before));
            before = *time;
            let lost = (tokens < *bytes) != (stream.uniform() < values[2]);
            if !lost {
                tokens = (tokens - bytes).max(0.0);
            }
            lost
        };
        series.times_s.iter().zip(&series.sizes).map(draw).collect()
    }

    fn consequences(&self, values: &[f64], series: &Series) -> ModelProperties {
        // The loss rate depends on the traffic, so it is measured by a draw instead of computed.
        let mut stream = retx_units::StreamKey { seed: 1, replication: 0 }.stream("policer");
        let fates = self.draw(values, series, &mut stream);
        let lost = fates.iter().filter(|lost| **lost).count() as f64;
        let starts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let starts = (starts + usize::from(fates[0])) as f64;
        ModelProperties {
            mean_loss: lost / fates.len() as f64,
            mean_burst: (starts > 0.0).then(|| lost / starts),
            visits: f64::INFINITY,
        }
    }

    fn channel(&self, values: &[f64]) -> Value {
        let rate = format!("{} bit/s", libm::round(values[0]));
        let bucket = libm::round(values[1]) as u64;
        let policer = json!({ "model": "policer", "rate": rate, "bucket_bytes": bucket });
        if values[2] > 0.0 {
            json!([policer, { "model": "bernoulli", "p": round_probability(values[2]) }])
        } else {
            policer
        }
    }
}
