//! What there is of a packet beside what it says: where it is, which is asked at few hops
//! (`engine/routes.rs`), and what is noted of few packets.

use super::{NONE, NOTED, Others, Packet, Packets};
pub use retx_record::capture::Transmission;
use std::ops::{Deref, DerefMut};

/// Where a packet comes from, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trail {
    /// See [`PacketRef::copy`].
    pub copy: u64,
    /// See [`PacketRef::hop`].
    pub hop: u32,
    /// See [`PacketRef::row`].
    pub row: u32,
}

impl Default for Trail {
    fn default() -> Self {
        Self { copy: 0, hop: 0, row: NONE }
    }
}

/// What is noted of few packets: retransmissions, those of which the network has made copies, and
/// those in a capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Notes {
    /// See [`PacketRef::captured`].
    pub captured: u32,
    /// The group of copies that the network has made of one packet, itself among them; [`NONE`]
    /// for a packet of which it has made none.
    pub twins: u32,
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
            twins: NONE,
            transmission: Transmission::First,
            others: Others::None,
            later: false,
        }
    }
}

/// A packet in the network.
#[derive(Debug, Clone, Copy)]
pub struct PacketRef<'a> {
    pub(super) packet: &'a Packet,
    pub(super) id: u32,
    pub(super) packets: &'a Packets,
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

    /// Which copy: counts the packets of the flow's data sender. Of a datagram, the nanosecond in
    /// which it was sent.
    #[inline]
    pub fn copy(self) -> u64 {
        self.trail().copy
    }

    /// Where it is on its route: an index into the engine's routes. Not up to date in a pipe in
    /// which all packets are at the same place (`engine/routes.rs`).
    #[inline]
    pub fn hop(self) -> u32 {
        self.trail().hop
    }

    /// Its row in the `segments` table, or in `acks`.
    #[inline]
    pub fn row(self) -> u32 {
        self.trail().row
    }

    #[inline]
    fn notes(self) -> Notes {
        self.packets.notes_on(self.packet, self.id)
    }

    /// Its number in the capture.
    pub fn captured(self) -> u32 {
        self.notes().captured
    }

    /// The group of copies that the network has made of one packet, itself among them; [`NONE`]
    /// for a packet of which it has made none.
    #[inline]
    pub(super) fn twins(self) -> u32 {
        self.notes().twins
    }

    /// What it was worth to send.
    pub fn transmission(self) -> Transmission {
        self.notes().transmission
    }

    /// What else there is of it, once it has come to its end.
    pub fn others(self) -> Others {
        self.notes().others
    }

    /// Another of its copies has arrived before it.
    pub fn later(self) -> bool {
        self.notes().later
    }

    /// There are, or were, copies of it that the network has made.
    #[inline]
    pub fn has_twins(self) -> bool {
        self.twins() != NONE
    }
}

/// A packet in the network, to change it.
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
    /// Which copy: see [`PacketRef::copy`].
    #[inline]
    pub const fn copy(&self) -> u64 {
        self.trail.copy
    }

    /// Its row in the `segments` table, or in `acks`.
    #[inline]
    pub const fn row(&self) -> u32 {
        self.trail.row
    }

    /// What it was worth to send.
    pub fn transmission(&self) -> Transmission {
        if self.bits & NOTED == 0 {
            Transmission::First
        } else {
            self.notes[self.id as usize].transmission
        }
    }

    /// It is this copy: see [`PacketRef::copy`].
    #[inline]
    pub const fn set_copy(&mut self, copy: u64) {
        self.trail.copy = copy;
    }

    /// It is there: see [`PacketRef::hop`].
    #[inline]
    pub const fn set_hop(&mut self, hop: u32) {
        self.trail.hop = hop;
    }

    /// It has this row: see [`PacketRef::row`].
    #[inline]
    pub const fn set_row(&mut self, row: u32) {
        self.trail.row = row;
    }

    /// It was worth that to send.
    pub fn set_transmission(&mut self, transmission: Transmission) {
        if transmission != self.transmission() {
            self.notes_mut().transmission = transmission;
        }
    }

    /// Something is to be noted on it.
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
