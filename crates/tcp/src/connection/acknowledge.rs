//! Processing of an acknowledgment: RTT, then loss detection, then loss cause, then congestion
//! control.

use super::recover::Progress;
use super::timeout::ProbeRestart;
use super::{Connection, Event};
use crate::backoff::{self, Backoff};
use crate::congestion_control::{self, CongestionControl};
use crate::loss_cause::LossCause;
use crate::loss_detection::{self, LossDetection, Reaction};
use crate::scoreboard::{Delivered, Scoreboard};
use retx_units::Time;
use retx_wire::{Flags, SackBlocks, Segment};

impl Connection {
    /// Processes the ACK field (RFC 9293 §3.10.7.4, fifth step). `position` is that of the segment
    /// in the peer's stream. Returns false if the rest of the segment is to be ignored.
    pub(super) fn process_ack(&mut self, now: Time, segment: &Segment, position: i64) -> bool {
        let sender = &mut self.sender;
        let ack = segment.ack.unwrap_near(sender.iss, sender.snd_una);
        // RFC 5961 §5.2: an ACK of data never sent, or an ACK older than any that can still be in
        // flight, is answered by an ACK and dropped.
        let oldest = sender.snd_una as i64 - sender.max_snd_wnd as i64;
        if ack > sender.snd_max as i64 || ack < oldest {
            self.receiver.ack_now = true;
            return false;
        }
        sender.prepare_model();
        if !sender.congestion_control.takes_fast_paths() {
            self.observe_timestamps(now, segment);
        }
        let sender = &mut self.sender;
        let mut delivered = Delivered::default();
        if ack < sender.snd_una as i64 {
            self.ignore_echo();
            delivered.is_old = true;
            // The SACK blocks and the data of an old acknowledgment may still be valid.
            let selective = self.update_scoreboard(segment, ack, &mut delivered);
            self.take_old_or_duplicate(now, segment, selective.then_some(&delivered), false);
            return true;
        }
        if segment.payload_bytes == 0 {
            self.note_response(now);
        }
        let selective = self.update_scoreboard(segment, ack, &mut delivered);
        let selective = selective.then_some(&delivered);
        self.reduce_for_echo(now, segment.flags, ack as u64);
        let sender = &mut self.sender;
        let ack = ack as u64;
        if segment.loss_notice {
            sender.repair.notified = ack;
        }
        let old_una = sender.snd_una;
        let window = self.scaled_window(segment.window);
        let same_advertised_window = window == self.sender.snd_wnd;
        self.update_window(position.max(0) as u64, ack, window);
        if ack > old_una {
            self.on_new_ack(now, segment, ack, selective);
        } else {
            let duplicate = self.is_duplicate(segment, same_advertised_window);
            self.take_old_or_duplicate(now, segment, selective, duplicate);
        }
        true
    }

    /// Passes the timestamps of an acknowledgment to the congestion control.
    fn observe_timestamps(&mut self, now: Time, segment: &Segment) {
        if let Some(received) = segment.options.timestamps.filter(|_| self.timestamps) {
            let clock = self.timestamp(now);
            self.sender.congestion_control.observe_timestamps(received, clock);
        }
    }

    /// Window denoted by a window field, in bytes.
    pub(super) fn scaled_window(&self, field: u16) -> u64 {
        u64::from(field) << self.sender.snd_wscale
    }

    /// Handles an acknowledgment of no new data. It has an effect if it is a `duplicate`, or if it
    /// reports a new SACK block or a segment that arrived twice.
    pub(super) fn take_old_or_duplicate(
        &mut self,
        now: Time,
        segment: &Segment,
        selective: Option<&Delivered>,
        duplicate: bool,
    ) {
        let news = selective.is_some_and(|it| it.sacked > 0 || it.dsack.is_some());
        if news || duplicate {
            if let Some(delivered) = selective {
                self.sample_sack_rtt(now, delivered);
            }
            self.detect_spurious(segment, self.sender.snd_una, selective);
            let is_old = segment.ack.distance_from(self.seq_at(self.sender.snd_una)) < 0;
            self.on_duplicate_ack(now, selective, is_old);
        }
    }

    /// Applies an acknowledgment up to `ack` to the scoreboard, if there is one. Returns true if
    /// SACK is in use.
    pub(super) fn update_scoreboard(
        &mut self,
        segment: &Segment,
        ack: i64,
        delivered: &mut Delivered,
    ) -> bool {
        let sender = &mut self.sender;
        if !sender.selective {
            if sender.uses_scoreboard {
                let una = sender.snd_una.max(ack.max(0) as u64);
                if let Some(board) = sender.board.allocated_mut() {
                    board.acknowledge(una, &[], delivered);
                }
                let originals = !delivered.acked_retransmitted;
                sender.repair.original_end = delivered.lowest_original_end.filter(|_| originals);
            }
            return false;
        }
        let says_nothing = segment.options.sack.is_empty() && ack <= sender.snd_una as i64;
        if says_nothing && sender.without_times {
            return true;
        }
        let (mut blocks, mut count) = ([(0, 0); 4], 0);
        let sack = &segment.options.sack;
        let last_sack = if sack.is_empty() {
            SackBlocks::default()
        } else {
            std::mem::replace(&mut **sender.board.last_sack.get_or_insert_default(), *sack)
        };
        for (index, block) in sack.as_slice().iter().enumerate() {
            // Nearly all blocks after the first were reported before; the first may be a DSACK.
            if index > 0 && last_sack.contains(block) {
                continue;
            }
            let left = block.left.unwrap_near(sender.iss, sender.snd_una);
            let right = block.right.unwrap_near(sender.iss, sender.snd_una);
            if left < 1 || left >= right || right > sender.snd_max as i64 {
                // The block is malformed, or covers data that were never sent.
                sender.board.last_sack = None;
                continue;
            }
            // RFC 2883 §4: a DSACK begins below the ACK, or lies within the second block.
            if index == 0 && (left < ack || first_block_within_second(segment)) {
                sender.evaluate_dsack((left as u64, right as u64), delivered);
            }
            if left >= ack {
                blocks[count] = (left as u64, right as u64);
                count += 1;
            }
        }
        // In an old ACK, part of the block may lie below SND.UNA.
        let una = sender.snd_una.max(ack.max(0) as u64);
        let twice = delivered.dsack.filter(|_| sender.loss_detection.as_linux());
        if let Some(board) = sender.board.allocated_mut() {
            if let Some((left, right)) = twice {
                board.note_duplicate(left, right, delivered);
            }
            board.acknowledge(una, &blocks[..count], delivered);
        }
        // RFC 8985 §6.2, step 2: if the echo is older than the retransmission, the original
        // arrived. If the retransmission lies beyond a gap, the echo is that of the segment before
        // the gap (RFC 7323 §4.3) and says nothing (as in Linux `tcp_clean_rtx_queue`).
        let echo = segment.options.timestamps.filter(|_| self.timestamps).map(|it| it.echo);
        delivered.original_arrived = delivered.newest.is_some_and(|newest| {
            let older = |echo: u32| (echo.wrapping_sub(self.timestamp(newest.sent)) as i32) < 0;
            newest.retransmitted && newest.end <= una && echo.is_some_and(older)
        });
        delivered.has_sack = !segment.options.sack.is_empty();
        true
    }

    /// Updates the send window at the end of the fifth step (RFC 9293 §3.10.7.4), unless a newer
    /// segment has set the window already.
    #[inline(always)]
    pub(super) fn update_window(&mut self, position: u64, ack: u64, window: u64) {
        let sender = &mut self.sender;
        if sender.snd_wl1 < position || (sender.snd_wl1 == position && sender.snd_wl2 <= ack) {
            sender.snd_wl1 = position;
            sender.snd_wl2 = ack;
            if window != sender.snd_wnd {
                self.change_window(window);
            }
        }
    }

    #[inline(never)]
    fn change_window(&mut self, window: u64) {
        let sender = &mut self.sender;
        if sender.snd_wnd == 0 {
            self.timers.set(|rare| &mut rare.persist, Time::NEVER);
            sender.probes_in_row = 0;
        }
        sender.snd_wnd = window;
        sender.max_snd_wnd = sender.max_snd_wnd.max(window);
    }

    /// True for a duplicate ACK (RFC 5681 §2). The caller has checked that `ack == SND.UNA`. With
    /// SACK, an ACK may be a duplicate even if nothing is outstanding: it may respond to a tail
    /// loss probe (RFC 8985 §7.4.2).
    fn is_duplicate(&self, segment: &Segment, same_advertised_window: bool) -> bool {
        let sender = &self.sender;
        (sender.snd_nxt > sender.snd_una || sender.selective)
            && segment.payload_bytes == 0
            && same_advertised_window
            && !segment.flags.contains(Flags::FIN)
    }

    fn on_new_ack(
        &mut self,
        now: Time,
        segment: &Segment,
        ack: u64,
        selective: Option<&Delivered>,
    ) {
        let flight_before = self.sender.flight_size();
        let receiver_time = self.receiver_time(segment);
        let sender = &mut self.sender;
        // A FIN occupies a position, but is not data.
        let bytes_acked = ack.min(sender.written) - sender.snd_una.min(sender.written);
        let previous_una = sender.snd_una;
        sender.snd_una = ack;
        sender.snd_nxt = sender.snd_nxt.max(ack);
        sender.dupacks = 0;
        sender.limited_credit = 0;
        sender.limited_bytes = 0;
        sender.consecutive_timeouts = 0;
        sender.probes_in_row = 0;
        sender.retransmit_first = false;
        let rtt = self.sample_rtt(now, segment, selective);
        let sender = &mut self.sender;
        sender.backoff.on_ack(&backoff::Ack {
            advances: true,
            has_rtt_sample: rtt.is_some(),
            loss_state_over: ack >= sender.timeout_recovery_end,
        });
        let delivered = sender.delivered_data(bytes_acked, selective);
        // The struct is filled in place: copying values that were just written would cost more than
        // computing them.
        let mut ack = sender.ack_summary(now, rtt);
        ack.bytes_acked = bytes_acked;
        ack.delivered = delivered;
        ack.flight_size = flight_before;
        ack.receiver_time = receiver_time;
        sender.validation.on_ack(&ack);
        self.detect_spurious(segment, previous_una, selective);
        let sender = &mut self.sender;
        // An undo may have restored a window that no longer limits the sender.
        ack.cwnd_limited = sender.validation.allows_growth(&sender.window);
        self.decide(&ack, selective);
        let sender = &mut self.sender;
        sender.validation.end_ack();
        let flight_state = sender.flight_state(sender.flight_size());
        sender.validation.on_flight(&flight_state, &sender.window, false);
    }

    /// Handles a duplicate ACK. `is_old` is true if its acknowledgment number lies below `SND.UNA`.
    /// Data delivered by such an ACK do not count in Linux (`tcp_ack`, `old_ack`).
    pub(super) fn on_duplicate_ack(
        &mut self,
        now: Time,
        selective: Option<&Delivered>,
        is_old: bool,
    ) {
        let sender = &mut self.sender;
        sender.dupacks += 1;
        let delivered = sender.delivered_data(0, selective);
        let is_ignored = is_old && sender.loss_detection.as_linux();
        let delivered = if is_ignored { 0 } else { delivered };
        let ack = congestion_control::Ack { delivered, ..sender.ack_summary(now, None) };
        self.decide(&ack, selective);
        let sender = &self.sender;
        if !is_old && sender.loss_detection.as_linux() && sender.has_sack_of_earlier_data(selective)
        {
            self.restart_retransmit_timer(now);
        }
    }

    /// Evaluates an acknowledgment: estimators observe it, then loss detection evaluates it, and
    /// then either the congestion window grows or recovery continues.
    fn decide(&mut self, ack: &congestion_control::Ack, selective: Option<&Delivered>) {
        let now = ack.now;
        if let Some(delivered) = selective {
            self.notify_segments_acked(ack, delivered.ca_rtt_sent());
        }
        self.observe_echo(ack);
        let sender = &mut self.sender;
        sender.congestion_control.observe(ack, sender.window.smss);
        sender.loss_cause.on_ack(ack, &sender.window);
        let is_new = sender.snd_una != sender.last_una;
        sender.last_una = sender.snd_una;
        let overdue = sender.congestion_control.is_overdue(now);
        let lost_before = sender.board.lost_bytes();
        let recovery_point = self.next_recovery_point();
        let sender = &mut self.sender;
        let seen = loss_detection::Ack {
            now,
            srtt: ack.srtt,
            least_rtt: sender.least_rtt,
            has_rtt_sample: ack.rtt.is_some(),
            // An acknowledgment of the FIN alone acknowledges no data, but is not a duplicate.
            bytes_acked: ack.bytes_acked.max(is_new.into()),
            snd_una: sender.snd_una,
            snd_max: sender.snd_max,
            recovery_point,
            defers_marking: sender.repair.defers_marking,
            dupack_threshold: self.parameters.dupack_threshold,
            overdue,
            smss: sender.window.smss,
            selective,
        };
        let mut nothing = None;
        let board = match sender.board.allocated_mut() {
            Some(board) => board,
            None => nothing.insert(Scoreboard::default()),
        };
        let reaction = sender.loss_detection.on_ack(&seen, board);
        let progress = Progress { bytes_acked: ack.bytes_acked, delivered: ack.delivered };
        let restart = !matches!(reaction, Reaction::PartialAck { restart_timer: false });
        let is_open = reaction == Reaction::Nothing && !sender.loss_detection.in_recovery();
        if !is_open {
            self.react_with_model(now, reaction, progress);
        }
        self.end_reduction_by_echo();
        self.evaluate_echo_after_detection(now);
        let may_grow = !self.echo_stops_growth();
        if (is_open || self.sender.grows_after(reaction)) && may_grow {
            let sacked = selective.is_some_and(|delivered| delivered.sacked > 0);
            self.sender.grow(ack, sacked);
        }
        self.apply_rate_reduction(progress, self.sender.board.lost_bytes() <= lost_before);
        if self.sender.congestion_control.asks_for_reduction() {
            self.begin_reduction(now);
        }
        self.update_model(ack, seen.bytes_acked, selective);
        if is_new {
            self.recheck_overdue(overdue);
            self.end_timeout_recovery();
            if restart || self.sender.snd_una == self.sender.snd_max {
                self.restart_retransmit_timer(now);
            }
        }
        let restart = if is_new { ProbeRestart::Acknowledged } else { ProbeRestart::None };
        self.schedule_loss_detection(now, restart);
    }

    /// Ends the loss state of a timeout once everything sent before it is acknowledged.
    fn end_timeout_recovery(&mut self) {
        let sender = &mut self.sender;
        if sender.timeout_recovery_end > 0 && sender.timeout_recovery_is_over() {
            sender.timeout_recovery_end = 0;
            self.events.push_back(Event::Recovered { cwnd: sender.window.cwnd });
        }
    }

    /// Restarts the retransmission timer (RFC 6298 §5.2 and §5.3).
    #[inline]
    pub(super) fn restart_retransmit_timer(&mut self, now: Time) {
        // RFC 3168 §6.1.2: with a congestion window of one segment, ECN-Echo starts the timer even
        // if nothing is outstanding.
        let idle = self.sender.snd_una == self.sender.snd_max && !self.ecn.waits_for_rto();
        self.timers.retransmit = if idle {
            Time::NEVER
        } else {
            let rto = self.sender.rto(self.parameters.max_rto);
            self.deadline(now, rto + self.pacing_delay(now))
        };
    }
}

/// True if the first SACK block lies within the second (RFC 2883 §4, case 2).
pub(super) fn first_block_within_second(segment: &Segment) -> bool {
    match segment.options.sack.as_slice() {
        [first, second, ..] => {
            first.left.distance_from(second.left) >= 0
                && first.right.distance_from(second.right) <= 0
        }
        _ => false,
    }
}
