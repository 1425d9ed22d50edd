//! Headers of IPv4 packets.

use crate::{IPV4_HEADER_BYTES, Segment};
use std::net::Ipv4Addr;

/// Length of a UDP header, bytes.
pub const UDP_HEADER_BYTES: u32 = 8;

/// Address and port of one end of a connection.
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
    /// ECN-incapable transport.
    #[default]
    NotEct,
    /// ECT(1).
    Ect1,
    /// ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// Fields of the IPv4 header that retx uses; the addresses are in [`Packet`]'s endpoints. The
/// header is encoded without options and with "don't fragment" set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ipv4Header {
    /// Identification field, which distinguishes copies of a packet in a capture.
    pub identification: u16,
    /// Time to live, hops.
    pub time_to_live: u8,
    /// The ECN field.
    pub ecn: Ecn,
}

/// UDP header; the ports are in [`Packet`]'s endpoints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct UdpHeader {
    /// Payload bytes.
    pub payload_bytes: u32,
}

/// Transport header of an IPv4 packet.
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
    /// Source address and port.
    pub source: Endpoint,
    /// Destination address and port.
    pub destination: Endpoint,
    /// IPv4 header.
    pub ip: Ipv4Header,
    /// Transport header.
    pub transport: Transport,
}

impl Packet {
    /// Payload bytes after all headers.
    pub const fn payload_bytes(&self) -> u32 {
        match &self.transport {
            Transport::Tcp(segment) => segment.payload_bytes,
            Transport::Udp(header) => header.payload_bytes,
        }
    }

    /// Length of the packet in bytes, headers included.
    pub const fn packet_bytes(&self) -> u32 {
        match &self.transport {
            Transport::Tcp(segment) => segment.packet_bytes(),
            Transport::Udp(header) => IPV4_HEADER_BYTES + UDP_HEADER_BYTES + header.payload_bytes,
        }
    }
}
