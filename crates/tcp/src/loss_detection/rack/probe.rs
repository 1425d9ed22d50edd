//! Acknowledgments of tail loss probes (RFC 8985 §7.4).

use super::State;
use crate::loss_detection::Ack;

impl State {
    /// Evaluates the acknowledgment of a probe (§7.4.2). Returns the position of the loss that the
    /// probe has repaired, if any.
    pub(super) fn probe_repaired(&mut self, ack: &Ack) -> Option<u64> {
        let probe = self.probe.filter(|probe| ack.snd_una >= probe.end)?;
        let delivered = ack.selective?;
        // The original had arrived, too: indicated by a DSACK, or by an ACK without other
        // information.
        let both_arrived =
            delivered.dsack_end == Some(probe.end) || ack.bytes_acked == 0 && !delivered.has_sack;
        let beyond = ack.snd_una > probe.end;
        // §7.4.2: the episode ends with an acknowledgment beyond the probe, or with evidence that
        // nothing was lost.
        if !probe.is_retransmission || both_arrived || beyond {
            self.probe = None;
        }
        (probe.is_retransmission && !both_arrived && beyond).then_some(probe.position)
    }
}
