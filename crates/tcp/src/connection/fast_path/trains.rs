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
use retx_wire::{Flags, PlainSegment};

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

    /// Train that continues now. Its segments are sent one after another, all or the first of
    /// them, and then recorded by [`Self::end_train`]. `None` if there is no train, or if its
    /// segments have to advertise another window than the last one.
    #[inline(always)]
    pub fn begin_train(&self, now: Time) -> Option<Train> {
        let (sender, receiver) = (&self.sender, &self.receiver);
        // If nothing has arrived or been read since the segment before the train, which was sent at
        // this instant, sending its window again has no effect on the receiver.
        let repeats_window = receiver.rcv_wscale > 0 && receiver.has_advertised_window();
        if receiver.ack_now || !repeats_window || !self.has_train(now) {
            return None;
        }
        let (position, payload_bytes) = (sender.snd_nxt, sender.window.smss);
        let (left, ends_burst) = sender.bursts.burst.segments_of_train(payload_bytes);
        let (seq, ack) = (self.seq_at(position), self.rcv_nxt_seq());
        let (window, flags) = (receiver.advertised_field, Flags::ACK);
        let segment = PlainSegment { seq, ack, window, flags, payload_bytes };
        Some(Train { segment, position, left, ends_burst })
    }

    /// Records the segments of a train that have been sent, all at this instant. Returns false if
    /// nothing more can be sent now.
    #[inline(never)]
    pub fn end_train(&mut self, now: Time, train: &Train) -> bool {
        if self.fast_paths.sending == Sending::Detailed {
            self.record_train::<false>(now, train.position)
        } else {
            self.record_train::<true>(now, train.position)
        }
    }

    /// Records new data up to `end`.
    #[inline(always)]
    fn record_train<const LOSSES: bool>(&mut self, now: Time, end: u64) -> bool {
        let length = self.sender.window.smss;
        let sender = &mut self.sender;
        let first = sender.snd_nxt;
        sender.bursts.burst.take_from_train(end - first);
        if LOSSES {
            sender.count_beyond_losses(end - first);
            while self.sender.snd_nxt < end {
                self.record_next_beyond_losses(now, length);
            }
        } else {
            // CUBIC does not have to observe the segments, since data sent earlier are in flight,
            // and the sender does not pace.
            (sender.snd_max, sender.snd_nxt) = (end, end);
            let board = &mut *sender.board;
            let mut position = first;
            while position < end {
                board.push(now, position, length);
                position += u64::from(length);
            }
        }
        let sender = &self.sender;
        let flight = sender.flight_size();
        let pipe = if LOSSES { sender.pipe_of(flight) } else { flight };
        let is_last = !sender.bursts.burst.is_open(now);
        // The use of the window grows with each segment, so that of the last one suffices.
        self.note_flight(pipe, true);
        if !is_last {
            return true;
        }
        if LOSSES {
            return !self.is_delayed_by_pacing(now);
        }
        let sender = &self.sender;
        let (room, queued) = (sender.room_beyond::<false>(flight), sender.written - end);
        room >= queued.min(length.into()) || !sender.waits_with(room, queued)
    }

    /// Records the next segment, while segments in flight are lost or selectively acknowledged.
    #[inline(always)]
    fn record_next_beyond_losses(&mut self, now: Time, bytes: u32) {
        let sender = &mut self.sender;
        let position = sender.snd_nxt;
        let right = position + u64::from(bytes);
        sender.board.push(now, position, bytes);
        (sender.snd_max, sender.snd_nxt) = (right, right);
        if self.fast_paths.observed {
            let flight_size = sender.flight_size();
            let sent = Sent { now, position, bytes, flight_size, retransmission: false };
            sender.congestion_control.on_next_data(&sent);
            if self.fast_paths.loss_cause_observes {
                sender.loss_cause.on_sent(&sent);
            }
        }
        self.pace_train(now, bytes);
    }
}

/// Segments of a train that have not been sent yet. They differ in their positions only, and the
/// last one of a burst carries PSH.
#[derive(Debug, Clone, Copy)]
pub struct Train {
    segment: PlainSegment,
    position: u64,
    /// Number of segments.
    left: u64,
    /// True if the train ends the burst.
    ends_burst: bool,
}

impl Iterator for Train {
    type Item = PlainTransmit;

    #[inline(always)]
    fn next(&mut self) -> Option<PlainTransmit> {
        self.left = self.left.checked_sub(1)?;
        let (mut segment, position) = (self.segment, self.position);
        let length = segment.payload_bytes;
        self.segment.seq = segment.seq.add(length);
        self.position += u64::from(length);
        if self.ends_burst && self.left == 0 {
            segment.flags = Flags::ACK.with(Flags::PSH);
        }
        Some(PlainTransmit { segment, position, may_send_more: true, begins_train: false })
    }
}
