use super::super::testing::{Path, SMSS, ack, at, loss, tcp, window};
use super::*;

const MS: Duration = Duration::from_millis(1);

fn vegas() -> State {
    State::new(&Config::default(), &tcp())
}

/// Keeps one to three segments queued on a path of 1 segment/ms and 20 ms, which 20 segments
/// fill: a window of W leaves W − 20 in the queue.
#[test]
fn keeps_one_to_three_segments_in_the_queue() {
    for start in [5, 15, 40] {
        let mut vegas = vegas();
        // The base RTT is measured before the window is large.
        let mut path = Path::new(MS, MS * 20, window(1, 2));
        path.rounds(&mut vegas, 2);
        path.window = window(start, 2);
        path.rounds(&mut vegas, 80);
        assert_eq!(vegas.base, Some(MS * 20));
        let queued = path.window.cwnd / u64::from(SMSS) - 20;
        assert!((1..=3).contains(&queued), "{queued} from {start}");
    }
}

#[test]
fn diff_is_the_standing_queue() {
    // At 1 segment/ms over a base RTT of 20 ms, a window of 30 segments has an RTT of 30 ms.
    assert!((backlog(30_000, 20.0 / 30.0, SMSS) - 10.0).abs() < 1e-9);
    assert!((backlog(20_000, 1.0, SMSS)).abs() < 1e-9);
}

#[test]
fn slow_start_doubles_every_other_round_and_ends_with_a_queue() {
    let mut vegas = vegas();
    let mut path = Path::new(MS, MS * 20, window(2, u64::MAX));
    let mut sizes = vec![];
    for _ in 0..6 {
        path.rounds(&mut vegas, 1);
        sizes.push(path.window.cwnd / u64::from(SMSS));
    }
    // The first ACK tags a segment, whose ACK ends the first measurement.
    assert_eq!(sizes, [2, 4, 4, 8, 8, 16]);
    path.rounds(&mut vegas, 20);
    assert!(!path.window.in_slow_start());
    assert_eq!(path.window.ssthresh, 2 * u64::from(SMSS));
}

#[test]
fn decisions() {
    let after = |diff, cwnd, ssthresh| {
        let (mut vegas, mut window) = (vegas(), window(cwnd, ssthresh));
        vegas.decide(&mut window, diff);
        (window.cwnd, vegas.growth)
    };
    assert_eq!(after(0.9, 10, 2), (10_000, Growth::Linear));
    assert_eq!(after(1.0, 10, 2), (10_000, Growth::Hold));
    assert_eq!(after(3.0, 10, 2), (10_000, Growth::Hold));
    assert_eq!(after(3.1, 10, 2), (9_000, Growth::Hold));
    assert_eq!(after(3.1, 2, 2), (2_000, Growth::Hold));
    assert_eq!(after(1.0, 16, 99), (16_000, Growth::Exponential));
    assert_eq!(after(1.1, 16, 99), (14_000, Growth::Hold));
}

#[test]
fn one_segment_per_round_whatever_the_ack_policy() {
    for bytes in [1000, 2000] {
        let (mut vegas, mut window) = (vegas(), window(10, 2));
        vegas.growth = Growth::Linear;
        for _ in 0..10_000 / bytes {
            let flight_size = window.cwnd;
            vegas.grow(&mut window, &Ack { flight_size, ..ack(at(0), bytes) });
        }
        assert!((10_900..=11_000).contains(&window.cwnd), "{}", window.cwnd);
    }
}

fn sent(vegas: &mut State, ms: u64, position: u64, retransmission: bool) {
    let now = at(ms);
    vegas.on_sent(&Sent { now, position, bytes: SMSS, flight_size: 0, retransmission });
}

#[test]
fn cuts_a_quarter_once_and_half_for_a_lost_retransmission() {
    let (mut vegas, mut window) = (vegas(), window(16, 2));
    sent(&mut vegas, 0, 1, false);
    sent(&mut vegas, 1, 1001, false);
    vegas.on_loss(&mut window, &loss(at(20), 16));
    assert_eq!((window.cwnd, window.ssthresh), (12_000, 2_000));
    sent(&mut vegas, 20, 1, true);
    vegas.observe(&Ack { snd_una: 1001, ..ack(at(40), 1000) }, SMSS);
    // The second segment was sent before the first reduction.
    vegas.on_loss(&mut window, &loss(at(40), 12));
    assert_eq!(window.cwnd, 12_000);
    sent(&mut vegas, 41, 1001, true);
    vegas.on_loss(&mut window, &loss(at(60), 12));
    assert_eq!(window.cwnd, 6_000);
    vegas.on_timeout(&mut window, &loss(at(90), 6), false);
    assert_eq!((window.cwnd, window.ssthresh), (2_000, 3_000));
}

/// ns-2: `if (win <= 3) win = 2`; no reduction raises the window.
#[test]
fn a_cut_leaves_two_segments() {
    let after = |cwnd, flight| {
        let (mut vegas, mut window) = (vegas(), window(cwnd, 2));
        vegas.on_loss(&mut window, &loss(at(20), flight));
        window.cwnd
    };
    assert_eq!([after(4, 2), after(2, 2), after(1, 1)], [2_000, 2_000, 1_000]);
    assert_eq!(after(8, 4), 3_000);
}

#[test]
fn fine_timeout() {
    let mut vegas = vegas();
    assert_eq!(vegas.fine_timeout(), None);
    sent(&mut vegas, 0, 1, false);
    vegas.observe(&Ack { snd_una: 1001, ..ack(at(160), 1000) }, SMSS);
    // (160 + 2·40) ms and a sixteenth more.
    assert_eq!(vegas.fine_timeout(), Some(MS * 255));
    // Constant samples: the deviation goes to 0 and 17/16 of the RTT remain.
    for n in 1..200 {
        sent(&mut vegas, 1000 * n, 1 + 1000 * n, false);
        let snd_una = 1 + 1000 * (n + 1);
        vegas.observe(&Ack { snd_una, ..ack(at(1000 * n + 160), 1000) }, SMSS);
    }
    let timeout = vegas.fine_timeout().unwrap();
    assert!(timeout.abs_diff(MS * 170) < Duration::from_micros(1), "{timeout}");
    sent(&mut vegas, 300_000, 200_001, false);
    vegas.on_loss(&mut window(9, 2), &loss(at(300_200), 9));
    let backed_off = vegas.fine_timeout().unwrap();
    assert!(backed_off.abs_diff(timeout * 9 / 8) < Duration::from_nanos(2));
    let due = at(300_000) + backed_off;
    assert!(vegas.is_overdue(due));
    let early = Duration::from_nanos(backed_off.as_nanos() - 1);
    assert!(!vegas.is_overdue(at(300_000) + early));
    let coarse = Config { fine_retransmission: false, ..Config::default() };
    assert!(!State { config: coarse, ..vegas }.is_overdue(due));
}

/// A segment alone in flight meets no queue of its own: its RTT becomes the base, even if it is
/// larger than the base so far. An RTT of 0, below the resolution of the clock, does not become the
/// base.
#[test]
fn a_lone_segment_measures_the_base() {
    for (flight_size, rtt, base) in [(1000, 50, 50), (1001, 50, 20), (1000, 0, 20)] {
        let (mut vegas, mut window) = (vegas(), window(1, 2));
        vegas.base = Some(MS * 20);
        vegas.round = Some(Round { tag: 1001, began: at(0), sum: MS * rtt, samples: 1 });
        vegas.end_round(&mut window, &Ack { flight_size, ..ack(at(60), 1000) });
        assert_eq!(vegas.base, Some(MS * base), "{flight_size} {rtt}");
    }
}

/// Jacobson 1988: an RTT of 16 µs after one of 8 moves the mean by an eighth of the error, the
/// deviation (a quarter of the first RTT) by a quarter. The timeout is 17/16·(mean + 2·deviation).
#[test]
fn the_fine_timer_follows_the_rtt() {
    let mut timer = FineTimer::new(8000);
    assert_eq!(timer.timeout, 12_000 * 17 / 16);
    timer.sample(16_000);
    assert_eq!(timer.timeout, (9000 + 2 * 3500) * 17 / 16);
    timer.sample(1000);
    assert_eq!(timer.timeout, 8000 + 2 * 4625 + (8000 + 2 * 4625) / 16);
}

/// The measurements of a round in which a loss occurred include the loss. A new round begins.
#[test]
fn a_loss_or_timeout_ends_the_measurement_of_a_round() {
    let after = |timeout: bool| {
        let (mut vegas, mut window) = (vegas(), window(10, 2));
        vegas.round = Some(Round { tag: 5, began: at(1), sum: MS, samples: 1 });
        (vegas.growth, vegas.credit) = (Growth::Linear, 700);
        if timeout {
            vegas.on_timeout(&mut window, &loss(at(2), 10), false);
        } else {
            vegas.on_loss(&mut window, &loss(at(2), 10));
        }
        (vegas.round.is_none(), vegas.growth, vegas.credit)
    };
    assert_eq!([after(false), after(true)], [(true, Growth::Hold, 0); 2]);
}

/// The timeout grows by an eighth after the loss of a first copy, and doubles after that of a later
/// one.
#[test]
fn the_fine_timer_backs_off_slowly_at_first() {
    let mut timer = FineTimer::new(800);
    assert_eq!(timer.timeout, 1_275, "800 + 2·200, and a sixteenth");
    timer.back_off(1);
    assert_eq!(timer.timeout, 1_434);
    timer.back_off(2);
    assert_eq!(timer.timeout, 2_868);
}
