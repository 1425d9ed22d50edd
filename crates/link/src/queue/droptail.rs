//! *What it does.* First in, first out; a packet that arrives at a full queue is dropped.
//!
//! *Where we differ.* As in ns-2 and ns-3, the packet in transmission is not counted in the queue.

use super::{Environment, Fifo, Occupancy, Queue, QueueActions, Waiting};
use retx_units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// First in, first out; packets that find the queue full are dropped. Unlimited by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Limit of the queue, in packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Limit of the queue, in bytes of IP packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Config {
    /// Limits of the queue in packets and bytes; the largest numbers if unlimited.
    pub fn limits(&self) -> Limits {
        let packets = self.packets.and_then(|packets| packets.try_into().ok());
        Limits { packets: packets.unwrap_or(u32::MAX), bytes: self.bytes.unwrap_or(u64::MAX) }
    }
}

/// Limits in packets (below 2³²) and in bytes. The struct is packed to save memory, because each
/// pipe has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, packed(4))]
pub struct Limits {
    packets: u32,
    bytes: u64,
}

impl Limits {
    /// True if the queue has a limit in bytes.
    pub const fn are_in_bytes(&self) -> bool {
        self.bytes != u64::MAX
    }

    /// True if a packet of `bytes` may join the waiting packets.
    #[inline]
    pub const fn admits(&self, waiting: Occupancy, bytes: u32) -> bool {
        waiting.packets < self.packets as u64
            && waiting.bytes.saturating_add(bytes as u64) <= self.bytes
    }
}

/// Running queue. Pipes do not use it: with droptail they check only the limits, because the
/// departure of an admitted packet is known when it arrives.
#[derive(Debug, Clone)]
pub struct State {
    limits: Limits,
    line: Fifo,
}

impl State {
    /// Creates an empty queue with these limits.
    pub fn new(config: &Config, _: Environment) -> Self {
        Self { limits: config.limits(), line: Fifo::default() }
    }

    /// Packet that will be removed next.
    pub fn first(&self) -> Option<&Waiting> {
        self.line.first()
    }
}

impl Queue for State {
    fn enqueue(&mut self, _: Time, packet: &Waiting, _: &mut QueueActions) -> bool {
        let admitted = self.limits.admits(self.line.occupancy(), packet.frame.bytes);
        if admitted {
            self.line.push(packet);
        }
        admitted
    }

    fn dequeue(&mut self, _: Time, _: &mut QueueActions) -> Option<Waiting> {
        self.line.pop()
    }

    fn occupancy(&self) -> Occupancy {
        self.line.occupancy()
    }
}
