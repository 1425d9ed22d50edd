//! RACK while segments arrive in the order of transmission: it only records their delivery.

use super::State;
use crate::loss_detection::{LossDetection, NextAck};
use crate::scoreboard::Newest;
use retx_units::{Duration, Time};

impl State {
    /// True if no recovery, tail loss probe or reordering timer is in progress.
    pub(super) fn only_records_delivery(&self) -> bool {
        !self.in_recovery()
            && !self.in_timeout_recovery
            && self.probe.is_none()
            && self.reordering_deadline == Time::NEVER
            // A pending DSACK would let `adapt_as_linux` change the state.
            && self.adaptation.has_no_pending_dsack()
    }

    /// Records the delivery of the first segments in flight (§6.2, steps 1 to 4). None of the
    /// others was sent before them, so step 5 would mark none.
    #[inline(always)]
    pub(super) fn note_next(&mut self, ack: &NextAck) {
        let rtt = ack.now.since(ack.sent);
        self.min_rtt = self.min_rtt.min(ack.least_rtt).min(rtt);
        self.rtt = rtt;
        if self.newest.is_none_or(|known| (ack.sent, ack.end) > (known.sent, known.end)) {
            self.newest = Some(Newest { sent: ack.sent, end: ack.end, retransmitted: false });
        }
        self.sampled_since_probe |= ack.has_rtt_sample;
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
