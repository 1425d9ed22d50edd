use super::*;
use crate::measure::copies::Delivery;

const WIRE: u32 = 1_538;

/// Overflows that differ by less than a segment belong to one limit, although packets that arrived
/// at nearly the same length passed.
#[test]
fn a_limit_lies_between_closely_spaced_lengths() {
    let wire = f64::from(WIRE);
    let shorter = (0..19_000).map(|number| (f64::from(number % 64) * wire, false));
    let just_before = (0..60).map(|number| ((65.2 + f64::from(number) * 0.007) * wire, false));
    let overflows = [66.3; 9].into_iter().chain([65.65; 2]).map(|it| (it * wire, true));
    let arrivals = Arrivals::sorted(shorter.chain(just_before).chain(overflows).collect());
    let split = most_unlikely(&arrivals, 65.7 * wire, wire);
    assert_eq!((split.full.0, split.elsewhere.0), (11, 0));
    assert!(split.ln_chance < SIGNIFICANT.ln());
}

/// Losses that do not depend on the length make no limit, although the longest queue of all happens
/// to be that of a lost packet.
#[test]
fn a_lost_packet_at_the_greatest_length_is_no_limit() {
    let others = (0..2_000_u32).map(|it| (f64::from(it % 97), it % 100 == 49));
    let arrivals = Arrivals::sorted(others.chain([(96.1, true)]).collect());
    let split = most_unlikely(&arrivals, 96.0, 1.0);
    assert!(split.full.0 > 0);
    assert!(split.ln_chance > SIGNIFICANT.ln());
}

/// Copies of 30 round trips with these lengths in segments; true marks a loss.
fn trace(lengths: impl Fn(i64) -> Vec<(f64, bool)>) -> (FlowTrace, Vec<Option<f64>>) {
    let (mut copies, mut waiting) = (Vec::new(), Vec::new());
    for number in 0..30 {
        for (index, (length, is_lost)) in (0_i64..).zip(lengths(number)) {
            let time_ns = 1_000 * number + index;
            copies.push(SegmentCopy {
                sent_ns: Some(time_ns),
                time_ns,
                start: 1,
                wire_bytes: WIRE,
                delay_ns: (!is_lost).then_some(1),
                lost: Some(f64::from(u8::from(is_lost))),
            });
            waiting.push(Some(length * f64::from(WIRE)));
        }
    }
    let trace =
        FlowTrace { copies, segment_wire_bytes: WIRE, least_ns: 1_000, ..FlowTrace::default() };
    (trace, waiting)
}

/// A queue with a limit of 24 segments, and one round trip in which the bottleneck stood still.
#[test]
fn a_round_trip_with_longer_delays_than_at_the_limit_is_an_interruption() {
    let (trace, waiting) = trace(|number| {
        let more = if number == 7 { 18.0 } else { 0.0 };
        let up = (0..24_u32).map(|it| (f64::from(it) + more, false));
        up.chain([(24.2, true), (24.3, true)]).collect()
    });
    assert_eq!(interrupted_rounds(&trace, &waiting), BTreeSet::from([7]));
}

/// One long queue, and random losses while the queue is short: the long queue is no interruption.
#[test]
fn a_long_queue_beside_random_losses_is_no_interruption() {
    let (trace, waiting) = trace(|number| {
        let longest = if number == 0 { 40 } else { 2 };
        (0..100_u32).map(|it| (f64::from(it.min(longest)), it == 60)).collect()
    });
    assert!(interrupted_rounds(&trace, &waiting).is_empty());
}

/// Ten segments are sent in succession; the first five are delivered before the last five are sent.
#[test]
fn what_is_in_flight_bounds_the_queue_from_below() {
    let (mut trace, _) = trace(|_| Vec::new());
    assert_eq!(most_in_flight(&trace), None);
    for time_ns in 0..10 {
        let sent_ns = Some(time_ns);
        let copy = SegmentCopy {
            sent_ns,
            time_ns,
            start: 1,
            wire_bytes: WIRE,
            delay_ns: None,
            lost: None,
        };
        trace.copies.push(copy);
    }
    assert_eq!(most_in_flight(&trace), Some(10.0 * f64::from(WIRE)));
    trace.deliveries.push(Delivery {
        time_ns: 5,
        wire_bytes: 5 * u64::from(WIRE),
        newest: 4,
        segments: 5,
        is_consecutive: true,
        is_plain: true,
    });
    assert_eq!(most_in_flight(&trace), Some(5.0 * f64::from(WIRE)));
}

/// Linux holds back ACKs with SACK blocks, which does not make the queue longer.
#[test]
fn delays_of_sack_blocks_are_no_queue() {
    const MS: i64 = 1_000_000;
    let mut trace = FlowTrace { least_ns: 21 * MS, is_round_trip: true, ..trace(|_| Vec::new()).0 };
    for newest in 0..42 {
        let is_plain = newest < 30;
        let sent_ns = newest as i64 * MS;
        let delay_ns = if is_plain { 21 * MS } else { 22 * MS };
        trace.copies.push(SegmentCopy {
            sent_ns: Some(sent_ns),
            time_ns: sent_ns,
            start: 1,
            wire_bytes: WIRE,
            delay_ns: Some(delay_ns),
            lost: Some(0.0),
        });
        trace.deliveries.push(Delivery {
            time_ns: sent_ns + delay_ns,
            wire_bytes: u64::from(WIRE),
            newest,
            segments: 1,
            is_consecutive: true,
            is_plain,
        });
    }
    // The bottleneck sends one segment per millisecond.
    let waiting = queued_bytes(&trace, 12.304e6, None);
    assert!(waiting.iter().flatten().all(|it| *it < 1.0), "{waiting:?}");
}
