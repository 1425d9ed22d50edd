//! Results of relays, as `retx run --json` prints them.

use serde::Serialize;

/// Results of one relay, from the end of the warm-up on. Values that do not apply to its kind of
/// relay are 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct RelaySummary {
    pub name: String,
    pub kind: &'static str,
    pub node: String,
    /// Number of segments copied into the relay's cache.
    pub segments_cached: u64,
    /// Retransmissions triggered by duplicate ACKs.
    pub retransmissions_by_acks: u64,
    /// Retransmissions triggered by the timer.
    pub retransmissions_by_timer: u64,
    /// Segments given up after the maximum number of retransmissions.
    pub segments_given_up: u64,
    /// Duplicate ACKs absorbed.
    pub acks_suppressed: u64,
    /// Acknowledgments marked because they ask for a segment that was lost on the relay's hop.
    pub acks_marked: u64,
    /// Bytes read from one connection and written to another.
    pub bytes_relayed: u64,
    /// Time average of the bytes held by the relay; `None` if the run ended in its warm-up.
    pub buffer_mean_bytes: Option<f64>,
    pub buffer_max_bytes: u64,
    /// Bytes held by the relay at the end of the run.
    pub buffer_end_bytes: u64,
}
