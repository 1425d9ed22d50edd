//! Trains: segments of a burst that follow the first one without further checks.
//!
//! *Preconditions.* Those of `detailed.rs` or `detailed_repair.rs`. The first segment of the burst
//! has been checked by the general rules, and [`Connection::open_train`] has determined how many
//! bytes may follow at the same instant: the windows permit them, they need no PSH before the end
//! of the burst, and neither a timed segment nor a timer changes. Events that may change this
//! close the train.

use super::{Connection, Sender, Sending};
use crate::congestion_control::Sent;
use crate::connection::PlainTransmit;
use crate::loss_cause::LossCause;
use crate::loss_detection::LossDetection;
use retx_units::Time;
use retx_wire::Flags;

impl Sender {
    /// Ends a train.
    #[inline(always)]
    pub(super) fn close_train(&mut self) {
        if let Some(bursts) = self.bursts.allocated_mut() {
            bursts.burst.open_train(0);
        }
    }

    /// New data that the windows permit, with `flight` bytes in flight.
    #[inline(always)]
    fn room_beyond<const LOSSES: bool>(&self, flight: u64) -> u64 {
        let pipe = if LOSSES { self.pipe_of(flight) } else { flight };
        self.window.cwnd.saturating_sub(pipe).min(self.snd_wnd.saturating_sub(flight))
    }
}

impl Connection {
    /// Determines how many bytes of the burst may follow the segment just sent. `LOSSES` is that
    /// of [`Self::send_next_in_detail`].
    #[inline(always)]
    pub(super) fn open_train<const LOSSES: bool>(&mut self, now: Time) {
        let sender = &mut self.sender;
        if !sender.bursts.burst.is_open(now) || sender.timed.is_none() {
            return;
        }
        let has_no_timers = if LOSSES {
            sender.loss_detection.in_recovery() && sender.board.lost_bytes() == 0
        } else {
            let stays = !self.timers.rare.probe_follows_ack && sender.board.segments() > 1;
            stays && sender.bursts.takes_linux_paths
        };
        let room = sender.room_beyond::<LOSSES>(sender.flight_size());
        let pushed = sender.bursts.pushed + sender.max_snd_wnd / 2;
        let queued = (sender.written - sender.snd_nxt).saturating_sub(1);
        let most = room.min(pushed.saturating_sub(sender.snd_nxt)).min(queued);
        sender.bursts.burst.open_train(if has_no_timers { most } else { 0 });
    }

    /// True if the next segment of a train is to be sent.
    #[inline(always)]
    pub(in crate::connection) fn has_train(&self, now: Time) -> bool {
        let sender = &self.sender;
        matches!(self.fast_paths.sending, Sending::Detailed | Sending::DetailedRepair)
            && sender.bursts.get().is_some_and(|it| it.burst.has_train(now, sender.window.smss))
    }

    /// Sends the next segment of a train.
    #[inline(always)]
    pub(in crate::connection) fn send_next_of_train(&mut self, now: Time) -> PlainTransmit {
        if self.fast_paths.sending == Sending::Detailed {
            self.send_of_train::<false>(now)
        } else {
            self.send_of_train::<true>(now)
        }
    }

    #[inline(always)]
    fn send_of_train<const LOSSES: bool>(&mut self, now: Time) -> PlainTransmit {
        let sender = &mut self.sender;
        let (position, length) = (sender.snd_nxt, sender.window.smss);
        let right = position + u64::from(length);
        let burst = &mut sender.bursts.burst;
        burst.take_from_train(length);
        let is_last = !burst.is_open(now);
        if LOSSES {
            sender.count_beyond_losses(length);
        }
        sender.board.push(now, position, length);
        (sender.snd_max, sender.snd_nxt) = (right, right);
        let flight = right - sender.snd_una;
        let pipe = if LOSSES { sender.pipe_of(flight) } else { flight };
        // Without losses CUBIC does not have to observe the segment: data sent earlier are in
        // flight.
        if LOSSES && self.fast_paths.observed {
            let retransmission = false;
            let sent = Sent { now, position, bytes: length, flight_size: flight, retransmission };
            sender.congestion_control.on_next_data(&sent);
            if self.fast_paths.loss_cause_observes {
                sender.loss_cause.on_sent(&sent);
            }
        }
        self.note_flight(pipe, true);
        self.pace_train(now, length);
        let may_send_more = !is_last
            || if LOSSES {
                !self.is_delayed_by_pacing(now)
            } else {
                let sender = &self.sender;
                let (room, queued) = (sender.room_beyond::<false>(flight), sender.written - right);
                room >= queued.min(length.into()) || !sender.waits_with(room, queued)
            };
        let flags = if is_last { Flags::ACK.with(Flags::PSH) } else { Flags::ACK };
        PlainTransmit { may_send_more, ..self.plain_in_detail(now, position, (length, flags)) }
    }
}
