//! Information reported by Linux's `TCP_INFO` that other accessors do not provide, for observers of
//! a connection.

use super::Connection;
use crate::loss_detection::LossDetection;
use crate::receive_memory::ReceiveMemory;
use retx_units::Duration;
use std::sync::Arc;

/// Loss recovery state of a sender, as Linux names it (`tcpi_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossState {
    /// No sign of a loss.
    Open,
    /// Selective acknowledgments show a gap that does not count as a loss yet.
    Disorder,
    /// The congestion window is being reduced by ECN-Echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// Snapshot of a connection. The cost of making it grows with the number of segments in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// Loss recovery state.
    pub loss_state: LossState,
    /// Number of consecutive timeouts without progress.
    pub consecutive_timeouts: u32,
    /// Zero-window probes without a response; counted as in Linux if `give_up` is `linux`.
    pub probes_in_row: u32,
    /// Segments in flight that are selectively acknowledged.
    pub segments_sacked: u64,
    /// Segments marked lost, including those retransmitted; known with SACK only.
    pub segments_lost: u64,
    /// Retransmitted segments whose copies count as in flight; known with SACK only.
    pub segments_retransmitted: u64,
    /// Number of duplicate ACKs or selectively acknowledged segments that indicate a loss,
    /// increased by observed reordering.
    pub reordering: u32,
    /// True if both ends use timestamps.
    pub timestamps: bool,
    /// True if both ends use SACK.
    pub sack: bool,
    /// True if both ends use window scaling.
    pub window_scaling: bool,
    /// Shift of the peer's window field.
    pub snd_wscale: u8,
    /// Shift of this end's window field.
    pub rcv_wscale: u8,
    /// Estimated size of the peer's full segments, bytes, or the initial guess; known if
    /// acknowledgments are delayed as in Linux.
    pub rcv_mss: u32,
    /// RTT that the receive buffer has measured; known if the buffer limits memory or grows.
    pub rcv_rtt: Option<Duration>,
}

impl Connection {
    /// Takes a snapshot of the connection.
    pub fn info(&self) -> Info {
        let sender = &self.sender;
        let receiver = &self.receiver;
        let (sacked, lost, retransmitted) = sender.board.segment_counts();
        // Without SACK, Linux counts each duplicate ACK as a selectively acknowledged segment
        // (`tcp_add_reno_sack`).
        let sacked = sacked + sender.board.assumed_arrivals();
        // A timeout during fast recovery ends that recovery (`tcp_enter_loss`), so timeouts are
        // tested first.
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
            consecutive_timeouts: sender.consecutive_timeouts,
            probes_in_row: self.unanswered_probes(),
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
            rcv_rtt: receiver.memory.as_deref().and_then(ReceiveMemory::rtt),
        }
    }

    /// Turns Nagle's algorithm on or off: an application must be able to do this on an open
    /// connection (RFC 9293 §3.7.4; `TCP_NODELAY`).
    pub fn set_nagle(&mut self, on: bool) {
        Arc::make_mut(&mut self.parameters).nagle = on;
    }
}
