//! Time since data were last sent. The next packet may change the limit of this time.

use super::account::Limit;
use super::direction::{Direction, PacketContext};
use super::release::is_far;

/// Part of the time since data were last sent. The next packet may show that another limit was in
/// force: a timer, or, if the next data came late, the application.
#[derive(Debug, Clone, Copy)]
pub struct IntervalSinceData {
    /// Limit in force.
    pub limit: Limit,
    /// Index of the limit's episode; none if the limit belongs to no episode.
    pub episode: Option<usize>,
    /// Length in nanoseconds.
    pub length_ns: i64,
    /// True outside loss recovery.
    pub is_open: bool,
    /// True if the sender has retransmitted everything after a timeout, and its window has room.
    pub has_resent_all: bool,
    /// True if a retransmission followed this interval and restarted the timer.
    pub is_before_repair: bool,
    /// Bytes that fitted into the congestion window; none if unknown.
    pub room_bytes: Option<i64>,
}

impl Direction {
    /// Determines from new data which limit held since the data before them.
    pub(super) fn end_time_since_data(
        &mut self,
        payload_bytes: i64,
        was_idle: bool,
        now: &PacketContext,
    ) {
        self.pushed.on_new_data(self.is_pause(now));
        let is_partial = payload_bytes < self.largest_payload;
        // A timer sends less than a segment if the peer's window has no room for more (RFC 9293
        // §3.8.6.2.1).
        let room = self.sender.window.map(|window| self.sender.snd_una + window);
        let fills_window = room == Some(self.scoreboard.end + payload_bytes);
        let is_held = !was_idle && is_partial && !fills_window && self.is_probe(now);
        if !is_held {
            self.note_delay_spike(now);
        }
        if was_idle && !self.has_more && self.is_pause(now) {
            self.reassign_time_since_data(Limit::Application);
            self.growth.begin_period(self.scoreboard.end);
        } else if is_held
            || (was_idle && is_partial)
            || (is_partial && self.is_held_by_partial(now))
        {
            // A partial segment was sent when everything was acknowledged, or the partial segment
            // before it was, or as a tail loss probe: Nagle's algorithm had held it back.
            self.reassign_time_to_nagle(payload_bytes);
        } else if !was_idle && self.paced_bursts.show_pacing() && self.is_paced(now) {
            self.reassign_time_since_data(Limit::Pacing);
            self.growth.begin_period(self.scoreboard.end);
        }
        // Without timestamps, far from the sender, a silence may be a delay on the path.
        let is_time_known = || now.timestamp_tick_ns > 0 || !is_far(now);
        if !was_idle && self.sender.is_silent_before(now.sent_ns) && is_time_known() {
            self.sender.on_data_in_flight(now.sent_ns);
        }
        self.since_data.clear();
        self.since_last_data = None;
        self.note_spacing(was_idle, !is_partial, now);
        self.last_partial.on_new_data(self.scoreboard.end + payload_bytes, is_partial);
        self.last_partial.held_from = (is_partial && was_idle).then_some(self.scoreboard.end);
    }

    /// Notes a silence that ends now, if it is long.
    pub(super) fn stall(&mut self, (since, length): (i64, i64), limit: Limit, now: &PacketContext) {
        let Some(srtt) = self.sender.estimator.srtt_ns() else { return };
        if length > (2 * srtt).min(self.sender.estimator.rto_ns()).max(10_000_000) {
            self.account.add_stall(since, length, limit, now.packet);
        }
    }

    #[inline(always)]
    pub(super) fn extend_time_since_data(&mut self, piece: IntervalSinceData) {
        let key = |it: &IntervalSinceData| {
            let is_repairing = (it.is_open, it.has_resent_all, it.is_before_repair);
            (it.limit, it.episode, is_repairing, it.room_bytes)
        };
        match self.since_data.last_mut() {
            Some(last) if key(last) == key(&piece) => last.length_ns += piece.length_ns,
            _ => self.since_data.push(piece),
        }
    }

    /// Moves time since the last data that was reassigned to the receiver's delay of an
    /// acknowledgment into an interval of its own.
    #[cold]
    pub(super) fn split_time_since_data(&mut self, moved_ns: i64, of: (Limit, Option<usize>)) {
        let mut left_ns = moved_ns;
        let mut is_open = true;
        for piece in self.since_data.iter_mut().rev().filter(|it| (it.limit, it.episode) == of) {
            let removed = left_ns.min(piece.length_ns);
            piece.length_ns -= removed;
            left_ns -= removed;
            is_open &= piece.is_open;
        }
        self.extend_time_since_data(IntervalSinceData {
            limit: Limit::DelayedAck,
            episode: None,
            length_ns: moved_ns - left_ns,
            is_open,
            has_resent_all: false,
            is_before_repair: false,
            room_bytes: None,
        });
    }

    /// Reassigns the time since the last data to this limit, which turns out to have been in force.
    pub(super) fn reassign_time_since_data(&mut self, limit: Limit) {
        self.reassign_parts_since_data(0, limit);
    }

    /// Reassigns the time since the last data, apart from its first parts, to this limit.
    fn reassign_parts_since_data(&mut self, first: usize, limit: Limit) {
        let is_counted = |part: Limit| match part {
            // Pacing was not the limit if the bottleneck was busy: without pacing the data would
            // have waited there.
            Limit::Bottleneck => limit != Limit::Pacing,
            Limit::SlowStart | Limit::Window | Limit::EcnWindow => true,
            // The window had room in a recovery, since no acknowledgment released the data.
            Limit::Recovery => limit == Limit::Pacing,
            _ => false,
        };
        // After a timeout, Nagle's algorithm holds a partial segment back as soon as nothing else
        // is left to send, although the recovery lasts until everything is acknowledged.
        let is_held = |part: &IntervalSinceData| {
            limit == Limit::Nagle && part.has_resent_all && !part.is_before_repair
        };
        let mut kept_ns = 0;
        for (index, part) in std::mem::take(&mut self.since_data).into_iter().enumerate() {
            if index < first {
                kept_ns += if is_counted(part.limit) { part.length_ns } else { 0 };
            } else if is_counted(part.limit)
                && (part.is_open || part.limit == Limit::Recovery || is_held(&part))
            {
                self.account.reassign(part.length_ns, (part.limit, part.episode), (limit, None));
            }
        }
        // The end of the flow must not reassign the same time again.
        self.undecided_times.discard(kept_ns, is_counted);
    }

    /// Reassigns the time since the last data to Nagle's algorithm, from when a partial segment of
    /// this length fitted into the congestion window.
    fn reassign_time_to_nagle(&mut self, payload_bytes: i64) {
        let is_full =
            |part: &IntervalSinceData| part.room_bytes.is_some_and(|it| it < payload_bytes);
        let first = self.since_data.iter().rposition(is_full).map_or(0, |last| last + 1);
        self.reassign_parts_since_data(first, Limit::Nagle);
    }

    /// Handles the first retransmission of a fast recovery, where queues are invisible: if data
    /// have arrived back to back since its third duplicate ACK, it has waited in the bottleneck's
    /// queue, and the sender had not run out of data to send.
    pub(super) fn attribute_time_since_loss(&mut self, third_ns: Option<i64>, now: &PacketContext) {
        let Some((third_ns, run)) = third_ns.zip(self.busy_period.as_ref()) else { return };
        let mut left_ns = now.sent_ns - third_ns;
        // The bottleneck began to transmit the retransmission when it was done with other data.
        let begun_ns = now.time_ns - self.segment_ns().unwrap_or(0.0) as i64;
        if run.length_ns(begun_ns) < begun_ns - third_ns {
            return;
        }
        let mut parts = Vec::new();
        for mut part in std::mem::take(&mut self.since_data).into_iter().rev() {
            let length_ns = part.length_ns.min(left_ns).max(0);
            left_ns -= length_ns;
            part.length_ns -= length_ns;
            let mut late = IntervalSinceData { length_ns, is_open: false, ..part };
            if part.limit == Limit::Application {
                let of = (part.limit, part.episode);
                self.account.reassign(length_ns, of, (Limit::Bottleneck, None));
                (late.limit, late.episode) = (Limit::Bottleneck, None);
            }
            parts.extend([late, part].into_iter().filter(|part| part.length_ns > 0));
        }
        parts.reverse();
        self.since_data = parts;
    }

    /// Attributes the time for which the last packet before a timeout waited in a queue, from when
    /// it was sent until it arrived, to the timeout.
    pub(super) fn attribute_queue_to_timeout(&mut self, queued: (i64, i64)) {
        let episode = self.current_episode();
        let is_moved = |limit: Limit| {
            matches!(limit, Limit::Bottleneck | Limit::Recovery | Limit::SlowStart | Limit::Window)
        };
        self.account.reassign_between(queued, is_moved, (Limit::Timeout, episode));
    }

    /// Handles the end of the flow: the sender had no more data to send after the last ones.
    pub(super) fn attribute_end_to_application(&mut self) {
        // The flow's life has ended when all data were acknowledged, before its FIN.
        if let Some(intervals) = self.since_last_data.take() {
            self.since_data = intervals;
        }
        self.reassign_time_since_data(Limit::Application);
    }

    /// Handles a retransmission. If a timer has triggered it, the time since the last data is
    /// reassigned to the timeout.
    pub(super) fn attribute_time_since_data(&mut self, by_timer: bool) {
        let episode = self.current_episode();
        for part in &mut self.since_data {
            let may_claim =
                !matches!(part.limit, Limit::Handshake | Limit::Timeout | Limit::DelayedAck);
            if by_timer && may_claim && !part.is_before_repair {
                let of = (part.limit, part.episode);
                self.account.reassign(part.length_ns, of, (Limit::Timeout, episode));
                part.limit = Limit::Timeout;
            }
            part.is_before_repair = true;
        }
    }
}
