//! Data being sent, as the decisions of a sender receive it.

use retx_units::Time;

/// Data being sent.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Time of sending.
    pub now: Time,
    /// Position of the first byte.
    pub position: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// Data in flight, including the data being sent, bytes.
    pub flight_size: u64,
    /// True for a retransmission.
    pub retransmission: bool,
}
