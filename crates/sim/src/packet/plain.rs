//! Packets of plain segments, which nearly all are: written once, where they stay, and read there.

use super::{NONE, Others, Packet, Packets, Transmission, Unpacked};
use prefetch_index::prefetch_index;
use retx_tcp::{Connection, PlainTransmit};
use retx_units::Time;
use retx_wire::{Ecn, IPV4_HEADER_BYTES, PlainSegment, TCP_HEADER_BYTES};

/// Where a packet goes, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    /// See [`Packet`].
    pub copy: u64,
    /// See [`Packet`].
    pub hop: u32,
    /// See [`Packet`].
    pub to: u32,
    /// See [`Packet`].
    pub connection: u32,
}

impl Packet {
    /// A packet that carries this segment.
    #[inline(always)]
    fn plain(transmit: &PlainTransmit, label: &Label) -> Self {
        let PlainSegment { seq, ack, window, flags, payload_bytes } = transmit.segment;
        Self {
            position: transmit.position,
            copy: label.copy,
            hop: label.hop,
            to: label.to,
            bytes: IPV4_HEADER_BYTES + TCP_HEADER_BYTES + payload_bytes,
            payload_bytes,
            connection: label.connection,
            row: NONE,
            captured: NONE,
            twins: NONE,
            seq,
            ack,
            window,
            flags,
            ecn: Ecn::NotEct,
            transmission: Transmission::First,
            others: Others::None,
            later: false,
            bits: 0,
        }
    }

    /// What it says but for options and a notice.
    #[inline]
    const fn without_options(&self) -> PlainSegment {
        let Self { seq, ack, window, flags, payload_bytes, .. } = *self;
        PlainSegment { seq, ack, window, flags, payload_bytes }
    }
}

impl Packets {
    /// A packet that carries this segment; returns its number, and the packet.
    #[inline(always)]
    pub fn insert_plain(&mut self, transmit: &PlainTransmit, label: &Label) -> (u32, &mut Packet) {
        let id = self.take_number();
        let slot = &mut self.slots[id as usize];
        *slot = Packet::plain(transmit, label);
        prefetch_index(&self.slots, id as usize + 8);
        (id, &mut self.slots[id as usize])
    }
}

/// A packet that has reached its host.
#[derive(Debug)]
pub struct Arriving<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// Its number.
    pub id: u32,
    /// All packets.
    pub packets: &'a Packets,
    /// Where what is not plain is unpacked.
    pub place: &'a mut Unpacked,
}

impl Arriving<'_> {
    /// Hands what it says to the end that it is for.
    #[inline(always)]
    pub fn hand_over(self, now: Time, to: &mut Connection) {
        let Self { packet, id, packets, place } = self;
        let plain = packet.bits == 0 && packet.ecn == Ecn::NotEct;
        if !plain || !to.handle_plain(now, packet.without_options()) {
            packets.hand_over_unpacked(id, place, now, to);
        }
    }
}

impl Packets {
    // In registers, or all would be written to memory for those that are plain, too.
    #[inline(never)]
    fn hand_over_unpacked(&self, id: u32, to: &mut Unpacked, now: Time, end: &mut Connection) {
        self.unpack(id, to);
        end.handle_packet(now, &to.segment, self.get(id).ecn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::SeqNr;
    use retx_wire::Flags;

    #[test]
    fn a_plain_packet_is_as_any_other() {
        let segment = PlainSegment {
            seq: SeqNr(7),
            ack: SeqNr(9),
            window: 11,
            flags: Flags::ACK.with(Flags::PSH),
            payload_bytes: 1_460,
        };
        let label = Label { copy: 3, hop: 4, to: 5, connection: 6 };
        let mut packets = Packets::default();
        let (plain, _) =
            packets.insert_plain(&PlainTransmit { segment, position: 8, more: true }, &label);
        let (other, packet) = packets.insert(&segment.segment(), Ecn::NotEct);
        (packet.position, packet.copy, packet.connection) = (8, label.copy, label.connection);
        (packet.hop, packet.to) = (label.hop, label.to);
        let [plain_packet, other] = [plain, other].map(|id| format!("{:?}", packets.get(id)));
        assert_eq!(plain_packet, other);
        assert_eq!(packets.segment(plain), segment.segment());
    }
}
