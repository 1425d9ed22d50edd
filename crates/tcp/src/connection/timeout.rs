//! Expiry of timers.

use super::recover::Progress;
use super::undo::RecoveryStart;
use super::{Connection, Episode, Event, State};
use crate::backoff::{self, Backoff};
use crate::congestion_control::CongestionControl;
use crate::loss_cause::Cause;
use crate::loss_detection::{self, LossDetection, Reaction};
use crate::rto::Estimator;
use crate::timers::{Rare, Timers};
use retx_units::{Duration, Time};

impl Connection {
    /// True if the timers due by `now` only open the pacing gate, for new data or for segments that
    /// an acknowledgment has shown to be lost.
    pub fn only_opens_gate(&self, now: Time) -> bool {
        let sender = &self.sender;
        self.timers.is_only_pacing_due(now)
            && !(sender.tail_probe_due || sender.timeout_recovery_end > 0)
    }

    /// Like [`Self::handle_timeout`], if that [only opens the pacing
    /// gate](Self::only_opens_gate).
    #[inline]
    pub fn open_gate(&mut self) {
        self.timers.set(|rare| &mut rare.pacing, Time::NEVER);
    }

    /// Fires the timers due by `now`. Calling too early does no harm.
    pub fn handle_timeout(&mut self, now: Time) {
        // The opening of the pacing gate changes no other state, nor the choice of fast paths.
        if self.parameters.use_fast_paths && self.timers.expire_pacing_alone(now) {
            return;
        }
        if Timers::expire(&mut self.timers.delayed_ack, now) {
            self.receiver.ack_now = true;
            let rto = self.rto();
            self.receiver.pending.on_timer(rto);
        }
        self.receiver.ack_now |= self.timers.expire_rare(|rare| &mut rare.compressed_ack, now);
        self.timers.expire_rare(|rare| &mut rare.pacing, now);
        if self.timers.expire_rare(|rare| &mut rare.reordering, now) {
            let recovery_point = self.next_recovery_point();
            let sender = &mut self.sender;
            if let Some(repair) = sender.repair.allocated_mut() {
                repair.defers_marking = false;
            }
            let reaction = match sender.board.allocated_mut() {
                Some(board) => sender.loss_detection.on_deadline(now, recovery_point, board),
                None => Reaction::Nothing,
            };
            // Linux `tcp_rack_reo_timeout`: the reduction begins as if one segment had been
            // delivered.
            let begins =
                reaction == Reaction::SelectiveRecovery && sender.loss_detection.as_linux();
            let delivered = if begins { sender.window.smss.into() } else { 0 };
            self.react_with_model(now, reaction, Progress::default());
            self.apply_rate_reduction(Progress { delivered, ..Progress::default() }, false);
            self.schedule_loss_detection(now, ProbeRestart::None);
        }
        if self.timers.expire_rare(|rare| &mut rare.tail_loss_probe, now) {
            // RFC 8985 §7.3: after the attempt to probe, the retransmission timer is restarted,
            // even if both timers were due at once (§7.2: the probe replaces the timeout).
            self.sender.tail_probe_due = true;
            self.restart_retransmit_timer(now);
        }
        if Timers::expire(&mut self.timers.retransmit, now) {
            let held = self.ecn.on_rto();
            if !held || self.sender.snd_una < self.sender.snd_max {
                self.on_retransmit_timeout(now);
            }
        }
        if self.timers.expire_rare(|rare| &mut rare.persist, now) {
            if self.gives_up_probing(now) || self.is_probe_past_user_timeout(now) {
                self.enter_closed(Event::Reset);
                return;
            }
            self.sender.zero_window_probe_due = self.sender.snd_nxt < self.sender.write_seq();
        }
        if self.timers.expire_rare(|rare| &mut rare.keepalive, now) {
            self.on_keepalive_timer(now);
        }
        if self.timers.expire_rare(|rare| &mut rare.time_wait, now) {
            self.state = State::Closed;
        }
        self.recompute_fast_paths();
    }

    /// Handles the expiry of the retransmission timer (RFC 6298 §5.4 – §5.7, RFC 5681 §3.1).
    fn on_retransmit_timeout(&mut self, now: Time) {
        if self.gives_up_retransmitting(now) {
            self.enter_closed(Event::Reset);
            return;
        }
        let (rto, backoff) = (self.rto(), self.sender.backoff.exponent());
        self.note_timeout_for_model();
        let sender = &mut self.sender;
        let repeated = sender.consecutive_timeouts > 0;
        sender.consecutive_timeouts += 1;
        if !repeated {
            sender.repair.unresponsive_peer.first_retransmission = now;
        }
        // Karn: retransmitted data cannot be timed.
        sender.timed = None;
        if let Some(pacer) = &mut sender.pacer {
            pacer.on_timeout();
        }
        if !sender.congestion_control.holds_rto() {
            sender.backoff.on_timeout(&backoff::Timeout {
                bandwidth_delay_bytes: sender.congestion_control.bandwidth_delay_bytes(),
                in_syn_sent: self.state == State::SynSent,
            });
        }
        if matches!(self.state, State::SynSent | State::SynReceived) {
            sender.retransmit_syn();
            sender.repair.syn_timed_out = true;
            return;
        }
        let cwnd_before = sender.window.cwnd;
        let in_fast_recovery = sender.loss_detection.in_recovery();
        let stale_timer = sender.loss_detection.left_timer_running();
        // `tcp_enter_loss`: a timeout during a reduction by ECN-Echo concerns the same window of
        // data.
        let after_echo = self.ecn.is_reducing() && sender.snd_una < self.ecn.echo_recover();
        let same_window_of_data = sender.begin_recovery(&RecoveryStart {
            by_timeout: true,
            in_recovery: repeated || in_fast_recovery || after_echo,
            after_echo,
            recovery_point: sender.snd_max,
        });
        let inferred_cause = sender.infer_loss_cause(now, true);
        if inferred_cause == Cause::Congestion {
            let loss = sender.loss_summary(now);
            let reduced = repeated || after_echo;
            sender.congestion_control.on_timeout(&mut sender.window, &loss, reduced);
            self.ecn.on_reduction(sender.snd_max);
        } else if in_fast_recovery {
            // The congestion window is kept, but without the temporary inflation of fast recovery.
            sender.end_cwnd_reduction();
        }
        // Proportional rate reduction may have left less than the loss window of one segment (RFC
        // 5681 §3.1).
        sender.window.cwnd = sender.window.cwnd.max(sender.window.smss.into());
        self.take_for_lost(now);
        let sender = &self.sender;
        let episode = Episode {
            trigger: sender.snd_una,
            repaired: false,
            inferred_cause,
            cwnd_before,
            cwnd_after: sender.window.cwnd,
            rto,
            backoff,
            same_window_of_data,
            stale_timer,
        };
        self.events.push_back(Event::TimedOut(episode));
    }

    /// Marks all outstanding data as lost at a timeout, and ends earlier recoveries.
    fn take_for_lost(&mut self, now: Time) {
        let sender = &mut self.sender;
        let loss_age = sender.loss_detection.loss_age_at_timeout();
        sender.loss_detection.on_timeout(sender.snd_max);
        sender.frto_segments = 0;
        sender.limited_credit = 0;
        sender.limited_bytes = 0;
        sender.retransmit_first = false;
        sender.overdue_checks = 0;
        sender.end_reduction();
        self.ecn.leave_reduction();
        sender.tail_probe_due = false;
        self.timers.set(|rare| &mut rare.reordering, Time::NEVER);
        self.timers.set(|rare| &mut rare.tail_loss_probe, Time::NEVER);
        if sender.uses_scoreboard {
            // RFC 6675 §5.1: selectively acknowledged data are not retransmitted.
            sender.board.mark_lost_at_timeout(|sent| sent + loss_age <= now);
            if sender.loss_detection.as_linux() {
                // `tcp_enter_loss`: the window is the loss window plus the data still in flight.
                sender.window.cwnd = sender.pipe() + u64::from(sender.window.smss);
            } else {
                // RFC 6298 §5.4: the first segment is retransmitted, however much counts as in
                // flight.
                sender.retransmit_first = sender.pipe() > 0;
            }
        } else {
            sender.snd_nxt = sender.snd_una;
        }
        // RFC 9293 §3.8.6: if the peer's window has shrunk to zero, it is probed.
        sender.zero_window_probe_due = sender.snd_wnd == 0;
        sender.timeout_recovery_end = sender.snd_max;
    }

    /// Starts the persist timer, when data wait but may not be sent, and none are in flight. Probes
    /// follow at growing intervals (RFC 9293 §3.8.6.1).
    pub(super) fn start_persist_timer(&mut self, now: Time) {
        let base = self.rto().max(self.parameters.persist_timeout);
        let doublings = self.parameters.abort_limits.probe_doublings();
        let wait = base.saturating_mul(1 << self.sender.probes_in_row.min(doublings));
        let longest = self.parameters.max_rto.max(self.parameters.persist_timeout);
        if self.sender.probes_in_row == 0
            && let Some(requests) = self.sender.allocated_requests()
        {
            requests.probing_since = None;
        }
        self.sender.probes_in_row += 1;
        let since = self.sender.repair.requests.probing_since.unwrap_or(now);
        let wait = self.limit_to_user_timeout(now, wait.min(longest), since);
        let deadline = self.deadline(now, wait);
        self.timers.set(|rare| &mut rare.persist, deadline);
    }

    /// Sets the timers of loss detection after an acknowledgment or a transmission.
    pub(super) fn schedule_loss_detection(&mut self, now: Time, restart: ProbeRestart) {
        let sender = &self.sender;
        if !sender.selective || sender.without_times {
            return;
        }
        // RFC 8985 §7.2: no probe is scheduled while losses are repaired.
        let repairs = sender.loss_detection.in_recovery() || sender.timeout_recovery_end > 0;
        let reordering = sender.loss_detection.deadline();
        if repairs && reordering == Time::NEVER {
            self.sender.tail_probe_due &= restart == ProbeRestart::None;
            self.timers.rare.allocated_mut().into_iter().for_each(Rare::stop_loss_detection);
            return;
        }
        let segments = sender.board.segments();
        let wait = if repairs || segments == 0 {
            None
        } else {
            let sacked = sender.board.sacked_bytes() > 0;
            let srtt = sender.estimator.srtt();
            sender.loss_detection.probe_timeout(&loss_detection::Flight { segments, sacked, srtt })
        };
        let reordering = if reordering == Time::NEVER {
            reordering
        } else {
            self.deadline(now, reordering.since(now))
        };
        self.timers.set(|rare| &mut rare.reordering, reordering);
        if restart != ProbeRestart::None {
            // A probe that pacing has delayed until now is rescheduled, too.
            self.sender.tail_probe_due = false;
        }
        let probe = match wait {
            Some(_) if restart == ProbeRestart::None => self.timers.rare.tail_loss_probe,
            Some(wait) => self.probe_deadline(now, wait, restart),
            None => Time::NEVER,
        };
        self.timers.set(|rare| &mut rare.tail_loss_probe, probe);
    }

    /// Time of a tail loss probe that is due after `wait`: not after the timeout (RFC 8985 §7.2).
    pub(super) fn probe_deadline(
        &mut self,
        now: Time,
        wait: Duration,
        restart: ProbeRestart,
    ) -> Time {
        let wait = self.limited_probe_wait(now, wait, restart);
        self.deadline(now, wait).min(self.timers.retransmit)
    }

    /// Wait for a tail loss probe. After a transmission Linux counts the timeout from when the
    /// first segment in flight was sent, not from when the timer was restarted
    /// (`tcp_rto_delta_us`).
    #[inline(always)]
    pub(super) fn limited_probe_wait(
        &mut self,
        now: Time,
        wait: Duration,
        restart: ProbeRestart,
    ) -> Duration {
        self.timers.rare.probe_follows_ack = restart == ProbeRestart::Acknowledged;
        let mut wait = wait + self.pacing_delay(now);
        if restart == ProbeRestart::Sent && self.sender.loss_detection.as_linux() {
            let sent = self.sender.board.first_sent().unwrap_or(now);
            let timeout = (sent + self.rto()).since(now);
            if !timeout.is_zero() {
                wait = wait.min(timeout);
            }
        }
        wait
    }
}

/// Event that restarts the timer of the tail loss probe (RFC 8985 §7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeRestart {
    None,
    /// New data were acknowledged.
    Acknowledged,
    /// New data were sent.
    Sent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::testing::{at, config, in_recovery};

    /// RFC 8985 §7.2: a recovery cancels the probe, and data sent meanwhile replace one that is
    /// due.
    #[test]
    fn no_probe_is_scheduled_in_a_recovery() {
        let [mut near, _] = in_recovery(&config("linux"));
        assert_eq!(near.sender.loss_detection.deadline(), Time::NEVER);
        near.timers.set(|rare| &mut rare.reordering, at(80));
        near.timers.set(|rare| &mut rare.tail_loss_probe, at(90));
        near.sender.tail_probe_due = true;
        near.schedule_loss_detection(at(70), ProbeRestart::None);
        let rare = &near.timers.rare;
        assert_eq!([rare.reordering, rare.tail_loss_probe], [Time::NEVER; 2]);
        assert!(near.sender.tail_probe_due, "nothing was sent");
        near.schedule_loss_detection(at(70), ProbeRestart::Sent);
        assert!(!near.sender.tail_probe_due);
    }
}
