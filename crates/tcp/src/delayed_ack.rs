//! *What it does.* Determines whether in-order data are acknowledged at once or later.
//!
//! *Reference.* RFC 5681 §4.2; `linux`: Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_event_data_recv`,
//! `tcp_incr_quickack`, `tcp_enter_quickack_mode`, `tcp_measure_rcv_mss`, `__tcp_ack_snd_check`),
//! `tcp_output.c` (`tcp_send_delayed_ack`, `tcp_event_data_sent`), `tcp_timer.c`
//! (`tcp_delack_timer_handler`), `tcp.c` (`__tcp_cleanup_rbuf`), `include/net/tcp.h`
//! (`tcp_dec_quickack_mode`).
//!
//! *Equations (`linux`).* Quick: min(rcv_wnd/(2·MSS), 16) ACKs at once, at the start, after a pause
//! of an RTO and after repeated data; a segment that makes the window grow turns an even number
//! left into the next odd one; none are left while less than half of the window is free, and none
//! count while this end answers. MSS: the largest segment so far, or the length of two in a row
//! that are shorter, at first at most 536. Wait (ato): 40 ms at first; then ato/2 + 20 ms after a
//! gap of at most 20 ms between two arrivals, ato/2 + gap after a longer one below ato; doubled
//! when the timer fires; at most the smoothed RTT (or 40 ms), `timeout` and the RTO.
//!
//! *Where we differ.* Gaps are exact, not in ticks.

use crate::{AckPolicy, DelayedAck};
use retx_units::{Duration, Time};

/// Largest number of consecutive immediate ACKs (TCP_MAX_QUICKACKS).
const QUICK_MAX: u64 = 16;
/// Shortest delay (TCP_ATO_MIN, TCP_DELACK_MIN).
const WAIT_MIN: Duration = Duration::from_millis(40);
/// Longest delay for one-way data (HZ/2 in `tcp_send_delayed_ack`).
const WAIT_MAX: Duration = Duration::from_millis(500);
/// Assumed segment size before the first segment (TCP_MSS_DEFAULT), bytes.
const FIRST_GUESS: u32 = 536;
/// Smallest segment that may count as full (TCP_MIN_MSS), bytes.
const SMALLEST_FULL: u32 = 88;
/// Length of a TCP header without options, bytes.
const BARE_HEADER: u32 = 20;

/// Segment with in-order data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub now: Time,
    pub bytes: u32,
    /// Length of its TCP header with options, bytes.
    pub header: u32,
    pub push: bool,
    pub fin: bool,
    /// Window known to the peer.
    pub window: u64,
    /// Own timeout of this end, which matters only [after a gap](PendingAck::is_after_gap), and its
    /// smoothed RTT.
    pub rto: Duration,
    pub srtt: Option<Duration>,
}

/// Decision about the acknowledgment of received data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
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
    /// State of Linux's policy, and only of that.
    linux: Option<Box<LinuxAckState>>,
}

/// State of Linux's delayed ACKs (`icsk_ack`): it follows the intervals and sizes of the arrivals.
#[derive(Debug, Clone)]
struct LinuxAckState {
    /// Bytes received and not acknowledged.
    bytes: u64,
    /// Number of ACKs still to be sent at once.
    quick: u64,
    /// Delay (ato); zero before the first data.
    wait: Duration,
    last_arrival: Time,
    /// Largest segment of the peer so far (rcv_mss).
    mss: u32,
    /// Length of the last segment if that was shorter, otherwise 0 (last_seg_size).
    shorter: u32,
    /// True if short or pushed data wait, which may end a message; and true if this happened twice
    /// in a row.
    pushed: [bool; 2],
    /// True if this end responds to data (pingpong): ACKs can be piggybacked.
    interactive: bool,
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

    /// Counts a segment of in-order data by number only. Not for Linux's policy, which uses
    /// [`Self::on_data`].
    #[inline]
    pub fn count_simple(&mut self, config: &DelayedAck) -> Verdict {
        self.segments += 1;
        if self.segments >= config.segments {
            Verdict::Now
        } else {
            Verdict::Within(config.timeout)
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

    /// True if the gap before an arrival is so long that the RTO matters.
    #[inline]
    pub fn is_after_gap(&self, now: Time) -> bool {
        self.linux.as_ref().is_some_and(|linux| now.since(linux.last_arrival) > WAIT_MIN / 2)
    }

    /// Handles in-order data under Linux's policy. True if the segment is larger than any before it
    /// and than the initial guess.
    pub fn on_data(&mut self, arrival: &Arrival) -> bool {
        self.segments += 1;
        self.linux.as_mut().is_some_and(|linux| linux.on_data(arrival))
    }

    /// True if a FIN may wait for this end's own (Linux `tcp_fin`: `inet_csk_enter_pingpong_mode`).
    pub fn expects_answer(&self) -> bool {
        self.is_linux()
    }

    /// Handles the peer's FIN: this end is likely to respond soon.
    pub fn on_fin(&mut self) {
        if let Some(linux) = &mut self.linux {
            // Before the first data there is no delay (`icsk_ack.ato` is 0).
            linux.interactive = true;
        }
    }

    /// Decision for the waiting data; without Linux's policy they have been counted. If less than a
    /// whole window could be offered again, a full segment waits to be read.
    pub fn verdict(
        &self,
        arrival: &Arrival,
        config: &DelayedAck,
        offers_as_much: impl FnOnce() -> bool,
    ) -> Verdict {
        let Some(linux) = &self.linux else { return Verdict::Now };
        linux.verdict(arrival, config, offers_as_much)
    }

    /// Handles data beyond a gap.
    pub fn on_gap(&mut self) {
        self.beyond_gap = true;
    }

    /// True if ACKs of segments beyond a gap may wait for each other.
    pub fn compresses(&self) -> bool {
        self.linux.as_ref().is_some_and(|linux| linux.quick == 0 || linux.interactive)
    }

    /// Largest segment of the peer so far, or an initial guess.
    pub fn mss(&self) -> u32 {
        self.linux.as_ref().map_or(FIRST_GUESS, |linux| linux.mss)
    }

    /// Handles a window of which less than half is free (`__tcp_select_window`).
    pub fn on_short_window(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.quick = 0;
        }
    }

    /// Handles growth of the window: the next ACK is sent at once.
    pub fn on_window_growth(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.quick |= 1;
        }
    }

    /// Handles an unexpected mark, or data that are unexpectedly not ECN-capable: the next two ACKs
    /// are sent at once.
    pub fn on_mark(&mut self, window: u64) {
        if let Some(linux) = &mut self.linux {
            linux.enter_quickack(window, 2);
            linux.interactive = false;
            linux.wait = WAIT_MIN;
        }
    }

    /// Handles repeated data, or data outside the window.
    pub fn on_repeated_data(&mut self, window: u64) {
        if let Some(linux) = &mut self.linux {
            linux.enter_quickack(window, QUICK_MAX);
            linux.interactive = false;
            linux.wait = WAIT_MIN;
        }
    }

    /// Called after the application has read; `all` if nothing is left to read. True if the peer
    /// waits for an ACK: more than a full segment is unacknowledged, or a message has been read.
    pub fn asks_after_read(&self, all: bool) -> bool {
        let asks = |it: &LinuxAckState| {
            let message = it.pushed[1] || it.pushed[0] && !it.interactive;
            it.bytes > it.mss.into() || all && message
        };
        self.segments > 0 && self.linux.as_deref().is_some_and(asks)
    }

    /// Handles the end of the delay.
    pub fn on_timer(&mut self, rto: Duration) {
        let Some(linux) = &mut self.linux else { return };
        if linux.interactive {
            linux.interactive = false;
            linux.wait = WAIT_MIN;
        } else {
            linux.wait = (linux.wait * 2).min(rto);
        }
    }

    /// True if nothing waits to be acknowledged, and sending an acknowledgment changes nothing.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.segments == 0 && !self.beyond_gap && !self.is_linux()
    }

    /// True if nothing has arrived yet, so that sending an acknowledgment changes nothing. This is
    /// the usual case at the end that sends the data.
    #[inline]
    pub fn has_nothing(&self) -> bool {
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

impl LinuxAckState {
    const fn new() -> Self {
        Self {
            bytes: 0,
            quick: 0,
            wait: Duration::ZERO,
            last_arrival: Time::ZERO,
            mss: FIRST_GUESS,
            shorter: 0,
            pushed: [false; 2],
            interactive: false,
        }
    }

    fn on_data(&mut self, arrival: &Arrival) -> bool {
        self.bytes += u64::from(arrival.bytes);
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
            // The sender did not restart its window: it needs ACKs.
            self.enter_quickack(arrival.window, QUICK_MAX);
        }
        self.last_arrival = arrival.now;
        is_larger
    }

    /// Estimates the size of the peer's segments; true if this one ends a message
    /// (`tcp_measure_rcv_mss`).
    fn measure(&mut self, arrival: &Arrival) -> bool {
        let before = std::mem::take(&mut self.shorter);
        let bytes = arrival.bytes;
        if bytes >= self.mss {
            let is_larger = bytes > self.mss;
            self.mss = bytes;
            self.pushed[0] |= arrival.push;
            return is_larger;
        }
        let length = bytes + arrival.header;
        let goes_on = !arrival.push && !arrival.fin;
        if length >= FIRST_GUESS + BARE_HEADER || length >= SMALLEST_FULL + BARE_HEADER && goes_on {
            self.shorter = bytes;
            if bytes == before {
                self.mss = bytes;
                return false;
            }
        }
        self.pushed = [true, self.pushed[0]];
        false
    }

    fn enter_quickack(&mut self, window: u64, most: u64) {
        let half = (window / (2 * u64::from(self.mss))).min(most);
        self.quick = self.quick.max(if half == 0 { 2 } else { half });
    }

    fn verdict(
        &self,
        arrival: &Arrival,
        config: &DelayedAck,
        offers_as_much: impl FnOnce() -> bool,
    ) -> Verdict {
        let most = u64::from(config.segments - 1) * u64::from(self.mss);
        let full = self.bytes > most && (config.segments == 1 || offers_as_much());
        if full || (self.quick > 0 && !self.interactive) {
            return Verdict::Now;
        }
        let messages = self.interactive || self.pushed[0];
        let longest = if messages { config.timeout } else { WAIT_MAX };
        let rtt = arrival.srtt.map_or(longest, |srtt| srtt.max(WAIT_MIN));
        let bound = if self.wait > WAIT_MIN { longest.min(rtt) } else { WAIT_MIN };
        Verdict::Within(self.wait.min(bound).min(config.timeout))
    }

    #[inline(never)]
    fn on_ack_sent(&mut self, now: Time, waited: bool, with_data: bool) {
        if waited && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
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

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    const LINUX: DelayedAck =
        DelayedAck { segments: 2, timeout: ms(200), policy: AckPolicy::Linux };

    fn linux() -> PendingAck {
        PendingAck::new(&LINUX)
    }

    /// A full segment of 1448 bytes into a window of 64 KB, at an RTT of 100 ms.
    fn full(at: u64) -> Arrival {
        Arrival {
            now: Time::ZERO + ms(1_000 + at),
            bytes: 1_448,
            header: 32,
            push: false,
            fin: false,
            window: 64_088,
            rto: ms(300),
            srtt: Some(ms(100)),
        }
    }

    fn take(pending: &mut PendingAck, arrival: &Arrival) -> Verdict {
        pending.on_data(arrival);
        let verdict = pending.verdict(arrival, &LINUX, || true);
        if verdict == Verdict::Now {
            pending.on_ack_sent(arrival.now, false);
        }
        verdict
    }

    /// Sixteen ACKs at once, then one for every second segment; with a window of six full segments
    /// three at once, with a tiny one two.
    #[test]
    fn quick_at_first() {
        for (window, quick) in [(64_088, 16), (8_760, 3), (1_000, 2)] {
            let mut pending = linux();
            for n in 0..quick {
                let arrival = Arrival { window, ..full(n) };
                assert_eq!(take(&mut pending, &arrival), Verdict::Now, "{window}: {n}");
            }
            assert_eq!(take(&mut pending, &full(quick)), Verdict::Within(ms(40)), "{window}");
            assert_eq!(take(&mut pending, &full(quick)), Verdict::Now, "the second");
        }
    }

    fn settled() -> PendingAck {
        let mut pending = linux();
        (0..16).for_each(|n| assert_eq!(take(&mut pending, &full(n)), Verdict::Now));
        pending
    }

    /// The delay is 40/2 + 30 after a gap of 30 ms, 50/2 + 45 after one of 45 ms, and is then
    /// limited by the RTT.
    #[test]
    fn the_wait_follows_the_arrivals() {
        let mut pending = settled();
        let mut at = 15;
        for (gap, wait) in [(30, 50), (45, 70), (60, 95), (90, 100), (10, 88)] {
            at += gap;
            let verdict = take(&mut pending, &full(at));
            let Verdict::Within(found) = verdict else { panic!("at once") };
            assert_eq!(found.as_nanos() / 1_000_000, wait, "after {gap}");
            pending.on_ack_sent(full(at).now, false);
        }
        // The expired timer shows that no second segment comes so soon.
        pending.on_timer(ms(300));
        pending.on_timer(ms(300));
        assert_eq!(pending.linux.unwrap().wait, ms(300), "at most the RTO");
    }

    #[test]
    fn quick_again_after_a_pause_repeated_data_and_growth() {
        let mut pending = settled();
        assert_eq!(
            take(&mut pending, &full(15 + 301)),
            Verdict::Now,
            "a pause of more than the RTO"
        );
        let mut pending = settled();
        pending.on_repeated_data(64_088);
        assert_eq!(take(&mut pending, &full(16)), Verdict::Now);
        let mut pending = settled();
        pending.on_window_growth();
        assert_eq!(take(&mut pending, &full(16)), Verdict::Now);
        assert_eq!(take(&mut pending, &full(17)), Verdict::Within(ms(40)), "one for each");
    }

    /// Data sent soon after received data are a response, and further ACKs wait for the next one.
    #[test]
    fn who_answers_does_not_acknowledge_at_once() {
        let mut pending = linux();
        pending.on_data(&full(0));
        pending.on_ack_sent(full(1).now, true);
        assert_eq!(take(&mut pending, &full(20)), Verdict::Within(ms(40)));
        pending.on_timer(ms(300));
        assert_eq!(take(&mut pending, &full(70)), Verdict::Now, "two segments");
        assert_eq!(take(&mut pending, &full(71)), Verdict::Now, "quick, as none was answered");
    }

    #[test]
    fn what_was_pushed_is_acknowledged_when_it_is_read() {
        let mut pending = settled();
        assert_eq!(
            take(&mut pending, &Arrival { push: true, ..full(16) }),
            Verdict::Within(ms(40))
        );
        assert!(pending.asks_after_read(true));
        assert!(!pending.asks_after_read(false), "the message goes on");
        let mut pending = settled();
        take(&mut pending, &full(16));
        assert!(!pending.asks_after_read(true));
        take(&mut pending, &full(17));
        take(&mut pending, &Arrival { bytes: 100, ..full(18) });
        assert!(pending.asks_after_read(true), "a short one");
        let mut pending = settled();
        pending.on_data(&full(16));
        assert!(!pending.asks_after_read(false));
        pending.on_data(&full(17));
        assert!(pending.asks_after_read(false), "more than a full segment");
    }

    #[test]
    fn fixed_counts_segments() {
        let config = DelayedAck { segments: 3, timeout: ms(200), policy: AckPolicy::Fixed };
        let mut pending = PendingAck::new(&config);
        assert_eq!(pending.count_simple(&config), Verdict::Within(ms(200)));
        assert_eq!(pending.count_simple(&config), Verdict::Within(ms(200)));
        assert!(!pending.asks_after_read(true));
        assert_eq!(pending.count_simple(&config), Verdict::Now);
    }
}
