//! Measurements of a drop-tail queue with known packets.

use super::copies::{Delivery, FlowTrace, SegmentCopy, is_lost};
use super::{Estimate, ack_path, delay, queue, rate};

const WIRE: u32 = 1_538;
/// Time to send a segment, at 12.304 Mbit/s.
const OWN_NS: i64 = 1_000_000;
const BASE_NS: i64 = 50_000_000;

/// A queue that drops so many packets that the probability of this by chance is below the smallest
/// floating-point number.
#[test]
fn all_drops_of_a_full_queue_are_its_own() {
    let trace = trace(300, 60, 40, |_| false);
    let rate = rate::measure_rate(&trace);
    let (queue, by_queue) = queue::measure_queue(&trace, rate.value);
    assert_eq!(queue.elsewhere.0, 0, "{queue:?}");
    let lost = trace.copies.iter().filter(|copy| is_lost(copy)).count() as f64;
    assert!(by_queue.iter().sum::<f64>() > 0.99 * lost, "{queue:?}");
}

/// Bursts of `segments` segments, one every 200 ms, at a queue of `limit`; each delivery is
/// acknowledged at once.
fn trace(
    bursts: i64,
    segments: i64,
    limit: i64,
    lost_by_channel: impl Fn(i64) -> bool,
) -> FlowTrace {
    let times = (0..bursts * segments).map(|number| number / segments * 200_000_000);
    trace_of(times, limit, lost_by_channel)
}

/// Segments sent at these times.
fn trace_of(
    times_ns: impl Iterator<Item = i64>,
    limit: i64,
    lost_by_channel: impl Fn(i64) -> bool,
) -> FlowTrace {
    let mut trace = FlowTrace {
        segment_wire_bytes: WIRE,
        header_wire_bytes: 90,
        is_round_trip: true,
        segment_bytes: 1_448,
        ..FlowTrace::default()
    };
    let (mut free_ns, mut last) = (0, None);
    for (number, sent) in (0..).zip(times_ns) {
        let index = trace.copies.len();
        let waits_ns = (free_ns - sent).max(0);
        let is_full = waits_ns > limit * OWN_NS;
        let is_lost = is_full || lost_by_channel(number);
        if !is_full {
            free_ns = free_ns.max(sent) + OWN_NS;
        }
        let time_ns = free_ns + BASE_NS;
        trace.copies.push(SegmentCopy {
            sent_ns: Some(sent),
            time_ns: sent,
            start: number * 1_448 + 1,
            wire_bytes: WIRE,
            delay_ns: (!is_lost).then_some(time_ns - sent),
            lost: Some(if is_lost { 0.99 } else { 0.0 }),
        });
        if !is_lost {
            trace.deliveries.push(Delivery {
                time_ns,
                wire_bytes: u64::from(WIRE),
                newest: index,
                segments: 1,
                is_consecutive: last.is_some_and(|last| last + 1 == index),
                is_plain: true,
            });
            last = Some(index);
        }
    }
    trace.compute_least_delay();
    trace
}

#[test]
fn busy_time_shows_the_rate() {
    let found = rate::measure_rate(&trace(20, 60, 100, |_| false));
    let value = found.value.expect("bursts wait");
    assert!((value / 12.304e6 - 1.0).abs() < 1e-6, "{value}");
    assert!(found.evidence.contains("busy time"), "{}", found.evidence);
}

#[test]
fn pauses_between_bursts_are_no_busy_time() {
    // A burst of 4 segments is too short for an interval of busy time, which has at least 8.
    let found = rate::measure_rate(&trace(50, 4, 100, |_| false));
    assert!((found.value.expect("bursts are spread") / 12.304e6 - 1.0).abs() < 1e-6);
    assert!(found.evidence.contains("spacing"), "{}", found.evidence);
}

#[test]
fn losses_at_the_limit_show_the_queue() {
    let trace = trace(20, 60, 30, |number| number % 97 == 5);
    let (found, by_queue) = queue::measure_queue(&trace, Some(12.304e6));
    assert_eq!(found.kind, queue::Kind::TailDrop);
    let packets = found.packets.expect("it overflows");
    assert!((packets - 30.5).abs() <= 1.0, "{packets}");
    // Losses of the channel are distinguished from those of the queue.
    let of_channel = trace.copies.iter().zip(&by_queue).enumerate();
    let channel_losses =
        of_channel.filter(|(_, (copy, by_queue))| is_lost(copy) && **by_queue < 0.5);
    assert!(channel_losses.clone().count() >= 5);
    assert!(channel_losses.into_iter().all(|(number, _)| number % 97 == 5));
}

/// Times of sending in ten overflows of 0.3 s.
fn times_of_overflows() -> impl Iterator<Item = i64> {
    (0..10_000).map(|number| number / 1_000 * 1_000_000_000 + number % 1_000 * 300_000)
}

/// Ten overflows. While one lasts, the channel loses packets, too, and no acknowledgment shows the
/// length of the queue.
fn long_overflows() -> FlowTrace {
    let mut trace = trace_of(times_of_overflows(), 30, |number| number % 29 == 5);
    for copy in trace.copies.iter_mut().filter(|copy| copy.time_ns % 1_000_000_000 > 20_000_000) {
        copy.delay_ns = None;
    }
    trace
}

#[test]
fn a_long_overflow_with_losses_of_the_channel_stays_one() {
    let trace = long_overflows();
    let (found, by_queue) = queue::measure_queue(&trace, Some(12.304e6));
    assert_eq!(found.kind, queue::Kind::TailDrop);
    let lost = trace.copies.iter().filter(|copy| is_lost(copy)).count();
    assert!(found.full.0 as f64 > 0.95 * lost as f64, "{lost} {found:?}");
    assert!(by_queue.iter().sum::<f64>() > 0.85 * lost as f64, "{lost} {found:?}");
}

/// All losses are taken for those of the channel, so the reconstructed queue is far too long.
#[test]
fn a_queue_reconstructed_too_long_makes_no_extra_delays() {
    let trace = trace_of(times_of_overflows(), 30, |_| false);
    let rate = Estimate::known(12.304e6, (12.304e6, 12.304e6), String::new());
    let mut lone = trace.clone();
    lone.copies.extend(trace.copies.iter().take(20).enumerate().map(|(number, copy)| {
        let sent = 100_000_000_000 + number as i64 * 100_000_000;
        SegmentCopy {
            sent_ns: Some(sent),
            time_ns: sent,
            delay_ns: Some(BASE_NS + OWN_NS),
            ..*copy
        }
    }));
    let by_queue = vec![0.0; lone.copies.len()];
    let found = delay::measure_extra_delays(&lone, &rate, (None, &by_queue));
    let of_lone = &found.delays_s[found.delays_s.len() - 20..];
    assert!(of_lone.iter().all(|delay| *delay < 1e-9), "{of_lone:?}");
}

#[test]
fn losses_at_any_length_show_no_limit() {
    let lost = |number: i64| number * 7_919 % 1_009 < 44;
    let (found, _) = queue::measure_queue(&trace(20, 60, 100, lost), Some(12.304e6));
    assert_eq!((found.kind, found.packets), (queue::Kind::Unknown, None));
    let seen = found.bytes.low.expect("a bound") / f64::from(WIRE);
    assert!((50.0..=60.0).contains(&seen), "{seen}");
}

#[test]
fn intervals_of_shares_hold_none_and_all() {
    let none = ack_path::estimate_share(0.0, 100.0, String::new());
    assert_eq!(none.value, Some(0.0));
    assert!(none.high.is_some_and(|high| (0.03..0.04).contains(&high)));
    assert_eq!(ack_path::estimate_share(0.0, 0.0, String::new()).value, None);
}

/// A queue that drops one of 13 packets when more than 20 wait, although it has room for 60.
#[test]
fn losses_at_half_of_the_length_are_early_drops() {
    let found = queue::measure_queue(&trace(100, 60, 100, |_| false), Some(12.304e6)).0;
    assert_eq!(found.kind, queue::Kind::Unknown);
    let early = |number: i64| number % 60 > 20 && number % 13 == 5;
    let (found, by_queue) = queue::measure_queue(&trace(100, 60, 100, early), Some(12.304e6));
    assert_eq!(found.kind, queue::Kind::EarlyDrops);
    assert!(found.bytes.evidence.contains("before the queue is full"), "{found:?}");
    assert!(by_queue.iter().sum::<f64>() > 100.0);
}

/// Losses of the channel that come in bursts are no early drops.
#[test]
fn bursts_of_channel_losses_are_no_early_drops() {
    let bursty = |number: i64| number * 7_919 % 1_009 / 4 == 3;
    let (found, _) = queue::measure_queue(&trace(100, 60, 100, bursty), Some(12.304e6));
    assert_eq!(found.kind, queue::Kind::Unknown);
}
