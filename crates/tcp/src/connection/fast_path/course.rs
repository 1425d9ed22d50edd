//! Fast paths that are open.

/// Fast paths that are open.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::connection) struct Course {
    /// True if the options negotiated in the handshake permit fast paths.
    pub plain: bool,
    /// True if they permit those of `detailed`.
    pub detailed: bool,
    /// True if a component has to observe each acknowledgment and each transmission.
    pub observed: bool,
    pub sending: Sending,
    pub receiving: Receiving,
}

/// Fast path for acknowledgments, and for new data to send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::connection) enum Sending {
    /// None.
    #[default]
    General,
    /// For acknowledgments of new data, and for new data.
    Plain,
    /// In a recovery: for duplicate ACKs, and for new data.
    Repair,
    /// As `Plain`, with more to do for each segment.
    Detailed,
}

/// Fast path for data that arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::connection) enum Receiving {
    /// None.
    #[default]
    General,
    /// For the next data in order.
    Next,
    /// For data beyond a gap, and for their acknowledgments.
    BeyondGap,
    /// As `Next`, with more to do for each segment.
    Detailed,
}
