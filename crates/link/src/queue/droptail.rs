//! *What it does.* First in, first out; a packet that finds no room is dropped.
//!
//! *Where we differ.* As in ns-2 and ns-3, the packet in transmission takes no room.

use super::{Exits, Fifo, Occupancy, Queue, Surroundings, Waiting};
use retx_units::Time;
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

impl Config {
    /// The room that there is.
    pub fn limits(&self) -> Limits {
        let packets = self.packets.and_then(|packets| packets.try_into().ok());
        Limits { packets: packets.unwrap_or(u32::MAX), bytes: self.bytes.unwrap_or(u64::MAX) }
    }
}

/// Room for packets, of which no queue holds 2³², and bytes. Each pipe has some: it is small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct Limits {
    packets: u32,
    bytes: u64,
}

impl Limits {
    /// True when there is room for so many bytes, and no more.
    pub const fn are_in_bytes(&self) -> bool {
        self.bytes != u64::MAX
    }

    /// True when a packet of `bytes` may join those that wait.
    #[inline]
    pub const fn admits(&self, waiting: Occupancy, bytes: u32) -> bool {
        waiting.packets < self.packets as u64
            && waiting.bytes.saturating_add(bytes as u64) <= self.bytes
    }
}

/// A running queue. A pipe needs none: it asks the limits alone, as arrival settles everything.
#[derive(Debug, Clone)]
pub struct State {
    limits: Limits,
    line: Fifo,
}

impl State {
    /// An empty queue with these limits.
    pub fn new(config: &Config, _: Surroundings) -> Self {
        Self { limits: config.limits(), line: Fifo::default() }
    }
}

impl Queue for State {
    fn enqueue(&mut self, _: Time, packet: &Waiting, _: &mut Exits) -> bool {
        let admitted = self.limits.admits(self.line.occupancy(), packet.frame.bytes);
        if admitted {
            self.line.push(packet);
        }
        admitted
    }

    fn dequeue(&mut self, _: Time, _: &mut Exits) -> Option<Waiting> {
        self.line.pop()
    }

    fn occupancy(&self) -> Occupancy {
        self.line.occupancy()
    }
}
