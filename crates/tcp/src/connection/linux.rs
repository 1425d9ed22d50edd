//! What a sender does as Linux does where the RFCs leave it open.

use super::{Parameters, Sender};
use crate::IdleRestart;
use crate::congestion_control::{self, CongestionControl};
use crate::loss_detection::{LossDetection, Reaction};
use retx_units::Time;

/// The largest block of data that the sender hands over at once (GSO_LEGACY_MAX_SIZE).
pub const BLOCK_MAX: u64 = 65_536;

impl Sender {
    /// Everything sent before the last timeout is acknowledged. Without SACK Linux waits for more
    /// than that (`tcp_is_non_sack_preventing_reopen`).
    pub const fn timeout_recovery_is_over(&self) -> bool {
        let prevents_reopen = self.tracks && !self.selective;
        self.snd_una >= self.timeout_recovery_end + prevents_reopen as u64
    }

    /// As in Linux (`tcp_cong_control`), an acknowledgment that ends a recovery widens the window.
    pub fn grows_after(&self, reaction: Reaction) -> bool {
        reaction == Reaction::EndRecovery && self.loss_detection.as_linux() && self.model.is_none()
    }

    /// An acknowledgment of new data widens the window, if that limits; in Linux by what it
    /// delivers (`acked_sacked`).
    pub fn grow(&mut self, ack: &congestion_control::Ack) {
        if ack.bytes_acked == 0 {
            return;
        }
        if self.loss_detection.as_linux() {
            self.widen(&congestion_control::Ack { bytes_acked: ack.delivered, ..*ack });
        } else {
            self.widen(ack);
        }
    }

    /// The congestion control widens the window, if that limits.
    pub fn widen(&mut self, ack: &congestion_control::Ack) {
        let before = self.window.cwnd;
        match &mut self.congestion_control {
            // That of most, and short: not by way of all the others.
            congestion_control::State::reno(reno) => reno.on_ack(&mut self.window, ack),
            other => other.on_ack(&mut self.window, ack),
        }
        if !ack.cwnd_limited {
            self.window.cwnd = self.window.cwnd.min(before);
        }
        self.clamp_cwnd();
    }

    /// The size of the blocks in which the application's data wait: whole segments, at most half of
    /// the peer's largest window.
    pub fn block(&self) -> u64 {
        let smss = u64::from(self.window.smss);
        ((self.max_snd_wnd / 2).min(BLOCK_MAX) / smss).max(1) * smss
    }

    /// New data up to `end` go out: does one of the pushes fall there that come with each half of
    /// the peer's largest window? Linux `forced_push`, at the ends of blocks of at most half that
    /// window (`tcp_bound_to_half_wnd`) and 64 KiB.
    pub fn pushes(&mut self, end: u64) -> bool {
        let block = self.block();
        let due = end >= self.bursts.pushed + (self.max_snd_wnd / 2 / block + 1) * block;
        if due {
            self.bursts.pushed = end;
        }
        due
    }

    /// After a pause longer than the RTO the ACK clock is lost: the window shrinks.
    pub fn restart_after_idle(&mut self, now: Time, parameters: &Parameters) {
        let (pause, rto) = (now.since(self.last_sent), self.rto(parameters.max_rto));
        let initial = parameters.initial_window.bytes(self.window.smss);
        if pause <= rto || self.model.is_some() {
            return;
        }
        let window = &mut self.window;
        let restart = window.cwnd.min(initial);
        match parameters.idle_restart {
            IdleRestart::InitialWindow => window.cwnd = restart,
            IdleRestart::HalvePerRto => {
                window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
                let halvings = (pause.as_nanos() - 1) / rto.as_nanos();
                let segments = (window.cwnd / u64::from(window.smss)) >> halvings.min(63);
                window.cwnd = restart.max(segments * u64::from(window.smss));
            }
        }
    }
}
