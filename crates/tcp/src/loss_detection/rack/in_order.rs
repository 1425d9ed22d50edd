//! RACK while segments arrive in the order in which they were sent: it only takes note of them.

use super::State;
use crate::loss_detection::{LossDetection, NextAck};
use crate::scoreboard::Newest;
use retx_units::{Duration, Time};

impl State {
    /// Nothing is repaired, probed or waited for.
    pub(super) fn takes_only_note(&self) -> bool {
        !self.in_recovery()
            && !self.in_timeout_recovery
            && self.probe.is_none()
            && self.reordering_deadline == Time::NEVER
            // Otherwise `adapt_as_linux` has something to do.
            && self.adaptation.is_at_rest()
    }

    /// §6.2, steps 1 to 4. Nothing was sent before what has arrived, so that step 5 finds nothing.
    pub(super) fn note_next(&mut self, ack: &NextAck) {
        let rtt = ack.now.since(ack.sent);
        self.min_rtt = self.min_rtt.min(ack.least_rtt).min(rtt);
        self.rtt = rtt;
        if self.newest.is_none_or(|known| (ack.sent, ack.end) > (known.sent, known.end)) {
            self.newest = Some(Newest { sent: ack.sent, end: ack.end, retransmitted: false });
        }
        self.sampled_since_probe |= ack.sampled;
        if self.as_linux() {
            self.advanced = false;
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        } else {
            self.advanced = true;
        }
        let window = self.min_rtt.saturating_mul(self.reo_wnd_mult.into()) / 4;
        self.window = window.min(ack.srtt.unwrap_or(Duration::MAX));
    }
}
