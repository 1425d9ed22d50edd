//! Steps at an acknowledgment, in the order of Linux's `bbr_main`.

use super::aggregation::Acked;
use super::model::Bandwidth;
use super::policer::{Outcome, Progress};
use super::{
    Bbr, CWND_GAIN, CYCLE, DRAIN_GAIN, HIGH_GAIN, INITIAL_WINDOW, LEAST_CWND, Mode, PROBE_RTT, UNIT,
};
use crate::congestion_control::delivery_rate::AckEvaluation;
use crate::congestion_control::{Delivery, Phase, Window, segments};
use retx_units::{StreamKey, Time};

/// The model, updated by each acknowledgment (`bbr_update_model`).
impl Bbr {
    pub(super) fn update(&mut self, window: &mut Window, delivery: &Delivery) {
        self.lost_total = delivery.lost_total;
        let reading = self.rate.on_ack(delivery);
        self.update_bandwidth(&reading, delivery);
        self.update_aggregation(&reading, delivery, window);
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(delivery) {
            self.advance_phase();
        }
        if self.rounds.start && !reading.is_app_limited {
            self.full.on_round(self.rounds.bandwidth());
        }
        self.check_drain(window, delivery);
        self.update_least_rtt(window, &reading, delivery);
        self.update_gains();
    }

    /// Updates rounds and bandwidth (`bbr_update_bw`).
    fn update_bandwidth(&mut self, reading: &AckEvaluation, delivery: &Delivery) {
        // Only an acknowledgment with a sample can begin a round.
        self.rounds.start = false;
        let Some(sample) = reading.sample else { return };
        // Packet conservation holds only for the first round of a recovery.
        if self.rounds.on_sample(sample.prior_delivered, self.rate.delivered) {
            self.conserves = false;
        }
        self.sample_policer(delivery.lost > 0, reading.is_app_limited);
        let bandwidth = Bandwidth::from_segments(sample.segments, self.smss, sample.interval);
        // A sample limited by the application counts only if it is not below the estimate.
        if !reading.is_app_limited || bandwidth >= self.rounds.bandwidth() {
            self.rounds.add(bandwidth);
        }
    }

    pub(super) fn sample_policer(&mut self, shows_loss: bool, is_app_limited: bool) {
        let progress = Progress {
            round_start: self.rounds.start,
            shows_loss,
            is_app_limited,
            in_probe_bandwidth: self.mode == Mode::ProbeBandwidth,
            total: self.totals(),
        };
        match self.policer.sample(&progress, self.smss) {
            Outcome::Nothing => {}
            Outcome::Found => self.pacing_gain = UNIT,
            Outcome::Over => self.begin_cycle(),
        }
    }

    fn update_aggregation(
        &mut self,
        reading: &AckEvaluation,
        delivery: &Delivery,
        window: &Window,
    ) {
        if delivery.delivered_segments == 0 || reading.sample.is_none() {
            return;
        }
        self.aggregation.on_ack(&Acked {
            at: self.rate.delivered_at,
            delivered_segments: delivery.delivered_segments,
            round_start: self.rounds.start,
            bandwidth: self.bandwidth(),
            window,
            smss: self.smss,
        });
    }

    /// True if the current phase of the gain cycle is over (`bbr_is_next_cycle_phase`).
    fn phase_is_over(&self, delivery: &Delivery) -> bool {
        let elapsed = self.rate.delivered_at.since(self.phase_start);
        let is_full = self.least_rtt.value.is_some_and(|rtt| elapsed > rtt);
        if self.pacing_gain == UNIT {
            return is_full;
        }
        // The data in flight before this acknowledgment (`prior_in_flight`).
        let flight = self.flight_at_departure(delivery.flight_before, delivery.pacing_delay);
        if self.pacing_gain > UNIT {
            // The probing phase lasts until as much is in flight as the gain demands, or until a
            // loss shows that the buffer is too small for that.
            return is_full && (delivery.lost > 0 || flight >= self.target(self.pacing_gain));
        }
        // The draining phase lasts until the queue is drained.
        is_full || flight <= self.target(UNIT)
    }

    fn advance_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = self.rate.delivered_at;
    }

    /// Starts the gain cycle in a random phase other than the draining one, so that flows that
    /// share a path do not probe at the same time (`bbr_reset_probe_bw_mode`).
    pub(super) fn begin_cycle(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.cycles += 1;
        let key = StreamKey { seed: self.identity, replication: self.cycles };
        self.phase = CYCLE.len() - 1 - key.stream("bbr.cycle").below(7) as usize;
        self.advance_phase();
    }

    /// Enters and leaves the drain mode (`bbr_check_drain`).
    fn check_drain(&mut self, window: &mut Window, delivery: &Delivery) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            // BBR does not use the threshold; as in Linux, it is set for observers.
            window.ssthresh = segments::segments_to_bytes(window, self.target(UNIT));
        }
        if self.mode == Mode::Drain
            && self.flight_at_departure(delivery.flight, delivery.pacing_delay) <= self.target(UNIT)
        {
            self.begin_cycle();
        }
    }

    /// Updates the minimum RTT, and enters the mode that measures it (`bbr_update_min_rtt`).
    fn update_least_rtt(
        &mut self,
        window: &mut Window,
        reading: &AckEvaluation,
        delivery: &Delivery,
    ) {
        let now = delivery.now;
        let expired = self.least_rtt.update(now, reading.rtt, reading.may_be_delayed);
        if expired && !self.restarted && self.mode != Mode::ProbeRtt {
            // The mode is set before the window is saved, as in Linux: `save_cwnd` then keeps a
            // larger window that was saved before.
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(window);
            self.probe_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            // The bandwidth of the path cannot be measured with so few segments in flight.
            self.rate.on_app_limited(delivery.flight);
            if self.probe_end.is_some() {
                // The small window has to last for a whole round, as well as for 200 ms.
                self.probe_round |= self.rounds.start;
                if self.probe_round {
                    self.check_probe_end(window, now);
                }
            } else if delivery.flight <= LEAST_CWND {
                self.probe_end = Some(now + PROBE_RTT);
                self.probe_round = false;
                self.rounds.begin_at(self.rate.delivered);
            }
        }
        if reading.delivers {
            self.restarted = false;
        }
    }

    /// Leaves the mode that measures the minimum RTT when its time is over
    /// (`bbr_check_probe_rtt_done`).
    pub(super) fn check_probe_end(&mut self, window: &mut Window, now: Time) {
        if self.probe_end.is_none_or(|end| now <= end) {
            return;
        }
        self.least_rtt.restart_window(now);
        window.cwnd = window.cwnd.max(segments::segments_to_bytes(window, self.prior_cwnd));
        if self.full.reached {
            self.begin_cycle();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.bandwidth().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

/// Window computation.
impl Bbr {
    /// Saves the window before a recovery or an RTT probe reduces it (`bbr_save_cwnd`).
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let cwnd = segments::cwnd_segments(window);
        let good = self.losses == Phase::Open && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Sets the window (`bbr_set_cwnd`).
    pub(super) fn set_cwnd(&mut self, window: &mut Window, delivery: &Delivery) {
        let mut cwnd = segments::cwnd_segments(window);
        if delivery.delivered_segments > 0 {
            cwnd = self.recover_or_restore(cwnd, delivery);
            if !self.conserves {
                cwnd = self.grow(cwnd, delivery.delivered_segments).max(LEAST_CWND);
            }
        }
        if self.mode == Mode::ProbeRtt {
            // While the minimum RTT is measured, a small window lets the queue drain.
            cwnd = cwnd.min(LEAST_CWND);
        }
        window.cwnd = segments::segments_to_bytes(window, cwnd);
    }

    /// Window in and after a recovery: in its first round as much is sent as is delivered, and at
    /// its end the saved window is restored (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, mut cwnd: u64, delivery: &Delivery) -> u64 {
        if delivery.lost > 0 {
            // Losses reduce the window by only the number of lost segments: the other segments stay
            // in flight.
            cwnd = cwnd.saturating_sub(delivery.lost).max(1);
        }
        let conserved = delivery.flight + delivery.delivered_segments;
        if delivery.phase == Phase::Recovery && self.losses != Phase::Recovery {
            self.conserves = true;
            self.rounds.begin_at(self.rate.delivered);
            cwnd = conserved;
        } else if self.losses != Phase::Open && delivery.phase == Phase::Open {
            // The recovery is over: the window is raised to its value before the recovery.
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.losses = delivery.phase;
        if self.conserves { cwnd.max(conserved) } else { cwnd }
    }

    /// Grows the window towards the target. Once the pipe is full, the window also shrinks to the
    /// target.
    pub(super) fn grow(&self, cwnd: u64, acked: u64) -> u64 {
        let bandwidth = self.bandwidth();
        let mut target = self.in_flight(bandwidth, self.cwnd_gain);
        if self.full.reached {
            target = target.saturating_add(self.aggregation.aggregation_cwnd(bandwidth, self.smss));
        }
        let target = self.with_budget(target);
        if self.full.reached {
            cwnd.saturating_add(acked).min(target)
        } else if cwnd < target || self.rate.delivered < INITIAL_WINDOW {
            cwnd.saturating_add(acked)
        } else {
            cwnd
        }
    }
}

#[cfg(test)]
mod tests;
