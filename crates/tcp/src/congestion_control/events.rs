//! Events of a sender, as congestion controls receive them.

use retx_units::{Duration, Time};

/// An acknowledgment.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// Arrival time.
    pub now: Time,
    /// Bytes acknowledged for the first time; 0 for a duplicate ACK.
    pub bytes_acked: u64,
    /// Bytes newly delivered: acknowledged or selectively acknowledged for the first time. A
    /// duplicate ACK without SACK counts as one SMSS.
    pub delivered: u64,
    /// Bytes in flight just before this acknowledgment arrived.
    pub flight_size: u64,
    /// Raw RTT sample, if any.
    pub rtt: Option<Duration>,
    /// Smoothed RTT, this sample included.
    pub srtt: Option<Duration>,
    /// First unacknowledged position after this ACK.
    pub snd_una: u64,
    /// Next position to send.
    pub snd_nxt: u64,
    /// True if the congestion window limits the sender according to `cwnd_validation`. If false,
    /// the connection reverts any growth.
    pub cwnd_limited: bool,
    /// True in fast recovery and in the recovery after a timeout.
    pub in_recovery: bool,
    /// The receiver's timestamp clock when it acknowledged new data; `None` without timestamps.
    /// Only differences are meaningful, in steps of the clock.
    pub receiver_time: Option<Duration>,
}

/// Loss attributed to congestion.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// Time of detection.
    pub now: Time,
    /// Data in flight at detection (FlightSize of RFC 5681 §2, without data sent by limited
    /// transmit), at most `cwnd`.
    pub flight_size: u64,
    /// First unacknowledged position.
    pub snd_una: u64,
    /// Position after the last one ever sent.
    pub snd_max: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
}

/// End of the handshake.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Time at which the handshake ended.
    pub now: Time,
    /// RTT of the handshake; `None` if it was not measured.
    pub rtt: Option<Duration>,
    /// True if [`super::CongestionControl::on_segments_acked`] will be called before each
    /// [`super::CongestionControl::observe`]: the algorithm then need not time segments itself.
    pub samples_segments: bool,
    /// Number derived from both ends' initial sequence numbers, for algorithms that must behave
    /// differently on different connections.
    pub identity: u64,
}
