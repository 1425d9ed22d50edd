//! *What it does.* Attributes a loss to corruption if a relay has reported it: explicit loss
//! notification.
//!
//! *Reference.* Balakrishnan & Katz, Explicit loss notification and wireless web performance,
//! Globecom 1998; ns-2 `tcp.cc`, `eln_` (`hdr_flags`).
//!
//! *Rule.* The cause is corruption if the notice came with an ACK whose number is still the first
//! unacknowledged position. A `[[relay]]` of kind `eln` or `snoop` adds the notice to ACKs.
//!
//! *Where we differ.* ns-2 retransmits at the first duplicate with a notice (`eln_rxmit_thresh_`);
//! here loss detection decides when, as for any loss. Timeouts count as congestion unless
//! `timeouts` is set: no notice reports that the retransmission was lost as well.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::{Ack, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Corruption if a relay has reported it (explicit loss notification, Balakrishnan & Katz).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Apply the rule to timeouts, too; otherwise they count as congestion.
    #[serde(rename = "timeouts")]
    pub applies_to_timeouts: bool,
}

/// State of the rule.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
}

impl State {
    /// Creates a rule without a notice.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { config: *config }
    }
}

impl LossCause for State {
    fn on_ack(&mut self, _: &Ack, _: &Window) {}

    fn cause(&mut self, loss: &Loss) -> Cause {
        let judged = self.config.applies_to_timeouts || !loss.by_timeout;
        Cause::from_is_corruption(judged && loss.notified)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found, tcp, timed_out};
    use super::*;
    use Cause::{Congestion, Corruption};

    #[test]
    fn a_notice_is_believed() {
        for (timeouts, by_timeout) in [(false, Congestion), (true, Corruption)] {
            let mut state = State::new(&Config { applies_to_timeouts: timeouts }, &tcp());
            assert_eq!(state.cause(&found(1)), Congestion);
            assert_eq!(state.cause(&Loss { notified: true, ..found(1) }), Corruption);
            assert_eq!(state.cause(&timed_out()), Congestion);
            assert_eq!(state.cause(&Loss { notified: true, ..timed_out() }), by_timeout);
        }
    }
}
