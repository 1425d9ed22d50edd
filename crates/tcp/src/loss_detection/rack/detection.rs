//! Detection of losses by time (RFC 8985 §6.2): the newest delivery, the reordering window, and the
//! segments that this delivery has overtaken by more than the window.

use super::{PERSIST, SLACK, State, Variant};
use crate::loss_detection::{Ack, LossDetection};
use crate::scoreboard::{Newest, Scoreboard};
use retx_units::{Duration, Time};

impl State {
    /// Records the most recently sent segment that was delivered (§6.2, steps 1 to 3).
    pub(super) fn note_delivery(&mut self, ack: &Ack, board: &Scoreboard) {
        let known = self.min_rtt;
        self.min_rtt = self.min_rtt.min(ack.least_rtt);
        let Some(delivered) = ack.selective else { return };
        if let Some(low) = delivered.reordered {
            let highest = board.highest_sacked().unwrap_or(ack.snd_una);
            self.note_reordering(highest.saturating_sub(low), ack.smss);
        }
        // A retransmission that seems to be acknowledged sooner than the minimum RTT permits does
        // not count: the ACK is for the original.
        let by_known = self.as_linux() && known != Duration::MAX;
        // As in `tcp_rack_advance`, this ACK's own sample does not count yet.
        let min_rtt = if by_known { known } else { self.min_rtt };
        let is_original = |it: &Newest| delivered.original_arrived && delivered.newest == Some(*it);
        let counts = |it: &&Newest| {
            !it.retransmitted || ack.now.since(it.sent) >= min_rtt && !is_original(it)
        };
        let highest_sacked = || delivered.highest_sacked.as_ref().filter(counts);
        // Linux calls `tcp_rack_advance` for each delivered segment.
        let sacked = || highest_sacked().filter(|_| self.as_linux());
        let newest = delivered.newest.as_ref().filter(counts);
        let newest = newest.or(delivered.newest_original.as_ref()).or_else(sacked);
        let Some(newest) = newest else { return };
        self.advanced = true;
        let measured = match self.config.variant {
            Variant::Rfc8985 => newest,
            Variant::Linux => {
                let highest = delivered.highest_acked.as_ref().filter(counts);
                highest.or_else(highest_sacked).unwrap_or(newest)
            }
        };
        self.rtt = ack.now.since(measured.sent);
        // The RTT of the delivered segment counts, too, even if the RTO takes no sample from this
        // ACK.
        self.min_rtt = self.min_rtt.min(ack.now.since(newest.sent));
        if self.newest.is_none_or(|known| newest.is_after(known.sent, known.end)) {
            self.newest = Some(*newest);
        }
    }

    /// Adapts the reordering window (§6.2, step 4): a DSACK widens it, at most once per round trip;
    /// the effect lasts for 16 recoveries without another DSACK.
    pub(super) fn adapt_to_duplicates(&mut self, ack: &Ack, recovery_ends: bool) {
        let dsack = ack.selective.is_some_and(|delivered| delivered.dsack.is_some());
        // All DSACKs of one round trip are due to the same reordering window, which was too narrow.
        if dsack && ack.snd_una >= self.dsack_round {
            self.dsack_round = ack.snd_max;
            self.reo_wnd_mult = (self.reo_wnd_mult + 1).min(255);
            self.reo_wnd_persist = PERSIST;
        } else if recovery_ends {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// Reordering window after this acknowledgment (§6.2, step 4).
    fn reordering_window(&self, ack: &Ack, board: &Scoreboard) -> Duration {
        let repairing = self.in_recovery || self.in_timeout_recovery;
        let threshold = ack.dupack_threshold.max(self.reordering);
        // DupThresh segments above a hole are as good a sign of loss as the time, as long as no
        // reordering was seen.
        let many = board.sacked_segments() >= u64::from(threshold);
        if !self.reordering_seen && (repairing || many) {
            return Duration::ZERO;
        }
        // Bounded by SRTT: after a longer wait the retransmission timer could expire first.
        let window = self.min_rtt.saturating_mul(self.reo_wnd_mult.into()) / 4;
        window.min(ack.srtt.unwrap_or(Duration::MAX))
    }

    /// Marks lost segments and sets the reordering timer (§6.2, step 5). Returns true if a segment
    /// was newly marked lost.
    pub(super) fn detect_losses(&mut self, now: Time, board: &mut Scoreboard) -> bool {
        self.reordering_deadline = Time::NEVER;
        let Some(newest) = self.newest else { return false };
        let loss_age = self.rtt + self.window;
        let before = board.losses;
        let latest = board.mark_lost_by_time(&newest, |sent| sent + loss_age <= now);
        if let Some(sent) = latest {
            let slack = if self.config.variant == Variant::Linux { SLACK } else { Duration::ZERO };
            self.reordering_deadline = sent + loss_age + slack;
        }
        board.losses > before
    }

    /// Detects losses after an acknowledgment; in Linux only after one that has delivered data
    /// (`tcp_rack_mark_lost`).
    pub(super) fn look_for_losses(&mut self, ack: &Ack, board: &mut Scoreboard) -> bool {
        if self.as_linux() && !std::mem::take(&mut self.advanced) {
            if ack.bytes_acked > 0 {
                // In `tcp_set_xmit_timer` the retransmission or probe timer replaces the reordering
                // timer.
                self.reordering_deadline = Time::NEVER;
            }
            return false;
        }
        self.window = self.reordering_window(ack, board);
        self.detect_losses(ack.now, board)
    }
}
