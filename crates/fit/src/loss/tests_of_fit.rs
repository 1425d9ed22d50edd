//! Tests of a fitted law by parametric bootstrap.
//!
//! *How it works.* The law draws the series again, at the same times and with the same sizes. Each
//! statistic of the measured series is compared with those of the drawn series. The p-value is the
//! share of drawn series whose statistic is at least as far from the mean. The law is not fitted
//! again to each drawn series, which makes the tests conservative: they refuse a correct law less
//! often than the level says.

use super::fitted::Fitted;
use super::series::Series;
use super::statistics::{
    CumulativePairs, autocorrelation, dispersion_indices, lags_up_to, run_length_counts,
    window_sizes,
};
use retx_units::StreamKey;
use serde::Serialize;

/// A law is refused if the p-value is not above this level.
pub const SIGNIFICANCE_LEVEL: f64 = 0.01;
/// Maximum number of fates that are drawn in all series of a test together. If the series is long,
/// fewer series are drawn.
const COPIES_MOST: usize = 20_000_000;
/// Minimum excess of the likelihood gain of a change point over the gains in drawn series; a
/// smaller excess is not significant.
const CHANGE_SLACK: f64 = 2.0;
/// Minimum number of drawn series, however long they are.
const SERIES_LEAST: usize = 119;

/// Result of a test.
#[derive(Debug, Clone, Serialize)]
pub struct Test {
    /// Law that is tested.
    pub model: String,
    /// Name of the test.
    pub name: &'static str,
    /// Distance of the measured series from the mean of the drawn series.
    pub statistic: f64,
    /// Share of drawn series with at least this distance.
    pub p_value: f64,
    /// False if the law is refused.
    pub passed: bool,
    /// Sentence about the result.
    pub finding: String,
}

/// Results of all tests of a law.
pub struct TestResults {
    /// Result of each test.
    pub tests: Vec<Test>,
    /// Likelihood gain of a change point that only 1 % of the drawn series exceed.
    pub change_threshold: f64,
}

/// Statistics of one sequence of fates.
struct Features {
    of: [Vec<f64>; 5],
}

impl Features {
    fn of(fates: &[bool], lags: &[usize], windows: &[usize]) -> Self {
        let pairs = CumulativePairs::from_fates(fates);
        let change = pairs.find_change((0, pairs.pair_count())).map_or(0.0, |it| it.1);
        Self {
            of: [
                run_length_counts(fates, true),
                run_length_counts(fates, false),
                autocorrelation(fates, lags),
                dispersion_indices(fates, windows),
                vec![change],
            ],
        }
    }
}

const NAMES: [&str; 5] = ["loss_runs", "gap_runs", "autocorrelation", "dispersion", "stationarity"];

/// Tests a fitted model on the copies with known fates, with `series_count` drawn series.
pub fn test(fitted: &Fitted, series: &Series, series_count: usize) -> TestResults {
    let (indices, fates) = series.fates();
    let per_second = series.copies() as f64 / series.duration_s().max(1e-9);
    let lags = lags_up_to((per_second.ceil() as usize).clamp(8, 2000).min(fates.len() / 4));
    let windows = window_sizes(fates.len());
    let measured = Features::of(&fates, &lags, &windows);
    let count = series_count.min((COPIES_MOST / series.copies()).max(SERIES_LEAST));
    let drawn: Vec<Features> = (0..count)
        .map(|number| {
            let key = StreamKey { seed: 1, replication: number as u64 };
            let mut stream = key.stream("test of fit");
            let all = fitted.law.draw(&fitted.values, series, &mut stream);
            let known: Vec<bool> = indices.iter().map(|index| all[*index]).collect();
            Features::of(&known, &lags, &windows)
        })
        .collect();
    let tests = (0..NAMES.len()).map(|which| judged(fitted, which, &measured, &drawn)).collect();
    let mut changes: Vec<f64> = drawn.iter().map(|it| it.of[4][0]).collect();
    changes.sort_by(f64::total_cmp);
    let place = ((1.0 - SIGNIFICANCE_LEVEL) * changes.len() as f64) as usize;
    TestResults {
        tests,
        change_threshold: 1.1 * changes[place.min(changes.len() - 1)] + CHANGE_SLACK,
    }
}

fn judged(fitted: &Fitted, which: usize, measured: &Features, drawn: &[Features]) -> Test {
    let (means, spreads) = moments(drawn, which);
    let distance = |features: &Features| {
        let values = &features.of[which];
        let scaled = values.iter().zip(means.iter().zip(&spreads));
        let each = scaled.map(|(value, (mean, spread))| (value - mean) / spread);
        match which {
            0 | 1 => each.map(|it| it * it).sum(),
            2 | 3 => each.fold(0.0_f64, |most, it| most.max(it.abs())),
            _ => values[0],
        }
    };
    let statistic = distance(measured);
    // The series drawn from a law without randomness, such as a policer, hardly differ, so a small
    // excess would be significant.
    let slack = if which == 4 { CHANGE_SLACK } else { 0.0 };
    let as_far = drawn.iter().filter(|it| distance(it) + slack >= statistic).count();
    let p_value = (1 + as_far) as f64 / (1 + drawn.len()) as f64;
    let passed = p_value > SIGNIFICANCE_LEVEL;
    let finding = finding(which, passed);
    Test {
        model: fitted.law.name().into(),
        name: NAMES[which],
        statistic,
        p_value,
        passed,
        finding,
    }
}

/// Mean and standard deviation of each entry over the drawn series. For a count of rare runs, the
/// standard deviation is at least that of a single run.
fn moments(drawn: &[Features], which: usize) -> (Vec<f64>, Vec<f64>) {
    let count = drawn.len() as f64;
    let entries = drawn[0].of[which].len();
    let least = if which < 2 { 0.5 } else { 1e-9 };
    (0..entries)
        .map(|entry| {
            let mean = drawn.iter().map(|it| it.of[which][entry]).sum::<f64>() / count;
            let square = |it: &Features| (it.of[which][entry] - mean).powi(2);
            let variance = drawn.iter().map(square).sum::<f64>() / count;
            (mean, libm::sqrt(variance).max(least))
        })
        .unzip()
}

fn finding(which: usize, passed: bool) -> String {
    let [fits, fails] = [
        ["the lengths of bursts fit", "the lengths of bursts do not fit"],
        ["the gaps between losses fit", "the gaps between losses do not fit"],
        ["the correlation of losses fits", "the correlation of losses does not fit"],
        [
            "the number of losses varies over windows as it should",
            "the number of losses varies over windows otherwise than it should",
        ],
        ["nothing changes in the course of the series", "the series is not stationary"],
    ][which];
    if passed { fits.into() } else { fails.into() }
}
