use super::super::testing::{ack, at, loss, tcp, window};
use super::*;

fn cdg() -> State {
    State::new(&Config {}, &tcp())
}

/// Ends rounds with these RTTs in ms; returns the gradients in µs.
fn gradients(delay: &mut Delay, rtts: &[(i64, i64)]) -> Vec<i64> {
    let end = |&(min, max): &(i64, i64)| {
        delay.rtt = MinMax { min: 1000 * min, max: 1000 * max };
        delay.end_round(0)
    };
    rtts.iter().map(end).collect()
}

#[test]
fn the_gradient_is_that_of_eight_rounds() {
    let mut delay = Delay::default();
    let early = gradients(&mut delay, &[(100, 110), (101, 111), (103, 113), (106, 116)]);
    // The rise by 1 ms in one round counts eightfold, that by 3 ms in two rounds fourfold, and that
    // by 6 ms in three rounds by a factor of 8/3.
    assert_eq!(early, [0, 8000, 12_000, 16_000]);
    let rounds: Vec<_> = (0..9).map(|n| (107 + n, 117 + n)).collect();
    assert_eq!(gradients(&mut delay, &rounds).last(), Some(&8000), "one more per round");
    // The least RTT does not rise: the largest one decides.
    let mut delay = Delay { is_full: true, ..Delay::default() };
    assert_eq!(gradients(&mut delay, &[(100, 110), (100, 115), (99, 112)]), [0, 5000, 2000]);
}

/// Hayes & Armitage, eq. 2: P = 1 − e^(−g/G), with G of 1000/(42·8) ms for a mean of eight.
#[test]
fn the_share_of_reductions_is_exponential_in_the_gradient() {
    for gradient in [1_000, 10_000, 50_000] {
        let mut cdg = cdg();
        let draws = 20_000;
        let count = (0..draws)
            .filter(|_| {
                cdg.delay.ineffectual = 0;
                cdg.backs_off(gradient, 10)
            })
            .count();
        let (mean_ms, g_ms) = (gradient as f64 / 8000.0, 1000.0 / (42.0 * 8.0));
        let expected = 1.0 - (-mean_ms / g_ms).exp();
        let deviation = (expected * (1.0 - expected) / f64::from(draws)).sqrt();
        let share = count as f64 / f64::from(draws);
        assert!((share - expected).abs() < 4.0 * deviation, "{gradient}: {share}, {expected}");
    }
    assert!(!cdg().backs_off(0, 10) && !cdg().backs_off(-5, 10));
}

#[test]
fn five_reductions_without_effect_are_enough() {
    let mut cdg = cdg();
    let certain = 10_000_000;
    assert_eq!(
        [(); 7].map(|()| cdg.backs_off(certain, 10)),
        [true, true, true, true, true, false, false]
    );
    cdg.delay.is_full = true;
    gradients(&mut cdg.delay, &[(100, 110), (99, 110)]);
    assert!(cdg.backs_off(certain, 10), "the delay fell by 1 ms");
}

#[test]
fn the_shadow_window_bears_losses() {
    let (mut cdg, mut window) = (cdg(), window(40, 2));
    cdg.delay.shadow = 100;
    cdg.delay.backs_off = true;
    cdg.on_echo(&mut window, &loss(at(0), 40));
    assert_eq!((window.cwnd, cdg.delay.shadow), (28_000, 100), "⌊724·40/1024⌋");
    cdg.on_reduction_end();
    assert!(!cdg.delay.backs_off);
    // The shadow window is halved, and limited to the window.
    cdg.on_loss(&mut window, &loss(at(1), 28));
    assert_eq!((window.cwnd, cdg.delay.shadow), (28_000, 28));
    cdg.on_loss(&mut window, &loss(at(2), 28));
    assert_eq!((window.cwnd, window.ssthresh, cdg.delay.shadow), (14_000, 14_000, 14));
    let later = Loss { snd_una: 90_000, snd_max: 99_000, ..loss(at(3), 9) };
    cdg.on_timeout(&mut window, &later, false);
    assert_eq!((window.cwnd, window.ssthresh), (1000, 7000));
    cdg.on_timeout(&mut window, &later, true);
    assert_eq!(window.ssthresh, 7000);
}

#[test]
fn the_shadow_window_grows_with_the_window() {
    let (mut cdg, mut window) = (cdg(), window(10, 2));
    cdg.delay.shadow = 50;
    cdg.on_ack(&mut window, &ack(at(0), 20_000));
    assert_eq!((window.cwnd, cdg.delay.shadow), (12_000, 52));
    let idle = Ack { cwnd_limited: false, ..ack(at(0), 1000) };
    cdg.on_ack(&mut window, &idle);
    assert_eq!((window.cwnd, cdg.delay.shadow), (12_000, 12));
}

#[test]
fn delayed_acks_count_for_the_minimum_alone() {
    let mut delay = Delay::default();
    for (rtt, packets, expected) in [
        (100, 1, (100, 100)),
        (90, 2, (90, 100)),
        // After one ACK of two segments, the next ACK of a single segment is regarded as delayed.
        (140, 1, (90, 100)),
        (140, 1, (90, 140)),
        (80, 2, (80, 140)),
        (70, 1, (70, 140)),
    ] {
        delay.on_rtt(rtt, packets, false);
        assert_eq!((delay.rtt.min, delay.rtt.max), expected);
    }
    delay.delayed = 3;
    delay.on_rtt(150, 1, true);
    assert_eq!((delay.rtt.max, delay.delayed), (150, 3), "not beside selective ACKs");
}

#[test]
fn slow_start_ends_by_delay_or_by_a_train() {
    let limited = |ms| ack(at(ms), 1000);
    // Samples 4 ms apart are no train; the ninth sample finds a rise from 100 to 113 ms.
    let mut delay =
        Delay { least: 100_000, rtt: MinMax { min: 113_000, max: 0 }, ..Delay::default() };
    let ends: Vec<bool> = (0..9).map(|n| delay.ends_slow_start(&limited(4 * n))).collect();
    assert_eq!(ends.iter().position(|ends| *ends), Some(8));
    delay.rtt.min = 112_500;
    assert!(!delay.ends_slow_start(&limited(40)), "an eighth more is not above the threshold");
    // ACKs 2 ms apart: a train of more than 50 ms.
    let mut delay =
        Delay { least: 100_000, rtt: MinMax { min: 100_000, max: 0 }, ..Delay::default() };
    let ends: Vec<bool> = (0..40).map(|n| delay.ends_slow_start(&limited(2 * n))).collect();
    assert_eq!(ends.iter().position(|ends| *ends), Some(26));
    let unlimited = Ack { cwnd_limited: false, ..limited(52) };
    assert!(!delay.ends_slow_start(&unlimited), "a pause begins a new train");
}

#[test]
fn an_idle_restart_forgets_the_path() {
    let mut cdg = cdg();
    gradients(&mut cdg.delay, &[(100, 110), (101, 111)]);
    cdg.snd_nxt = 5001;
    cdg.on_idle_restart(&window(30, 99));
    let delay = &cdg.delay;
    assert_eq!((delay.previous, delay.sum, delay.tail), (MinMax::NONE, MinMax::NONE, 0));
    assert_eq!((delay.shadow, delay.round_end), (30, 5001));
}

/// `tcp_cdg_acked`: each ACK of several segments, up to five, allows one later ACK of a single
/// segment to count as delayed.
#[test]
fn acks_of_several_segments_allow_for_delayed_ones() {
    for (packets, acks, delayed) in [(1, 3, 0), (2, 1, 1), (3, 1, 1), (2, 5, 5), (2, 6, 5)] {
        let mut delay = Delay::default();
        (0..acks).for_each(|_| delay.on_rtt(100, packets, false));
        assert_eq!(delay.delayed, delayed, "{acks} of {packets}");
    }
    let mut delay = Delay::default();
    delay.on_rtt(100, 2, true);
    assert_eq!(delay.delayed, 0, "data are missing");
}

/// `tcp_cdg_hystart_update`: the least RTT of slow start only falls.
#[test]
fn the_least_rtt_of_slow_start_falls() {
    let mut delay = Delay::default();
    for (rtt, least) in [(0, 0), (900, 900), (950, 900), (800, 800), (0, 800)] {
        delay.rtt.min = rtt;
        assert!(!delay.ends_slow_start(&ack(at(0), 1000)));
        assert_eq!(delay.least, least, "{rtt}");
    }
}

/// `tcp_cdg_hystart_update`: an ACK less than 3 ms after the last one continues the train.
#[test]
fn a_train_of_acks_has_gaps_below_three_milliseconds() {
    for (us, last) in [(2999, 2999), (3000, 0), (5000, 0)] {
        let mut delay = Delay::default();
        delay.rtt.min = 900_000;
        let then = |us| Time::ZERO + Duration::from_micros(us);
        for ack_us in [0, us] {
            assert!(!delay.ends_slow_start(&ack(then(ack_us), 1000)));
        }
        assert_eq!(delay.train, Some((at(0), then(last))), "{us}");
    }
}

/// `tcp_cdg_grad`: a sum of at most −32 µs shows that the reductions had an effect.
#[test]
fn a_fall_of_either_rtt_shows_an_effect() {
    for (min, max, ineffectual) in
        [(0, 0, 3), (-31, -31, 3), (-32, 0, 0), (0, -32, 0), (5, -40, 0), (5, 5, 3)]
    {
        let mut delay = Delay { ineffectual: 3, ..Delay::default() };
        delay.previous = MinMax { min: 1000, max: 1000 };
        delay.rtt = MinMax { min: 1000 + min, max: 1000 + max };
        delay.gradient();
        assert_eq!(delay.ineffectual, ineffectual, "{min} {max}");
    }
}

/// Each RTT sample is used once, and its round ends when more than the data of this round are
/// acknowledged.
#[test]
fn a_round_ends_beyond_its_data() {
    for (snd_una, ends) in [(9_000, false), (9_001, false), (9_002, true), (20_001, true)] {
        let (mut cdg, mut window) = (cdg(), window(10, 2));
        cdg.delay.round_end = 9_001;
        connect(&mut cdg);
        cdg.on_segments_acked(&mut window, &ack(at(0), 1000), Some(Duration::from_micros(700)));
        let ack = Ack { snd_una, snd_nxt: 30_001, ..ack(at(0), 1000) };
        cdg.observe(&ack, 1000);
        assert_eq!(cdg.delay.rtt, MinMax { min: 700, max: 700 });
        cdg.on_ack(&mut window, &ack);
        assert_eq!(cdg.delay.round_end, if ends { 30_001 } else { 9_001 }, "{snd_una}");
    }
}

fn connect(cdg: &mut State) {
    let (rtt, identity) = (None, 0);
    let start = Start { now: at(0), rtt, samples_segments: true, identity };
    cdg.on_connected(&mut window(10, 2), &start);
}
