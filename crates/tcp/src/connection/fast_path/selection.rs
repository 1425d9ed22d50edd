//! Choice of the fast paths that are open.

use crate::congestion_control::CongestionControl;
use crate::connection::{Connection, State};
use crate::{Push, RttSamples, loss_cause};

/// Fast paths that are open.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::connection) struct FastPaths {
    /// True if the options negotiated in the handshake permit fast paths.
    pub plain: bool,
    /// True if the options permit the fast paths of module `detailed`.
    pub detailed: bool,
    /// True if a component has to observe each acknowledgment and each transmission.
    pub observed: bool,
    /// True if the rule that infers causes of losses has to observe each acknowledgment and each
    /// transmission.
    pub loss_cause_observes: bool,
    pub sending: Sending,
    pub receiving: Receiving,
}

impl FastPaths {
    /// True if any fast path is open.
    pub fn is_open(self) -> bool {
        self.sending != Sending::General || self.receiving != Receiving::General
    }
}

/// Fast path for acknowledgments, and for new data to send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::connection) enum Sending {
    /// No fast path: the general path handles everything.
    #[default]
    General,
    /// Path of a recovery, for duplicate ACKs and for new data.
    Repair,
    /// For acknowledgments of new data, and for new data.
    Plain,
    /// As `Plain`, with more to do for each segment (module `detailed`).
    Detailed,
    /// Path of `detailed_repair`, for new data while segments are lost or selectively acknowledged.
    DetailedRepair,
}

impl Sending {
    /// True for the paths outside a recovery, on which only new data are sent.
    #[inline(always)]
    pub(in crate::connection) const fn sends_new_data(self) -> bool {
        matches!(self, Self::Plain | Self::Detailed)
    }
}

/// Fast path for data that arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::connection) enum Receiving {
    /// No fast path: the general path handles everything.
    #[default]
    General,
    /// For the next data in order.
    Next,
    /// For data beyond a gap, and for their acknowledgments.
    BeyondGap,
    /// As `Next`, with more to do for each segment (module `detailed`).
    Detailed,
    /// For any new data while there is a gap, with more to do for each segment (`detailed_data`).
    DetailedGap,
}

impl Connection {
    /// Chooses the fast paths at the end of the handshake.
    pub(in crate::connection) fn choose_fast_paths(&mut self) {
        let sender = &self.sender;
        let own_pace =
            sender.pacer.is_some() || sender.model_inputs.is_some() || self.parameters.tso;
        let timed = self.parameters.rtt_samples == RttSamples::EveryAck && !sender.selective;
        // Components that need every acknowledgment are called on the fast paths, too; these flags
        // avoid the calls on all other connections.
        let loss_cause_observes = !matches!(sender.loss_cause, loss_cause::State::none(_));
        self.fast_paths.loss_cause_observes = loss_cause_observes;
        self.fast_paths.observed =
            timed || loss_cause_observes || sender.congestion_control.observes();
        self.fast_paths.plain = !self.timestamps
            && sender.congestion_control.takes_fast_paths()
            && !self.ecn.is_enabled()
            && !own_pace
            && self.parameters.push == Push::End
            && sender.repair.requests.get().is_none();
        self.choose_detailed_path();
    }

    /// Recomputes which fast paths are open, after an event that they do not handle.
    #[inline(never)]
    pub(in crate::connection) fn recompute_fast_paths(&mut self) {
        self.fast_paths.receiving = Receiving::General;
        self.fast_paths.sending = Sending::General;
        let established = self.state == State::Established && self.reply.is_none();
        let established = established && !self.receiver.ack_goes_first();
        if !established || !self.parameters.use_fast_paths {
            return;
        }
        if self.fast_paths.plain {
            self.recompute_plain_paths();
        }
        if self.fast_paths.detailed {
            self.recompute_detailed_paths();
        }
    }

    /// Recomputes which plain fast paths of an established connection are open.
    fn recompute_plain_paths(&mut self) {
        self.fast_paths.receiving =
            match (self.receiver.only_counts_segments(), self.receiver.has_gap()) {
                (true, false) => Receiving::Next,
                (true, true) => Receiving::BeyondGap,
                (false, _) => Receiving::General,
            };
        // SACK blocks to send need options, and a rare timer has a deadline that the fast paths do
        // not read.
        if self.sends_sack_blocks() || self.timers.has_rare() {
            return;
        }
        // These paths do not know Linux's buffers. With them, for example, an update of the window
        // may follow an acknowledgment at once.
        if self.receiver.memory.is_some() {
            return;
        }
        let timed = self.parameters.rtt_samples == RttSamples::Timed;
        let unseen = timed && !self.fast_paths.observed;
        if self.sender.is_calm() {
            self.fast_paths.sending = Sending::Plain;
        } else if unseen && self.sender.is_repairing() {
            self.fast_paths.sending = Sending::Repair;
        }
    }
}
