//! *What it does.* Takes every loss for congestion, as the RFCs do.
//!
//! *Reference.* RFC 5681 §3.

use super::{Cause, Loss, LossCause};
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All loss is congestion (RFC 5681).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Nothing to remember.
#[derive(Debug, Clone)]
pub struct State;

impl State {
    /// A fresh one.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self
    }
}

impl LossCause for State {
    fn on_rtt(&mut self, _: Time, _: Duration) {}

    fn cause(&mut self, _: &Loss) -> Cause {
        Cause::Congestion
    }
}
