//! Acknowledgments of one direction's data, and their evidence on whether retransmissions were
//! needed.

use super::direction::{Direction, PacketContext};
use super::needless::{Echo, needless_evidence};
use super::packet_log::ObservedAck;
use super::path::{DeliveredData, FullSegmentAck};
use super::patterns::pauses;
use super::release::is_far;
use super::sender::Ack;
use crate::answer::Proof;
use crate::packet::{ControlBits, Packet};

/// Number of segments that one delayed ACK covers.
pub const SEGMENTS_PER_DELAYED_ACK: i64 = 2;

/// Acknowledgments count as thinned if at least one in this number covers more segments than a
/// delayed ACK does. The number is a convention: a single lost acknowledgment must not invalidate
/// the evidence of all others.
const THINNED: u32 = 20;

/// Maximum of the tolerance that [`rtt_tolerance_ns`] returns, at the receiver's end: the slowest
/// link of the path lies before the capture, and a full segment takes longer there than a SYN.
const LOOP_SLACK_NS: i64 = 500_000;
/// Maximum of the tolerance elsewhere. The value is calibrated on random flows of
/// `tools/diagnose_truth.py` (30000–30399), over the range from 0.12 to 0.5 ms: a full segment
/// takes 0.12 ms at 100 Mbit/s, and a host some tens of microseconds.
const LOOP_SLACK_BEFORE_QUEUES_NS: i64 = 250_000;

impl Direction {
    /// Handles an acknowledgment of this direction's data. Returns the time since the transmission
    /// of the newest data that it acknowledges for the first time.
    pub fn on_ack(&mut self, packet: &Packet, now: &PacketContext) -> Option<i64> {
        if !packet.control.any(ControlBits::ACK) {
            return None;
        }
        // Data may have waited in queues on their way to the capture point. The limit that applies
        // to them is the one at the time at which they were sent, before the capture point saw
        // them.
        self.advance_to(now.time_ns - self.longest_queueing_ns);
        let ack = self.position(packet.ack, false);
        let is_syn = packet.control.any(ControlBits::SYN);
        let scale = if is_syn { 0 } else { self.window_scale.unwrap_or(0) };
        let window = i64::from(packet.window) << scale;
        let is_known = self.window_scale.is_some() || is_syn;
        // RFC 5681 §2: a duplicate ACK leaves the advertised window unchanged. An ACK with SACK
        // blocks counts as a duplicate even if the advertised window has changed.
        let is_duplicate = packet.payload_bytes == 0
            && !packet.control.any(ControlBits::SYN | ControlBits::FIN | ControlBits::RST)
            && ack == self.highest_ack
            && self.scoreboard.first_span().is_some()
            && (window == self.receive_window || !packet.options.sack.as_slice().is_empty());
        if self.packet_log.is_some() {
            self.watch_ack(packet, (ack, window), now);
        }
        let has_blocks = !packet.options.sack.as_slice().is_empty();
        self.newest_ns = 0;
        self.original_end = i64::MAX;
        self.repaired_bytes = 0;
        let (sacked_from, sacked_to) = self.selective(packet, ack, now);
        if is_duplicate && !has_blocks && self.sender.has_sack {
            let within_ns = 2 * self.sender.estimator.srtt_ns().unwrap_or(0);
            self.records.on_answer_to_duplicate(ack, within_ns, now);
        }
        // An ACK that responds to duplicate data does not report a gap (RFC 2883 §4).
        let is_duplicate = is_duplicate && (!has_blocks || sacked_from > 0);
        let advances = ack > self.highest_ack;
        self.longest_acked = 0;
        self.path.loops_ns = now.rtt().or(self.path.loops_ns);
        let sample = self.cumulative(packet, ack, now);
        let fills_gap = advances && self.has_gap;
        self.has_gap = if advances { false } else { self.has_gap || is_duplicate };
        let rtt_ns = sample.map(|(_, ns)| ns + now.sender_loop.unwrap_or(0));
        if let Some(rtt_ns) = rtt_ns.filter(|_| !is_syn && !has_blocks) {
            self.detectors.queueing.on_sample(rtt_ns, now.time_ns);
        }
        self.highest_ack = self.highest_ack.max(ack);
        self.captured_ack = self.captured_ack.max(Some(ack));
        self.receive_window = window;
        if self.is_established {
            self.on_evidence_of_ack(packet, sample.map(|(since_ns, _)| since_ns), now);
        }
        let window = if is_known { window } else { -1 };
        self.sender.enqueue_ack(Ack {
            packet: now.packet,
            effective_ns: effective_ns(now),
            ack,
            is_duplicate,
            fills_gap,
            sacked_from,
            sacked_to,
            original_end: self.original_end,
            window,
            newest_ns: self.newest_ns,
            rtt_ns,
            timestamp_value: packet.options.timestamps.map(|(value, _)| value),
            repaired_bytes: self.repaired_bytes,
            held_ns: sample.map(|(ns, _)| ns - now.receiver_loop.unwrap_or(0)),
        });
        sample.map(|(ns, _)| ns)
    }

    /// Adds an acknowledgment to the packet log, if the path of the flow is measured.
    #[cold]
    fn watch_ack(&mut self, packet: &Packet, (ack, window): (i64, i64), now: &PacketContext) {
        let mut blocks = packet.options.sack.as_slice().iter();
        let blocks = std::array::from_fn(|_| {
            blocks
                .next()
                .map_or((0, 0), |it| (self.position(it.0, false), self.position(it.1, false)))
        });
        let observed = ObservedAck {
            time_ns: now.time_ns,
            ack,
            blocks,
            window,
            timestamp_value: packet.options.timestamps.map(|(value, _)| value),
            payload_bytes: packet.payload_bytes,
            is_syn: packet.control.any(ControlBits::SYN),
        };
        self.packet_log.iter_mut().for_each(|log| log.acks.push(observed));
    }

    /// Evaluates an acknowledgment as evidence of a pattern (a known fault or habit). `since_ns` is
    /// the time since the newest data that it acknowledges have passed the capture.
    fn on_evidence_of_ack(&mut self, packet: &Packet, since_ns: Option<i64>, now: &PacketContext) {
        self.ecn.on_ack(packet);
        if packet.control.any(ControlBits::SYN | ControlBits::RST) {
            return;
        }
        let longest = self.longest_acked.min(self.segment_bytes(packet));
        self.detectors.black_hole.on_ack(self.highest_ack, longest, now.time_ns);
        self.detectors.windows.on_ack(self.receive_window);
        self.detectors.pauses.on_ack(&pauses::ReceiverPacket {
            packet: now.packet,
            time_ns: now.time_ns,
            window: self.receive_window,
            payload_bytes: packet.payload_bytes,
            undelayed_ns: since_ns
                .map(|ns| now.time_ns - ns + now.receiver_loop.unwrap_or(ns).min(ns)),
            acks_all_data: self.highest_ack >= self.scoreboard.end,
            sender_loop_ns: now.sender_loop.unwrap_or(0),
        });
    }

    /// Evaluates the SACK blocks; returns the start and end of the highest one.
    fn selective(&mut self, packet: &Packet, ack: i64, now: &PacketContext) -> (i64, i64) {
        let blocks = packet.options.sack.as_slice();
        let mut highest = (0, ack);
        for (index, (left, right)) in blocks.iter().enumerate() {
            let (left, right) = (self.position(*left, false), self.position(*right, false));
            if left >= right || right > self.scoreboard.end || right - left > 1 << 30 {
                continue;
            }
            let outer = blocks
                .get(1)
                .map(|(left, right)| (self.position(*left, false), self.position(*right, false)));
            // RFC 2883 §4: a first block below the acknowledgment, or within the second block, is a
            // DSACK.
            let is_within = outer.is_some_and(|(from, to)| from <= left && right <= to);
            if index == 0 && (right <= ack || is_within) {
                self.has_dsack = true;
                self.records.on_dsack(left, right, now.packet);
                continue;
            }
            // Only blocks above the acknowledgment show a gap.
            if right > highest.1 {
                highest = (left, right);
            }
            let mut news = Vec::new();
            let has_news = self.scoreboard.range(left, right).any(|span| !span.sacked);
            if has_news {
                for span in self.scoreboard.range_mut(left, right) {
                    if !span.sacked {
                        self.newest_ns = self.newest_ns.max(span.newest_delivered(now));
                        self.longest_acked = self.longest_acked.max(span.end - span.start);
                        span.sacked = true;
                        if span.retransmission.is_some() {
                            self.repaired_bytes += span.end - span.start;
                        } else {
                            self.original_end = self.original_end.min(span.end);
                        }
                        news.extend(span.retransmission);
                    }
                }
            }
            for index in news {
                self.acknowledged(index, None, now);
            }
        }
        highest
    }

    /// The acknowledgment `ack`, as evidence on retransmissions of the data that it covers.
    fn echo(&self, packet: &Packet, ack: i64) -> Echo {
        let (head, before) = (self.scoreboard.first_span(), self.highest_ack);
        let mut echo = Echo {
            before,
            // An ACK of many segments is no evidence if its first data are missing in the capture,
            // because an earlier ACK may be missing, too.
            is_jump: ack - before > SEGMENTS_PER_DELAYED_ACK * self.largest_payload
                && head.is_some_and(|span| span.copies > 0),
            head_ns: head.map_or(i64::MAX, |span| span.last_ns),
            echoed: packet.options.timestamps.map(|(_, echo)| echo),
            is_head_older: false,
            reports_arrivals: self.sender.has_sack,
        };
        let of_head = head.and_then(|span| span.retransmission);
        let records = &self.records.all;
        echo.is_head_older =
            of_head.is_some_and(|index| echo.precedes(&records[index as usize]) == Some(true));
        echo
    }

    /// Evaluates the cumulative acknowledgment. Returns two times for the newest of the
    /// acknowledged data that were sent only once: the time since they passed the capture, and the
    /// time since they would have passed it without queues.
    fn cumulative(&mut self, packet: &Packet, ack: i64, now: &PacketContext) -> Option<(i64, i64)> {
        let before = self.highest_ack;
        if ack <= before {
            return None;
        }
        let mut rtt = None;
        let (mut delivered, mut is_clean) = (0, true);
        let (mut segments, mut are_full, mut first_ns) = (0, true, None);
        let echo = self.echo(packet, ack);
        while let Some(span) = self.scoreboard.pop_acked(ack) {
            delivered += span.end - span.start;
            segments += 1;
            are_full &= span.end - span.start == self.largest_payload;
            first_ns = first_ns.or(Some(span.sent_ns));
            // A span whose only captured copy is a retransmission was lost before the capture.
            is_clean &= !span.sacked && span.copies == 1 && span.retransmission.is_none();
            if span.retransmission.is_some() && !span.sacked {
                self.repaired_bytes += span.end - span.start;
            }
            if !span.sacked {
                self.newest_ns = self.newest_ns.max(span.newest_delivered(now));
            }
            if span.copies > 0 {
                self.longest_acked = self.longest_acked.max(span.end - span.start);
            }
            if span.copies == 0 {
                self.not_captured += span.end - span.start;
            } else if span.retransmission.is_none() && !span.sacked {
                self.original_end = self.original_end.min(span.end);
                let [last_ns, sent_ns] = [span.last_ns, span.sent_ns].map(|ns| now.time_ns - ns);
                rtt = if span.copies == 1 { Some((last_ns, sent_ns, span.flight)) } else { rtt };
            }
            // If the span was selectively acknowledged, it was judged when the SACK block arrived.
            if let Some(index) = span.retransmission.filter(|_| !span.sacked) {
                self.acknowledged(index, Some(&echo), now);
            }
        }
        // A cumulative acknowledgment gives no RTT of data that waited for a gap to be filled.
        let rtt = rtt.filter(|_| is_clean);
        if is_clean {
            self.ack_widths[usize::from(echo.is_jump)] += 1;
        }
        self.measure((delivered, is_clean), rtt, now);
        // An acknowledgment that ends a gap covers data that arrived much earlier.
        let is_clean = is_clean && !self.has_gap;
        if let (true, true, Some(first_ns)) = (is_clean, are_full && rtt.is_some(), first_ns) {
            self.path.on_full_segment_ack(&FullSegmentAck {
                segment_bytes: self.largest_payload,
                segments,
                since_first_ns: now.time_ns - first_ns + now.sender_loop.unwrap_or(0),
            });
        }
        if ack > self.scoreboard.end {
            self.acked_before_captured = (self.scoreboard.end, ack, now.time_ns);
            self.not_captured += ack - self.scoreboard.end;
            self.scoreboard.skip_to(ack);
        }
        rtt.map(|(last_ns, sent_ns, _)| (last_ns, sent_ns))
    }

    /// True if acknowledgments are lost or merged on the return path, for example by a slow link:
    /// an acknowledgment of many segments is then no evidence of earlier arrivals.
    fn thins_acks(&self) -> bool {
        let [usual, wide] = self.ack_widths;
        wide * THINNED > usual
    }

    /// Updates the estimates of the path from an acknowledgment.
    fn measure(
        &mut self,
        (bytes, is_clean): (i64, bool),
        newest: Option<(i64, i64, i64)>,
        now: &PacketContext,
    ) {
        let (Some((since_ns, rtt, flight)), true) = (newest, is_clean) else {
            self.path.discard_last_ack();
            return;
        };
        let (time_ns, sent_ns) = (now.time_ns, now.time_ns - rtt);
        let least_ns = now.receiver_loop.unwrap_or(rtt);
        // At the receiver's end, data have left the queues that delayed them.
        let flight = (!now.is_at_receiver()).then_some(flight);
        let may_be_delayed = bytes < SEGMENTS_PER_DELAYED_ACK * self.largest_payload
            && self.scoreboard.first_span().is_none();
        // There it is known how long the receiver has waited with the acknowledgment.
        let held_ns = if now.is_at_receiver() { since_ns - least_ns } else { 0 };
        let data =
            DeliveredData { time_ns, sent_ns, bytes, least_ns, flight, may_be_delayed, held_ns };
        self.path.on_delivered(&data);
    }

    /// Judges a retransmission whose data have been acknowledged, and earlier retransmissions of
    /// the same data.
    fn acknowledged(&mut self, index: u32, echo: Option<&Echo>, now: &PacketContext) {
        let thins_acks = self.thins_acks();
        let mut next = Some(index);
        while let Some(index) = next {
            let record = &mut self.records.all[index as usize];
            next = record.previous_retransmission.filter(|before| *before < index);
            if record.is_acked {
                return;
            }
            record.is_acked = true;
            // Without SACK, any copy of the data may have arrived since the gap before them opened.
            record.is_copy_unknown = echo.is_some_and(|echo| echo.hides_arrival(record));
            if echo.is_some_and(|echo| echo.is_older_than(record)) {
                record.frame_informing_sender = record.frame_informing_sender.or(Some(now.packet));
            }
            let least = now.receiver_loop;
            if let Some((needless, confidence, evidence)) =
                needless_evidence(record, echo, now, least, thins_acks)
            {
                let proof = Proof { evidence, packet: Some(now.packet) };
                record.add_proof(needless, confidence, proof);
            }
        }
    }
}

/// Time at which an acknowledgment that passes the capture now takes effect at the sender, plus the
/// time that the data that it releases take from there to the capture.
fn effective_ns(now: &PacketContext) -> i64 {
    // Near the sender, the least round trip is the time in which the host answered a SYN, and it
    // may answer an acknowledgment sooner.
    if !is_far(now) {
        return now.time_ns;
    }
    // The tolerance is subtracted because the least round trip measured so far may exceed the true
    // minimum.
    now.time_ns + now.sender_loop.unwrap_or(0) - rtt_tolerance_ns(now)
}

/// Tolerance of the least round trip between the capture and the sender. An acknowledgment may take
/// effect at the sender earlier than assumed, by up to this time.
pub fn rtt_tolerance_ns(now: &PacketContext) -> i64 {
    let most_ns = if now.is_at_receiver() { LOOP_SLACK_NS } else { LOOP_SLACK_BEFORE_QUEUES_NS };
    (now.sender_loop.unwrap_or(0) / 2).min(most_ns)
}
