//! Propagation delay: the minimum round trip minus the transmission times of its packets.

use super::Estimate;
use super::copies::{FlowTrace, OVERHEAD_BYTES, SegmentCopy, is_lost};
use crate::flow::packet_log::Observed;
use serde::Serialize;

/// Number of samples next to the minimum. Their spacing determines the error of the minimum. Also
/// the minimum number of delays of an empty queue, for only these to determine the minimum.
const NEAREST: usize = 10;
/// Upper 95 % bound of the difference between the smallest sample and the true minimum, as a
/// multiple of the mean spacing of the samples. The difference has an exponential distribution if
/// samples are dense.
const GAPS: f64 = 3.0;

/// Maximum error of the reconstructed queue, as a fraction of the minimum round trip, with which
/// every delay is used.
const FOLLOWED: f64 = 0.01;
/// Minimum ratio of a delay to the error of the reconstructed queue, for the delay to be used
/// although the error exceeds `FOLLOWED`.
const CLEAR: f64 = 3.0;

/// Part of the delays that the bottleneck's queue does not explain.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ExtraDelays {
    /// Times at which the packets leave the queue, in seconds since the flow's first packet.
    pub times_s: Vec<f64>,
    /// Delays minus the minimum and minus the queueing delay, seconds.
    pub delays_s: Vec<f64>,
}

/// Delays that the queue does not explain. The queue is reconstructed from the data sent since it
/// was last empty. `limit` is the limit of a drop-tail queue in bytes: a lost packet was dropped if
/// the queue was full. For other queues, `by_queue` contains the probability that the queue dropped
/// the packet, given that it was lost. The error of the rate accumulates in the reconstructed
/// queue. A delay is left out if this error may exceed `FOLLOWED`, and is not much smaller than the
/// delay.
pub fn measure_extra_delays(
    trace: &FlowTrace,
    rate_bit_s: &Estimate,
    (limit, by_queue): (Option<f64>, &[f64]),
) -> ExtraDelays {
    let (Some(rate), Some(low), Some(high)) = (rate_bit_s.value, rate_bit_s.low, rate_bit_s.high)
    else {
        return ExtraDelays::default();
    };
    let relative = (high - low) / 2.0 / rate;
    let least_ns = trace.least_ns as f64;
    let mut found = ExtraDelays::default();
    let mut of_empty_s = Vec::new();
    let (mut free_ns, mut busy_since_ns) = (f64::MIN, 0.0);
    for (copy, by_queue) in trace.copies.iter().zip(by_queue) {
        let Some(sent) = copy.sent_ns.map(|sent| sent as f64) else { continue };
        if sent >= free_ns {
            (free_ns, busy_since_ns) = (sent, sent);
        }
        let own = transmission_ns(copy.wire_bytes, Some(rate));
        let waits = free_ns - sent;
        // A packet that a full queue dropped was not transmitted; a packet that the channel lost
        // was transmitted.
        let is_dropped = match limit {
            Some(limit) => is_lost(copy) && waits * rate / 8e9 >= limit,
            None => copy.lost.unwrap_or(0.0) * by_queue >= 0.5,
        };
        if !is_dropped {
            free_ns += own;
        }
        let error = (sent - busy_since_ns) * relative;
        let Some(delay) = copy.delay_ns else { continue };
        let beyond = delay as f64 - waits - own;
        if error <= FOLLOWED * least_ns || error * CLEAR <= beyond - least_ns {
            found.times_s.push((sent + waits + own) * 1e-9);
            found.delays_s.push(beyond * 1e-9);
            of_empty_s.extend((waits == 0.0).then_some(beyond * 1e-9));
        }
    }
    // The queue is reconstructed too long if packets that it dropped are taken to have been lost
    // by the channel. The delays of packets that found it empty do not depend on this.
    let reliable = if of_empty_s.len() < NEAREST { &found.delays_s } else { &of_empty_s };
    let least = reliable.iter().copied().fold(f64::MAX, f64::min);
    let resolution_s = trace.resolution_ns as f64 * 1e-9;
    found.delays_s.iter_mut().for_each(|it| *it = (*it - least - resolution_s).max(0.0));
    found
}

/// Transmission time of this many bytes.
pub fn transmission_ns(bytes: u32, rate_bit_s: Option<f64>) -> f64 {
    rate_bit_s.map_or(0.0, |rate| f64::from(bytes) * 8e9 / rate)
}

/// Sum of the propagation delays of both directions, from the handshake, or from data and their
/// acknowledgments.
///
/// `rates_bit_s` has the rate of the data's direction, and that of the reverse direction.
pub fn measure_round_trip(
    observed: &Observed,
    trace: &FlowTrace,
    rates_bit_s: [Option<f64>; 2],
) -> Estimate {
    let [rate_bit_s, back_bit_s] = rates_bit_s;
    let back_ns = transmission_ns(trace.header_wire_bytes, back_bit_s);
    let both = |ns: [Option<i64>; 2]| Some((ns[0]? + ns[1]?) as f64);
    let of_syn = both(observed.handshake_ns)
        .map(|ns| ns - handshake_transmission_ns(observed, trace, rates_bit_s));
    // At the receiver's end, the round trip is measured from acknowledgments to the data that echo
    // their timestamps. The segment with the shortest round trip may not have been a full one, so
    // no transmission time is subtracted.
    let of_loops = both(observed.loops_ns)
        .filter(|ns| {
            !trace.is_round_trip && both(observed.handshake_ns).is_none_or(|syn| *ns < syn)
        })
        .map(|ns| ns - transmission_ns(trace.header_wire_bytes, rate_bit_s) - back_ns);
    let here_ns = observed.loops_ns[0].unwrap_or(0) as f64;
    let own = |copy: &SegmentCopy| {
        let ns = copy.delay_ns? as f64 - transmission_ns(copy.wire_bytes, rate_bit_s);
        Some(ns + here_ns - back_ns)
    };
    let mut of_data: Vec<f64> = match trace.is_round_trip {
        true => trace.copies.iter().filter_map(own).collect(),
        false => Vec::new(),
    };
    of_data.sort_by(f64::total_cmp);
    of_data.truncate(NEAREST);
    let of_first = of_data.first().copied();
    let Some(least) = [of_syn, of_loops, of_first].into_iter().flatten().reduce(f64::min) else {
        return Estimate::unknown("no packet and its answer show a round trip of the whole path");
    };
    let is_syn = Some(least) == of_syn;
    // The overhead per frame is an assumption, so the interval is widened by the transmission time
    // of two overheads.
    let assumed = 2.0 * transmission_ns(OVERHEAD_BYTES, rate_bit_s);
    let below = match of_data.as_slice() {
        [first, .., last] if !is_syn => GAPS * (last - first) / (of_data.len() - 1) as f64,
        _ => 0.0,
    };
    let which = if is_syn { "the handshake" } else { "the fastest data" };
    let evidence = format!("least round trip, of {which}, less the time to send its packets");
    let s = |ns: f64| ns.max(0.0) * 1e-9;
    Estimate::known(s(least), (s(least - below), s(least + assumed)), evidence)
}

/// Transmission times, at the bottleneck, of the two packets of the handshake whose round trip was
/// measured. The bottleneck is assumed on that side of the capture with the longer round trip.
fn handshake_transmission_ns(
    observed: &Observed,
    trace: &FlowTrace,
    rates_bit_s: [Option<f64>; 2],
) -> f64 {
    let side = usize::from(observed.handshake_ns[1] > observed.handshake_ns[0]);
    let is_opener = observed.sender_opened == Some(side == 0);
    // The opener answers the SYN/ACK with an acknowledgment, and the other endpoint answers the SYN
    // with the SYN/ACK.
    let third = trace.header_wire_bytes + observed.completing_bytes;
    let answer = if is_opener { third } else { trace.syn_wire_bytes[side] };
    transmission_ns(trace.syn_wire_bytes[1 - side], rates_bit_s[1 - side])
        + transmission_ns(answer, rates_bit_s[side])
}
