//! *What it does.* Considers a segment lost if it was sent more than a reordering window before a
//! segment that has arrived; a tail loss probe turns most timeouts into recoveries.
//!
//! *Reference.* RFC 8985: RACK (§6) and TLP (§7).
//!
//! *Equations.*
//!
//! - *Reordering window* (§6.2, step 4). reo_wnd = min(reo_wnd_mult·min_RTT/4, SRTT). It is 0 while
//!   no reordering was seen and either a recovery is in progress or DupThresh segments are
//!   selectively acknowledged.
//! - *Loss* (step 5). A segment is lost at xmit_ts + RACK.rtt + reo_wnd.
//! - *Probe* (§7.2). PTO = 2·SRTT, plus the delayed-ACK allowance with one segment in flight, at
//!   most the RTO.
//!
//! *Variant `linux`* (`net/ipv4/tcp_recovery.c`, `tcp_input.c`, Linux 6.18): RACK.rtt is that of
//! the last segment that an ACK delivers in the order of the stream (`tcp_rack_advance`); the timer
//! waits 2 ms longer (`TCP_TIMEOUT_MIN_US`). The rest is in `rack/linux.rs`.
//!
//! *Lost retransmissions.* A retransmission that was sent in fast recovery and is lost reduces the
//! window again, at most once for the retransmissions of a recovery (RFC 5681 §4.3).
//!
//! *Where we differ.* min_RTT is the minimum over the connection. After a timeout, a lost
//! retransmission does not reduce the window again. Without SACK this is `newreno`,
//! or, with the details of Linux, the recovery of `without_sack`.

mod detection;
mod in_order;
mod linux;
mod probe;
mod without_sack;

use super::{Ack, Flight, LossDetection, NextAck, Probe, Reaction, newreno};
use crate::scoreboard::{Newest, Scoreboard};
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RACK-TLP of RFC 8985; NewReno if the peer has no SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Proportional rate reduction during recovery (RFC 9937).
    pub prr: bool,
    /// Probe for a lost tail (RFC 8985 §7).
    pub tlp: bool,
    /// Allowance for the peer's delayed ACK in the probe timeout of a lone segment (§7.2).
    pub max_ack_delay: Duration,
    /// Allowance for the coarseness of timers in any other probe timeout; by default 0 s, in the
    /// variant `linux` two ticks of 1 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tlp_slack: Option<Duration>,
    /// Details of the RFC or of Linux.
    pub variant: Variant,
}

/// Variants of RACK-TLP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Details of RFC 8985.
    #[default]
    Rfc8985,
    /// Details of Linux 6.18.
    Linux,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            prr: true,
            tlp: true,
            max_ack_delay: Duration::from_millis(200),
            tlp_slack: None,
            variant: Variant::Rfc8985,
        }
    }
}

/// Number of recoveries for which a widened reordering window is kept (§6.2, step 4).
const PERSIST: u32 = 16;
/// Addition to the reordering timer and to the probe timeout in Linux (`TCP_TIMEOUT_MIN_US`).
const SLACK: Duration = Duration::from_millis(2);
/// Upper bound of DupThresh in Linux, in segments (`tcp_max_reordering`).
const MAX_REORDERING: u64 = 300;

/// State of RACK.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    without: newreno::State,
    recover: u64,
    in_recovery: bool,
    /// Time at which the current or last recovery began.
    recovery_start: Time,
    /// Most recently sent segment among those delivered.
    newest: Option<Newest>,
    rtt: Duration,
    min_rtt: Duration,
    reordering_seen: bool,
    /// DupThresh, in segments.
    reordering: u32,
    /// Initial value of `reordering`.
    first_reordering: u32,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// `SND.NXT` at the DSACK that last widened the reordering window.
    dsack_round: u64,
    adaptation: linux::Adaptation,
    /// Linux `rack.advanced`: a delivery, or an undo that cleared losses, has occurred since the
    /// last detection.
    advanced: bool,
    /// True while losses found by a timeout are repaired.
    in_timeout_recovery: bool,
    /// Current reordering window.
    window: Duration,
    /// Time at which all overtaken segments will be considered lost, unless they arrive before.
    reordering_deadline: Time,
    probe: Option<Probe>,
    /// True if an RTT has been measured since the last probe (§7.3).
    sampled_since_probe: bool,
}

impl State {
    /// Creates a detector with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            config: *config,
            without: newreno::State::new(&newreno::Config::default(), tcp),
            recover: 0,
            in_recovery: false,
            recovery_start: Time::ZERO,
            newest: None,
            rtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            reordering_seen: false,
            reordering: tcp.dupack_threshold,
            first_reordering: tcp.dupack_threshold,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            dsack_round: 0,
            adaptation: linux::Adaptation::default(),
            advanced: false,
            in_timeout_recovery: false,
            window: Duration::ZERO,
            reordering_deadline: Time::NEVER,
            probe: None,
            sampled_since_probe: true,
        }
    }

    fn enter(&mut self, now: Time, snd_max: u64) -> Reaction {
        self.in_recovery = true;
        self.recovery_start = now;
        self.in_timeout_recovery = false;
        self.recover = snd_max;
        Reaction::SelectiveRecovery
    }

    /// Reaction to newly marked losses in a recovery. The loss of a retransmission that was sent in
    /// this recovery is a second indication of congestion, so the window is reduced again (RFC 5681
    /// §4.3). Linux does not do so.
    fn on_loss_in_recovery(&mut self, now: Time, snd_max: u64, board: &Scoreboard) -> Reaction {
        let copy = board.latest_lost_copy;
        // A segment sent in the same nanosecond as the copy may have been sent before it.
        let is_overtaken = self.newest.is_some_and(|newest| newest.sent > copy);
        if self.as_linux() || copy < self.recovery_start || !is_overtaken {
            return Reaction::Nothing;
        }
        self.enter(now, snd_max);
        Reaction::NextRecovery
    }

    /// True in a recovery that acknowledgments up to `snd_una` do not end.
    #[inline(always)]
    pub(crate) fn continues_recovery(&self, snd_una: u64) -> bool {
        self.in_recovery && snd_una < self.recover
    }

    /// Like `on_ack`, in a recovery that [continues](Self::continues_recovery), for an
    /// acknowledgment without a DSACK.
    pub(crate) fn on_ack_in_recovery(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction {
        let seen_before = self.reordering_seen;
        self.note_delivery(ack, board);
        self.sampled_since_probe |= ack.has_rtt_sample;
        if self.as_linux() {
            self.adapt_as_linux(ack, seen_before, false);
        }
        if !ack.defers_marking && self.look_for_losses(ack, board) {
            return self.on_loss_in_recovery(ack.now, ack.recovery_point, board);
        }
        Reaction::Nothing
    }

    fn on_selective(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction {
        let seen_before = self.reordering_seen;
        self.note_delivery(ack, board);
        self.sampled_since_probe |= ack.has_rtt_sample;
        let was_in_recovery = self.in_recovery;
        // Evaluated before new losses are marked: new losses may start the next recovery, but do
        // not prolong this one.
        let recovery_ends =
            (was_in_recovery || self.in_timeout_recovery) && ack.snd_una >= self.recover;
        if self.as_linux() {
            self.adapt_as_linux(ack, seen_before, recovery_ends);
        } else {
            self.adapt_to_duplicates(ack, recovery_ends);
        }
        if recovery_ends {
            self.in_recovery = false;
            self.in_timeout_recovery = false;
            self.probe = None;
        }
        let copies = board.retransmitted_segments();
        let mut lost = !ack.defers_marking && self.look_for_losses(ack, board);
        // `FLAG_LOST_RETRANS`: a lost retransmission ends the repair after a timeout.
        let lost_copy = self.as_linux() && board.retransmitted_segments() < copies;
        if self.as_linux() && !self.in_recovery && !self.in_timeout_recovery {
            // `tcp_time_to_recover`: segments marked lost count until they are delivered.
            lost |= board.marked_segments() > 0;
        }
        if recovery_ends && was_in_recovery {
            if lost {
                self.enter(ack.now, ack.recovery_point);
                return Reaction::NextRecovery;
            }
            return Reaction::EndRecovery;
        }
        if self.in_recovery && lost {
            return self.on_loss_in_recovery(ack.now, ack.recovery_point, board);
        }
        if self.in_recovery {
            return Reaction::Nothing;
        }
        if lost && (ack.snd_una >= self.recover || lost_copy) {
            return self.enter(ack.now, ack.recovery_point);
        }
        if let Some(position) = self.probe_repaired(ack) {
            return Reaction::ProbeRepairedLoss { position };
        }
        Reaction::Nothing
    }
}

impl LossDetection for State {
    fn is_selective(&self) -> bool {
        true
    }

    fn reads_times(&self) -> bool {
        true
    }

    fn proportional_rate_reduction(&self) -> bool {
        self.config.prr
    }

    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction {
        if ack.selective.is_some() {
            self.on_selective(ack, board)
        } else if self.as_linux() {
            self.on_ack_without_sack(ack, board)
        } else {
            self.without.on_ack(ack, board)
        }
    }

    fn ignores_data_acked_in_order(&self) -> bool {
        self.only_records_delivery()
    }

    #[inline(always)]
    fn on_next_ack(&mut self, ack: &NextAck) {
        self.note_next(ack);
    }

    fn on_timeout(&mut self, snd_max: u64) {
        self.without.on_timeout(snd_max);
        self.in_recovery = false;
        self.in_timeout_recovery = true;
        self.recover = snd_max;
        self.reordering_deadline = Time::NEVER;
        self.probe = None;
    }

    fn on_undo(&mut self) {
        self.without.on_undo();
        // Nothing had to be recovered: new losses may start a recovery at once.
        self.recover = 0;
        self.in_recovery = false;
        self.probe = None;
        self.in_timeout_recovery = false;
        self.advanced = true;
    }

    fn on_late_original(&mut self, distance: u64, smss: u32) {
        if self.as_linux() {
            self.note_reordering(distance, smss);
        }
    }

    fn in_recovery(&self) -> bool {
        self.in_recovery || self.without.in_recovery()
    }

    fn left_timer_running(&self) -> bool {
        self.without.left_timer_running()
    }

    fn as_linux(&self) -> bool {
        self.config.variant == Variant::Linux
    }

    fn counts_duplicate(&self, snd_una: u64, snd_max: u64) -> bool {
        self.dupack_is_arrival(snd_una, snd_max)
    }

    fn open_probe(&self) -> Option<u64> {
        self.probe.filter(|probe| probe.is_retransmission).map(|probe| probe.position)
    }

    /// RACK.rtt plus the reordering window (§6.3); in Linux without that window
    /// (`tcp_timeout_mark_lost`).
    fn loss_age_at_timeout(&self) -> Duration {
        if self.as_linux() { self.rtt } else { self.rtt + self.window }
    }

    fn reordering(&self) -> Option<u32> {
        Some(self.reordering)
    }

    fn is_tolerant(&self) -> bool {
        self.reordering > self.first_reordering
    }

    fn deadline(&self) -> Time {
        self.reordering_deadline
    }

    fn on_deadline(&mut self, now: Time, recovery_point: u64, board: &mut Scoreboard) -> Reaction {
        let lost = self.detect_losses(now, board);
        if self.as_linux() {
            // `tcp_rack_reo_timeout` sets no further timer.
            self.reordering_deadline = Time::NEVER;
        }
        match (lost, self.in_recovery) {
            (true, false) => self.enter(now, recovery_point),
            (true, true) => self.on_loss_in_recovery(now, recovery_point, board),
            (false, _) => Reaction::Nothing,
        }
    }

    /// Probe timeout of RFC 8985 §7.2; `None` if no probe may be sent.
    #[inline(always)]
    fn probe_timeout(&self, flight: &Flight) -> Option<Duration> {
        // §7.3: no second probe while one is unacknowledged, and none before the RTT has been
        // measured again.
        let unfit = self.probe.is_some() || !self.sampled_since_probe;
        if !self.config.tlp || self.in_recovery() || unfit || flight.sacked {
            return None;
        }
        let slack = if self.as_linux() { SLACK } else { Duration::ZERO };
        let slack = self.config.tlp_slack.unwrap_or(slack);
        let allowance = if flight.segments == 1 { self.config.max_ack_delay } else { slack };
        Some(flight.srtt.map_or(Duration::from_secs(1), |srtt| srtt * 2 + allowance))
    }

    fn on_probe_sent(&mut self, probe: Probe) {
        self.probe = Some(probe);
        self.sampled_since_probe = false;
    }
}

#[cfg(test)]
mod tests;
