//! *What it does.* Attributes every loss to congestion, as the RFCs do.
//!
//! *Reference.* RFC 5681 §3.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::{Ack, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All loss is congestion (RFC 5681).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// No state.
#[derive(Debug, Clone)]
pub struct State;

impl State {
    /// Creates the rule.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self
    }
}

impl LossCause for State {
    fn on_ack(&mut self, _: &Ack, _: &Window) {}

    fn cause(&mut self, _: &Loss) -> Cause {
        Cause::Congestion
    }
}
