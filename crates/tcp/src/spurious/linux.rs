//! *What it does.* All that Linux does at once: F-RTO, timestamps, DSACK; and takes everything
//! back. With SACK its F-RTO need not wait for new segments: any segment sent once before the
//! timeout that is delivered after it shows that not all was lost. Without SACK an echo takes back
//! what a timeout did, but the loss state stays until F-RTO knows, too, or all is acknowledged.
//!
//! *Reference.* Linux `tcp_process_loss`, `tcp_try_undo_recovery`, `tcp_try_undo_dsack`,
//! `tcp_packet_delayed` (read; see the sources of `frto`, `eifel`, `dsack`).

use super::{Ack, Begin, Detector, Response, Retransmission, Verdict, dsack, eifel, frto};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// F-RTO, timestamps and DSACK together, each with a full undo, as Linux has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// The three detectors.
#[derive(Debug, Clone)]
pub struct State {
    frto: frto::State,
    eifel: eifel::State,
    dsack: dsack::State,
    by_timeout: bool,
}

impl State {
    /// Fresh ones.
    pub fn new(_: &Config, tcp: &crate::Config) -> Self {
        let mut eifel = eifel::State::new(&eifel::Config::default(), tcp);
        eifel.as_linux = true;
        Self {
            frto: frto::State::new(&frto::Config::default(), tcp),
            eifel,
            dsack: dsack::State::new(&dsack::Config::default(), tcp),
            by_timeout: false,
        }
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &Begin) {
        self.by_timeout = begin.by_timeout;
        // `tcp_enter_loss`: a timeout that follows another begins anew.
        let in_recovery = begin.in_recovery && !begin.repeated;
        self.frto.on_begin(&Begin { in_recovery, ..*begin });
        self.eifel.on_begin(begin);
        self.dsack.on_begin(begin);
    }

    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        self.eifel.on_retransmission(retransmission);
        self.dsack.on_retransmission(retransmission);
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        let others = [self.eifel.on_ack(ack), self.dsack.on_ack(ack)];
        let unselective = self.by_timeout && ack.sacked.is_none();
        if unselective && others.contains(&Verdict::Spurious) {
            return Verdict::Delayed;
        }
        if unselective && !ack.advances() {
            self.frto.on_duplicate(ack.snd_max);
        }
        if self.frto.sees_original(ack) {
            return Verdict::Spurious;
        }
        // Linux waits for an ACK that advances, SACK or not.
        let waits = !ack.advances() && !self.frto.is_waiting();
        let frto = if waits { Verdict::Undecided } else { self.frto.on_ack(ack) };
        if others.contains(&Verdict::Spurious) { Verdict::Spurious } else { frto }
    }

    fn saw_late_original(&self) -> bool {
        self.eifel.late
    }

    fn is_waiting(&self) -> bool {
        self.frto.is_waiting()
    }

    fn response(&self) -> Response {
        Response::FullUndo
    }
}
