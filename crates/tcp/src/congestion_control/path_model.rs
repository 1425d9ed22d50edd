//! Information for congestion controls that model the path.

use retx_units::{Duration, Time};

/// Loss recovery phase of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No loss is being repaired.
    Open,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// Acknowledgment for congestion controls that model the path. Counts are in segments.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    /// Arrival time.
    pub now: Time,
    /// First unacknowledged position after this ACK.
    pub snd_una: u64,
    /// Segments newly delivered.
    pub delivered_segments: u64,
    /// True if both ends use SACK.
    pub is_selective: bool,
    /// End of the segment that was sent last among those newly delivered; known with SACK only.
    pub newest: Option<u64>,
    /// True if this ACK acknowledges less than a full segment.
    pub is_short: bool,
    /// Segments that this ACK marks lost.
    pub lost: u64,
    /// Segments marked lost since the start of the connection.
    pub lost_total: u64,
    /// Segments in flight before this ACK.
    pub flight_before: u64,
    /// Segments in flight after this ACK.
    pub flight: u64,
    /// Phase of the sender after this ACK.
    pub phase: Phase,
    /// Raw RTT sample of the connection.
    pub rtt: Option<Duration>,
    /// Smoothed RTT.
    pub srtt: Option<Duration>,
    /// Time for which pacing delays the next segment.
    pub pacing_delay: Duration,
}
