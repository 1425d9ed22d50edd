//! Frames as channels and queues see them, and the reasons why frames are lost.

/// Frame as a channel sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frame {
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// Index of the frame's flow in the run.
    pub flow: u32,
    /// Stream position of the first payload byte: SYN 0, first byte of data 1.
    pub position: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
}

impl Frame {
    /// Frame of `bytes` that belongs to no flow, such as a link-layer acknowledgment.
    pub const fn control(bytes: u32) -> Self {
        Self { bytes, flow: u32::MAX, position: u64::MAX, payload_bytes: 0 }
    }
}

/// Reason why a channel or a link loses a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Errors of the medium.
    Channel,
    /// The frame is listed in a script.
    Script {
        /// True if the loss represents a drop by a full queue.
        as_congestion: bool,
    },
    /// The frame exceeds the rate of a policer.
    Policer,
    /// The link has given the frame up after its last retry. No channel model returns this.
    RetryLimit,
}
