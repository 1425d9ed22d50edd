//! Trace of a flow captured at both ends. All delays and fates are exact.

use super::copies::{Delivery, FlowTrace, SegmentCopy};
use crate::flow::packet_log::Observed;
use crate::pair::{Matched, one_way};

/// Trace of a flow, from its captures at both ends.
pub fn trace_from_both_ends(observed: &Observed, matched: &Matched) -> FlowTrace {
    let Matched { forward, backward, line, .. } = matched;
    let mut trace = FlowTrace::from_observed(observed);
    let missed = one_way::find_uncaptured(forward, backward);
    let start_ns = forward.sent.first().map_or(0, |entry| entry.time_ns);
    let last_ns = forward.arrived.last().map_or(0, |entry| entry.time_ns);
    let origin =
        observed.packet_log.sent.iter().find(|it| it.payload_bytes > 0).map_or(1, |it| it.start);
    let first_seq = forward.sent.iter().find(|entry| entry.length > 0).map(|it| it.key.seq);
    let mut arrivals = Vec::new();
    for (index, entry) in forward.sent.iter().enumerate().filter(|(_, it)| it.length > 0) {
        let arrived = forward.partner[index].map(|at| &forward.arrived[at]);
        let delay_ns = arrived.map(|it| line.excess((entry.time_ns, it.time_ns - entry.time_ns)));
        let is_missed = missed.get(&entry.key.seq) == Some(&index);
        // If the other capture had ended before the packet could arrive, the packet's fate is
        // unknown.
        let is_over = entry.time_ns.saturating_add(line.least_ns) > last_ns;
        let ahead = first_seq.map_or(0, |first| entry.key.seq.wrapping_sub(first) as i32);
        let time_ns = entry.time_ns - start_ns;
        arrivals.extend(delay_ns.map(|delay| (time_ns + delay, trace.copies.len())));
        trace.copies.push(SegmentCopy {
            sent_ns: Some(time_ns),
            time_ns,
            start: origin + i64::from(ahead),
            wire_bytes: trace.header_wire_bytes + entry.length,
            delay_ns,
            lost: match arrived {
                Some(_) => Some(0.0),
                None if is_over || is_missed => None,
                None => Some(1.0),
            },
        });
    }
    arrivals.sort_unstable();
    let mut highest = None;
    for (place, (time_ns, index)) in arrivals.iter().copied().enumerate() {
        let before = place.checked_sub(1).map(|before| arrivals[before].1);
        if let Some(highest) = highest.filter(|highest| index < *highest) {
            let overtakers: usize = highest - index;
            trace.overtaken.push(overtakers as u32);
        }
        highest = highest.max(Some(index));
        trace.deliveries.push(Delivery {
            time_ns,
            wire_bytes: u64::from(trace.copies[index].wire_bytes),
            newest: index,
            segments: 1,
            is_consecutive: before.is_some_and(|before| before + 1 == index),
            is_plain: true,
        });
    }
    trace.compute_least_delay();
    trace
}
