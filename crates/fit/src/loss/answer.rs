//! Result of a fit: all models, the chosen one, tests, and change points.

use super::tests_of_fit::Test;
use serde::Serialize;
use serde_json::Value;

/// Estimate of a parameter, with its interval.
#[derive(Debug, Clone, Serialize)]
pub struct Estimate {
    /// Name of the parameter. If the channel of a scenario has a key for it, the name is that of
    /// the key.
    pub name: &'static str,
    /// Maximum-likelihood estimate.
    pub value: f64,
    /// Lower end of the 95 % interval; none unless requested.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval; none unless requested.
    pub high: Option<f64>,
    /// Unit; empty for a probability.
    pub unit: &'static str,
}

/// Fitted model.
#[derive(Debug, Clone, Serialize)]
pub struct Model {
    /// Name of the model.
    pub name: &'static str,
    /// Name in readable form.
    pub title: &'static str,
    /// Estimates of the parameters.
    pub parameters: Vec<Estimate>,
    /// Logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Bayesian information criterion: the smaller, the better.
    pub bic: f64,
    /// Loss rate under the model.
    pub mean_loss: f64,
    /// Mean number of consecutive losses; none if no packet or every packet is lost.
    pub mean_burst: Option<f64>,
    /// Channel of a scenario that behaves like the model, or a list of channels in series.
    pub channel: Value,
    /// Reason why the model cannot be chosen; none if it can.
    pub refused: Option<String>,
}

/// Time at which the parameters of the loss model change.
#[derive(Debug, Clone, Serialize)]
pub struct ChangePoint {
    /// Seconds from the first transmission of the series.
    pub time_s: f64,
    /// Index of the first transmission after the change point.
    pub copy: usize,
    /// Loss rate before the change point.
    pub loss_before: f64,
    /// Loss rate after the change point.
    pub loss_after: f64,
}

/// Fit of a series of losses.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// Number of packet transmissions in the series.
    pub copies: usize,
    /// Number of transmissions whose fate is known, with certainty or with a probability.
    pub known: usize,
    /// Expected number of losses.
    pub lost: f64,
    /// Number of bursts (runs of consecutive losses).
    pub bursts: usize,
    /// Time from the first transmission to the last, seconds.
    pub duration_s: f64,
    /// Models, best first.
    pub models: Vec<Model>,
    /// Name of the model with the smallest BIC among those that can be chosen.
    pub best: &'static str,
    /// Name of the chosen model; none if the data do not decide between models, or no model fits.
    pub chosen: Option<&'static str>,
    /// Names of the models that the data do not distinguish from the best one.
    pub contenders: Vec<&'static str>,
    /// Reason why no model is chosen; none if one is.
    pub reason: Option<String>,
    /// Tests of the best model, and of the models that were requested.
    pub tests: Vec<Test>,
    /// Times at which the parameters change in the course of the series.
    pub change_points: Vec<ChangePoint>,
    /// Sentences about limitations of the result.
    pub warnings: Vec<String>,
}
