//! Loss detection: reads acknowledgments, and says what recovery does about them.
//!
//! Positions are unwrapped stream positions: the SYN is 0, the first byte of data 1.

mod dupacks;

use crate::scoreboard::{Delivered, Scoreboard};
use retx_units::{Duration, Time};

retx_units::registry! { $
    /// Loss detection: which segments are lost.
    tag = "name", schema = "LossDetection", context = &crate::Config;
    timeout_only, tahoe, reno, newreno, sack, rack boxed
}

/// An acknowledgment as loss detection sees it.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// When it came.
    pub now: Time,
    /// Smoothed RTT, if there is one.
    pub srtt: Option<Duration>,
    /// The least RTT sample, that of the handshake included; [`Duration::MAX`] before there is one.
    pub least_rtt: Duration,
    /// True if the ACK gives an RTT sample.
    pub sampled: bool,
    /// Bytes acknowledged for the first time; 0 for a duplicate ACK (RFC 5681 §2).
    pub bytes_acked: u64,
    /// First unacknowledged position, this ACK counted.
    pub snd_una: u64,
    /// Position after the last byte ever sent (`SND.NXT` before any go-back).
    pub snd_max: u64,
    /// A recovery that begins now is over once everything below is acknowledged.
    pub recovery_point: u64,
    /// Nothing is to be marked lost by it (Linux `tcp_try_undo_partial`).
    pub waits: bool,
    /// Duplicate ACKs that announce a loss.
    pub dupack_threshold: u32,
    /// The congestion control takes the first segment in flight for lost, whatever the count.
    pub overdue: bool,
    /// Payload of a full segment.
    pub smss: u32,
    /// Segments delivered by this ACK, where both ends use SACK.
    pub selective: Option<&'a Delivered>,
}

/// An acknowledgment of new data, which are the next in order and were each sent once.
#[derive(Debug, Clone, Copy)]
pub struct NextAck {
    /// When it came.
    pub now: Time,
    /// Smoothed RTT, if there is one.
    pub srtt: Option<Duration>,
    /// Least RTT sample: see [`Ack::least_rtt`].
    pub least_rtt: Duration,
    /// True if the ACK gives an RTT sample.
    pub sampled: bool,
    /// When the last segment acknowledged was sent, and the position after it.
    pub sent: Time,
    /// See `sent`.
    pub end: u64,
}

/// Data in flight, as a tail loss probe sees them.
#[derive(Debug, Clone, Copy)]
pub struct Flight {
    /// Segments in flight.
    pub segments: usize,
    /// Some have been selectively acknowledged.
    pub sacked: bool,
    /// Smoothed RTT, if there is one.
    pub srtt: Option<Duration>,
}

/// A tail loss probe that has been sent.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// Its first position.
    pub position: u64,
    /// `SND.MAX` after it.
    pub end: u64,
    /// True if the probe repeats the last segment.
    pub is_retransmission: bool,
}

/// Reaction of the sender to an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing; outside recovery new data acknowledged grow the window.
    Nothing,
    /// A duplicate ACK before the threshold: one new segment may go beyond `cwnd` (RFC 3042).
    LimitedTransmit,
    /// A loss: reduce the window, retransmit the segment at `snd_una`, and inflate the window by
    /// the segments that the duplicate ACKs say have left the network.
    FastRetransmit,
    /// A loss, with a scoreboard: reduce the window and retransmit the first lost segment; what
    /// follows is sent as far as the segments taken to be in flight leave room.
    SelectiveRecovery,
    /// A tail loss probe has repaired a loss: reduce the window, nothing is left to send again.
    ProbeRepairedLoss {
        /// Where what it repaired begins.
        position: u64,
    },
    /// A loss: reduce the window and send again from `snd_una`, without fast recovery.
    GoBackN,
    /// In recovery another segment has left the network: inflate the window by one SMSS.
    Inflate,
    /// A partial ACK: retransmit the next hole, and deflate the window by what was acknowledged.
    PartialAck {
        /// Restart the retransmission timer.
        restart_timer: bool,
    },
    /// Recovery is over: deflate the window to `ssthresh`.
    EndRecovery,
    /// Recovery is over, and what is lost beyond it begins another: as `EndRecovery`, then
    /// `SelectiveRecovery`.
    NextRecovery,
}

/// A way to find losses without the retransmission timer.
pub trait LossDetection {
    /// True for those that read selective acknowledgments.
    fn is_selective(&self) -> bool {
        false
    }

    /// True for those that ask in which order segments were sent.
    fn reads_times(&self) -> bool {
        false
    }

    /// An acknowledgment came: new data (`bytes_acked` > 0) or a duplicate. The scoreboard has
    /// taken it in already, and is empty without SACK.
    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction;

    /// True when an acknowledgment of new data would change nothing here and ask for nothing, with
    /// nothing selectively acknowledged or lost: no duplicate is counted, nothing is repaired, and
    /// nobody asks for times.
    fn is_at_rest(&self) -> bool {
        false
    }

    /// True when an acknowledgment of new data would ask for nothing, if these are the next and
    /// everything was sent once: [`Self::on_next_ack`] then takes the place of [`Self::on_ack`].
    fn is_at_rest_in_order(&self) -> bool {
        self.is_at_rest()
    }

    /// Acknowledgment of the next data while [`Self::is_at_rest_in_order`].
    fn on_next_ack(&mut self, ack: &NextAck) {
        let _ = ack;
    }

    /// True in a fast recovery in which an acknowledgment of nothing new only marks what is lost,
    /// if the connection is `selective`, and else asks for nothing but [`Reaction::Inflate`].
    fn only_repairs(&self, selective: bool) -> bool {
        let _ = selective;
        false
    }

    /// The retransmission timer expired; everything up to `snd_max` may be in the network.
    fn on_timeout(&mut self, snd_max: u64);

    /// True during fast recovery.
    fn in_recovery(&self) -> bool;

    /// The recovery was not needed, and is over.
    fn on_undo(&mut self) {}

    /// In recovery a hole was filled by a delayed original, after it had been sent again: it lies
    /// so many bytes behind the highest segment selectively acknowledged, or below the ACK.
    fn on_late_original(&mut self, distance: u64, smss: u32) {
        let _ = (distance, smss);
    }

    /// True when recovery is to spread its sending (RFC 9937).
    fn proportional_rate_reduction(&self) -> bool {
        false
    }

    /// True when recovery, with room left, sends again what may be lost (rules 3 and 4 of
    /// `NextSeg`, RFC 6675 §4).
    fn guesses(&self) -> bool {
        false
    }

    /// True when what the RFCs leave open about recovery is done as Linux does it.
    fn as_linux(&self) -> bool {
        false
    }

    /// Without SACK, where [`Self::as_linux`] says so: does a duplicate ACK stand for a segment?
    fn counts_duplicate(&self, snd_una: u64, snd_max: u64) -> bool {
        let _ = (snd_una, snd_max);
        false
    }

    /// Where a tail loss probe that sent a segment again begins, while no acknowledgment has told
    /// what it was good for.
    fn open_probe(&self) -> Option<u64> {
        None
    }

    /// At a timeout: after so long without an acknowledgment a segment is lost, too.
    fn loss_age_at_timeout(&self) -> Duration {
        Duration::ZERO
    }

    /// How many segments something is taken to be late by reordering at most; `None` for those that
    /// do not measure it.
    fn reordering(&self) -> Option<u32> {
        None
    }

    /// That is more than DupThresh was at first.
    fn is_tolerant(&self) -> bool {
        false
    }

    /// When [`Self::on_deadline`] wants to be called; [`Time::NEVER`] for not at all.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline has come. A recovery that begins is over at `recovery_point`.
    fn on_deadline(&mut self, now: Time, recovery_point: u64, board: &mut Scoreboard) -> Reaction {
        let _ = (now, recovery_point, board);
        Reaction::Nothing
    }

    /// How long after the last transmission or acknowledgment a probe for a lost tail is due.
    fn probe_timeout(&self, flight: &Flight) -> Option<Duration> {
        let _ = flight;
        None
    }

    /// A probe has been sent.
    fn on_probe_sent(&mut self, probe: Probe) {
        let _ = probe;
    }
}

impl LossDetection for State {
    fn is_selective(&self) -> bool {
        dispatch!(self, it => it.is_selective())
    }

    fn reads_times(&self) -> bool {
        dispatch!(self, it => it.reads_times())
    }

    fn on_ack(&mut self, ack: &Ack, board: &mut Scoreboard) -> Reaction {
        dispatch!(self, it => it.on_ack(ack, board))
    }

    fn is_at_rest(&self) -> bool {
        dispatch!(self, it => it.is_at_rest())
    }

    fn is_at_rest_in_order(&self) -> bool {
        dispatch!(self, it => it.is_at_rest_in_order())
    }

    #[inline]
    fn on_next_ack(&mut self, ack: &NextAck) {
        dispatch!(self, it => it.on_next_ack(ack));
    }

    fn only_repairs(&self, selective: bool) -> bool {
        dispatch!(self, it => it.only_repairs(selective))
    }

    fn on_timeout(&mut self, snd_max: u64) {
        dispatch!(self, it => it.on_timeout(snd_max));
    }

    fn in_recovery(&self) -> bool {
        dispatch!(self, it => it.in_recovery())
    }

    fn on_undo(&mut self) {
        dispatch!(self, it => it.on_undo());
    }

    fn on_late_original(&mut self, distance: u64, smss: u32) {
        dispatch!(self, it => it.on_late_original(distance, smss));
    }

    fn proportional_rate_reduction(&self) -> bool {
        dispatch!(self, it => it.proportional_rate_reduction())
    }

    fn guesses(&self) -> bool {
        dispatch!(self, it => it.guesses())
    }

    fn as_linux(&self) -> bool {
        dispatch!(self, it => it.as_linux())
    }

    fn counts_duplicate(&self, snd_una: u64, snd_max: u64) -> bool {
        dispatch!(self, it => it.counts_duplicate(snd_una, snd_max))
    }

    fn open_probe(&self) -> Option<u64> {
        dispatch!(self, it => it.open_probe())
    }

    fn loss_age_at_timeout(&self) -> Duration {
        dispatch!(self, it => it.loss_age_at_timeout())
    }

    fn reordering(&self) -> Option<u32> {
        dispatch!(self, it => it.reordering())
    }

    fn is_tolerant(&self) -> bool {
        dispatch!(self, it => it.is_tolerant())
    }

    fn deadline(&self) -> Time {
        dispatch!(self, it => it.deadline())
    }

    fn on_deadline(&mut self, now: Time, recovery_point: u64, board: &mut Scoreboard) -> Reaction {
        dispatch!(self, it => it.on_deadline(now, recovery_point, board))
    }

    fn probe_timeout(&self, flight: &Flight) -> Option<Duration> {
        dispatch!(self, it => it.probe_timeout(flight))
    }

    fn on_probe_sent(&mut self, probe: Probe) {
        dispatch!(self, it => it.on_probe_sent(probe));
    }
}
