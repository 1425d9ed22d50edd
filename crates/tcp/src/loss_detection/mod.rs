//! Loss detection: evaluates acknowledgments, and decides the reaction of recovery.
//!
//! Positions are unwrapped stream positions: the SYN is 0, the first byte of data 1.

mod dupacks;
#[cfg(test)]
mod testing;

use crate::scoreboard::{Delivered, Scoreboard};
use retx_units::{Duration, Time};

retx_units::registry! { $
    /// Loss detection: which segments are lost.
    tag = "name", schema = "LossDetection", context = &crate::Config;
    timeout_only, tahoe, reno, newreno, sack, rack boxed
}

/// Acknowledgment, as loss detection sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// Arrival time.
    pub now: Time,
    /// Smoothed RTT, if any.
    pub srtt: Option<Duration>,
    /// Minimum RTT sample, including the handshake's; [`Duration::MAX`] before the first sample.
    pub least_rtt: Duration,
    /// True if the ACK gives an RTT sample.
    pub has_rtt_sample: bool,
    /// Bytes acknowledged for the first time; 0 for a duplicate ACK (RFC 5681 §2).
    pub bytes_acked: u64,
    /// First unacknowledged position after this ACK.
    pub snd_una: u64,
    /// Position after the last byte ever sent (`SND.NXT` before any go-back-N).
    pub snd_max: u64,
    /// Position whose acknowledgment ends a recovery that begins now.
    pub recovery_point: u64,
    /// True if no segment is to be marked lost by this acknowledgment (Linux
    /// `tcp_try_undo_partial`).
    pub defers_marking: bool,
    /// Number of duplicate ACKs that indicate a loss.
    pub dupack_threshold: u32,
    /// True if the congestion control considers the first segment in flight lost, however many
    /// duplicate ACKs have arrived.
    pub overdue: bool,
    /// Payload of a full segment, bytes.
    pub smss: u32,
    /// Segments delivered by this ACK, if both ends use SACK.
    pub selective: Option<&'a Delivered>,
}

/// Acknowledgment that only removes the first segments in flight, each sent once and in order.
#[derive(Debug, Clone, Copy)]
pub struct NextAck {
    /// Arrival time.
    pub now: Time,
    /// Smoothed RTT, if any.
    pub srtt: Option<Duration>,
    /// Minimum RTT sample: see [`Ack::least_rtt`].
    pub least_rtt: Duration,
    /// True if the ACK gives an RTT sample.
    pub has_rtt_sample: bool,
    /// Transmission time of the last segment acknowledged.
    pub sent: Time,
    /// Position after the last segment acknowledged.
    pub end: u64,
}

/// Data in flight, for the decision on a tail loss probe.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    /// Segments in flight.
    pub segments: usize,
    /// True if any of them has been selectively acknowledged.
    pub sacked: bool,
    /// Smoothed RTT, if any.
    pub srtt: Option<Duration>,
}

/// Transmitted tail loss probe.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// First position of the probe.
    pub position: u64,
    /// `SND.MAX` after the probe.
    pub end: u64,
    /// True if the probe retransmits the last segment.
    pub is_retransmission: bool,
}

/// Reaction of the sender to an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// No reaction; outside recovery an acknowledgment of new data increases the window.
    Nothing,
    /// Duplicate ACK below the threshold: one new segment may exceed `cwnd` (RFC 3042).
    LimitedTransmit,
    /// Loss: reduce the window, retransmit the segment at `snd_una`, and inflate the window by the
    /// segments that have left the network according to duplicate ACKs.
    FastRetransmit,
    /// Loss, with a scoreboard: reduce the window and retransmit the first lost segment; further
    /// segments are sent as far as the pipe allows.
    SelectiveRecovery,
    /// A tail loss probe has repaired a loss: reduce the window without a retransmission.
    ProbeRepairedLoss {
        /// First position that the probe repaired.
        position: u64,
    },
    /// Loss: reduce the window and resend everything from `snd_una`, without fast recovery.
    GoBackN,
    /// Another segment has left the network in recovery: inflate the window by one SMSS.
    Inflate,
    /// Partial ACK: retransmit the next hole, and deflate the window by the data acknowledged.
    PartialAck {
        /// True to restart the retransmission timer.
        restart_timer: bool,
    },
    /// End of recovery: deflate the window to `ssthresh`.
    EndRecovery,
    /// End of a recovery, at which losses of later data start another: `EndRecovery` followed by
    /// `SelectiveRecovery`.
    NextRecovery,
}

/// Algorithm that detects losses without the retransmission timer.
pub trait LossDetection {
    /// True if the algorithm uses selective acknowledgments.
    fn is_selective(&self) -> bool {
        false
    }

    /// True if the algorithm uses the order of transmission.
    fn reads_times(&self) -> bool {
        false
    }

    /// Handles an acknowledgment: of new data (`bytes_acked` > 0) or a duplicate. The scoreboard
    /// has been updated already, and is empty without SACK.
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction;

    /// True if an acknowledgment of new data would neither change the state nor cause a reaction,
    /// provided that nothing is selectively acknowledged or lost. No duplicate is counted then,
    /// nothing is being repaired, and transmission times are not used.
    fn ignores_new_data_ack(&self) -> bool {
        false
    }

    /// True if an acknowledgment of the first segments in flight would cause no reaction, provided
    /// that everything was sent once: [`Self::on_next_ack`] then replaces [`Self::on_ack`].
    fn ignores_data_acked_in_order(&self) -> bool {
        self.ignores_new_data_ack()
    }

    /// Handles an acknowledgment of the first segments in flight, while
    /// [`Self::ignores_data_acked_in_order`].
    fn on_next_ack(&mut self, ack: &NextAck) {
        let _ = ack;
    }

    /// True in a fast recovery in which a duplicate ACK has a single effect: it marks losses if the
    /// connection is `selective`, and otherwise causes [`Reaction::Inflate`].
    fn only_repairs(&self, selective: bool) -> bool {
        let _ = selective;
        false
    }

    /// Handles the expiry of the retransmission timer; everything up to `snd_max` may be in the
    /// network.
    fn on_timeout(&mut self, snd_max: u64);

    /// True during fast recovery.
    fn in_recovery(&self) -> bool;

    /// True if the last partial ACK of a fast recovery did not restart the retransmission timer.
    fn left_timer_running(&self) -> bool {
        false
    }

    /// Handles the end of a recovery that was spurious.
    fn on_undo(&mut self) {}

    /// Handles a hole that was filled by a delayed original after its retransmission. The hole lies
    /// `distance` bytes below the highest segment selectively acknowledged, or below the ACK.
    fn on_late_original(&mut self, distance: u64, smss: u32) {
        let _ = (distance, smss);
    }

    /// True if recovery uses proportional rate reduction (RFC 9937).
    fn proportional_rate_reduction(&self) -> bool {
        false
    }

    /// True if recovery, while the window is not full, retransmits segments that may be lost (rules
    /// 3 and 4 of `NextSeg`, RFC 6675 §4).
    fn guesses(&self) -> bool {
        false
    }

    /// True if details of recovery that the RFCs leave open follow Linux.
    fn as_linux(&self) -> bool {
        false
    }

    /// True if a duplicate ACK counts as an arrived segment, on a connection without SACK and with
    /// [`Self::as_linux`].
    fn counts_duplicate(&self, snd_una: u64, snd_max: u64) -> bool {
        let _ = (snd_una, snd_max);
        false
    }

    /// First position of a tail loss probe that retransmitted a segment, until an acknowledgment
    /// shows whether the retransmission was needed.
    fn open_probe(&self) -> Option<u64> {
        None
    }

    /// Minimum age of the segments that a timeout marks lost: time since their most recent
    /// transmission. The first segment is marked in any case.
    fn loss_age_at_timeout(&self) -> Duration {
        Duration::ZERO
    }

    /// Maximum reordering seen so far, in segments; `None` for algorithms that do not measure it.
    fn reordering(&self) -> Option<u32> {
        None
    }

    /// True if the reordering exceeds the initial DupThresh.
    fn is_tolerant(&self) -> bool {
        false
    }

    /// Time at which [`Self::on_deadline`] must be called; [`Time::NEVER`] for none.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// Handles the deadline. A recovery that begins now ends at `recovery_point`.
    fn on_deadline(&mut self, now: Time, recovery_point: u64, board: &mut Scoreboard) -> Reaction {
        let _ = (now, recovery_point, board);
        Reaction::Nothing
    }

    /// Time from the last transmission or acknowledgment to a tail loss probe; `None` for no probe.
    fn probe_timeout(&self, flight: &Flight) -> Option<Duration> {
        let _ = flight;
        None
    }

    /// Handles the transmission of a probe.
    fn on_probe_sent(&mut self, probe: Probe) {
        let _ = probe;
    }
}

impl LossDetection for State {
    forward! {
        fn is_selective(&self) -> bool;
        fn reads_times(&self) -> bool;
        fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction;
        fn ignores_new_data_ack(&self) -> bool;
        fn ignores_data_acked_in_order(&self) -> bool;
        #[inline]
        fn on_next_ack(&mut self, ack: &NextAck);
        fn only_repairs(&self, selective: bool) -> bool;
        fn on_timeout(&mut self, snd_max: u64);
        fn in_recovery(&self) -> bool;
        fn left_timer_running(&self) -> bool;
        fn on_undo(&mut self);
        fn on_late_original(&mut self, distance: u64, smss: u32);
        fn proportional_rate_reduction(&self) -> bool;
        fn guesses(&self) -> bool;
        fn as_linux(&self) -> bool;
        fn counts_duplicate(&self, snd_una: u64, snd_max: u64) -> bool;
        fn open_probe(&self) -> Option<u64>;
        fn loss_age_at_timeout(&self) -> Duration;
        fn reordering(&self) -> Option<u32>;
        fn is_tolerant(&self) -> bool;
        fn deadline(&self) -> Time;
        fn on_deadline(&mut self, now: Time, recovery_point: u64, board: &mut Scoreboard)
            -> Reaction;
        fn probe_timeout(&self, flight: &Flight) -> Option<Duration>;
        fn on_probe_sent(&mut self, probe: Probe);
    }
}

#[cfg(test)]
mod tests;
