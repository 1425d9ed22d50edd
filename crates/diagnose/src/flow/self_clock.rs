//! Times at which data were sent, at the receiver's end without timestamps.
//!
//! There, queues before the capture hide when data were sent. But a sender is clocked by its
//! acknowledgments, which the capture shows: it sends a segment as soon as the acknowledgments let
//! its congestion window reach beyond the segment. This window follows from the initial window and
//! from its growth by the acknowledged data.
//!
//! *Assumptions.* A sender with an initial window of ten segments grows it by all acknowledged
//! bytes, and leaves slow start by HyStart (RFC 9406, Linux's CUBIC), unless the sizes of its
//! bursts show otherwise ([`BurstSizes`]). Another sender grows its window by at most a segment for
//! each acknowledgment (RFC 5681 §3.1). A sender that paces follows a model of the path
//! ([`PacedSender`]); after a gap, its data have not waited. If more data arrive than the window
//! permits, the window is larger. If data arrive without waiting although the window had permitted
//! them earlier, something else limits the sender, and the window is no longer known to grow.

use super::burst_size::{BurstSizes, SlowStart};
use super::direction::{Direction, PacketContext};
use super::growing_window::{CUBIC_FIRST, GrowingWindow};
use super::hystart::{Hystart, SampledAck};
use super::paced_sender::{Delivery, PacedSender};
use super::sender::{Ack, State};
use crate::packet::{ControlBits, Packet};

/// Number of segments that a sender transmits beyond its window before fast retransmit (RFC 3042).
const LIMITED_TRANSMIT: i64 = 2;
/// Initial window, in segments, from which on the window grows by all acknowledged bytes.
const LARGE_INITIAL: i64 = 10;
/// Data did not wait if the gap before them exceeds the transmission time of a segment by this
/// factor.
const IDLE: f64 = 1.5;
/// A window is constant if it has not grown for this number of segments: half as many again as
/// CUBIC's needs to grow.
const CONSTANT: i64 = CUBIC_FIRST * 3 / 2;
/// A sender that sends nothing for RTT/`LATE` although its window permits it has another limit.
const LATE: i64 = 8;

/// Sender that is clocked by its acknowledgments.
#[derive(Debug, Default)]
pub struct SelfClock {
    window: GrowingWindow,
    /// Arrival time of the newest data, and their time of sending; none before any data.
    last_ns: Option<(i64, i64)>,
    /// True once the initial window has been sent.
    has_begun: bool,
    /// Longest time between two segments of the initial window; 0 before the second one.
    initial_gap_ns: i64,
    /// Time at which data last arrived without waiting, later than permitted.
    late_ns: Option<i64>,
    hystart: Hystart,
    bursts: BurstSizes,
    /// True if the sizes of bursts show that the sender paces.
    is_paced: bool,
    /// The path as the sender has measured it, if it paces.
    paced: PacedSender,
}

/// Arrival of new data.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    time_ns: i64,
    start: i64,
    end: i64,
    segment: i64,
    /// True if the sender had all of these data to send together with the data before them.
    had_more: bool,
    /// Transmission time of a segment; none if unknown.
    segment_ns: Option<f64>,
    rtt_ns: i64,
    /// Retransmission timeout.
    rto_ns: i64,
    /// True if the sender paces.
    is_paced: bool,
    /// True if the data have PSH; none if the sender does not mark the ends of bursts with it.
    is_pushed: Option<bool>,
}

impl Arrival {
    /// Minimum RTT of a full segment, which takes more time than a SYN.
    fn full_rtt_ns(&self) -> i64 {
        self.rtt_ns + self.segment_ns.unwrap_or(0.0) as i64
    }
}

impl SelfClock {
    /// Time at which data were sent, given the acknowledgments on their way to the sender.
    #[inline(never)]
    fn sent_ns<'a>(&mut self, it: &Arrival, coming: impl Iterator<Item = &'a Ack>) -> i64 {
        self.is_paced |= it.is_paced;
        self.note_burst(it);
        let (arrived_ns, last_ns) = self.last_ns.unwrap_or((it.time_ns, it.time_ns));
        let gap_ns = it.time_ns - arrived_ns;
        let is_idle = self.is_idle(it, gap_ns);
        let segment_ns = it.segment_ns.unwrap_or(0.0) as i64;
        self.limit_by_model(it);
        let mut window = self.window;
        let mut released_ns = window.permits(it.start, it.end, it.segment).then_some(last_ns);
        for ack in coming.take_while(|ack| ack.effective_ns <= it.time_ns) {
            // Only after a gap it matters what later acknowledgments permit.
            if released_ns.is_some() && !is_idle {
                break;
            }
            window.on_ack(ack, it.segment);
            if window.permits(it.start, it.end, it.segment) {
                released_ns = released_ns.or(Some(last_ns.max(ack.effective_ns + segment_ns)));
            }
        }
        let is_initial = self.is_initial(it, is_idle, window.una);
        let spare = window.end() - it.end;
        let is_permitted = |most: i64| it.end - window.una <= most;
        if spare < 0 && !is_initial && window.receive_window.is_none_or(is_permitted) {
            // The window is larger than assumed.
            self.window.bytes += it.end - window.una - window.bytes;
        }
        let sent_ns = match released_ns {
            _ if it.is_paced && !is_idle => {
                let rtt_ns = it.full_rtt_ns();
                let paced_ns = last_ns + self.paced.interval_ns(it.segment, rtt_ns);
                released_ns.unwrap_or(it.time_ns).max(paced_ns).min(it.time_ns)
            }
            _ if it.is_paced => it.time_ns,
            // The application wrote the data late, or Nagle's algorithm held them back.
            _ if is_idle && !it.had_more && window.una >= it.start => it.time_ns,
            _ if is_initial => last_ns,
            Some(ns) if is_idle && gap_ns < it.rtt_ns && it.time_ns - ns > it.rtt_ns / LATE => {
                // A delay on the path has the same effect, but rarely in two round trips in a row.
                let before_ns = self.late_ns.replace(it.time_ns);
                if before_ns.is_none_or(|before_ns| it.time_ns - before_ns > 2 * it.rtt_ns) {
                    ns
                } else {
                    self.window.bytes = (self.window.bytes - spare).max(2 * it.segment);
                    self.window.ssthresh = Some(self.window.bytes);
                    it.time_ns
                }
            }
            // After a silence of a round trip, the application has paused. If the sender had more
            // data, an outage has delayed them, or its timer has expired.
            _ if is_idle && gap_ns >= it.rtt_ns && !(it.had_more && gap_ns < it.rto_ns) => {
                it.time_ns
            }
            Some(ns) => ns.min(it.time_ns),
            None => it.time_ns,
        };
        self.last_ns = Some((it.time_ns, sent_ns));
        if it.end - it.start < it.segment {
            self.window.partial_end = it.end;
        }
        sent_ns
    }

    /// True if the sender was idle in this gap between arrivals. Before the rate is known, the
    /// segments of the initial window, which are sent together, show the transmission time of one.
    fn is_idle(&mut self, it: &Arrival, gap_ns: i64) -> bool {
        let gap = gap_ns as f64;
        if let Some(segment_ns) = it.segment_ns {
            return gap > IDLE * segment_ns;
        }
        let initial_ns = self.initial_gap_ns;
        // A gap of a round trip is idle at any rate.
        let is_idle = gap_ns > it.rtt_ns || (initial_ns > 0 && gap > IDLE * initial_ns as f64);
        if !is_idle && !self.has_begun {
            self.initial_gap_ns = initial_ns.max(gap_ns);
        }
        is_idle
    }

    /// Lets the window of a sender that paces follow its model of the path.
    fn limit_by_model(&mut self, it: &Arrival) {
        if it.is_paced {
            let most = self.paced.largest_window(it.segment, it.full_rtt_ns());
            (self.window.ssthresh, self.window.adds_all) = (None, true);
            self.window.bytes = self.window.bytes.min(most.unwrap_or(i64::MAX));
        }
    }

    /// Lets the sizes of bursts decide whether slow start is over.
    fn note_burst(&mut self, it: &Arrival) {
        let is_full = it.end - it.start == it.segment;
        let Some(is_pushed) = it.is_pushed.filter(|_| is_full) else { return };
        let evidence = self.bursts.on_segment(it.start, it.end, is_pushed);
        let window = &mut self.window;
        if window.has_lost || !window.adds_all {
            return;
        }
        let is_peer_limit = window.receive_window.is_some_and(|most| window.bytes >= most);
        match evidence {
            SlowStart::Pairs(number) => {
                self.is_paced |= i64::from(number) * it.segment >= window.bytes;
            }
            SlowStart::Over(number) if !is_peer_limit => {
                window.ssthresh.get_or_insert(window.bytes);
                self.is_paced |= i64::from(number) >= CONSTANT;
            }
            SlowStart::Spread => self.is_paced = true,
            SlowStart::GoesOn(acked) => {
                (window.ssthresh, window.bytes) = (None, window.bytes + acked);
            }
            _ => {}
        }
    }

    /// True if data belong to the initial window: they have followed the first data without a gap.
    /// If ten segments do, the initial window is a large one.
    fn is_initial(&mut self, it: &Arrival, is_idle: bool, una: i64) -> bool {
        self.has_begun |= is_idle || it.end > LARGE_INITIAL * it.segment + 1;
        if self.has_begun {
            return false;
        }
        // The SYN has been acknowledged.
        self.window.una = self.window.una.max(1);
        if it.end > LARGE_INITIAL * it.segment {
            self.window.adds_all = true;
            self.window.bytes = it.end - 1 + (self.window.una - 1).max(0);
        } else {
            self.window.bytes = self.window.bytes.max(it.end - una.max(1));
        }
        true
    }

    /// Handles an acknowledgment that reaches the sender, which has sent everything before `end`.
    fn on_ack(&mut self, ack: &Ack, end: i64, segment: i64, least_ns: i64) {
        let acked = (ack.ack - self.window.una).max(0);
        self.bursts.on_ack(ack.effective_ns, acked, segment);
        self.end_slow_start(ack, end, segment, least_ns);
        self.window.on_ack(ack, segment);
    }

    /// Ends slow start if HyStart does so at this acknowledgment, before the window grows by it.
    fn end_slow_start(&mut self, ack: &Ack, sent_to: i64, segment: i64, least_ns: i64) {
        let has_hystart = self.window.adds_all && !self.is_paced;
        let Some(rtt_ns) = ack.rtt_ns.filter(|_| has_hystart) else { return };
        let is_over = self.hystart.on_ack(&SampledAck {
            time_ns: ack.effective_ns,
            una: ack.ack,
            sent_to,
            rtt_ns,
            least_ns,
            window: self.window.bytes / segment.max(1),
        });
        if is_over && self.window.ssthresh.is_none() && self.bursts.expect_end(sent_to) {
            self.window.ssthresh = Some(self.window.bytes);
        }
    }

    /// Handles the first retransmission of an episode, with `flight` bytes in flight, in segments
    /// of `segment` bytes.
    fn on_loss(&mut self, flight: i64, segment: i64, is_timeout: bool) {
        // The first two duplicate ACKs release a segment each (RFC 3042), which do not count.
        let limited = if is_timeout { 0 } else { LIMITED_TRANSMIT * segment };
        let used = (flight - limited).max(2 * segment);
        // RFC 5681 §3.1 halves the window, CUBIC multiplies it by 0.7 (RFC 9438 §4.6). Linux's Reno
        // has no HyStart.
        let is_cubic = self.window.adds_all && !self.bursts.is_refuted();
        let ssthresh = (if is_cubic { used / 10 * 7 } else { used / 2 }).max(2 * segment);
        self.window.prior = Some((self.window.ssthresh, flight));
        // After a recovery, BBR has its window again (`bbr_set_cwnd_to_recover_or_restore`).
        if !self.is_paced {
            self.window.ssthresh = Some(ssthresh);
            self.window.bytes = if is_timeout { segment } else { ssthresh };
        }
        (self.window.has_lost, self.window.acked) = (true, 0);
        let end = self.window.una + flight;
        self.window.recovery_end = Some(end).filter(|_| !is_timeout);
    }
}

impl Direction {
    /// Context of a packet with the time at which it was sent, if only the acknowledgments show
    /// this time.
    pub(super) fn with_clocked_time(
        &mut self,
        packet: &Packet,
        start: i64,
        now: &PacketContext,
    ) -> PacketContext {
        let payload_bytes = i64::from(packet.payload_bytes);
        let is_new = payload_bytes > 0 && start >= self.scoreboard.end;
        let is_blind = now.is_at_receiver() && packet.options.timestamps.is_none();
        let Some(rtt_ns) = now.rtt().filter(|_| is_blind && is_new) else { return *now };
        let segment = self.largest_payload.max(payload_bytes);
        if self.sender.has_large_initial() {
            self.self_clock.window.take_as_large(LARGE_INITIAL * segment);
        }
        let arrival = Arrival {
            time_ns: now.time_ns,
            start,
            end: start + payload_bytes,
            segment,
            had_more: self.has_more && payload_bytes == segment,
            segment_ns: self.segment_ns(),
            rtt_ns,
            rto_ns: self.sender.estimator.rto_ns(),
            is_paced: self.paced_bursts.show_pacing() || self.self_clock.is_paced,
            is_pushed: self.pushed.marks_bursts().then(|| packet.control.any(ControlBits::PSH)),
        };
        let clock = &mut self.self_clock;
        let mut sent_ns = now.time_ns;
        if self.sender.state == State::Open {
            sent_ns = clock.sent_ns(&arrival, self.sender.coming());
        } else {
            clock.last_ns = Some((sent_ns, sent_ns));
        }
        let coming = self.sender.coming().take_while(|ack| ack.effective_ns <= sent_ns);
        clock.paced.on_sent(arrival.end, coming);
        PacketContext { sent_ns, ..*now }
    }

    /// Lets the self-clocked sender handle the first retransmission of an episode, which begins at
    /// `start`. A sender first repairs the data that follow its cumulative acknowledgment. All data
    /// that it had sent before have arrived or are lost, since they do not overtake each other.
    pub(super) fn clock_loss(&mut self, start: i64, is_timeout: bool) {
        self.room.on_reduction();
        let flight = self.scoreboard.end - start.min(self.sender.snd_una);
        self.self_clock.on_loss(flight, self.largest_payload, is_timeout);
    }

    /// Lets the self-clocked sender undo the reduction of its window: it has at least the data in
    /// flight before the episode again (`tcp_undo_cwnd_reduction`).
    pub(super) fn clock_undo(&mut self) {
        let window = &mut self.self_clock.window;
        if let Some((ssthresh, flight)) = window.prior.take() {
            (window.ssthresh, window.bytes) = (ssthresh, window.bytes.max(flight));
            window.recovery_end = None;
        }
    }

    /// Lets the self-clocked sender handle an acknowledgment.
    pub(super) fn clock_ack(&mut self, ack: &Ack) {
        let least_ns = self.sender.rtt_min_ns.unwrap_or(0);
        let (end, segment) = (self.scoreboard.end, self.largest_payload);
        let clock = &mut self.self_clock;
        clock.on_ack(ack, end, segment, least_ns);
        let now = Delivery { una: clock.window.una, time_ns: ack.effective_ns };
        let most = self.path.rate().map(|rate| rate * 1e-9);
        clock.paced.on_delivery(now, end, most);
        clock.paced.on_flight(end - now.una, segment, least_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    const MS: i64 = 1_000_000;
    const SEGMENT: i64 = 1_000;
    const RTT_NS: i64 = 40 * MS;

    fn ack(effective_ns: i64, segments: i64) -> Ack {
        Ack { effective_ns, ack: 1 + segments * SEGMENT, window: 1 << 30, ..Ack::default() }
    }

    fn arrival(time_ns: i64, number: i64, segment_ns: i64) -> Arrival {
        Arrival {
            time_ns,
            start: 1 + number * SEGMENT,
            end: 1 + (number + 1) * SEGMENT,
            segment: SEGMENT,
            had_more: true,
            segment_ns: Some(segment_ns as f64),
            rtt_ns: RTT_NS,
            rto_ns: RTT_NS,
            is_paced: false,
            is_pushed: None,
        }
    }

    /// Times of sending and of arrival of segments in slow start, over a bottleneck that takes
    /// `segment_ns` for each, and the acknowledgments of every second one.
    fn slow_start(initial: i64, each_ack: i64, segment_ns: i64) -> (Vec<[i64; 2]>, Vec<Ack>) {
        let (mut window, mut una, mut free_ns, mut now_ns) = (initial, 0, 0, 0);
        let (mut sent, mut acks) = (Vec::new(), Vec::new());
        for number in 0..70 {
            while number >= una + window {
                let next: &Ack = &acks[(una / 2) as usize];
                (now_ns, una, window) = (next.effective_ns, una + 2, window + each_ack);
            }
            free_ns = free_ns.max(now_ns) + segment_ns;
            sent.push([now_ns, free_ns]);
            if number % 2 == 1 {
                acks.push(ack(free_ns + RTT_NS, number + 1));
            }
        }
        (sent, acks)
    }

    /// Largest error of the times of sending, in transmission times of a segment.
    fn largest_error(initial: i64, each_ack: i64, segment_ns: i64) -> i64 {
        let (sent, acks) = slow_start(initial, each_ack, segment_ns);
        let mut clock = SelfClock::default();
        let mut coming = VecDeque::new();
        let mut left = acks.into_iter();
        let mut largest_ns = 0;
        for (number, [sent_ns, arrived_ns]) in sent.iter().enumerate() {
            let it = arrival(*arrived_ns, number as i64, segment_ns);
            let found_ns = clock.sent_ns(&it, coming.iter());
            largest_ns = largest_ns.max((found_ns - segment_ns - sent_ns).abs());
            while coming.front().is_some_and(|ack: &Ack| ack.effective_ns <= found_ns) {
                let ack = coming.pop_front().expect("an acknowledgment");
                clock.on_ack(&ack, it.end, SEGMENT, RTT_NS);
            }
            coming.extend(if number % 2 == 1 { left.next() } else { None });
        }
        largest_ns / segment_ns
    }

    #[test]
    fn acknowledgments_show_when_data_were_sent() {
        // The queue grows to 47, 56 and 26 segments.
        assert!(largest_error(3, 1, 10 * MS) <= 1);
        assert!(largest_error(10, 2, 10 * MS) <= 1);
        assert!(largest_error(10, 2, MS) <= 1);
    }

    /// Three segments, and a fourth one after a gap that is shorter than a round trip. No rate is
    /// known yet.
    #[test]
    fn a_gap_ends_the_initial_window_before_the_rate_is_known() {
        let mut clock = SelfClock::default();
        let acks = [ack(2 * RTT_NS - 7 * MS, 2)];
        for number in 0..3 {
            let it = Arrival { segment_ns: None, ..arrival(RTT_NS + 7 * number * MS, number, 0) };
            clock.sent_ns(&it, acks.iter());
        }
        let next = Arrival { segment_ns: None, ..arrival(2 * RTT_NS, 3, 0) };
        assert_eq!(clock.sent_ns(&next, acks.iter()), acks[0].effective_ns);
        assert_eq!(clock.window.bytes, 3 * SEGMENT);
    }

    /// Acknowledgments of a segment each, 1 ms apart, without a queue.
    #[test]
    fn a_train_of_acknowledgments_ends_slow_start() {
        let window = GrowingWindow {
            una: 1,
            bytes: 20 * SEGMENT,
            adds_all: true,
            ..GrowingWindow::default()
        };
        let mut clock = SelfClock { window, ..SelfClock::default() };
        for number in 1..40 {
            let it = Ack { rtt_ns: Some(RTT_NS), ..ack(number * MS, number) };
            clock.on_ack(&it, 1 + 60 * SEGMENT, SEGMENT, RTT_NS);
        }
        // The 22nd acknowledgment comes more than half a round trip after the first.
        assert_eq!(clock.window.ssthresh, Some(41 * SEGMENT));
        // BBR has no HyStart.
        let mut paced = SelfClock { window, is_paced: true, ..SelfClock::default() };
        for number in 1..40 {
            let it = Ack { rtt_ns: Some(RTT_NS), ..ack(number * MS, number) };
            paced.on_ack(&it, 1 + 60 * SEGMENT, SEGMENT, RTT_NS);
        }
        assert_eq!(paced.window.ssthresh, None);
    }

    /// Single segments, each released by the acknowledgment of one.
    #[test]
    fn a_window_that_does_not_grow_shows_pacing() {
        let mut clock = SelfClock::default();
        (clock.window.adds_all, clock.window.bytes) = (true, 100 * SEGMENT);
        for number in 0..32 {
            let it = Arrival { is_pushed: Some(false), ..arrival(number * MS, number, MS) };
            clock.note_burst(&it);
            // CUBIC grows its window after 20.
            assert_eq!(clock.is_paced, number >= 30, "{number}");
        }
    }

    #[test]
    fn a_sender_without_hystart_halves_its_window() {
        let mut clock = SelfClock::default();
        clock.window.adds_all = true;
        // Two of the segments in flight were sent by limited transmit.
        clock.on_loss(22 * SEGMENT, SEGMENT, false);
        assert_eq!(clock.window.bytes, 14 * SEGMENT);
        assert!(clock.bursts.expect_end(0));
        for number in 0..30 {
            clock.bursts.on_ack(number * 2 * MS, SEGMENT, SEGMENT);
            clock.bursts.on_segment(number * SEGMENT, (number + 1) * SEGMENT, number % 2 == 1);
        }
        clock.on_loss(22 * SEGMENT, SEGMENT, false);
        assert_eq!(clock.window.bytes, 10 * SEGMENT);
        let mut paced = SelfClock { is_paced: true, ..SelfClock::default() };
        paced.window.bytes = 30 * SEGMENT;
        for is_timeout in [false, true] {
            paced.on_loss(22 * SEGMENT, SEGMENT, is_timeout);
            assert_eq!((paced.window.bytes, paced.window.ssthresh), (30 * SEGMENT, None));
        }
    }

    /// Ten segments in each round trip, although all are acknowledged at once.
    #[test]
    fn a_sender_that_leaves_its_window_unused_has_another_limit() {
        let mut clock = SelfClock::default();
        for round in 0..6 {
            for number in 0..10 {
                let time_ns = (1 + round) * RTT_NS + 20 * MS + number * MS;
                let acks = [ack(time_ns - 20 * MS - number * MS, 10 * round)];
                let it = arrival(time_ns, 10 * round + number, MS);
                let sent_ns = clock.sent_ns(&it, acks.iter());
                clock.on_ack(&acks[0], it.end, SEGMENT, RTT_NS);
                assert!(round < 3 || sent_ns >= time_ns - number * MS, "{round} {number}");
            }
        }
    }

    /// Ten segments, and a further one that arrives much later, although the window permits it.
    #[test]
    fn data_after_a_silence_of_a_round_trip_have_not_waited() {
        let mut clock = SelfClock::default();
        for number in 0..10 {
            clock.sent_ns(&arrival(RTT_NS + number * MS, number, MS), [].iter());
        }
        let acks = [ack(2 * RTT_NS, 5)];
        clock.on_ack(&acks[0], 1 + 10 * SEGMENT, SEGMENT, RTT_NS);
        let late = arrival(4 * RTT_NS, 10, MS);
        assert_eq!(clock.sent_ns(&late, acks.iter()), late.time_ns);
    }
}
