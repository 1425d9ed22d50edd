//! Fast paths of connections with more work for each segment: timestamps, RACK-TLP, pacing, a model
//! of the path, or Linux's bursts, PSH flags, buffers and delayed ACKs.
//!
//! *Preconditions.* Those of the other fast paths (module `fast_path`), and SACK at both ends. The
//! segments on the scoreboard are in the order of transmission
//! ([`Scoreboard::is_in_order_of_time`]). The detector of unnecessary recoveries has nothing to
//! undo unless a DSACK arrives ([`Detector::ignores_new_data_ack`]).
//!
//! *Result.* State, segments and deadlines are the same as on the general path. At an
//! acknowledgment of new data, RACK records the newest arrival, and the tail loss probe is
//! rescheduled, in the order of the general path.

use super::{Connection, Receiving, Sender, Sending};
use crate::backoff::{self, Backoff};
use crate::congestion_control::{Ack, CongestionControl, Sent, call_cubic_directly};
use crate::connection::outgoing::Outcome;
use crate::connection::sender::Timed;
use crate::connection::timeout::ProbeRestart;
use crate::connection::{PlainTransmit, Transmit};
use crate::loss_cause::LossCause;
use crate::loss_detection::{self, LossDetection};
use crate::rto::Estimator;
use crate::scoreboard::RemovedInTimeOrder;
use crate::{Push, RttSamples};
use retx_units::{Duration, Time};
use retx_wire::{Flags, PlainSegment, Timestamps};

impl Sender {
    /// True if an acknowledgment of new data only advances the scoreboard, the estimators and the
    /// window.
    fn is_calm_in_detail(&self) -> bool {
        // The scoreboard is checked first, because after a loss it is the most frequent obstacle.
        let board = self.board.get();
        board.is_none_or(|it| it.is_in_order() && it.is_in_order_of_time(self.snd_una))
            && self.loss_detection.ignores_data_acked_in_order()
            && self.has_no_trouble()
            && self.bounded_smss() == u64::from(self.window.smss)
    }
}

impl Connection {
    /// Permits the detailed fast paths, according to the options negotiated in the handshake.
    pub(super) fn choose_detailed_path(&mut self) {
        let sender = &self.sender;
        // The plain paths suffice if they are permitted and loss detection reads no times.
        let has_more_to_do = !self.fast_paths.plain || sender.loss_detection.reads_times();
        let permitted = sender.congestion_control.takes_fast_paths() && !self.ecn.is_enabled();
        let requests = sender.repair.requests.get().is_some();
        self.fast_paths.detailed = has_more_to_do && sender.selective && permitted && !requests;
        if self.fast_paths.detailed && self.sends_as_linux() {
            self.sender.bursts.takes_linux_paths = true;
        }
    }

    /// Recomputes which detailed fast paths of an established connection are open.
    pub(super) fn recompute_detailed_paths(&mut self) {
        self.sender.forget_known_bursts();
        let receiver = &mut self.receiver;
        receiver.forget_advertised();
        if self.sender.repair.requests.get().is_some() {
            return;
        }
        let reads = receiver.fin.is_none() && !receiver.detached;
        let opens = reads && self.fast_paths.receiving == Receiving::General;
        if receiver.has_sack_blocks() {
            if opens && receiver.has_gap() {
                self.fast_paths.receiving = Receiving::DetailedGap;
            }
            return;
        }
        if opens {
            self.fast_paths.receiving = Receiving::Detailed;
        }
        if self.fast_paths.sending != Sending::General {
            return;
        }
        if self.timers.has_only_usual_timers() && self.sender.is_calm_in_detail() {
            self.fast_paths.sending = Sending::Detailed;
        } else if self.sender.can_send_beyond_losses() {
            self.fast_paths.sending = Sending::DetailedRepair;
        }
    }

    /// True if the segment has timestamps that are not old, or has none if none were negotiated.
    #[inline(always)]
    pub(super) fn has_good_timestamps(&self, timestamps: Option<Timestamps>) -> bool {
        match timestamps {
            Some(it) if self.timestamps => {
                // PAWS: an older timestamp marks an old duplicate (RFC 7323 §5.2).
                (it.value.wrapping_sub(self.receiver.ts_recent) as i32) >= 0
            }
            Some(_) => false,
            None => !self.timestamps,
        }
    }

    /// Records the timestamp of the segment at `RCV.NXT`, to be echoed (RFC 7323 §4.3).
    #[inline(always)]
    pub(super) fn note_timestamp(&mut self, timestamps: Option<Timestamps>) {
        let receiver = &mut self.receiver;
        if let Some(timestamps) = timestamps
            && receiver.rcv_nxt <= receiver.last_ack_sent
        {
            receiver.ts_recent = timestamps.value;
        }
    }

    /// Handles an acknowledgment of new data. Returns false, without any effect, if it acknowledges
    /// none, data never sent, or only a part of a segment.
    #[inline(never)]
    pub(super) fn handle_detailed_ack(
        &mut self,
        now: Time,
        segment: PlainSegment,
        timestamps: Option<Timestamps>,
    ) -> bool {
        let sender = &self.sender;
        let flight_before = sender.flight_size();
        let next = self.seq_at(sender.snd_una);
        let bytes_acked = u64::from(segment.ack.0.wrapping_sub(next.0));
        if bytes_acked == 0 || bytes_acked > flight_before || !self.has_good_timestamps(timestamps)
        {
            return false;
        }
        let snd_una = sender.snd_una + bytes_acked;
        // `acknowledge_in_time_order` must remove at least one whole segment.
        let Some(first) = sender.board.first_below(snd_una) else { return false };
        self.note_timestamp(timestamps);
        self.use_up_echo(timestamps);
        self.sender.prepare_model();
        let taken = self.sender.board.acknowledge_in_time_order(snd_una, first);
        let window = self.scaled_window(segment.window);
        self.update_window(self.receiver.rcv_nxt, snd_una, window);
        self.sender.snd_una = snd_una;
        self.sender.last_una = snd_una;
        self.sender.close_train();
        if self.sender.bursts.takes_linux_paths && !self.sender.window.in_slow_start() {
            self.decide_as_linux(now, &taken);
        } else {
            self.decide_in_detail(now, timestamps, (bytes_acked, flight_before), &taken);
        }
        self.check_send_memory_next(now);
        true
    }

    /// Evaluates an acknowledgment of `bytes_acked` bytes that only removes the first segments,
    /// sent once; `flight_before` bytes were in flight.
    #[inline(never)]
    fn decide_in_detail(
        &mut self,
        now: Time,
        timestamps: Option<Timestamps>,
        (bytes_acked, flight_before): (u64, u64),
        taken: &RemovedInTimeOrder,
    ) {
        let rtt = self.sample_rtt_of_next(now, timestamps, taken);
        let receiver_time = timestamps.map(|it| self.receiver_time_of(it));
        let sender = &mut self.sender;
        sender.backoff.on_ack(&backoff::Ack {
            advances: true,
            has_rtt_sample: rtt.is_some(),
            loss_state_over: true,
        });
        let mut ack = Ack {
            now,
            bytes_acked,
            delivered: taken.bytes,
            flight_size: flight_before,
            rtt,
            srtt: sender.estimator.srtt(),
            snd_una: sender.snd_una,
            snd_nxt: sender.snd_nxt,
            cwnd_limited: false,
            in_recovery: false,
            receiver_time,
        };
        sender.validation.on_ack(&ack);
        ack.cwnd_limited = sender.validation.allows_growth(&sender.window);
        self.decide_next(&ack, taken);
        self.sender.validation.end_ack();
        self.note_flight(self.sender.flight_size(), false);
    }

    /// Part of [`Connection::decide`] for an ACK that only removes the first segments, sent once.
    #[inline(always)]
    fn decide_next(&mut self, ack: &Ack, taken: &RemovedInTimeOrder) {
        let now = ack.now;
        self.notify_segments_acked(ack, Some(taken.last_sent));
        let sender = &mut self.sender;
        if self.fast_paths.observed {
            let smss = sender.window.smss;
            call_cubic_directly!(&mut sender.congestion_control, observe(ack, smss));
            if self.fast_paths.loss_cause_observes {
                sender.loss_cause.on_ack(ack, &sender.window);
            }
        }
        sender.loss_detection.on_next_ack(&loss_detection::NextAck {
            now,
            srtt: ack.srtt,
            least_rtt: sender.least_rtt,
            has_rtt_sample: ack.rtt.is_some(),
            sent: taken.last_sent,
            end: taken.end,
        });
        sender.grow(ack, false);
        self.update_model_in_order(ack, taken);
        self.restart_known_timer(now);
        self.schedule_probe(now, ack.srtt, ProbeRestart::Acknowledged);
    }

    /// Evaluates the RTT sample of an acknowledgment as [`Connection::sample_rtt`] does.
    #[inline(always)]
    fn sample_rtt_of_next(
        &mut self,
        now: Time,
        timestamps: Option<Timestamps>,
        taken: &RemovedInTimeOrder,
    ) -> Option<Duration> {
        // The time of transmission is more precise than an echo, which has the granularity of the
        // timestamp clock (`tcp_ack_update_rtt`).
        let exact = match self.parameters.rtt_samples {
            RttSamples::EveryAck => Some(self.measured_rtt(now, taken.first_sent)),
            RttSamples::Timed => self.rtt_of_timed(now, self.sender.snd_una),
        };
        if let Some(rtt) = exact {
            self.apply_rtt_sample(rtt);
            return exact;
        }
        let rtt = self.rtt_of_echo(now, timestamps?.echo)?;
        self.apply_echoed_rtt(rtt);
        Some(rtt)
    }

    /// True if there is nothing to send before the pacing gate opens; a timer is then set to that
    /// time.
    #[inline(always)]
    pub(in crate::connection) fn only_waits_for_gate(&mut self, now: Time) -> bool {
        self.sender.pacer.is_some()
            && matches!(self.fast_paths.sending, Sending::Detailed | Sending::DetailedRepair)
            && !self.receiver.ack_now
            && !self.sender.bursts.burst.is_open(now)
            && !self.sender.bursts.repeat.is_open(now)
            && self.is_delayed_by_pacing(now)
    }

    /// Sends a full segment if the windows, the pacing gate and bursts allow it, otherwise an
    /// acknowledgment if one is due. The result is `None` if the general path has to decide.
    #[inline(always)]
    pub(in crate::connection) fn send_detailed(
        &mut self,
        now: Time,
        to: &mut Transmit,
    ) -> Option<Outcome> {
        if !self.sender.bursts.burst.is_open(now) && self.is_delayed_by_pacing(now) {
            return Some(self.acknowledge_in_detail(now, to));
        }
        let sender = &self.sender;
        let flight = sender.flight_size();
        // After a pause the congestion window may have to be reduced, and the retransmission timer
        // has to be started.
        let has_paused = flight == 0 || self.timers.retransmit == Time::NEVER;
        if has_paused && sender.written > sender.snd_nxt {
            return None;
        }
        let room = sender.window.cwnd.min(sender.snd_wnd).saturating_sub(flight);
        self.send_within::<false>(now, room, to)
    }

    /// Sends a full segment if `room`, which is left in the windows, suffices and the segment is
    /// not deferred, otherwise an acknowledgment if one is due. `LOSSES` is that of
    /// [`Self::send_next_in_detail`].
    #[inline(always)]
    pub(super) fn send_within<const LOSSES: bool>(
        &mut self,
        now: Time,
        room: u64,
        to: &mut Transmit,
    ) -> Option<Outcome> {
        let sender = &self.sender;
        let queued = sender.written - sender.snd_nxt;
        if queued == 0 {
            return Some(self.acknowledge_in_detail(now, to));
        }
        let smss = u64::from(sender.window.smss);
        if queued.min(room) < smss {
            let waits = sender.waits_with(room, queued) && !sender.bursts.burst.is_open(now);
            return waits.then(|| self.acknowledge_in_detail(now, to));
        }
        if self.defers_transmission(now, self.sender.window.smss) {
            return Some(self.acknowledge_in_detail(now, to));
        }
        let sender = &self.sender;
        let (queued, room) = (queued - smss, room - smss);
        let waits = queued == 0 || room < queued.min(smss) && sender.waits_with(room, queued);
        let is_paced = LOSSES || sender.pacer.is_some();
        self.send_next_in_detail::<LOSSES>(now, to);
        if self.has_train(now) {
            return Some(Outcome::PlainBeforeTrain);
        }
        let may_send_more = self.sender.bursts.burst.is_open(now)
            || if is_paced { !self.is_delayed_by_pacing(now) } else { !waits };
        Some(Outcome::plain(may_send_more))
    }

    #[inline(always)]
    pub(in crate::connection) fn acknowledge_in_detail(
        &mut self,
        now: Time,
        to: &mut Transmit,
    ) -> Outcome {
        if !self.receiver.ack_now {
            return Outcome::Nothing;
        }
        let position = self.sender.ack_position();
        to.write_plain(&self.plain_in_detail(now, position, (0, Flags::ACK)));
        // Data read meanwhile may need a window update.
        Outcome::plain(self.receiver.ack_now)
    }

    /// Sends a full segment of new data. `LOSSES` is true on the path of `detailed_repair`, where
    /// segments in flight may be lost or selectively acknowledged.
    #[inline(always)]
    fn send_next_in_detail<const LOSSES: bool>(&mut self, now: Time, to: &mut Transmit) {
        let sender = &mut self.sender;
        let position = sender.snd_nxt;
        let length = sender.window.smss;
        let right = position + u64::from(length);
        // Linux pushes whenever more than half of the largest window was sent without PSH
        // (`forced_push`).
        let forced = self.parameters.push == Push::HalfWindow && sender.forced_push(now, right);
        let pushed = forced || sender.bursts.burst.ends(now) || right == sender.written;
        if LOSSES {
            sender.count_beyond_losses(length.into());
        }
        sender.push_to_scoreboard(now, position, length);
        if sender.bursts.memory.is_some() && !sender.bursts.burst.continues(now) {
            sender.board.mark_burst_start();
        }
        if sender.timed.is_none() {
            sender.timed = Timed::new(right, now);
        }
        sender.snd_max = right;
        // A probe scheduled for another segment sent at this instant keeps its time, unless data
        // are paced. A lone segment has another timeout, which allows for a delayed ACK.
        let is_not_first = sender.last_sent == now;
        let stays = is_not_first && sender.board.segments() > 2;
        let stays = stays && sender.pacer.is_none();
        let is_scheduled = stays && !self.timers.rare.probe_follows_ack;
        sender.last_sent = now;
        let flight_size = right - sender.snd_una;
        if self.fast_paths.observed {
            let retransmission = false;
            let sent = Sent { now, position, bytes: length, flight_size, retransmission };
            self.sender.congestion_control.on_next_data(&sent);
            if self.fast_paths.loss_cause_observes {
                self.sender.loss_cause.on_sent(&sent);
            }
        }
        if LOSSES {
            self.note_flight(self.sender.pipe_of(flight_size), true);
            // In a recovery no probe is scheduled, and another segment sent at this instant has set
            // the reordering timer.
            if !(is_not_first && self.sender.loss_detection.in_recovery()) {
                self.schedule_loss_detection(now, ProbeRestart::Sent);
            }
            self.timers.set(|rare| &mut rare.persist, Time::NEVER);
        } else {
            self.note_flight(flight_size, true);
            if !is_scheduled {
                self.schedule_probe(now, self.sender.estimator.srtt(), ProbeRestart::Sent);
            }
        }
        self.note_idle_window(now, right);
        self.pace(now, length, true);
        self.sender.snd_nxt = right;
        self.open_train::<LOSSES>(now);
        let flags = if pushed { Flags::ACK.with(Flags::PSH) } else { Flags::ACK };
        to.write_plain(&self.plain_in_detail(now, position, (length, flags)));
    }

    /// Builds a segment with no options except timestamps.
    #[inline(always)]
    pub(super) fn plain_in_detail(
        &mut self,
        now: Time,
        position: u64,
        (payload_bytes, flags): (u32, Flags),
    ) -> PlainTransmit {
        let (window, edge) = self.window_to_send();
        let (seq, ack) = (self.seq_at(position), self.rcv_nxt_seq());
        let segment = PlainSegment { seq, ack, window, flags, payload_bytes };
        if let Some(edge) = edge {
            self.receiver.pending.on_ack_sent(now, payload_bytes > 0);
            self.receiver.on_ack_sent(&mut self.timers, edge);
        }
        PlainTransmit { segment, position, may_send_more: true, begins_train: false }
    }
}
