//! Limits that keep a connection from sending more now.
//!
//! *Rule.* If several limits apply at once, the first in the order of [`Limit`] is reported. A
//! window is the limit if it is too small for the next segment: a full segment, or all remaining
//! data if they are less. (`docs/decisions/0018-what-limits-a-flow.md`)
//!
//! *What the caller adds.* A connection does not know whether its application has more to write,
//! whether and why its window was reduced, or whether its peer delays an acknowledgment.

use super::fast_path::Sending;
use super::{Connection, State};
use crate::loss_detection::LossDetection;
use crate::spurious::Detector;
use retx_units::Time;

/// Limit in force after [`Connection::poll_transmit`] has returned nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Limit {
    /// Connection not established yet.
    Handshake,
    /// All data written have been sent, and no loss is being repaired.
    Data,
    /// The peer's window is full or closed, and no retransmission waits for room in the congestion
    /// window.
    ReceiveWindow,
    /// The congestion window is full, or the sender recovers from a timeout.
    CongestionWindow,
    /// The congestion window of a fast recovery is full.
    Recovery,
    /// Pacing delay of the next segment.
    Pacing,
    /// Less than a full segment is left, and is held back until more data or an acknowledgment
    /// arrive (Nagle, cork).
    Nagle,
    /// A segment is held back until the windows have room for several (Linux
    /// `tcp_tso_should_defer`).
    Deferral,
}

impl Connection {
    /// True if only new data are sent, and the pipe is FlightSize because nothing is lost or
    /// selectively acknowledged. False also if the test would take long.
    #[inline(always)]
    pub fn sends_new_data(&self) -> bool {
        self.fast_paths.sending.sends_new_data()
    }

    /// True if a full segment of new data waits.
    #[inline(always)]
    pub fn has_full_segment(&self) -> bool {
        self.sender.written - self.sender.snd_nxt >= u64::from(self.sender.window.smss)
    }

    /// True if the peer's window has room for a full segment, with `flight` bytes in flight.
    #[inline(always)]
    pub fn fits_peer_window(&self, flight: u64) -> bool {
        self.sender.snd_wnd >= flight + u64::from(self.sender.window.smss)
    }

    /// True if the congestion window has room for a full segment, with `pipe` bytes in the network.
    #[inline(always)]
    pub fn fits_cwnd(&self, pipe: u64) -> bool {
        self.sender.window.cwnd >= pipe + u64::from(self.sender.window.smss)
    }

    /// True during a recovery whose segments wait for the congestion window only.
    pub fn is_in_unpaced_recovery(&self) -> bool {
        self.sender.loss_detection.in_recovery() && self.sender.pacer.is_none()
    }

    /// True outside a recovery if the congestion window has no room for the next segment.
    pub fn waits_for_cwnd(&self) -> bool {
        !self.sender.loss_detection.in_recovery()
            && self.sender.available_cwnd() < self.max_payload()
    }

    /// Limit now in force; valid after [`Self::poll_transmit`] has returned nothing.
    #[inline]
    pub fn limit(&self, now: Time) -> Limit {
        match self.fast_paths.sending {
            Sending::Plain => self.usual_limit(),
            Sending::Detailed => self.limit_in_detail(now),
            Sending::Repair | Sending::General | Sending::DetailedRepair => self.limit_in_full(now),
        }
    }

    /// Limit in the usual case, without recovery, pacing, deferral or losses: only the windows
    /// matter.
    #[inline(always)]
    fn usual_limit(&self) -> Limit {
        let sender = &self.sender;
        let queued = sender.written - sender.snd_nxt;
        if queued == 0 {
            return Limit::Data;
        }
        // Nothing is lost or selectively acknowledged on this path: FlightSize is the pipe.
        let needed = queued.min(sender.window.smss.into()) + sender.flight_size();
        if sender.snd_wnd < needed {
            Limit::ReceiveWindow
        } else if sender.window.cwnd < needed {
            Limit::CongestionWindow
        } else {
            Limit::Nagle
        }
    }

    /// Like [`Self::limit_in_full`], while the path of `Self::send_detailed` is open.
    fn limit_in_detail(&self, now: Time) -> Limit {
        let sender = &self.sender;
        let queued = sender.written - sender.snd_nxt;
        let smss = u64::from(sender.window.smss);
        let flight = sender.flight_size();
        let needed = queued.min(smss);
        if queued == 0 {
            Limit::Data
        } else if sender.snd_wnd < flight + needed {
            Limit::ReceiveWindow
        } else if sender.window.cwnd < flight + needed {
            Limit::CongestionWindow
        } else if sender.pacer.as_ref().and_then(|pacer| pacer.closed_until(now)).is_some() {
            Limit::Pacing
        } else if queued < smss {
            Limit::Nagle
        } else {
            Limit::Deferral
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
        let queued = sender.write_seq().saturating_sub(sender.snd_nxt);
        if queued == 0 {
            let is_repairing = recovers || sender.timeout_recovery_end > 0;
            return if is_repairing { repairs } else { Limit::Data };
        }
        // Retransmissions precede new data, and lie within the window that the peer has offered.
        if self.waits_to_repair() {
            return repairs;
        }
        let most = self.max_payload();
        let needed = queued.min(most);
        let offered = (sender.snd_una + sender.snd_wnd).saturating_sub(sender.snd_nxt);
        if offered < needed {
            return Limit::ReceiveWindow;
        }
        let held = sender.withholds_new_data() || self.ecn.waits_for_rto();
        if held || sender.available_cwnd() < needed {
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

    /// True if a retransmission, which is within the peer's window already, waits for room in the
    /// congestion window.
    fn waits_to_repair(&self) -> bool {
        let sender = &self.sender;
        sender.uses_scoreboard
            && sender.board.lost_bytes() > 0
            && !sender.spurious.is_waiting()
            && !sender.repair.defers_marking
            && sender.available_cwnd() < u64::from(sender.window.smss)
    }

    /// Bytes estimated to be in the network: in flight, and neither selectively acknowledged nor
    /// lost.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.sender.pipe()
    }

    /// True while both directions are open.
    pub const fn is_established(&self) -> bool {
        matches!(self.state, State::Established)
    }

    /// True while the smoothed RTT is at least 1.5 times the minimum RTT, which means that segments
    /// are queued on the path.
    pub fn waits_in_queues(&self) -> bool {
        let least = self.sender.least_rtt;
        self.srtt().is_some_and(|srtt| srtt.as_nanos() / 3 >= least.as_nanos() / 2)
    }

    /// Position acknowledged to the peer last (`Last.ACK.sent`).
    pub fn last_ack_sent(&self) -> u64 {
        self.receiver.last_ack_sent
    }

    /// True while an acknowledgment waits for more data or for its timer (RFC 9293 §3.8.6.3).
    pub fn delays_ack(&self) -> bool {
        self.timers.delayed_ack != Time::NEVER
    }
}
