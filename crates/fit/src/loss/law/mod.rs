//! Loss models (laws). Each defines its parameters, its likelihood and starting points for the
//! search. It can draw losses, and can be written as a channel of a scenario.

mod bucket;
mod chains;
mod discrete;
mod outages;
mod policer;
mod timed;

pub use discrete::DiscreteChain;

use super::series::Series;
use crate::numeric::{LOGIT_MAX, logistic, logit};
use retx_units::RandomStream;
use serde_json::Value;

/// Range of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// From 0 to 1; the search uses the logit.
    Probability,
    /// Above 0; the search uses the logarithm.
    Positive,
}

impl Scale {
    /// Value on the scale on which the search runs.
    pub fn to_search_scale(self, value: f64) -> f64 {
        match self {
            Self::Probability => logit(value),
            Self::Positive => libm::log(value).clamp(-LOGIT_MAX, LOGIT_MAX),
        }
    }

    /// Inverse of [`Scale::to_search_scale`].
    pub fn natural_value(self, free: f64) -> f64 {
        match self {
            Self::Probability => logistic(free),
            Self::Positive => libm::exp(free),
        }
    }

    /// Value to be reported. A probability at the end of the search's range is reported as 0 or 1.
    pub fn reported_value(self, free: f64) -> f64 {
        match self {
            Self::Probability if free >= LOGIT_MAX => 1.0,
            Self::Probability if free <= -LOGIT_MAX => 0.0,
            _ => self.natural_value(free),
        }
    }
}

/// Parameter of a law.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Name of the parameter. If the channel of a scenario has a key for it, the name is that of
    /// the key.
    pub name: &'static str,
    /// Unit; empty for a probability.
    pub unit: &'static str,
    /// Range of the values.
    pub scale: Scale,
}

/// Probability with this name.
pub const fn probability(name: &'static str) -> Parameter {
    Parameter { name, unit: "", scale: Scale::Probability }
}

/// Time with this name, in seconds.
pub const fn seconds(name: &'static str) -> Parameter {
    Parameter { name, unit: "s", scale: Scale::Positive }
}

/// Properties of a model with given parameters.
#[derive(Debug, Clone, Copy)]
pub struct ModelProperties {
    /// Loss rate under the model.
    pub mean_loss: f64,
    /// Mean number of consecutive losses; `None` if no packet or every packet is lost.
    pub mean_burst: Option<f64>,
    /// Expected number of entries into the rarest state during the series; infinite without hidden
    /// states.
    pub visits: f64,
}

/// Loss model (law).
pub trait Law {
    /// Name of the model.
    fn name(&self) -> &'static str;

    /// Name in readable form.
    fn title(&self) -> &'static str;

    /// Parameters. All lists of values have this order.
    fn parameters(&self) -> &'static [Parameter];

    /// Logarithm of the likelihood; −∞ for impossible values.
    fn log_likelihood(&self, values: &[f64], series: &Series) -> f64;

    /// Values from which the search starts; an empty list if the series is impossible under this
    /// model.
    fn starts(&self, series: &Series) -> Vec<Vec<f64>>;

    /// Draws the fates of the copies of a series.
    fn draw(&self, values: &[f64], series: &Series, stream: &mut RandomStream) -> Vec<bool>;

    /// Loss rate, burst length and number of visits.
    fn consequences(&self, values: &[f64], series: &Series) -> ModelProperties;

    /// Channel of a scenario that follows this model.
    fn channel(&self, values: &[f64]) -> Value;

    /// Fit by a special search, for models whose likelihood is not smooth.
    fn search(&self, _: &Series) -> Option<SearchResult> {
        None
    }

    /// True if [`Law::search`] replaces the general search.
    fn has_own_search(&self) -> bool {
        false
    }
}

/// Result of a law's own search.
#[derive(Debug, Clone)]
pub struct SearchResult {
    /// Maximum-likelihood values.
    pub values: Vec<f64>,
    /// Interval of each value.
    pub ranges: Vec<(f64, f64)>,
}

/// All laws, the simplest first.
pub fn all_laws() -> Vec<Box<dyn Law>> {
    vec![
        Box::new(chains::BERNOULLI),
        Box::new(chains::GILBERT),
        Box::new(timed::ContinuousTimeChain { has_loss_per_state: false }),
        Box::new(chains::GILBERT_ELLIOTT_3),
        Box::new(chains::GILBERT_ELLIOTT_4),
        Box::new(timed::ContinuousTimeChain { has_loss_per_state: true }),
        Box::new(chains::SECOND_ORDER),
        Box::new(chains::THREE_STATES),
        Box::new(outages::Outages),
        Box::new(policer::Policer),
    ]
}

/// Time in the notation of a scenario, rounded to nanoseconds.
pub fn format_time(seconds: f64) -> String {
    let text = format!("{:.9}", seconds.clamp(1e-9, 1e9));
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Probability with the digits that a scenario needs.
pub fn round_probability(value: f64) -> f64 {
    if value > 0.0 && value < 1.0 { format!("{value:.6e}").parse().unwrap_or(value) } else { value }
}
