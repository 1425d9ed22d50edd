//! Detection of a kernel's recovery episodes, from queries of a sender's socket.
//!
//! *What it does.* The socket is queried after each acknowledgment that the kernel has processed,
//! and at each retransmission. At most one event lies between two queries, so their difference
//! identifies the event:
//!
//! - If the number of timeouts has increased, the retransmission timer has expired.
//! - If the state is now fast recovery, the sender has detected a loss: by acknowledgments, or by
//!   the timer of RACK if no acknowledgment has arrived since the previous query. The recovery ends
//!   when the sender leaves the state.
//! - A retransmission is a tail loss probe if neither of these two events has occurred.
//!
//! A probe is an episode only if it repaired a loss, for which the kernel then reduces its window.
//! The kernel concludes that a probe repaired a loss when more data are acknowledged than had been
//! sent before the probe (`tcp_process_tlp_ack`). The episode then ends immediately, as in a
//! simulation.
//!
//! *Source.* `tcp_fastretrans_alert`, `tcp_enter_loss`, `tcp_update_rto_stats` of Linux 6.18. These
//! functions define the states. They also show that an acknowledgment of everything sent before a
//! recovery can end that recovery and begin the next one.
//!
//! *Limitation.* An episode is missed if a probe repairs a loss while the window is at its minimum.

use crate::socket_state::{LossState, SocketState};
use retx_record::reason::EpisodeKind;
use retx_units::{Duration, Time};

/// Information from packets at the time of a query.
#[derive(Debug, Clone, Copy)]
pub struct Query {
    /// Time of the query.
    pub at: Time,
    /// First unacknowledged position before the packet that triggered the query.
    pub previous_una: u64,
    /// First unacknowledged position now.
    pub snd_una: u64,
    /// Position after the highest one ever sent.
    pub snd_max: u64,
    /// Start of the retransmission that triggered the query; `None` if something else triggered it.
    pub retransmitted_position: Option<u64>,
}

/// Loss detected by the sender, real or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetectedLoss {
    /// Kind of the episode that the loss begins.
    pub kind: EpisodeKind,
    /// Time of detection.
    pub at: Time,
    /// Start of the segment that the episode retransmits first.
    pub trigger: u64,
    /// True if a tail loss probe has found and repaired the loss.
    pub repaired_by_probe: bool,
    /// Congestion window before the reaction to the loss, bytes.
    pub cwnd_before_bytes: u64,
    /// Target of the congestion window after the reaction to the loss, bytes.
    pub cwnd_after_bytes: u64,
    /// Timeout in force at detection.
    pub rto: Duration,
    /// Number of doublings that `rto` contains.
    pub backoff: u32,
    /// Number of doublings in the timeout now in force.
    pub backoff_now: u32,
    /// True if the kernel was already repairing a loss. An undo then restores the window from
    /// before that recovery.
    pub same_window_of_data: bool,
}

/// Event that a query has revealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// A recovery begins.
    Loss(DetectedLoss),
    /// The last recovery is over.
    RecoveryEnd(Time),
    /// The kernel has undone the last reduction of the window.
    Undo(Time),
    /// The sender has reduced its window because of an ECN-Echo.
    EcnReduction(Time),
}

/// Tail loss probe that may turn out to have repaired a loss.
#[derive(Debug, Clone, Copy)]
struct Probe {
    position: u64,
    /// Position after the highest one sent before the probe.
    snd_max: u64,
}

/// Watcher of a connection's sender.
#[derive(Debug, Default)]
pub struct TransitionDetector {
    last: Option<SocketState>,
    /// Recovery point of the open fast recovery.
    recover: u64,
    /// Fast recovery whose first retransmission has not been observed yet.
    pending: Option<DetectedLoss>,
    probe: Option<Probe>,
    /// Slow start threshold before the open recovery; `None` if it was not set.
    ssthresh_before: Option<u64>,
}

impl TransitionDetector {
    /// Start of the segment that a tail loss probe has retransmitted; `None` when the probe can no
    /// longer turn out to have repaired a loss.
    pub fn open_probe(&self) -> Option<u64> {
        self.probe.map(|probe| probe.position)
    }

    /// Evaluates a query, and appends the findings to `found`.
    pub fn evaluate(&mut self, state: &SocketState, query: &Query, found: &mut Vec<Finding>) {
        let Some(before) = self.last.replace(*state) else { return };
        if state.is_recovering() && !before.is_recovering() {
            self.ssthresh_before = before.ssthresh;
        }
        // As in a simulation, timeouts during the handshake do not count.
        let timeouts = if before.in_handshake() { 0 } else { state.timeouts_since(&before) };
        for _ in 0..timeouts {
            self.flush_pending(found);
            self.probe = None;
            // A timeout retransmits the first unacknowledged segment (RFC 6298 §5.4).
            let trigger = query.retransmitted_position.unwrap_or(query.previous_una);
            found.push(Finding::Loss(DetectedLoss {
                cwnd_after_bytes: state.cwnd_bytes(),
                ..loss(EpisodeKind::Rto, (&before, state), query.at, trigger)
            }));
        }
        if self.has_recovery_begun(&before, state, query) || timeouts > 0 && in_recovery(state) {
            self.flush_pending(found);
            // Data that are still in the device queue are known only from the kernel's counter, and
            // a FIN only from the packets.
            self.recover = query.snd_max.max(1 + before.unique_bytes_sent);
            // The trigger is unknown until the first retransmission is observed.
            self.pending =
                Some(loss(EpisodeKind::FastRetransmit, (&before, state), query.at, query.snd_una));
        } else if before.is_recovering() && !state.is_recovering() {
            self.flush_pending(found);
            // Only `tcp_undo_cwnd_reduction` restores the former threshold.
            if state.ssthresh != before.ssthresh && state.ssthresh == self.ssthresh_before {
                found.push(Finding::Undo(query.at));
            }
            found.push(Finding::RecoveryEnd(query.at));
        }
        // Without negotiated ECN, the state CWR is due to a congested device of the host, not to
        // the path.
        let reduces = |state: &SocketState| state.loss_state == LossState::Cwr;
        if state.has_ecn() && reduces(state) && !reduces(&before) {
            found.push(Finding::EcnReduction(query.at));
        }
        if let Some(probe) = self.probe.filter(|probe| query.snd_una > probe.snd_max) {
            self.probe = None;
            if !state.is_recovering() && has_reduced(&before, state) {
                let found_by =
                    loss(EpisodeKind::FastRetransmit, (&before, state), query.at, probe.position);
                found.push(Finding::Loss(DetectedLoss { repaired_by_probe: true, ..found_by }));
                found.push(Finding::RecoveryEnd(query.at));
            }
        }
        if let Some(position) = query.retransmitted_position {
            self.retransmitted(position, (state, query.snd_max, timeouts > 0), found);
        }
        if state.is_closed() {
            self.end_connection(query.at, found);
        }
    }

    /// Handles the end of the connection.
    pub fn end_connection(&mut self, at: Time, found: &mut Vec<Finding>) {
        self.flush_pending(found);
        // If a connection ends during a recovery, the recovery ends, too.
        if self.last.take().is_some_and(|last| last.is_recovering()) {
            found.push(Finding::RecoveryEnd(at));
        }
        *self = Self::default();
    }

    fn has_recovery_begun(&self, before: &SocketState, state: &SocketState, query: &Query) -> bool {
        // RFC 6582 §6: without SACK a recovery lasts until more than `recover` is acknowledged.
        let least = self.recover + u64::from(!state.has_sack());
        in_recovery(state)
            && (!in_recovery(before)
                || query.snd_una > query.previous_una && query.snd_una >= least)
    }

    fn retransmitted(
        &mut self,
        position: u64,
        (state, snd_max, by_timeout): (&SocketState, u64, bool),
        found: &mut Vec<Finding>,
    ) {
        if let Some(pending) = &mut self.pending {
            pending.trigger = position;
            self.flush_pending(found);
        } else if !by_timeout && !state.is_recovering() {
            // Neither a timeout nor a recovery has caused this retransmission, so it is a probe.
            self.probe = Some(Probe { position, snd_max });
        }
    }

    /// Adds the pending recovery, whose first retransmission has now been observed, to the
    /// findings.
    fn flush_pending(&mut self, found: &mut Vec<Finding>) {
        found.extend(self.pending.take().map(Finding::Loss));
    }
}

fn in_recovery(state: &SocketState) -> bool {
    state.loss_state == LossState::Recovery
}

/// True if the congestion window has been reduced to the slow start threshold.
fn has_reduced(before: &SocketState, state: &SocketState) -> bool {
    // The acknowledgment that ends the reduction may also increase the window by one segment.
    let at_threshold = state.ssthresh.is_some_and(|ssthresh| state.cwnd <= ssthresh + 1);
    at_threshold && (state.ssthresh != before.ssthresh || state.cwnd < before.cwnd)
}

fn loss(
    kind: EpisodeKind,
    (before, state): (&SocketState, &SocketState),
    at: Time,
    trigger: u64,
) -> DetectedLoss {
    DetectedLoss {
        kind,
        at,
        trigger,
        repaired_by_probe: false,
        cwnd_before_bytes: before.cwnd_bytes(),
        // A slow start threshold above the congestion window does not raise the window.
        cwnd_after_bytes: state.recovery_target_bytes().min(before.cwnd_bytes()),
        rto: before.rto,
        backoff: before.backoff,
        backoff_now: state.backoff,
        same_window_of_data: before.is_recovering(),
    }
}

#[cfg(test)]
mod tests;
