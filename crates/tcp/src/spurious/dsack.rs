//! *What it does.* Once the receiver has reported every retransmission of a recovery as a
//! duplicate, the recovery was not needed.
//!
//! *Reference.* RFC 2883 §4; RFC 3708; the counting is Linux's (`undo_retrans`,
//! `tcp_init_undo`: a tail loss probe in flight counts). Needs SACK.

use super::{Ack, Begin, Detector, Response, Retransmission, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Duplicate SACKs tell (RFC 2883, RFC 3708); needs `sack = true`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What to do when the recovery was spurious.
    pub response: Response,
}

/// What is not yet reported.
#[derive(Debug, Clone)]
pub struct State {
    response: Response,
    armed: bool,
    /// `SND.UNA` as the recovery began: older DSACKs are not about it.
    from: u64,
    retransmitted: u32,
    reported: u32,
}

impl State {
    /// A detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { response: config.response, armed: false, from: 0, retransmitted: 0, reported: 0 }
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &Begin) {
        if !begin.in_recovery {
            self.armed = true;
            self.from = begin.snd_una;
            // The receiver may report these copies, too (Linux `tcp_init_undo`).
            self.retransmitted = begin.retransmitted as u32 + u32::from(begin.awaits_probe);
            self.reported = 0;
        }
    }

    fn on_retransmission(&mut self, _: &Retransmission) {
        self.retransmitted += u32::from(self.armed);
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        let about_this = ack.dsack.filter(|(left, _)| *left >= self.from);
        let (true, Some((left, right))) = (self.armed, about_this) else {
            return Verdict::Undecided;
        };
        // `tcp_dsack_seen`: one block may tell of several segments.
        self.reported += (right - left).div_ceil(ack.smss.into()) as u32;
        if self.reported < self.retransmitted {
            return Verdict::Undecided;
        }
        self.armed = false;
        Verdict::Spurious
    }

    fn response(&self) -> Response {
        self.response
    }
}
