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
