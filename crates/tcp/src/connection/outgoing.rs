//! Segments that a connection sends.

use super::fast_path::{FastPathResult, Receiving, Sending};
use super::{Connection, State};
use crate::RttSamples;
use crate::congestion_control::{CongestionControl, Sent};
use crate::loss_cause::LossCause;
use retx_units::Time;
use retx_wire::{Ecn, Flags, PlainSegment, Segment, Timestamps};

/// Segment to send, and its range of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transmit {
    /// TCP segment.
    pub segment: Segment,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Position of the segment's first sequence number: SYN 0, first byte of data 1.
    pub position: u64,
    /// True if the segment contains sequence space sent before.
    pub retransmission: bool,
}

/// Segment sent for the first time, without ECN and with no options except timestamps
/// ([`Connection::timestamps_at`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainTransmit {
    /// TCP segment.
    pub segment: PlainSegment,
    /// Position of the segment's first sequence number.
    pub position: u64,
    /// False if nothing more can be sent now; polling again would return nothing.
    pub may_send_more: bool,
    /// True if [`Connection::poll_train`] returns the next segment.
    pub begins_train: bool,
}

impl PlainTransmit {
    /// Converts to a general segment to send, with the timestamps of [`Connection::timestamps_at`].
    pub fn transmit(&self, timestamps: Option<Timestamps>) -> Transmit {
        Transmit {
            segment: self.segment.segment(timestamps),
            ecn: Ecn::NotEct,
            position: self.position,
            retransmission: false,
        }
    }
}

impl Transmit {
    /// Writes the fields of a plain segment, and leaves the others unchanged.
    pub(super) const fn write_plain(&mut self, plain: &PlainTransmit) {
        let PlainSegment { seq, ack, window, flags, payload_bytes } = plain.segment;
        let segment = &mut self.segment;
        (segment.seq, segment.ack, segment.window) = (seq, ack, window);
        (segment.flags, segment.payload_bytes) = (flags, payload_bytes);
        self.position = plain.position;
    }

    /// True if this is a plain segment, unless it replies to an unacceptable one. Only a SYN has
    /// options other than timestamps and SACK blocks.
    fn is_plain(&self) -> bool {
        let segment = &self.segment;
        segment.flags.0 & !Flags::PSH.0 == Flags::ACK.0
            && !self.retransmission
            && self.ecn == Ecn::NotEct
            && segment.options.sack.is_empty()
    }

    /// Fields of a plain segment.
    #[inline]
    pub(super) const fn plain(&self, may_send_more: bool) -> PlainTransmit {
        let segment = self.segment.plain();
        PlainTransmit { segment, position: self.position, may_send_more, begins_train: false }
    }
}

/// Result of polling for a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// Nothing to send now.
    Nothing,
    /// Plain segment, returned by value.
    Plain(PlainTransmit),
    /// Segment, written to the caller's buffer.
    Written,
}

/// Like [`Polled`], but a plain segment is in the caller's buffer, too. A value of this type is
/// therefore one word, and fits into a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing to send now.
    Nothing,
    /// The fields of a plain segment have been written.
    Plain,
    /// The fields of a plain segment have been written, and there is nothing more to send.
    LastPlain,
    /// The fields of a plain segment have been written, and a train follows.
    PlainBeforeTrain,
    /// Another segment has been written.
    Written,
}

impl Outcome {
    /// Outcome of writing the fields of a plain segment.
    #[inline(always)]
    pub const fn plain(may_send_more: bool) -> Self {
        if may_send_more { Self::Plain } else { Self::LastPlain }
    }
}

impl Connection {
    /// Informs the congestion control, the loss cause and the RTT sampling of a transmission.
    pub(super) fn notify_sent(&mut self, sent: &Sent) {
        let sender = &mut self.sender;
        sender.congestion_control.on_sent(sent);
        if self.parameters.rtt_samples == RttSamples::EveryAck && !sender.selective {
            sender.send_times.on_sent(sent);
        }
        sender.loss_cause.on_sent(sent);
    }

    /// Next segment to send now, or `None`. After `None`, polling again without an event in between
    /// changes nothing.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut transmit = Transmit::default();
        match self.poll_transmit_into(now, &mut transmit) {
            Polled::Nothing => None,
            Polled::Plain(plain) => Some(plain.transmit(self.timestamps_at(now))),
            Polled::Written => Some(transmit),
        }
    }

    /// Like [`Self::poll_transmit`], with a buffer for all but plain segments, whose few fields are
    /// returned by value at less cost.
    #[inline(always)]
    pub fn poll_transmit_into(&mut self, now: Time, to: &mut Transmit) -> Polled {
        if self.fast_paths.sending == Sending::Plain {
            match self.send_fast(now) {
                FastPathResult::Sent(plain) => return Polled::Plain(plain),
                FastPathResult::Nothing => return Polled::Nothing,
                FastPathResult::Unknown => {}
            }
        }
        // This is the usual case at the end that receives the data.
        let receives = !matches!(self.fast_paths.receiving, Receiving::General | Receiving::Next);
        if receives && (self.has_nothing_to_send() || self.still_defers(now)) {
            return Polled::Nothing;
        }
        match self.transmit_general(now, to) {
            Outcome::Nothing => Polled::Nothing,
            Outcome::Plain => Polled::Plain(to.plain(true)),
            Outcome::LastPlain => Polled::Plain(to.plain(false)),
            Outcome::PlainBeforeTrain => {
                Polled::Plain(PlainTransmit { begins_train: true, ..to.plain(true) })
            }
            Outcome::Written => Polled::Written,
        }
    }

    /// Next segment of a train: the one that [`Self::poll_transmit_into`] would return. `None` if
    /// there is no train; there may nevertheless be a segment to send.
    #[inline(always)]
    pub fn poll_train(&mut self, now: Time) -> Option<PlainTransmit> {
        let mut train = self.begin_train(now)?;
        let plain = train.next()?;
        Some(PlainTransmit { may_send_more: self.end_train(now, &train), ..plain })
    }

    /// Outcome of polling on a detailed path, if this path decides without the checks of a new
    /// burst.
    #[inline(always)]
    fn poll_in_detail(&mut self, now: Time, to: &mut Transmit) -> Option<Outcome> {
        if self.receiver.ack_now {
            // An end that only acknowledges has nothing else to check.
            let idles = self.fast_paths.sending == Sending::Detailed && self.sender.is_quiescent();
            return idles.then(|| self.acknowledge_in_detail(now, to));
        }
        if let Some(plain) = self.poll_train(now) {
            to.write_plain(&plain);
            return Some(Outcome::plain(plain.may_send_more));
        }
        self.only_waits_for_gate(now).then_some(Outcome::Nothing)
    }

    // Not inlined, so that a plain segment of the usual case is returned in registers.
    #[inline(never)]
    fn transmit_general(&mut self, now: Time, to: &mut Transmit) -> Outcome {
        if matches!(self.fast_paths.sending, Sending::Detailed | Sending::DetailedRepair)
            && let Some(outcome) = self.poll_in_detail(now, to)
        {
            return outcome;
        }
        let outcome = match self.fast_paths.sending {
            Sending::Detailed => self.send_detailed(now, to),
            Sending::DetailedRepair => self.send_beyond_losses(now, to),
            Sending::General | Sending::Repair | Sending::Plain => self.send_fast_general(now, to),
        };
        if let Some(outcome) = outcome {
            return outcome;
        }
        let is_silent = self.reply.is_none() && !self.receiver.ack_now;
        // This is the usual case at the end that receives the data.
        if is_silent && self.state == State::Established && self.sender.is_quiescent() {
            return Outcome::Nothing;
        }
        let (replies, acknowledges) = (self.reply.is_some(), self.receiver.ack_now);
        let sent = self.next_transmit(now, to);
        // While no fast path to send is open, the choice of paths is recomputed only at the next
        // arrival or timeout, not after each transmission, with two exceptions. A path to receive
        // may have been closed by a FIN; and data in order, which never recompute the choice, may
        // have been waiting for this acknowledgment.
        let receiving = self.fast_paths.receiving;
        let is_in_order = receiving != Receiving::General && receiving != Receiving::DetailedGap;
        let sending = self.fast_paths.sending;
        if !matches!(sending, Sending::General | Sending::DetailedRepair)
            || self.fast_paths.is_open() && self.state != State::Established
            || is_in_order && acknowledges
        {
            self.recompute_fast_paths();
        }
        // The caller handles a plain segment at less cost.
        let is_plain = self.parameters.use_fast_paths && !replies && to.is_plain();
        match sent {
            true if is_plain => Outcome::Plain,
            true => Outcome::Written,
            false => Outcome::Nothing,
        }
    }
}
