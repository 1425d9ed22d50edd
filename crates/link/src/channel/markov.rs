//! *What it does.* Loses frames according to a chain with any number of states. The chain moves
//! once per frame and stands still while the link is idle. Each state loses frames with its own
//! probability.
//!
//! *Reference.* Yajnik, Moon, Kurose & Towsley 1999 found that most Internet traces need more than
//! the two states of `gilbert_elliott`; netem's `loss state` has four; `retx fit` writes chains of
//! second order and of three states.
//!
//! *Equations.* M is the matrix of transition probabilities, π its stationary distribution (π =
//! π·M), and q(s) the loss probability in state s. Loss rate L = Σ π(s)q(s). Mean number of
//! consecutive losses: L/(L − P₁₁) with P₁₁ = Σ π(s)q(s)·Σ M(s,t)q(t).
//!
//! *Where it differs from netem.* The chain starts in its stationary distribution.

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, checked};
use retx_units::{Probability, RandomStream, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses according to a chain with any number of states, which moves once per frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Config {
    /// Transition probabilities: a row for each state, with one entry per next state.
    pub transitions: Vec<Vec<Probability>>,
    /// Probability of losing a frame in each state.
    pub loss: Vec<Probability>,
}

checked!(Config);

/// Maximum number of states.
const STATES_MAX: usize = 64;
/// Maximum difference between a row's sum and 1; a row with a larger difference is refused. Smaller
/// differences are caused by rounded probabilities, so the row is scaled to the sum 1.
const SUM_ERROR_MAX: f64 = 1e-3;

impl Config {
    fn check(&self) -> Result<(), String> {
        let count = self.loss.len();
        if count == 0 || count > STATES_MAX {
            let message = format!("{count} states are refused: write 1 to {STATES_MAX}");
            return Err(choice::error_at("loss", &message));
        }
        if self.transitions.len() != count {
            let message = format!(
                "{} rows for {count} states: write a row for each entry of `loss`",
                self.transitions.len()
            );
            return Err(choice::error_at("transitions", &message));
        }
        for (index, row) in self.transitions.iter().enumerate() {
            let refuse =
                |message: &str| Err(choice::error_at(&format!("transitions.{index}"), message));
            if row.len() != count {
                return refuse(&format!("{} entries for {count} states", row.len()));
            }
            let sum: f64 = row.iter().map(|it| it.value()).sum();
            if (sum - 1.0).abs() > SUM_ERROR_MAX {
                return refuse(&format!("adds up to {sum}: the entries of a row add up to 1"));
            }
        }
        if self.chain().stationary().is_none() {
            return Err(choice::error_at(
                "transitions",
                "has several sets of states that are never left: where the chain is would depend \
                 on where it begins",
            ));
        }
        Ok(())
    }

    fn chain(&self) -> Chain {
        let scaled = |row: &Vec<Probability>| {
            let sum: f64 = row.iter().map(|it| it.value()).sum();
            row.iter().map(|it| it.value() / sum).collect()
        };
        Chain {
            moves: self.transitions.iter().map(scaled).collect(),
            loss: self.loss.iter().map(|it| it.value()).collect(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Chain {
    moves: Vec<Vec<f64>>,
    loss: Vec<f64>,
}

impl Chain {
    /// Stationary distribution, computed by Gaussian elimination; `None` if it is not unique.
    fn stationary(&self) -> Option<Vec<f64>> {
        let count = self.loss.len();
        let mut equations: Vec<Vec<f64>> = (0..count)
            .map(|to| {
                let mut row: Vec<f64> = (0..count).map(|from| self.moves[from][to]).collect();
                row[to] -= 1.0;
                row.push(0.0);
                row
            })
            .collect();
        // The equations are linearly dependent, so the last one is replaced by the condition that
        // the probabilities sum to 1.
        equations[count - 1] = vec![1.0; count + 1];
        for column in 0..count {
            let size = |row: &usize| equations[*row][column].abs();
            let pivot = (column..count).max_by(|a, b| size(a).total_cmp(&size(b)))?;
            equations.swap(column, pivot);
            let head = equations[column][column];
            if head.abs() < 1e-14 {
                return None;
            }
            let line = equations[column].clone();
            for (_, row) in equations.iter_mut().enumerate().filter(|(index, _)| *index != column) {
                let factor = row[column] / head;
                row.iter_mut().zip(&line).for_each(|(entry, above)| *entry -= factor * above);
            }
        }
        let law = equations.iter().enumerate().map(|(state, row)| row[count] / row[state]);
        Some(law.map(|share| share.max(0.0)).collect())
    }

    fn law(&self) -> Vec<f64> {
        self.stationary().unwrap_or_else(|| panic!("unchecked transitions"))
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        let chain = self.chain();
        State { law: chain.law(), chain, state: None }
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        let chain = self.chain();
        Some(chain.law().iter().zip(&chain.loss).map(|(share, loss)| share * loss).sum())
    }

    fn mean_burst(&self, bytes: u32) -> Option<f64> {
        let chain = self.chain();
        let next = |state: usize| -> f64 {
            chain.moves[state].iter().zip(&chain.loss).map(|(moves, loss)| moves * loss).sum()
        };
        let shares = chain.law().into_iter().enumerate();
        let both: f64 = shares.map(|(state, share)| share * chain.loss[state] * next(state)).sum();
        let lost = self.loss_rate(bytes)?;
        (lost - both > 0.0).then(|| lost / (lost - both))
    }
}

/// Running channel: its chain and the chain's current state.
#[derive(Debug, Clone)]
pub struct State {
    chain: Chain,
    law: Vec<f64>,
    /// Current state; `None` before the first frame.
    state: Option<usize>,
}

impl Channel for State {
    fn fate(&mut self, _: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        let state = match self.state {
            Some(state) => state,
            None => drawn(&self.law, stream.uniform()),
        };
        // Two draws per frame in every state, so that runs that differ in a probability use the
        // same draws.
        let lost = stream.uniform() < self.chain.loss[state];
        self.state = Some(drawn(&self.chain.moves[state], stream.uniform()));
        if lost { Fate::Lose(Reason::Channel) } else { DELIVER }
    }

    /// Takes over the chain of `new`, but keeps the current state if the new chain also has it.
    fn adopt(&mut self, new: Self) {
        let state = self.state.filter(|state| *state < new.law.len());
        *self = Self { state, ..new };
    }
}

/// State drawn from the distribution `law` by a number that is uniform in [0, 1).
fn drawn(law: &[f64], uniform: f64) -> usize {
    let mut left = uniform;
    let within = |share: &f64| {
        left -= share;
        left < 0.0
    };
    law.iter().position(within).unwrap_or(law.len() - 1)
}

#[cfg(test)]
mod tests;
