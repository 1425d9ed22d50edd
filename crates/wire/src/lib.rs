//! IPv4, TCP and UDP headers as small structs, decoded from bytes and encoded to bytes.

mod decode;
mod encode;
mod error;
mod options;
mod packet;
mod segment;

pub use decode::{DecodedPacket, decode_packet, verify_checksums};
pub use encode::encode_packet;
pub use error::WireError;
pub use options::EncodedOptions;
pub use packet::{Ecn, Endpoint, Ipv4Header, Packet, Transport, UDP_HEADER_BYTES, UdpHeader};
pub use segment::{
    Flags, IPV4_HEADER_BYTES, Options, PlainSegment, SackBlock, SackBlocks, Segment,
    TCP_HEADER_BYTES, TCP_OPTIONS_MAX_BYTES, Timestamps,
};
