//! Packets on their way, in a slab: a packet is where its number says until it leaves the network.

use crate::plan::Side;
use retx_link::channel::Frame;
use retx_wire::Segment;

/// Stands for no row in a table, no packet in a capture.
pub const NONE: u32 = u32::MAX;

/// What a retransmission was worth, by what was known when it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmission {
    /// Nothing in it was sent before.
    First,
    /// Some was, and nobody judges it: it belongs to the acknowledgments' direction.
    Again,
    /// All earlier copies of some of it were dropped.
    Necessary,
    /// An earlier copy of all of it reaches the receiver, unless it is dropped yet.
    Unnecessary,
}

/// A packet. What each hop reads comes first, on one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Packet {
    /// Position of its first sequence number: SYN 0, first byte of data 1.
    pub position: u64,
    /// Where it is on its route: an index into the engine's routes.
    pub hop: u32,
    /// The end that it is for: twice the flow's index, plus 1 in the direction of the data.
    pub to: u32,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Which connection of the flow it belongs to.
    pub connection: u32,
    /// Its row in the `segments` table, or in `acks`.
    pub row: u32,
    /// Its number in the capture.
    pub captured: u32,
    /// What it was worth to send.
    pub transmission: Transmission,
    /// Which copy: counts the data sender's segments that took sequence space.
    pub copy: u64,
    /// What it says.
    pub segment: Segment,
}

impl Packet {
    /// The flow's index.
    pub const fn flow(&self) -> u32 {
        self.to >> 1
    }

    /// True in the direction of the data.
    pub const fn carries_data_direction(&self) -> bool {
        self.to & 1 == 1
    }

    /// The end that it is for.
    #[inline]
    pub const fn side(&self) -> Side {
        if self.carries_data_direction() { Side::Receiver } else { Side::Sender }
    }

    /// As a channel sees it.
    #[inline]
    pub const fn frame(&self) -> Frame {
        Frame {
            bytes: self.bytes,
            flow: self.flow(),
            position: self.position,
            payload_bytes: self.payload_bytes,
        }
    }
}

/// The packets in the network.
#[derive(Debug, Clone, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    /// Puts a packet in; returns its number.
    #[inline]
    pub fn insert(&mut self, packet: &Packet) -> u32 {
        if let Some(id) = self.free.pop() {
            self.slots[id as usize] = *packet;
            return id;
        }
        self.slots.push(*packet);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets on their way")
    }

    /// A packet in the network.
    #[inline]
    pub fn get(&self, id: u32) -> &Packet {
        &self.slots[id as usize]
    }

    /// A packet in the network, to move it on.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.slots[id as usize]
    }

    /// A packet has left: its number is free.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Packets in the network.
    pub fn count(&self) -> u64 {
        (self.slots.len() - self.free.len()) as u64
    }
}
