//! *What it does.* First in, first out; a packet that finds no room is dropped.
//!
//! *Where we differ.* As in ns-2 and ns-3, the packet in transmission takes no room.

use super::{Occupancy, Queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out; what finds no room is dropped. Without a limit nothing is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Room for so many packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Room for so many bytes, link overhead not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A running queue.
#[derive(Debug, Clone)]
pub struct State {
    packets: u64,
    bytes: u64,
}

impl State {
    /// A queue with these limits.
    pub fn new(config: Config) -> Self {
        Self {
            packets: config.packets.unwrap_or(u64::MAX),
            bytes: config.bytes.unwrap_or(u64::MAX),
        }
    }
}

impl Queue for State {
    fn admits(&mut self, waiting: Occupancy, bytes: u32) -> bool {
        waiting.packets < self.packets && waiting.bytes.saturating_add(bytes.into()) <= self.bytes
    }
}
