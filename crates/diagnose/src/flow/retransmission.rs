//! Handling of one direction's retransmissions: their kind, their episode, and the evidence
//! available when they pass the capture.

use super::account::Limit;
use super::direction::{Direction, EpisodeRecord, PacketContext, TimeoutRecord};
use super::pacing::Spacing;
use super::record::RetransmissionRecord;
use super::sender::{State, UnclassifiedRetransmission};
use crate::answer::{Evidence, Kind, Necessity, Proof};
use crate::packet::{ControlBits, Packet};

impl Direction {
    /// Handles a retransmission.
    #[cold]
    pub(super) fn on_retransmission(
        &mut self,
        packet: &Packet,
        at: (i64, i64),
        original: Option<u64>,
        now: &PacketContext,
    ) {
        let (start, end) = at;
        let has_data = packet.payload_bytes > 0;
        let kind = if packet.control.any(ControlBits::SYN) {
            Kind::Syn
        } else if !has_data {
            Kind::Fin
        } else if packet.payload_bytes == 1 && end <= self.highest_ack {
            Kind::KeepAlive
        } else if self.is_established
            && self.sender.window == Some(0)
            && start <= self.sender.snd_una
        {
            Kind::WindowProbe
        } else {
            return self.repair(packet, at, original, now);
        };
        let limit = if kind == Kind::Syn { Limit::Handshake } else { self.account.limit() };
        self.end_interval(now.sent_ns, limit);
        self.sender.on_new_data(now.sent_ns, true);
        self.add_record(packet, at, kind, now);
        if let Some(last) = self.records.all.last_mut() {
            last.original = original;
        }
    }

    /// Handles a hole from `end` to `start`: if it begins at the recovery point, the missing data
    /// were sent before the first retransmission, when the queue overflowed. On a path that
    /// reorders packets they may just be late.
    pub(super) fn extend_recovery(&mut self, end: i64, start: i64) {
        if let State::Recovery(until) = &mut self.sender.state
            && *until == end
            && self.reordered == 0
            && let Some(episode) = self.episodes.last_mut()
        {
            (*until, episode.end_position) = (start, start);
        }
    }

    /// Time of sending of the last copy on the scoreboard, and bytes sent until then.
    fn previous_copy(&self, start: i64, end: i64) -> Option<(i64, i64)> {
        self.scoreboard.range(start, end).map(|span| (span.sent_ns, span.sent_bytes)).max()
    }

    /// True if a copy of the data has passed the capture, apart from the current packet.
    fn was_captured(&self, start: i64, end: i64) -> bool {
        self.scoreboard.range(start, end).any(|span| span.copies > 0)
    }

    /// Notes that the previous copy of the data may have been lost.
    fn note_loss(&mut self, index: u32, (start, end): (i64, i64), previous: Option<(i64, i64)>) {
        if let Some(passed) = previous {
            let was_captured = self.was_captured(start, end);
            self.detectors.policer.on_loss(index, passed, end - start, was_captured);
        }
    }

    /// A retransmission, with what is known of its previous copy.
    fn attempt(
        &self,
        (start, end): (i64, i64),
        previous: Option<(i64, i64)>,
        now: &PacketContext,
    ) -> UnclassifiedRetransmission {
        let was_captured = self.was_captured(start, end);
        // The acknowledgment of earlier copies may have passed the capture, which removes them from
        // the scoreboard, although it has not reached the sender.
        let resent_ns = self.records.last_at(start).map(|record| record.sent_ns);
        let previous_ns = previous.map(|(sent_ns, _)| sent_ns).or(resent_ns).unwrap_or(0);
        let is_previous_known = was_captured || resent_ns.is_some();
        // A copy that was lost before the capture was sent between the data around it.
        let before_ns = self.scoreboard.range(start - 1, start).map(|span| span.sent_ns).next();
        let earliest_previous_ns =
            if is_previous_known { previous_ns } else { before_ns.unwrap_or(0).min(previous_ns) };
        let is_far = now.sender_loop.is_some_and(|it| it > now.receiver_loop.unwrap_or(0));
        UnclassifiedRetransmission {
            time_ns: now.sent_ns,
            start,
            end,
            previous_ns,
            is_previous_known,
            earliest_previous_ns,
            is_far,
            // If the capture is far from the sender, and the packets have no timestamps, the time
            // of sending is unknown: queues before the capture may have delayed the packet.
            is_time_unknown: is_far && now.timestamp_tick_ns == 0,
            is_queued: self.is_queued(now),
            snd_max: self.scoreboard.end,
            is_followed: self.is_followed_at_once(now.time_ns),
            has_outlasted_timer: self.delay_spike.as_ref().is_some_and(|it| it.made_timeout(start)),
        }
    }

    fn repair(&mut self, packet: &Packet, at: (i64, i64), first: Option<u64>, now: &PacketContext) {
        let (start, end) = at;
        let previous = self.previous_copy(start, end);
        let attempt = self.attempt((start, end), previous, now);
        let since = self.sender.last_activity_ns();
        let had_reduced = self.sender.has_reduced;
        let third_ns = self.sender.third_ns;
        let queued = self.sender.last_packet_queued_ns();
        let verdict = self.sender.on_retransmission(&attempt);
        let index = self.records.all.len() as u32;
        let is_timeout = verdict.kind == Kind::Timeout;
        if let Some(last) = self.episodes.last_mut().filter(|_| verdict.refutes_undo) {
            (last.is_undone, last.end_ns) = (false, None);
        }
        if verdict.begins_episode && verdict.kind != Kind::TailLossProbe {
            self.sender.is_reduced_by_ecn = false;
            // A repeated timeout continues the episode of the first.
            let continues = is_timeout && verdict.number > 1;
            if !continues {
                let (trigger, start_ns, end_position) = (index, now.sent_ns, self.scoreboard.end);
                let (rtt_ns, end_ns) = (self.sender.rtts.current_ns(), None);
                let shorter_rtt_share = self.sender.rtts.take_shorter_share(rtt_ns);
                let episode = EpisodeRecord {
                    is_timeout,
                    was_bottleneck_limited: self.account.limit() == Limit::Bottleneck,
                    trigger,
                    rtt_ns,
                    shorter_rtt_share,
                    start_ns,
                    end_position,
                    end_ns,
                    had_reduced,
                    is_undone: false,
                };
                self.episodes.push(episode);
                self.clock_loss(start, is_timeout);
            }
        }
        let limit = if is_timeout && verdict.begins_episode {
            let (waited_ns, rto_ns) = (verdict.waited_ns, verdict.rto_ns);
            self.timeouts.push(TimeoutRecord { index, waited_ns, rto_ns });
            self.attribute_delay_spike_to_timeout(start);
            // A timeout marks everything in flight lost, including earlier retransmissions.
            self.retransmitted_bytes = 0;
            Limit::Timeout
        } else {
            self.account.limit()
        };
        let length = self.end_interval(now.sent_ns, limit);
        if verdict.kind == Kind::Fast {
            self.begin_fast_recovery(start, third_ns, now);
        }
        self.attribute_time_since_data(limit == Limit::Timeout);
        if limit == Limit::Timeout && verdict.number == 1 && self.busy_period.is_some() {
            self.attribute_queue_to_timeout(queued);
        }
        self.undecided_times.on_data(Spacing::Unknown, false);
        self.stall((since, length), limit, now);
        self.add_record(packet, at, verdict.kind, now);
        self.note_loss(index, (start, end), previous);
        let episode = self.current_episode();
        if let Some(record) = self.records.all.last_mut() {
            record.original = first;
            record.consecutive_timeouts = if is_timeout { verdict.number } else { 0 };
            record.kind_confidence = verdict.confidence;
            record.episode = episode.filter(|_| verdict.kind != Kind::TailLossProbe);
        }
    }

    /// Handles the first retransmission, of data from `start`, of a fast recovery.
    fn begin_fast_recovery(&mut self, start: i64, third_ns: Option<i64>, now: &PacketContext) {
        if self.episodes.len() == 1 {
            self.note_lost_tail(now);
        }
        self.attribute_time_since_loss(third_ns, now);
        self.end_recovery_of_reno(start);
    }

    /// Ends the fast recovery of Reno that began with a retransmission of data from `start`, if an
    /// acknowledgment of these data had reached the sender when the retransmission passed the
    /// receiver's end. It must have reached the sender after the retransmission was sent.
    fn end_recovery_of_reno(&mut self, start: i64) {
        let was_acked = self.busy_period.is_some() && start < self.sender.snd_una;
        if was_acked && self.sender.is_reno() {
            self.sender.leave_recovery_early();
        }
    }

    /// Adds a retransmission to the records, with the evidence available at this time.
    pub(super) fn add_record(
        &mut self,
        packet: &Packet,
        (start, end): (i64, i64),
        kind: Kind,
        now: &PacketContext,
    ) {
        let stamp = self.send_order;
        let value = packet.options.timestamps.map(|(value, _)| value);
        let previous =
            self.scoreboard.range(start, end).find_map(|span| span.send_order.timestamp_value);
        let all_sacked = {
            let mut spans = self.scoreboard.range(start, end).peekable();
            // The test for a first span is needed, because `all` is true for an empty range.
            spans.peek().is_some() && spans.all(|span| span.sacked)
        };
        let mut record = RetransmissionRecord {
            packet: packet.number,
            time_ns: now.time_ns,
            sent_ns: now.sent_ns,
            start,
            end,
            length_bytes: packet.payload_bytes,
            timestamp_value: value,
            send_order: stamp,
            previous_timestamp_value: previous,
            kind,
            consecutive_timeouts: 0,
            kind_confidence: 0.98,
            original: None,
            needless: Necessity::Unknown,
            needless_confidence: 0.5,
            proof: Proof { evidence: Evidence::None, packet: None },
            episode: None,
            has_dsack: false,
            // The capture shows the acknowledgment before the retransmission, but it reaches the
            // sender later. Its timestamp shows the sender that an earlier copy has arrived.
            frame_informing_sender: value.and(self.sender.frame_acking(end)),
            is_acked: Some(end) <= self.captured_ack,
            is_copy_unknown: false,
            previous_retransmission: self
                .scoreboard
                .range(start, end)
                .find_map(|span| span.retransmission),
        };
        let sure = |evidence| Proof { evidence, packet: None };
        if kind == Kind::NetworkDuplicate || Some(end) <= self.captured_ack {
            record.add_proof(Necessity::Yes, 0.999, sure(Evidence::AcknowledgedBefore));
        } else if all_sacked {
            record.add_proof(Necessity::Yes, 0.99, sure(Evidence::SackedBefore));
        }
        self.records.push(record);
    }
}
