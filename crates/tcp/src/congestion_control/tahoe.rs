//! *What it does.* Slow start and congestion avoidance; every loss starts slow start again.
//!
//! *Reference.* Jacobson 1988; Fall & Floyd 1996 §2.
//!
//! *Equations.* Growth as `reno`; loss and timeout: ssthresh = max(FlightSize/2, 2·SMSS),
//! cwnd = 1 SMSS.

use super::{Ack, CongestionControl, Loss, Window, reno};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Growth as Reno; every loss, however detected, sets the window to one segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Growth in congestion avoidance.
    pub growth: reno::Growth,
}

/// State of Tahoe.
#[derive(Debug, Clone)]
pub struct State {
    reno: reno::State,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self { reno: reno::State::new(&reno::Config { growth: config.growth }, tcp) }
    }
}

impl CongestionControl for State {
    fn observes(&self) -> bool {
        false
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        // Tahoe has no fast recovery: duplicate ACKs have the effect of a timeout.
        self.reno.on_timeout(window, loss, false);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.reno.on_timeout(window, loss, repeated);
    }
}
