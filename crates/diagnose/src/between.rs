//! Losses, delays and reordering between two captures of a flow.

use serde::Serialize;

/// Comparison of two captures of a flow.
#[derive(Debug, Clone, Serialize)]
pub struct CaptureComparison {
    /// File name of the capture nearer to the sender of the data. Frame numbers of the flow are
    /// those of this file.
    pub file: String,
    /// File name of the other capture.
    pub other_file: String,
    /// Time of the other capture's clock minus that of the first, in seconds. Both directions are
    /// assumed to have the same minimum delay.
    pub offset_s: f64,
    /// Largest error of the offset: half the minimum round trip between the captures.
    pub offset_error_s: f64,
    /// Skew of the other clock relative to the first, parts per million; none if unknown.
    pub skew_ppm: Option<f64>,
    /// Least round trip between the captures, seconds; it does not depend on the clocks.
    pub round_trip_min_s: f64,
    /// Path of the data, from sender to receiver.
    pub forward: OneWayComparison,
    /// Path of the acknowledgments.
    pub backward: OneWayComparison,
}

/// Packets of one direction between two captures.
#[derive(Debug, Clone, Default, Serialize)]
pub struct OneWayComparison {
    /// Packets that passed the first capture while the second was running.
    pub sent: u64,
    /// Packets that passed the second capture.
    pub arrived: u64,
    /// Number of the packets in `sent` that did not reach the second capture.
    pub lost: u64,
    /// Lost packets with data.
    pub lost_data: u64,
    /// Frame numbers, in the first capture, of the lost packets; at most the first thousand.
    pub lost_frames: Vec<u64>,
    /// Mean number of consecutive losses; 0 without losses.
    pub loss_run_mean: f64,
    /// Maximum number of consecutive losses.
    pub loss_run_max: u64,
    /// Segments that the second capture missed: they were acknowledged although that capture
    /// contains no copy of them.
    pub not_captured: u64,
    /// Packets that only the second capture contains.
    pub not_captured_before: u64,
    /// Number of extra copies of packets that the network made.
    pub duplicated: u64,
    /// Packets that arrived after a packet that was sent later.
    pub reordered: u64,
    /// Longest time by which a packet arrived after one that was sent later, seconds.
    pub late_max_s: f64,
    /// Delay above the minimum: median, seconds.
    pub queueing_median_s: f64,
    /// 95th percentile of the delay above the minimum, seconds.
    pub queueing_p95_s: f64,
    /// Maximum delay above the minimum, seconds.
    pub queueing_max_s: f64,
}
