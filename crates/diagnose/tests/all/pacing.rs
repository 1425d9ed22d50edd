//! Times at which a sender answers acknowledgments: pacing, and delays in its host.

use crate::script::Script;
use retx_diagnose::answer::Kind;

/// Moves the last packet of a capture to a later time.
fn delay_last(script: &mut Script, us: u64) {
    script.frames.last_mut().expect("a packet").time_ns += 1_000 * us;
}

/// A connection whose opener sends, captured `half_ms` from it, over a path whose round trip takes
/// 100 ms.
fn open(half_ms: u64) -> Script {
    let mut script = Script::default();
    script.packet(0, true, (0, 0), (0, 2));
    script.packet(100 - 2 * half_ms, false, (0, 1), (0, 18));
    script.packet(100, true, (1, 1), (0, 16));
    script
}

/// Two acknowledgments release four segments each in each round trip. The host takes some
/// microseconds for each segment, and longer than usual for the first.
#[test]
fn the_segments_of_a_burst_are_not_paced() {
    let mut script = open(0);
    (0..4).for_each(|number| script.data(100, number));
    (4..8).for_each(|number| script.data(115, number));
    for burst in 0..20 {
        let ms = 200 + 100 * u64::from(burst / 2) + 15 * u64::from(burst % 2);
        script.ack(ms, 4 * (burst + 1));
        for (us, number) in [120, 122, 127, 132].into_iter().zip(8 + 4 * burst..) {
            script.data(ms, number);
            delay_last(&mut script, us);
        }
    }
    let of = script.flow().limited_by;
    assert!(of.pacing < 1e-3, "{of:?}");
}

/// Pairs of segments leave every 6 ms, whenever acknowledgments come, and the bottleneck takes
/// 10 ms for a pair. The capture is before it: the segments of a pair come 0.06 ms apart.
#[test]
fn pacing_is_recognised_before_a_slow_bottleneck() {
    let mut script = open(5);
    (0..8).for_each(|number| script.data(105, number));
    let mut acks = (0..).map(|pair: u32| (205 + 10 * u64::from(pair), 2 * (pair + 1))).peekable();
    for pair in 0..10 {
        let ms = 216 + 6 * u64::from(pair);
        while let Some((at_ms, number)) = acks.next_if(|(at_ms, _)| *at_ms <= ms) {
            script.ack(at_ms, number);
        }
        for (us, number) in [0, 60].into_iter().zip(8 + 2 * pair..) {
            script.data(ms, number);
            delay_last(&mut script, us);
        }
    }
    let of = script.flow().limited_by;
    assert!(of.pacing > 0.009, "{of:?}");
}

/// Pairs of segments leave every 5 ms, with an RTT of 100 ms. From 300 ms on, acknowledgments come
/// by chance when pairs leave, but the window has room for them without.
#[test]
fn an_acknowledgment_that_comes_by_chance_releases_no_paced_data() {
    let mut script = open(0);
    (0..10).for_each(|number| script.data(100, number));
    script.ack(200, 10);
    for pair in 0..20 {
        let ms = if pair < 10 { 200 } else { 250 } + 5 * u64::from(pair);
        if pair >= 10 {
            script.ack(ms, 2 * (pair - 10) + 12);
        }
        (0..2).for_each(|number| script.data(ms, 2 * pair + number + 10));
    }
    let of = script.flow().limited_by;
    assert!((of.pacing - 0.09).abs() < 1e-3, "{of:?}");
}

/// The host takes 0.08 ms to answer a SYN, but only 0.03 ms to answer the third duplicate ACK, with
/// the first of two retransmissions, and a partial acknowledgment with the second.
#[test]
fn a_host_may_answer_an_acknowledgment_sooner_than_a_syn() {
    let mut script = Script::default();
    script.packet(0, false, (0, 0), (0, 2));
    script.packet(0, true, (0, 1), (0, 18));
    delay_last(&mut script, 80);
    script.packet(40, false, (1, 1), (0, 16));
    (0..10).for_each(|number| script.data(41, number));
    (0..4).for_each(|_| script.ack(81, 1));
    script.data(81, 1);
    delay_last(&mut script, 30);
    script.ack(121, 2);
    script.data(121, 2);
    delay_last(&mut script, 30);
    script.ack(161, 10);
    let kinds: Vec<_> = script.flow().retransmissions.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Fast, Kind::Recovery]);
}
