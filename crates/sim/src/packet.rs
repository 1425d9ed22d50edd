//! Packets in the network, in a slab: a packet keeps its index until it leaves the network.

use crate::endpoint::Endpoint;
use crate::plan::Side;
use prefetch_index::prefetch_index;
use retx_link::channel::Frame;
use retx_units::SeqNr;
use retx_wire::{Ecn, Flags, IPV4_HEADER_BYTES, Options, Segment, TCP_HEADER_BYTES, Timestamps};

mod copies;
mod fields;
mod free;
mod plain;

use copies::Copies;
pub use copies::OtherCopies;
pub use fields::{PacketMut, PacketRef, Transmission};
use fields::{RareFields, TrackingFields};
use free::FreeIndices;
pub use plain::{ArrivedPacket, PacketMetadata};

/// Value for no row in a table, no packet in a capture, or no group of copies.
pub const NONE: u32 = u32::MAX;

/// Packet: its header and destination, which is all that the receiving endpoint needs. It takes
/// half a cache line: with thousands of flows, packets do not stay in the caches, so each cache
/// line costs an access to memory. TCP options, which few packets have, and all other fields are
/// stored separately ([`fields`]).
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub struct Packet {
    /// Position of the packet's first byte: SYN 0, first byte of data 1. For a datagram, its
    /// number.
    pub position: u64,
    /// Sequence number of the header.
    pub seq: SeqNr,
    /// Acknowledgment number of the header.
    pub ack: SeqNr,
    /// Destination endpoint.
    pub destination: Endpoint,
    /// Number of the flow's connection; for a datagram, 1 for copies made by the network.
    pub connection: u32,
    /// Window field of the header.
    pub window: u16,
    bytes: u16,
    payload_bytes: u16,
    /// Control bits of the header.
    pub flags: Flags,
    /// The flags [`HAS_OPTIONS`], [`LOSS_NOTICE`], [`HAS_RARE_FIELDS`] and [`TIMED`], and the ECN
    /// field from bit [`ECN_SHIFT`] on.
    bits: u8,
}

/// Flag: the packet has TCP options other than timestamps.
const HAS_OPTIONS: u8 = 1;
/// Flag: the segment that this acknowledgment asks for was corrupted on a lossy link.
const LOSS_NOTICE: u8 = 2;
/// Flag: the packet has [`RareFields`].
const HAS_RARE_FIELDS: u8 = 4;
/// Flag: timestamps are the packet's only TCP option.
const TIMED: u8 = 8;
/// Length of the timestamps option with its padding, bytes.
const TIMESTAMPS_BYTES: u32 = 12;
/// Position of the ECN field in [`Packet::bits`].
const ECN_SHIFT: u32 = 6;
/// Mask of the bits that are 0 in a plain packet: a packet without loss notice, without options
/// other than timestamps, and not ECN-capable.
const PLAIN: u8 = !(HAS_RARE_FIELDS | TIMED);

const _: () = assert!(size_of::<Packet>() == 32);

/// Converts a length in bytes to 16 bits. A larger length, which no IP packet can have, becomes
/// 65535.
const fn length(bytes: u32) -> u16 {
    if bytes < u16::MAX as u32 { bytes as u16 } else { u16::MAX }
}

impl Packet {
    /// Creates a packet that carries this segment; the sender fills in the remaining fields.
    #[inline]
    fn new(segment: &Segment, ecn: Ecn) -> Self {
        let kind = kind_of(&segment.options);
        // The length of the options is computed only for the few packets that have options other
        // than timestamps.
        let headers = match kind {
            HAS_OPTIONS => segment.packet_bytes() - segment.payload_bytes,
            TIMED => IPV4_HEADER_BYTES + TCP_HEADER_BYTES + TIMESTAMPS_BYTES,
            _ => IPV4_HEADER_BYTES + TCP_HEADER_BYTES,
        };
        let ecn = (ecn as u8) << ECN_SHIFT;
        let notice = segment.loss_notice as u8 * LOSS_NOTICE;
        Self {
            position: 0,
            seq: segment.seq,
            ack: segment.ack,
            destination: Endpoint::new(0, Side::Sender),
            connection: 0,
            window: segment.window,
            bytes: length(headers + segment.payload_bytes),
            payload_bytes: length(segment.payload_bytes),
            flags: segment.flags,
            bits: ecn | kind | notice,
        }
    }

    /// Length of the IP packet, bytes.
    #[inline]
    pub const fn bytes(&self) -> u32 {
        self.bytes as u32
    }

    /// Sets the length of the IP packet.
    pub const fn set_bytes(&mut self, bytes: u32) {
        self.bytes = length(bytes);
    }

    /// Length of the TCP or UDP payload, bytes.
    #[inline]
    pub const fn payload_bytes(&self) -> u32 {
        self.payload_bytes as u32
    }

    /// ECN field of the IP header.
    #[inline]
    pub const fn ecn(&self) -> Ecn {
        match self.bits >> ECN_SHIFT {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// True if a queue may mark the packet (congestion experienced) instead of dropping it.
    #[inline]
    pub const fn is_ecn_capable(&self) -> bool {
        self.bits >> ECN_SHIFT != Ecn::NotEct as u8
    }

    /// Sequence space that the packet occupies: payload bytes, SYN and FIN.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        let [syn, fin] = [Flags::SYN, Flags::FIN];
        self.payload_bytes() + self.flags.contains(syn) as u32 + self.flags.contains(fin) as u32
    }

    /// True if [`Self::seq_len`] is not 0.
    #[inline]
    pub const fn occupies_sequence_space(&self) -> bool {
        let flags = self.flags.contains(Flags::SYN) | self.flags.contains(Flags::FIN);
        self.payload_bytes > 0 || flags
    }

    /// Position after the packet's last byte; SYN and FIN count as one byte each.
    #[inline]
    pub const fn end_position(&self) -> u64 {
        self.position + self.seq_len() as u64
    }

    /// Index of the flow.
    #[inline]
    pub const fn flow(&self) -> u32 {
        self.destination.flow()
    }

    /// True if the packet travels in the direction of the flow's data.
    #[inline]
    pub const fn carries_data_direction(&self) -> bool {
        matches!(self.side(), Side::Receiver)
    }

    /// Destination endpoint.
    #[inline]
    pub const fn side(&self) -> Side {
        self.destination.side()
    }

    /// Sets a relay's loss notice: the segment that this acknowledgment asks for was corrupted on a
    /// lossy link.
    pub const fn set_loss_notice(&mut self) {
        self.bits |= LOSS_NOTICE;
    }

    /// True if a relay has set the loss notice.
    pub const fn has_loss_notice(&self) -> bool {
        self.bits & LOSS_NOTICE != 0
    }

    /// Marks the packet with congestion experienced.
    #[cold]
    pub const fn set_ce(&mut self) {
        // CE is the codepoint with both bits set (RFC 3168 §5), so no bit has to be cleared.
        self.bits |= (Ecn::Ce as u8) << ECN_SHIFT;
    }

    /// Properties of the packet that a channel can see.
    #[inline]
    pub const fn frame(&self) -> Frame {
        Frame {
            bytes: self.bytes(),
            flow: self.flow(),
            position: self.position,
            payload_bytes: self.payload_bytes(),
        }
    }
}

/// [`HAS_OPTIONS`], [`TIMED`], or 0 without options.
const fn kind_of(options: &Options) -> u8 {
    let others = options.mss.is_some()
        || options.window_scale.is_some()
        || options.sack_permitted
        || !options.sack.is_empty();
    if others {
        HAS_OPTIONS
    } else if options.timestamps.is_some() {
        TIMED
    } else {
        0
    }
}

/// Reusable buffer for an unpacked segment. Options are written only if there are any; most
/// segments have none.
#[derive(Debug, Clone, Default)]
pub struct UnpackedSegment {
    segment: Segment,
    has_options: bool,
}

/// Packets in the network.
#[derive(Debug, Clone, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    tracking: Vec<TrackingFields>,
    rare_fields: Vec<RareFields>,
    /// Options of the packets with [`HAS_OPTIONS`], by index.
    options: Vec<Options>,
    /// Timestamps of the packets with [`TIMED`], by index.
    timestamps: Vec<Timestamps>,
    free: FreeIndices,
    copies: Vec<Copies>,
    free_groups: Vec<u32>,
}

impl Packets {
    /// Creates a packet that carries this segment. Returns its index, and the packet itself, so
    /// that the sender can fill in the remaining fields.
    #[inline(always)]
    pub fn insert(&mut self, segment: &Segment, ecn: Ecn) -> (u32, PacketMut<'_>) {
        let packet = Packet::new(segment, ecn);
        let id = self.allocate();
        if packet.bits & HAS_OPTIONS != 0 {
            self.keep_options(id, &segment.options);
        } else if let Some(timestamps) = segment.options.timestamps {
            self.keep_timestamps(id, timestamps);
        }
        self.slots[id as usize] = packet;
        self.tracking[id as usize] = TrackingFields::default();
        (id, self.get_mut(id))
    }

    /// Allocates an index.
    #[inline(always)]
    fn allocate(&mut self) -> u32 {
        if self.free.is_word_used_up() {
            self.advance();
        }
        self.free.allocate()
    }

    #[inline(never)]
    fn advance(&mut self) {
        self.free.advance();
        if self.free.capacity() > self.slots.len() {
            self.slots.resize(self.free.capacity(), Packet::new(&Segment::default(), Ecn::NotEct));
            self.tracking.resize(self.free.capacity(), TrackingFields::default());
        }
    }

    #[inline(never)]
    fn keep_options(&mut self, id: u32, options: &Options) {
        let place = id as usize;
        if place >= self.options.len() {
            self.options.resize(self.free.capacity(), Options::default());
        }
        self.options[place] = *options;
    }

    #[inline(always)]
    fn keep_timestamps(&mut self, id: u32, timestamps: Timestamps) {
        if id as usize >= self.timestamps.len() {
            self.add_timestamps();
        }
        self.timestamps[id as usize] = timestamps;
    }

    #[cold]
    #[inline(never)]
    fn add_timestamps(&mut self) {
        self.timestamps.resize(self.free.capacity(), Timestamps::default());
    }

    /// TCP options of a packet.
    #[inline]
    fn options_of(&self, packet: &Packet, id: u32) -> Options {
        if packet.bits & HAS_OPTIONS != 0 {
            return self.options[id as usize];
        }
        Options { timestamps: self.timestamps_of(packet, id), ..Options::default() }
    }

    /// Timestamps of a packet that has no other options.
    #[inline(always)]
    fn timestamps_of(&self, packet: &Packet, id: u32) -> Option<Timestamps> {
        if packet.bits & TIMED != 0 { Some(self.timestamps[id as usize]) } else { None }
    }

    /// Prefetches the header of a packet.
    #[inline]
    pub fn prefetch(&self, id: u32) {
        prefetch_index(&self.slots, id as usize);
    }

    /// Prefetches the position of a packet on its route, and the number of its copy.
    #[inline]
    pub fn prefetch_hop(&self, id: u32) {
        prefetch_index(&self.tracking, id as usize);
    }

    /// Packet with this index.
    #[inline(always)]
    pub fn get(&self, id: u32) -> PacketRef<'_> {
        PacketRef { packet: &self.slots[id as usize], id, packets: self }
    }

    /// Mutable packet with this index.
    #[inline(always)]
    pub fn get_mut(&mut self, id: u32) -> PacketMut<'_> {
        PacketMut {
            packet: &mut self.slots[id as usize],
            tracking: &mut self.tracking[id as usize],
            id,
            rare_fields: &mut self.rare_fields,
        }
    }

    /// Position of a packet on its route.
    #[inline(always)]
    pub fn hop(&self, id: u32) -> u32 {
        self.tracking[id as usize].hop
    }

    /// Sets the position of a packet on its route.
    #[inline(always)]
    pub fn set_hop(&mut self, id: u32, hop: u32) {
        self.tracking[id as usize].hop = hop;
    }

    /// TCP segment of a packet, unpacked.
    pub fn segment(&self, id: u32) -> Segment {
        let mut unpacked = UnpackedSegment::default();
        self.unpack(id, &mut unpacked);
        unpacked.segment
    }

    /// Like [`Self::segment`], into a reused buffer.
    #[inline]
    pub fn unpack(&self, id: u32, to: &mut UnpackedSegment) {
        let packet = &self.slots[id as usize];
        let with_options = packet.bits & (HAS_OPTIONS | TIMED) != 0;
        // Options are the largest part of a segment. They are written only if this segment has any,
        // or if the previous segment has left some in the buffer.
        if with_options || to.has_options {
            to.segment.options = self.options_of(packet, id);
            to.has_options = with_options;
        }
        let segment = &mut to.segment;
        segment.seq = packet.seq;
        segment.ack = packet.ack;
        segment.window = packet.window;
        segment.flags = packet.flags;
        segment.payload_bytes = packet.payload_bytes();
        segment.loss_notice = packet.bits & LOSS_NOTICE != 0;
    }

    /// Removes a packet that has left the network, and frees its index.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.release(id);
    }

    /// Number of packets in the network.
    pub fn count(&self) -> u64 {
        (self.free.capacity() - self.free.count()) as u64
    }
}
