//! Frames as channels and queues see them, and why one is lost.

/// A frame as a channel sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frame {
    /// Bytes of the IP packet in it.
    pub bytes: u32,
    /// The flow that it belongs to, by its index in the run.
    pub flow: u32,
    /// Position of its first payload byte in the stream: SYN 0, first byte of data 1.
    pub position: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
}

impl Frame {
    /// A frame that belongs to no flow: an acknowledgment of the link, say.
    pub const fn control(bytes: u32) -> Self {
        Self { bytes, flow: u32::MAX, position: u64::MAX, payload_bytes: 0 }
    }
}

/// Why a channel or a link loses a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Errors of the medium.
    Channel,
    /// A script said so.
    Script {
        /// The script stands for a full queue.
        as_congestion: bool,
    },
    /// The link has given up what the channel lost again and again. No model says so.
    RetryLimit,
}
