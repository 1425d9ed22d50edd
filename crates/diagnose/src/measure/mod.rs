//! Measurements of the path of a captured flow, for `retx fit`.

mod ack_path;
mod application;
mod arrivals;
mod both_ends;
mod copies;
mod delay;
mod early;
mod endpoints;
mod first_ssthresh;
mod queue;
mod rate;
mod reverse;
#[cfg(test)]
mod tests;
mod waiting;

use crate::answer::{self, Answer};
use crate::flow::packet_log::{Observed, WatchedFlows};
use crate::pair;
use crate::reader::ReadError;
use crate::run::{self, RequestedOutput};
use copies::{FlowTrace, OVERHEAD_BYTES};
use serde::Serialize;
use std::io::Read;

/// Estimated value with its 95 % interval, or the reason why the value is unknown.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Estimate {
    /// Estimate; none if unknown.
    pub value: Option<f64>,
    /// Lower end of the interval around `value`. If there is no `value`: a lower bound, if one is
    /// known.
    pub low: Option<f64>,
    /// Upper end of the interval around `value`. If there is no `value`: an upper bound, if one is
    /// known.
    pub high: Option<f64>,
    /// Evidence, or the reason why the value is unknown.
    pub evidence: String,
}

impl Estimate {
    fn known(value: f64, (low, high): (f64, f64), evidence: String) -> Self {
        Self { value: Some(value), low: Some(low), high: Some(high), evidence }
    }

    fn unknown(why: &str) -> Self {
        Self { evidence: why.to_owned(), ..Self::default() }
    }
}

/// Copies of data segments, in the order of sending.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Copies {
    /// Seconds since the flow's first packet.
    pub times_s: Vec<f64>,
    /// Relative sequence number; the first data byte is 1.
    pub starts: Vec<i64>,
    /// Bytes of the IP packet.
    pub sizes_bytes: Vec<u32>,
    /// Probability of loss; none without evidence.
    pub lost: Vec<Option<f64>>,
    /// Probability that a full queue dropped the copy, given that it was lost.
    pub by_queue: Vec<f64>,
}

impl Copies {
    fn of(trace: &FlowTrace, by_queue: Vec<f64>) -> Self {
        let copies = &trace.copies;
        Self {
            times_s: copies.iter().map(|it| it.time_ns as f64 * 1e-9).collect(),
            starts: copies.iter().map(|it| it.start).collect(),
            sizes_bytes: copies.iter().map(|it| it.wire_bytes - OVERHEAD_BYTES).collect(),
            lost: copies.iter().map(|it| it.lost).collect(),
            by_queue,
        }
    }
}

/// Results of a flow that are compared with those of a simulation.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Payload divided by the lifetime of the flow.
    pub goodput_bit_s: f64,
    /// Number of retransmissions.
    pub retransmissions: u64,
    /// Number of timeouts.
    pub timeouts: u64,
    /// Total duration of the sender's silences that the application did not cause.
    pub idle_s: f64,
    /// 5, 50 and 95 % quantiles of the time from sending to delivery; empty if the capture does not
    /// reveal this time.
    pub rtt_s: Vec<f64>,
}

/// Measured properties of the path of a flow, and of both endpoints.
#[derive(Debug, Clone, Serialize)]
pub struct Path {
    /// Rate of the bottleneck in bits per second. It counts frames, which have 38 bytes in addition
    /// to the IP packet.
    pub rate_bit_s: Estimate,
    /// Sum of the propagation delays of both directions.
    pub round_trip_s: Estimate,
    /// Delays that the queue does not explain.
    pub beyond_queue: delay::ExtraDelays,
    /// Queue before the bottleneck.
    pub queue: queue::Queue,
    /// Cross traffic at the bottleneck while it was busy, in bits per second, counting whole
    /// frames.
    pub cross_bit_s: Estimate,
    /// Fraction of the data that was overtaken by data sent later.
    pub reordered: Estimate,
    /// Median number of segments that overtook a reordered segment; none without reordering.
    pub overtakers: Option<u32>,
    /// Fraction of acknowledgments lost.
    pub acks_lost: Estimate,
    /// Rate of the reverse path, bits per second.
    pub ack_rate_bit_s: Estimate,
    /// Longest queue of acknowledgments that was seen, in packets; none if they did not wait.
    pub ack_queue_packets: Option<f64>,
    /// Properties of both endpoints.
    pub endpoints: endpoints::Endpoints,
    /// Data that the application sent without a pause.
    pub bursts: Vec<application::Burst>,
    /// Copies of data segments.
    pub copies: Copies,
    /// Results for the comparison with simulations.
    pub figures: Figures,
    /// Bytes on the wire of a full segment.
    pub segment_wire_bytes: u32,
    /// Overhead in addition to the IP packet, bytes.
    pub overhead_bytes: u32,
    /// Bytes of the IP header: 20, or 40 with IPv6.
    pub ip_header_bytes: u32,
}

/// Measures the path of flow `number` from two captures, one at each end.
///
/// # Errors
/// A file is not a capture.
pub fn measure_pair<R: Read>(
    sources: [R; 2],
    names: [&str; 2],
    number: usize,
) -> Result<(Answer, Option<Path>), ReadError> {
    let wanted = RequestedOutput { diagram_of: None, watched: WatchedFlows::Flow(number) };
    let (answer, kept) = pair::read(sources, names, wanted)?;
    let flow = answer.flows.iter().find(|flow| flow.number == number);
    let path = flow.zip(kept).map(|(flow, (observed, matched))| {
        let path = path_from_acks(flow, &observed);
        match matched {
            Some(matched) => {
                of_both(path, flow, &both_ends::trace_from_both_ends(&observed, &matched))
            }
            None => path,
        }
    });
    Ok((answer, path))
}

/// Replaces the estimates from one capture by estimates from both captures.
fn of_both(path: Path, flow: &answer::Flow, trace: &FlowTrace) -> Path {
    let rate_bit_s = rate::measure_rate(trace);
    let (queue, by_queue) = queue::measure_queue(trace, rate_bit_s.value);
    let back = flow.between.as_ref().map(|between| &between.backward);
    let acks_lost = back.map_or(path.acks_lost, |back| {
        let evidence = format!("{} of {} packets, both ends captured", back.lost, back.sent);
        ack_path::estimate_share(back.lost as f64, back.sent as f64, evidence)
    });
    Path {
        cross_bit_s: rate::measure_cross_traffic(trace, &rate_bit_s),
        beyond_queue: delay::measure_extra_delays(trace, &rate_bit_s, (queue.limit(), &by_queue)),
        queue,
        rate_bit_s,
        reordered: ack_path::measure_reordering(trace),
        overtakers: ack_path::median_overtakers(trace),
        acks_lost,
        copies: Copies::of(trace, by_queue),
        ..path
    }
}

/// Measures the path of flow `number`.
///
/// # Errors
/// The file is not a capture.
pub fn measure<R: Read>(
    source: R,
    name: &str,
    number: usize,
) -> Result<(Answer, Option<Path>), ReadError> {
    let wanted = RequestedOutput { diagram_of: None, watched: WatchedFlows::Flow(number) };
    let run::CaptureReading { answer, observed } = run::read(source, name, wanted, |_, _| ())?;
    let flow = answer.flows.iter().find(|flow| flow.number == number);
    let observed = observed.into_values().next();
    let path = flow.zip(observed).map(|(flow, observed)| of_flow(flow, &observed));
    Ok((answer, path))
}

fn of_flow(flow: &answer::Flow, observed: &Observed) -> Path {
    if flow.place == "receiver" {
        let mut trace = arrivals::trace_from_arrivals(observed);
        if let Some(rate) = rate::measure_rate(&trace).value {
            arrivals::spread_missing(&mut trace, rate);
        }
        return from_trace(flow, observed, [&trace; 2], None);
    }
    path_from_acks(flow, observed)
}

/// Measures the path from the acknowledgments.
fn path_from_acks(flow: &answer::Flow, observed: &Observed) -> Path {
    let trace = copies::trace_from_acks(observed, None);
    let Some(reverse) = reverse::measure_reverse_path(observed) else {
        return from_trace(flow, observed, [&trace; 2], None);
    };
    let forward = copies::trace_from_acks(observed, Some(&reverse.waits));
    from_trace(flow, observed, [&trace, &forward], Some(reverse))
}

/// Measures the path from two traces: one with the captured times, and one whose times do not
/// contain the waiting times of acknowledgments.
fn from_trace(
    flow: &answer::Flow,
    observed: &Observed,
    [captured, trace]: [&FlowTrace; 2],
    reverse: Option<reverse::Reverse>,
) -> Path {
    let rate_bit_s = rate::measure_rate(trace);
    let back_bit_s = reverse.as_ref().map_or(rate_bit_s.value, |it| it.rate_bit_s.value);
    let (queue, by_queue) = queue::measure_queue(trace, rate_bit_s.value);
    Path {
        cross_bit_s: Estimate::unknown("one end does not show what else passes the bottleneck"),
        round_trip_s: delay::measure_round_trip(observed, trace, [rate_bit_s.value, back_bit_s]),
        beyond_queue: delay::measure_extra_delays(trace, &rate_bit_s, (queue.limit(), &by_queue)),
        bursts: application::find_bursts(observed),
        queue,
        reordered: ack_path::measure_reordering(trace),
        overtakers: ack_path::median_overtakers(trace),
        acks_lost: ack_path::measure_ack_loss(trace),
        ack_queue_packets: reverse.as_ref().map(|it| it.queue_max.1),
        ack_rate_bit_s: match reverse {
            Some(reverse) => reverse.rate_bit_s,
            None => ack_path::measure_ack_rate(trace, &observed.packet_log.acks),
        },
        endpoints: endpoints::describe_endpoints(flow, observed, captured),
        copies: Copies::of(trace, by_queue),
        figures: figures(flow, captured),
        segment_wire_bytes: trace.segment_wire_bytes,
        overhead_bytes: OVERHEAD_BYTES,
        ip_header_bytes: observed.ip_header_bytes(),
        rate_bit_s,
    }
}

fn figures(flow: &answer::Flow, trace: &FlowTrace) -> Figures {
    let from = flow.name.split(" > ").next().unwrap_or_default();
    let is_own = |it: &&answer::Retransmission| it.from == from && it.kind.is_retransmission();
    let again = flow.retransmissions.iter().filter(is_own).filter(|it| it.length_bytes > 0);
    let silent = flow.stalls.iter().filter(|stall| stall.cause != "application");
    let mut rtts: Vec<i64> = trace.copies.iter().filter_map(|copy| copy.delay_ns).collect();
    rtts.sort_unstable();
    let quantile = |part: f64| {
        let index = (rtts.len() as f64 * part) as usize;
        rtts.get(index).map(|ns| *ns as f64 * 1e-9)
    };
    let is_shown = trace.is_round_trip;
    Figures {
        goodput_bit_s: flow.goodput_bit_s,
        retransmissions: again.count() as u64,
        timeouts: flow.timeouts.len() as u64,
        // The sum of no terms is -0.0; adding 0.0 makes it positive.
        idle_s: silent.map(|stall| stall.duration_s).sum::<f64>() + 0.0,
        rtt_s: if is_shown {
            [0.05, 0.5, 0.95].into_iter().filter_map(quantile).collect()
        } else {
            Vec::new()
        },
    }
}
