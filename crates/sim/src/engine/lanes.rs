//! Lanes: where packets wait that have passed hops ahead of time ([`super::ahead`]).
//!
//! What leaves a bottleneck in order arrives in order at the hosts behind it, if their links are
//! alike. So the packets of all of them wait in one row, sorted by arrival, and one event is
//! pending for them, where each link had its own; and as it is known who comes next, its data can
//! be brought into the cache before its turn. A packet that would arrive before the last of the
//! row waits in the last pipe that it has passed, as it would without a lane.

use super::Engine;
use super::routes::{HOST, Step, end_of, is_private, pipe_of};
use crate::event_queue::Target;
use crate::plan::Side;
use retx_link::Pipe;
use retx_link::pipe::ahead::Kept;
use retx_link::ring::Ring;
use retx_units::Time;

/// Not at its host yet, when it leaves the lane.
const FURTHER: u32 = u32::MAX;

/// What more flows than these need does not fit into a processor's second cache.
const MANY: usize = 250;

/// No lane.
const NONE: u32 = u32::MAX;

/// A packet in a lane.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    arrival: Time,
    id: u32,
    /// The end that it reaches then ([`Packet::to`]), or [`FURTHER`].
    ///
    /// [`Packet::to`]: crate::packet::Packet::to
    to: u32,
}

/// Packets behind a pipe that others follow, sorted by when they arrive.
#[derive(Debug, Clone, Default)]
struct Lane {
    waiting: Ring<Waiting>,
    /// The latest arrival so far.
    last: Time,
}

/// All lanes.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    /// The lane behind each pipe, or [`NONE`].
    of: Vec<u32>,
    all: Vec<Lane>,
    /// The first target that is a lane; the others follow it, and nothing else.
    first: Target,
    /// There are more flows than caches hold.
    far: bool,
}

impl Lanes {
    /// Makes lanes where what passes a pipe goes different ways; of pipes in a row the first has
    /// it.
    pub fn new(pipes: &[Pipe], first: Target, flows: usize) -> Self {
        let mut followers = vec![0u32; pipes.len()];
        for leader in pipes.iter().filter_map(Pipe::leader) {
            followers[leader] += 1;
        }
        let of = vec![NONE; pipes.len()];
        let mut lanes = Self { of, all: Vec::new(), first, far: flows > MANY };
        for (mut index, followers) in followers.into_iter().enumerate() {
            while let Some(leader) = pipes[index].leader() {
                index = leader;
            }
            if followers > 1 && lanes.of[index] == NONE {
                lanes.of[index] = lanes.count();
                lanes.all.push(Lane::default());
            }
        }
        lanes
    }

    /// How many there are.
    pub const fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// The lane that is this target.
    #[inline(always)]
    pub const fn by_target(&self, target: Target) -> Option<u32> {
        target.checked_sub(self.first)
    }
}

impl Engine<'_> {
    /// A packet that has passed pipes ahead of time, behind the `leader`, arrives at `at`, at the
    /// far end of the last of them, that of `word`: into the lane, if there is one and it is no
    /// earlier than those there; else it waits in that pipe.
    #[inline(always)]
    pub(super) fn take_lane(&mut self, leader: u32, word: u32, (at, step): (Time, Step)) {
        let (last, index) = (pipe_of(word), self.lanes.of[leader as usize]);
        let lane = self.lanes.all.get_mut(index as usize).filter(|lane| lane.last <= at);
        let Some(lane) = lane else {
            if !is_private(word) {
                self.write_hop(step);
            }
            self.pipes[last as usize].append(at, step.parcel);
            return self.agenda.wake(last, at);
        };
        lane.last = at;
        let (id, next) = (step.parcel.id, self.routes[step.hop as usize + 1]);
        let to = end_of(next).unwrap_or_else(|| {
            let packet = self.packets.get_mut(id);
            packet.hop = step.hop;
            if next == HOST { packet.to } else { FURTHER }
        });
        lane.waiting.push_back(Waiting { arrival: at, id, to });
        self.pipes[last as usize].let_go();
        self.agenda.wake(self.lanes.first + index, at);
    }

    /// The first packet of a lane arrives: returns it, and the end that it has reached. It may also
    /// go on from where it is.
    #[inline(always)]
    pub(super) fn lane_due(&mut self, index: u32) -> Option<(u32, u32)> {
        let lane = &mut self.lanes.all[index as usize];
        let Waiting { arrival, id, to } = lane.waiting.pop_front()?;
        debug_assert_eq!(arrival, self.now, "woken for it");
        if let Some(next) = lane.waiting.front() {
            self.agenda.wake(self.lanes.first + index, next.arrival);
        }
        if self.lanes.far {
            self.fetch_next(index);
        }
        if to == FURTHER {
            self.move_on(pipe_of(self.routes[self.packets.get(id).hop as usize]), id);
            return None;
        }
        Some((id, to))
    }

    /// Lets the processor fetch what the next packets of a lane will need.
    #[inline(always)]
    fn fetch_next(&self, index: u32) {
        let waiting = &self.lanes.all[index as usize].waiting;
        if let Some(Waiting { id, .. }) = waiting.get(1) {
            self.packets.prefetch(*id);
        }
        if let Some(Waiting { to, .. }) = waiting.front()
            && let Some(flow) = self.flows.get((to >> 1) as usize)
        {
            flow.prefetch(if to & 1 == 0 { Side::Sender } else { Side::Receiver });
        }
    }

    /// The packets in all lanes.
    pub(super) fn in_lanes(&self) -> impl Iterator<Item = Kept> {
        let waiting = self.lanes.all.iter().flat_map(|lane| lane.waiting.iter());
        waiting.map(|Waiting { arrival, id, to }| {
            let packet = self.packets.get(*id);
            let at = || pipe_of(self.routes[packet.hop as usize]);
            let pipe = self.last_hop_to(*to).unwrap_or_else(at);
            Kept { pipe, arrival: *arrival, bytes: packet.bytes }
        })
    }
}
