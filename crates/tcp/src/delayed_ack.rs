//! *What it does.* Determines whether in-order data are acknowledged at once or later.
//!
//! *Reference.* RFC 5681 §4.2; `linux`: Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_event_data_recv`,
//! `tcp_incr_quickack`, `tcp_enter_quickack_mode`, `tcp_measure_rcv_mss`, `__tcp_ack_snd_check`),
//! `tcp_output.c` (`tcp_send_delayed_ack`, `tcp_event_data_sent`), `tcp_timer.c`
//! (`tcp_delack_timer_handler`), `tcp.c` (`__tcp_cleanup_rbuf`), `include/net/tcp.h`
//! (`tcp_dec_quickack_mode`).
//!
//! *Equations (`linux`).*
//!
//! - *Quick ACKs.* At the start, after a pause longer than the RTO, and after repeated data, the
//!   next min(rcv_wnd/(2·MSS), 16) ACKs are sent at once. Growth of the receive window adds one
//!   quick ACK if the remaining number of quick ACKs is even. The number becomes 0 while less than
//!   half of the receive buffer is free. It is ignored while this end sends responses to the
//!   received data (pingpong mode).
//! - *MSS.* The largest segment so far, or the length of two consecutive shorter segments of equal
//!   length; at most 536 bytes at first.
//! - *Wait* (ato). 40 ms at first. An arrival changes it to ato/2 + 20 ms after a gap of at most 20
//!   ms, and to ato/2 + gap after a longer gap below ato. It doubles when the timer fires, but not
//!   beyond the RTO. The ACK is delayed by the wait, but at most by `timeout` and by the larger of
//!   the smoothed RTT and 40 ms.
//!
//! *Where we differ.* Gaps between arrivals are measured exactly, not in jiffies.

mod linux;

use crate::timers::KnownDeadline;
use crate::{AckPolicy, DelayedAck};
use linux::LinuxAckState;
use retx_units::{Duration, Time};

/// Largest number of consecutive immediate ACKs (TCP_MAX_QUICKACKS).
const QUICK_MAX: u64 = 16;
/// Shortest delay (TCP_ATO_MIN, TCP_DELACK_MIN).
const WAIT_MIN: Duration = Duration::from_millis(40);
/// Least time between two answers to segments without data that are dropped
/// (sysctl_tcp_invalid_ratelimit).
const ANSWER_GAP: Duration = Duration::from_millis(500);
/// Assumed segment size before the first segment (TCP_MSS_DEFAULT), bytes.
const FIRST_GUESS: u32 = 536;
/// Smallest segment that may count as full (TCP_MIN_MSS), bytes.
const SMALLEST_FULL: u32 = 88;

/// Segment with in-order data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub now: Time,
    pub bytes: u32,
    /// Length of the segment's TCP header with options, bytes.
    pub header: u32,
    pub psh: bool,
    pub fin: bool,
    /// Receive window that the peer knows, bytes.
    pub window: u64,
    /// RTO of this end as a sender; used only [after a gap](PendingAck::is_after_gap).
    pub rto: Duration,
    /// Smoothed RTT of this end as a sender.
    pub srtt: Option<Duration>,
}

/// Decision about the acknowledgment of received data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AckTiming {
    Now,
    /// Within this time, or by the deadline already set if that is sooner.
    Within(Duration),
}

/// Data received and not acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct PendingAck {
    segments: u32,
    /// True if data beyond a gap have arrived since the last ACK.
    beyond_gap: bool,
    /// State of Linux's policy; `None` under the fixed policy.
    linux: Option<Box<LinuxAckState>>,
}

impl PendingAck {
    pub fn new(config: &DelayedAck) -> Self {
        let is_linux = config.policy == AckPolicy::Linux;
        let linux = is_linux.then(|| Box::new(LinuxAckState::new()));
        Self { segments: 0, beyond_gap: false, linux }
    }

    /// True under Linux's policy.
    #[inline]
    pub const fn is_linux(&self) -> bool {
        self.linux.is_some()
    }

    /// Counts a segment of in-order data, whatever its size. Not for Linux's policy, which uses
    /// [`Self::on_data`].
    #[inline]
    pub fn count_simple(&mut self, config: &DelayedAck) -> AckTiming {
        self.segments += 1;
        if self.segments >= config.segments {
            AckTiming::Now
        } else {
            AckTiming::Within(config.timeout)
        }
    }

    /// Handles the end of the handshake, after which the peer may send segments of `mss` bytes
    /// (`tcp_initialize_rcv_mss`).
    pub fn on_open(&mut self, mss: u32, window: u64) {
        if let Some(linux) = &mut self.linux {
            let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
            linux.mss = mss.min(half).clamp(SMALLEST_FULL, FIRST_GUESS);
        }
    }

    /// True if the gap before an arrival is longer than 20 ms, so [`Arrival::rto`] must be known.
    #[inline]
    pub fn is_after_gap(&self, now: Time) -> bool {
        self.linux.as_ref().is_some_and(|linux| now.since(linux.last_arrival) > WAIT_MIN / 2)
    }

    /// Handles in-order data under Linux's policy. Returns true if the segment is larger than the
    /// estimated segment size so far ([`Self::mss`]).
    pub fn on_data(&mut self, arrival: &Arrival) -> bool {
        self.segments += 1;
        self.linux.as_mut().is_some_and(|linux| linux.on_data(arrival))
    }

    /// Like [`Self::on_data`] in the usual case under Linux's policy: the segment has the estimated
    /// size, and follows the previous one within 20 ms. Returns false, without any effect, in other
    /// cases.
    #[inline(always)]
    pub fn take_usual(&mut self, now: Time, bytes: u32, push: bool) -> bool {
        let Some(linux) = self.linux.as_deref_mut() else { return false };
        let taken = linux.take_usual(now, bytes, push);
        self.segments += u32::from(taken);
        taken
    }

    /// Deadline that a fast path calculated last, under Linux's policy.
    #[inline(always)]
    pub fn known_deadline(&mut self) -> Option<&mut KnownDeadline> {
        self.linux.as_deref_mut().map(|linux| &mut linux.known_deadline)
    }

    /// True if the acknowledgment of a FIN may wait for this end's own FIN (Linux `tcp_fin`:
    /// `inet_csk_enter_pingpong_mode`).
    pub fn may_delay_ack_of_fin(&self) -> bool {
        self.is_linux()
    }

    /// Handles the peer's FIN: this end is likely to respond soon.
    pub fn on_fin(&mut self) {
        if let Some(linux) = &mut self.linux {
            // As in `tcp_fin`, this end becomes interactive (`inet_csk_enter_pingpong_mode`).
            linux.interactive = true;
        }
    }

    /// Decides when the received data are acknowledged; always [`AckTiming::Now`] under the fixed
    /// policy. `offers_as_much` returns true if the ACK would advertise at least the window in
    /// force. If not, the ACK of a full segment is delayed until the application reads the data.
    pub fn verdict(
        &self,
        arrival: &Arrival,
        config: &DelayedAck,
        offers_as_much: impl FnOnce() -> bool,
    ) -> AckTiming {
        self.timing(config, || arrival.srtt, offers_as_much)
    }

    /// Like [`Self::verdict`]; the smoothed RTT is computed only if it matters.
    #[inline(always)]
    pub fn timing(
        &self,
        config: &DelayedAck,
        srtt: impl FnOnce() -> Option<Duration>,
        offers_as_much: impl FnOnce() -> bool,
    ) -> AckTiming {
        let Some(linux) = &self.linux else { return AckTiming::Now };
        linux.timing(config, srtt, offers_as_much)
    }

    /// Handles data beyond a gap.
    pub fn on_gap(&mut self) {
        self.beyond_gap = true;
    }

    /// True if ACKs of segments beyond a gap may be held back, to be merged into one.
    pub fn may_compress_acks(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.quick_acks == 0 || linux.interactive)
    }

    /// Estimated size of the peer's full segments, bytes; an initial guess before the first
    /// segment.
    pub fn mss(&self) -> u32 {
        self.linux.as_ref().map_or(FIRST_GUESS, |linux| linux.mss)
    }

    /// Ends quick ACKs, because less than half of the receive buffer is free
    /// (`__tcp_select_window`).
    pub fn on_short_window(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.quick_acks = 0;
        }
    }

    /// Handles growth of the receive window: the next ACK is sent at once.
    pub fn on_window_growth(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.quick_acks |= 1;
        }
    }

    /// Handles the first CE mark, or a packet that is not ECN-capable although earlier ones were:
    /// the next two ACKs are sent at once.
    pub fn on_mark(&mut self, window: u64) {
        if let Some(linux) = &mut self.linux {
            linux.enter_quickack(window, 2);
            linux.interactive = false;
            linux.wait = WAIT_MIN;
        }
    }

    /// Handles data that arrive again, or outside the receive window.
    pub fn on_repeated_data(&mut self, window: u64) {
        if let Some(linux) = &mut self.linux {
            linux.enter_quickack(window, QUICK_MAX);
            linux.interactive = false;
            linux.wait = WAIT_MIN;
        }
    }

    /// Makes the due ACK precede data that are written from now on.
    pub fn send_first(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.goes_first = true;
        }
    }

    /// True if the due ACK precedes data.
    pub fn goes_first(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.goes_first)
    }

    /// True if a segment that is dropped and has no data may be answered. Linux answers none within
    /// half a second of the last such answer (`tcp_oow_rate_limited`).
    pub fn may_answer(&mut self, now: Time) -> bool {
        self.linux.as_mut().is_none_or(|linux| {
            let may = linux.answered.is_none_or(|at| now.since(at) >= ANSWER_GAP);
            if may {
                linux.answered = Some(now);
            }
            may
        })
    }

    /// True if an ACK is due after the application has read: more than a full segment is
    /// unacknowledged, or a whole message has been read. `all` is true if nothing is left to read.
    pub fn ack_due_after_read(&self, all: bool) -> bool {
        let is_due = |it: &LinuxAckState| {
            let message = it.pushed[1] || it.pushed[0] && !it.interactive;
            it.bytes > it.mss.into() || all && message
        };
        self.segments > 0 && self.linux.as_deref().is_some_and(is_due)
    }

    /// Handles the expiry of the delayed-ACK timer.
    pub fn on_timer(&mut self, rto: Duration) {
        let Some(linux) = &mut self.linux else { return };
        if linux.interactive {
            linux.interactive = false;
            linux.wait = WAIT_MIN;
        } else {
            linux.wait = (linux.wait * 2).min(rto);
        }
    }

    /// True if no received data are unacknowledged, and sending an acknowledgment would not change
    /// this state.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.segments == 0 && !self.beyond_gap && !self.is_linux()
    }

    /// True if nothing has arrived yet, so sending an acknowledgment would not change this state.
    /// This is the usual case at the end that sends the data.
    #[inline]
    pub fn is_initial(&self) -> bool {
        let is_new =
            |it: &LinuxAckState| it.wait.is_zero() && it.bytes == 0 && it.pushed == [false; 2];
        self.segments == 0 && !self.beyond_gap && self.linux.as_deref().is_none_or(is_new)
    }

    /// Handles an acknowledgment that is sent, alone or with data.
    #[inline]
    pub fn on_ack_sent(&mut self, now: Time, with_data: bool) {
        let beyond_gap = std::mem::take(&mut self.beyond_gap);
        let waited = std::mem::take(&mut self.segments) > 0 || beyond_gap;
        if let Some(linux) = &mut self.linux {
            linux.on_ack_sent(now, waited, with_data);
        }
    }
}

#[cfg(test)]
mod tests;
