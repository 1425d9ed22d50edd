//! Maximum likelihood fit of one model, with intervals.
//!
//! *Intervals.* Wald's intervals are computed on the scale of the search (logit or logarithm), from
//! the inverse of the observed information. If the information matrix is singular, or a parameter
//! is at the end of its range, the profile likelihood is used: the interval contains the values
//! whose log likelihood, maximised over the other parameters, is within 1.92 of the maximum. At the
//! end of a range the threshold is ln 40 instead, so that n packets without a loss give the exact
//! bound 1 − 0.025^(1/n).

use super::law::{Law, ModelProperties};
use super::series::Series;
use crate::numeric::{LOGIT_MAX, Matrix, Maximum, maximise};

/// Normal quantile of a 95 % interval.
const SIGMAS: f64 = 1.96;
/// Wald's interval is used if the standard error, on the scale of the search, is below this value;
/// otherwise the profile likelihood is used.
const ERROR_MAX: f64 = 1.0;
/// Number of the best starting points from which the search is run to its end.
const FOLLOWED: usize = 2;

/// Model with its maximum-likelihood parameters.
pub struct Fitted {
    /// Fitted model.
    pub law: Box<dyn Law>,
    /// Parameter values, all within the ranges that the model accepts.
    pub values: Vec<f64>,
    /// Values as reported: a probability at the end of the search's range is reported as 0 or 1.
    pub reported_values: Vec<f64>,
    /// Logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Bayesian information criterion.
    pub bic: f64,
    /// Loss rate, burst length and number of visits under the fitted model.
    pub properties: ModelProperties,
    free: Vec<f64>,
    covariance: Option<Matrix>,
    found: Option<Vec<(f64, f64)>>,
}

impl Fitted {
    /// Fits a model; `None` if the series is impossible under it.
    pub fn new(law: Box<dyn Law>, series: &Series) -> Option<Self> {
        if law.has_own_search() {
            let searched = law.search(series)?;
            let log_likelihood = law.log_likelihood(&searched.values, series);
            let (found, values) = (Some(searched.ranges), searched.values);
            return Self { found, ..Self::of(law, values, log_likelihood, series) }.checked();
        }
        let best = {
            let function = on_free_scale(law.as_ref(), series);
            let mut starts: Vec<(f64, Vec<f64>)> = law
                .starts(series)
                .iter()
                .map(|values| to_free(law.as_ref(), values))
                .map(|free| (function(&free), free))
                .filter(|(value, _)| value.is_finite())
                .collect();
            starts.sort_by(|one, other| other.0.total_cmp(&one.0));
            let maxima = starts.iter().take(FOLLOWED).map(|(_, free)| maximise(&function, free));
            maxima.max_by(|one, other| one.value.total_cmp(&other.value))?
        };
        let Maximum { at, value, covariance } = best;
        let values = from_free(law.as_ref(), &at);
        let scales = law.parameters().iter().zip(&at);
        let reported =
            scales.map(|(parameter, free)| parameter.scale.reported_value(*free)).collect();
        let fitted = Self::of(law, values, value, series);
        Self { free: at, covariance, reported_values: reported, ..fitted }.checked()
    }

    fn of(law: Box<dyn Law>, values: Vec<f64>, log_likelihood: f64, series: &Series) -> Self {
        let penalty = law.parameters().len() as f64 * libm::log(series.known as f64);
        Self {
            properties: law.consequences(&values, series),
            reported_values: values.clone(),
            bic: penalty - 2.0 * log_likelihood,
            log_likelihood,
            values,
            law,
            free: Vec::new(),
            covariance: None,
            found: None,
        }
    }

    fn checked(self) -> Option<Self> {
        self.log_likelihood.is_finite().then_some(self)
    }

    /// 95 % interval of each parameter. The profile likelihood, which takes time, is used only if
    /// `profiled` is true.
    pub fn intervals(&self, series: &Series, profiled: bool) -> Vec<Option<(f64, f64)>> {
        if let Some(found) = &self.found {
            return found.iter().copied().map(Some).collect();
        }
        (0..self.values.len())
            .map(|index| self.wald(index).or_else(|| profiled.then(|| self.profile(series, index))))
            .collect()
    }

    fn wald(&self, index: usize) -> Option<(f64, f64)> {
        let error = libm::sqrt(self.covariance.as_ref()?[index][index]);
        let scale = self.law.parameters()[index].scale;
        let free = self.free[index];
        let usable = error < ERROR_MAX && free.abs() + SIGMAS * error < LOGIT_MAX;
        usable.then(|| {
            (scale.natural_value(free - SIGMAS * error), scale.natural_value(free + SIGMAS * error))
        })
    }

    fn profile(&self, series: &Series, index: usize) -> (f64, f64) {
        let function = on_free_scale(self.law.as_ref(), series);
        let ends = [-1.0, 1.0].map(|sign| self.end(&function, index, sign));
        let scale = self.law.parameters()[index].scale;
        (scale.reported_value(ends[0]), scale.reported_value(ends[1]))
    }

    /// End of a profile interval, on the scale of the search.
    fn end(&self, function: &dyn Fn(&[f64]) -> f64, index: usize, sign: f64) -> f64 {
        let at_edge = self.free[index].abs() > LOGIT_MAX - 6.0;
        let least = self.log_likelihood - if at_edge { libm::log(40.0) } else { 1.92 };
        let mut others = self.without(index);
        let mut holds = |value: f64| {
            let held = |free: &[f64]| function(&with(free, index, value));
            if others.is_empty() {
                return held(&[]) >= least;
            }
            let found = maximise(&held, &others);
            if found.value >= least {
                others = found.at;
                return true;
            }
            false
        };
        let start = self.free[index];
        let (mut inside, mut step) = (start, 0.1);
        loop {
            let next = (start + sign * step).clamp(-LOGIT_MAX, LOGIT_MAX);
            if !holds(next) {
                let mut outside = next;
                for _ in 0..12 {
                    let middle = 0.5 * (inside + outside);
                    if holds(middle) { inside = middle } else { outside = middle }
                }
                return 0.5 * (inside + outside);
            }
            if next.abs() >= LOGIT_MAX {
                return next;
            }
            (inside, step) = (next, step * 2.0);
        }
    }

    fn without(&self, index: usize) -> Vec<f64> {
        let mut others = self.free.clone();
        others.remove(index);
        others
    }
}

fn with(free: &[f64], index: usize, value: f64) -> Vec<f64> {
    let mut all = free.to_vec();
    all.insert(index, value);
    all
}

fn on_free_scale<'a>(law: &'a dyn Law, series: &'a Series) -> impl Fn(&[f64]) -> f64 + 'a {
    move |free| law.log_likelihood(&from_free(law, free), series)
}

fn from_free(law: &dyn Law, free: &[f64]) -> Vec<f64> {
    law.parameters().iter().zip(free).map(|(it, free)| it.scale.natural_value(*free)).collect()
}

fn to_free(law: &dyn Law, values: &[f64]) -> Vec<f64> {
    law.parameters()
        .iter()
        .zip(values)
        .map(|(it, value)| it.scale.to_search_scale(*value))
        .collect()
}
