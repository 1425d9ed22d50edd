//! Relays: agents at a node next to a lossy hop, which inspect the segments of flows. [`snoop`]
//! repairs losses, and [`eln`] reports them to senders.
//!
//! A relay adds no delay: it forwards a segment at once, or absorbs an acknowledgment. The caller
//! makes the copies of segments that the relay holds. After [`Verdict::Keep`] the caller makes a
//! copy and reports its id ([`Relay::cache_copy`]). Later a [`CopyAction`] requests that the caller
//! send or free the copy.

pub mod eln;
pub mod snoop;

use crate::relay::eln::{ElnObserver, Side};
use retx_units::Time;
use retx_wire::Segment;
use snoop::Snoop;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Kinds of relays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Config {
    /// Retransmits lost data towards the mobile, and reports lost data from the mobile.
    Snoop(snoop::Config),
    /// Reports losses in both directions.
    Eln,
}

/// Segment that passes the relay.
#[derive(Debug, Clone, Copy)]
pub struct PassingSegment<'a> {
    /// Flow of the segment.
    pub flow: u32,
    /// Side of the lossy hop on which the flow's data sender is.
    pub side: Side,
    /// True in the direction of the flow's data, false in that of its acknowledgments.
    pub with_data: bool,
    /// TCP header.
    pub segment: &'a Segment,
}

/// Decision about a passing segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Forward the segment.
    Pass,
    /// Forward the segment, keep a copy of it, and tell the relay the id of the copy.
    Keep,
    /// Forward the acknowledgment with a mark: the segment that it asks for was lost on the lossy
    /// hop.
    Mark,
    /// Absorb the acknowledgment.
    Absorb,
}

/// Action on the copy with this id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyAction {
    /// Send the segment over the lossy hop once more, from this copy.
    Send(u32),
    /// Free the copy.
    Forget(u32),
}

/// Counters of a relay, from the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments copied.
    pub segments_cached: u64,
    /// Copies sent because of duplicate acknowledgments.
    pub repeated_by_acks: u64,
    /// Copies sent because the timer expired.
    pub repeated_by_timer: u64,
    /// Segments given up after the maximum number of copies had been sent.
    pub given_up: u64,
    /// Duplicate acknowledgments absorbed.
    pub acks_suppressed: u64,
    /// Acknowledgments marked.
    pub acks_marked: u64,
    /// Copies freed.
    pub forgotten: u64,
}

/// Bytes held by a relay over time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Bytes held now.
    pub bytes: u64,
    /// Maximum number of bytes held.
    pub max: u64,
    /// Integral of the bytes held over time, up to the last update, in byte-nanoseconds.
    pub integral: u128,
    since: Time,
}

impl Occupancy {
    fn advance_to(&mut self, now: Time) {
        self.integral += u128::from(self.bytes) * u128::from(now.since(self.since).as_nanos());
        self.since = now;
    }

    fn set(&mut self, now: Time, bytes: u64) {
        self.advance_to(now);
        self.bytes = bytes;
        self.max = self.max.max(bytes);
    }
}

/// Agent of one flow.
#[derive(Debug, Clone)]
enum Agent {
    Snoop(Snoop),
    Eln(ElnObserver),
}

/// Agent of a flow, and its deadline as entered in the heap.
#[derive(Debug, Clone)]
struct Served {
    agent: Agent,
    pending: Time,
}

/// Relay during a run: the agents of its flows, and their deadlines.
#[derive(Debug, Clone)]
pub struct Relay {
    config: Config,
    /// Agents by flow index.
    flows: Vec<Option<Box<Served>>>,
    /// Deadlines of agents, earliest first. An entry that does not match the agent's deadline any
    /// more is ignored.
    wakes: BinaryHeap<Reverse<(Time, u32)>>,
    actions: VecDeque<CopyAction>,
    /// Flow of the segment that the caller must copy; the caller then passes the copy's id to
    /// [`Relay::cache_copy`].
    asked: Option<u32>,
    counters: Counters,
    occupancy: Occupancy,
}

impl Relay {
    /// Creates a relay that has seen no segment.
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            flows: Vec::new(),
            wakes: BinaryHeap::new(),
            actions: VecDeque::new(),
            asked: None,
            counters: Counters::default(),
            occupancy: Occupancy::default(),
        }
    }

    /// Handles a passing segment: the agent of its flow returns the verdict.
    pub fn handle_packet(&mut self, now: Time, passing: &PassingSegment<'_>) -> Verdict {
        let config = &self.config;
        let index = passing.flow as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, None);
        }
        let served = self.flows[index].get_or_insert_with(|| {
            let agent = match (config, passing.side) {
                (Config::Snoop(config), Side::Toward) => Agent::Snoop(Snoop::new(config)),
                (_, side) => Agent::Eln(ElnObserver::new(side)),
            };
            Box::new(Served { agent, pending: Time::NEVER })
        });
        let actions = &mut self.actions;
        let verdict = match &mut served.agent {
            Agent::Eln(eln) => eln.on_segment(passing.with_data, passing.segment),
            Agent::Snoop(snoop) => {
                let mut context = snoop::Context { now, actions, counters: &mut self.counters };
                let held = snoop.held_bytes();
                let verdict = snoop.on_segment(passing, &mut context);
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

    /// Passes to the relay the id of the copy that [`Verdict::Keep`] requested.
    ///
    /// # Panics
    /// If no copy was requested.
    pub fn cache_copy(&mut self, id: u32) {
        let flow = self.asked.take().expect("a copy is handed in when one is asked for");
        let Some(Agent::Snoop(snoop)) = self.agent(flow) else {
            unreachable!("only snoop keeps copies");
        };
        snoop.cache_copy(id);
    }

    fn agent(&mut self, flow: u32) -> Option<&mut Agent> {
        self.flows.get_mut(flow as usize)?.as_mut().map(|served| &mut served.agent)
    }

    /// Tells the relay that the queue of the lossy hop has dropped a segment. The agent must not
    /// repair or report the loss of a data segment in this case, because the sender has to learn of
    /// the congestion.
    pub fn on_queue_drop(&mut self, now: Time, passing: &PassingSegment<'_>) {
        if !passing.with_data {
            return;
        }
        match self.flows[passing.flow as usize].as_mut().map(|served| &mut served.agent) {
            Some(Agent::Eln(eln)) => eln.on_queue_drop(passing.segment),
            Some(Agent::Snoop(snoop)) => {
                let context = &mut snoop::Context {
                    now,
                    actions: &mut self.actions,
                    counters: &mut self.counters,
                };
                let held = snoop.held_bytes();
                snoop.on_queue_drop(passing.segment, context);
                let bytes = self.occupancy.bytes - held + snoop.held_bytes();
                self.occupancy.set(now, bytes);
            }
            None => {}
        }
    }

    /// Removes and returns the next action.
    pub fn poll_action(&mut self) -> Option<CopyAction> {
        self.actions.pop_front()
    }

    /// Earliest deadline.
    pub fn poll_timeout(&self) -> Time {
        self.wakes.peek().map_or(Time::NEVER, |Reverse((time, _))| *time)
    }

    /// Handles the deadlines due by `now`.
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
                let context = &mut snoop::Context {
                    now,
                    actions: &mut self.actions,
                    counters: &mut self.counters,
                };
                let held = snoop.held_bytes();
                snoop.on_timer(context);
                let bytes = self.occupancy.bytes - held + snoop.held_bytes();
                self.occupancy.set(now, bytes);
            }
            self.schedule(flow);
        }
    }

    /// Enters an agent's deadline into the heap if it is earlier than the agent's entry there. A
    /// later deadline is not entered, because the agent is checked again when the old entry is due.
    fn schedule(&mut self, flow: u32) {
        let Some(served) = self.flows[flow as usize].as_mut() else { return };
        let Agent::Snoop(snoop) = &served.agent else { return };
        let deadline = snoop.deadline();
        if deadline < served.pending {
            served.pending = deadline;
            self.wakes.push(Reverse((deadline, flow)));
        }
    }

    /// Counters so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Bytes held over time, up to `now`.
    pub fn occupancy(&self, now: Time) -> Occupancy {
        let mut occupancy = self.occupancy;
        occupancy.advance_to(now);
        occupancy
    }

    /// Number of copies held.
    pub const fn copies_held(&self) -> u64 {
        self.counters.segments_cached - self.counters.forgotten
    }

    /// Resets the maxima to the current values.
    pub const fn restart_maxima(&mut self) {
        self.occupancy.max = self.occupancy.bytes;
    }
}
