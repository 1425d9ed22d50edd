//! Relays that look into the segments that pass a node before a hop that loses packets: [`snoop`]
//! repairs losses, [`notice`] tells senders of them.
//!
//! A relay takes no time and holds no packet up: a segment that comes is passed on at once, or an
//! acknowledgment is absorbed. What it keeps are copies, which the caller makes and names: told to
//! [`Verdict::Keep`] a segment it hands one in ([`Relay::keep`]); [`Order`]s say what is to be done
//! with them.

pub mod notice;
pub mod snoop;

use crate::relay::notice::{Notice, Side};
use retx_units::Time;
use retx_wire::Segment;
use snoop::Snoop;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a relay does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Config {
    /// Repairs losses of data towards the mobile, and tells of those from there.
    Snoop(snoop::Config),
    /// Tells of losses in both directions.
    Eln,
}

/// A segment that comes by.
#[derive(Debug, Clone, Copy)]
pub struct Passing<'a> {
    /// Which flow it belongs to.
    pub flow: u32,
    /// Whether the flow's data leave over the hop, or come from there.
    pub side: Side,
    /// It goes where the flow's data go; else with their acknowledgments.
    pub with_data: bool,
    /// Its header.
    pub segment: &'a Segment,
}

/// What becomes of a segment that comes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It goes on, and a copy of it is to be handed in.
    Keep,
    /// It goes on, with the mark that what it asks for was lost on the hop.
    Mark,
    /// An acknowledgment that goes no further.
    Absorb,
}

/// What is to be done with a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A copy of it goes out over the hop.
    Send(u32),
    /// It is not needed any more.
    Forget(u32),
}

/// What a relay has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments of which a copy was kept.
    pub segments_cached: u64,
    /// Copies sent on duplicate acknowledgments.
    pub repeated_by_acks: u64,
    /// Copies sent by the timer.
    pub repeated_by_timer: u64,
    /// Segments given up after as many copies as it may send.
    pub given_up: u64,
    /// Duplicate acknowledgments absorbed.
    pub acks_suppressed: u64,
    /// Acknowledgments marked.
    pub acks_marked: u64,
    /// Copies let go.
    pub forgotten: u64,
}

/// The bytes that a relay holds, over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Now.
    pub bytes: u64,
    /// At most.
    pub max: u64,
    /// Bytes × nanoseconds, up to when it was last settled.
    pub integral: u128,
    since: Time,
}

impl Occupancy {
    fn settle(&mut self, now: Time) {
        self.integral += u128::from(self.bytes) * u128::from(now.since(self.since).as_nanos());
        self.since = now;
    }

    fn set(&mut self, now: Time, bytes: u64) {
        self.settle(now);
        self.bytes = bytes;
        self.max = self.max.max(bytes);
    }
}

/// What there is of one flow.
#[derive(Debug, Clone)]
enum Agent {
    Snoop(Snoop),
    Notice(Notice),
}

/// A flow's agent, and when the relay will look at it.
#[derive(Debug, Clone)]
struct Served {
    agent: Agent,
    pending: Time,
}

/// A running relay.
#[derive(Debug, Clone)]
pub struct Relay {
    config: Config,
    /// By the number of the flow.
    flows: Vec<Option<Box<Served>>>,
    /// Agents that want to be woken: when at the earliest, and whose. One event of each counts.
    wakes: BinaryHeap<Reverse<(Time, u32)>>,
    orders: VecDeque<Order>,
    /// Whose copy is to be handed in.
    asked: Option<u32>,
    counters: Counters,
    occupancy: Occupancy,
}

impl Relay {
    /// A relay that has seen nothing.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            flows: Vec::new(),
            wakes: BinaryHeap::new(),
            orders: VecDeque::new(),
            asked: None,
            counters: Counters::default(),
            occupancy: Occupancy::default(),
        }
    }

    /// A segment comes by.
    pub fn handle_packet(&mut self, now: Time, passing: &Passing<'_>) -> Verdict {
        let config = &self.config;
        let index = passing.flow as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, None);
        }
        let served = self.flows[index].get_or_insert_with(|| {
            let agent = match (config, passing.side) {
                (Config::Snoop(config), Side::Toward) => Agent::Snoop(Snoop::new(config)),
                (_, side) => Agent::Notice(Notice::new(side)),
            };
            Box::new(Served { agent, pending: Time::NEVER })
        });
        let orders = &mut self.orders;
        let verdict = match &mut served.agent {
            Agent::Notice(notice) => notice.on_segment(passing.with_data, passing.segment),
            Agent::Snoop(snoop) => {
                let mut tools = snoop::Tools { now, orders, counters: &mut self.counters };
                let held = snoop.held_bytes();
                let verdict = snoop.on_segment(passing, &mut tools);
                let bytes = self.occupancy.bytes - held + snoop.held_bytes();
                self.occupancy.set(now, bytes);
                verdict
            }
        };
        match verdict {
            Verdict::Keep => {
                self.asked = Some(passing.flow);
                self.counters.segments_cached += 1;
            }
            Verdict::Mark => self.counters.acks_marked += 1,
            Verdict::Absorb => self.counters.acks_suppressed += 1,
            Verdict::Pass => {}
        }
        self.schedule(passing.flow);
        verdict
    }

    /// The copy that was asked for.
    ///
    /// # Panics
    /// When none was.
    pub fn keep(&mut self, id: u32) {
        let flow = self.asked.take().expect("a copy is handed in when one is asked for");
        let Some(Agent::Snoop(snoop)) = self.agent(flow) else {
            unreachable!("only snoop keeps copies");
        };
        snoop.keep(id);
    }

    fn agent(&mut self, flow: u32) -> Option<&mut Agent> {
        self.flows.get_mut(flow as usize)?.as_mut().map(|served| &mut served.agent)
    }

    /// The queue of the hop has dropped a segment of the data: that is congestion, and the sender
    /// has to learn of it.
    pub fn on_queue_drop(&mut self, now: Time, passing: &Passing<'_>) {
        if !passing.with_data {
            return;
        }
        match self.flows[passing.flow as usize].as_mut().map(|served| &mut served.agent) {
            Some(Agent::Notice(notice)) => notice.on_queue_drop(passing.segment),
            Some(Agent::Snoop(snoop)) => {
                let tools = &mut snoop::Tools {
                    now,
                    orders: &mut self.orders,
                    counters: &mut self.counters,
                };
                let held = snoop.held_bytes();
                snoop.on_queue_drop(passing.segment, tools);
                let bytes = self.occupancy.bytes - held + snoop.held_bytes();
                self.occupancy.set(now, bytes);
            }
            None => {}
        }
    }

    /// What is to be done now, until `None`.
    pub fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// When it wants to be woken.
    pub fn poll_timeout(&self) -> Time {
        self.wakes.peek().map_or(Time::NEVER, |Reverse((time, _))| *time)
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(Reverse((time, flow))) = self.wakes.peek().copied()
            && time <= now
        {
            self.wakes.pop();
            let Some(served) = self.flows[flow as usize].as_mut() else { continue };
            if served.pending != time {
                continue;
            }
            served.pending = Time::NEVER;
            if let Agent::Snoop(snoop) = &mut served.agent {
                let tools = &mut snoop::Tools {
                    now,
                    orders: &mut self.orders,
                    counters: &mut self.counters,
                };
                let held = snoop.held_bytes();
                snoop.on_timer(tools);
                let bytes = self.occupancy.bytes - held + snoop.held_bytes();
                self.occupancy.set(now, bytes);
            }
            self.schedule(flow);
        }
    }

    /// An agent's deadline may have moved. One that has moved back is looked at again when its
    /// event comes.
    fn schedule(&mut self, flow: u32) {
        let Some(served) = self.flows[flow as usize].as_mut() else { return };
        let Agent::Snoop(snoop) = &served.agent else { return };
        let deadline = snoop.deadline();
        if deadline < served.pending {
            served.pending = deadline;
            self.wakes.push(Reverse((deadline, flow)));
        }
    }

    /// What has been counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// What it has held up to now.
    pub fn occupancy(&self, now: Time) -> Occupancy {
        let mut occupancy = self.occupancy;
        occupancy.settle(now);
        occupancy
    }

    /// Copies that it holds.
    pub const fn held(&self) -> u64 {
        self.counters.segments_cached - self.counters.forgotten
    }

    /// Forgets maxima: they are those from now on.
    pub const fn restart_maxima(&mut self) {
        self.occupancy.max = self.occupancy.bytes;
    }
}
