//! Sending by the endpoints of a flow.

use super::{Flow, Phase, RECEIVER, SENDER};
use crate::endpoint::Endpoint;
use crate::packet::{PacketMetadata, PacketMut, Transmission};
use crate::plan::Side;
use crate::recorder::Recorder;
use retx_tcp::{PlainTransmit, Polled, Train, Transmit};
use retx_units::Time;
use retx_wire::{Flags, Timestamps};

impl Flow {
    /// Next segment that `side` sends now: written into `to`, or returned if it is plain.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Time, side: Side, to: &mut Transmit) -> Polled {
        self.ends[side as usize].poll_transmit_into(now, to)
    }

    /// Train of the data sender: see [`Connection::begin_train`](retx_tcp::Connection).
    #[inline(always)]
    pub fn begin_train(&self, now: Time) -> Option<Train> {
        self.ends[SENDER].begin_train(now)
    }

    /// Records the segments of a train that have been sent; false if nothing more can be sent now.
    #[inline(always)]
    pub fn end_train(&mut self, now: Time, train: &Train) -> bool {
        self.ends[SENDER].end_train(now, train)
    }

    /// True if a wake-up of `side` now only opens the pacing gate of the sender: see
    /// [`Connection::only_opens_gate`](retx_tcp::Connection).
    #[inline(always)]
    pub fn only_opens_gate(&self, now: Time, side: Side) -> bool {
        let is_open = self.phase == Phase::Open && side == Side::Sender;
        is_open && self.ends[SENDER].only_opens_gate(now)
    }

    /// Like [`Self::handle_timeout`], for a wake-up that [only opens the pacing
    /// gate](Self::only_opens_gate).
    #[inline(always)]
    pub fn open_gate(&mut self, now: Time, recorder: &mut Recorder) {
        self.woken[SENDER] = Time::NEVER;
        self.record.note_sender_wakes();
        self.ends[SENDER].open_gate();
        self.drive_sender_out_of_line(now, recorder);
    }

    /// Timestamps of a plain segment that `side` sends now.
    #[inline(always)]
    pub fn timestamps(&self, now: Time, side: Side) -> Option<Timestamps> {
        self.ends[side as usize].timestamps_at(now)
    }

    /// Records a plain segment sent by `side`; returns the metadata of its packet.
    #[inline(always)]
    pub fn send_plain(&mut self, now: Time, side: Side, sent: &PlainTransmit) -> PacketMetadata {
        let copy = match side {
            Side::Sender => self.record_sent_plain(now, sent),
            Side::Receiver => {
                let pure = sent.segment.payload_bytes == 0;
                self.record.counters.acks_sent += u64::from(pure);
                0
            }
        };
        PacketMetadata {
            copy_number: copy,
            hop: self.first_hops[side as usize],
            destination: Endpoint::new(self.record.flow(), side.other()),
            connection: self.connections,
        }
    }

    /// Writes a plain segment sent by `side` into the tables.
    #[inline(never)]
    pub fn write_sent(
        &mut self,
        now: Time,
        side: Side,
        packet: &mut PacketMut<'_>,
        recorder: &mut Recorder,
    ) {
        if side == Side::Receiver {
            self.note_ack_wait(now);
            recorder.on_sent_by_receiver(now, &self.ends[RECEIVER], packet);
        } else if packet.payload_bytes() > 0 && recorder.records_segments() {
            self.record_row(now, packet, recorder);
        }
    }

    /// Records a segment sent by `side`, and fills in the fields of its `packet` that the network
    /// and the record need.
    pub fn note_sent(
        &mut self,
        now: Time,
        (side, transmit): (Side, &Transmit),
        packet: &mut PacketMut<'_>,
        recorder: &mut Recorder,
    ) {
        packet.position = transmit.position;
        packet.set_hop(self.first_hops[side as usize]);
        packet.destination = Endpoint::new(self.record.flow(), side.other());
        packet.connection = self.connections;
        match side {
            Side::Sender => self.record_sent(now, transmit.retransmission, packet, recorder),
            Side::Receiver => {
                if transmit.retransmission {
                    packet.set_transmission(Transmission::Again);
                }
                let pure = packet.payload_bytes() == 0 && is_pure_ack(packet.flags);
                self.record.counters.acks_sent += u64::from(pure);
                if recorder.notes_sent_packets {
                    self.note_ack_wait(now);
                    recorder.on_sent_by_receiver(now, &self.ends[RECEIVER], packet);
                }
            }
        }
    }
}

/// True if none of the flags SYN, FIN and RST is set.
const fn is_pure_ack(flags: Flags) -> bool {
    flags.contains(Flags::ACK)
        && !flags.contains(Flags::SYN)
        && !flags.contains(Flags::FIN)
        && !flags.contains(Flags::RST)
}
