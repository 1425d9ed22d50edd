//! What is lost? Reads acknowledgments and says what recovery does about them.
//!
//! Positions are unwrapped stream positions: the SYN is 0, the first byte of data 1.

use crate::scoreboard::{Delivered, Scoreboard};

retx_units::registry! { $
    /// What is lost?
    tag = "name", schema = "LossDetection", context = &crate::Config;
    timeout_only, tahoe, reno, newreno, sack
}

/// An acknowledgment as loss detection sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// Bytes acknowledged for the first time; 0 for a duplicate ACK (RFC 5681 §2).
    pub bytes_acked: u64,
    /// First unacknowledged position, this ACK counted.
    pub snd_una: u64,
    /// Position after the last byte ever sent (`SND.NXT` before any go-back).
    pub snd_max: u64,
    /// Duplicate ACKs that announce a loss.
    pub dupack_threshold: u32,
    /// Payload of a full segment.
    pub smss: u32,
    /// What it has delivered, where both ends use SACK.
    pub selective: Option<Delivered>,
}

/// What an acknowledgment asks of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing; outside recovery new data acknowledged grow the window.
    Nothing,
    /// A duplicate ACK before the threshold: one new segment may go beyond `cwnd` (RFC 3042).
    LimitedTransmit,
    /// A loss: reduce the window, retransmit the segment at `snd_una`, and inflate the window by
    /// the segments that the duplicate ACKs say have left the network.
    FastRetransmit,
    /// A loss, with a scoreboard: reduce the window and retransmit the first lost segment; what
    /// follows is sent as far as the segments taken to be in flight leave room.
    SelectiveRecovery,
    /// A loss: reduce the window and send again from `snd_una`, without fast recovery.
    GoBackN,
    /// In recovery another segment has left the network: inflate the window by one SMSS.
    Inflate,
    /// A partial ACK: retransmit the next hole, and deflate the window by what was acknowledged.
    PartialAck {
        /// Restart the retransmission timer.
        restart_timer: bool,
    },
    /// Recovery is over: deflate the window to `ssthresh`.
    EndRecovery,
}

/// A way to find losses without the retransmission timer.
pub trait LossDetection {
    /// True for those that read selective acknowledgments.
    fn is_selective(&self) -> bool {
        false
    }

    /// An acknowledgment came: new data (`bytes_acked` > 0) or a duplicate. The scoreboard has
    /// taken it in already, and is empty without SACK.
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction;

    /// The retransmission timer expired; everything up to `snd_max` may be in the network.
    fn on_timeout(&mut self, snd_max: u64);

    /// True during fast recovery.
    fn in_recovery(&self) -> bool;
}

impl LossDetection for State {
    fn is_selective(&self) -> bool {
        dispatch!(self, it => it.is_selective())
    }

    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction {
        dispatch!(self, it => it.on_ack(ack, board))
    }

    fn on_timeout(&mut self, snd_max: u64) {
        dispatch!(self, it => it.on_timeout(snd_max));
    }

    fn in_recovery(&self) -> bool {
        dispatch!(self, it => it.in_recovery())
    }
}
