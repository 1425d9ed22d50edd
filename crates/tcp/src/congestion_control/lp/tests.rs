use super::super::testing::{ack, at, loss, tcp, window};
use super::*;

const MS: Duration = Duration::from_millis(1);

fn lp() -> State {
    of(ClockOffset::None, 0)
}

fn of(clock_offset: ClockOffset, identity: u64) -> State {
    let mut lp = State::new(&Config { clock_offset }, &tcp());
    let (now, rtt) = (at(0), None);
    lp.on_connected(&mut window(1, 1), &Start { now, rtt, samples_segments: true, identity });
    lp
}

/// Acknowledges a segment that was sent at `sent` ms and arrived after a one-way delay of
/// `delay` ms; its ACK takes another 20 ms.
fn acknowledge(lp: &mut State, window: &mut Window, sent: u32, delay: u32) {
    let (value, clock) = (sent + delay, sent + delay + 20);
    lp.observe_timestamps(Timestamps { value, echo: sent }, clock);
    lp.on_segments_acked(window, &ack(at(clock.into()), 1000), Some(MS * u64::from(delay + 20)));
}

#[test]
fn the_delay_is_that_of_one_way() {
    let (mut lp, mut window) = (lp(), window(40, 2));
    for n in 1..100 {
        acknowledge(&mut lp, &mut window, 10 * n, 30);
    }
    let delay = &lp.delay;
    assert_eq!((delay.remote_hz, delay.smoothed >> 3, delay.min), (1000, 30, 30));
    assert_eq!(lp.inference, 150, "three round trips of 50 ms");
}

/// The receiver's clock runs at half the rate: each of its ticks counts as two of this end's.
#[test]
fn the_rate_of_the_receivers_clock_is_estimated() {
    let mut delay = OneWayDelay::NONE;
    for n in 1..50 {
        delay.sample(Timestamps { value: 10 * n + 15, echo: 20 * n });
    }
    assert_eq!((delay.remote_hz, delay.smoothed >> 3), (500, 30));
    // With a rate of 1001 Hz, the factor of the receiver's clock is 0 (integer division).
    let mut fast = OneWayDelay { remote_hz: 1001, ..OneWayDelay::NONE };
    fast.sample(Timestamps { value: 1030, echo: 1000 });
    assert_eq!(fast.min, 1000_u32.wrapping_neg());
}

#[test]
fn the_maximum_leaves_the_largest_out() {
    let mut delay = OneWayDelay { remote_hz: 1000, ..OneWayDelay::NONE };
    let mut take = |owd| {
        delay.sample(Timestamps { value: owd, echo: 0 });
        (delay.min, delay.max, delay.max_reserved)
    };
    assert_eq!(take(30), (30, 30, 30));
    assert_eq!(take(90), (30, 30, 90));
    assert_eq!(take(60), (30, 60, 90));
    assert_eq!(take(95), (30, 90, 95));
}

/// Kuzmanovic & Knightly, eq. 2, with δ = 0.15: sowd above min + 0.15·(max − min).
#[test]
fn early_congestion_halves_then_leaves_a_segment() {
    let (mut lp, mut window) = (lp(), window(40, 2));
    (lp.delay.min, lp.delay.max, lp.delay.remote_hz) = (30, 130, 1000);
    lp.delay.max_reserved = 130;
    lp.delay.smoothed = 8 * 44;
    lp.delay.reference = Timestamps { value: 1044, echo: 1000 };
    acknowledge(&mut lp, &mut window, 2000, 44);
    assert_eq!(window.cwnd, 40_000, "44 < 45");
    acknowledge(&mut lp, &mut window, 3000, 60);
    assert_eq!((window.cwnd, lp.last_drop), (20_000, 3080));
    assert_eq!((lp.delay.min, lp.delay.max), (46, 92));
    // The threshold is now 46 + 6 ms: a delay of 52 ms causes the next decrease, within three
    // round trips of 72 ms.
    lp.delay.smoothed = 8 * 52;
    acknowledge(&mut lp, &mut window, 3200, 52);
    assert_eq!((window.cwnd, lp.last_drop), (1000, 3272));
    lp.on_ack(&mut window, &ack(at(3272), 1000));
    assert_eq!(window.cwnd, 1000, "rests");
    acknowledge(&mut lp, &mut window, 3460, 52);
    assert!(!lp.rests, "260 ms later, three round trips are over");
    lp.on_ack(&mut window, &ack(at(3532), 1000));
    assert_eq!(window.cwnd, 2000);
}

/// If the delay rises by 10 ms within 10 ms, the receiver's clock seems to run at 2000 Hz. This
/// sample raises the estimated rate above 1000 Hz, so the clock's value is multiplied by 0.
#[test]
fn a_fast_rise_breaks_the_estimate_as_in_linux() {
    let mut delay = OneWayDelay::NONE;
    for (value, echo) in [(1030, 1000), (1040, 1010), (1060, 1020)] {
        delay.sample(Timestamps { value, echo });
    }
    assert_eq!((delay.remote_hz, delay.max_reserved), (1015, 1020_u32.wrapping_neg()));
}

/// The offset is at least 2^29 with probability 7/8, and then hides the delay. Of 1000
/// connections, the number that give way must be within four standard deviations of 125.
#[test]
fn a_random_offset_hides_the_delay_in_seven_of_eight() {
    let gives_way = |identity| {
        let (mut lp, mut window) = (of(ClockOffset::Random, identity), window(40, 2));
        for n in 1..100_u32 {
            acknowledge(&mut lp, &mut window, 1000 * n, 30 + 10 * n.saturating_sub(20));
        }
        window.cwnd < 40_000
    };
    let count = (0..1000).filter(|identity| gives_way(*identity)).count();
    assert!((83..=167).contains(&count), "{count}");
}

#[test]
fn without_timestamps_it_is_reno() {
    let (mut lp, mut window) = (lp(), window(10, 2));
    for n in 0..10 {
        let ack = ack(at(10 * n), 1000);
        lp.on_segments_acked(&mut window, &ack, Some(MS * (10 + n)));
        lp.on_ack(&mut window, &ack);
    }
    assert_eq!(window.cwnd, 11_000);
    lp.on_loss(&mut window, &loss(at(100), 11));
    assert_eq!((window.cwnd, window.ssthresh), (5000, 5000));
    let later = Loss { snd_una: 90_000, snd_max: 99_000, ..loss(at(1), 9) };
    lp.on_timeout(&mut window, &later, false);
    assert_eq!((window.cwnd, window.ssthresh), (1000, 2000));
}

/// `tcp_lp_remote_hz_estimator`: a sample needs two different values of each clock.
#[test]
fn a_clock_that_stands_still_gives_no_rate() {
    for (value, echo) in [(100, 105), (105, 100), (100, 100)] {
        let mut delay = OneWayDelay::NONE;
        delay.remote_hz = 1000;
        delay.reference = Timestamps { value: 100, echo: 100 };
        delay.update_remote_hz(Timestamps { value, echo });
        assert_eq!(delay.remote_hz, 1000, "{value} {echo}");
    }
}

/// `tcp_lp_pkts_acked`: the window rests for less than three round trips after a decrease.
#[test]
fn a_rest_lasts_less_than_three_round_trips() {
    for (last_drop, rests) in [(0, false), (71, true), (70, false), (69, false)] {
        let mut lp = lp();
        lp.last_drop = last_drop;
        (lp.clock, lp.received.echo) = (100, 90);
        lp.on_sample(&mut window(10, 2), None);
        assert_eq!((lp.inference, lp.rests), (30, rests), "{last_drop}");
    }
}
