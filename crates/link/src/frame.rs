//! Frames as channels and queues see them, and reasons for losing one.

/// Frame as a channel sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Frame {
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// Index of its flow in the run.
    pub flow: u32,
    /// Stream position of the first payload byte: SYN 0, first byte of data 1.
    pub position: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
}

impl Frame {
    /// Frame that belongs to no flow, such as a link-layer acknowledgment.
    pub const fn control(bytes: u32) -> Self {
        Self { bytes, flow: u32::MAX, position: u64::MAX, payload_bytes: 0 }
    }
}

/// Reason why a channel or a link loses a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Errors of the medium.
    Channel,
    /// Named by a script.
    Script {
        /// True if the loss stands for a full queue.
        as_congestion: bool,
    },
    /// Above the rate of a policer.
    Policer,
    /// Given up by the link after the last retry. No channel model returns it.
    RetryLimit,
}
