//! What Linux's `TCP_INFO` tells of a connection and its other accessors do not, for those who
//! watch one from outside.

use super::Connection;
use crate::loss_detection::LossDetection;
use std::sync::Arc;

/// Where a sender stands with its losses, as Linux names it (`tcpi_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossState {
    /// Nothing points to a loss.
    Open,
    /// Selective acknowledgments show a gap that is not yet taken for a loss.
    Disorder,
    /// The window goes down because of an echo (ECN).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Repairing what a timeout found.
    Loss,
}

/// A look at a connection. To make it costs time that grows with the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// Where the sender stands with its losses.
    pub loss_state: LossState,
    /// Timeouts in a row without progress.
    pub timeouts_in_row: u32,
    /// Zero-window probes without an answer; as Linux counts them, where it gives up by their
    /// number.
    pub probes_in_row: u32,
    /// Segments in flight that are selectively acknowledged.
    pub segments_sacked: u64,
    /// Segments taken for lost, those that were sent again included; known with SACK only.
    pub segments_lost: u64,
    /// Segments sent again whose copies are taken to be in flight; known with SACK only.
    pub segments_retransmitted: u64,
    /// Duplicate ACKs or selectively acknowledged segments that announce a loss, as far as the
    /// reordering seen asks for more than at first.
    pub reordering: u32,
    /// Both ends use timestamps.
    pub timestamps: bool,
    /// Both ends use SACK.
    pub sack: bool,
    /// Both ends use window scaling, …
    pub window_scaling: bool,
    /// … the peer with this shift, …
    pub snd_wscale: u8,
    /// … this end with this one.
    pub rcv_wscale: u8,
    /// The peer's largest segment so far, or a first guess, where acknowledgments are delayed as
    /// Linux does it.
    pub rcv_mss: u32,
}

impl Connection {
    /// A look at the connection.
    pub fn info(&self) -> Info {
        let sender = &self.sender;
        let receiver = &self.receiver;
        let (sacked, lost, retransmitted) = sender.board.counts();
        let sacked = sacked + sender.board.assumed_segments();
        let loss_state = if sender.timeout_recovery_end > 0 {
            LossState::Loss
        } else if sender.loss_detection.in_recovery() {
            LossState::Recovery
        } else if self.ecn.is_reducing() {
            LossState::Cwr
        } else if sacked > 0 {
            LossState::Disorder
        } else {
            LossState::Open
        };
        Info {
            loss_state,
            timeouts_in_row: sender.timeouts_in_row,
            probes_in_row: self.probes_without_answer(),
            segments_sacked: sacked,
            segments_lost: lost,
            segments_retransmitted: retransmitted,
            reordering: sender
                .loss_detection
                .reordering()
                .unwrap_or(self.parameters.dupack_threshold),
            timestamps: self.timestamps,
            sack: receiver.sack,
            window_scaling: receiver.scaling,
            snd_wscale: sender.snd_wscale,
            rcv_wscale: receiver.rcv_wscale,
            rcv_mss: receiver.pending.mss(),
        }
    }

    /// Turns Nagle's algorithm on or off: an application must be able to, for a connection that is
    /// open already (RFC 9293 §3.7.4; `TCP_NODELAY`).
    pub fn set_nagle(&mut self, on: bool) {
        Arc::make_mut(&mut self.parameters).nagle = on;
    }
}
