use super::super::testing::{Path, ack, at, loss, tcp, window};
use super::*;

const MS: Duration = Duration::from_millis(1);

fn htcp() -> State {
    State::new(&Config {}, &tcp())
}

/// Leith & Shorten, eq. 4: 1 + 10·(Δ − 1) + ((Δ − 1)/2)² is 1, 11.25 and 33.25 after 1, 2 and 4 s.
#[test]
fn alpha_grows_with_the_time_since_the_last_congestion() {
    let mut htcp = htcp();
    htcp.beta = BETA_MIN;
    for (ticks, alpha) in [(0, 1), (250, 1), (251, 1), (500, 11), (1000, 33)] {
        htcp.update_alpha(ticks);
        assert_eq!(htcp.alpha, alpha * ONE, "after {ticks} ticks");
    }
}

/// An RTT of 100 ms is the reference. 20 ms give a fifth, and no RTT gives less than a tenth; 400
/// ms give twice as much, not four times. The factor 2·(1 − β) is 0.4 for β = 0.8.
#[test]
fn alpha_is_scaled_by_the_rtt_and_the_reduction() {
    let mut htcp = htcp();
    for (min_rtt, alpha) in [(25, 11), (5, 2), (1, 1), (100, 22)] {
        htcp.min_rtt = min_rtt;
        htcp.update_alpha(500);
        assert_eq!(htcp.alpha, alpha * ONE, "{min_rtt}");
    }
    (htcp.min_rtt, htcp.beta) = (25, BETA_MAX);
    htcp.update_alpha(500);
    assert_eq!(htcp.alpha, 2 * 11 * 26);
}

#[test]
fn slow_start_and_a_segment_per_window() {
    let (mut htcp, mut slow) = (htcp(), window(8, 10));
    htcp.on_ack(&mut slow, &ack(at(0), 4000));
    assert_eq!(slow.cwnd, 10_000, "the rest is dropped");
    // An ACK counts its segment after the comparison: the 11th ACK finds ten counted.
    let acks_until_growth = |cwnd, alpha| {
        let (mut htcp, mut window) = (self::htcp(), window(cwnd, 2));
        htcp.alpha = alpha;
        let mut acks = 0;
        while window.cwnd == cwnd * 1000 {
            htcp.on_ack(&mut window, &ack(at(0), 1000));
            acks += 1;
        }
        acks
    };
    assert_eq!(acks_until_growth(10, ONE), 11);
    assert_eq!(acks_until_growth(100, 11 * ONE), 11, "10·11 ≥ 100");
    let idle = Ack { cwnd_limited: false, ..ack(at(0), 9000) };
    htcp.on_ack(&mut slow, &idle);
    assert_eq!((slow.cwnd, htcp.segments.acked_segments), (10_000, 0));
}

/// An interval of 50 ticks with 100 segments is 500 segments/s. The average begins anew within
/// three RTTs of the loss.
#[test]
fn throughput_is_averaged_per_round() {
    let mut htcp = htcp();
    htcp.min_rtt = 50;
    htcp.throughput.packets = 100;
    htcp.measure_throughput(60, 100);
    assert_eq!((htcp.throughput.average, htcp.throughput.began), (0, Some(60)), "since boot");
    htcp.throughput.packets = 98;
    htcp.measure_throughput(110, 100);
    assert_eq!(htcp.throughput.packets, 98, "fewer than cwnd − 1");
    htcp.throughput.packets = 100;
    htcp.measure_throughput(109, 100);
    assert_eq!(htcp.throughput.packets, 100, "less than RTTmin");
    htcp.measure_throughput(110, 100);
    assert_eq!((htcp.throughput.average, htcp.throughput.max), (500, 500));
    htcp.throughput.packets = 180;
    htcp.measure_throughput(210, 100);
    assert_eq!((htcp.throughput.average, htcp.throughput.max), (487, 500), "(3·500 + 450)/4");
    (htcp.last_congestion, htcp.throughput.packets) = (200, 400);
    htcp.measure_throughput(310, 100);
    assert_eq!((htcp.throughput.average, htcp.throughput.max), (1000, 1000), "2 RTTs after a loss");
}

#[test]
fn the_reduction_is_adapted_at_the_second_loss_of_steady_throughput() {
    let mut htcp = htcp();
    (htcp.min_rtt, htcp.max_rtt) = (15, 20);
    htcp.throughput.max = 500;
    let reduced = |htcp: &mut State, from: u64| {
        let mut window = window(from, 99);
        htcp.on_loss(&mut window, &loss(at(0), 100));
        (window.cwnd / 1000, window.ssthresh / 1000)
    };
    assert_eq!(reduced(&mut htcp, 100), (50, 50), "the throughput rose from 0");
    assert_eq!(reduced(&mut htcp, 100), (50, 50), "steady, but for the first time");
    // RTTmax was 20, and loses 5 % of its excess twice, in whole ticks: 19, 18. 128·15/18 = 106.
    assert_eq!(htcp.max_rtt, 18);
    assert_eq!(reduced(&mut htcp, 100), (79, 79), "0.8 at most: ⌊100·102/128⌋");
    htcp.max_rtt = 25;
    assert_eq!(reduced(&mut htcp, 100), (59, 59), "⌊128·15/25⌋ = 76: 0.59");
    htcp.throughput.max = 601;
    assert_eq!(reduced(&mut htcp, 100), (50, 50), "20 % more, and a fraction");
    htcp.min_rtt = ADAPTED_ABOVE;
    for _ in 0..2 {
        assert_eq!(reduced(&mut htcp, 100), (50, 50), "12 ms is too short");
    }
    assert_eq!(reduced(&mut htcp, 3), (2, 2));
}

#[test]
fn max_rtt_rises_by_small_steps_while_open() {
    let mut htcp = htcp();
    for (rtt, open, expected) in
        [(25, true, 25), (30, true, 30), (36, true, 30), (20, true, 30), (33, false, 30)]
    {
        htcp.measure_rtt(rtt, open);
        assert_eq!(htcp.max_rtt, expected, "{rtt}");
    }
    assert_eq!(htcp.min_rtt, 20);
}

/// A loss at 4 s, repaired at 4.2 s.
#[test]
fn the_clock_begins_when_a_recovery_ends_and_goes_on_after_an_undo() {
    let lose = || {
        let (mut htcp, mut window) = (htcp(), window(20, 20));
        htcp.on_loss(&mut window, &loss(at(4000), 20));
        assert_eq!(htcp.last_congestion, 1000);
        (htcp, window)
    };
    let (mut repaired, mut window) = lose();
    for (snd_una, expected) in [(15_001, 1000), (20_001, 1050)] {
        let ack = Ack { snd_una, ..ack(at(4200), 1000) };
        repaired.observe(&ack, 1000);
        repaired.on_ack(&mut window, &ack);
        assert_eq!(repaired.last_congestion, expected);
    }
    let (mut undone, mut window) = lose();
    undone.on_undo(&mut window);
    undone.on_ack(&mut window, &ack(at(4200), 1000));
    assert_eq!(undone.last_congestion, 0);
}

#[test]
fn a_timeout_sets_the_threshold_once() {
    let (mut htcp, mut window) = (htcp(), window(20, 99));
    htcp.on_timeout(&mut window, &loss(at(1000), 20), false);
    assert_eq!((window.cwnd, window.ssthresh), (1000, 10_000));
    assert!(htcp.adapts);
    htcp.on_timeout(&mut window, &loss(at(2000), 20), true);
    assert_eq!((window.ssthresh, htcp.last_congestion), (10_000, 500));
}

/// The RTT is 20 ms (5 ticks) on an idle path, and 10 to 12 ticks with 20 segments queued.
#[test]
fn measures_a_path() {
    let mut htcp = htcp();
    let mut path = Path::new(MS, MS * 20, window(20, 2));
    path.rounds(&mut htcp, 5);
    path.window.cwnd = 40_000;
    path.rounds(&mut htcp, 5);
    assert_eq!(htcp.min_rtt, 5);
    assert!((10..=12).contains(&htcp.max_rtt), "{}", htcp.max_rtt);
    // The bottleneck carries 1000 segments/s; the resolution is one tick in ten.
    assert!((900..=1100).contains(&htcp.throughput.average), "{}", htcp.throughput.average);
}

/// `measure_achieved_throughput`: an interval is over once a window less α has been acknowledged;
/// here 10 segments less one.
#[test]
fn an_interval_lasts_a_window_less_the_growth() {
    for (packets, left) in [(8, 8), (9, 0), (10, 0)] {
        let mut htcp = htcp();
        (htcp.alpha, htcp.min_rtt) = (ONE, 10);
        (htcp.throughput.packets, htcp.throughput.began) = (packets, Some(0));
        htcp.measure_throughput(100, 10);
        assert_eq!(htcp.throughput.packets, left, "{packets}");
    }
}

/// `htcp_beta_update`: β adapts only for RTTs above 10 ms (three ticks), and only if a largest RTT
/// is known.
#[test]
fn beta_adapts_to_rtts_above_ten_milliseconds() {
    for (min_rtt, max_rtt, beta, adapts) in [
        (ADAPTED_ABOVE, ADAPTED_ABOVE, BETA_MIN, true),
        (ADAPTED_ABOVE + 1, ADAPTED_ABOVE + 1, BETA_MAX, true),
        (30, 40, 96, true),
        (30, 0, BETA_MIN, true),
    ] {
        let mut htcp = htcp();
        (htcp.adapts, htcp.min_rtt, htcp.max_rtt) = (true, min_rtt, max_rtt);
        (htcp.throughput.max, htcp.throughput.previous_max) = (100, 100);
        htcp.update_beta();
        assert_eq!((htcp.beta, htcp.adapts), (beta, adapts), "{min_rtt} {max_rtt}");
    }
}
