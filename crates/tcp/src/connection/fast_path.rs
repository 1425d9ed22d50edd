//! Fast paths for the most frequent cases: arrival of the next data, their acknowledgment, and
//! transmission of a full segment.
//!
//! *Reference.* Header prediction: Jacobson, "4BSD header prediction", 1990; Linux
//! `tcp_rcv_established`.
//!
//! *Preconditions.* [`Connection::recompute_fast_paths`] checks them after an event that no fast
//! path handles, and notes the result in a [`FastPaths`]. A fast path preserves them, so that they
//! need not be checked again:
//! - the connection is established, has no reset to send, uses neither timestamps nor ECN, and does
//!   not pace its segments, model the path or send in bursts (with timestamps and the other details
//!   of Linux, but not ECN, the paths of `detailed` are open instead);
//! - to send: everything up to SND.NXT was sent only once, nothing is known to have arrived out of
//!   order or to be lost, and no duplicate ACK is being counted. No recovery, probe or FIN is under
//!   way, no option is to be sent, and loss detection ignores an acknowledgment of new data
//!   ([`LossDetection::ignores_new_data_ack`]);
//! - to receive: no data are stored beyond a gap, there is no FIN, and segments are simply counted
//!   ([`super::receive::Receiver::only_counts_segments`]);
//! - with a gap (`beyond_gap`, `detailed_data`): as to receive, but with data beyond a gap;
//! - in a recovery (`repair`, `detailed_repair`): the sender only waits for acknowledgments;
//! - within a burst (`trains`), and with Linux's algorithms (`as_linux`, `deadlines`): as their
//!   documentation states.
//!
//! *Why it is exact.* A fast path calls the functions of the general path in the same order, except
//! those without an effect, and leaves all cases that it cannot recognize to the general path. A
//! test sends random connections along both paths and compares their states.

mod as_linux;
mod beyond_gap;
mod deadlines;
mod detailed;
mod detailed_data;
mod detailed_repair;
mod repair;
mod selection;
mod trains;

use detailed_data::for_detailed_path;
pub(super) use selection::{FastPaths, Receiving, Sending};
pub use trains::Train;

use super::outgoing::Outcome;
use super::repair::Repair;
use super::sender::Timed;
use super::usage::FlightState;
use super::{Connection, PlainTransmit, Sender, Transmit};
use crate::backoff::{self, Backoff};
use crate::congestion_control::{Ack, CongestionControl, Sent};
use crate::loss_cause::LossCause;
use crate::loss_detection::LossDetection;
use crate::rto::Estimator;
use crate::scoreboard::Scoreboard;
use crate::spurious::Detector;
use retx_units::{SeqNr, Time};
use retx_wire::{Flags, PlainSegment, Timestamps};

/// Result of the fast path for sending.
pub(super) enum FastPathResult {
    /// Segment to be sent.
    Sent(PlainTransmit),
    /// Nothing to send.
    Nothing,
    /// Not decided: use the general path.
    Unknown,
}

impl Sender {
    /// Records the transmission of a new segment on the scoreboard.
    #[inline(always)]
    pub fn push_to_scoreboard(&mut self, now: Time, position: u64, length: u32) {
        let board = &mut *self.board;
        board.without_times = self.without_times;
        board.as_linux = self.counts_as_linux;
        board.push(now, position, length);
    }

    /// True if `room` is left unused, to avoid a silly window: it is less than a segment, than the
    /// data queued, and than half of the peer's window. The acknowledgment of data in flight will
    /// open more room.
    #[inline(always)]
    fn waits_with(&self, room: u64, queued: u64) -> bool {
        room < queued.min(self.window.smss.into()) && room < self.max_snd_wnd / 2
    }

    /// True if everything up to SND.NXT was sent only once, nothing indicates a loss, and loss
    /// detection ignores acknowledgments of new data.
    fn is_calm(&self) -> bool {
        self.has_no_trouble() && self.loss_detection.ignores_new_data_ack()
    }

    /// True if everything up to SND.NXT was sent only once, and nothing indicates a loss.
    fn has_no_trouble(&self) -> bool {
        let counts = self.limited_bytes
            | self.timeout_recovery_end
            | u64::from(
                self.dupacks | self.limited_credit | self.overdue_checks | self.frto_segments,
            )
            | u64::from(self.consecutive_timeouts | self.probes_in_row);
        let asked = self.retransmit_first
            | self.tail_probe_due
            | self.zero_window_probe_due
            | self.fin_queued;
        // While a recovery may turn out to be spurious, acknowledgments are still examined, so that
        // the recovery can be undone.
        let has_nothing_to_undo =
            |repair: &Repair| repair.undo.is_none() || self.spurious.ignores_new_data_ack();
        let is_repaired = |repair: &Repair| {
            repair.reduction.is_none() && !repair.defers_marking && has_nothing_to_undo(repair)
        };
        counts == 0
            && !asked
            && self.snd_nxt == self.snd_max
            && self.repair.get().is_none_or(is_repaired)
            && self.board.get().is_none_or(Scoreboard::is_in_order)
    }
}

impl Connection {
    /// Implementation of [`Self::handle_plain`].
    #[inline(always)]
    pub(super) fn handle_fast(
        &mut self,
        now: Time,
        segment: PlainSegment,
        timestamps: Option<Timestamps>,
    ) -> bool {
        // Besides ACK, an ordinary segment has at most PSH set, which the plain paths ignore.
        let flags = segment.flags.0 & !Flags::PSH.0;
        if flags != Flags::ACK.0 {
            return false;
        }
        // The segment is not the next in order: it lies beyond a gap, or needs the general path.
        if segment.seq != self.rcv_nxt_seq() {
            return self.handle_out_of_order(now, segment, timestamps);
        }
        if segment.payload_bytes > 0 {
            return match self.fast_paths.receiving {
                Receiving::Next => self.take_next_data(now, segment),
                Receiving::Detailed => {
                    self.handle_detailed_data(now, for_detailed_path(segment), timestamps)
                }
                Receiving::DetailedGap => {
                    self.handle_data_with_gap(now, for_detailed_path(segment), timestamps)
                }
                Receiving::General | Receiving::BeyondGap => false,
            };
        }
        let (ack, window) = (segment.ack, segment.window);
        match self.fast_paths.sending {
            Sending::Plain => self.take_next_ack(now, ack, window),
            Sending::Detailed => {
                self.handle_detailed_ack(now, for_detailed_path(segment), timestamps)
            }
            Sending::Repair => self.handle_plain_dupack(ack, window),
            Sending::General | Sending::DetailedRepair => false,
        }
    }

    /// Handles the next data in order that arrive at an end with nothing in flight.
    #[inline(always)]
    fn take_next_data(&mut self, now: Time, segment: PlainSegment) -> bool {
        let (sender, receiver) = (&self.sender, &self.receiver);
        let right = receiver.rcv_nxt + u64::from(segment.payload_bytes);
        // An end that also has data in flight would have to process the acknowledgment as well.
        let idle = sender.snd_una == sender.snd_max && segment.ack == self.seq_at(sender.snd_una);
        if right > receiver.right_edge || !idle {
            return false;
        }
        let window = self.scaled_window(segment.window);
        self.update_window(self.receiver.rcv_nxt, self.sender.snd_una, window);
        self.receiver.rcv_nxt = right;
        let verdict = self.receiver.pending.count_simple(&self.parameters.delayed_ack);
        self.schedule_ack(now, verdict);
        true
    }

    /// Handles an acknowledgment of new data. Returns false if it acknowledges none, or data never
    /// sent.
    #[inline(never)]
    fn take_next_ack(&mut self, now: Time, number: SeqNr, window: u16) -> bool {
        let sender = &self.sender;
        let flight_before = sender.flight_size();
        let next = self.seq_at(sender.snd_una);
        // The difference is modulo 2^32: an old acknowledgment becomes a large number, which
        // exceeds the data in flight.
        let bytes_acked = u64::from(number.0.wrapping_sub(next.0));
        // A duplicate ACK, or one of data that were never sent (RFC 9293 §3.10.7.4): neither
        // advances `SND.UNA`.
        if bytes_acked == 0 || bytes_acked > flight_before {
            return false;
        }
        let ack = sender.snd_una + bytes_acked;
        let window = self.scaled_window(window);
        self.update_window(self.receiver.rcv_nxt, ack, window);
        let sender = &mut self.sender;
        sender.snd_una = ack;
        sender.last_una = ack;
        let taken = sender.selective.then(|| sender.board.acknowledge_in_order(ack));
        let rtt = self.rtt_in_order(now, ack, taken.as_ref());
        if let Some(rtt) = rtt {
            self.apply_rtt_sample(rtt);
        }
        let sender = &mut self.sender;
        sender.backoff.on_ack(&backoff::Ack {
            advances: true,
            has_rtt_sample: rtt.is_some(),
            loss_state_over: true,
        });
        let delivered = match &taken {
            Some(taken) => taken.bytes,
            None => sender.delivered_data(bytes_acked, None),
        };
        let mut ack = Ack {
            now,
            bytes_acked,
            delivered,
            flight_size: flight_before,
            rtt,
            srtt: sender.estimator.srtt(),
            snd_una: ack,
            snd_nxt: sender.snd_nxt,
            cwnd_limited: false,
            in_recovery: false,
            receiver_time: None,
        };
        sender.validation.on_ack(&ack);
        ack.cwnd_limited = sender.validation.allows_growth(&sender.window);
        if self.fast_paths.observed {
            sender.congestion_control.observe(&ack, sender.window.smss);
            sender.loss_cause.on_ack(&ack, &sender.window);
        }
        sender.grow_cwnd(&ack);
        self.restart_retransmit_timer(now);
        self.sender.validation.end_ack();
        self.note_flight(self.sender.flight_size(), false);
        true
    }

    /// Records the use of the congestion window.
    #[inline(always)]
    fn note_flight(&mut self, pipe: u64, sent: bool) {
        let sender = &mut self.sender;
        let flight_state = FlightState { snd_una: sender.snd_una, snd_max: sender.snd_max, pipe };
        sender.validation.on_flight(&flight_state, &sender.window, sent);
    }

    /// Reads received data for the application.
    #[inline]
    pub(super) fn read_fast(&mut self, bytes: u64) -> u64 {
        let receiver = &mut self.receiver;
        let read = receiver.read_counted(bytes);
        if read > 0 && receiver.may_double_window(&self.parameters) {
            receiver.schedule_window_update(&self.parameters);
        }
        read
    }

    /// Next deadline; `None` unless the fast path `Plain` or `Repair` is open: only then is it
    /// certain that no rare timer runs.
    #[inline]
    pub(super) const fn next_usual_timer(&self) -> Option<Time> {
        let bare = matches!(self.fast_paths.sending, Sending::Plain | Sending::Repair);
        if bare { Some(self.timers.next_usual_deadline()) } else { None }
    }

    /// Sends a full segment if the windows allow it, otherwise an acknowledgment if one is due.
    #[inline(always)]
    pub(super) fn send_fast(&mut self, now: Time) -> FastPathResult {
        let sender = &self.sender;
        let queued = sender.written - sender.snd_nxt;
        if queued == 0 {
            return self.acknowledge_fast(now);
        }
        let smss = u64::from(sender.window.smss);
        let flight = sender.flight_size();
        let room = sender.window.cwnd.min(sender.snd_wnd).saturating_sub(flight);
        // A full segment is never held back by Nagle's algorithm, and after a short pause the
        // window is not reduced.
        if queued.min(room) >= smss && (flight > 0 || self.goes_on_after_pause(now)) {
            let may_send_more =
                self.fast_paths.observed || !sender.waits_with(room - smss, queued - smss);
            return FastPathResult::Sent(PlainTransmit {
                may_send_more,
                ..self.send_next_segment(now)
            });
        }
        // A segment shorter than SMSS is a case for the sender's silly window avoidance (RFC 9293
        // §3.8.6.2.1). While the retransmission timer is off, a probe may be due. Both cases are
        // decided by the general path.
        if !sender.waits_with(room, queued) || self.timers.retransmit == Time::NEVER {
            return FastPathResult::Unknown;
        }
        self.acknowledge_fast(now)
    }

    /// True if, with nothing in flight, the pause was too short to reduce the congestion window.
    #[cold]
    #[inline(never)]
    fn goes_on_after_pause(&self, now: Time) -> bool {
        !self.parameters.slow_start_after_idle || now.since(self.sender.last_sent) <= self.rto()
    }

    /// Like [`Self::send_fast`], for a receiver with a gap in its data or a sender in a recovery.
    /// The result is `None` if the general path has to decide.
    #[inline]
    pub(super) fn send_fast_general(&mut self, now: Time, to: &mut Transmit) -> Option<Outcome> {
        if matches!(self.fast_paths.receiving, Receiving::BeyondGap | Receiving::DetailedGap) {
            return self.acknowledge_gap_fast(now, to);
        }
        if self.fast_paths.sending != Sending::Repair {
            return None;
        }
        self.send_in_repair(now, to)
    }

    #[inline]
    fn acknowledge_fast(&mut self, now: Time) -> FastPathResult {
        if !self.receiver.ack_now {
            return FastPathResult::Nothing;
        }
        FastPathResult::Sent(PlainTransmit {
            may_send_more: false,
            ..self.write_down(now, self.sender.ack_position(), 0)
        })
    }

    /// Sends a full segment of new data.
    #[inline(always)]
    fn send_next_segment(&mut self, now: Time) -> PlainTransmit {
        let sender = &mut self.sender;
        let position = sender.snd_nxt;
        let length = sender.window.smss;
        if sender.selective {
            sender.push_to_scoreboard(now, position, length);
        }
        let right = position + u64::from(length);
        sender.snd_nxt = right;
        sender.snd_max = right;
        sender.last_sent = now;
        if sender.timed.is_none() {
            sender.timed = Timed::new(right, now);
        }
        if self.fast_paths.observed {
            let flight_size = right - sender.snd_una;
            let retransmission = false;
            self.notify_sent(&Sent { now, position, bytes: length, flight_size, retransmission });
        }
        let flight = self.sender.flight_size();
        // Without loss or reordering, all data in flight count in the pipe.
        let pipe = if self.fast_paths.sending == Sending::Plain {
            flight
        } else {
            self.sender.pipe_of(flight)
        };
        self.note_flight(pipe, true);
        if self.timers.retransmit == Time::NEVER {
            self.start_retransmit_timer(now);
        }
        self.write_down(now, position, length)
    }

    /// Starts the retransmission timer, if nothing was in flight before.
    #[inline(never)]
    fn start_retransmit_timer(&mut self, now: Time) {
        self.timers.retransmit = self.deadline(now, self.rto());
    }

    /// Builds a segment without options, with the usual control bits.
    #[inline(always)]
    fn write_down(&mut self, now: Time, position: u64, length: u32) -> PlainTransmit {
        // The last segment that the application has written carries PSH (RFC 9293 §3.9.1.2).
        let is_last = length > 0 && position + u64::from(length) == self.sender.written;
        let receiver = &self.receiver;
        // If nothing has changed since the last segment, window and edge are those of that segment.
        let again =
            !receiver.ack_now && receiver.pending.is_idle() && receiver.has_advertised_window();
        let (window, edge) = if again {
            (receiver.advertised_field, None)
        } else {
            let (field, edge) = self.cached_window_field();
            (field, Some(edge))
        };
        let segment = PlainSegment {
            seq: self.seq_at(position),
            ack: self.rcv_nxt_seq(),
            window,
            flags: if is_last { Flags::ACK.with(Flags::PSH) } else { Flags::ACK },
            payload_bytes: length,
        };
        if let Some(edge) = edge {
            self.receiver.pending.on_ack_sent(now, length > 0);
            self.receiver.on_ack_sent(&mut self.timers, edge);
        }
        PlainTransmit { segment, position, may_send_more: true, begins_train: false }
    }
}

#[cfg(test)]
mod tests;
