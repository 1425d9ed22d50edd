//! Captures made for tests: packets, encapsulations, files.

use retx_diagnose::packet::Packet;
use retx_diagnose::reader::Reader;

/// A frame to write.
#[derive(Debug, Clone)]
pub struct Written {
    pub time_ns: u64,
    pub interface: u32,
    pub original_bytes: u32,
    pub data: Vec<u8>,
}

/// Header of a segment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Header {
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub payload: u16,
    pub timestamps: Option<(u32, u32)>,
}

/// A TCP segment with `payload` zero bytes behind its header.
pub fn tcp(header: Header) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend([0x9c, 0x40, 0x13, 0x89]);
    bytes.extend(header.seq.to_be_bytes());
    bytes.extend(header.ack.to_be_bytes());
    let words = if header.timestamps.is_some() { 8 } else { 5 };
    bytes.extend([words << 4, header.flags, 1, 0, 0xab, 0xcd, 0, 0]);
    if let Some((value, echo)) = header.timestamps {
        bytes.extend([1, 1, 8, 10]);
        bytes.extend(value.to_be_bytes());
        bytes.extend(echo.to_be_bytes());
    }
    bytes.extend(std::iter::repeat_n(0, header.payload.into()));
    bytes
}

/// An IPv4 packet from 10.0.0.1 to 10.0.0.2.
pub fn ipv4(protocol: u8, body: &[u8]) -> Vec<u8> {
    let total = (20 + body.len()) as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend(total.to_be_bytes());
    bytes.extend([0x12, 0x34, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(body);
    bytes
}

/// An IPv6 packet, its next header as given.
pub fn ipv6(next: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend([next, 64]);
    bytes.extend([0xfd; 15]);
    bytes.push(1);
    bytes.extend([0xfd; 15]);
    bytes.push(2);
    bytes.extend(body);
    bytes
}

/// An Ethernet frame.
pub fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A file's byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    pub fn u16(self, number: u16) -> [u8; 2] {
        if self == Self::Big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    pub fn u32(self, number: u32) -> [u8; 4] {
        if self == Self::Big { number.to_be_bytes() } else { number.to_le_bytes() }
    }
}

/// A classic file of this magic number.
pub fn pcap(order: Order, magic: u32, link_type: u32, frames: &[Written]) -> Vec<u8> {
    let mut bytes = order.u32(magic).to_vec();
    bytes.extend(order.u16(2));
    bytes.extend(order.u16(4));
    for field in [0, 0, 65_535, link_type] {
        bytes.extend(order.u32(field));
    }
    for frame in frames {
        let fraction = frame.time_ns % 1_000_000_000;
        let fraction = if magic == 0xa1b2_3c4d { fraction } else { fraction / 1_000 };
        bytes.extend(order.u32((frame.time_ns / 1_000_000_000) as u32));
        bytes.extend(order.u32(fraction as u32));
        bytes.extend(order.u32(frame.data.len() as u32));
        bytes.extend(order.u32(frame.original_bytes));
        if magic == 0xa1b2_cd34 {
            bytes.extend([0; 8]);
        }
        bytes.extend(&frame.data);
    }
    bytes
}

/// A block of pcapng.
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32((padded + 12) as u32);
    let mut bytes = order.u32(kind).to_vec();
    bytes.extend(length);
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(length);
    bytes
}

/// A section header.
pub fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

/// An interface of Ethernet with this resolution and offset.
pub fn interface(order: Order, resolution: Option<u8>, offset_s: i64) -> Vec<u8> {
    let mut body = order.u16(1).to_vec();
    body.extend(order.u16(0));
    body.extend(order.u32(0));
    if let Some(code) = resolution {
        body.extend(order.u16(9));
        body.extend(order.u16(1));
        body.extend([code, 0, 0, 0]);
    }
    body.extend(order.u16(14));
    body.extend(order.u16(8));
    let offset = offset_s as u64;
    let halves = [(offset >> 32) as u32, offset as u32];
    let halves = if order == Order::Big { halves } else { [halves[1], halves[0]] };
    halves.iter().for_each(|half| body.extend(order.u32(*half)));
    body.extend([0; 4]);
    block(order, 1, &body)
}

/// An enhanced packet block; its time counts in the interface's units. It has a comment, which
/// must never be read.
pub fn enhanced(order: Order, units: u64, frame: &Written) -> Vec<u8> {
    let mut body = Vec::new();
    let fields = [
        frame.interface,
        (units >> 32) as u32,
        units as u32,
        frame.data.len() as u32,
        frame.original_bytes,
    ];
    fields.iter().for_each(|field| body.extend(order.u32(*field)));
    body.extend(&frame.data);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(order.u16(1));
    body.extend(order.u16(4));
    body.extend(b"lost");
    body.extend([0; 4]);
    block(order, 6, &body)
}

/// All that a file yields: segments with the original length of their frames, and the damage.
pub fn read(file: &[u8]) -> (Vec<(Packet, u32)>, Option<String>) {
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error.to_string())),
    };
    let mut packets = Vec::new();
    while let Some(frame) = reader.next_frame() {
        if let Ok(packet) = retx_diagnose::layers::decode(&frame) {
            packets.push((packet, frame.original_bytes));
        }
    }
    let damage = reader.damage().map(|it| format!("at {}: {}", it.offset, it.reason));
    (packets, damage)
}
