//! Linux's measurement of reordering, and the resulting reordering window.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c`: `tcp_check_sack_reordering`, `tcp_dsack_seen`,
//! `tcp_try_undo_partial`, `tcp_try_undo_recovery`; `net/ipv4/tcp_recovery.c`:
//! `tcp_rack_update_reo_wnd`.

use super::{MAX_REORDERING, PERSIST, State};
use crate::loss_detection::{Ack, LossDetection};
use retx_units::Time;

/// Adaptation of the reordering window to DSACKs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Adaptation {
    /// True if a DSACK has arrived that has not yet widened the reordering window
    /// (`rack.dsack_seen`).
    pending: bool,
    /// Time of the last widening: DSACKs for earlier transmissions do not widen again
    /// (`rack.last_delivered`).
    last: Time,
}

impl Default for Adaptation {
    fn default() -> Self {
        Self { pending: false, last: Time::ZERO }
    }
}

impl Adaptation {
    /// True if no DSACK waits for an acknowledgment that delivers data.
    pub const fn has_no_pending_dsack(&self) -> bool {
        !self.pending
    }
}

impl State {
    /// Handles a segment that arrived late, `distance` bytes below the highest one selectively
    /// acknowledged before. In Linux DupThresh grows to that distance.
    pub(super) fn note_reordering(&mut self, distance: u64, smss: u32) {
        self.reordering_seen = true;
        if self.as_linux() {
            // `tcp_check_sack_reordering` counts segments between the hole and the highest arrival.
            let segments = distance.div_ceil(smss.into()).min(MAX_REORDERING);
            self.reordering = self.reordering.max(segments as u32);
        }
    }

    /// Adapts the reordering window to DSACKs (RFC 8985 §6.2, step 4). A DSACK counts if reordering
    /// was seen before (`seen_before`) and no tail loss probe explains it; it takes effect at an
    /// acknowledgment that delivers data. The window narrows after sixteen recoveries that were not
    /// undone.
    pub(super) fn adapt_as_linux(&mut self, ack: &Ack, seen_before: bool, recovery_ends: bool) {
        let Some(delivered) = ack.selective else { return };
        let probe_end = self.probe.map(|probe| probe.end);
        // A DSACK for a tail loss probe is no sign of reordering.
        let counts = delivered.dsack.is_some_and(|(_, right)| probe_end != Some(right));
        self.adaptation.pending |= seen_before && counts;
        if let Some(newest) = delivered.newest {
            // The reordering window is widened once per round trip.
            self.adaptation.pending &= newest.sent >= self.adaptation.last;
            if std::mem::take(&mut self.adaptation.pending) {
                self.adaptation.last = ack.now;
                self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(255);
                self.reo_wnd_persist = PERSIST;
            } else if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(recovery_ends.into());
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Variant};
    use super::*;
    use crate::loss_detection::testing;
    use crate::scoreboard::{Delivered, Newest};
    use retx_units::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn state() -> State {
        let tcp = (crate::presets::find("linux").unwrap().config)();
        State::new(&Config { variant: Variant::Linux, ..Config::default() }, &tcp)
    }

    /// Handles an acknowledgment at `ms` of a segment sent at `sent_ms`, with or without a DSACK.
    fn take(state: &mut State, ms: u64, sent_ms: u64, dsack: bool, ends: bool) {
        let sent = Time::ZERO + MS * sent_ms;
        let delivered = Delivered {
            dsack: dsack.then_some((1, 2)),
            newest: Some(Newest { sent, end: 9, retransmitted: false }),
            ..Delivered::default()
        };
        let ack = Ack {
            now: Time::ZERO + MS * ms,
            selective: Some(&delivered),
            ..testing::ack(1, 9, 10)
        };
        state.adapt_as_linux(&ack, true, ends);
    }

    /// A DSACK takes effect only with an acknowledgment of data sent after the previous widening.
    #[test]
    fn the_window_widens_once_per_round_trip() {
        let mut state = state();
        take(&mut state, 100, 0, true, false);
        take(&mut state, 110, 10, true, false);
        assert_eq!(state.reo_wnd_mult, 2);
        take(&mut state, 201, 101, true, false);
        assert_eq!((state.reo_wnd_mult, state.reo_wnd_persist), (3, 16));
    }

    /// A recovery that was undone does not count: it has ended before the acknowledgment is
    /// evaluated, so `ends` is false.
    #[test]
    fn the_window_narrows_after_sixteen_recoveries_that_stood() {
        let mut state = state();
        take(&mut state, 100, 0, true, false);
        for n in 0..16 {
            for ends in [false, true] {
                assert_eq!(state.reo_wnd_mult, 2, "{n}");
                take(&mut state, 200, 100, false, ends);
            }
        }
        take(&mut state, 200, 100, false, false);
        assert_eq!(state.reo_wnd_mult, 1);
    }
}
