//! Choice of a model, or the reason why none is chosen.
//!
//! *Rule.* The model with the smallest BIC is chosen under two conditions. The BIC of every other
//! model is larger by 2 or more (Kass & Raftery 1995 call a smaller difference "not worth more than
//! a bare mention"). No test of the chosen model rejects it. A chain that enters its rarest state
//! fewer than 4 times is not a candidate, because it cannot be distinguished from a change point.

use super::answer::ChangePoint;
use super::fitted::Fitted;
use super::series::Series;
use super::tests_of_fit::TestResults;

/// Difference in BIC below which the data do not decide between two models.
const UNDECIDED: f64 = 2.0;
/// Minimum expected number of visits to each state.
const VISITS_LEAST: f64 = 4.0;
/// Minimum number of losses for the choice of a model.
const LOSSES_LEAST: f64 = 10.0;
/// If a larger share of the fates is uncertain, a warning says that the tests are weak.
const SOFT_MUCH: f64 = 0.05;

/// Result of the choice.
pub struct ModelChoice {
    /// Chosen model; `None` if no model is chosen.
    pub chosen: Option<&'static str>,
    /// Names of the models that the data do not distinguish from the best one.
    pub contenders: Vec<&'static str>,
    /// Reason why no model is chosen; `None` if one is.
    pub reason: Option<String>,
}

/// Reason why a fitted model is not a candidate.
pub fn refusal(fitted: &Fitted, series: &Series) -> Option<String> {
    let visits = fitted.consequences.visits;
    let lost = series.loss_rate * series.known as f64;
    let refuses = visits < VISITS_LEAST && lost > 0.0 && fitted.law.parameters().len() > 1;
    refuses.then(|| {
        format!(
            "its rarest state begins {visits:.1} times in the series: it may as well be a change"
        )
    })
}

/// Chooses among fitted models, which are sorted by BIC.
pub fn choose(
    fitted: &[(Fitted, Option<String>)],
    best: usize,
    series: &Series,
    (tested, changes): (&TestResults, &[ChangePoint]),
) -> ModelChoice {
    let least = fitted[best].0.bic;
    let near =
        fitted.iter().filter(|(it, refused)| refused.is_none() && it.bic < least + UNDECIDED);
    let mut contenders: Vec<&Fitted> = near.map(|it| &it.0).collect();
    // The simplest model comes first. Among equally simple models, those in continuous time come
    // first, because losses depend more often on time than on the number of packets.
    contenders.sort_by_key(|it| it.law.parameters().len());
    let names: Vec<&'static str> = contenders.iter().map(|it| it.law.name()).collect();
    let lost = series.loss_rate * series.known as f64;
    let reason = if lost < LOSSES_LEAST {
        Some(format!(
            "{lost:.0} losses among {} packets are too few to tell models apart",
            series.known
        ))
    } else if let Some(change) = changes.first() {
        Some(format!("not stationary after {:.4} s", change.time_s))
    } else if let Some(failed) = tested.tests.iter().find(|test| !test.passed) {
        Some(format!("the best model, {}, is refused: {}", failed.model, failed.finding))
    } else if names.len() > 1 {
        Some(format!("cannot tell between {}{}", names.join(" and "), evenly(&names)))
    } else {
        None
    };
    let chosen = if reason.is_none() { names.first().copied() } else { None };
    ModelChoice { chosen, contenders: names, reason }
}

fn evenly(names: &[&str]) -> &'static str {
    let per_packet = ["gilbert", "gilbert_elliott_4"];
    let in_time = ["gilbert_time", "gilbert_elliott_time"];
    let both = per_packet
        .iter()
        .zip(in_time)
        .any(|(one, other)| names.contains(one) && names.contains(&other));
    if both { ": evenly spaced packets see both alike" } else { "" }
}

/// Warnings about copies whose fate is uncertain or unknown.
pub fn warnings(series: &Series) -> Vec<String> {
    let mut warnings = Vec::new();
    let soft = series.uncertain_share();
    if soft > SOFT_MUCH {
        warnings.push(format!(
            "the fate of {:.0} % of the packets is uncertain: the tests take the likelier one",
            100.0 * soft
        ));
    }
    let unknown = series.copies() - series.known;
    if unknown > 0 {
        warnings.push(format!("the fate of {unknown} packets is not known"));
    }
    warnings
}
