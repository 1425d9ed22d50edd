//! Results of relays, as `retx run --json` prints them.

use serde::Serialize;

/// Results of one relay, from the end of the warm-up on. What a kind does not do is 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct RelaySummary {
    pub name: String,
    pub kind: &'static str,
    pub node: String,
    /// Bytes that it read from one connection and passed on over another.
    pub bytes_relayed: u64,
    /// Mean number of bytes that it held.
    pub buffer_mean_bytes: f64,
    pub buffer_max_bytes: u64,
    /// Held when the run ended.
    pub buffer_end_bytes: u64,
}
