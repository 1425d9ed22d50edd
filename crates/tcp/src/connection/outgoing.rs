//! Segments that a connection sends.

use super::fast_path::{Receiving, Sending, Short};
use super::{Connection, State};
use crate::RttSamples;
use crate::congestion_control::{CongestionControl, Sent};
use crate::loss_cause::LossCause;
use retx_units::Time;
use retx_wire::{Ecn, PlainSegment, Segment};

/// Segment to send, and its range of the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transmit {
    /// TCP segment.
    pub segment: Segment,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Position of its first sequence number: SYN 0, first byte of data 1.
    pub position: u64,
    /// True if it contains sequence space sent before.
    pub retransmission: bool,
}

/// Segment without ECN, and without options but timestamps, none of whose sequence space was sent
/// before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainTransmit {
    /// TCP segment.
    pub segment: PlainSegment,
    /// Position of its first sequence number.
    pub position: u64,
    /// False if there is known to be nothing more to send now; polling again confirms it.
    pub more: bool,
}

impl PlainTransmit {
    /// Converts to a general segment to send.
    pub fn transmit(&self) -> Transmit {
        Transmit {
            segment: self.segment.segment(),
            ecn: Ecn::NotEct,
            position: self.position,
            retransmission: false,
        }
    }
}

impl Transmit {
    /// Writes the fields of a plain segment, and leaves the others unchanged.
    pub(super) const fn put_plain(&mut self, plain: &PlainTransmit) {
        let PlainSegment { seq, ack, window, flags, payload_bytes, timestamps } = plain.segment;
        let segment = &mut self.segment;
        segment.options.timestamps = timestamps;
        (segment.seq, segment.ack, segment.window) = (seq, ack, window);
        (segment.flags, segment.payload_bytes) = (flags, payload_bytes);
        self.position = plain.position;
    }

    /// Fields of a plain segment.
    #[inline]
    pub(super) const fn plain(&self) -> PlainTransmit {
        let segment = self.segment.plain();
        PlainTransmit { segment, position: self.position, more: true }
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

/// Result of polling and its location: one word, which fits into a register.
enum Outcome {
    Nothing,
    /// The fields of a plain segment have been written.
    Plain,
    Written,
}

impl Connection {
    /// Informs the congestion control, the loss cause and the RTT sampling of a transmission.
    pub(super) fn tell_sent(&mut self, sent: &Sent) {
        let sender = &mut self.sender;
        sender.congestion_control.on_sent(sent);
        if self.parameters.rtt_samples == RttSamples::EveryAck && !sender.selective {
            sender.send_times.on_sent(sent);
        }
        sender.loss_cause.on_sent(sent);
    }

    /// Next segment to send now, or `None`. Polling more often changes nothing.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut transmit = Transmit::default();
        match self.poll_transmit_into(now, &mut transmit) {
            Polled::Nothing => None,
            Polled::Plain(plain) => Some(plain.transmit()),
            Polled::Written => Some(transmit),
        }
    }

    /// Like [`Self::poll_transmit`], with a buffer for all but plain segments, whose few fields are
    /// returned by value at less cost.
    #[inline(always)]
    pub fn poll_transmit_into(&mut self, now: Time, to: &mut Transmit) -> Polled {
        if self.course.sending == Sending::Plain {
            match self.send_at_once(now) {
                Short::Sent(plain) => return Polled::Plain(plain),
                Short::Nothing => return Polled::Nothing,
                Short::Written | Short::Unknown => {}
            }
        }
        if self.course.sending == Sending::Detailed {
            match self.send_detailed(now) {
                Short::Sent(plain) => return Polled::Plain(plain),
                Short::Nothing => return Polled::Nothing,
                Short::Written | Short::Unknown => {}
            }
        }
        if self.course.receiving == Receiving::BeyondGap && self.has_answered() {
            return Polled::Nothing;
        }
        match self.transmit_general(now, to) {
            Outcome::Nothing => Polled::Nothing,
            Outcome::Plain => Polled::Plain(to.plain()),
            Outcome::Written => Polled::Written,
        }
    }

    #[inline(never)]
    fn transmit_general(&mut self, now: Time, to: &mut Transmit) -> Outcome {
        match self.send_at_once_general(now, to) {
            Short::Sent(plain) => {
                to.put_plain(&plain);
                return Outcome::Plain;
            }
            Short::Written => return Outcome::Written,
            Short::Nothing => return Outcome::Nothing,
            Short::Unknown => {}
        }
        let is_silent = self.reply.is_none() && !self.receiver.ack_now;
        // The usual case at the end that receives the data.
        if is_silent && self.state == State::Established && self.sender.is_at_rest() {
            return Outcome::Nothing;
        }
        let sent = self.next_transmit(now, to);
        self.recompute_fast_paths();
        if sent { Outcome::Written } else { Outcome::Nothing }
    }
}
