//! Connections written packet by packet, for the tests of capture files.

use retx_record::capture::{
    CaptureBuffer, CapturedPacket, DropReason, Fate, FlowId, FlowNodes, PacketId, PointId, Side,
    Transmission,
};
use retx_units::{Duration, SeqNr, Time};
use retx_wire::{Ecn, Flags, Options, SackBlock, Segment, Timestamps};

pub const ACK: Flags = Flags::ACK;
pub const SYN_ACK: Flags = Flags::SYN.with(Flags::ACK);
pub const FIN_ACK: Flags = Flags::FIN.with(Flags::ACK);
pub const RST_ACK: Flags = Flags::RST.with(Flags::ACK);

/// Payload bytes of a full data segment with timestamps.
pub const DATA: u32 = 1448;

/// Writes the packets of one connection into a capture; each comes 1.000001 ms after the previous
/// one.
pub struct Hand<'a> {
    pub capture: &'a mut CaptureBuffer,
    pub place: PointId,
    pub flow: FlowId,
    /// Initial sequence numbers of the opener and the listener.
    pub initial: [SeqNr; 2],
    pub now: Time,
}

/// Fields of a segment that differ from packet to packet; positions count from 0, the SYN's.
#[derive(Clone, Copy, Default)]
pub struct Part {
    pub flags: Flags,
    pub position: u64,
    pub ack: u64,
    pub payload_bytes: u32,
    pub options: Options,
}

impl Hand<'_> {
    /// Captures a packet that is delivered 10 ms later.
    pub fn send(&mut self, side: Side, part: Part) -> PacketId {
        self.now += Duration::from_nanos(1_000_001);
        let [opener, listener] = self.initial;
        let (own, peer) = match side {
            Side::Opener => (opener, listener),
            Side::Listener => (listener, opener),
        };
        let has_ack = part.flags.contains(Flags::ACK);
        let segment = Segment {
            seq: own.add(part.position as u32),
            ack: if has_ack { peer.add(part.ack as u32) } else { SeqNr(0) },
            window: 1000,
            flags: part.flags,
            payload_bytes: part.payload_bytes,
            options: part.options,
            loss_notice: false,
        };
        let packet = self.capture.add_packet(&CapturedPacket {
            flow: self.flow,
            side,
            position: part.position,
            transmission: Transmission::First,
            identification: 0,
            connection: 1,
            segment,
        });
        self.capture.add_sighting(self.now, self.place, packet, Ecn::NotEct);
        let at = self.now + Duration::from_millis(10);
        self.capture.set_fate(packet, Fate::Delivered { at });
        packet
    }

    fn timestamps(&self) -> Options {
        let value = (self.now.as_nanos() / 1_000_000) as u32;
        Options { timestamps: Some(Timestamps { value, echo: value / 2 }), ..Options::default() }
    }

    fn sack(&self, blocks: &[(u64, u64)]) -> Options {
        let mut options = self.timestamps();
        for (left, right) in blocks {
            let listener = self.initial[1];
            let block =
                SackBlock { left: listener.add(*left as u32), right: listener.add(*right as u32) };
            assert!(options.push_sack(block));
        }
        options
    }

    fn syn_options(&self) -> Options {
        Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            ..self.timestamps()
        }
    }

    /// SYN, SYN/ACK and ACK with every option.
    pub fn open(&mut self) {
        let syn = Part { flags: Flags::SYN, options: self.syn_options(), ..Part::default() };
        self.send(Side::Opener, syn);
        let syn_ack = Part { flags: SYN_ACK, ack: 1, options: self.syn_options(), ..syn };
        self.send(Side::Listener, syn_ack);
        self.acknowledge(1, &[]);
    }

    /// The listener sends its `n`-th data segment, from 0.
    pub fn data(&mut self, n: u64) -> PacketId {
        let part = Part {
            flags: ACK,
            position: 1 + n * u64::from(DATA),
            ack: 1,
            payload_bytes: DATA,
            options: self.timestamps(),
        };
        self.send(Side::Listener, part)
    }

    /// Closes the connection: the listener's FIN is at `position`, the opener's at 1. Returns the
    /// last packet.
    fn close(&mut self, position: u64) -> PacketId {
        let options = self.timestamps();
        let part = Part { flags: FIN_ACK, position, ack: 1, options, ..Part::default() };
        self.send(Side::Listener, part);
        let options = self.timestamps();
        let part = Part { position: 1, ack: position + 1, options, ..part };
        self.send(Side::Opener, part);
        let options = self.timestamps();
        let part = Part { flags: ACK, position: position + 1, ack: 2, options, ..part };
        self.send(Side::Listener, part)
    }

    /// The opener sends an acknowledgment; SACK blocks are given as positions.
    pub fn acknowledge(&mut self, ack: u64, sack: &[(u64, u64)]) -> PacketId {
        let options = self.sack(sack);
        self.send(Side::Opener, Part { flags: ACK, position: 1, ack, options, ..Part::default() })
    }
}

/// Position of the first byte of the `n`-th data segment.
pub const fn start(n: u64) -> u64 {
    1 + n * DATA as u64
}

/// A download during which sequence numbers wrap: segments 1, 3 and 5 are lost and retransmitted,
/// and 4 is retransmitted unnecessarily.
pub fn download(capture: &mut CaptureBuffer) {
    let place = capture.add_interface("cloud forward in").unwrap();
    let lossy = capture.add_drop_point("wan forward").unwrap();
    let flow = capture.add_flow("download", FlowNodes { opener: 1, listener: 0 }).unwrap();
    let initial = [SeqNr(u32::MAX), SeqNr(u32::MAX - 2_000)];
    let mut hand = Hand { capture, place, flow, initial, now: Time::ZERO };
    hand.open();
    let mut data = Vec::new();
    for n in 0..7 {
        data.push(hand.data(n));
    }
    hand.acknowledge(start(1), &[]);
    hand.acknowledge(start(1), &[(start(2), start(3))]);
    hand.acknowledge(start(1), &[(start(4), start(5)), (start(2), start(3))]);
    let blocks = [(start(6), start(7)), (start(4), start(5)), (start(2), start(3))];
    hand.acknowledge(start(1), &blocks);
    let again = [1, 3, 5, 4].map(|n| hand.data(n));
    hand.acknowledge(start(7), &[]);
    hand.acknowledge(start(7), &[(start(4), start(5))]);
    let closing = hand.close(start(7));

    for (n, reason) in [(1, DropReason::Queue), (3, DropReason::Channel), (5, DropReason::Script)] {
        capture.set_fate(data[n], Fate::Dropped { place: lossy, reason });
    }
    for packet in &again[..2] {
        capture.set_transmission(*packet, Transmission::Necessary);
    }
    capture.set_transmission(again[2], Transmission::Again);
    capture.set_transmission(again[3], Transmission::Unnecessary);
    capture.set_fate(closing, Fate::UnderWay);
}

/// A connection without options that is reset while data are in flight.
pub fn reset(capture: &mut CaptureBuffer) {
    let place = capture.add_interface("wan forward in").unwrap();
    let flow = capture.add_flow("refused", FlowNodes { opener: 1, listener: 0 }).unwrap();
    let initial = [SeqNr(10), SeqNr(20)];
    let mut hand = Hand { capture, place, flow, initial, now: Time::from_nanos(500_000) };
    hand.send(Side::Opener, Part { flags: Flags::SYN, ..Part::default() });
    hand.send(Side::Listener, Part { flags: SYN_ACK, ack: 1, ..Part::default() });
    let ack = Part { flags: ACK, position: 1, ack: 1, ..Part::default() };
    hand.send(Side::Opener, ack);
    hand.send(Side::Listener, Part { payload_bytes: 536, ..ack });
    hand.send(Side::Opener, Part { flags: RST_ACK, ack: 537, ..ack });
}
