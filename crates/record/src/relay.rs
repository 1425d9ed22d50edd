//! Results of relays, as `retx run --json` prints them.

use serde::Serialize;

/// Results of one relay, from the end of the warm-up on. What a kind does not do is 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct RelaySummary {
    pub name: String,
    pub kind: &'static str,
    pub node: String,
    /// Segments of which it kept a copy.
    pub segments_cached: u64,
    /// Copies that it sent: on duplicate acknowledgments, and by its timer.
    pub retransmissions_by_acks: u64,
    pub retransmissions_by_timer: u64,
    /// Segments that it gave up after as many copies as it may send.
    pub segments_given_up: u64,
    /// Duplicate acknowledgments that it absorbed.
    pub acks_suppressed: u64,
    /// Acknowledgments that it marked: what they ask for was lost on its hop.
    pub acks_marked: u64,
    /// Bytes that it read from one connection and passed on over another.
    pub bytes_relayed: u64,
    /// Mean number of bytes that it held; `None` if the run ended in its warm-up.
    pub buffer_mean_bytes: Option<f64>,
    pub buffer_max_bytes: u64,
    /// Held when the run ended.
    pub buffer_end_bytes: u64,
}
