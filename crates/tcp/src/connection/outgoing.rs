//! What a connection has to send.

use super::fast_path::Short;
use super::{Connection, State};
use crate::RttSamples;
use crate::congestion_control::{CongestionControl, Sent};
use crate::loss_cause::LossCause;
use retx_units::Time;
use retx_wire::{Ecn, PlainSegment, Segment};

/// A segment to send, and what it carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// The ECN field of the IP header that it goes with.
    pub ecn: Ecn,
    /// Position of its first sequence number: SYN 0, first byte of data 1.
    pub position: u64,
    /// True when some of its sequence space has been sent before.
    pub retransmission: bool,
}

/// A segment to send of which none of the sequence space was sent before, that carries no options,
/// and goes without ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainTransmit {
    /// The segment.
    pub segment: PlainSegment,
    /// Position of its first sequence number.
    pub position: u64,
    /// False when it is known that there is nothing more to send now: who asks all the same is told
    /// so.
    pub more: bool,
}

impl PlainTransmit {
    /// The same as any segment to send.
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
    /// Writes down what a plain segment says, and leaves the rest as it was.
    pub(super) const fn put_plain(&mut self, plain: &PlainTransmit) {
        let PlainSegment { seq, ack, window, flags, payload_bytes } = plain.segment;
        let segment = &mut self.segment;
        (segment.seq, segment.ack, segment.window) = (seq, ack, window);
        (segment.flags, segment.payload_bytes) = (flags, payload_bytes);
        self.position = plain.position;
    }

    /// What it says as a plain segment.
    #[inline]
    pub(super) const fn plain(&self) -> PlainTransmit {
        let segment = self.segment.without_options();
        PlainTransmit { segment, position: self.position, more: true }
    }
}

/// What there is to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polled {
    /// Nothing now.
    Nothing,
    /// A plain segment, which is not written down.
    Plain(PlainTransmit),
    /// A segment, which is written where the caller said.
    Written,
}

/// What there is to send, with where it is written: one word, which passes in a register.
enum Otherwise {
    Nothing,
    /// Of the segment what a plain one says.
    Plain,
    Written,
}

impl Connection {
    /// Tells the congestion control, the loss cause and the RTT samples of a transmission.
    pub(super) fn tell_sent(&mut self, sent: &Sent) {
        let sender = &mut self.sender;
        sender.congestion_control.on_sent(sent);
        if self.parameters.rtt_samples == RttSamples::EveryAck && !sender.selective {
            sender.send_times.on_sent(sent);
        }
        sender.loss_cause.on_sent(sent);
    }

    /// The next segment to send now, until `None`. Polling more often changes nothing.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        let mut transmit = Transmit::default();
        match self.poll_transmit_into(now, &mut transmit) {
            Polled::Nothing => None,
            Polled::Plain(plain) => Some(plain.transmit()),
            Polled::Written => Some(transmit),
        }
    }

    /// The same for who has a place for it, where all but plain segments are written: those are
    /// told by their few values, which cost less to pass on.
    #[inline(always)]
    pub fn poll_transmit_into(&mut self, now: Time, to: &mut Transmit) -> Polled {
        if self.course.sends {
            match self.send_at_once(now) {
                Short::Sent(plain) => return Polled::Plain(plain),
                Short::Nothing => return Polled::Nothing,
                Short::Written | Short::Unknown => {}
            }
        }
        if self.course.collects && self.has_answered() {
            return Polled::Nothing;
        }
        match self.transmit_otherwise(now, to) {
            Otherwise::Nothing => Polled::Nothing,
            Otherwise::Plain => Polled::Plain(to.plain()),
            Otherwise::Written => Polled::Written,
        }
    }

    #[inline(never)]
    fn transmit_otherwise(&mut self, now: Time, to: &mut Transmit) -> Otherwise {
        match self.send_at_once_otherwise(now, to) {
            Short::Sent(plain) => {
                to.put_plain(&plain);
                return Otherwise::Plain;
            }
            Short::Written => return Otherwise::Written,
            Short::Nothing => return Otherwise::Nothing,
            Short::Unknown => {}
        }
        let is_silent = self.reply.is_none() && !self.receiver.ack_now;
        // Nearly always so at the end that gets the data.
        if is_silent && self.state == State::Established && self.sender.is_at_rest() {
            return Otherwise::Nothing;
        }
        let sent = self.next_transmit(now, to);
        self.settle();
        if sent { Otherwise::Written } else { Otherwise::Nothing }
    }
}
