//! Fields of a packet that are stored apart from its header: its origin and position, which few
//! hops need (`engine/routes.rs`), and notes, which few packets have.

use super::{NONE, NOTED, Others, Packet, Packets};
pub use retx_record::capture::Transmission;
use std::ops::{Deref, DerefMut};

/// Origin and position of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trail {
    /// Origin: see [`PacketRef::copy`].
    pub copy: u64,
    /// Position on the route: see [`PacketRef::hop`].
    pub hop: u32,
    /// Row in a table: see [`PacketRef::row`].
    pub row: u32,
}

impl Default for Trail {
    fn default() -> Self {
        Self { copy: 0, hop: 0, row: NONE }
    }
}

/// Fields that only few packets have: retransmissions, copies made by the network, and packets in a
/// capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notes {
    /// See [`PacketRef::captured`].
    pub captured: u32,
    /// Group of the copies that the network has made of one packet, including itself; [`NONE`] if
    /// there are none.
    pub group: u32,
    /// See [`PacketRef::transmission`].
    pub transmission: Transmission,
    /// See [`PacketRef::others`].
    pub others: Others,
    /// See [`PacketRef::later`].
    pub later: bool,
}

impl Default for Notes {
    fn default() -> Self {
        Self {
            captured: NONE,
            group: NONE,
            transmission: Transmission::First,
            others: Others::None,
            later: false,
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

impl PacketRef<'_> {
    /// Copy of this reference, to be passed to a rare function that is not inlined. The argument of
    /// such a function is stored in memory; if the original were passed, the compiler would keep
    /// that in memory, too, on the path of every packet.
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
    fn trail(self) -> &'a Trail {
        &self.packets.trails[self.id as usize]
    }

    /// Number of the packet among those that the flow's data sender has sent. For a datagram, its
    /// time of sending in nanoseconds.
    #[inline]
    pub fn copy(self) -> u64 {
        self.trail().copy
    }

    /// Position on the packet's route: an index into the engine's routes. Private pipes, where the
    /// position is known without it, do not update it (`engine/routes.rs`).
    #[inline]
    pub fn hop(self) -> u32 {
        self.trail().hop
    }

    /// Row in the table `segments` or `acks`; [`NONE`] if the packet has no row.
    #[inline]
    pub fn row(self) -> u32 {
        self.trail().row
    }

    #[inline]
    fn notes(self) -> Notes {
        self.packets.notes_on(self.packet, self.id)
    }

    /// Id in the capture; [`NONE`] if no capture point has seen the packet.
    pub fn captured(self) -> u32 {
        self.notes().captured
    }

    /// Group of the copies that the network has made of one packet, including itself; [`NONE`] if
    /// there are none.
    #[inline]
    pub(super) fn group(self) -> u32 {
        self.notes().group
    }

    /// First transmission, needed retransmission, or unnecessary retransmission.
    pub fn transmission(self) -> Transmission {
        self.notes().transmission
    }

    /// State of the packet's other copies; valid once the packet has arrived or was dropped.
    pub fn others(self) -> Others {
        self.notes().others
    }

    /// True if another copy of the packet arrived before it.
    pub fn later(self) -> bool {
        self.notes().later
    }

    /// True if the network has made copies of the packet.
    #[inline]
    pub fn has_copies(self) -> bool {
        self.group() != NONE
    }
}

/// Mutable packet in the network.
#[derive(Debug)]
pub struct PacketMut<'a> {
    pub(super) packet: &'a mut Packet,
    pub(super) trail: &'a mut Trail,
    pub(super) id: u32,
    pub(super) notes: &'a mut Vec<Notes>,
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
    /// Number of the copy: see [`PacketRef::copy`].
    #[inline]
    pub const fn copy(&self) -> u64 {
        self.trail.copy
    }

    /// Row in the table `segments` or `acks`; [`NONE`] if the packet has no row.
    #[inline]
    pub const fn row(&self) -> u32 {
        self.trail.row
    }

    /// First transmission, needed retransmission, or unnecessary retransmission.
    pub fn transmission(&self) -> Transmission {
        if self.bits & NOTED == 0 {
            Transmission::First
        } else {
            self.notes[self.id as usize].transmission
        }
    }

    /// Sets the number of the copy: see [`PacketRef::copy`].
    #[inline]
    pub const fn set_copy(&mut self, copy: u64) {
        self.trail.copy = copy;
    }

    /// Sets the position: see [`PacketRef::hop`].
    #[inline]
    pub const fn set_hop(&mut self, hop: u32) {
        self.trail.hop = hop;
    }

    /// Sets the row: see [`PacketRef::row`].
    #[inline]
    pub const fn set_row(&mut self, row: u32) {
        self.trail.row = row;
    }

    /// Sets the kind of transmission.
    pub fn set_transmission(&mut self, transmission: Transmission) {
        if transmission != self.transmission() {
            self.notes_mut().transmission = transmission;
        }
    }

    /// Notes on the packet, created on first use.
    pub(super) fn notes_mut(&mut self) -> &mut Notes {
        let place = self.id as usize;
        if place >= self.notes.len() {
            self.notes.resize(place + 1, Notes::default());
        }
        let notes = &mut self.notes[place];
        if self.packet.bits & NOTED == 0 {
            self.packet.bits |= NOTED;
            *notes = Notes::default();
        }
        notes
    }
}

impl Packets {
    #[inline]
    fn notes_on(&self, packet: &Packet, id: u32) -> Notes {
        if packet.bits & NOTED == 0 { Notes::default() } else { self.notes[id as usize] }
    }
}
