//! *What it does.* Sends two new segments after the retransmission of a timeout, instead of more
//! retransmissions, and infers from the next ACKs whether the original had arrived.
//!
//! *Reference.* RFC 5682 §2.1 (basic) and §3.1 (SACK-enhanced, used where the connection has SACK).
//!
//! *Where we differ.* The response is a separate parameter; RFC 5682 leaves it open.

use super::{Ack, Detector, NewRecovery, Response, UndoScope, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// F-RTO: detection by two new segments after a timeout (RFC 5682; SACK-enhanced with SACK).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Response to a spurious timeout.
    pub response: Response,
}

/// The steps of RFC 5682.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Off,
    /// Step 2: waiting for the ACK of the retransmission.
    First,
    /// Step 3: waiting for the next ACK.
    Second,
}

/// State of F-RTO.
#[derive(Debug, Clone)]
pub struct State {
    response: Response,
    step: Step,
    /// `SND.MAX` at the timeout: `recover`, RecoveryPoint.
    recover: u64,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self { response: config.response, step: Step::Off, recover: 0 }
    }

    /// Linux `tcp_process_loss`, FLAG_ORIG_SACK_ACKED: before the steps, the arrival of any segment
    /// that was sent once and before the timeout proves that the timeout was spurious.
    pub(super) fn sees_original(&mut self, ack: &Ack) -> bool {
        let original = self.step != Step::Off
            && ack.lowest_original_end.is_some_and(|end| end <= self.recover);
        if original {
            self.step = Step::Off;
        }
        original
    }

    /// Linux, step 3.a: a duplicate ACK while data sent after the timeout are in flight proves the
    /// loss. If F-RTO itself sent these data, step 3 of the RFC applies instead.
    pub(super) fn on_duplicate(&mut self, snd_max: u64) {
        if self.step == Step::First && snd_max > self.recover {
            self.step = Step::Off;
        }
    }

    /// Evaluates the first ACK after the timeout (§2.1, step 2; §3.1, step 2).
    fn on_first(&mut self, ack: &Ack) -> Verdict {
        if !ack.advances() {
            // With SACK a duplicate only updates the scoreboard.
            if ack.sacked.is_none() {
                self.step = Step::Off;
            }
            return Verdict::Undecided;
        }
        // (2a) The ACK acknowledges everything, or no new data can be sent: the loss counts as
        // real. (2b) Otherwise new data are sent.
        if ack.snd_una >= self.recover || !ack.can_send_new {
            self.step = Step::Off;
            return Verdict::Undecided;
        }
        self.step = Step::Second;
        Verdict::SendNew
    }

    /// Evaluates the second ACK after the timeout (§2.1, step 3; §3.1, step 3).
    fn on_second(&mut self, ack: &Ack) -> Verdict {
        self.step = Step::Off;
        let genuine = Verdict::Genuine { cwnd_segments: 3 };
        match ack.sacked {
            None if ack.advances() => Verdict::Spurious(UndoScope::ALL),
            None => genuine,
            // (3a) The ACK covers data sent after the timeout; (3b) it covers only new data sent
            // before.
            Some(_) if ack.highest > self.recover => genuine,
            Some(sacked) if ack.advances() || sacked > 0 => Verdict::Spurious(UndoScope::ALL),
            Some(_) => genuine,
        }
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &NewRecovery) {
        // §3.1, step 1: F-RTO is not used while another recovery is in progress.
        self.step = if begin.by_timeout && !begin.in_recovery { Step::First } else { Step::Off };
        self.recover = begin.snd_max;
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        match self.step {
            Step::Off => Verdict::Undecided,
            Step::First => self.on_first(ack),
            Step::Second => self.on_second(ack),
        }
    }

    fn is_waiting(&self) -> bool {
        self.step == Step::Second
    }

    fn response(&self) -> Response {
        self.response
    }
}
