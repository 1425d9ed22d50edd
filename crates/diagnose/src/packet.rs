//! TCP segment of a capture.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An IP address and a port.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// IP address; IPv4 addresses have the form ::ffff:a.b.c.d.
    pub address: [u8; 16],
    /// Port number.
    pub port: u16,
}

impl Endpoint {
    /// Endpoint with an IPv4 address.
    pub fn v4(address: [u8; 4], port: u16) -> Self {
        Self { address: Ipv4Addr::from(address).to_ipv6_mapped().octets(), port }
    }

    /// True for an IPv6 address.
    pub fn is_ipv6(self) -> bool {
        Ipv6Addr::from(self.address).to_ipv4_mapped().is_none()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from(self.address);
        match address.to_ipv4_mapped() {
            Some(address) => write!(formatter, "{address}:{}", self.port),
            None => write!(formatter, "[{address}]:{}", self.port),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// SACK blocks of an acknowledgment, in their order: the first may be a DSACK.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    count: u8,
}

impl SackBlocks {
    /// Adds a block. A fifth block is ignored, because no header has room for it.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(free) = self.blocks.get_mut(usize::from(self.count)) {
            *free = (left, right);
            self.count += 1;
        }
    }

    /// SACK blocks, each as left and right edge.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Options of a segment; none for an option that the segment lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale, at most 14 (RFC 7323 §2.3).
    pub window_scale: Option<u8>,
    /// SACK is permitted.
    pub sack_permitted: bool,
    /// `TSval` and `TSecr`.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks of the segment.
    pub sack: SackBlocks,
    /// True if the capture truncated the options.
    pub is_truncated: bool,
}

/// The control bits FIN, SYN, RST, PSH, ACK, URG, ECE and CWR.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ControlBits(pub u8);

impl ControlBits {
    /// Control bit FIN.
    pub const FIN: u8 = 1;
    /// Control bit SYN.
    pub const SYN: u8 = 2;
    /// Control bit RST.
    pub const RST: u8 = 4;
    /// Control bit PSH.
    pub const PSH: u8 = 8;
    /// Control bit ACK.
    pub const ACK: u8 = 16;
    /// ECN echo.
    pub const ECE: u8 = 64;
    /// Congestion window reduced.
    pub const CWR: u8 = 128;

    /// True if one of these bits is set.
    pub const fn any(self, bits: u8) -> bool {
        self.0 & bits != 0
    }
}

/// TCP segment of a capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packet {
    /// Number of the frame in the file, from 1.
    pub number: u64,
    /// Nanoseconds since 1970-01-01 00:00:00 UTC.
    pub time_ns: i64,
    /// End that sent the packet.
    pub source: Endpoint,
    /// Destination of the packet.
    pub destination: Endpoint,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Payload bytes according to the IP header, even if fewer were captured.
    pub payload_bytes: u32,
    /// The window field, not scaled.
    pub window: u16,
    /// IP identification; 0 in IPv6.
    pub ip_id: u16,
    /// TCP checksum; 0 if the header was cut before it.
    pub checksum: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The ECN field of the IP header.
    pub ecn: u8,
    /// Control bits.
    pub control: ControlBits,
    /// Number of the interface in the file, from 0.
    pub interface: u32,
    /// Fingerprint of the link-layer headers of the packet, such as addresses and tags.
    pub link_fingerprint: u32,
    /// Options, as far as they were captured.
    pub options: Options,
}

impl Packet {
    /// Sequence space: payload, SYN and FIN.
    pub const fn seq_len(&self) -> u32 {
        self.payload_bytes
            + self.control.any(ControlBits::SYN) as u32
            + self.control.any(ControlBits::FIN) as u32
    }
}
