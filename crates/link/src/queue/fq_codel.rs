//! *What it does.* Assigns each flow to one of many queues by a hash, and serves the queues by
//! deficit round robin, queues of new flows first. Each queue has its own CoDel. If all queues
//! together exceed the limit, packets of the longest queue are dropped.
//!
//! *Reference.* Høiland-Jørgensen, McKenney, Täht, Gettys & Dumazet, RFC 8290 §4. Details that the
//! RFC leaves open are as in Linux (`sch_fq_codel.c`).
//!
//! *Equations.* A queue may send while its deficit is above 0. Each turn adds a quantum to the
//! deficit, and each packet sent subtracts its bytes. Above the limit, packets are dropped from the
//! head of the queue with the most bytes, until half of its bytes or 64 packets are gone (§4.1). As
//! in Linux, these drops are added to the count of that queue's CoDel.
//!
//! *Where we differ.* A flow is a flow of the run, not a tuple of addresses and ports; its index is
//! hashed with a random number drawn at the start (§4.1.1). CoDel's rule that a single packet is no
//! standing queue is applied to all queues together, as in Linux. Linux's memory limit is omitted.

use super::control::{Control, Law, Source};
use super::{Environment, Fifo, Occupancy, Queue, QueueActions, Waiting, codel};
use crate::checked::checked;
use crate::ring::Ring;
use retx_units::{Duration, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A CoDel queue for each flow, served in turn (RFC 8290).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Config {
    /// CoDel: acceptable standing queue delay.
    pub target: Duration,
    /// CoDel: time for which the delay may exceed the target.
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Bytes that a queue may send per round.
    pub quantum: u32,
    /// Number of queues, at most 65536.
    pub flows: u32,
    /// Limit of all queues together, in packets.
    pub packets: u64,
}

checked!(Config);

/// Maximum number of packets dropped at once when the limit is exceeded (RFC 8290 §4.1).
const BATCH_MAX: u32 = 64;

impl Default for Config {
    /// Defaults of RFC 8290 §5.2.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            quantum: 1514,
            flows: 1024,
            packets: 10_240,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), String> {
        codel::check_times(self.target, self.interval)?;
        codel::check_capacity(self.packets)?;
        if !(1..=65_536).contains(&self.flows) {
            let message = format!("{} lies outside 1 … 65536 lines", self.flows);
            return Err(choice::error_at("flows", &message));
        }
        if !(1..=1_000_000).contains(&self.quantum) {
            let message = format!("{} lies outside 1 … 1000000 bytes", self.quantum);
            return Err(choice::error_at("quantum", &message));
        }
        Ok(())
    }
}

/// Queue of one flow, or of several flows with the same hash.
#[derive(Debug, Clone, Default)]
struct Line {
    packets: Fifo,
    control: Control,
    credit: i64,
    /// True if the queue is in one of the lists `new` and `old`.
    listed: bool,
}

/// Queue of a flow as its CoDel sees it: packets are taken from this queue alone, but the bytes of
/// all queues are counted.
struct Turn<'a> {
    packets: &'a mut Fifo,
    all: &'a mut Occupancy,
}

impl Source for Turn<'_> {
    fn pop(&mut self) -> Option<Waiting> {
        let packet = self.packets.pop()?;
        self.all.packets -= 1;
        self.all.bytes -= u64::from(packet.frame.bytes);
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.all.bytes
    }
}

/// Queues of all flows, and the lists in which they take turns.
#[derive(Debug, Clone)]
pub struct State {
    law: Law,
    quantum: i64,
    limit: u64,
    perturbation: u64,
    lines: Vec<Line>,
    /// Queues of new flows.
    new: Ring<u32>,
    /// Queues whose flows are no longer new.
    old: Ring<u32>,
    all: Occupancy,
}

impl State {
    /// Creates an empty queue.
    pub fn new(config: &Config, mut environment: Environment) -> Self {
        let Config { target, interval, ecn, quantum, flows, packets } = *config;
        Self {
            law: Law { target, interval, ecn },
            quantum: quantum.into(),
            limit: packets,
            perturbation: environment.random_stream.next_u64(),
            lines: vec![Line::default(); flows as usize],
            new: Ring::default(),
            old: Ring::default(),
            all: Occupancy::default(),
        }
    }

    /// Index of a flow's queue.
    fn line_of(&self, flow: u32) -> u32 {
        // The finaliser of MurmurHash3, in which every input bit affects every output bit. Its last
        // step is omitted, because it changes only the lowest 31 bits, whereas the highest bits
        // select the queue.
        let mut hash = u64::from(flow) ^ self.perturbation;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        ((u128::from(hash) * self.lines.len() as u128) >> 64) as u32
    }

    /// Drops packets at the head of the queue with the most bytes: half of its bytes, but at most
    /// [`BATCH_MAX`] packets.
    #[cold]
    fn shorten_the_longest(&mut self, actions: &mut QueueActions) {
        let bytes = |line: &Line| line.packets.occupancy().bytes;
        let mut longest = 0;
        for (index, line) in self.lines.iter().enumerate() {
            if bytes(line) > bytes(&self.lines[longest]) {
                longest = index;
            }
        }
        let line = &mut self.lines[longest];
        let enough = bytes(line) / 2;
        let (mut gone, mut count) = (0, 0);
        let mut turn = Turn { packets: &mut line.packets, all: &mut self.all };
        while count == 0 || count < BATCH_MAX && gone < enough {
            let Some(packet) = turn.pop() else { break };
            actions.drop(packet.id);
            gone += u64::from(packet.frame.bytes);
            count += 1;
        }
        line.control.count = line.control.count.saturating_add(count);
    }
}

impl Queue for State {
    fn enqueue(&mut self, _: Time, packet: &Waiting, actions: &mut QueueActions) -> bool {
        let index = self.line_of(packet.frame.flow);
        let line = &mut self.lines[index as usize];
        line.packets.push(packet);
        self.all.packets += 1;
        self.all.bytes += u64::from(packet.frame.bytes);
        if !line.listed {
            line.listed = true;
            line.credit = self.quantum;
            self.new.push_back(index);
        }
        if self.all.packets > self.limit {
            self.shorten_the_longest(actions);
        }
        true
    }

    /// Dequeues by the algorithm of RFC 8290 §4.2.
    fn dequeue(&mut self, now: Time, actions: &mut QueueActions) -> Option<Waiting> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let line = &mut self.lines[index as usize];
            if line.credit <= 0 {
                line.credit += self.quantum;
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let mut turn = Turn { packets: &mut line.packets, all: &mut self.all };
            if let Some(packet) = line.control.dequeue(now, &self.law, &mut turn, actions) {
                line.credit -= i64::from(packet.frame.bytes);
                return Some(packet);
            }
            // An empty queue leaves its list. From the list of new queues it first moves to the end
            // of the old ones; otherwise its flow could become new again at once.
            list.pop_front();
            if is_new && !self.old.is_empty() {
                self.old.push_back(index);
            } else {
                line.listed = false;
            }
        }
    }

    fn occupancy(&self) -> Occupancy {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::queue::QueueAction;
    use retx_units::StreamKey;

    /// The expected numbers are the upper 16 bits of MurmurHash3's 64-bit finaliser (`fmix64`),
    /// computed independently of this code.
    #[test]
    fn lines_are_those_of_the_hash() {
        let random_stream = StreamKey { seed: 9, replication: 0 }.stream("fq");
        let config = Config { flows: 65_536, ..Config::default() };
        let mut state = State::new(&config, Environment { random_stream, rate: None, overhead: 0 });
        for (perturbation, lines) in [(0, [46_166, 15_039]), (3, [15_039, 46_166])] {
            state.perturbation = perturbation;
            assert_eq!([1, 2].map(|flow| state.line_of(flow)), lines);
        }
    }

    /// If several queues have the most bytes, packets of the first of them are dropped, as in Linux
    /// (`fq_codel_drop`).
    #[test]
    fn the_first_of_the_longest_queues_is_shortened() {
        let random_stream = StreamKey { seed: 9, replication: 0 }.stream("fq");
        let environment = Environment { random_stream, rate: None, overhead: 0 };
        let config = Config { packets: 1, ..Config::default() };
        for arrivals in [[1, 2], [2, 1]] {
            let mut state = State::new(&config, environment.clone());
            let first = [1, 2].into_iter().min_by_key(|flow| state.line_of(*flow));
            assert_ne!(state.line_of(1), state.line_of(2));
            let mut actions = QueueActions::default();
            for flow in arrivals {
                let frame = Frame { bytes: 100, flow, ..Frame::default() };
                let since = Time::ZERO;
                let packet = Waiting { id: flow, frame, ecn_capable: false, to: 0, since };
                assert!(state.enqueue(since, &packet, &mut actions));
            }
            assert_eq!(actions.pop(), first.map(QueueAction::Dropped));
            assert_eq!(actions.pop(), None);
        }
    }
}
