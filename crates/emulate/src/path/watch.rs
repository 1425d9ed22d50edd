//! Detection of a kernel's recovery episodes, from queries of a sender's socket.
//!
//! *What it does.* Queries the socket after each acknowledgment that the kernel has processed, and
//! at each retransmission. At most one event lies between two queries, so their difference
//! identifies it. An increased number of timeouts shows a timeout. Entry into fast recovery is a
//! loss detected by acknowledgments, or by the timer of RACK if a retransmission comes without an
//! acknowledgment. Leaving either state is its end. A retransmission without any of these is a tail
//! loss probe. A probe is no episode, unless the kernel reduces its window because the probe
//! repaired a loss, when more data than had been sent before the probe are acknowledged
//! (`tcp_process_tlp_ack`): that is an episode that ends at once, as in a simulation.
//!
//! *Source.* `tcp_fastretrans_alert`, `tcp_enter_loss`, `tcp_update_rto_stats` of Linux 6.18: what
//! the states mean, and that one recovery can follow another within one acknowledgment, once
//! everything sent before the first is acknowledged.
//!
//! *What it does not see.* The repair of a loss by a probe while the window was at its minimum.

use crate::socket_state::{LossState, SocketState};
use retx_record::reason::EpisodeKind;
use retx_units::{Duration, Time};

/// Information from packets at the time of a query.
#[derive(Debug, Clone, Copy)]
pub struct Wire {
    /// Time of the query.
    pub at: Time,
    /// First unacknowledged position before the packet that triggered the query.
    pub acked_before: u64,
    /// First unacknowledged position now.
    pub acked: u64,
    /// Position after the last one ever sent.
    pub sent_to: u64,
    /// Start of the retransmission that triggered the query.
    pub again: Option<u64>,
}

/// Loss detected by the sender, real or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// Kind of detection.
    pub kind: EpisodeKind,
    /// Time of detection.
    pub at: Time,
    /// Start of the segment that is retransmitted first.
    pub trigger: u64,
    /// True if the probe that found the loss has repaired it.
    pub repaired: bool,
    /// Congestion window before the reaction, bytes.
    pub cwnd_before: u64,
    /// Target of the congestion window, bytes.
    pub cwnd_after: u64,
    /// Timeout in force at detection.
    pub rto: Duration,
    /// Number of backoffs in that timeout.
    pub backoff: u32,
    /// Number of backoffs in the timeout now in force.
    pub backoff_now: u32,
    /// True if the kernel was already repairing a loss: an undo then restores the window before
    /// that repair.
    pub same_window: bool,
}

/// Finding of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// A recovery begins.
    Loss(Loss),
    /// The last recovery is over.
    Over(Time),
    /// The kernel has restored the window before the last reduction.
    Undone(Time),
    /// Window reduction by ECN-Echo.
    Echo(Time),
}

/// Retransmission that may be repairing a loss.
#[derive(Debug, Clone, Copy)]
struct Probe {
    position: u64,
    /// Position after the last one sent before it.
    sent_to: u64,
}

/// Watcher of a connection's sender.
#[derive(Debug, Default)]
pub struct Watch {
    last: Option<SocketState>,
    /// Recovery point of the open fast recovery.
    recover: u64,
    /// Recovery without an observed retransmission yet.
    pending: Option<Loss>,
    probe: Option<Probe>,
    /// Slow start threshold before the open recovery.
    ssthresh_before: Option<u64>,
}

impl Watch {
    /// Start of the segment that a tail loss probe has retransmitted, as long as the probe may turn
    /// out to have repaired a loss.
    pub fn open_probe(&self) -> Option<u64> {
        self.probe.map(|probe| probe.position)
    }

    /// Evaluates a query: appends its findings to `found`.
    pub fn query(&mut self, state: &SocketState, wire: &Wire, found: &mut Vec<Finding>) {
        let Some(before) = self.last.replace(*state) else { return };
        // A simulation does not count timeouts of a SYN either.
        if state.is_repairing() && !before.is_repairing() {
            self.ssthresh_before = before.ssthresh;
        }
        let timeouts = if before.is_opening() { 0 } else { state.timeouts_since(&before) };
        for _ in 0..timeouts {
            self.flush_pending(found);
            self.probe = None;
            // A timeout retransmits the first unacknowledged segment (RFC 6298 §5.4).
            let trigger = wire.again.unwrap_or(wire.acked_before);
            found.push(Finding::Loss(Loss {
                cwnd_after: state.cwnd_bytes(),
                ..loss(EpisodeKind::Rto, (&before, state), wire.at, trigger)
            }));
        }
        if self.has_recovery_begun(&before, state, wire) || timeouts > 0 && in_recovery(state) {
            self.flush_pending(found);
            // The kernel counts data still in the device queue; packets show the FIN.
            self.recover = wire.sent_to.max(1 + before.sent_once);
            // The trigger is not known before the first retransmission is seen.
            self.pending =
                Some(loss(EpisodeKind::FastRetransmit, (&before, state), wire.at, wire.acked));
        } else if before.is_repairing() && !state.is_repairing() {
            self.flush_pending(found);
            // Only `tcp_undo_cwnd_reduction` restores the former threshold.
            if state.ssthresh != before.ssthresh && state.ssthresh == self.ssthresh_before {
                found.push(Finding::Undone(wire.at));
            }
            found.push(Finding::Over(wire.at));
        }
        // CWR without negotiated ECN stems from local congestion of the device, not from the path.
        let reduces = |state: &SocketState| state.loss_state == LossState::Cwr;
        if state.has_ecn() && reduces(state) && !reduces(&before) {
            found.push(Finding::Echo(wire.at));
        }
        if let Some(probe) = self.probe.filter(|probe| wire.acked > probe.sent_to) {
            self.probe = None;
            if !state.is_repairing() && has_reduced(&before, state) {
                let found_by =
                    loss(EpisodeKind::FastRetransmit, (&before, state), wire.at, probe.position);
                found.push(Finding::Loss(Loss { repaired: true, ..found_by }));
                found.push(Finding::Over(wire.at));
            }
        }
        if let Some(position) = wire.again {
            self.retransmitted(position, (state, wire.sent_to, timeouts > 0), found);
        }
        if state.is_closed() {
            self.end(wire.at, found);
        }
    }

    /// Handles the end of the connection.
    pub fn end(&mut self, at: Time, found: &mut Vec<Finding>) {
        self.flush_pending(found);
        // A connection may end in the middle of a recovery, which then ends with it.
        if self.last.take().is_some_and(|last| last.is_repairing()) {
            found.push(Finding::Over(at));
        }
        *self = Self::default();
    }

    fn has_recovery_begun(&self, before: &SocketState, state: &SocketState, wire: &Wire) -> bool {
        // RFC 6582 §6: without SACK a recovery lasts until more than `recover` is acknowledged.
        let least = self.recover + u64::from(!state.has_sack());
        in_recovery(state)
            && (!in_recovery(before) || wire.acked > wire.acked_before && wire.acked >= least)
    }

    fn retransmitted(
        &mut self,
        position: u64,
        (state, sent_to, by_timeout): (&SocketState, u64, bool),
        found: &mut Vec<Finding>,
    ) {
        if let Some(pending) = &mut self.pending {
            pending.trigger = position;
            self.flush_pending(found);
        } else if !by_timeout && !state.is_repairing() {
            // Neither a timeout nor a recovery has caused this retransmission.
            self.probe = Some(Probe { position, sent_to });
        }
    }

    /// Reports a recovery that had to wait until its first retransmission was observed.
    fn flush_pending(&mut self, found: &mut Vec<Finding>) {
        found.extend(self.pending.take().map(Finding::Loss));
    }
}

fn in_recovery(state: &SocketState) -> bool {
    state.loss_state == LossState::Recovery
}

/// True if the window has fallen to the threshold, as at the end of a reduction.
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
) -> Loss {
    Loss {
        kind,
        at,
        trigger,
        repaired: false,
        cwnd_before: before.cwnd_bytes(),
        // A threshold above the window does not raise it.
        cwnd_after: state.target_bytes().min(before.cwnd_bytes()),
        rto: before.rto,
        backoff: before.backoff,
        backoff_now: state.backoff,
        same_window: before.is_repairing(),
    }
}

#[cfg(test)]
mod tests;
