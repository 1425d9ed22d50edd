//! Fast paths of a sender with the algorithms of Linux and CUBIC: acknowledgments in congestion
//! avoidance, and bursts that are still deferred.
//!
//! *Preconditions.* Those of `detailed.rs`, and [`Connection::sends_as_linux`].

use super::{Connection, Sender, Sending};
use crate::backoff::{self, Backoff};
use crate::congestion_control::{self, cubic};
use crate::connection::deferral::{KnownDeferral, Room, WINDOW_OF_LARGEST_BLOCKS};
use crate::connection::usage::FlightState;
use crate::loss_detection::{self, LossDetection};
use crate::rto::{self, Estimator};
use crate::scoreboard::RemovedInTimeOrder;
use crate::{Push, loss_cause};
use retx_units::{Duration, Time};

impl Sender {
    /// Smoothed RTT by Linux's estimator; `None` for another estimator, or before the first sample.
    #[inline(always)]
    fn srtt_of_linux(&self) -> Option<Duration> {
        match &self.estimator {
            rto::State::linux(estimator) => estimator.srtt(),
            _ => None,
        }
    }
}

impl Connection {
    /// True if the sender uses the algorithms of Linux, with CUBIC and without pacing.
    pub(super) fn sends_as_linux(&self) -> bool {
        let sender = &self.sender;
        let is_cubic = match &sender.congestion_control {
            congestion_control::State::cubic(cubic) => cubic.is_as_in_linux(),
            _ => false,
        };
        is_cubic
            && matches!(sender.estimator, rto::State::linux(_))
            && matches!(sender.loss_detection, loss_detection::State::rack(_))
            && matches!(sender.loss_cause, loss_cause::State::none(_))
            && self.samples_segments()
            && sender.validation.is_linux()
            && sender.pacer.is_none()
            && self.parameters.push == Push::HalfWindow
            && self.parameters.tso
            && sender.bursts.memory.is_some()
    }

    /// Evaluates an acknowledgment in congestion avoidance that only removes the first segments in
    /// flight, each sent once.
    #[inline(always)]
    pub(super) fn decide_as_linux(&mut self, now: Time, taken: &RemovedInTimeOrder) {
        let rtt = self.measured_rtt(now, taken.first_sent);
        let last_rtt = if taken.last_sent == taken.first_sent {
            rtt
        } else {
            self.measured_rtt(now, taken.last_sent)
        };
        self.apply_rtt_sample_inline(rtt);
        let sender = &mut self.sender;
        sender.backoff.on_ack(&backoff::Ack {
            advances: true,
            has_rtt_sample: true,
            loss_state_over: true,
        });
        let srtt = sender.srtt_of_linux();
        if let loss_detection::State::rack(rack) = &mut sender.loss_detection {
            rack.on_next_ack(&loss_detection::NextAck {
                now,
                srtt,
                least_rtt: sender.least_rtt,
                has_rtt_sample: true,
                sent: taken.last_sent,
                end: taken.end,
            });
        }
        if let congestion_control::State::cubic(cubic) = &mut sender.congestion_control {
            let smss = u64::from(sender.window.smss);
            let is_whole = taken.bytes == taken.segments * smss;
            let segments = if is_whole { taken.segments } else { taken.bytes.div_ceil(smss) };
            let cwnd_limited = sender.validation.allows_growth(&sender.window);
            let ack = cubic::NextAck { now, rtt: last_rtt, segments, cwnd_limited };
            cubic.on_next_ack(&mut sender.window, &ack);
            sender.clamp_cwnd();
        }
        self.restart_timers_as_linux(now, srtt);
        self.note_flight(self.sender.flight_size(), false);
    }

    /// True if no data can be sent, because the congestion window has no room for a segment, or
    /// because data are still deferred: the room is below the bound of [`Self::note_deferral`].
    #[inline(always)]
    pub(in crate::connection) fn still_defers(&mut self, now: Time) -> bool {
        self.fast_paths.sending == Sending::Detailed
            && !self.receiver.ack_now
            && self.waits_as_before(now)
    }

    #[inline(never)]
    fn waits_as_before(&mut self, now: Time) -> bool {
        let sender = &mut self.sender;
        let Some(bursts) = sender.bursts.allocated_mut() else { return false };
        let known = bursts.deferral;
        let pipe = sender.snd_nxt - sender.snd_una;
        let room = sender.window.cwnd.saturating_sub(pipe);
        if room >= known.room_below
            || sender.snd_nxt != known.position
            || sender.window.cwnd >= sender.snd_wnd
            || pipe == 0
            || bursts.burst.is_open(now)
        {
            return false;
        }
        if room < sender.window.smss.into() {
            return true;
        }
        let Some(srtt) = sender.srtt_of_linux().filter(|srtt| *srtt <= known.srtt) else {
            return false;
        };
        if !sender.is_acknowledged_soon(now, sender.last_sent, srtt) {
            return false;
        }
        let (snd_una, snd_max) = (sender.snd_una, sender.snd_max);
        sender.bursts.burst.end_segment();
        sender.validation.on_deferral(&FlightState { snd_una, snd_max, pipe });
        true
    }

    /// Determines up to which room in the congestion window data will be deferred once `sent` bytes
    /// have been sent, as long as the congestion window does not shrink.
    pub(in crate::connection) fn note_deferral(&mut self, room: &Room, sent: u64) {
        let sender = &self.sender;
        let srtt = sender.srtt_of_linux().unwrap_or(Duration::ZERO);
        // The size of blocks is final once half of the peer's largest window holds the largest.
        let applies =
            sender.bursts.takes_linux_paths && self.fast_paths.sending == Sending::Detailed;
        if !applies || sender.max_snd_wnd < WINDOW_OF_LARGEST_BLOCKS || srtt.is_zero() {
            return;
        }
        // The goal falls while the RTT grows; a growth by 1/16 is allowed for.
        let longest = srtt + srtt / 16;
        let (smss, cwnd) = (u64::from(sender.window.smss), sender.window.cwnd);
        let goal = self.least_tso_goal_bytes(longest);
        let position = sender.snd_nxt + sent;
        let rest = if sent < room.rest { room.rest - sent } else { self.rest_of_block(position) };
        let most = goal.min(rest).min(sender.written - position).min(cwnd / 3);
        self.sender.bursts.deferral =
            KnownDeferral { position, room_below: most / smss * smss, srtt: longest };
    }
}
