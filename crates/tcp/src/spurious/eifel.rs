//! *What it does.* Reads from the echoed timestamp whether the first acceptable ACK answers the
//! original segment or its retransmission.
//!
//! *Reference.* RFC 3522 §3.2; Ludwig & Katz 2000. Without timestamps it detects nothing.
//!
//! *Where we differ.* RFC 3522 does not say what a recovery does that begins while retransmissions
//! of the one before are on their way; we do what Linux does since 6.12
//! (`tcp_retrans_stamp_cleanup`).

use super::{Ack, Begin, Detector, Response, Retransmission, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Eifel detection algorithm: timestamps tell (RFC 3522); needs `timestamps = true`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What to do when the recovery was spurious.
    pub response: Response,
}

/// Where Eifel stands.
#[derive(Debug, Clone)]
pub struct State {
    response: Response,
    /// Linux: what was sent before the retransmission has arrived, whatever else may be.
    pub(super) as_linux: bool,
    armed: bool,
    /// `SND.NXT` as a fast recovery began; 0 after a timeout.
    recover: u64,
    /// `RetransmitTS`: TSval of the first retransmission of this recovery.
    retransmit_ts: Option<u32>,
    dsack_seen: bool,
    pub(super) late: bool,
}

impl State {
    /// A detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self {
            response: config.response,
            as_linux: false,
            armed: false,
            recover: 0,
            retransmit_ts: None,
            dsack_seen: false,
            late: false,
        }
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &Begin) {
        self.recover = if begin.by_timeout { 0 } else { begin.snd_max };
        // A repeated timeout keeps the timestamp of the first retransmission.
        if !begin.in_recovery {
            self.armed = true;
            // So does what follows another recovery whose retransmissions are on their way: the
            // answer to one of these is older than this recovery, and yet answers no original.
            if begin.retransmitted == 0 && !begin.first_retransmitted {
                self.retransmit_ts = None;
            }
        }
    }

    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        if self.armed && self.retransmit_ts.is_none() {
            self.retransmit_ts = retransmission.timestamp;
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        self.dsack_seen |= ack.dsack.is_some();
        self.late = false;
        // Step 4: the first acceptable ACK.
        let (true, Some(sent), Some(echo)) =
            (self.armed && ack.advances(), self.retransmit_ts, ack.echo)
        else {
            return Verdict::Undecided;
        };
        let answers_original = (echo.wrapping_sub(sent) as i32) < 0;
        // `tcp_try_undo_partial`: as long as copies are out, a later ACK decides.
        self.late = self.as_linux && answers_original && ack.snd_una < self.recover;
        let partial = ack.snd_una < self.recover && ack.retransmitted > 0;
        if self.as_linux && answers_original && partial {
            return Verdict::Undecided;
        }
        self.armed = false;
        // Step 5: a DSACK, or an ACK of everything from a peer that never sent one, may be the
        // answer to a duplicate whose first ACK was lost.
        let all = ack.snd_una == ack.snd_max && !self.dsack_seen;
        let doubtful = !self.as_linux && (ack.dsack.is_some() || all);
        if answers_original && !doubtful { Verdict::Spurious } else { Verdict::Undecided }
    }

    fn response(&self) -> Response {
        self.response
    }
}
