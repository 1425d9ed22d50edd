//! IPv4 packets: what their headers say.

use crate::{IPV4_HEADER_BYTES, Segment};
use std::net::Ipv4Addr;

/// A UDP header.
pub const UDP_HEADER_BYTES: u32 = 8;

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// TCP or UDP port.
    pub port: u16,
}

/// The ECN field of an IP header (RFC 3168 §5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(1).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// What retx uses of an IPv4 header, the addresses aside: those are in [`Packet`]'s endpoints.
/// Written without options and with "don't fragment" set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv4Header {
    /// Identification: tells copies of a packet apart in a capture.
    pub identification: u16,
    /// Hops left.
    pub time_to_live: u8,
    /// The ECN field.
    pub ecn: Ecn,
}

/// What a UDP header says, the ports aside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct UdpHeader {
    /// Payload bytes.
    pub payload_bytes: u32,
}

/// What an IPv4 packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// A TCP segment.
    Tcp(Segment),
    /// A UDP datagram.
    Udp(UdpHeader),
}

/// The headers of an IPv4 packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Packet {
    /// Who sends it.
    pub source: Endpoint,
    /// Who is to have it.
    pub destination: Endpoint,
    /// The rest of the IPv4 header.
    pub ip: Ipv4Header,
    /// What it carries.
    pub transport: Transport,
}

impl Packet {
    /// Payload bytes, behind all headers.
    pub const fn payload_bytes(&self) -> u32 {
        match &self.transport {
            Transport::Tcp(segment) => segment.payload_bytes,
            Transport::Udp(header) => header.payload_bytes,
        }
    }

    /// Bytes of the packet, headers and payload.
    pub const fn packet_bytes(&self) -> u32 {
        match &self.transport {
            Transport::Tcp(segment) => segment.packet_bytes(),
            Transport::Udp(header) => IPV4_HEADER_BYTES + UDP_HEADER_BYTES + header.payload_bytes,
        }
    }
}
