//! Fast paths of a receiver with a gap in its data: each further segment beyond the gap is
//! acknowledged. Data that fill a gap, or have arrived before, take the general path.

use super::{Connection, Receiving, for_detailed_path};
use crate::connection::Transmit;
use crate::connection::outgoing::Outcome;
use retx_units::{SeqNr, Time};
use retx_wire::{Ecn, Flags, Options, PlainSegment, Segment, Timestamps};

impl Connection {
    /// Handles a segment that is not the next in order, if a fast path for such segments is open.
    #[inline(always)]
    pub(super) fn handle_out_of_order(
        &mut self,
        now: Time,
        segment: PlainSegment,
        timestamps: Option<Timestamps>,
    ) -> bool {
        let PlainSegment { seq, ack, window, payload_bytes, .. } = segment;
        match self.fast_paths.receiving {
            Receiving::BeyondGap => self.handle_beyond_gap((seq, payload_bytes), ack, window),
            Receiving::DetailedGap => {
                self.handle_data_with_gap(now, for_detailed_path(segment), timestamps)
            }
            Receiving::General | Receiving::Next | Receiving::Detailed => false,
        }
    }

    /// Handles data beyond a gap, above all data received so far, at an end with nothing in flight.
    /// Returns false, without any effect, in other cases.
    #[inline(never)]
    pub(super) fn handle_beyond_gap(
        &mut self,
        (seq, payload_bytes): (SeqNr, u32),
        ack: SeqNr,
        window: u16,
    ) -> bool {
        let (sender, receiver) = (&self.sender, &mut self.receiver);
        let ahead = seq.distance_from(receiver.irs.add(receiver.rcv_nxt as u32));
        let idle = sender.snd_una == sender.snd_max && ack == sender.iss.add(sender.snd_una as u32);
        if ahead <= 0 || payload_bytes == 0 || !idle {
            return false;
        }
        let left = receiver.rcv_nxt + ahead as u64;
        let right = left + u64::from(payload_bytes);
        // Data above all data received so far neither overlap with them nor fill a gap.
        let behind = receiver.out_of_order.end().is_some_and(|end| left >= end);
        if !behind || right > receiver.right_edge {
            return false;
        }
        receiver.out_of_order.insert(left, right);
        receiver.pending.on_gap();
        // Data beyond a gap are acknowledged at once, so that the sender can count duplicate ACKs
        // (RFC 5681 §4.2).
        receiver.ack_now = true;
        let window = self.scaled_window(window);
        self.update_window(left, self.sender.snd_una, window);
        true
    }

    /// True if no acknowledgment is due, and there is nothing else to send.
    #[inline(always)]
    pub(in crate::connection) fn has_nothing_to_send(&self) -> bool {
        !self.receiver.ack_now && self.sender.is_quiescent()
    }

    /// Sends an acknowledgment, with SACK blocks if these were negotiated, if one is due and there
    /// is nothing else to send.
    #[inline]
    pub(super) fn acknowledge_gap_fast(&mut self, now: Time, to: &mut Transmit) -> Option<Outcome> {
        if !self.sender.is_quiescent() {
            return None;
        }
        if !self.receiver.ack_now {
            return Some(Outcome::Nothing);
        }
        let position = self.sender.ack_position();
        let (window, edge) = self.window_field_and_shortage();
        *to = Transmit {
            segment: Segment {
                seq: self.seq_at(position),
                ack: self.rcv_nxt_seq(),
                window,
                flags: Flags::ACK,
                payload_bytes: 0,
                loss_notice: false,
                options: Options { timestamps: self.timestamps_at(now), ..Options::default() },
            },
            ecn: Ecn::NotEct,
            position,
            retransmission: false,
        };
        if self.receiver.sack {
            to.segment.options.sack = self.blocks();
        }
        self.receiver.pending.on_ack_sent(now, false);
        self.receiver.on_ack_sent(&mut self.timers, edge);
        Some(Outcome::Written)
    }
}
