//! What a packet says: small structs for the meaning of IPv4, TCP and UDP headers, and their
//! translation to and from the bytes that Wireshark and the kernel read.

mod segment;

pub use segment::{
    Flags, IPV4_HEADER_BYTES, Options, SackBlock, SackBlocks, Segment, TCP_HEADER_BYTES, Timestamps,
};
