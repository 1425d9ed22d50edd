//! *What it does.* Retransmits the first unacknowledged segment without its last byte: an ACK
//! beyond the shorter segment can only be due to the original.
//!
//! *Reference.* draft-kun-stoder-00 (Tan, Zhang, Zhu, 2004). The draft's section 9 says that the
//! IETF was notified of intellectual-property claims on it, so it is for simulation only.
//!
//! *Where we differ.* Detection works only without a scoreboard: nothing is detected if the
//! connection has SACK and loss detection uses it. A segment of one byte cannot be shortened.

use super::{Ack, Detector, NewRecovery, Response, Retransmission, UndoScope, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// STODER: detection by a retransmission one byte short (draft-kun-stoder-00; IPR claims).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Response to a spurious timeout.
    pub response: Response,
}

/// State of STODER.
#[derive(Debug, Clone)]
pub struct State {
    response: Response,
    shortens: bool,
    /// Right edge of the short segment, `s_redge`.
    edge: Option<u64>,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { response: config.response, shortens: false, edge: None }
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &NewRecovery) {
        self.shortens = begin.by_timeout;
        self.edge = None;
    }

    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        if std::mem::take(&mut self.shortens) {
            self.edge = Some(retransmission.end);
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        let Some(edge) = self.edge.filter(|_| ack.advances()) else { return Verdict::Undecided };
        self.edge = None;
        if ack.snd_una > edge { Verdict::Spurious(UndoScope::ALL) } else { Verdict::Undecided }
    }

    fn shortens(&self) -> bool {
        self.shortens
    }

    fn response(&self) -> Response {
        self.response
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    /// draft-kun-stoder-00: an ACK beyond the right edge of the shortened segment was due to the
    /// original.
    #[test]
    fn an_ack_beyond_the_short_segment_is_for_the_original() {
        let tcp = (crate::presets::find("reno").expect("a preset").config)();
        let verdict = |by_timeout, snd_una| {
            let mut state = State::new(&Config::default(), &tcp);
            state.on_begin(&testing::new_recovery(by_timeout, false));
            assert_eq!(state.shortens(), by_timeout);
            let retransmission = testing::retransmission(1, None);
            state.on_retransmission(&Retransmission { end: 1_000, ..retransmission });
            assert!(!state.shortens(), "only the first");
            state.on_ack(&testing::ack(1, snd_una))
        };
        let spurious = Verdict::Spurious(UndoScope::ALL);
        let undecided = Verdict::Undecided;
        assert_eq!([1, 1_000].map(|snd_una| verdict(true, snd_una)), [undecided; 2]);
        assert_eq!([1_001, 2_001].map(|snd_una| verdict(true, snd_una)), [spurious; 2]);
        assert_eq!(verdict(false, 1_001), undecided, "no timeout");
    }
}
