//! Relation of a packet to earlier ones: new data, a retransmission, or a late original.

use super::direction::{Direction, PacketContext};
use super::scoreboard::{SendOrder, Span};

/// If at least this number of packets is missing before the first retransmission, they count as new
/// data that were lost before the capture.
const TAIL_MIN: i64 = 3;
/// Largest TCP payload of an Ethernet frame: 1500 bytes without the IP and TCP headers.
const SEGMENT_MAX: u32 = 1_460;
/// Data that are captured shortly after their own acknowledgment do not count as retransmitted. The
/// time between the two must be less than this value or the round trip, whichever is longer.
const SKIPPED_MIN_NS: i64 = 1_000_000;
/// The capture counts as near the sender if the round trip to the receiver, divided by the round
/// trip to the sender, is at least this number.
const NEAR: i64 = 8;
/// Number of pauses in which no other packet used a number of the IP identification, from which on
/// the identification counts as a counter of this connection alone.
const PAUSES_MIN: u32 = 3;
/// Number of steps after which small ones show that the IP identification is a counter: a random
/// number makes a step of at most 64 once in 1,024 packets.
const STEPS_MIN: u32 = 4;
/// Longest payload on the wire. Longer ones were merged by a network card or a kernel.
const SUPER_BYTES: i64 = 9_000;

/// Relation of a packet to earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// All data are new and follow the previous ones.
    New,
    /// Original that packets sent later have overtaken.
    Late,
    /// A copy made by the network.
    Copied,
    /// Retransmission, with the frame of an earlier copy if one was captured.
    Again(Option<u64>),
}

/// Detects whether the IP identification counts the packets of a direction.
#[derive(Debug, Default)]
pub(super) struct IpIdentification {
    last: u16,
    highest: u16,
    small: u32,
    ones: u32,
    packets: u32,
    /// Number of packets that are missing before this one, according to skipped numbers.
    skipped: u16,
    last_ns: i64,
    /// Number of segments of the last packet; several if a network card splits it.
    segments: u16,
    /// Number of pauses in which no other packet used a number of the IP identification, and number
    /// of all other pauses.
    quiet: [u32; 2],
}

impl IpIdentification {
    pub(super) fn on_packet(&mut self, id: u16, length: u32, now: &PacketContext) -> Option<u16> {
        // If a network card splits a packet, each segment gets a number of its own.
        let taken =
            std::mem::replace(&mut self.segments, length.div_ceil(SEGMENT_MAX).max(1) as u16);
        // Steps before this packet decide, because the packet itself may be late.
        let steps = self.packets.saturating_sub(1);
        let is_counter = steps >= STEPS_MIN && self.small * 4 > steps * 3;
        let step = id.wrapping_sub(self.last);
        let ahead = id.wrapping_sub(self.highest);
        self.ones += u32::from(step == 1);
        // Other traffic that shares the counter advances it mostly in pauses of this connection, so
        // steps after pauses are counted separately.
        let is_pause = now.rtt().is_some_and(|rtt| now.time_ns - self.last_ns > rtt / 2);
        self.last_ns = now.time_ns;
        let is_own = self.packets > 20
            && self.ones * 100 > self.packets * 85
            && self.quiet[0] >= PAUSES_MIN
            && self.quiet[0] > 8 * self.quiet[1];
        let is_gap = is_own && ahead > taken && ahead <= 64;
        self.skipped = if is_gap { ahead - taken } else { 0 };
        if is_pause && self.packets > 0 {
            self.quiet[usize::from(step != 1)] += 1;
        }
        if (ahead as i16) > 0 || self.packets == 0 {
            self.highest = id;
        }
        self.last = id;
        self.packets += 1;
        // A late packet causes two unusual steps of the IP identification.
        self.small += u32::from(self.packets > 1 && (1..=64).contains(&step));
        (id != 0 && is_counter).then_some(id)
    }
}

impl Direction {
    /// Appends a hole for data that were lost before the capture, as skipped numbers of the IP
    /// identification show. There are two cases: numbers are skipped although this packet directly
    /// continues the captured data, or several numbers are skipped between the newest data and the
    /// first retransmission.
    pub(super) fn append_hole(&mut self, start: i64, now: &PacketContext, stamp: SendOrder) {
        let lost = i64::from(self.ip_identification.skipped);
        let end = self.scoreboard.end;
        self.take_back_delay(start, end);
        if start > end {
            self.sender.on_hole_before(start);
            self.extend_recovery(end, start);
        }
        let is_turn = start < end && self.last_had_new_data && lost >= TAIL_MIN;
        self.last_had_new_data = start >= end;
        if lost == 0 {
            return;
        }
        let is_next = start == end && !self.scoreboard.has_hole();
        // Retransmissions that were lost before the capture used numbers, too. They repeated data
        // that were lost there.
        let repeated = if is_next { self.sender.earlier_timeouts(now.sent_ns) } else { 0 };
        let lost = (lost - i64::from(repeated)).max(1);
        // Payloads above this size are super-segments, which take several numbers each.
        let is_segment = (1..SUPER_BYTES).contains(&self.largest_payload);
        // A capture close to the sender contains all packets, so nothing was lost before it.
        let is_far = now.sender_loop > now.receiver_loop.map(|it| it / NEAR);
        let is_known = self.sender.snd_una > 0 && stamp.ip_id.is_some() && is_segment && is_far;
        if !is_known || !(is_next || is_turn) {
            return;
        }
        let id = stamp.ip_id.map(|id| id.wrapping_sub(1));
        let hole = Span {
            start: end,
            end: end + lost * self.largest_payload,
            first_ns: now.time_ns,
            last_ns: now.time_ns,
            sent_ns: now.sent_ns,
            copies: 0,
            packet: now.packet,
            send_order: SendOrder { timestamp_value: None, ip_id: id },
            sacked: false,
            retransmission: None,
            sent_bytes: 0,
            flight: 0,
        };
        self.scoreboard.append(hole);
    }

    pub(super) fn relation_to_sent(
        &self,
        range: (i64, i64),
        stamp: SendOrder,
        now: &PacketContext,
    ) -> Relation {
        let (start, end) = range;
        if start >= self.scoreboard.end {
            return Relation::New;
        }
        if end <= self.scoreboard.start {
            return self.relation_of_acked(range, stamp, now);
        }
        let mut late = false;
        for span in self.scoreboard.range(start, end) {
            let is_after = stamp.is_after(span.send_order);
            if span.copies == 0 {
                let age = now.time_ns - span.first_ns;
                let rtt = now.rtt().unwrap_or(3_000_000);
                // Without evidence of the order, the age of the hole decides, because no sender
                // learns of a loss within less than a round trip.
                if is_after.unwrap_or(age >= rtt / 10 * 9) {
                    return Relation::Again(None);
                }
                late = true;
            } else if stamp == span.send_order && stamp.ip_id.is_some() {
                // A retransmission would have another IP identification.
                return Relation::Copied;
            } else if span.retransmission.is_some() || is_after.is_none() {
                let age = now.time_ns - span.last_ns;
                let is_soon = span.retransmission.is_some() && now.rtt().is_some_and(|it| age < it);
                if is_after.unwrap_or(!(is_soon && span.copies == 1)) {
                    return Relation::Again(Some(span.packet));
                }
                late = true;
            } else if is_after == Some(true) {
                return Relation::Again(Some(span.packet));
            } else {
                late = true;
            }
        }
        if late { Relation::Late } else { Relation::Again(None) }
    }

    /// True if the acknowledgment of these data was captured just before the data. This happens if
    /// a network card aggregates segments (LRO, GRO) and delivers them to the capture later.
    pub(super) fn was_acked_first(&mut self, start: i64, end: i64, now: &PacketContext) -> bool {
        let (from, to, since_ns) = self.acked_before_captured;
        let limit_ns = now.rtt().unwrap_or(0).max(SKIPPED_MIN_NS);
        let is_it = (from..to).contains(&start) && now.time_ns - since_ns < limit_ns;
        if is_it {
            self.not_captured -= end.min(to) - start;
            self.acked_before_captured.0 = end.min(to);
        }
        is_it
    }

    /// Relation of a packet whose data are already acknowledged.
    fn relation_of_acked(
        &self,
        (start, end): (i64, i64),
        stamp: SendOrder,
        now: &PacketContext,
    ) -> Relation {
        if end > self.highest_ack {
            // These data were removed from the scoreboard although no acknowledgment of them was
            // captured, so there is no evidence of a loss.
            return Relation::Late;
        }
        let Some(record) = self.records.last_at(start).filter(|record| record.original.is_none())
        else {
            return Relation::Again(None);
        };
        let is_after = stamp.is_after(record.send_order);
        let is_soon = now.rtt().is_some_and(|rtt| now.time_ns - record.time_ns < rtt);
        if is_after.unwrap_or(!is_soon) { Relation::Again(None) } else { Relation::Late }
    }

    /// Records on the scoreboard that a range of data has passed the capture.
    pub(super) fn mark(
        &mut self,
        start: i64,
        end: i64,
        (now, as_what): (&PacketContext, Relation),
    ) {
        let stamp = self.send_order;
        let index = self.records.all.len().checked_sub(1).map(|index| index as u32);
        let retransmission = matches!(as_what, Relation::Again(_)).then_some(index).flatten();
        let (time, old_end) = (now.time_ns, self.scoreboard.end);
        let sent_bytes = self.detectors.policer.sent();
        let flight = end.max(old_end) - self.highest_ack;
        if start < old_end {
            for span in self.scoreboard.range_mut(start, end.min(old_end)) {
                // The data were missing until now, so this is their first copy.
                if span.copies == 0 {
                    (span.first_ns, span.packet) = (time, now.packet);
                    (span.last_ns, span.sent_ns, span.send_order) = (time, now.sent_ns, stamp);
                    (span.sent_bytes, span.flight) = (sent_bytes, flight);
                } else if as_what != Relation::Late {
                    (span.last_ns, span.sent_ns, span.send_order) = (time, now.sent_ns, stamp);
                    (span.sent_bytes, span.flight) = (sent_bytes, flight);
                }
                span.copies += 1;
                span.retransmission = retransmission.or(span.retransmission);
            }
        }
        // Data between the highest position so far and this packet are missing in the capture.
        let blank = Span {
            start: old_end,
            end: start,
            first_ns: time,
            last_ns: time,
            sent_ns: now.sent_ns,
            copies: 0,
            packet: now.packet,
            send_order: stamp,
            sacked: false,
            retransmission: None,
            sent_bytes,
            flight,
        };
        if start > old_end {
            self.scoreboard.append(blank);
        }
        if end > old_end {
            let start = start.max(old_end);
            self.scoreboard.append(Span { start, end, copies: 1, retransmission, ..blank });
        }
    }
}
