use super::super::copies::SegmentCopy;
use super::*;

/// Only the first loss of a burst counts, and no packet while the sender reacts to it; then packets
/// count again. Packets that arrive at a nearly full queue never count.
#[test]
fn packets_soon_after_a_loss_do_not_count() {
    let lost_at = [3, 4, 5, 40];
    let copy = |time_ns: i64| SegmentCopy {
        sent_ns: Some(time_ns),
        time_ns,
        start: 1_448 * time_ns + 1,
        wire_bytes: 1_538,
        delay_ns: (!lost_at.contains(&time_ns)).then_some(1),
        lost: Some(if lost_at.contains(&time_ns) { 0.99 } else { 0.0 }),
    };
    let trace = FlowTrace { copies: (0..60).map(copy).collect(), ..FlowTrace::default() };
    let lengths: Vec<_> = (0..60_u32).map(|number| Some(f64::from(number))).collect();
    let found = samples(&trace, &lengths, &lengths, (50.0, 20));
    let losses: Vec<_> = found.iter().filter(|it| it.1).map(|it| it.0).collect();
    assert_eq!(losses, [3.0, 40.0]);
    let others: Vec<_> = found.iter().filter(|it| !it.1).map(|it| it.0).collect();
    let expected: Vec<_> = (0..3).chain(24..40).map(f64::from).collect();
    assert_eq!(others, expected);
}

/// Lengths of at most two segments are equal, so they are no evidence for early drops, although
/// every loss happens to have a larger value.
#[test]
fn a_queue_of_two_segments_counts_as_empty() {
    let copy = |time_ns: i64| SegmentCopy {
        sent_ns: Some(time_ns),
        time_ns,
        start: 1_448 * time_ns + 1,
        wire_bytes: 1_538,
        delay_ns: Some(1),
        lost: Some(if time_ns % 20 == 19 { 0.99 } else { 0.0 }),
    };
    let copies = (0..1_000).map(copy).collect();
    let trace = FlowTrace { copies, segment_wire_bytes: 1_538, ..FlowTrace::default() };
    let outcome = |step: f64| {
        let waiting = (0..1_000).map(|time| Some(step * f64::from(time % 20))).collect::<Vec<_>>();
        find_early_drops(&trace, &waiting, (40_000.0, 1e6))
    };
    // Losses come at the largest of twenty lengths: 3,040 bytes, and 28,500 bytes.
    assert!(matches!(outcome(160.0), Outcome::Independent));
    assert!(matches!(outcome(1_500.0), Outcome::Early(_)));
}
