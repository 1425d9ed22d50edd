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
        self.update_aggregation(&reading, delivery, segments::cwnd_segments(window));
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

    fn update_aggregation(&mut self, reading: &AckEvaluation, delivery: &Delivery, cwnd: u64) {
        if delivery.delivered_segments == 0 || reading.sample.is_none() {
            return;
        }
        self.aggregation.on_ack(&Acked {
            at: self.rate.delivered_at,
            delivered_segments: delivery.delivered_segments,
            round_start: self.rounds.start,
            bandwidth: self.bandwidth(),
            cwnd,
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
mod tests {
    use super::super::model::MinRtt;
    use super::super::{Config, State};
    use super::*;
    use crate::congestion_control::delivery_rate::Sample;
    use crate::congestion_control::testing::{at, tcp, window};
    use retx_units::Duration;

    const MS: Duration = Duration::from_millis(1);

    /// State with a bandwidth of 1 segment per ms and a minimum RTT of 20 ms. With gain 1 the
    /// target is 20 segments, plus 6 for segmentation offload.
    fn bbr() -> Bbr {
        let mut bbr = *State::new(&Config {}, &tcp()).0;
        bbr.smss = 1000;
        bbr.least_rtt = MinRtt::new(Some(MS * 20), at(0));
        bbr.rounds.add(Bandwidth(1_000_000));
        bbr.pacing_rate = 1_000_000;
        bbr
    }

    fn delivery() -> Delivery {
        Delivery {
            now: at(0),
            snd_una: 1,
            delivered_segments: 1,
            is_selective: false,
            newest: None,
            is_short: false,
            lost: 0,
            lost_total: 0,
            flight_before: 20,
            flight: 20,
            phase: Phase::Open,
            rtt: None,
            srtt: None,
            pacing_delay: Duration::ZERO,
        }
    }

    fn sampled() -> AckEvaluation {
        let sample = Some(Sample { segments: 1, interval: MS, prior_delivered: 0 });
        AckEvaluation { delivers: true, sample, ..AckEvaluation::default() }
    }

    /// `bbr_is_next_cycle_phase`: the phase with gain 3/4 ends at once when no more than the target
    /// is in flight.
    #[test]
    fn the_draining_phase_ends_with_the_queue() {
        for (elapsed, flight_before, over) in
            [(0, 26, true), (0, 27, false), (20, 27, false), (21, 27, true)]
        {
            let mut bbr = bbr();
            (bbr.mode, bbr.phase, bbr.pacing_gain) = (Mode::ProbeBandwidth, 1, CYCLE[1]);
            bbr.rate.delivered_at = at(elapsed);
            let delivery = Delivery { flight_before, ..delivery() };
            assert_eq!(bbr.phase_is_over(&delivery), over, "{elapsed} {flight_before}");
        }
    }

    /// The phase with gain 5/4 lasts longer than the minimum RTT, until enough is in flight or a
    /// loss occurs.
    #[test]
    fn the_probing_phase_ends_with_enough_in_flight_or_a_loss() {
        for (elapsed, flight_before, lost, over) in [
            (21, 20, 0, false),
            (21, 20, 1, true),
            (21, 40, 0, true),
            (20, 40, 0, false),
            (20, 20, 1, false),
        ] {
            let mut bbr = bbr();
            (bbr.mode, bbr.phase, bbr.pacing_gain) = (Mode::ProbeBandwidth, 0, CYCLE[0]);
            bbr.rate.delivered_at = at(elapsed);
            let delivery = Delivery { flight_before, lost, ..delivery() };
            assert_eq!(bbr.phase_is_over(&delivery), over, "{elapsed} {flight_before} {lost}");
        }
    }

    /// `bbr_check_drain`: the drain mode ends when no more than the target is in flight.
    #[test]
    fn the_drain_mode_ends_with_the_queue() {
        for (flight, mode) in [(26, Mode::ProbeBandwidth), (27, Mode::Drain)] {
            let (mut bbr, mut window) = (bbr(), window(50, 99));
            (bbr.mode, bbr.pacing_gain) = (Mode::Drain, DRAIN_GAIN);
            bbr.check_drain(&mut window, &Delivery { flight, ..delivery() });
            assert_eq!(bbr.mode, mode, "{flight}");
        }
    }

    /// `bbr_check_probe_rtt_done`: the probe ends only after its end time, not at this time.
    #[test]
    fn the_rtt_probe_ends_after_its_time() {
        for (probe_end, now, mode, cwnd) in [
            (None, 201, Mode::ProbeRtt, 4),
            (Some(200), 199, Mode::ProbeRtt, 4),
            (Some(200), 200, Mode::ProbeRtt, 4),
            (Some(200), 201, Mode::Startup, 30),
        ] {
            let (mut bbr, mut window) = (bbr(), window(4, 99));
            (bbr.mode, bbr.prior_cwnd) = (Mode::ProbeRtt, 30);
            bbr.probe_end = probe_end.map(at);
            bbr.check_probe_end(&mut window, at(now));
            assert_eq!((bbr.mode, window.cwnd), (mode, cwnd * 1000), "{now}");
        }
    }

    /// `bbr_update_gains`: while the policed rate is used, the gain does not cycle.
    #[test]
    fn a_policed_rate_is_neither_exceeded_nor_undercut() {
        for (phase, gain) in CYCLE.into_iter().enumerate() {
            let mut bbr = bbr();
            (bbr.mode, bbr.phase) = (Mode::ProbeBandwidth, phase);
            bbr.update_gains();
            assert_eq!((bbr.pacing_gain, bbr.cwnd_gain), (gain, CWND_GAIN));
            bbr.policer.policed = true;
            bbr.update_gains();
            assert_eq!((bbr.pacing_gain, bbr.cwnd_gain), (UNIT, CWND_GAIN));
        }
    }

    /// `bbr_set_cwnd`: an acknowledgment that delivers nothing leaves the window unchanged.
    #[test]
    fn only_a_delivery_changes_the_window() {
        for (segments, cwnd) in [(0, 2), (1, 4)] {
            let (mut bbr, mut window) = (bbr(), window(2, 99));
            bbr.set_cwnd(&mut window, &Delivery { delivered_segments: segments, ..delivery() });
            assert_eq!(window.cwnd, cwnd * 1000, "{segments}");
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: losses reduce the window by the number of lost
    /// segments.
    #[test]
    fn losses_lower_the_window_by_their_number() {
        for (lost, cwnd) in [(0, 30), (3, 27), (29, 1), (40, 1)] {
            let mut bbr = bbr();
            assert_eq!(bbr.recover_or_restore(30, &Delivery { lost, ..delivery() }), cwnd);
        }
    }

    /// `bbr_set_cwnd`: beyond the target the window grows until ten segments have been delivered.
    #[test]
    fn ten_segments_are_delivered_before_the_target_limits_growth() {
        for (delivered, cwnd) in [(9, 1001), (10, 1000), (11, 1000)] {
            let mut bbr = bbr();
            bbr.rate.delivered = delivered;
            assert_eq!(bbr.grow(1000, 1), cwnd, "{delivered}");
        }
    }

    /// `bbr_lt_bw_sampling` begins at the first loss.
    #[test]
    fn a_loss_begins_the_search_for_a_policer() {
        for (lost, is_sampling) in [(0, false), (1, true)] {
            let mut bbr = bbr();
            bbr.update_bandwidth(&sampled(), &Delivery { lost, ..delivery() });
            assert_eq!(bbr.policer.is_sampling, is_sampling, "{lost}");
        }
    }

    /// The policed rate is used for 48 rounds of the mode that probes for bandwidth.
    #[test]
    fn a_policed_rate_expires_while_probing_for_bandwidth() {
        for (mode, rounds) in [(Mode::Startup, 7), (Mode::ProbeRtt, 7), (Mode::ProbeBandwidth, 8)] {
            let mut bbr = bbr();
            (bbr.mode, bbr.rounds.start) = (mode, true);
            (bbr.policer.policed, bbr.policer.rounds) = (true, 7);
            bbr.sample_policer(false, false);
            assert_eq!(bbr.policer.rounds, rounds, "{mode:?}");
        }
        let mut bbr = bbr();
        (bbr.mode, bbr.rounds.start) = (Mode::ProbeBandwidth, true);
        (bbr.policer.policed, bbr.policer.rounds) = (true, 47);
        bbr.sample_policer(false, false);
        assert_eq!((bbr.policer.bandwidth(), bbr.cycles), (None, 1));
    }

    /// `bbr_update_ack_aggregation`: five segments acknowledged at once are an excess of five, if
    /// the acknowledgment gives a sample.
    #[test]
    fn an_acknowledgment_without_a_sample_is_no_aggregation() {
        let invalid = AckEvaluation { sample: None, ..sampled() };
        for (reading, segments, excess) in [(sampled(), 5, 5), (sampled(), 0, 0), (invalid, 5, 0)] {
            let mut bbr = bbr();
            bbr.update_aggregation(
                &reading,
                &Delivery { delivered_segments: segments, ..delivery() },
                20,
            );
            assert_eq!(bbr.aggregation.aggregation_cwnd(Bandwidth(1_000_000), 1000), excess);
        }
    }
}
