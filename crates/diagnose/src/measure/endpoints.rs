//! Properties of both endpoints of a flow: options, windows, acknowledgments, congestion control.

use super::copies::FlowTrace;
use super::{Estimate, first_ssthresh};
use crate::answer;
use crate::flow::packet_log::{Observed, ObservedAck};
use serde::Serialize;

/// Minimum number of episodes to infer the congestion control.
const EPISODES_MIN: usize = 3;
/// Range of the fraction of the congestion window that remains after an episode under Reno.
const RENO: (f64, f64) = (0.4, 0.6);
const CUBIC: (f64, f64) = (0.62, 0.8);
/// Number of round trips after the end of an episode, at which the congestion window is measured.
const AFTER: f64 = 1.5;
/// Minimum number of delayed acknowledgments to estimate the receiver's timer.
const HELD_MIN: usize = 3;

/// Quantile of the bytes in flight that counts as their bound, if the capture is not at the sender.
const BOUND: f64 = 0.9;
/// Minimum number of fast recoveries from which the mean window of Reno and CUBIC is computed.
const RECOVERIES_MIN: usize = 10;
/// Minimum mean flight, relative to that of Reno and CUBIC, of a sender that ignores losses.
const EXCESS_MIN: f64 = 2.0;

/// Properties of both endpoints.
#[derive(Debug, Clone, Serialize)]
pub struct Endpoints {
    /// True if the sender of the data opened the connection; none without a captured handshake.
    pub sender_opened: Option<bool>,
    /// Payload of a full segment.
    pub segment_bytes: u32,
    /// MSS that both ends accept, including the bytes of options; none without a SYN.
    pub mss: Option<u32>,
    /// True if both ends permit SACK; none if a SYN was not captured.
    pub sack: Option<bool>,
    /// True if packets carry timestamps.
    pub timestamps: bool,
    /// True if both ends offer window scaling; none if a SYN was not captured.
    pub window_scaling: Option<bool>,
    /// Number of segments sent before the first acknowledgment of data; none if unknown.
    pub initial_window: Option<u32>,
    /// First receive window after the handshake, and largest receive window, bytes; none if
    /// unknown.
    pub receive_window: Option<(i64, i64)>,
    /// Median receive window, bytes, including windows of 0; none if unknown.
    pub median_window: Option<i64>,
    /// Maximum number of bytes in flight that a send buffer, or a clamp of the congestion window,
    /// permitted; none if neither was ever the limit.
    pub window_bound: Option<i64>,
    /// Number of bytes in flight at which slow start ended without a loss, so that the connection
    /// must have begun with this slow-start threshold; none if there is no such evidence.
    pub first_ssthresh: Option<i64>,
    /// Median number of segments that an acknowledgment covers; none if unknown.
    pub segments_per_ack: Option<u32>,
    /// Longest time by which the receiver delayed the acknowledgment of a single segment, seconds;
    /// none if there are too few delayed acknowledgments.
    pub ack_delay_s: Option<f64>,
    /// Fraction of the congestion window that remains after fast recovery.
    pub reduction: Estimate,
    /// Name of the congestion control, if the reduction or the bytes in flight reveal it.
    pub congestion_control: Option<&'static str>,
    /// Mean number of segments in flight, relative to the larger one of the mean windows that Reno
    /// and CUBIC have with as many recoveries; none with few recoveries.
    pub flight_excess: Option<f64>,
}

/// Describes both ends.
pub fn describe_endpoints(
    flow: &answer::Flow,
    observed: &Observed,
    trace: &FlowTrace,
) -> Endpoints {
    let syns = observed.syns;
    let both = |has: fn(&crate::packet::Options) -> bool| Some(has(&syns[0]?) && has(&syns[1]?));
    let mss = syns.iter().flatten().filter_map(|syn| syn.mss).min().map(u32::from);
    let reduction = reduction(flow, observed);
    let flight_excess = flight_excess(flow, trace);
    let by_reduction = reduction.value.and_then(|_| {
        let within = |(from, to): (f64, f64)| {
            reduction.low.is_some_and(|low| low >= from)
                && reduction.high.is_some_and(|it| it <= to)
        };
        if within(RENO) { Some("reno") } else { within(CUBIC).then_some("cubic") }
    });
    let ignores_losses = flight_excess.is_some_and(|it| it >= EXCESS_MIN);
    let congestion_control = if ignores_losses { Some("bbr") } else { by_reduction };
    Endpoints {
        sender_opened: observed.sender_opened,
        segment_bytes: trace.segment_bytes,
        mss,
        sack: both(|syn| syn.sack_permitted),
        timestamps: observed.has_timestamps,
        window_scaling: both(|syn| syn.window_scale.is_some()),
        initial_window: initial_window(observed, trace),
        receive_window: receive_window(&observed.packet_log.acks),
        median_window: median_window(&observed.packet_log.acks),
        window_bound: window_bound(flow, observed),
        first_ssthresh: first_ssthresh::measure_first_ssthresh(observed, trace.segment_bytes),
        segments_per_ack: segments_per_ack(trace),
        ack_delay_s: ack_delay(trace),
        reduction,
        congestion_control,
        flight_excess,
    }
}

fn initial_window(observed: &Observed, trace: &FlowTrace) -> Option<u32> {
    observed.syn_ns[0]?;
    let data: Vec<_> = observed.packet_log.sent.iter().filter(|it| it.payload_bytes > 0).collect();
    let origin = data.first()?.start;
    let first_ack = observed.packet_log.acks.iter().find(|it| it.ack > origin && !it.is_syn)?;
    let here_ns = observed.loops_ns[0].unwrap_or(0);
    // If the capture is not at the sender, the data that an acknowledgment releases pass the
    // capture one round trip (between capture and sender) after the acknowledgment.
    let first = data.iter().take_while(|it| it.time_ns < first_ack.time_ns + here_ns / 2);
    let bytes: u32 = first.map(|it| it.payload_bytes).sum();
    Some(bytes.div_ceil(trace.segment_bytes.max(1)))
}

fn receive_window(acks: &[ObservedAck]) -> Option<(i64, i64)> {
    let after = acks.iter().filter(|it| !it.is_syn && it.window > 0);
    let largest = after.clone().map(|it| it.window).max()?;
    after.map(|it| it.window).next().map(|first| (first, largest))
}

fn median_window(acks: &[ObservedAck]) -> Option<i64> {
    let mut windows: Vec<i64> = acks.iter().filter(|it| !it.is_syn).map(|it| it.window).collect();
    windows.sort_unstable();
    windows.get(windows.len() / 2).copied()
}

fn window_bound(flow: &answer::Flow, observed: &Observed) -> Option<i64> {
    let mut flights: Vec<i64> = under_way(observed).into_iter().map(|it| it.1).collect();
    flights.sort_unstable();
    // If the capture is not at the sender, and the RTT varies, some acknowledgments are assigned to
    // a wrong round trip. The largest number of bytes in flight is then not reliable, so the
    // quantile `BOUND` is used.
    let part = if flow.place == "sender" { 1.0 } else { BOUND };
    let rank = (part * flights.len() as f64) as usize;
    let is_bound = flow.limited_by.send_buffer > 0.0;
    flights.get(rank.min(flights.len().saturating_sub(1))).filter(|_| is_bound).copied()
}

fn segments_per_ack(trace: &FlowTrace) -> Option<u32> {
    if !trace.is_round_trip {
        return None;
    }
    let mut counts: Vec<u32> = trace
        .deliveries
        .iter()
        .filter(|delivery| delivery.is_consecutive)
        .map(|delivery| delivery.segments)
        .collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied()
}

fn ack_delay(trace: &FlowTrace) -> Option<f64> {
    let mut held = trace.ack_delays_ns.clone();
    held.sort_unstable();
    // The longest twentieth of the delays is ignored, because some acknowledgments may have waited
    // for another reason.
    (held.len() >= HELD_MIN).then(|| held[held.len() - 1 - held.len() / 20] as f64 * 1e-9)
}

/// Fraction of the bytes in flight that remains after fast recovery, measured at the sender's end.
fn reduction(flow: &answer::Flow, observed: &Observed) -> Estimate {
    if flow.place != "sender" {
        return Estimate::unknown("only the sender's end shows how much is under way");
    }
    let under_way = under_way(observed);
    let rtt_s = flow.sender_loop_s.unwrap_or(0.0) + flow.receiver_loop_s.unwrap_or(0.0);
    let most = |from_s: f64, to_s: f64| {
        let first = under_way.partition_point(|it| it.0 < from_s);
        let found = under_way[first..].iter().take_while(|it| it.0 <= to_s);
        found.map(|it| it.1).max()
    };
    let one = |(index, episode): (usize, &answer::Episode)| {
        let end_s = episode.end_s.filter(|_| episode.kind == "fast_retransmit")?;
        let next_s = flow.episodes.get(index + 1).map_or(f64::MAX, |next| next.start_s);
        let until_s = end_s + AFTER * rtt_s;
        let before = most(episode.start_s - rtt_s, episode.start_s)?;
        let after = most(end_s, until_s)?;
        // The bytes in flight do not show the congestion window if another episode follows, or if
        // nothing was in flight before this one.
        (next_s > until_s && before > 0).then(|| after as f64 / before as f64)
    };
    let mut parts: Vec<f64> = flow.episodes.iter().enumerate().filter_map(one).collect();
    parts.sort_by(f64::total_cmp);
    if parts.len() < EPISODES_MIN {
        return Estimate::unknown("fewer than 3 fast recoveries show the window before and after");
    }
    // 95 % interval of the median, from order statistics.
    let spread = 0.98 * (parts.len() as f64).sqrt();
    let at = |rank: f64| parts[(rank.max(0.0) as usize).min(parts.len() - 1)];
    let middle = (parts.len() - 1) as f64 / 2.0;
    let interval = (at((middle - spread).floor()), at((middle + spread).ceil()));
    let evidence = format!("{} fast recoveries", parts.len());
    Estimate::known(at(middle), interval, evidence)
}

/// Mean number of segments in flight, relative to the mean window of Reno or CUBIC.
///
/// With p recoveries per segment, Reno has a mean window of √(1.5/p) segments (Mathis et al. 1997),
/// and CUBIC one of 1.054·RTT^0.75/p^0.75 (RFC 9438 §5.1), if this is larger. If no delay shows the
/// queues, the round trip is the shortest one, so the result is a lower bound.
fn flight_excess(flow: &answer::Flow, trace: &FlowTrace) -> Option<f64> {
    let recoveries = flow.episodes.iter().filter(|it| it.kind == "fast_retransmit").count();
    if recoveries < RECOVERIES_MIN {
        return None;
    }
    let mut delays: Vec<i64> = trace.copies.iter().filter_map(|copy| copy.delay_ns).collect();
    delays.sort_unstable();
    let median_ns = delays.get(delays.len() / 2).copied();
    let round_trip_s = if flow.place == "sender" {
        median_ns? as f64 * 1e-9
    } else {
        // The delays contain a part of the round trip only.
        let beyond_ns = median_ns.map_or(0, |median| median - trace.least_ns);
        flow.sender_loop_s? + flow.receiver_loop_s? + beyond_ns as f64 * 1e-9
    };
    // Little's law: segments per second times the round trip.
    let segments_per_s = flow.goodput_bit_s / (8.0 * f64::from(trace.segment_bytes.max(1)));
    let mean = segments_per_s * round_trip_s;
    let p = recoveries as f64 / trace.copies.len() as f64;
    let cubic = 1.054 * (round_trip_s / p).powf(0.75);
    Some(mean / (1.5 / p).sqrt().max(cubic))
}

/// Bytes in flight after each packet, with its time in seconds. Between the capture and the sender,
/// an acknowledgment and the data sent after it take together `loops_ns[0]`.
fn under_way(observed: &Observed) -> Vec<(f64, i64)> {
    let here_ns = observed.loops_ns[0].unwrap_or(0);
    let mut trace = Vec::with_capacity(observed.packet_log.sent.len());
    let (mut end, mut acked, mut next) = (0, 0, 0);
    let acks = &observed.packet_log.acks;
    for passed in &observed.packet_log.sent {
        while let Some(it) = acks.get(next).filter(|it| it.time_ns + here_ns <= passed.time_ns) {
            acked = acked.max(it.ack);
            next += 1;
        }
        end = end.max(passed.end);
        trace.push((passed.time_ns as f64 * 1e-9, end - acked));
    }
    trace
}
