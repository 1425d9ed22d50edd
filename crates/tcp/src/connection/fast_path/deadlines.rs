//! Timers on the detailed paths: most acknowledgments set a timer to the deadline of the previous
//! one, since deadlines lie on the timer wheel.

use super::Connection;
use crate::connection::timeout::ProbeRestart;
use crate::loss_detection::{self, LossDetection};
use retx_units::{Duration, Time};

/// Timers with a [`KnownDeadline`](crate::timers::KnownDeadline).
const RETRANSMIT: usize = 0;
const PROBE: usize = 1;

impl Connection {
    /// Like [`Connection::restart_retransmit_timer`], without ECN.
    #[inline(never)]
    pub(super) fn restart_known_timer(&mut self, now: Time) {
        self.timers.retransmit = if self.sender.snd_una == self.sender.snd_max {
            Time::NEVER
        } else {
            let wait = self.sender.rto(self.parameters.max_rto) + self.pacing_delay(now);
            self.known_deadline(now, wait, RETRANSMIT)
        };
    }

    /// Restarts both timers after an acknowledgment, for a sender that [sends as
    /// Linux](Connection::sends_as_linux).
    #[inline(always)]
    pub(super) fn restart_timers_as_linux(&mut self, now: Time, srtt: Option<Duration>) {
        let sender = &self.sender;
        let segments = sender.board.segments();
        let (wait, tick) = (sender.rto(self.parameters.max_rto), self.parameters.timer_granularity);
        if let loss_detection::State::rack(rack) = &sender.loss_detection
            && segments > 0
            && let Some(probe_wait) =
                rack.probe_timeout(&loss_detection::Flight { segments, sacked: false, srtt })
            && let Some(rare) = self.timers.rare.allocated_mut()
            && let Some(deadline) = rare.known[RETRANSMIT].find(now, wait, tick)
            && let Some(probe) = rare.known[PROBE].find(now, probe_wait, tick)
        {
            self.timers.retransmit = deadline;
            rare.tail_loss_probe = probe.min(deadline);
            rare.probe_follows_ack = true;
        } else {
            self.restart_known_timer(now);
            self.schedule_probe(now, srtt, ProbeRestart::Acknowledged);
        }
    }

    /// Schedules the tail loss probe after new data were acknowledged or sent.
    #[inline(always)]
    pub(super) fn schedule_probe(
        &mut self,
        now: Time,
        srtt: Option<Duration>,
        restart: ProbeRestart,
    ) {
        let sender = &self.sender;
        if sender.without_times {
            return;
        }
        let segments = sender.board.segments();
        let flight = loss_detection::Flight { segments, sacked: false, srtt };
        // If the retransmission timer would expire before the probe, the probe is due at that time,
        // and the retransmission timer acts in place of the probe (RFC 8985 §7.2).
        let wait = if segments == 0 { None } else { sender.loss_detection.probe_timeout(&flight) };
        let probe = wait.map_or(Time::NEVER, |wait| self.known_probe_deadline(now, wait, restart));
        self.timers.set(|rare| &mut rare.tail_loss_probe, probe);
    }

    /// Like [`Connection::probe_deadline`].
    #[inline(always)]
    fn known_probe_deadline(&mut self, now: Time, wait: Duration, restart: ProbeRestart) -> Time {
        let wait = self.limited_probe_wait(now, wait, restart);
        self.known_deadline(now, wait, PROBE).min(self.timers.retransmit)
    }

    /// Like [`Connection::deadline`]; reuses the last deadline of this timer if it still applies.
    #[inline(always)]
    fn known_deadline(&mut self, now: Time, wait: Duration, timer: usize) -> Time {
        let known = self.timers.rare.known[timer];
        let tick = self.parameters.timer_granularity;
        known.find(now, wait, tick).unwrap_or_else(|| self.learn_deadline(now, wait, timer))
    }

    #[inline(never)]
    fn learn_deadline(&mut self, now: Time, wait: Duration, timer: usize) -> Time {
        let deadline = self.deadline(now, wait);
        let tick = self.parameters.timer_granularity;
        if self.parameters.timer_wheel
            && !tick.is_zero()
            && let Some(rare) = self.timers.rare.allocated_mut()
        {
            rare.known[timer].record(now, wait, tick, deadline);
        }
        deadline
    }
}
