//! What a sender keeps about losses, and about what it has sent again.

use super::Sender;
use super::patience::Silence;
use super::reduction::Reduction;
use super::requests::Requests;
use crate::congestion_control::Window;
use crate::late::{Late, Nothing};
use retx_units::{Duration, Time};

/// The window before a reduction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Undo {
    pub window: Window,
    /// Data in flight.
    pub flight_size: u64,
    /// SRTT and RTTVAR, where a timeout has reduced it.
    pub rtt: Option<(Duration, Duration)>,
    /// A mark has been echoed since, or the window was being reduced for one: it does not come back
    /// (Linux: `prior_ssthresh` is 0).
    pub keeps_reduction: bool,
}

/// After a spurious timeout: the first RTT sample of data sent since is not smoothed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Relearning {
    /// What was sent before ends here.
    pub from: u64,
    /// SRTT and RTTVAR before the timeout.
    pub least: (Duration, Duration),
}

/// Made with the first loss.
#[derive(Debug, Clone)]
pub(crate) struct Repair {
    /// Without SACK: the end of the first segment that the last acknowledgment covered, where none
    /// of them had been sent again.
    pub original_end: Option<u64>,
    /// RFC 6675 §4: the highest position sent again in this recovery (`HighRxt`), and the one
    /// beyond which an acknowledgment lets the rescue retransmission go (`RescueRxt`).
    pub high_rxt: u64,
    pub rescue_rxt: u64,
    /// Proportional rate reduction, while it is on.
    pub reduction: Option<Reduction>,
    /// The window before the last reduction, until it is known whether that was right.
    pub undo: Option<Undo>,
    /// Before the next acknowledgment nothing is marked lost or sent again (Linux
    /// `tcp_try_undo_partial`).
    pub waits: bool,
    /// When the first SYN or SYN/ACK was sent, if it was sent again.
    pub first_syn: Option<Time>,
    /// The timer has sent it again, and no echo has shown that this was needless.
    pub syn_timed_out: bool,
    /// True while a tail loss probe is sent.
    pub probing: bool,
    /// After one that was not (RFC 4015 §3.2, step 9).
    pub relearning: Option<Relearning>,
    /// `cwnd` to return to when fast recovery ends.
    pub cwnd_after_recovery: u64,
    /// Segments sent again, and segments that the peer said had arrived twice.
    pub retransmissions: u64,
    pub arrived_twice: u64,
    /// How long the peer has not answered.
    pub silence: Silence,
    /// The position of which a relay said last that it was lost on a bad channel.
    pub noticed: u64,
    /// What the application asks for. It has nothing to do with losses: it is here because it is
    /// rarer than they are, and a connection has no room for another pointer.
    pub requests: Late<Requests>,
}

impl Repair {
    const NONE: Self = Self {
        original_end: None,
        high_rxt: 0,
        rescue_rxt: u64::MAX,
        reduction: None,
        undo: None,
        waits: false,
        first_syn: None,
        syn_timed_out: false,
        probing: false,
        relearning: None,
        cwnd_after_recovery: 0,
        retransmissions: 0,
        arrived_twice: 0,
        silence: Silence::NONE,
        noticed: u64::MAX,
        requests: Late::NONE,
    };
}

impl Default for Repair {
    fn default() -> Self {
        Self::NONE
    }
}

impl Nothing for Repair {
    const NOTHING: &'static Self = &Self::NONE;
}

/// No window is that large: `ssthresh` before the first loss (TCP_INFINITE_SSTHRESH).
const UNBOUNDED: u64 = u64::MAX / 2;

impl Sender {
    /// A reduction ends, and `cwnd` becomes what it was to be reduced to. BBR has no threshold, and
    /// an undo may have brought back one without bound: then `cwnd` stays (Linux
    /// `tcp_end_cwnd_reduction`).
    pub fn return_to_threshold(&mut self) {
        let cwnd = self.repair.cwnd_after_recovery;
        if cwnd < UNBOUNDED {
            self.window.cwnd = cwnd;
        }
    }

    /// Proportional rate reduction, while it is on.
    #[inline]
    pub fn reduction(&mut self) -> Option<&mut Reduction> {
        self.repair.made()?.reduction.as_mut()
    }

    /// It is over, if it was on.
    #[inline]
    pub fn end_reduction(&mut self) {
        if let Some(repair) = self.repair.made() {
            repair.reduction = None;
        }
    }

    /// The window before the last reduction is of no interest any more.
    pub fn take_undo(&mut self) -> Option<Undo> {
        self.repair.made()?.undo.take()
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
        sender.return_to_threshold();
        assert_eq!(sender.window.cwnd, before);
        sender.repair.cwnd_after_recovery = 2_896;
        sender.return_to_threshold();
        assert_eq!(sender.window.cwnd, 2_896);
    }
}
