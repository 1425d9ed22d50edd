//! Reasons of the sender for sending new data, by the time since the last acknowledgment and since
//! the last data: the acknowledgment released them, the application wrote them, or pacing held them
//! back until then.

use super::account::Limit;
use super::acks;
use super::direction::{Direction, PacketContext};
use super::paced_ticks::TimedData;
use super::pacing::{SinceAck, Spacing};

/// A sender that sends nothing for RTT/`PAUSE_MIN` after an acknowledgment had no data to send.
const PAUSE_MIN: i64 = 8;
/// Lower bound of the time RTT/`PAUSE_MIN`.
const PAUSE_MIN_NS: i64 = 2_000_000;

/// Longest time that a host takes to send the data that an acknowledgment releases. The value is a
/// convention: hosts take microseconds, whereas the gaps of pacing are longer (240 µs for two
/// segments at 100 Mbit/s).
const RELEASED_NS: i64 = 100_000;

/// True if the path to the sender is so long that queues on it may delay data before the capture,
/// and that the time at which an acknowledgment takes effect is uncertain.
pub(super) fn is_far(now: &PacketContext) -> bool {
    acks::rtt_tolerance_ns(now) > RELEASED_NS
}

/// True if the capture is not at the receiver's end, where queues delay the data.
fn is_before_queues(now: &PacketContext) -> bool {
    now.receiver_loop.is_some() && !now.is_at_receiver()
}

/// Longest time from an acknowledgment to data that it has released, before the queues of the path.
fn released_ns(now: &PacketContext) -> i64 {
    RELEASED_NS + 2 * acks::rtt_tolerance_ns(now)
}

impl Direction {
    /// True if the sender had nothing to send, since it was silent for a long time after the last
    /// packet or acknowledgment.
    pub(super) fn is_pause(&self, now: &PacketContext) -> bool {
        let since_ns = now.sent_ns - self.sender.last_activity_ns() - self.blur_ns(now);
        since_ns > self.pause_ns().max(PAUSE_MIN_NS)
    }

    /// Least silence for a pause of the application, as a part of the RTT.
    fn pause_ns(&self) -> i64 {
        self.sender.rtt_min_ns.unwrap_or(0) / PAUSE_MIN
    }

    /// True if a timer has sent new data that the sender had before, as a tail loss probe (RFC 8985
    /// §7.3). Linux's Nagle algorithm holds no data back if only full segments are in flight.
    pub(super) fn is_probe(&self, now: &PacketContext) -> bool {
        let since_ns = now.sent_ns - self.sender.last_activity_ns() - now.timestamp_tick_ns;
        let is_silent = self.sender.rtt_min_ns.is_some_and(|least| since_ns > least);
        // Without timestamps, far from the sender, data that waited elsewhere look the same.
        let is_time_known = now.timestamp_tick_ns > 0 || !is_far(now);
        let is_ready = self.has_more && self.sender.is_open();
        is_silent && is_time_known && is_ready && !self.sender.is_linux()
    }

    /// Limit that ended when these data were sent. If the capture is not at the sender, an
    /// acknowledgment may have reached the sender a little later than assumed. Data that the
    /// acknowledgment released then end the limit that was in force before it.
    pub(super) fn limit_ended_by(&self, now: &PacketContext) -> Limit {
        let (effective_ns, before) = self.before_ack;
        let since_ns = now.sent_ns - effective_ns;
        // A busy host sends what an acknowledgment releases with a delay.
        let busy_ns = if is_far(now) { 0 } else { self.pause_ns().min(PAUSE_MIN_NS) };
        let tolerance_ns = self.release_tolerance_ns(now);
        if tolerance_ns > 0 && since_ns <= tolerance_ns.max(busy_ns) {
            before
        } else {
            self.account.limit()
        }
    }

    /// Longest time by which data that an acknowledgment has released seem to be sent after it; 0
    /// at the sender.
    pub(super) fn release_tolerance_ns(&self, now: &PacketContext) -> i64 {
        // The least round trip is that of the shortest packet, and a full segment takes longer, so
        // the tolerance is doubled.
        let slack_ns = 2 * acks::rtt_tolerance_ns(now);
        if slack_ns > 0 { slack_ns + self.blur_ns(now) } else { 0 }
    }

    /// Uncertainty of the time at which data were sent. It is one timestamp tick, because the
    /// queueing delay is inferred from timestamps. At the receiver's end the transmission time of
    /// one segment is added.
    fn blur_ns(&self, now: &PacketContext) -> i64 {
        let segment_ns = if now.is_at_receiver() { self.segment_ns() } else { None };
        now.timestamp_tick_ns + segment_ns.unwrap_or(0.0) as i64
    }

    /// True if a partial segment waited for the acknowledgment of the partial segment before it.
    pub(super) fn is_held_by_partial(&self, now: &PacketContext) -> bool {
        let slack_ns = acks::rtt_tolerance_ns(now);
        // A busy host sends what an acknowledgment releases with a delay.
        let busy_ns = if is_far(now) { RELEASED_NS } else { self.pause_ns().min(PAUSE_MIN_NS) };
        let tolerance_ns = busy_ns.max(RELEASED_NS) + 2 * slack_ns + self.blur_ns(now);
        self.last_partial.has_held(now.sent_ns, tolerance_ns)
    }

    /// Transmission time of a full segment at the bottleneck; none if its rate is unknown.
    pub(super) fn segment_ns(&self) -> Option<f64> {
        self.path.rate().map(|rate| self.largest_payload as f64 / rate * 1e9)
    }

    /// Notes new data as evidence of pacing, and ends the intervals since the previous data.
    pub(super) fn note_spacing(&mut self, was_idle: bool, is_full: bool, now: &PacketContext) {
        let is_woken = self.is_writer_woken(now);
        let by_ticks = self.spacing_in_ticks(was_idle, is_full, now);
        let least = self.sender.rtt_min_ns.unwrap_or(0);
        let [since_ack, since_data] = self.sender.idle_ns(now.time_ns);
        let spacing = if !was_idle && since_data < least / 2 {
            // Before the queues of the path, no bottleneck has spaced the segments of a burst, but
            // a host takes some microseconds for each.
            let is_before_queues = is_before_queues(now);
            let host_ns = is_before_queues.then_some(RELEASED_NS as f64);
            let segment_ns = host_ns.or_else(|| self.segment_ns()).unwrap_or(0.0);
            // Timestamps place the sending up to a tick too early, before an acknowledgment that
            // may have released the data.
            let is_released = self.sender.awaits_ack_until(now.time_ns);
            // The acknowledgment may have reached the sender later than assumed, by the tolerance.
            let slack_ns = acks::rtt_tolerance_ns(now);
            let since_ack = if is_released { 0 } else { since_ack - slack_ns };
            let released_ns = if is_before_queues { released_ns(now) } else { i64::MAX };
            let since_ack = SinceAck { ns: since_ack, released_ns, is_open: self.sender.is_open() };
            let is_regular = self.paced_bursts.on_data(now.time_ns, since_ack, segment_ns);
            // An acknowledgment may come by chance just before a timer expires. It has not released
            // the data if the one before it released nothing.
            let is_even = self.paced_bursts.is_even() && self.last_partial.acks_since_data() > 1;
            match (is_far(now), is_regular) {
                _ if is_before_queues && (is_even || self.is_paced(now)) => Spacing::Timed,
                (true, _) if self.paced_bursts.is_timed() => Spacing::Timed,
                (true, true) => Spacing::Regular,
                _ if is_before_queues => Spacing::Released,
                _ => Spacing::Unknown,
            }
        } else {
            self.paced_bursts.restart();
            Spacing::Unknown
        };
        self.undecided_times.on_data(by_ticks.unwrap_or(spacing), is_woken);
    }

    /// Spacing of new data according to their timestamps; none without timestamps, and near the
    /// sender, where the times in the capture are more precise.
    fn spacing_in_ticks(
        &mut self,
        was_idle: bool,
        is_full: bool,
        now: &PacketContext,
    ) -> Option<Spacing> {
        let (value, echo) = self.send_order.timestamp_value.zip(now.echo)?;
        let tick_ns = now.timestamp_tick_ns;
        if tick_ns == 0 || !is_far(now) {
            return None;
        }
        let least = self.sender.rtt_min_ns.unwrap_or(0);
        if was_idle || self.sender.idle_ns(now.sent_ns)[1] >= least / 2 {
            self.paced_ticks.restart();
        }
        Some(self.paced_ticks.on_data(&TimedData { value, echo, tick_ns, is_full }))
    }

    /// True if pacing delayed this segment: no acknowledgment came just before it, and other data
    /// were sent within the preceding half round trip. At the receiver's end this is unknown,
    /// because queues delay the segment.
    pub(super) fn is_paced(&self, now: &PacketContext) -> bool {
        let least = self.sender.rtt_min_ns.unwrap_or(0);
        let [since_ack, since_data] = self.sender.idle_ns(now.sent_ns);
        is_before_queues(now) && since_ack > released_ns(now) && since_data < least / 2
    }
}
