//! *What it does.* Loses a frame if at least one of its bits is wrong; bit errors are independent.
//!
//! *Reference.* Electronics 2022, 11(14), 2254, eq. 3 (the linear form).
//!
//! *Equations.* Exact: PER = 1 − (1 − BER)^L. Linear: PER = BER·L, but at most 1. L is the number
//! of bits of the IP packet, without the link's `overhead`; in a cell it is that of the whole
//! frame.

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, independent_burst};
use retx_units::{Probability, RandomStream, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent bit errors: a frame with at least one wrong bit is lost. The L bits counted are
/// those of the IP packet, without the link's `overhead`; in a wlan they are those of the whole
/// frame, including `mac_overhead`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Bit error rate.
    pub ber: Probability,
    /// Formula for a frame's loss probability.
    #[serde(default)]
    pub form: BerFormula,
}

/// Formulas for the packet error rate, given the bit error rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BerFormula {
    /// 1 − (1 − BER)^L, where L is the number of bits counted.
    #[default]
    Exact,
    /// BER·L, at most 1: first-order approximation, common in papers.
    Linear,
}

impl Config {
    /// Probability of losing a packet of `bytes`.
    pub fn error_rate(&self, bytes: u32) -> f64 {
        let bits = 8.0 * f64::from(bytes);
        match self.form {
            BerFormula::Exact => -libm::expm1(bits * libm::log1p(-self.ber.value())),
            BerFormula::Linear => (bits * self.ber.value()).min(1.0),
        }
    }
}

/// Running channel; caches the probabilities of the last two packet sizes.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    known: [(u32, f64); 2],
}

impl State {
    /// Creates a channel with these parameters.
    pub fn new(config: Config) -> Self {
        Self { config, known: [(0, 0.0); 2] }
    }

    fn loss_rate(&mut self, bytes: u32) -> f64 {
        if self.known[0].0 != bytes {
            self.known.swap(0, 1);
            if self.known[0].0 != bytes {
                self.known[0] = (bytes, self.config.error_rate(bytes));
            }
        }
        self.known[0].1
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State::new(*self)
    }

    fn loss_rate(&self, bytes: u32) -> Option<f64> {
        Some(self.error_rate(bytes))
    }

    fn mean_burst(&self, bytes: u32) -> Option<f64> {
        independent_burst(self.error_rate(bytes))
    }
}

impl Channel for State {
    fn fate(&mut self, _: Time, frame: &Frame, stream: &mut RandomStream) -> Fate {
        if stream.uniform() < self.loss_rate(frame.bytes) {
            Fate::Lose(Reason::Channel)
        } else {
            DELIVER
        }
    }
}
