//! *What it does.* Lets a share of the frames be overtaken, by a number of packets or by all
//! packets within a time.
//!
//! *Reference.* RFC 4737 §4.2: a packet that is overtaken by `packets` others has a reordering
//! extent of `packets`.
//!
//! *Equations.* The share of frames that are held back is p. All of them have the extent `packets`,
//! except frames that are followed by fewer packets within `at_most`.

use super::{Channel, DELIVER, Fate, Frame, Model, checked};
use retx_units::{Duration, Probability, RandomStream, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Each frame is held back with probability p, until `packets` frames have overtaken it or `delay`
/// has passed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Config {
    /// Probability that a frame is held back.
    pub p: Probability,
    /// Number of frames that overtake a held frame before it arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u32>,
    /// Longest time to wait for `packets` frames; 1 s by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Duration>,
    /// Extra delay of a held frame; in place of `packets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

checked!(Config);

impl Config {
    fn check(&self) -> Result<(), String> {
        match (self.packets, self.delay, self.at_most) {
            (None, None, _) => Err("needs packets (and may have at_most), or delay".into()),
            (Some(_), Some(_), _) => {
                Err(choice::error_at("delay", "contradicts `packets`: write one or the other"))
            }
            (None, _, Some(_)) => Err(choice::error_at("at_most", "belongs to `packets`")),
            (Some(0), ..) => {
                Err(choice::error_at("packets", "0 is refused: at least 1 packet overtakes"))
            }
            _ => Ok(()),
        }
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        let fate = match (self.packets, self.delay) {
            (Some(packets), _) => {
                let at_most = self.at_most.unwrap_or(Duration::from_secs(1));
                Fate::HoldBack { packets, at_most }
            }
            (None, delay) => Fate::Stray { extra_delay: delay.unwrap_or_default() },
        };
        State { p: self.p.value(), fate }
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        Some(0.0)
    }

    fn only_loses(&self) -> bool {
        false
    }
}

/// Running channel; it has no state but its parameters.
#[derive(Debug, Clone)]
pub struct State {
    p: f64,
    fate: Fate,
}

impl Channel for State {
    fn fate(&mut self, _: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        if stream.uniform() < self.p { self.fate } else { DELIVER }
    }
}
