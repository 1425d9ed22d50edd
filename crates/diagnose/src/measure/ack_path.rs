//! Reordering on the forward path, and the reverse path of the acknowledgments.

use super::Estimate;
use super::copies::FlowTrace;
use crate::flow::packet_log::ObservedAck;

/// Normal quantile of a 95 % interval.
const Z: f64 = 1.96;

/// Share `count`/`of`, with Wilson's interval.
pub fn estimate_share(count: f64, of: f64, evidence: String) -> Estimate {
    if of <= 0.0 {
        return Estimate { evidence, ..Estimate::default() };
    }
    let p = count / of;
    let z2 = Z * Z;
    let middle = (p + z2 / (2.0 * of)) / (1.0 + z2 / of);
    let half = Z / (1.0 + z2 / of) * (p * (1.0 - p) / of + z2 / (4.0 * of * of)).sqrt();
    // With no events the lower end is exactly 0; rounding errors must not exclude it.
    let low = if count > 0.0 { (middle - half).max(0.0) } else { 0.0 };
    Estimate::known(p, (low, (middle + half).min(1.0)), evidence)
}

/// Fraction of the data that was overtaken by later data.
pub fn measure_reordering(trace: &FlowTrace) -> Estimate {
    let evidence = format!("{} of {} segments", trace.overtaken.len(), trace.copies.len());
    estimate_share(trace.overtaken.len() as f64, trace.copies.len() as f64, evidence)
}

/// Median number of segments that overtook a late segment.
pub fn median_overtakers(trace: &FlowTrace) -> Option<u32> {
    let mut overtaken = trace.overtaken.clone();
    overtaken.sort_unstable();
    overtaken.get(overtaken.len() / 2).copied()
}

/// Fraction of acknowledgments that were lost. At the sender's end only a bound is known, from ACKs
/// that cover more data than usual.
pub fn measure_ack_loss(trace: &FlowTrace) -> Estimate {
    if !trace.is_round_trip {
        return Estimate::unknown("a lost acknowledgment never reaches this end");
    }
    let follow: Vec<u32> = trace
        .deliveries
        .iter()
        .filter(|delivery| delivery.is_consecutive)
        .map(|delivery| delivery.segments)
        .collect();
    let mut sorted = follow.clone();
    sorted.sort_unstable();
    let Some(usual) = sorted.get(sorted.len() / 2).copied() else {
        return Estimate::unknown("too few acknowledgments");
    };
    let usual = usual.max(1);
    let missing: u32 = follow.iter().map(|it| it.div_ceil(usual) - 1).sum();
    let all = follow.len() as f64 + f64::from(missing);
    let bound = estimate_share(f64::from(missing), all, String::new());
    let each = if usual == 1 { "each segment".into() } else { format!("{usual} segments") };
    Estimate {
        value: None,
        low: Some(0.0),
        high: bound.high,
        evidence: format!(
            "{missing} missing if there is one for {each}; the receiver may have sent fewer"
        ),
    }
}

/// Rate of the reverse path, from acknowledgments that arrived with the minimum spacing.
pub fn measure_ack_rate(trace: &FlowTrace, acks: &[ObservedAck]) -> Estimate {
    if !trace.is_round_trip {
        return Estimate::unknown(
            "this end shows when acknowledgments leave, not when they arrive",
        );
    }
    let pure = |it: &ObservedAck| it.payload_bytes == 0 && !it.is_syn;
    let mut gaps: Vec<i64> = acks
        .windows(2)
        .filter(|pair| pair.iter().all(pure))
        .map(|pair| pair[1].time_ns - pair[0].time_ns)
        .filter(|gap| *gap > 0)
        .collect();
    gaps.sort_unstable();
    // Capture times are noisy, so the shortest fiftieth of the gaps is ignored.
    let Some(gap) = gaps.get(gaps.len() / 50).copied() else {
        return Estimate::unknown("too few acknowledgments");
    };
    Estimate {
        low: Some(f64::from(trace.header_wire_bytes) * 8e9 / gap as f64),
        ..Estimate::unknown(
            "acknowledgments came this close together; the reverse path is no slower",
        )
    }
}
