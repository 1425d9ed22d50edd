//! *What it does.* Loses frames in bursts: a chain of two states, good and bad, moves once per
//! frame and stands still while the link is idle. Each state loses frames with its own
//! probability.
//!
//! *Reference.* Gilbert 1960; Elliott 1963; the letters p, r, k, h as in Hasslinger & Hohlfeld
//! 2008. For each frame the loss is drawn before the chain moves, as in Linux' netem (`loss
//! gemodel`).
//!
//! *Equations.* p = P(good → bad), r = P(bad → good), 1 − k and 1 − h the loss probabilities in the
//! good and the bad state. Share of bad frames π = p/(p + r). Loss rate (1 − k)(1 − π) + (1 − h)π.
//! Mean number of consecutive losses: L/(L − P₁₁), where L is the loss rate and P₁₁ the probability
//! that two successive frames are lost; for k = 1 and h = 0 it is 1/r. Given the loss rate L and
//! the mean burst B: r = 1/B, p = L·r/(1 − L).
//! Correlation of the state over n frames: (1 − p − r)ⁿ.
//!
//! *Where we differ.* The chain starts in its stationary distribution; netem's starts in the good
//! state.

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, checked};
use retx_units::{Probability, RandomStream, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses in bursts: a two-state chain moves once per frame (Gilbert 1960, Elliott 1963). Write
/// either p and r (with k and h), or loss and mean_burst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Config {
    /// Probability of going from the good to the bad state, per frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<Probability>,
    /// Probability of going from the bad to the good state, per frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<Probability>,
    /// Probability that a frame survives the good state; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<Probability>,
    /// Probability that a frame survives the bad state; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h: Option<Probability>,
    /// Loss rate; the bad state then loses every frame and the good one none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Mean number of consecutive losses, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_burst: Option<f64>,
}

checked!(Config);

/// Gilbert-Elliott chain that moves once per frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain {
    /// Transition probability from good to bad.
    pub p: f64,
    /// Transition probability from bad to good.
    pub r: f64,
    /// Loss probability in the good state.
    pub good_loss: f64,
    /// Loss probability in the bad state.
    pub bad_loss: f64,
}

impl Config {
    fn check(&self) -> Result<(), String> {
        self.read().map(|_| ())
    }

    /// Derives the chain from p and r (with k and h), or from loss and mean_burst.
    ///
    /// # Errors Parameters of both kinds, missing parameters, or impossible values.
    fn read(&self) -> Result<Chain, String> {
        let chain = [("p", self.p), ("r", self.r), ("k", self.k), ("h", self.h)];
        let given = chain.iter().find(|(_, value)| value.is_some());
        match (given, self.loss, self.mean_burst) {
            (Some((key, _)), ..) if self.loss.is_some() || self.mean_burst.is_some() => {
                Err(choice::error_at(
                    key,
                    "contradicts `loss` and `mean_burst`: write one form or the other",
                ))
            }
            (None, Some(loss), Some(burst)) => from_loss(loss.value(), burst),
            (None, Some(_), None) => {
                Err("`loss` needs `mean_burst`, the mean number of frames lost \
                in a row"
                    .into())
            }
            (None, None, Some(_)) => Err("`mean_burst` needs `loss`, the loss rate".into()),
            _ => self.transitions(),
        }
    }

    fn transitions(&self) -> Result<Chain, String> {
        let (Some(p), Some(r)) = (self.p, self.r) else {
            return Err("needs p and r (and may have k and h), or loss and mean_burst".into());
        };
        let [p, r] = [p, r].map(Probability::value);
        if p + r == 0.0 {
            return Err(choice::error_at(
                "r",
                "0 with p = 0: the chain never moves, use \"bernoulli\"",
            ));
        }
        let loss = |survival: Option<Probability>, otherwise: f64| {
            1.0 - survival.map_or(otherwise, Probability::value)
        };
        Ok(Chain { p, r, good_loss: loss(self.k, 1.0), bad_loss: loss(self.h, 0.0) })
    }

    /// Chain of this configuration.
    ///
    /// # Panics
    /// If the parameters are invalid; a scenario with such parameters is refused when it is read.
    pub fn chain(&self) -> Chain {
        self.read().unwrap_or_else(|error| panic!("unchecked parameters: {error}"))
    }
}

/// Chain with loss rate L and mean burst B: r = 1/B, p = L·r/(1 − L).
fn from_loss(loss: f64, burst: f64) -> Result<Chain, String> {
    if !(burst.is_finite() && burst >= 1.0) {
        let message = format!("{burst} is refused: a burst has at least 1 frame");
        return Err(choice::error_at("mean_burst", &message));
    }
    // Largest possible loss rate: it follows from p ≤ 1, since at least one frame survives between
    // two bursts.
    let most = burst / (1.0 + burst);
    if loss > most {
        let message = format!(
            "{loss} with bursts of {burst} frames is impossible: at least one frame survives \
             between two bursts, so at most {most} are lost"
        );
        return Err(choice::error_at("loss", &message));
    }
    let r = 1.0 / burst;
    Ok(Chain { p: (loss * r / (1.0 - loss)).min(1.0), r, good_loss: 0.0, bad_loss: 1.0 })
}

impl Chain {
    /// Stationary probability of the bad state.
    pub fn bad_share(&self) -> f64 {
        self.p / (self.p + self.r)
    }

    /// Long-run loss rate.
    pub fn loss_rate(&self) -> f64 {
        let bad = self.bad_share();
        (1.0 - bad) * self.good_loss + bad * self.bad_loss
    }

    /// Probability that two successive frames are both lost.
    fn both_lost(&self) -> f64 {
        let Self { p, r, good_loss: g, bad_loss: b } = *self;
        let bad = self.bad_share();
        (1.0 - bad) * g * ((1.0 - p) * g + p * b) + bad * b * (r * g + (1.0 - r) * b)
    }

    /// Mean number of consecutive losses; `None` if no frame is lost, or every frame.
    pub fn mean_burst(&self) -> Option<f64> {
        let loss = self.loss_rate();
        let starts = loss - self.both_lost();
        (starts > 0.0).then(|| loss / starts)
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State { chain: self.chain(), bad: None }
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        Some(self.chain().loss_rate())
    }

    fn mean_burst(&self, _: u32) -> Option<f64> {
        self.chain().mean_burst()
    }
}

/// Running channel: its chain and the chain's current state.
#[derive(Debug, Clone)]
pub struct State {
    chain: Chain,
    /// Current state; `None` before the first frame.
    bad: Option<bool>,
}

impl Channel for State {
    fn fate(&mut self, _: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        let chain = &self.chain;
        let bad = match self.bad {
            Some(bad) => bad,
            None => stream.uniform() < chain.bad_share(),
        };
        // Two draws per frame in either state, so that runs that differ in a probability use the
        // same draws.
        let lost = stream.uniform() < if bad { chain.bad_loss } else { chain.good_loss };
        let moves = stream.uniform() < if bad { chain.r } else { chain.p };
        self.bad = Some(bad != moves);
        if lost { Fate::Lose(Reason::Channel) } else { DELIVER }
    }

    fn adopt(&mut self, new: Self) {
        self.chain = new.chain;
    }
}
