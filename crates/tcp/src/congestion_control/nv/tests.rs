use super::super::testing::{Path, SMSS, ack, at, loss, tcp, window};
use super::*;

const MS: Duration = Duration::from_millis(1);

fn nv() -> State {
    State::new(&Config {}, &tcp())
}

/// State before a decision: a rate that needs `needed` segments at an RTT of 100 ms.
fn measured(needed: u64, rounds: u32, samples: u32) -> State {
    let rate = needed * u64::from(SMSS) * BITS / 100_000;
    let round = Round { rounds: rounds - 1, samples, rate, rtt: 100_000, ..Round::default() };
    State { round, least: 100_000, next_least: 100_000, renewal: u64::MAX, ..nv() }
}

/// Decides with this window; returns the resulting window in segments, and whether it may grow.
fn decided(nv: &mut State, window: &mut Window) -> (u64, bool) {
    let ack = Ack { snd_una: 5001, snd_nxt: 105_001, ..ack(at(0), 1000) };
    nv.end_round(window, &ack, 1000);
    assert_eq!(nv.round.end, 105_001);
    (window.cwnd / 1000, nv.may_grow)
}

#[test]
fn falls_by_a_share_of_the_excess() {
    // 90 segments are needed, and 10 more may queue: a window of 200 falls by ⌊100·38/128⌋ = 29.
    for (cwnd, left) in [(200, 171), (110, 108), (103, 101), (102, 100), (101, 100)] {
        let (mut nv, mut window) = (measured(90, 2, 60), window(cwnd, 20));
        assert_eq!(decided(&mut nv, &mut window), (left, false), "{cwnd}");
        assert_eq!(window.ssthresh, 100_000);
        assert_eq!((nv.round.samples, nv.round.rounds, nv.round.rate), (0, 0, 0));
    }
}

#[test]
fn falls_only_with_enough_samples() {
    let infinite = u64::MAX / u64::from(SMSS);
    for (rounds, samples, ssthresh, falls, grows) in [
        (1, 60, 20, false, true),
        (2, 59, 20, false, true),
        (11, 59, 20, false, false),
        (2, 29, infinite, false, true),
        (11, 29, infinite, false, true),
        (2, 30, infinite, true, false),
    ] {
        let (mut nv, mut window) = (measured(90, rounds, samples), window(200, ssthresh));
        let (left, may_grow) = decided(&mut nv, &mut window);
        assert_eq!((left < 200, may_grow), (falls, grows), "{rounds} rounds, {samples} samples");
    }
}

#[test]
fn grows_while_fewer_than_eight_segments_queue() {
    for (cwnd, samples, grows) in [(98, 20, true), (99, 20, false), (98, 19, false)] {
        let (mut nv, mut window) = (measured(90, 1, samples), window(cwnd, 20));
        nv.may_grow = false;
        assert_eq!(decided(&mut nv, &mut window), (cwnd, grows), "{cwnd}, {samples}");
    }
}

#[test]
fn grows_as_reno_and_slower_after_timeouts() {
    let acks = |cwnd, slowness| {
        let (mut nv, mut window) = (nv(), window(cwnd, 2));
        nv.slowness = slowness;
        let acks = (1..).find(|_| {
            nv.on_ack(&mut window, &ack(at(0), 1000));
            window.cwnd > cwnd * 1000
        });
        acks.expect("growth")
    };
    assert_eq!([acks(20, 0), acks(20, 1), acks(20, 3), acks(2, 0)], [20, 40, 160, 4]);
    let (mut nv, mut window) = (nv(), window(20, 40));
    nv.on_ack(&mut window, &ack(at(0), 3000));
    assert_eq!(window.cwnd, 23_000, "slow start");
    nv.may_grow = false;
    nv.on_ack(&mut window, &ack(at(0), 3000));
    assert_eq!(window.cwnd, 23_000);
}

#[test]
fn nine_calm_decisions_quicken_growth() {
    let mut nv = measured(90, 1, 20);
    nv.slowness = 2;
    for decision in 1..=9 {
        let round = measured(90, 1, 20).round;
        nv.round = Round { calm: nv.round.calm, ..round };
        assert_eq!(decided(&mut nv, &mut window(50, 20)), (50, true));
        assert_eq!(nv.slowness, if decision < 9 { 2 } else { 1 }, "{decision}");
    }
}

#[test]
fn losses_leave_four_fifths_and_stop_growth() {
    let (mut nv, mut window) = (nv(), window(100, 200));
    nv.round = Round { rtt: 7, snd_una: 1, ..Round::default() };
    nv.on_loss(&mut window, &loss(at(0), 100));
    assert_eq!((window.cwnd, window.ssthresh, nv.may_grow), (79_000, 79_000, false));
    let during = Ack { snd_una: 50_001, ..ack(at(10), 1000) };
    nv.observe(&during, SMSS);
    assert_eq!(nv.round.rtt, 7);
    let end = Ack { snd_una: 100_001, ..ack(at(20), 1000) };
    nv.observe(&end, SMSS);
    assert_eq!((nv.round.rtt, nv.round.end), (0, 100_001), "begins anew");
    let later = Loss { snd_una: 200_001, snd_max: 300_001, ..loss(at(30), 79) };
    nv.on_timeout(&mut window, &later, false);
    assert_eq!((window.cwnd, window.ssthresh, nv.slowness), (1000, 63_000, 1));
    nv.on_timeout(&mut window, &later, true);
    assert_eq!((window.ssthresh, nv.slowness), (63_000, 2));
}

#[test]
fn the_minimum_is_renewed() {
    let mut nv = nv();
    (nv.least, nv.next_least, nv.renewal, nv.burst) = (100, 150, 1000, 20);
    nv.renew_least(999);
    assert_eq!(nv.least, 100);
    nv.renew_least(1000);
    assert_eq!((nv.least, nv.next_least, nv.burst), (150, u64::MAX, 10));
    // 5 s times 3/4 to 5/4, in ticks of 4 ms.
    assert!((1937..2561).contains(&nv.renewal), "{}", nv.renewal);
}

#[test]
fn a_window_acknowledged_at_once_is_a_burst() {
    let (mut nv, mut window) = (measured(1, 1, 1), window(4, 20));
    nv.may_grow = false;
    let ack = Ack { snd_una: 4001, snd_nxt: 8001, ..ack(at(0), 3000) };
    nv.end_round(&mut window, &ack, 3000);
    assert_eq!((nv.burst, nv.round.end, nv.may_grow), (6, 8001 + 6000, true));
}

/// A path of 200 segments: the window ends with at most ten more, which queue. The minimum is not
/// renewed; otherwise the standing queue would become a part of it.
#[test]
fn keeps_about_ten_segments_queued() {
    for start in [50, 400] {
        let mut nv = State { renewal: u64::MAX, ..nv() };
        let mut path = Path::new(MS, MS * 200, window(start, 1));
        path.rounds(&mut nv, 300);
        let cwnd = path.window.cwnd / u64::from(SMSS);
        assert!((200..=212).contains(&cwnd), "{start}: {cwnd}");
    }
}

/// `tcpnv_init`: the first round ends at the first acknowledgment of data; the minimum RTT is
/// renewed after 2 s.
#[test]
fn a_connection_begins_a_round() {
    let mut nv = nv();
    let (rtt, identity) = (None, 3);
    let start = Start { now: at(1000), rtt, samples_segments: true, identity };
    nv.on_connected(&mut window(10, 99), &start);
    assert_eq!((nv.round.end, nv.round.snd_una, nv.is_sampled), (1, 1, true));
    assert_eq!(nv.renewal, 3 * jiffies::HZ);
}

/// `tcpnv_state`: back in Open, the measurements begin anew at SND.UNA.
#[test]
fn the_end_of_a_repair_begins_a_round() {
    let mut nv = State { resets: true, ..nv() };
    nv.round = Round { calm: 3, samples: 9, ..Round::default() };
    nv.take(&Ack { snd_una: 5001, snd_nxt: 9001, ..ack(at(0), 1000) }, SMSS);
    assert!(!nv.resets);
    let Round { end, snd_una, calm, samples, .. } = nv.round;
    assert_eq!((end, snd_una, calm, samples), (5001, 5001, 0, 0));
}

/// `tcpnv_acked`: a single ACK of a whole burst raises the size of a burst, up to 81.
#[test]
fn the_size_of_a_burst_has_a_limit() {
    for (before, after, samples) in [(79, 81, 0), (80, 81, 0), (81, 81, 1)] {
        let mut nv = State { burst: before, ..measured(90, 1, 1) };
        let ack = Ack { snd_una: 90_001, snd_nxt: 190_001, ..ack(at(0), 1000) };
        nv.end_round(&mut window(50, 20), &ack, 90_000);
        assert_eq!((nv.burst, nv.round.samples), (after, samples), "{before}");
    }
}

/// Segments beyond the threshold count for congestion avoidance: the window grows by one segment in
/// slow start, and by one for the other eleven.
#[test]
fn slow_start_hands_on_the_rest() {
    let (mut nv, mut window) = (nv(), window(10, 11));
    nv.on_ack(&mut window, &ack(at(0), 12_000));
    assert_eq!(window.cwnd, 12_000);
}
