//! Packets of plain segments, which are the usual case: each is written directly into its slot and
//! read there.

use super::{
    NONE, PLAIN, Packet, PacketRef, Packets, TIMED, TIMESTAMPS_BYTES, TrackingFields,
    UnpackedSegment, length,
};
use crate::endpoint::Endpoint;
use retx_tcp::{Connection, PlainTransmit};
use retx_units::Time;
use retx_wire::{IPV4_HEADER_BYTES, PlainSegment, TCP_HEADER_BYTES, Timestamps};

/// Fields that a packet needs in addition to its segment.
#[derive(Debug, Clone, Copy)]
pub struct PacketMetadata {
    /// Number of the packet: see [`PacketRef::copy_number`].
    pub copy_number: u64,
    /// Position on the route: see [`PacketRef::hop`].
    pub hop: u32,
    /// Destination endpoint: see [`Packet::destination`].
    pub destination: Endpoint,
    /// Connection of the flow: see [`Packet::connection`].
    pub connection: u32,
}

impl Packet {
    /// Creates a packet that carries this segment; `timed` is true if the segment has timestamps.
    #[inline(always)]
    fn plain(transmit: &PlainTransmit, timed: bool, metadata: &PacketMetadata) -> Self {
        let PlainSegment { seq, ack, window, flags, payload_bytes } = transmit.segment;
        let (bits, option_bytes) = if timed { (TIMED, TIMESTAMPS_BYTES) } else { (0, 0) };
        let headers = IPV4_HEADER_BYTES + TCP_HEADER_BYTES + option_bytes;
        let payload_bytes = length(payload_bytes);
        Self {
            position: transmit.position,
            seq,
            ack,
            destination: metadata.destination,
            connection: metadata.connection,
            window,
            bytes: payload_bytes.saturating_add(headers as u16),
            payload_bytes,
            flags,
            bits,
        }
    }
}

impl Packets {
    /// Creates a packet that carries this segment; returns its index, and its length in bytes.
    #[inline(always)]
    pub fn insert_plain(
        &mut self,
        transmit: &PlainTransmit,
        timestamps: Option<Timestamps>,
        metadata: &PacketMetadata,
    ) -> (u32, u32) {
        let id = self.allocate();
        let packet = Packet::plain(transmit, timestamps.is_some(), metadata);
        let bytes = packet.bytes();
        if let Some(timestamps) = timestamps {
            self.keep_timestamps(id, timestamps);
        }
        self.slots[id as usize] = packet;
        self.tracking[id as usize] = TrackingFields {
            copy_number: metadata.copy_number,
            hop: metadata.hop,
            table_row: NONE,
        };
        (id, bytes)
    }
}

/// Packet that has reached its host.
#[derive(Debug)]
pub struct ArrivedPacket<'a> {
    /// Packet that has arrived.
    pub packet: PacketRef<'a>,
    /// Buffer for unpacking a segment that is not plain.
    pub buffer: &'a mut UnpackedSegment,
}

impl PacketRef<'_> {
    /// Segment of a packet without loss notice, and without options other than timestamps.
    #[inline(always)]
    fn plain(self) -> PlainSegment {
        let Packet { seq, ack, window, flags, .. } = *self.packet;
        PlainSegment { seq, ack, window, flags, payload_bytes: self.packet.payload_bytes() }
    }
}

impl ArrivedPacket<'_> {
    /// Passes the packet's segment to the connection `to`.
    #[inline(always)]
    pub fn hand_over(self, now: Time, to: &mut Connection) {
        let Self { packet, buffer: place } = self;
        let plain = packet.bits & PLAIN == 0;
        let PacketRef { packet: header, id, packets } = packet;
        let timestamps = packets.timestamps_of(header, id);
        if !plain || !to.handle_plain(now, packet.plain(), timestamps) {
            packets.hand_over_unpacked(id, place, now, to);
        }
    }
}

impl Packets {
    // Separate parameters stay in registers. A struct would be written to memory, even on the path
    // of plain segments.
    #[inline(never)]
    fn hand_over_unpacked(
        &self,
        id: u32,
        to: &mut UnpackedSegment,
        now: Time,
        end: &mut Connection,
    ) {
        self.unpack(id, to);
        end.handle_packet(now, &to.segment, self.get(id).ecn());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Side;
    use retx_units::SeqNr;
    use retx_wire::{Ecn, Flags};

    #[test]
    fn a_plain_packet_is_as_any_other() {
        let segment = PlainSegment {
            seq: SeqNr(7),
            ack: SeqNr(9),
            window: 11,
            flags: Flags::ACK.with(Flags::PSH),
            payload_bytes: 1_448,
        };
        let timestamps = Some(Timestamps { value: 20, echo: 21 });
        let destination = Endpoint::new(2, Side::Receiver);
        let metadata = PacketMetadata { copy_number: 3, hop: 4, destination, connection: 6 };
        let mut packets = Packets::default();
        let transmit =
            PlainTransmit { segment, position: 8, may_send_more: true, begins_train: false };
        let (plain, _) = packets.insert_plain(&transmit, timestamps, &metadata);
        let (other, mut packet) = packets.insert(&segment.segment(timestamps), Ecn::NotEct);
        (packet.position, packet.destination, packet.connection) =
            (8, metadata.destination, metadata.connection);
        packet.set_copy_number(metadata.copy_number);
        packet.set_hop(metadata.hop);
        let [plain_packet, other] = [plain, other].map(|id| {
            let packet = packets.get(id);
            format!(
                "{:?} {} {} {}",
                *packet,
                packet.copy_number(),
                packet.hop(),
                packet.table_row()
            )
        });
        assert_eq!(plain_packet, other);
        assert_eq!(packets.segment(plain), segment.segment(timestamps));
    }
}
