//! *What it does.* Measures the time that each packet has waited when it leaves the queue. Once
//! this delay has exceeded a target for an interval, CoDel drops (or marks) packets at the head of
//! the queue, at shorter and shorter intervals, until the delay falls below the target.
//!
//! *Reference.* Nichols, Jacobson, McGregor & Iyengar, RFC 8289 §5. Marks are as in Linux
//! (`codel_impl.h`), because the RFC does not specify them.
//!
//! *Equations.* After a drop at time t, the next drop is at t + interval/√count. A new dropping
//! state starts with count = 1. If the last dropping state ended less than 16 intervals ago, the
//! new one starts instead with the amount by which count grew in the last one.
//!
//! *Where we differ.* `maxpacket_`, the number of bytes up to which the queue counts as empty, is
//! the size of the largest packet so far, as in ns-2; Linux uses the MTU of the interface. The
//! square root is exact; Linux approximates it by Newton's method. A packet in transmission is not
//! in the queue.

use super::control::{Control, Law, Source};
use super::{Environment, Fifo, Occupancy, Queue, QueueActions, Waiting};
use crate::checked::checked;
use retx_units::{Duration, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drops packets at the head of the queue if the sojourn time has exceeded the target for an
/// interval (CoDel, RFC 8289).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Config {
    /// Acceptable standing queue delay.
    pub target: Duration,
    /// Time for which the delay may exceed the target; on the order of the largest usual RTT.
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Limit of the queue, in packets.
    pub packets: u64,
}

checked!(Config);

impl Default for Config {
    /// Target and interval of RFC 8289 §4.3 and §4.4; limit and `noecn` as in Linux.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            packets: 1000,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), String> {
        check_times(self.target, self.interval)?;
        check_capacity(self.packets)
    }
}

/// Checks that both times are above zero, and that the interval is at least the target.
pub(super) fn check_times(target: Duration, interval: Duration) -> Result<(), String> {
    if target.is_zero() {
        return Err(choice::error_at(
            "target",
            "0 s: any queue would be too long; RFC 8289 takes 5 ms",
        ));
    }
    if interval < target {
        let message = format!(
            "{interval} is less than target, {target}; RFC 8289 takes 100 ms, and 5 % of it as \
             target"
        );
        return Err(choice::error_at("interval", &message));
    }
    Ok(())
}

/// Checks that the queue can hold a packet, because each packet is queued before its transmission.
pub(super) fn check_capacity(packets: u64) -> Result<(), String> {
    if packets == 0 {
        return Err(choice::error_at("packets", "0: not a single packet would get through"));
    }
    Ok(())
}

/// CoDel queue: the waiting packets, and the state of the control law.
#[derive(Debug, Clone)]
pub struct State {
    law: Law,
    limit: u64,
    line: Fifo,
    control: Control,
}

impl State {
    /// Creates an empty queue.
    pub fn new(config: &Config, _: Environment) -> Self {
        let Config { target, interval, ecn, packets } = *config;
        Self {
            law: Law { target, interval, ecn },
            limit: packets,
            line: Fifo::default(),
            control: Control::default(),
        }
    }
}

impl Source for Fifo {
    fn pop(&mut self) -> Option<Waiting> {
        Fifo::pop(self)
    }

    fn bytes(&self) -> u64 {
        self.occupancy().bytes
    }
}

impl Queue for State {
    fn enqueue(&mut self, _: Time, packet: &Waiting, _: &mut QueueActions) -> bool {
        let room = self.line.occupancy().packets < self.limit;
        if room {
            self.line.push(packet);
        }
        room
    }

    fn dequeue(&mut self, now: Time, actions: &mut QueueActions) -> Option<Waiting> {
        self.control.dequeue(now, &self.law, &mut self.line, actions)
    }

    fn occupancy(&self) -> Occupancy {
        self.line.occupancy()
    }
}
