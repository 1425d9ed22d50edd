//! Fields of a packet that are stored apart from its header: copy number, position and table row,
//! which few hops need (`engine/routes.rs`), and rare fields, which few packets have.

use super::{HAS_RARE_FIELDS, NONE, OtherCopies, Packet, Packets};
pub use retx_record::capture::Transmission;
use std::ops::{Deref, DerefMut};

/// Copy number, position and table row of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackingFields {
    /// Number of the packet among those of its sender: see [`PacketRef::copy_number`].
    pub copy_number: u64,
    /// Position on the route: see [`PacketRef::hop`].
    pub hop: u32,
    /// Row in a table: see [`PacketRef::table_row`].
    pub table_row: u32,
}

impl Default for TrackingFields {
    fn default() -> Self {
        Self { copy_number: 0, hop: 0, table_row: NONE }
    }
}

/// Fields that only few packets have: retransmissions, copies made by the network, and packets in a
/// capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct RareFields {
    /// Id in the capture: see [`PacketRef::capture_id`].
    pub capture_id: u32,
    /// Identification field of the IP header: see [`PacketRef::identification`].
    pub identification: Option<u16>,
    /// Index of the group of the packet and all copies that the network has made of it; [`NONE`] if
    /// there are no copies.
    pub copy_group: u32,
    /// Kind of transmission: see [`PacketRef::transmission`].
    pub transmission: Transmission,
    /// State of the packet's other copies: see [`PacketRef::other_copies`].
    pub other_copies: OtherCopies,
    /// True if another copy arrived before: see [`PacketRef::is_later_copy`].
    pub is_later_copy: bool,
}

impl Default for RareFields {
    fn default() -> Self {
        Self {
            capture_id: NONE,
            identification: None,
            copy_group: NONE,
            transmission: Transmission::First,
            other_copies: OtherCopies::None,
            is_later_copy: false,
        }
    }
}

/// Packet in the network.
#[derive(Debug, Clone, Copy)]
pub struct PacketRef<'a> {
    pub(super) packet: &'a Packet,
    pub(super) id: u32,
    pub(super) packets: &'a Packets,
}

impl<'a> PacketRef<'a> {
    /// Index of the packet, and all packets. Unlike this reference, they are passed in registers.
    #[inline(always)]
    pub const fn parts(self) -> (u32, &'a Packets) {
        (self.id, self.packets)
    }

    /// Copy of this reference, to be passed to a rare function that is not inlined. Arguments of
    /// such a function are stored in memory. If the original were passed, the compiler would keep
    /// it in memory on the path of every packet.
    #[inline(always)]
    pub const fn for_rare_call(self) -> Self {
        let Self { packet, id, packets } = self;
        Self { packet, id, packets }
    }
}

impl Deref for PacketRef<'_> {
    type Target = Packet;

    #[inline(always)]
    fn deref(&self) -> &Packet {
        self.packet
    }
}

impl<'a> PacketRef<'a> {
    #[inline]
    fn tracking(self) -> &'a TrackingFields {
        &self.packets.tracking[self.id as usize]
    }

    /// Number of the packet in the order in which the flow's data sender has sent packets. For a
    /// datagram, its time of sending in nanoseconds.
    #[inline]
    pub fn copy_number(self) -> u64 {
        self.tracking().copy_number
    }

    /// Position on the packet's route: an index into the engine's routes. It is not updated in
    /// private pipes, which determine the position without it (`engine/routes.rs`).
    #[inline]
    pub fn hop(self) -> u32 {
        self.tracking().hop
    }

    /// Row in the table `segments` or `acks`; [`NONE`] if the packet has no row.
    #[inline]
    pub fn table_row(self) -> u32 {
        self.tracking().table_row
    }

    #[inline]
    fn rare_fields(self) -> RareFields {
        self.packets.notes_on(self.packet, self.id)
    }

    /// Id in the capture; [`NONE`] if no capture point has seen the packet.
    pub fn capture_id(self) -> u32 {
        self.rare_fields().capture_id
    }

    /// Identification field of the IP header; `None` unless packets are captured.
    pub fn identification(self) -> Option<u16> {
        self.rare_fields().identification
    }

    /// Index of the group of the packet and all copies that the network has made of it; [`NONE`] if
    /// there are no copies.
    #[inline]
    pub(super) fn copy_group(self) -> u32 {
        self.rare_fields().copy_group
    }

    /// First transmission, needed retransmission, or unnecessary retransmission.
    pub fn transmission(self) -> Transmission {
        self.rare_fields().transmission
    }

    /// True if no sequence space of the segment had been sent before.
    #[inline]
    pub fn is_first_transmission(self) -> bool {
        self.packet.bits & HAS_RARE_FIELDS == 0 || self.transmission() == Transmission::First
    }

    /// State of the packet's other copies; valid once the packet has arrived or was dropped.
    pub fn other_copies(self) -> OtherCopies {
        self.rare_fields().other_copies
    }

    /// True if another copy of the packet arrived before it.
    pub fn is_later_copy(self) -> bool {
        self.rare_fields().is_later_copy
    }

    /// True if the network has made copies of the packet.
    #[inline]
    pub fn has_copies(self) -> bool {
        self.copy_group() != NONE
    }
}

/// Mutable packet in the network.
#[derive(Debug)]
pub struct PacketMut<'a> {
    pub(super) packet: &'a mut Packet,
    pub(super) tracking: &'a mut TrackingFields,
    pub(super) id: u32,
    pub(super) rare_fields: &'a mut Vec<RareFields>,
}

impl Deref for PacketMut<'_> {
    type Target = Packet;

    #[inline(always)]
    fn deref(&self) -> &Packet {
        self.packet
    }
}

impl DerefMut for PacketMut<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Packet {
        self.packet
    }
}

impl PacketMut<'_> {
    /// Number of the copy: see [`PacketRef::copy_number`].
    #[inline]
    pub const fn copy_number(&self) -> u64 {
        self.tracking.copy_number
    }

    /// Row in the table `segments` or `acks`; [`NONE`] if the packet has no row.
    #[inline]
    pub const fn table_row(&self) -> u32 {
        self.tracking.table_row
    }

    /// First transmission, needed retransmission, or unnecessary retransmission.
    pub fn transmission(&self) -> Transmission {
        if self.bits & HAS_RARE_FIELDS == 0 {
            Transmission::First
        } else {
            self.rare_fields[self.id as usize].transmission
        }
    }

    /// Sets the number of the copy: see [`PacketRef::copy_number`].
    #[inline]
    pub const fn set_copy_number(&mut self, copy: u64) {
        self.tracking.copy_number = copy;
    }

    /// Sets the position: see [`PacketRef::hop`].
    #[inline]
    pub const fn set_hop(&mut self, hop: u32) {
        self.tracking.hop = hop;
    }

    /// Sets the row: see [`PacketRef::table_row`].
    #[inline]
    pub const fn set_table_row(&mut self, row: u32) {
        self.tracking.table_row = row;
    }

    /// Sets the kind of transmission.
    pub fn set_transmission(&mut self, transmission: Transmission) {
        if transmission != self.transmission() {
            self.rare_fields_mut().transmission = transmission;
        }
    }

    /// Rare fields of the packet, created on first use.
    pub(super) fn rare_fields_mut(&mut self) -> &mut RareFields {
        let place = self.id as usize;
        if place >= self.rare_fields.len() {
            self.rare_fields.resize(place + 1, RareFields::default());
        }
        let rare_fields = &mut self.rare_fields[place];
        if self.packet.bits & HAS_RARE_FIELDS == 0 {
            self.packet.bits |= HAS_RARE_FIELDS;
            *rare_fields = RareFields::default();
        }
        rare_fields
    }
}

impl Packets {
    #[inline]
    fn notes_on(&self, packet: &Packet, id: u32) -> RareFields {
        if packet.bits & HAS_RARE_FIELDS == 0 {
            RareFields::default()
        } else {
            self.rare_fields[id as usize]
        }
    }
}
