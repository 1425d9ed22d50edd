//! Evidence for the cause of an episode, in sentences.

use super::cause::LossEvidence;
use super::record::RetransmissionRecord;

/// Evidence that an episode was spurious.
pub(super) fn spurious(trigger: &RetransmissionRecord) -> String {
    let tells = trigger.proof.packet.map(|packet| format!(": frame {packet} tells"));
    format!(
        "frame {} was sent again although its data had arrived{}",
        trigger.packet,
        tells.unwrap_or_default()
    )
}

/// RTT before a loss, among all RTTs of the flow.
pub(super) fn before(
    trigger: &RetransmissionRecord,
    rtt_ns: i64,
    judgment: &LossEvidence,
) -> String {
    format!(
        "before frame {} the RTT was {:.1} ms; the flow's RTTs are at least {:.1} ms, 99 % of them \
         at most {:.1} ms, and {:.0} % at least as long as that one",
        trigger.packet,
        rtt_ns as f64 * 1e-6,
        judgment.least_s * 1e3,
        judgment.rtt_p99_s * 1e3,
        judgment.share_at_or_above * 100.0
    )
}

/// Reason why the cause of a loss is unknown. `congestion` is the probability of congestion, if
/// there is evidence.
pub(super) fn unknown(congestion: Option<f64>, was_filled: bool) -> String {
    match congestion {
        None => "there are too few RTTs to compare with".to_owned(),
        Some(share) if share > 0.5 && !was_filled => {
            "the RTT suggests a full queue, but the sender had not filled the bottleneck".to_owned()
        }
        Some(share) => format!(
            "this and the other losses do not decide: congestion has a probability of {:.0} %",
            share * 100.0
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_cause_has_a_reason() {
        assert!(unknown(None, true).contains("too few RTTs"));
        assert!(unknown(Some(0.9), false).contains("had not filled the bottleneck"));
        assert!(unknown(Some(0.9), true).contains("90 %"));
        assert!(unknown(Some(0.4), false).contains("40 %"));
    }
}
