//! Linux's delayed ACKs (`icsk_ack`): quick ACKs, the estimated segment size, and the delay.

use super::{AckTiming, Arrival, FIRST_GUESS, QUICK_MAX, SMALLEST_FULL, WAIT_MIN};
use crate::DelayedAck;
use crate::timers::KnownDeadline;
use retx_units::{Duration, Time};

/// Longest delay for one-way data (HZ/2 in `tcp_send_delayed_ack`).
const WAIT_MAX: Duration = Duration::from_millis(500);
/// Length of a TCP header without options, bytes.
const BARE_HEADER: u32 = 20;

/// State of Linux's delayed ACKs (`icsk_ack`): it follows the intervals and sizes of the arrivals.
#[derive(Debug, Clone)]
pub(super) struct LinuxAckState {
    /// Sequence space received and not acknowledged (`rcv_nxt − rcv_wup`); a FIN counts.
    pub bytes: u64,
    /// Number of ACKs still to be sent at once.
    pub quick_acks: u64,
    /// Delay (ato); zero before the first data.
    pub wait: Duration,
    pub last_arrival: Time,
    /// Estimated size of the peer's full segments, bytes (rcv_mss).
    pub mss: u32,
    /// Length of the last segment if it was shorter than `mss`, otherwise 0 (last_seg_size).
    pub last_short_size: u32,
    /// First: true if a short or pushed segment, which may end a message, is not acknowledged yet
    /// (ICSK_ACK_PUSHED). Second: true if there were two (ICSK_ACK_PUSHED2).
    pub pushed: [bool; 2],
    /// True if this end responds to data (pingpong): ACKs can be piggybacked.
    pub interactive: bool,
    /// True if the due ACK is sent before data that have been written since it is due.
    pub goes_first: bool,
    /// Time of the last answer to a dropped segment without data (last_oow_ack_time).
    pub answered: Option<Time>,
    /// Deadline that a fast path calculated last.
    pub known_deadline: KnownDeadline,
}

impl LinuxAckState {
    pub const fn new() -> Self {
        Self {
            bytes: 0,
            quick_acks: 0,
            wait: Duration::ZERO,
            last_arrival: Time::ZERO,
            mss: FIRST_GUESS,
            last_short_size: 0,
            pushed: [false; 2],
            interactive: false,
            goes_first: false,
            answered: None,
            known_deadline: KnownDeadline::NONE,
        }
    }

    pub fn on_data(&mut self, arrival: &Arrival) -> bool {
        self.bytes += u64::from(arrival.bytes) + u64::from(arrival.fin);
        if arrival.bytes == 0 {
            return false;
        }
        let is_larger = self.measure(arrival);
        let gap = arrival.now.since(self.last_arrival);
        if self.wait.is_zero() {
            self.enter_quickack(arrival.window, QUICK_MAX);
            self.wait = WAIT_MIN;
        } else if gap <= WAIT_MIN / 2 {
            self.wait = self.wait / 2 + WAIT_MIN / 2;
        } else if gap < self.wait {
            self.wait = (self.wait / 2 + gap).min(arrival.rto);
        } else if gap > arrival.rto {
            // After a gap longer than the RTO, the sender has apparently failed to restart its
            // window, and needs ACKs quickly.
            self.enter_quickack(arrival.window, QUICK_MAX);
        }
        self.last_arrival = arrival.now;
        is_larger
    }

    /// Estimates the size of the peer's segments (`tcp_measure_rcv_mss`). Returns true if this
    /// segment is larger than the estimate so far.
    fn measure(&mut self, arrival: &Arrival) -> bool {
        let before = std::mem::take(&mut self.last_short_size);
        let bytes = arrival.bytes;
        if bytes >= self.mss {
            let is_larger = bytes > self.mss;
            self.mss = bytes;
            self.pushed[0] |= arrival.psh;
            return is_larger;
        }
        let length = bytes + arrival.header;
        let goes_on = !arrival.psh && !arrival.fin;
        if length >= FIRST_GUESS + BARE_HEADER || length >= SMALLEST_FULL + BARE_HEADER && goes_on {
            self.last_short_size = bytes;
            if bytes == before {
                self.mss = bytes;
                return false;
            }
        }
        self.pushed = [true, self.pushed[0]];
        false
    }

    pub fn enter_quickack(&mut self, window: u64, most: u64) {
        let half = (window / (2 * u64::from(self.mss))).min(most);
        self.quick_acks = self.quick_acks.max(if half == 0 { 2 } else { half });
    }

    /// Like [`Self::on_data`] for a segment of the estimated size within 20 ms of the previous one.
    /// Returns false, without any effect, in other cases.
    #[inline(always)]
    pub fn take_usual(&mut self, now: Time, bytes: u32, push: bool) -> bool {
        let is_soon = now.since(self.last_arrival) <= WAIT_MIN / 2;
        if bytes != self.mss || self.wait.is_zero() || !is_soon {
            return false;
        }
        self.bytes += u64::from(bytes);
        self.last_short_size = 0;
        self.pushed[0] |= push;
        self.wait = self.wait / 2 + WAIT_MIN / 2;
        self.last_arrival = now;
        true
    }

    #[inline(always)]
    pub fn timing(
        &self,
        config: &DelayedAck,
        srtt: impl FnOnce() -> Option<Duration>,
        offers_as_much: impl FnOnce() -> bool,
    ) -> AckTiming {
        let most = u64::from(config.segments - 1) * u64::from(self.mss);
        let full = self.bytes > most && (config.segments == 1 || offers_as_much());
        if full || (self.quick_acks > 0 && !self.interactive) {
            return AckTiming::Now;
        }
        let messages = self.interactive || self.pushed[0];
        let longest = if messages { config.timeout } else { WAIT_MAX };
        let bound = if self.wait > WAIT_MIN {
            srtt().map_or(longest, |srtt| longest.min(srtt.max(WAIT_MIN)))
        } else {
            WAIT_MIN
        };
        AckTiming::Within(self.wait.min(bound).min(config.timeout))
    }

    #[inline]
    pub fn on_ack_sent(&mut self, now: Time, waited: bool, with_data: bool) {
        self.goes_first = false;
        if waited && self.quick_acks > 0 {
            self.quick_acks -= 1;
            if self.quick_acks == 0 {
                self.wait = WAIT_MIN;
            }
        }
        // `tcp_event_data_sent`: data sent soon after received data are a response.
        let soon = !self.wait.is_zero() && now.since(self.last_arrival) < self.wait;
        self.interactive |= with_data && soon;
        self.pushed = [false; 2];
        self.bytes = 0;
    }
}
