//! Behaviour of Linux's sender that the RFCs leave open.

use super::{Connection, Parameters, Sender};
use crate::congestion_control::{self, CongestionControl, call_cubic_directly};
use crate::loss_detection::{LossDetection, Reaction};
use crate::scoreboard::Delivered;
use crate::{IdleRestart, RttSamples};
use retx_units::Time;

/// Largest block of data that the sender passes on at once (GSO_LEGACY_MAX_SIZE), bytes.
pub const BLOCK_MAX: u64 = 65_536;
/// Largest window of a peer that a single segment may fill, bytes.
const TCP_MSS_DEFAULT: u64 = 536;
/// Smallest payload of a full segment, whatever the peer's window: 68 bytes minus 40 of headers.
const SMALLEST_SEGMENT: u64 = 28;

impl Connection {
    /// True if the congestion control receives the RTT of segments, provided that the peer has
    /// SACK.
    pub(super) fn samples_segments(&self) -> bool {
        let per_ack = self.parameters.rtt_samples == RttSamples::EveryAck;
        per_ack && self.sender.loss_detection.as_linux()
    }

    /// Passes the RTT of the last delivered segment to the congestion control
    /// (`tcp_clean_rtx_queue`, `pkts_acked`). `timed_last` is its transmission time, if it was sent
    /// once. HyStart may then set `ssthresh`, even during a recovery. The recovery then ends with
    /// this value as the window.
    pub(super) fn notify_segments_acked(
        &mut self,
        ack: &congestion_control::Ack,
        timed_last: Option<Time>,
    ) {
        if !self.samples_segments() {
            return;
        }
        let last = timed_last.map(|sent| self.measured_rtt(ack.now, sent));
        let sender = &mut self.sender;
        let before = sender.window.ssthresh;
        let (window, rtt) = (&mut sender.window, last.or(ack.rtt));
        let congestion_control = &mut sender.congestion_control;
        call_cubic_directly!(congestion_control, on_segments_acked(window, ack, rtt));
        if sender.window.ssthresh != before
            && let Some(repair) = sender.repair.allocated_mut()
        {
            repair.cwnd_after_recovery = sender.window.ssthresh;
        }
    }
}

impl Sender {
    /// True once everything sent before the last timeout is acknowledged. Without SACK, Linux waits
    /// until later data are acknowledged as well (`tcp_is_non_sack_preventing_reopen`).
    pub const fn timeout_recovery_is_over(&self) -> bool {
        let prevents_reopen = self.uses_scoreboard && !self.selective;
        self.snd_una >= self.timeout_recovery_end + prevents_reopen as u64
    }

    /// True if an acknowledgment that ends a recovery grows the window, as in Linux
    /// (`tcp_cong_control`).
    pub fn grows_after(&self, reaction: Reaction) -> bool {
        reaction == Reaction::EndRecovery
            && self.loss_detection.as_linux()
            && self.model_inputs.is_none()
    }

    /// Grows the window for an acknowledgment of new data, if the window limits the sender. In
    /// Linux the window grows by the data delivered (`acked_sacked`). Once more reordering than the
    /// initial DupThresh was seen, a purely `selective` acknowledgment also grows the window there
    /// (`tcp_may_raise_cwnd`).
    pub fn grow(&mut self, ack: &congestion_control::Ack, selective: bool) {
        let as_linux = self.loss_detection.as_linux();
        if ack.bytes_acked == 0 && !(as_linux && selective && self.loss_detection.is_tolerant()) {
            return;
        }
        if as_linux && ack.bytes_acked != ack.delivered {
            self.grow_cwnd(&congestion_control::Ack { bytes_acked: ack.delivered, ..*ack });
        } else {
            self.grow_cwnd(ack);
        }
    }

    /// True if the data selectively acknowledged were sent before the most recent transmission of
    /// the first segment in flight, and RACK's timer does not run. The retransmission timer is then
    /// restarted (`tcp_clean_rtx_queue`).
    pub fn has_sack_of_earlier_data(&self, selective: Option<&Delivered>) -> bool {
        let earliest = selective.and_then(|delivered| delivered.first_sacked);
        let is_earlier = earliest.zip(self.board.first_sent()).is_some_and(|(it, head)| it < head);
        is_earlier && self.loss_detection.deadline() == Time::NEVER
    }

    /// Records reordering: the segment at `low` was retransmitted, but its original was only
    /// delayed, and filled the hole (`tcp_try_undo_partial`).
    pub fn note_late_original(&mut self, low: u64) {
        let highest = self.board.highest_sacked().unwrap_or(self.snd_una);
        if highest > low {
            self.loss_detection.on_late_original(highest - low, self.window.smss);
        }
    }

    /// Lets the congestion control grow the window, if the window limits the sender.
    #[inline(always)]
    pub fn grow_cwnd(&mut self, ack: &congestion_control::Ack) {
        // The algorithm is called even if the window does not limit the sender, because it also
        // measures (HyStart). Its growth is then discarded; a reduction is kept.
        let before = self.window.cwnd;
        match &mut self.congestion_control {
            // The most common algorithms are called directly, rather than by dispatch over all
            // algorithms.
            congestion_control::State::reno(reno) => reno.on_ack(&mut self.window, ack),
            congestion_control::State::cubic(cubic) => cubic.on_ack(&mut self.window, ack),
            other => other.on_ack(&mut self.window, ack),
        }
        if !ack.cwnd_limited {
            self.window.cwnd = self.window.cwnd.min(before);
        }
        self.clamp_cwnd();
    }

    /// Payload of a full segment: two of them fit into the peer's largest window
    /// (`tcp_bound_to_half_wnd`).
    pub fn bounded_smss(&self) -> u64 {
        let (smss, largest) = (u64::from(self.window.smss), self.max_snd_wnd);
        if largest >= 2 * smss {
            return smss;
        }
        // A tiny window is not halved: smaller segments would neither avoid silly windows nor yield
        // enough duplicate ACKs.
        let bound = if largest > TCP_MSS_DEFAULT { largest / 2 } else { largest };
        if bound == 0 { smss } else { smss.min(bound.max(SMALLEST_SEGMENT)) }
    }

    /// Size of the blocks in which the application's data wait: whole segments, at most half of the
    /// peer's largest window.
    pub fn block_size(&self) -> u64 {
        let smss = self.bounded_smss();
        ((self.max_snd_wnd / 2).min(BLOCK_MAX) / smss).max(1) * smss
    }

    /// True if a segment that ends at `end` carries PSH because more than half of the peer's
    /// largest window was sent since the last PSH (Linux `forced_push`). Such a segment is the last
    /// of a block. A block holds at most 64 KiB, and at most half of that window
    /// (`tcp_bound_to_half_wnd`).
    #[inline(always)]
    pub fn forced_push(&mut self, now: Time, end: u64) -> bool {
        // The usual case: at most half of the peer's largest window has been sent since the last
        // PSH.
        if end <= self.bursts.pushed + self.max_snd_wnd / 2 {
            return false;
        }
        // The kernel tests `forced_push` only at the ends of full blocks (`tcp_sendmsg_locked`):
        // PSH is set at the first of these ends that is more than half of the peer's largest window
        // after the last PSH.
        let block = self.block_size();
        let due = end >= self.bursts.pushed + (self.max_snd_wnd / 2 / block + 1) * block;
        if due {
            self.bursts.pushed = end;
        }
        // Within a burst only the last segment carries PSH, as after segmentation offload.
        due && !self.bursts.burst.is_open(now)
    }

    /// Reduces the congestion window after a pause longer than the RTO, when the ACK clock is lost.
    pub fn restart_after_idle(&mut self, now: Time, parameters: &Parameters) {
        let (pause, rto) = (now.since(self.last_sent), self.rto(parameters.max_rto));
        let initial = parameters.initial_window.bytes(self.window.smss);
        if pause <= rto || self.model_inputs.is_some() {
            return;
        }
        self.congestion_control.on_idle_restart(&self.window);
        let window = &mut self.window;
        let restart = window.cwnd.min(initial);
        match parameters.idle_restart {
            IdleRestart::InitialWindow => window.cwnd = restart,
            IdleRestart::HalvePerRto => {
                // `tcp_current_ssthresh`: slow start may return to three quarters of the former
                // window.
                window.ssthresh = window.ssthresh.max(window.cwnd / 4 * 3);
                // `tcp_cwnd_restart` halves the window once for each RTO of the pause, as long as
                // more than one RTO is left.
                let halvings = (pause.as_nanos() - 1) / rto.as_nanos();
                let segments = (window.cwnd / u64::from(window.smss)) >> halvings.min(63);
                window.cwnd = restart.max(segments * u64::from(window.smss));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::SeqNr;

    fn sender(largest_window: u64) -> Sender {
        let mut config = (crate::presets::find("linux").expect("a preset").config)();
        config.mss = 1_000;
        let mut sender = Sender::new(&config, SeqNr(0));
        sender.max_snd_wnd = largest_window;
        sender
    }

    /// Longest segment (`tcp_bound_to_half_wnd`): half of the peer's largest window if this window
    /// exceeds 536 bytes, otherwise the whole window, but at least 68 − 40 bytes.
    #[test]
    fn two_segments_fit_into_the_window() {
        let bounded = |largest| sender(largest).bounded_smss();
        assert_eq!([2_000, 1_999, 537].map(bounded), [1_000, 999, 268]);
        assert_eq!([536, 29, 28, 1].map(bounded), [536, 29, 28, 28]);
        assert_eq!(bounded(0), 1_000, "no window is known yet");
    }

    /// A block holds whole segments: at most half of the peer's largest window and at most 65,536
    /// bytes, but at least one segment.
    #[test]
    fn blocks_are_whole_segments() {
        let block = |largest| sender(largest).block_size();
        assert_eq!([200_000, 131_000, 20_000].map(block), [65_000, 65_000, 10_000]);
        assert_eq!([19_999, 2_500, 1_998].map(block), [9_000, 1_000, 999]);
    }

    /// Ends of the first three segments with PSH (`forced_push`), for the peer's largest window.
    /// PSH is due at the first end of a block that lies more than half of this window after the
    /// last PSH.
    #[test]
    fn a_push_at_the_first_end_of_a_block_beyond_half_of_the_window() {
        let pushes = |largest| {
            let mut sender = sender(largest);
            let ends = (1..=400).map(|segment| 1 + 1_000 * segment);
            ends.filter(|end| sender.forced_push(Time::ZERO, *end)).take(3).collect::<Vec<u64>>()
        };
        // Half of the peer's window is 10,000 bytes, and so is a block. One block does not exceed
        // this half, so every second block ends with PSH.
        assert_eq!(pushes(20_000), [20_001, 40_001, 60_001]);
        // Half of the peer's window is 1250 bytes, and a block is one segment of 1000 bytes, so
        // every second segment has PSH.
        assert_eq!(pushes(2_500), [2_001, 4_001, 6_001]);
        // Half of the peer's window is 100,000 bytes, and a block is 65 segments of 1000 bytes, so
        // every second block ends with PSH.
        assert_eq!(pushes(200_000), [130_001, 260_001, 390_001]);
    }

    /// `tcp_cwnd_restart`: `while ((delta -= icsk_rto) > 0 && cwnd > restart_cwnd) cwnd >>= 1`,
    /// after a pause longer than the RTO, here of 1 s. `snd_ssthresh` becomes three quarters of the
    /// window if it is lower. The initial window has 10 segments.
    #[test]
    fn a_pause_halves_the_window_once_for_each_rto() {
        let mut config = (crate::presets::find("linux").expect("a preset").config)();
        config.mss = 1_000;
        let prepared = crate::SharedConfig::from(&config);
        let after = |segments: u64, pause_ns: u64, ssthresh: u64| {
            let mut sender = Sender::new(&config, SeqNr(0));
            sender.window.cwnd = 1_000 * segments;
            sender.window.ssthresh = 1_000 * ssthresh;
            let parameters = prepared.parameters();
            assert_eq!(sender.rto(parameters.max_rto).as_nanos(), S);
            sender.restart_after_idle(Time::from_nanos(pause_ns), &parameters);
            (sender.window.cwnd / 1_000, sender.window.ssthresh / 1_000)
        };
        const S: u64 = 1_000_000_000;
        assert_eq!(after(80, S, 7), (80, 7), "not longer than the RTO");
        assert_eq!([after(80, S + 1, 7), after(80, 2 * S, 7)], [(40, 60); 2]);
        assert_eq!([after(80, 2 * S + 1, 7), after(80, 3 * S, 99)], [(20, 60), (20, 99)]);
        assert_eq!([after(80, 3 * S + 1, 7), after(80, 500 * S, 7)], [(10, 60); 2]);
        assert_eq!([after(81, 2 * S, 7).0, after(15, 2 * S, 7).0], [40, 10]);
        assert_eq!(after(4, 2 * S, 7), (4, 7), "no pause raises the window");
    }
}
