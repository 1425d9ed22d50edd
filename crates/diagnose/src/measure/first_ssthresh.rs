//! Slow-start threshold with which a connection began.
//!
//! Linux begins a connection with the threshold of an earlier connection to the same host
//! (`tcp_metrics`), and a route can set one (`ip route`). Slow start then ends without a loss.
//!
//! *Rule.* In slow start, the congestion window grows by one segment or more for each
//! acknowledgment of new data (RFC 5681 §3.1); in congestion avoidance, by about one segment per
//! round trip. If the bytes in flight grow as slowly as in congestion avoidance, and no segment has
//! been lost, slow start has ended at their first value.
//!
//! *Limitations.* `HyStart` ends slow start without a loss, too, but not below [`HYSTART_LOW`]
//! segments under Linux. Only a smaller threshold is therefore recognised.
//!
//! Except for [`HYSTART_LOW`], the constants are conventions. They lie between congestion avoidance
//! and slow start, which differ by several times.

use super::application::find_bursts;
use crate::flow::packet_log::Observed;

/// Size of the congestion window, in segments, below which `HyStart` does not end slow start
/// (`hystart_low_window` in Linux).
const HYSTART_LOW: i64 = 16;
/// Number of consecutive round trips from which the growth is measured.
const ROUNDS: usize = 6;
/// Range of the growth in congestion avoidance, segments per round trip. Reno grows by half a
/// segment with delayed acknowledgments, and by one segment without them.
const GROWTH: (f64, f64) = (0.25, 1.5);
/// Minimum part of each round trip in which the sender is silent, since its window is used up. If a
/// bottleneck is busy all the time, the bytes in flight at the receiver's end do not grow.
const SILENT: f64 = 0.25;
/// Minimum ratio of this silence to the mean time between two packets of the round trip.
const SILENT_PACKETS: f64 = 3.0;
/// Minimum growth by which the bytes in flight show congestion avoidance, segments.
const GROWTH_MIN: f64 = 4.0;
/// Maximum growth in congestion avoidance, relative to the growth in slow start.
const OF_SLOW_START: f64 = 0.5;

/// Round trip of a sender that had data to send all the time.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// Maximum number of bytes in flight.
    flight: i64,
    /// Number of packets with data.
    packets: u32,
    /// Number of acknowledgments of new data.
    acks: u32,
    /// True if another segment did not fit into the peer's window.
    fills_window: bool,
    /// Time of the first data.
    start_ns: i64,
    /// Longest time without data, including the time before the first data.
    silence_ns: i64,
    /// Duration of the round trip.
    length_ns: i64,
}

/// Number of bytes in flight at which slow start ended, if it ended before the first loss, and
/// below the window at which `HyStart` can end it.
pub fn measure_first_ssthresh(observed: &Observed, segment_bytes: u32) -> Option<i64> {
    let segment = i64::from(segment_bytes.max(1));
    let bursts = rounds_of_bursts(observed, segment);
    bursts.iter().find_map(|rounds| {
        let from = rounds.windows(ROUNDS).position(|part| is_avoidance(part, segment))?;
        let rest = &rounds[from..];
        let first = rest[0].flight;
        let largest = rest.iter().map(|it| it.flight).max()?;
        // At the receiver's end, the bytes in flight do not grow further once a queue holds them.
        let steps = rest.iter().position(|it| it.flight + segment >= largest)?;
        let growth = (largest - first) as f64 / segment as f64;
        // Without growth, a send buffer or a clamp is the limit, or the application sends at a
        // constant rate.
        let grows = growth >= GROWTH_MIN && growth >= GROWTH.0 * steps as f64;
        (first < HYSTART_LOW * segment && grows).then_some(first)
    })
}

/// True if the bytes in flight grew as slowly as in congestion avoidance.
fn is_avoidance(rounds: &[Round], segment: i64) -> bool {
    let steps = rounds.len() - 1;
    let growth = (rounds[steps].flight - rounds[0].flight) as f64 / segment as f64;
    let acks: u32 = rounds[..steps].iter().map(|it| it.acks).sum();
    let never_falls = rounds.windows(2).all(|two| two[1].flight + segment >= two[0].flight);
    let waits = |it: &Round| {
        let part = SILENT.max(SILENT_PACKETS / f64::from(it.packets));
        it.silence_ns as f64 >= part * it.length_ns as f64
    };
    never_falls
        && rounds.iter().all(|it| !it.fills_window && waits(it))
        && growth <= GROWTH.1 * steps as f64
        && growth <= OF_SLOW_START * f64::from(acks)
}

/// Complete round trips of each burst of the application, until the first retransmission.
fn rounds_of_bursts(observed: &Observed, segment: i64) -> Vec<Vec<Round>> {
    // An acknowledgment that is counted after the data that it released would nearly double the
    // bytes in flight. One that is counted too early changes them by an eighth at most.
    let here_ns = observed.loops_ns[0].unwrap_or(0) / 8 * 7;
    let log = &observed.packet_log;
    let mut sent = log.sent.iter().filter(|it| it.payload_bytes > 0).peekable();
    let Some(mut burst_end) = sent.peek().map(|it| it.start) else { return Vec::new() };
    let mut acks = log.acks.iter().peekable();
    let (mut acked, mut end, mut window) = (burst_end, burst_end, i64::MAX);
    let mut bursts = Vec::new();
    for burst in find_bursts(observed) {
        burst_end += burst.bytes;
        let start_ns = sent.peek().map_or(0, |it| it.time_ns);
        let (mut rounds, mut round_end, mut last_ns) = (Vec::new(), None, start_ns);
        let mut round = Round { start_ns, ..Round::default() };
        while let Some(data) = sent.next_if(|it| it.start < burst_end) {
            if data.retransmission_record.is_some() {
                bursts.push(rounds);
                return bursts;
            }
            while let Some(it) = acks.next_if(|it| it.time_ns + here_ns <= data.time_ns) {
                round.acks += u32::from(it.ack > acked);
                (acked, window) = (acked.max(it.ack), it.window);
            }
            end = end.max(data.end);
            // A round trip ends with the acknowledgment of the first data sent in it.
            let silence_ns = data.time_ns - last_ns;
            if acked >= *round_end.get_or_insert(end) {
                round.length_ns = data.time_ns - round.start_ns;
                rounds.push(round);
                round = Round { start_ns: data.time_ns, ..Round::default() };
                round_end = Some(end);
            }
            last_ns = data.time_ns;
            round.silence_ns = round.silence_ns.max(silence_ns);
            round.packets += 1;
            round.flight = round.flight.max(end - acked);
            round.fills_window |= end - acked + segment > window;
        }
        bursts.push(rounds);
    }
    bursts
}
