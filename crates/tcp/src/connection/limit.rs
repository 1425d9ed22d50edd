//! The limit that keeps a connection from sending more now.
//!
//! *Rule.* Where several hold at once, the first in the order of [`Limit`] counts. A window holds
//! when it has no room for the next segment: a full one, or all that is left.
//! (`docs/decisions/0018-what-limits-a-flow.md`)
//!
//! *Where it ends.* A connection does not know whether its application has more to write, whether
//! its window was ever reduced and why, or what its peer holds back: who drives it adds that.

use super::{Connection, State};
use crate::loss_detection::LossDetection;
use retx_units::Time;

/// The limit that holds after [`Connection::poll_transmit`] has nothing more to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Limit {
    /// The connection is not established.
    Handshake,
    /// All that was written has been sent, and no loss is being repaired.
    Data,
    /// The peer's window has no room, or it is closed.
    ReceiveWindow,
    /// The congestion window has no room, or repairs what a timeout has found.
    CongestionWindow,
    /// Fast recovery is under way, and leaves no room.
    Recovery,
    /// The next segment waits for its turn by pacing.
    Pacing,
    /// Less than a segment is left, and waits for more or for an acknowledgment (Nagle, cork).
    Nagle,
    /// A segment waits for room for several (Linux `tcp_tso_should_defer`).
    Deferral,
}

impl Connection {
    /// The limit that holds now, once there is nothing more to send.
    #[inline]
    pub fn limit(&self, now: Time) -> Limit {
        if self.course.sends { self.limit_at_a_glance() } else { self.limit_in_full(now) }
    }

    /// Where nothing unusual is under way, neither pacing nor deferral is in use and nothing is
    /// lost: the windows alone decide.
    #[inline(always)]
    fn limit_at_a_glance(&self) -> Limit {
        let sender = &self.sender;
        let queued = sender.written - sender.snd_nxt;
        if queued == 0 {
            return Limit::Data;
        }
        let needed = queued.min(sender.window.smss.into()) + sender.flight_size();
        if sender.snd_wnd < needed {
            Limit::ReceiveWindow
        } else if sender.window.cwnd < needed {
            Limit::CongestionWindow
        } else {
            Limit::Nagle
        }
    }

    #[inline(never)]
    fn limit_in_full(&self, now: Time) -> Limit {
        use State::{Closed, Listen, SynReceived, SynSent};
        match self.state {
            Listen | SynSent | SynReceived => return Limit::Handshake,
            Closed => return Limit::Data,
            _ => {}
        }
        let sender = &self.sender;
        let recovers = sender.loss_detection.in_recovery();
        let repairs = if recovers { Limit::Recovery } else { Limit::CongestionWindow };
        let queued = sender.end().saturating_sub(sender.snd_nxt);
        if queued == 0 {
            let is_repairing = recovers || sender.timeout_recovery_end > 0;
            return if is_repairing { repairs } else { Limit::Data };
        }
        let most = self.most_payload();
        let needed = queued.min(most);
        let offered = (sender.snd_una + sender.snd_wnd).saturating_sub(sender.snd_nxt);
        if offered < needed {
            return Limit::ReceiveWindow;
        }
        let held = sender.holds_new_data() || self.ecn.is_held();
        if held || sender.cwnd_room() < needed {
            return repairs;
        }
        let gate = sender.pacer.as_ref().and_then(|pacer| pacer.closed_until(now));
        if gate.is_some() {
            Limit::Pacing
        } else if recovers {
            Limit::Recovery
        } else if queued < most {
            Limit::Nagle
        } else {
            Limit::Deferral
        }
    }

    /// Bytes that are believed to be in the network: in flight, and neither selectively
    /// acknowledged nor lost.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.sender.pipe()
    }

    /// True while the smoothed RTT is half as much again as the least, or more: segments wait
    /// somewhere.
    pub fn waits_in_queues(&self) -> bool {
        let least = self.sender.least_rtt;
        self.srtt().is_some_and(|srtt| srtt.as_nanos() / 3 >= least.as_nanos() / 2)
    }

    /// True while an acknowledgment waits for more data or for its timer (RFC 9293 §3.8.6.3).
    pub fn delays_ack(&self) -> bool {
        self.timers.delayed_ack != Time::NEVER
    }
}
