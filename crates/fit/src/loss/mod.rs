//! Fits of loss models (laws) to the fates of packets.
//!
//! [`fit`] compares the models by maximum likelihood and the Bayesian information criterion. It
//! tests the best model, and chooses it, or gives the reason why no model is chosen. A *copy* is
//! one transmission of a packet.

mod answer;
mod chain;
mod choice;
mod fitted;
mod law;
mod series;
mod statistics;
mod tests_of_fit;

pub use answer::{Answer, ChangePoint, Estimate, Model};
pub use series::{Series, SeriesError};
pub use tests_of_fit::Test;

use fitted::Fitted;
use statistics::CumulativePairs;
use tests_of_fit::{TestResults, test};

/// Options of a fit.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of series that each test draws from the model.
    pub drawn_series: usize,
    /// Names of models that are tested in addition to the best one.
    pub tested: Vec<String>,
    /// Names of the models to compare; all if the list is empty.
    pub laws: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { drawn_series: 199, tested: Vec::new(), laws: Vec::new() }
    }
}

/// Names of all laws, the simplest first.
pub fn names() -> Vec<&'static str> {
    law::all_laws().iter().map(|law| law.name()).collect()
}

/// Maximum difference in BIC from the best model for which profile intervals are computed.
const PROFILED_WITHIN: f64 = 2.0;

/// Fits models to a series; `None` if none of the models in `options.laws` can be fitted. With the
/// Bernoulli model among them this does not happen, because it fits any series.
pub fn fit(series: &Series, options: &Options) -> Option<Answer> {
    let mut fitted: Vec<(Fitted, Option<String>)> = law::all_laws()
        .into_iter()
        .filter(|law| options.laws.is_empty() || options.laws.iter().any(|it| it == law.name()))
        .filter_map(|law| Fitted::new(law, series))
        .map(|it| {
            let refused = choice::refusal_reason(&it, series);
            (it, refused)
        })
        .collect();
    if fitted.is_empty() {
        return None;
    }
    fitted.sort_by(|one, other| one.0.bic.total_cmp(&other.0.bic));
    let best = fitted.iter().position(|(_, refused)| refused.is_none()).unwrap_or(0);
    let tested = test(&fitted[best].0, series, options.drawn_series);
    let mut tests = tested.tests.clone();
    for (other, _) in &fitted {
        let name = other.law.name();
        if options.tested.iter().any(|it| it == name) && name != fitted[best].0.law.name() {
            tests.extend(test(other, series, options.drawn_series).tests);
        }
    }
    let change_points = changes(series, &tested);
    let decided = choice::choose_model(&fitted, best, series, (&tested, &change_points));
    let best_bic = fitted[best].0.bic;
    let (_, fates) = series.fates();
    Some(Answer {
        copies: series.copies(),
        known: series.known,
        lost: series.loss_rate * series.known as f64,
        bursts: bursts(&fates),
        duration_s: series.duration_s(),
        best: fitted[best].0.law.name(),
        chosen: decided.chosen,
        contenders: decided.contenders,
        reason: decided.reason,
        models: fitted
            .into_iter()
            .map(|(it, refused)| model(&it, refused, series, best_bic))
            .collect(),
        tests,
        change_points,
        warnings: choice::warnings(series),
    })
}

fn bursts(fates: &[bool]) -> usize {
    let begins = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    begins + usize::from(fates[0])
}

fn model(fitted: &Fitted, refused: Option<String>, series: &Series, best_bic: f64) -> Model {
    let profiled = fitted.bic < best_bic + PROFILED_WITHIN;
    let ranges = fitted.intervals(series, profiled);
    let parameters = fitted.law.parameters().iter().zip(&fitted.reported_values).zip(ranges);
    let estimate = |((parameter, value), range): ((&law::Parameter, &f64), Option<(f64, f64)>)| {
        let (low, high) = range.unzip();
        Estimate { name: parameter.name, value: *value, low, high, unit: parameter.unit }
    };
    Model {
        name: fitted.law.name(),
        title: fitted.law.title(),
        parameters: parameters.map(estimate).collect(),
        log_likelihood: fitted.log_likelihood,
        bic: fitted.bic,
        mean_loss: fitted.properties.mean_loss,
        mean_burst: fitted.properties.mean_burst,
        channel: fitted.law.channel(&fitted.reported_values),
        refused,
    }
}

/// Maximum number of change points in the result.
const CHANGES_MOST: usize = 16;

/// Change points by binary segmentation. A part of the series is divided at its best point if this
/// increases the likelihood more than it does in 99 % of the series drawn from the model.
fn changes(series: &Series, tested: &TestResults) -> Vec<ChangePoint> {
    let (indices, fates) = series.fates();
    let pairs = CumulativePairs::from_fates(&fates);
    let mut parts = vec![(0, pairs.pair_count())];
    let mut places = Vec::new();
    while let Some(part) = parts.pop() {
        let Some((at, gain)) = pairs.find_change(part) else { continue };
        if gain > tested.change_threshold && places.len() < CHANGES_MOST {
            places.push(at);
            parts.extend([(part.0, at), (at, part.1)]);
        }
    }
    places.sort_unstable();
    let bounds: Vec<usize> = [0].into_iter().chain(places).chain([fates.len()]).collect();
    let loss = |from: usize, to: usize| {
        fates[from..to].iter().filter(|lost| **lost).count() as f64 / (to - from) as f64
    };
    let point = |it: &[usize]| ChangePoint {
        time_s: series.times_s[indices[it[1]]] - series.times_s[0],
        copy: indices[it[1]],
        loss_before: loss(it[0], it[1]),
        loss_after: loss(it[1], it[2]),
    };
    bounds.windows(3).map(point).collect()
}
