//! Limits of the sender, tested in the order of docs/decisions/0018.

use super::account::Limit;
use super::acks::SEGMENTS_PER_DELAYED_ACK;
use super::direction::{Direction, PacketContext};
use super::record::RetransmissionRecord;
use super::relation::Relation;
use super::sender::{Ack, State};
use super::since_data::IntervalSinceData;
use super::tentative_limit::{FlowEvidence, TentativeLimit};
use crate::answer::Necessity;
use crate::packet::Packet;

/// The bottleneck counts as the limit once the data in flight reach this fraction of the path's
/// bandwidth-delay product.
const FILLED: f64 = 0.95;
impl Direction {
    /// Processes the acknowledgments that take effect at the sender by the time `until_ns`.
    pub fn advance_to(&mut self, until_ns: i64) {
        while let Some(ack) = self.sender.pop_effective_ack(until_ns, self.scoreboard.end) {
            self.take(&ack);
        }
    }

    /// Processes the acknowledgments that the sender had received when it sent a packet with data
    /// from `start` to `end`.
    pub(super) fn advance_to_sending(&mut self, (start, end): (i64, i64), now: &PacketContext) {
        self.timestamp_tick_ns = now.timestamp_tick_ns;
        // The times are uncertain, but a sender does not retransmit what it knows to have arrived.
        let from_ns = now.sent_ns - self.release_tolerance_ns(now);
        // The time of sending is not known at all behind a busy bottleneck.
        let is_queued = self.is_queued(now);
        let is_new = start >= self.scoreboard.end || is_queued;
        let has_received = |ack: &Ack| is_new || ack.ack <= start || ack.effective_ns < from_ns;
        let sent_to = self.scoreboard.end;
        while let Some(ack) = self.sender.pop_received_ack(now, sent_to, has_received) {
            self.take(&ack);
        }
        self.sender.delay_acks(now.sent_ns);
        self.note_recovery_spike(end - start, now);
    }

    /// Processes acknowledgments until the end of the capture. If an acknowledgment has not reached
    /// the sender by then, it counts only if it ends the flow's life.
    pub fn advance_to_end(&mut self, end_ns: i64) {
        self.advance_to(end_ns);
        if self.payload_end > 0 && self.highest_ack >= self.payload_end {
            self.advance_to(i64::MAX);
        }
    }

    fn take(&mut self, ack: &Ack) {
        self.clock_ack(ack);
        self.last_partial.on_ack(self.sender.snd_una, ack.effective_ns);
        self.note_release(ack.effective_ns);
        self.release_recovery_spike(ack.effective_ns);
        self.retransmitted_bytes = (self.retransmitted_bytes - ack.repaired_bytes).max(0);
        if self.payload_end > 0 && ack.ack >= self.payload_end {
            self.finish_payload(ack);
        }
        // Data that pass the capture soon after this acknowledgment took effect may have been sent
        // before it took effect.
        self.before_ack = (ack.effective_ns, self.account.limit());
        self.end_interval(ack.effective_ns, self.account.limit());
        if let Some(episode) = self.episodes.last_mut()
            && episode.end_ns.is_none()
            && self.sender.snd_una >= episode.end_position
        {
            episode.end_ns = Some(ack.effective_ns);
            self.sender.rtts.take_shorter_share(0);
        }
        if let Some(episode) = self.episodes.last().filter(|episode| episode.is_timeout) {
            let trigger = &self.records.all[episode.trigger as usize];
            self.sender.last_timeout_was_needless |= trigger.needless == Necessity::Yes;
        }
        self.undo(ack);
        self.undo_timeout();
        self.release(ack);
        self.bound_queue(ack);
        self.set_limit(ack.effective_ns);
        self.log_sender_state(ack);
    }

    /// Ends a fast recovery as Linux does, if DSACK blocks or timestamps show that all
    /// retransmissions were needless (`tcp_try_undo_dsack`, `tcp_try_undo_partial`).
    fn undo(&mut self, ack: &Ack) {
        let Some(index) = self.current_episode() else { return };
        let episode = &mut self.episodes[index];
        let is_recovery = matches!(self.sender.state, State::Recovery(_));
        // After the recovery, only DSACK blocks undo the reduction.
        let is_over = self.sender.is_open() && episode.end_ns.is_some() && !episode.is_undone;
        if episode.is_timeout || !(is_recovery || is_over) || !self.sender.is_linux() {
            return;
        }
        let mut own = self.records.all[episode.trigger as usize..].iter();
        let is_known = |record: &RetransmissionRecord| {
            record.frame_informing_sender.is_some_and(|packet| packet <= ack.packet)
        };
        let is_needless = |record: &RetransmissionRecord| {
            let is_shown = record.is_acked && record.needless == Necessity::Yes && !is_over;
            is_known(record) && (record.has_dsack || !is_over) || is_shown
        };
        if own.next().is_some_and(|it| is_known(it) && is_needless(it)) && own.all(is_needless) {
            self.sender.state = State::Open;
            self.sender.has_reduced = episode.had_reduced;
            episode.end_ns.get_or_insert(ack.effective_ns);
            episode.is_undone = true;
            self.sender.rtts.take_shorter_share(0);
            self.clock_undo();
        }
    }

    /// Undoes the reduction of the congestion window by a timeout, as a Linux sender does when
    /// F-RTO or timestamps show that the timeout was needless.
    fn undo_timeout(&mut self) {
        if std::mem::take(&mut self.sender.has_undone)
            && let Some(episode) = self.episodes.last_mut()
        {
            self.sender.has_reduced = episode.had_reduced;
            episode.is_undone = true;
            self.clock_undo();
        }
    }

    /// Corrects the estimate of the bottleneck's queue. At most the unacknowledged data can still
    /// be queued, because earlier data have passed or were lost.
    fn bound_queue(&mut self, ack: &Ack) {
        let (Some(rate), Some(least)) = (self.path.rate(), self.sender.rtt_min_ns) else {
            return;
        };
        let left = (self.scoreboard.end - ack.ack).max(0) as f64;
        let passed_ns = ack.effective_ns - least + (left / rate * 1e9) as i64;
        let sent_ns = ack.effective_ns - self.sender.idle_ns(ack.effective_ns)[1];
        self.busy_end_ns = self.busy_end_ns.min(passed_ns.max(sent_ns));
    }

    /// Ends an interval, and records whether the receiver may be delaying the acknowledgment of all
    /// data sent.
    pub(super) fn end_interval(&mut self, time_ns: i64, limit: Limit) -> i64 {
        let episode = self.episode_of(limit);
        let length = self.account.end_interval_at(time_ns, limit, episode);
        if limit == self.tentative_limit.limit {
            self.undecided_times.add(self.tentative_limit, episode, length);
        }
        if length > 0 {
            let is_open = self.was_open;
            self.extend_time_since_data(IntervalSinceData {
                limit,
                episode,
                length_ns: length,
                is_open,
                has_resent_all: self.had_resent_all,
                is_before_repair: false,
                room_bytes: self.room.left(),
            });
        }
        self.note_delayed_ack(time_ns, limit);
        length
    }

    /// Determines the limit from now until the next event.
    pub(super) fn set_limit(&mut self, now_ns: i64) {
        let flight = self.pipe();
        let is_full = self.fills_peer_window_but_for(0);
        self.full_rounds.on_flight(self.sender.snd_una, self.scoreboard.end, is_full);
        let is_busy = self.is_busy(now_ns);
        let limit = self.limit(self.is_filled(is_busy, flight));
        let otherwise = if limit == Limit::Bottleneck { self.limit(false) } else { limit };
        self.account.set_limit(limit);
        self.was_open = self.is_without_loss();
        self.had_resent_all = self.has_resent_all();
        self.limit_in_flight = limit;
        let sent = (self.sender.snd_una, self.scoreboard.end);
        self.room.on_flight(now_ns, sent, self.largest_payload, self.was_open);
        self.growth.on_flight(self.sender.snd_una, self.scoreboard.end, self.largest_payload);
        let mut period = 0;
        if otherwise == Limit::SlowStart && !self.fills_peer_window() {
            period = self.growth.current_period();
        } else if otherwise != Limit::Application {
            // The application is excluded: with nothing in flight it is the limit only
            // provisionally, until a pause shows whether it really is.
            self.growth.begin_period(self.scoreboard.end);
        }
        // Where queues are invisible, the bytes in flight are known only outside loss recovery.
        let flight = if !self.hides_flight() && !is_busy {
            flight
        } else if limit == Limit::Bottleneck {
            i64::MAX
        } else {
            0
        };
        // After a reduction, the growth of the window is not known well enough.
        let has_room = self.episodes.is_empty()
            && self.room.left().is_some_and(|left| left >= self.largest_payload);
        self.tentative_limit =
            TentativeLimit { limit, alternative: otherwise, flight, has_room, period };
    }

    /// Reassigns times at the end of the flow. The bottleneck was the limit where the bytes in
    /// flight reached the final estimate of the path's bandwidth-delay product. In other periods
    /// the limit may have been a send buffer or a clamp of the congestion window.
    pub(super) fn correct_limits(&mut self) {
        let undecided = std::mem::take(&mut self.undecided_times);
        self.detectors.windows.woken_at = undecided.writer.threshold();
        let product = self.bandwidth_delay_bytes();
        let enough = product.map(|product| FILLED * product);
        // Where queues are invisible, the bytes in flight are not known well enough to detect a
        // send buffer or a clamp.
        let bound = if self.busy_period.is_none() { self.growth.limited_periods() } else { &[] };
        let is_paced = self.paced_bursts.show_pacing() || self.paced_ticks.show_pacing();
        let evidence = FlowEvidence { enough, bound, is_paced };
        undecided.correct(&mut self.account, &evidence);
        self.attribute_last_delay_spike();
        self.attribute_lost_tail();
    }

    /// Ends the life of a flow when the last of its payload arrives. This is half a round trip
    /// before the acknowledgment takes effect, or earlier if the receiver delayed the
    /// acknowledgment.
    fn finish_payload(&mut self, ack: &Ack) {
        let least = self.undelayed_rtt_ns().unwrap_or(0);
        let due_ns = (self.busy_end_ns + least).max(self.account.last_event_ns());
        let is_held = ack.effective_ns > due_ns + self.path.shortest_delay_ns() && least > 0;
        // An acknowledgment takes as little time as a SYN.
        let back_ns = self.path.loops_ns.map_or(least, |loops_ns| loops_ns.min(least)) / 2;
        let arrival_ns = if is_held { due_ns } else { ack.effective_ns } - back_ns;
        self.end_interval(arrival_ns, self.account.limit());
        self.account.on_all_acked(arrival_ns);
        self.since_last_data.get_or_insert_with(|| self.since_data.clone());
    }

    /// Records an arrival at the receiver's end. Without timestamps, only the spacing of arrivals
    /// reveals a queue.
    pub(super) fn on_arrived(&mut self, packet: &Packet, at: (i64, Relation), now: &PacketContext) {
        let Some(rtt) = now.rtt() else { return };
        let bytes = i64::from(packet.payload_bytes);
        let is_blind = now.is_at_receiver() && packet.options.timestamps.is_none();
        if !is_blind || bytes == 0 {
            return;
        }
        let (start, relation) = at;
        if relation == Relation::New {
            self.path.on_arrived(now.time_ns, bytes, rtt);
        }
        if let Some(rate) = self.path.rate() {
            let run = self.busy_period.get_or_insert_default();
            let missing = if start >= self.scoreboard.end {
                start - self.scoreboard.end
            } else {
                // Retransmissions of the data that are still missing have been lost.
                let before = std::mem::replace(&mut run.resent_to, start + bytes);
                self.scoreboard.missing(before, start)
            };
            let ns = |bytes: i64| bytes as f64 / rate * 1e9;
            run.on_arrived(now.time_ns, ns(bytes), ns(missing));
            self.attribute_recovery_spike(now);
        }
    }

    /// Adds the transmission time of data to the busy time of the bottleneck.
    pub(super) fn add_transmission(&mut self, sent_ns: i64, bytes: i64) {
        self.path.on_sent();
        let length = self.path.rate().map_or(0.0, |rate| bytes as f64 / rate * 1e9) as i64;
        // The minimum round trip already contains the transmission time of one segment.
        self.busy_end_ns = self.busy_end_ns.max(sent_ns - length) + length;
    }

    /// Bytes in flight.
    pub(super) fn pipe(&self) -> i64 {
        let flight = self.scoreboard.end - self.sender.snd_una;
        if let State::Loss(until) = self.sender.state {
            // The timeout has marked all data before the position `until` lost (RFC 6675 §5.1).
            let sent_since = self.scoreboard.end - until.max(self.sender.snd_una);
            return (sent_since + self.retransmitted_bytes).clamp(0, flight);
        }
        let (highest, duplicates) = self.sender.reported_arrivals();
        let left = if highest > self.sender.snd_una {
            self.scoreboard.end - highest
        } else {
            // Without SACK, a duplicate ACK stands for a segment that has left the network (RFC
            // 5681 §3.2), but only Linux takes it out of the bytes in flight
            // (`tcp_add_reno_sack`). The others inflate their congestion window instead.
            let left = if self.sender.is_linux() { duplicates } else { 0 };
            flight - left * self.largest_payload
        };
        (left + self.retransmitted_bytes).clamp(0, flight)
    }

    /// Bandwidth-delay product of the path in bytes of payload.
    fn bandwidth_delay_bytes(&self) -> Option<f64> {
        // At the receiver's end, data arrive after their transmission. The least round trip to the
        // sender is that of a SYN, whose transmission is shorter by nearly that of a segment.
        let segment = if self.is_at_receiver { self.largest_payload } else { 0 };
        self.path.bandwidth_delay_bytes().map(|product| product + segment as f64)
    }

    /// True if data have arrived back to back for a round trip, where queues are invisible. A round
    /// trip is that of full segments, for which the receiver may wait.
    fn is_busy(&self, now_ns: i64) -> bool {
        let Some(run) = &self.busy_period else { return false };
        let product = self.bandwidth_delay_bytes().zip(self.path.rate());
        let round_ns = product.map(|(bytes, rate)| bytes / rate * 1e9);
        let round_ns = round_ns.or(self.sender.rtt_min_ns.map(|least| least as f64));
        round_ns.is_some_and(|round| run.length_ns(now_ns) as f64 >= FILLED * round)
    }

    /// True if the bytes in flight are unknown: in loss recovery where queues are invisible, unless
    /// the sender counts everything that is not acknowledged, as it does without SACK.
    fn hides_flight(&self) -> bool {
        let is_counted = !self.sender.has_sack && matches!(self.sender.state, State::Recovery(_));
        self.busy_period.is_some() && !self.sender.is_open() && !is_counted
    }

    /// True if the data in flight keep the bottleneck busy; `is_busy` is true if data have arrived
    /// back to back for a round trip.
    pub(super) fn is_filled(&self, is_busy: bool, flight: i64) -> bool {
        is_busy || (!self.hides_flight() && self.fills_path(flight))
    }

    /// True if so many bytes in flight fill the path.
    pub(super) fn fills_path(&self, flight: i64) -> bool {
        self.bandwidth_delay_bytes().is_some_and(|product| flight as f64 >= FILLED * product)
    }

    /// True if the last segment was not full, so that no further data were available. Linux also
    /// ends a burst with a short segment at the end of the peer's window (`tcp_mss_split_point`).
    fn is_last(&self) -> bool {
        let fills_window = match self.sender.window {
            Some(window) => window > 0 && self.scoreboard.end >= self.sender.snd_una + window,
            None => false,
        };
        let is_short = self.last_payload_bytes < self.largest_payload || self.pushed.ends_write();
        is_short && !fills_window && !self.has_more
    }

    /// True if times of arrival stand for those of sending, at the receiver's end: several segments
    /// arrive in a tick of the timestamps.
    fn has_spread_times(&self) -> bool {
        let is_fine = || self.segment_ns().is_some_and(|ns| ns > self.timestamp_tick_ns as f64);
        let is_timed = || self.timestamp_tick_ns > 0 && is_fine();
        self.is_at_receiver && self.busy_period.is_none() && !is_timed()
    }

    /// True if no more than this number of further segments fit into the peer's window.
    fn fills_peer_window_but_for(&self, segments: i64) -> bool {
        let flight = self.scoreboard.end - self.sender.snd_una;
        let room = (1 + segments) * self.largest_payload;
        self.sender.window.is_some_and(|window| flight + room > window)
    }

    /// True if another segment does not fit into the peer's window. If the times of sending are
    /// those of arrival, the data that an acknowledgment releases follow one segment at a time, and
    /// the window counts as full until then, if it was full in this round trip or the one before.
    fn fills_peer_window(&self) -> bool {
        let is_spread = self.full_rounds.is_recent() && self.has_spread_times();
        self.fills_peer_window_but_for(if is_spread { SEGMENTS_PER_DELAYED_ACK } else { 0 })
    }

    /// True if the sender knows of no loss. A retransmission may wait for the congestion window,
    /// or, where queues are invisible, in a queue before the capture. Linux lets duplicate ACKs
    /// pass that reordering has caused (`tcp_check_sack_reordering`), and without SACK needless
    /// retransmissions cause others.
    fn is_without_loss(&self) -> bool {
        let has_fixed_threshold = !(self.sender.is_linux() && self.has_dsack);
        let is_certain =
            self.busy_period.is_some() || (self.sender.has_sack && has_fixed_threshold);
        self.sender.is_open() && !(is_certain && self.sender.knows_new_loss(self.largest_payload))
    }

    /// Limit of the sender; `is_filled` is true if the data in flight keep the bottleneck busy.
    fn limit(&self, is_filled: bool) -> Limit {
        let flight = self.scoreboard.end - self.sender.snd_una;
        let is_open = self.is_without_loss();
        if self.waits_for_handshake() {
            Limit::Handshake
        } else if flight <= 0 && self.sender.window == Some(0) {
            // Everything is acknowledged, but the receiver has no room for more.
            Limit::ReceiveWindow
        } else if flight <= 0 && self.has_more {
            // Data that the sender has sent have not reached the capture.
            self.limit_in_flight
        } else if flight <= 0 || (is_open && self.is_last()) {
            Limit::Application
        } else if is_filled {
            // A full window that keeps the bottleneck busy is not the limit: a larger one would
            // gain nothing.
            Limit::Bottleneck
        } else if self.fills_peer_window() && !self.has_waiting_retransmission() {
            Limit::ReceiveWindow
        } else if !is_open && !matches!(self.sender.state, State::Loss(_)) {
            Limit::Recovery
        } else if !self.sender.has_reduced {
            Limit::SlowStart
        } else if self.sender.is_reduced_by_ecn {
            Limit::EcnWindow
        } else {
            Limit::Window
        }
    }
}
