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
    bbr.change_pacing_rate(1_000_000);
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
            &window(20, 99),
        );
        assert_eq!(bbr.aggregation.aggregation_cwnd(Bandwidth(1_000_000), 1000), excess);
    }
}
