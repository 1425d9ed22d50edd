//! Copies of the data's segments, and the fate of each.
//!
//! Each copy gets its transmission time (if the capture reveals it), the time at which its delivery
//! is visible, and the probability that it was lost. At the sender's end and in the middle of the
//! path, the delivery is visible by the acknowledgment; at the receiver's end, by the arrival.

use crate::answer::Necessity;
use crate::flow::packet_log::{CapturedData, Observed, ObservedAck, Verdict};
use crate::packet::Options;
use std::collections::BTreeMap;

/// Bytes that an Ethernet frame adds to an IP packet on the wire. The key `overhead` of a
/// scenario's link has the same meaning.
pub const OVERHEAD_BYTES: u32 = 38;
/// Bytes of the TCP header without options.
const TCP_BYTES: u32 = 20;
const TIMESTAMPS_BYTES: u32 = 12;
/// Payload of a full segment if no SYN was captured (Ethernet, timestamps).
const UNIT: u32 = 1_448;
/// Minimum payload of a full segment: the default MSS of 536 (RFC 1122 §4.2.2.6), minus options.
const UNIT_MIN: u32 = 500;

/// Divisor of the expected segment length. A packet that is longer by at most this fraction counts
/// as one segment, not as two.
const LONGER: u32 = 16;
/// Minimum number of ACKs for several segments that shows that the receiver delays ACKs, if most
/// ACKs cover a single segment.
const HELD_MIN: usize = 10;
/// Divisor of the minimum round trip. Segments sent within this fraction arrive back to back.
const NEAR: i64 = 20;

/// One copy of a segment.
#[derive(Debug, Clone, Copy)]
pub struct SegmentCopy {
    /// Transmission time of the copy, by the capture's clock; none if queues before the capture
    /// hide it.
    pub sent_ns: Option<i64>,
    /// Time at which the copy passed the capture, or should have passed it.
    pub time_ns: i64,
    /// Position of the copy's first byte.
    pub start: i64,
    /// Bytes of the copy's frame on the wire.
    pub wire_bytes: u32,
    /// Time from transmission to delivery; none if it contains other delays than those of the path.
    pub delay_ns: Option<i64>,
    /// Probability that the copy was lost; none without evidence.
    pub lost: Option<f64>,
}

/// True if the copy is more likely lost than not.
pub fn is_lost(copy: &SegmentCopy) -> bool {
    copy.lost.is_some_and(|lost| lost > 0.5)
}

/// Delivery of data: an acknowledgment, or an arrival.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    /// Time of the delivery.
    pub time_ns: i64,
    /// Bytes on the wire of the data that are delivered for the first time.
    pub wire_bytes: u64,
    /// Index of the newest copy that is delivered.
    pub newest: usize,
    /// Number of segments that are delivered.
    pub segments: u32,
    /// True if the delivered segments are consecutive, were sent once each, and directly follow
    /// those of the previous delivery.
    pub is_consecutive: bool,
    /// True if no earlier data are missing.
    pub is_plain: bool,
}

/// Trace of a flow: the copies of its segments, and their deliveries.
#[derive(Debug, Clone, Default)]
pub struct FlowTrace {
    /// Copies, in the order of sending.
    pub copies: Vec<SegmentCopy>,
    /// Deliveries, in the order of time.
    pub deliveries: Vec<Delivery>,
    /// Bytes on the wire of a full segment.
    pub segment_wire_bytes: u32,
    /// Bytes on the wire of a segment without payload.
    pub header_wire_bytes: u32,
    /// Bytes on the wire of the SYN of the data's sender, and of that of the receiver.
    pub syn_wire_bytes: [u32; 2],
    /// Payload of a full segment.
    pub segment_bytes: u32,
    /// True if delays are measured over a round trip; false for one direction.
    pub is_round_trip: bool,
    /// Minimum time from transmission to delivery, as seen at the capture.
    pub least_ns: i64,
    /// Resolution of the times of deliveries. Each may be too late by up to this time. 0 if they
    /// are capture times.
    pub resolution_ns: i64,
    /// For each delayed acknowledgment, its delay in excess of `least_ns`.
    pub ack_delays_ns: Vec<i64>,
    /// Overtaken segments: for each, the number of segments that overtook it.
    pub overtaken: Vec<u32>,
}

/// Bytes of the options of a SYN.
fn syn_options(syn: &Options) -> u32 {
    let bytes = syn.mss.map_or(0, |_| 4)
        + syn.window_scale.map_or(0, |_| 3)
        + syn.timestamps.map_or(0, |_| 10)
        + if syn.sack_permitted { 2 } else { 0 };
    u32::next_multiple_of(bytes, 4)
}

/// Data of one segment in flight.
#[derive(Debug, Clone, Copy)]
struct Unit {
    end: i64,
    copies: u32,
    newest: usize,
}

/// Trace of a flow from its acknowledgments. If their waiting times in a queue of the reverse path
/// are known, these are subtracted from delays and delivery times.
pub fn trace_from_acks(observed: &Observed, waits: Option<&AckWaits>) -> FlowTrace {
    let mut trace = FlowTrace {
        is_round_trip: true,
        resolution_ns: waits.map_or(0, |waits| waits.resolution_ns),
        ..FlowTrace::from_observed(observed)
    };
    let mut builder = Builder::default();
    let waited = |index: usize| waits.map_or(0, |waits| waits.each_ns[index]);
    let (sent, acks) = (&observed.packet_log.sent, &observed.packet_log.acks);
    let mut next = 0;
    for passed in sent {
        while acks.get(next).is_some_and(|it| it.time_ns <= passed.time_ns) {
            builder.take_ack(&mut trace, &acks[next], waited(next));
            next += 1;
        }
        builder.send(&mut trace, passed);
    }
    for (index, it) in acks.iter().enumerate().skip(next) {
        builder.take_ack(&mut trace, it, waited(index));
    }
    builder.judge(&mut trace, &observed.verdicts);
    trace.compute_least_delay();
    trace.leave_out_held();
    trace
}

impl FlowTrace {
    pub(crate) fn from_observed(observed: &Observed) -> Self {
        let mss = observed.syns.iter().flatten().filter_map(|syn| syn.mss).min();
        let options = if observed.has_timestamps { TIMESTAMPS_BYTES } else { 0 };
        let largest = observed.packet_log.sent.iter().map(|it| it.payload_bytes).max().unwrap_or(0);
        let unit = mss.map_or(UNIT, |mss| u32::from(mss).saturating_sub(options)).max(UNIT_MIN);
        // The path may require smaller segments than both ends permit. Packets that are slightly
        // longer are single segments, too: a network card divided the data differently.
        let is_single = largest > 0 && largest <= unit + unit / LONGER;
        let unit = if is_single { largest } else { unit };
        let ip = observed.ip_header_bytes();
        let header_wire_bytes = ip + TCP_BYTES + options + OVERHEAD_BYTES;
        let syn = |syn: &Option<Options>| {
            ip + TCP_BYTES + syn.as_ref().map_or(0, syn_options) + OVERHEAD_BYTES
        };
        Self {
            segment_bytes: unit,
            syn_wire_bytes: observed.syns.each_ref().map(syn),
            header_wire_bytes,
            segment_wire_bytes: header_wire_bytes + unit,
            ..Self::default()
        }
    }

    /// Computes the minimum delay when all delays are known.
    pub(crate) fn compute_least_delay(&mut self) {
        let delays = self.copies.iter().filter_map(|copy| copy.delay_ns);
        self.least_ns = delays.min().unwrap_or(0);
    }

    /// Copy of one segment of a captured packet. The segment begins at `start` and has
    /// `payload_bytes` bytes.
    pub(super) fn segment_copy(
        &self,
        passed: &CapturedData,
        (start, payload_bytes): (i64, u32),
    ) -> SegmentCopy {
        SegmentCopy {
            sent_ns: Some(passed.sent_ns),
            time_ns: passed.time_ns,
            start,
            wire_bytes: self.header_wire_bytes + payload_bytes,
            delay_ns: None,
            lost: None,
        }
    }

    /// Removes delays that may include the delay of a delayed ACK. These are the delays of
    /// acknowledgments for a single segment, unless another segment arrived just after it. Nothing
    /// is removed if the receiver acknowledges every segment, or if this is unknown because nearly
    /// all segments were sent one at a time.
    fn leave_out_held(&mut self) {
        let (single, several): (Vec<&Delivery>, Vec<&Delivery>) =
            self.deliveries.iter().partition(|delivery| delivery.segments == 1);
        let followed = single.iter().filter(|delivery| self.is_followed(delivery)).count();
        if followed > several.len()
            || 2 * single.len() > self.deliveries.len() && several.len() < HELD_MIN
        {
            return;
        }
        let held: Vec<usize> = single
            .iter()
            .filter(|delivery| !self.is_followed(delivery))
            .map(|delivery| delivery.newest)
            .collect();
        for index in held {
            let held = self.copies[index].delay_ns.take();
            self.ack_delays_ns.extend(held.map(|delay| delay - self.least_ns));
        }
    }

    /// True if another segment arrived just after the newest one of this delivery.
    fn is_followed(&self, delivery: &Delivery) -> bool {
        let arrives = |copy: &&SegmentCopy| copy.lost.is_none_or(|lost| lost < 0.5);
        let next = self.copies[delivery.newest + 1..].iter().find(arrives);
        let next = next.and_then(|copy| copy.sent_ns);
        self.copies[delivery.newest].sent_ns.zip(next).is_some_and(|(own, next)| {
            next - own <= self.least_ns / NEAR && next + self.least_ns <= delivery.time_ns
        })
    }

    /// Segments of a packet, each with its position and payload; there are several if a network
    /// card has merged them.
    pub(super) fn segments_of(
        &self,
        passed: &CapturedData,
    ) -> impl Iterator<Item = (i64, u32)> + use<> {
        let (start, payload, unit) =
            (passed.start, passed.payload_bytes, self.segment_bytes.max(1));
        (0..payload.div_ceil(unit))
            .map(move |index| (start + i64::from(index * unit), unit.min(payload - index * unit)))
    }
}

/// Waiting times of acknowledgments in a queue of the reverse path.
#[derive(Debug, Clone)]
pub struct AckWaits {
    /// Waiting time of each acknowledgment; 0 if unknown.
    pub each_ns: Vec<i64>,
    /// Resolution of the receiver's clock. A waiting time may be too short by up to this time.
    pub resolution_ns: i64,
}

#[derive(Debug, Default)]
struct Builder {
    /// Data in flight, by first position.
    under_way: BTreeMap<i64, Unit>,
    /// For each copy, the index of its retransmission; none for an original.
    records: Vec<Option<usize>>,
    /// Indices of the copies of each position, in the order of sending.
    chains: BTreeMap<i64, Vec<usize>>,
    delivered: Vec<bool>,
    highest: Option<usize>,
    /// Newest delivered copy of data that were sent once. Which copy of other data has arrived is
    /// not known: after a spurious timeout, it is the first one, not the retransmission.
    highest_single: Option<usize>,
    is_broken: bool,
    acked: i64,
}

impl Builder {
    fn send(&mut self, trace: &mut FlowTrace, passed: &CapturedData) {
        for (start, payload) in trace.segments_of(passed) {
            let index = trace.copies.len();
            let end = start + i64::from(payload);
            trace.copies.push(trace.segment_copy(passed, (start, payload)));
            self.records.push(passed.retransmission_record);
            self.delivered.push(false);
            let mut is_known = false;
            for (_, unit) in self.under_way.range_mut(start..end) {
                (unit.copies, unit.newest, is_known) = (unit.copies + 1, index, true);
            }
            if is_known || passed.retransmission_record.is_some() || start < self.acked {
                self.chains.entry(start).or_default().push(index);
            } else {
                self.under_way.insert(start, Unit { end, copies: 1, newest: index });
                self.chains.insert(start, vec![index]);
            }
        }
    }

    fn take_ack(&mut self, trace: &mut FlowTrace, packet: &ObservedAck, waited_ns: i64) {
        let mut units = Vec::new();
        while let Some(entry) = self.under_way.first_entry()
            && entry.get().end <= packet.ack
        {
            units.push(entry.remove());
        }
        self.acked = self.acked.max(packet.ack);
        for (left, right) in packet.blocks.iter().filter(|block| block.1 > packet.ack) {
            let found: Vec<i64> = self
                .under_way
                .range(*left..*right)
                .filter(|(_, unit)| unit.end <= *right)
                .map(|(start, _)| *start)
                .collect();
            units.extend(found.iter().filter_map(|start| self.under_way.remove(start)));
        }
        if units.is_empty() {
            // A duplicate ACK without SACK blocks reports a delivery, but not which segment.
            let is_duplicate = packet.ack == self.acked && packet.payload_bytes == 0;
            self.is_broken |= is_duplicate && !self.under_way.is_empty();
            return;
        }
        // Acknowledgments are ordered by their departures, but the waiting times are inexact.
        let before_ns = trace.deliveries.last().map_or(i64::MIN, |delivery| delivery.time_ns);
        let time_ns = (packet.time_ns - waited_ns).max(before_ns);
        self.deliver(trace, &mut units, (packet, time_ns));
    }

    fn deliver(
        &mut self,
        trace: &mut FlowTrace,
        units: &mut [Unit],
        (packet, time_ns): (&ObservedAck, i64),
    ) {
        let is_plain = packet.blocks[0] == (0, 0);
        let cumulative = units.iter().all(|unit| unit.end <= packet.ack);
        units.sort_unstable_by_key(|unit| unit.newest);
        let (first, newest) = (units[0].newest, units[units.len() - 1].newest);
        let is_whole = newest + 1 - first == units.len() && units.iter().all(|it| it.copies == 1);
        let is_next = self.highest.map_or(first == 0, |highest| first == highest + 1);
        let wire = |unit: &Unit| u64::from(trace.copies[unit.newest].wire_bytes);
        let wire_bytes = units.iter().map(wire).sum();
        for unit in units.iter() {
            self.delivered[unit.newest] = true;
        }
        let before = self.highest_single.unwrap_or(0);
        let mut single = units.iter().filter(|unit| unit.copies == 1).map(|unit| unit.newest);
        if cumulative {
            let late = single.clone().filter(|newest| *newest < before);
            trace.overtaken.extend(late.map(|newest| (before - newest) as u32));
        }
        let is_late = newest < before && units[units.len() - 1].copies == 1;
        self.highest_single = self.highest_single.max(single.next_back());
        // Data that waited for a gap to be filled have no delay of their own, since they are
        // acknowledged together with the data that fill the gap.
        if units.iter().all(|unit| unit.copies == 1) && !is_late {
            let copy = &mut trace.copies[newest];
            copy.delay_ns = copy.sent_ns.map(|sent| time_ns - sent);
        }
        let follows = is_whole && is_next && !self.is_broken && !trace.deliveries.is_empty();
        self.is_broken = self.highest.is_some_and(|highest| newest < highest) || !is_whole;
        self.highest = Some(self.highest.map_or(newest, |highest| highest.max(newest)));
        let segments = units.len() as u32;
        trace.deliveries.push(Delivery {
            time_ns,
            wire_bytes,
            newest,
            segments,
            is_consecutive: follows,
            is_plain,
        });
    }

    /// Computes the probability of loss for each copy.
    fn judge(&mut self, trace: &mut FlowTrace, verdicts: &[Verdict]) {
        let under_way = std::mem::take(&mut self.under_way);
        for (start, chain) in std::mem::take(&mut self.chains) {
            let is_open = under_way.contains_key(&start);
            // Probability that none of the earlier copies has arrived.
            let mut none = 1.0;
            for (place, index) in chain.iter().enumerate() {
                let next = chain.get(place + 1).and_then(|next| self.records[*next]);
                let verdict = next.map(|record| &verdicts[record]);
                let own = self.records[*index].map(|record| &verdicts[record]);
                let copy = &mut trace.copies[*index];
                copy.lost = if own.is_some_and(|own| own.has_dsack) {
                    Some(0.0)
                } else if let Some(verdict) = verdict {
                    match verdict.needless {
                        Necessity::No if verdict.is_by_timeout_alone => None,
                        Necessity::No => Some(verdict.confidence),
                        Necessity::Yes if none > 0.5 => Some(1.0 - verdict.confidence),
                        _ => None,
                    }
                } else if is_open || none < 0.5 {
                    None
                } else {
                    Some(0.0)
                };
                if copy.lost.is_some_and(|lost| lost < 0.5) {
                    none = 0.0;
                }
            }
        }
    }
}
