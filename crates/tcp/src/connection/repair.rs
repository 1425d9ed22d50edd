//! Repair state of a sender: losses and retransmissions.

use super::Sender;
use super::abort::UnresponsivePeer;
use super::reduction::Reduction;
use super::requests::Requests;
use crate::congestion_control::Window;
use crate::lazy::{Lazy, LazyDefault};
use retx_units::{Duration, Time};

/// Window before a reduction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Undo {
    pub window: Window,
    /// FlightSize before the reduction, bytes.
    pub flight_size: u64,
    /// SRTT and RTTVAR, if a timeout caused the reduction.
    pub rtt: Option<(Duration, Duration)>,
    /// True if the window is not to be restored, because ECN-Echo has arrived since, or was
    /// reducing the window already (Linux: `prior_ssthresh` is 0).
    pub keeps_reduction: bool,
}

/// State after the undo of a spurious timeout: the first RTT sample of data sent after the undo is
/// not smoothed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RttRestart {
    /// Position after the last data sent before the undo.
    pub from: u64,
    /// SRTT and RTTVAR before the timeout.
    pub least: (Duration, Duration),
}

/// Repair state, allocated at the first loss.
#[derive(Debug, Clone)]
pub(crate) struct Repair {
    /// End of the first segment covered by the last acknowledgment, on connections without SACK;
    /// `None` if any segment that this acknowledgment covered had been retransmitted.
    pub original_end: Option<u64>,
    /// Highest position retransmitted in this recovery (`HighRxt` of RFC 6675 §4).
    pub high_rxt: u64,
    /// Position whose acknowledgment allows the rescue retransmission (`RescueRxt` of RFC 6675 §4).
    pub rescue_rxt: u64,
    /// Proportional rate reduction, while active.
    pub reduction: Option<Reduction>,
    /// Window before the last reduction; kept until the reduction is known to have been justified.
    pub undo: Option<Undo>,
    /// True if nothing is marked lost or retransmitted before the next acknowledgment (Linux
    /// `tcp_try_undo_partial`).
    pub defers_marking: bool,
    /// Time of the first SYN or SYN/ACK, if it was retransmitted.
    pub first_syn: Option<Time>,
    /// True if the timer has retransmitted the SYN or SYN/ACK, and no timestamp echo has shown that
    /// this was unnecessary.
    pub syn_timed_out: bool,
    /// True while a tail loss probe is being sent.
    pub probing: bool,
    /// State after a spurious timeout (RFC 4015 §3.2, step 9).
    pub rtt_restart: Option<RttRestart>,
    /// Window to return to when fast recovery ends.
    pub cwnd_after_recovery: u64,
    /// Number of segments retransmitted.
    pub retransmissions: u64,
    /// Number of segments that the peer reported as arrived twice.
    pub dsacked_segments: u64,
    /// State of a peer that does not respond.
    pub unresponsive_peer: UnresponsivePeer,
    /// Position that a relay most recently reported as lost on a bad channel (ELN).
    pub notified: u64,
    /// Requests of the application. They have nothing to do with losses; they are stored here
    /// because they are rare, and a pointer of their own would make every connection larger.
    pub requests: Lazy<Requests>,
}

impl Repair {
    const NONE: Self = Self {
        original_end: None,
        high_rxt: 0,
        rescue_rxt: u64::MAX,
        reduction: None,
        undo: None,
        defers_marking: false,
        first_syn: None,
        syn_timed_out: false,
        probing: false,
        rtt_restart: None,
        cwnd_after_recovery: 0,
        retransmissions: 0,
        dsacked_segments: 0,
        unresponsive_peer: UnresponsivePeer::NONE,
        notified: u64::MAX,
        requests: Lazy::NONE,
    };
}

impl Default for Repair {
    fn default() -> Self {
        Self::NONE
    }
}

impl LazyDefault for Repair {
    const DEFAULT: &'static Self = &Self::NONE;
}

/// `ssthresh` before the first loss (TCP_INFINITE_SSTHRESH): exceeds any window.
const UNBOUNDED: u64 = u64::MAX / 2;

impl Sender {
    /// Ends a reduction: `cwnd` becomes the target of the reduction. `cwnd` is kept if the target
    /// is infinite, as in BBR, or after an undo that restored the initial threshold (Linux
    /// `tcp_end_cwnd_reduction`).
    pub fn end_cwnd_reduction(&mut self) {
        let cwnd = self.repair.cwnd_after_recovery;
        if cwnd < UNBOUNDED {
            self.window.cwnd = cwnd;
        }
    }

    /// Proportional rate reduction, while active.
    #[inline]
    pub fn reduction(&mut self) -> Option<&mut Reduction> {
        self.repair.allocated_mut()?.reduction.as_mut()
    }

    /// Ends proportional rate reduction.
    #[inline]
    pub fn end_reduction(&mut self) {
        if let Some(repair) = self.repair.allocated_mut() {
            repair.reduction = None;
        }
    }

    /// Removes and returns the window before the last reduction.
    pub fn take_undo(&mut self) -> Option<Undo> {
        self.repair.allocated_mut()?.undo.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::SeqNr;

    #[test]
    fn a_threshold_without_bound_leaves_the_window() {
        let config = (crate::presets::find("linux_bbr").unwrap().config)();
        let mut sender = Sender::new(&config, SeqNr(0));
        let before = sender.window.cwnd;
        sender.repair.cwnd_after_recovery = u64::MAX - 767;
        sender.end_cwnd_reduction();
        assert_eq!(sender.window.cwnd, before);
        sender.repair.cwnd_after_recovery = 2_896;
        sender.end_cwnd_reduction();
        assert_eq!(sender.window.cwnd, 2_896);
    }
}
