//! *What it does.* Considers every timeout genuine, as RFC 5681 and RFC 6298 do.

use super::Detector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every timeout is considered genuine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// No state.
#[derive(Debug, Clone)]
pub struct State;

impl State {
    /// Creates the detector.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self
    }
}

impl Detector for State {
    fn ignores_new_data_ack(&self) -> bool {
        true
    }

    fn ignores_sack(&self, _: u64) -> bool {
        true
    }
}
