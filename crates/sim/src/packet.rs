//! Packets on their way, in a slab: a packet is where its number says until it leaves the network.

use crate::plan::Side;
use prefetch_index::prefetch_index;
use retx_link::channel::Frame;
use retx_units::SeqNr;
use retx_wire::{Ecn, Flags, IPV4_HEADER_BYTES, Options, Segment, TCP_HEADER_BYTES};

mod free;
mod plain;
mod twins;

use free::Free;
pub use plain::{Arriving, Label};
pub use twins::Others;
use twins::Twins;

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

/// A packet: one cache line, so that a hop reads no more. TCP options, which few packets have, lie
/// elsewhere.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub struct Packet {
    /// Position of its first sequence number: SYN 0, first byte of data 1. A datagram's number.
    pub position: u64,
    /// Which copy: counts the packets of the flow's data sender. Of a datagram, the nanosecond in
    /// which it was sent.
    pub copy: u64,
    /// Where it is on its route: an index into the engine's routes. Not up to date in a pipe in
    /// which all packets are at the same place (`engine/routes.rs`).
    pub hop: u32,
    /// The end that it is for: twice the flow's index, plus 1 in the direction of the data.
    pub to: u32,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Which connection of the flow it belongs to; of a datagram, 1 for copies that the network
    /// has made.
    pub connection: u32,
    /// Its row in the `segments` table, or in `acks`.
    pub row: u32,
    /// Its number in the capture.
    pub captured: u32,
    /// The group of copies that the network has made of one packet, itself among them; [`NONE`]
    /// for a packet of which it has made none.
    twins: u32,
    /// The header's sequence number.
    pub seq: SeqNr,
    /// The header's acknowledgment number.
    pub ack: SeqNr,
    /// The header's window field.
    pub window: u16,
    /// The header's control bits.
    pub flags: Flags,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// What it was worth to send.
    pub transmission: Transmission,
    /// What else there is of it, once it has come to its end.
    pub others: Others,
    /// Another of its copies has arrived before it.
    pub later: bool,
    /// [`HAS_OPTIONS`], [`LOSS_NOTICE`].
    bits: u8,
}

/// It has TCP options.
const HAS_OPTIONS: u8 = 1;
/// The notice that what it asks for was lost on a bad channel.
const LOSS_NOTICE: u8 = 2;

const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// A packet that carries this segment; who sends it fills in the rest.
    #[inline]
    fn new(segment: &Segment, ecn: Ecn) -> Self {
        let with_options = has_options(&segment.options);
        // Few have options: only then what they take is counted.
        let headers = if with_options {
            segment.packet_bytes() - segment.payload_bytes
        } else {
            IPV4_HEADER_BYTES + TCP_HEADER_BYTES
        };
        Self {
            position: 0,
            copy: 0,
            hop: 0,
            to: 0,
            bytes: headers + segment.payload_bytes,
            payload_bytes: segment.payload_bytes,
            connection: 0,
            row: NONE,
            captured: NONE,
            twins: NONE,
            seq: segment.seq,
            ack: segment.ack,
            window: segment.window,
            flags: segment.flags,
            ecn,
            transmission: Transmission::First,
            others: Others::None,
            later: false,
            bits: with_options as u8 * HAS_OPTIONS + segment.loss_notice as u8 * LOSS_NOTICE,
        }
    }

    /// Sequence space that it takes.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        let [syn, fin] = [Flags::SYN, Flags::FIN];
        self.payload_bytes + self.flags.contains(syn) as u32 + self.flags.contains(fin) as u32
    }

    /// Position after its last sequence number.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.position + self.seq_len() as u64
    }

    /// The flow's index.
    #[inline]
    pub const fn flow(&self) -> u32 {
        self.to >> 1
    }

    /// True in the direction of the data.
    #[inline]
    pub const fn carries_data_direction(&self) -> bool {
        self.to & 1 == 1
    }

    /// The end that it is for.
    #[inline]
    pub const fn side(&self) -> Side {
        if self.carries_data_direction() { Side::Receiver } else { Side::Sender }
    }

    /// There are, or were, copies of it that the network has made.
    #[inline]
    pub const fn has_twins(&self) -> bool {
        self.twins != NONE
    }

    /// A relay tells that what it asks for was lost on a bad channel.
    pub const fn notice_loss(&mut self) {
        self.bits |= LOSS_NOTICE;
    }

    /// A relay has told that.
    pub const fn has_loss_notice(&self) -> bool {
        self.bits & LOSS_NOTICE != 0
    }

    /// A queue tells of congestion.
    #[cold]
    pub const fn mark(&mut self) {
        self.ecn = Ecn::Ce;
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

const fn has_options(options: &Options) -> bool {
    options.mss.is_some()
        || options.window_scale.is_some()
        || options.sack_permitted
        || options.timestamps.is_some()
        || !options.sack.is_empty()
}

/// What a packet says, in a place that is used again: most have no options, and need none
/// written.
#[derive(Debug, Clone, Default)]
pub struct Unpacked {
    segment: Segment,
    has_options: bool,
}

/// The packets in the network.
#[derive(Debug, Clone, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    /// The options of those that have any, at their number.
    options: Vec<Options>,
    free: Free,
    twins: Vec<Twins>,
    free_twins: Vec<u32>,
}

impl Packets {
    /// A packet that carries this segment; returns its number, and the packet for who sends it to
    /// fill in the rest.
    #[inline(always)]
    pub fn insert(&mut self, segment: &Segment, ecn: Ecn) -> (u32, &mut Packet) {
        let packet = Packet::new(segment, ecn);
        let id = self.take_number();
        if packet.bits & HAS_OPTIONS != 0 {
            self.keep_options(id, &segment.options);
        }
        let slot = &mut self.slots[id as usize];
        *slot = packet;
        (id, slot)
    }

    /// A number that is free, which has a place.
    #[inline(always)]
    fn take_number(&mut self) -> u32 {
        if self.free.has_to_go_on() {
            self.go_on();
        }
        self.free.take()
    }

    #[inline(never)]
    fn go_on(&mut self) {
        self.free.go_on();
        if self.free.all() > self.slots.len() {
            self.slots.resize(self.free.all(), Packet::new(&Segment::default(), Ecn::NotEct));
        }
    }

    #[inline(never)]
    fn keep_options(&mut self, id: u32, options: &Options) {
        let place = id as usize;
        if place >= self.options.len() {
            self.options.resize(self.free.all(), Options::default());
        }
        self.options[place] = *options;
    }

    /// A packet is about to be asked for: lets the processor fetch it.
    #[inline]
    pub fn prefetch(&self, id: u32) {
        prefetch_index(&self.slots, id as usize);
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

    /// What a packet says.
    pub fn segment(&self, id: u32) -> Segment {
        let mut unpacked = Unpacked::default();
        self.unpack(id, &mut unpacked);
        unpacked.segment
    }

    /// The same as [`Self::segment`], in the place of another segment.
    #[inline]
    pub fn unpack(&self, id: u32, to: &mut Unpacked) {
        let packet = self.get(id);
        let with_options = packet.bits & HAS_OPTIONS != 0;
        if with_options || to.has_options {
            let options = if with_options { self.options[id as usize] } else { Options::default() };
            to.segment.options = options;
            to.has_options = with_options;
        }
        let segment = &mut to.segment;
        segment.seq = packet.seq;
        segment.ack = packet.ack;
        segment.window = packet.window;
        segment.flags = packet.flags;
        segment.payload_bytes = packet.payload_bytes;
        segment.loss_notice = packet.bits & LOSS_NOTICE != 0;
    }

    /// A packet has left: its number is free.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.give_back(id);
    }

    /// Packets in the network.
    pub fn count(&self) -> u64 {
        (self.free.all() - self.free.count()) as u64
    }
}
