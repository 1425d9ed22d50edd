//! Drops by reason, in the summary of a run.

use serde::Serialize;

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct DropSummary {
    pub queue: u64,
    pub channel: u64,
    pub retry_limit: u64,
    pub script: u64,
}
