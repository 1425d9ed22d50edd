//! Choice of a model, or the reason why none is chosen.
//!
//! *Rule.* The model with the smallest BIC is chosen if the series has at least 10 losses and no
//! change point, if no test rejects the model, and if no other model is near it. If one of the two
//! models is a special case of the other, near means that the difference in BIC is below 2 (Kass &
//! Raftery 1995 call such a difference "not worth more than a bare mention"). If neither is, near
//! means that the difference in BIC is below 6 (Kass & Raftery call 6 and more "strong" evidence),
//! or that the difference in AIC, which penalises parameters less, is below 2. Without the
//! condition on AIC, a model with fewer parameters would be chosen over a true model with a higher
//! likelihood. A chain that enters its rarest state fewer than 4 times is not a candidate, because
//! it cannot be distinguished from a change point.

use super::answer::ChangePoint;
use super::fitted::Fitted;
use super::series::Series;
use super::tests_of_fit::TestResults;

/// Difference in BIC below which the data do not decide between two models.
const UNDECIDED: f64 = 2.0;
/// Difference in BIC below which the data do not decide between two models of which neither is a
/// special case of the other. To decide, the difference in AIC must also be at least [`UNDECIDED`].
const UNDECIDED_APART: f64 = 6.0;
/// Models that are special cases, each with the models that contain it. Independent losses are a
/// special case of all models.
const SPECIAL_CASES: [(&str, &[&str]); 3] = [
    ("gilbert", &["gilbert_elliott_3", "gilbert_elliott_4", "second_order", "three_states"]),
    ("gilbert_elliott_3", &["gilbert_elliott_4", "three_states"]),
    ("gilbert_time", &["gilbert_elliott_time"]),
];
/// Minimum expected number of visits to each state of a chain; a chain with fewer is not a
/// candidate.
const VISITS_LEAST: f64 = 4.0;
/// Minimum number of losses for the choice of a model. With fewer, no model is chosen, and each
/// model whose BIC is less than [`UNDECIDED_APART`] above the best one is a contender.
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
pub fn refusal_reason(fitted: &Fitted, series: &Series) -> Option<String> {
    let visits = fitted.properties.visits;
    let lost = series.loss_rate * series.known as f64;
    let refuses = visits < VISITS_LEAST && lost > 0.0 && fitted.law.parameters().len() > 1;
    refuses.then(|| {
        format!(
            "its rarest state begins {visits:.1} times in the series: it may as well be a change"
        )
    })
}

/// Chooses among fitted models, which are sorted by BIC.
pub fn choose_model(
    fitted: &[(Fitted, Option<String>)],
    best: usize,
    series: &Series,
    (tested, changes): (&TestResults, &[ChangePoint]),
) -> ModelChoice {
    let lost = series.loss_rate * series.known as f64;
    let best_one = &fitted[best].0;
    let is_contender = |it: &Fitted| {
        is_near(best_one, it, series.known)
            || (lost < LOSSES_LEAST && it.bic - best_one.bic < UNDECIDED_APART)
    };
    let near = fitted.iter().filter(|(it, refused)| refused.is_none() && is_contender(it));
    let mut contenders: Vec<&Fitted> = near.map(|it| &it.0).collect();
    // The simplest model comes first. Among equally simple models, those in continuous time come
    // first, because losses depend more often on time than on the number of packets.
    contenders.sort_by_key(|it| it.law.parameters().len());
    let names: Vec<&'static str> = contenders.iter().map(|it| it.law.name()).collect();
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

/// True if the data do not decide between the best model and another one.
fn is_near(best: &Fitted, other: &Fitted, known: usize) -> bool {
    let contains = |special: &Fitted, general: &Fitted| {
        let (special, general) = (special.law.name(), general.law.name());
        special == "bernoulli"
            || SPECIAL_CASES.iter().any(|(name, all)| *name == special && all.contains(&general))
    };
    let bic = other.bic - best.bic;
    if best.law.name() == other.law.name() || contains(best, other) || contains(other, best) {
        return bic < UNDECIDED;
    }
    let more = other.law.parameters().len() as f64 - best.law.parameters().len() as f64;
    let aic = bic - more * (libm::log(known as f64) - 2.0);
    bic < UNDECIDED_APART || aic < UNDECIDED
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
