//! Lanes: queues of packets that have passed hops ahead of time ([`super::ahead`]).
//!
//! Behind a bottleneck, packets arrive at the hosts in the order in which they left the bottleneck,
//! if the access links are alike. The packets of all these links therefore wait in one lane, sorted
//! by arrival, with one pending event instead of one per link. The lane also shows which packets
//! arrive next, so their data can be prefetched.
//!
//! A packet that was queued at its access link arrives later than some packets that left the
//! bottleneck after it. Therefore there are several parallel lanes, and a packet takes the first
//! one whose last packet arrives before the packet itself. (The arrival times of the last packets
//! thus fall from lane to lane. No other rule keeps more packets in lanes.) A packet that fits into
//! no lane waits in the last pipe that it has passed, with an event of that pipe.
//!
//! *Ties.* Events at the same time are handled in the order of the pipes. An event of a lane counts
//! as one of the pipe that its first packet leaves, and no lane holds two packets that arrive at
//! the same time. Lanes therefore do not change the order.

mod single_links;
mod wakeups;

use crate::agenda::Agenda;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::engine::routes::{EnteringPacket, last_pipe_to};
use crate::event_queue::Target;
use crate::flow::Flow;
use crate::packet::Packets;
use crate::plan::Side;
use crate::route_entry::RouteEntry;
use prefetch_index::prefetch_index;
use retx_link::Pipe;
use retx_link::pipe::ahead::HeldPacket;
use retx_link::ring::Ring;
use retx_units::Time;
use wakeups::{LaneWakeup, LaneWakeups};

/// Number of flows above which their state is assumed to exceed a processor's L2 cache. (Measured:
/// prefetching has no effect with 300 flows, and saves a fifth of the time with 1000.)
const MANY: usize = 250;

/// Number of parallel lanes.
const LANES: usize = 4;

/// Distance, in slots of a lane, at which the slot for a later packet is prefetched.
const PLACES: u32 = 16;

/// Index that stands for no lane.
const NONE: u32 = u32::MAX;

/// Packet that waits in a lane for its arrival.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct LanePacket {
    pub arrival: Time,
    pub id: u32,
    /// Endpoint that the packet reaches when it leaves the lane; [`Endpoint::NONE`] if it has
    /// further hops.
    pub destination: Endpoint,
}

impl Default for LanePacket {
    fn default() -> Self {
        Self { arrival: Time::ZERO, id: 0, destination: Endpoint::NONE }
    }
}

impl LanePacket {
    /// Last pipe that this packet has passed.
    fn last_pipe(&self, (routes, packets, flows): (&[RouteEntry], &Packets, &[Flow])) -> u32 {
        let at = || routes[packets.hop(self.id) as usize].known_pipe();
        last_pipe_to(self.destination, routes, flows).unwrap_or_else(at)
    }
}

/// Packets that have passed a leader and its followers ahead of time, sorted by arrival.
#[derive(Debug, Clone, Default)]
struct Lane {
    waiting: Ring<LanePacket>,
    /// Arrival of the last packet appended.
    last: Time,
}

impl Lane {
    /// Appends a packet; returns true if the lane was empty, so that it must be woken for it.
    #[inline(always)]
    fn append(&mut self, waiting: LanePacket) -> bool {
        self.last = waiting.arrival;
        let is_first = self.waiting.is_empty();
        self.waiting.push_back(waiting);
        is_first
    }
}

/// All lanes.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Lanes {
    /// Index of the first lane behind each pipe; [`NONE`] if it has no lanes.
    of: Vec<u32>,
    all: Vec<Lane>,
    wakeups: Wakeups,
    /// True if the caches cannot hold the state of all flows.
    exceed_caches: bool,
}

impl Lanes {
    /// Creates lanes behind each pipe that several other pipes follow. If such a pipe follows
    /// another one itself, the lanes belong to the first leader of that chain. `first` is the
    /// target of the first lane. If there are no such pipes, single links may get lanes.
    pub fn new(
        (first, flows): (Target, usize),
        routes: &[RouteEntry],
        pipes: &mut [Pipe],
        single_links_get_lanes: bool,
    ) -> Self {
        let mut followers = vec![0u32; pipes.len()];
        for leader in pipes.iter().filter_map(Pipe::leader) {
            followers[leader] += 1;
        }
        let of = vec![NONE; pipes.len()];
        let wakeups = Wakeups { pending: LaneWakeups::new(0), first };
        let mut lanes = Self { of, all: Vec::new(), wakeups, exceed_caches: flows > MANY };
        for (mut index, followers) in followers.into_iter().enumerate() {
            // Packets enter only the first leader of a chain in events of their own, so lanes are
            // found by that leader's index.
            while let Some(leader) = pipes[index].leader() {
                index = leader;
            }
            if followers > 1 && lanes.of[index] == NONE {
                lanes.of[index] = lanes.count();
                lanes.all.extend(std::iter::repeat_n(Lane::default(), LANES));
            }
        }
        lanes.wakeups.pending = LaneWakeups::new(lanes.all.len());
        if single_links_get_lanes {
            lanes.attach_to_single_links(routes, pipes);
        }
        lanes
    }

    /// Number of lanes.
    pub const fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// True if the caches cannot hold the state of all flows.
    #[inline(always)]
    pub const fn exceed_caches(&self) -> bool {
        self.exceed_caches
    }

    /// Last pipe that the first packet in a lane has passed.
    pub fn last_pipe(&self, lane: u32, within: (&[RouteEntry], &Packets, &[Flow])) -> u32 {
        let waiting = self.all[lane as usize].waiting.front();
        waiting.map_or(NONE, |packet| packet.last_pipe(within))
    }

    /// Lanes behind this leader, if it has any.
    #[inline(always)]
    pub fn lanes_behind(&mut self, leader: u32) -> Option<ParallelLanes<'_>> {
        let index = self.of[leader as usize];
        let lanes = self.all.get_mut(index as usize..)?.first_chunk_mut()?;
        Some(ParallelLanes { lanes, index, wakeups: &mut self.wakeups })
    }

    /// True if all wake-ups are events, because there are no lanes or too many.
    #[inline(always)]
    pub const fn are_woken_by_events(&self) -> bool {
        self.wakeups.pending.is_off()
    }

    /// Time of the first wake-up, apart from those that are events; [`Time::NEVER`] if there is
    /// none.
    #[inline(always)]
    pub const fn next_time(&self) -> Time {
        self.wakeups.pending.earliest()
    }

    /// Removes and returns the first wake-up, apart from those that are events.
    #[inline(always)]
    pub fn take_wakeup(&mut self) -> LaneWakeup {
        self.wakeups.pending.take()
    }

    /// Turns all wake-ups into events.
    pub fn turn_into_events(&mut self, agenda: &mut Agenda) {
        while self.next_time() != Time::NEVER {
            let LaneWakeup { time, lane } = self.take_wakeup();
            agenda.wake(self.wakeups.first + lane, time);
        }
    }
}

/// Wake-ups of lanes, of which some are events.
#[derive(Debug, Clone)]
struct Wakeups {
    /// Wake-ups that are not events.
    pending: LaneWakeups,
    /// Target of the first lane; all targets after it are lanes, too.
    first: Target,
}

impl Wakeups {
    /// Wakes a lane, which has no wake-up yet.
    #[inline(always)]
    fn wake(&mut self, lane: u32, time: Time, agenda: &mut Agenda) {
        if !self.pending.insert(time, lane) {
            agenda.wake(self.first + lane, time);
        }
    }
}

/// Parallel lanes behind one leader.
pub(in crate::engine) struct ParallelLanes<'l> {
    lanes: &'l mut [Lane; LANES],
    /// Index of the first of them.
    index: u32,
    wakeups: &'l mut Wakeups,
}

impl ParallelLanes<'_> {
    /// Appends a packet to the first lane whose last packet arrives before it; returns false if no
    /// lane fits.
    #[inline(always)]
    pub fn append(&mut self, waiting: LanePacket, agenda: &mut Agenda) -> bool {
        let LanePacket { arrival, id, destination: to } = waiting;
        let fits = self.lanes[0].last < arrival;
        if fits && self.lanes[0].append(waiting) {
            self.wakeups.wake(self.index, arrival, agenda);
        }
        fits || self.append_to_other_lane(arrival, id, to, agenda)
    }

    // Separate parameters stay in registers; a struct would be passed through memory.
    #[inline(never)]
    fn append_to_other_lane(
        &mut self,
        arrival: Time,
        id: u32,
        to: Endpoint,
        agenda: &mut Agenda,
    ) -> bool {
        let waiting = LanePacket { arrival, id, destination: to };
        let mut others = (self.index..).zip(self.lanes.iter_mut()).skip(1);
        let Some((index, lane)) = others.find(|(_, lane)| lane.last < waiting.arrival) else {
            return false;
        };
        if lane.append(waiting) {
            self.wakeups.wake(index, arrival, agenda);
        }
        lane.waiting.prefetch_back(PLACES);
        true
    }

    /// Prefetches a slot for a later packet in the first lane, the most used one.
    #[inline(always)]
    pub fn prefetch(&self) {
        self.lanes[0].waiting.prefetch_back(PLACES);
    }
}

impl Engine<'_> {
    /// Appends a packet to a lane behind `leader`. The packet has passed pipes ahead of time, and
    /// arrives at the far end of the last of them at `at`. If no lane fits, it waits in that last
    /// pipe.
    #[inline(always)]
    pub(in crate::engine) fn append_to_lane(
        &mut self,
        leader: u32,
        (at, entering): (Time, EnteringPacket),
    ) {
        let hop = entering.hop as usize;
        let (entry, next) = (self.routes[hop], self.routes[hop + 1]);
        let (last, id) = (entry.known_pipe(), entering.packet.id);
        let destination = next.destination().unwrap_or_else(|| {
            self.packets.set_hop(id, entering.hop);
            if next.is_end() { self.packets.get(id).destination } else { Endpoint::NONE }
        });
        let pipe = &mut self.pipes[last as usize];
        let waiting = LanePacket { arrival: at, id, destination };
        let lanes = self.lanes.lanes_behind(leader);
        if lanes.is_some_and(|mut lanes| lanes.append(waiting, &mut self.agenda)) {
            return pipe.hand_over();
        }
        pipe.append(at, entering.packet);
        self.agenda.wake(last, at);
        if !entry.is_private() {
            self.store_hop(entering);
        }
    }

    /// Takes the first packet out of a lane. If the packet has reached its destination, returns the
    /// packet and the endpoint; otherwise moves the packet to its next hop.
    #[inline(always)]
    pub(in crate::engine) fn handle_lane_wakeup(&mut self, index: u32) -> Option<(u32, Endpoint)> {
        let lane = &mut self.lanes.all[index as usize];
        let LanePacket { arrival, id, destination: to } = lane.waiting.pop_front()?;
        debug_assert_eq!(arrival, self.now, "woken for it");
        if let Some(next) = lane.waiting.front() {
            self.lanes.wakeups.wake(index, next.arrival, &mut self.agenda);
        }
        if self.lanes.exceed_caches {
            self.fetch_next(index);
        }
        if to == Endpoint::NONE {
            self.move_to_next_hop(self.routes[self.packets.hop(id) as usize].known_pipe(), id);
            return None;
        }
        Some((id, to))
    }

    /// Prefetches the state that the next packets of a lane need.
    #[inline(always)]
    fn fetch_next(&self, index: u32) {
        let waiting = &self.lanes.all[index as usize].waiting;
        waiting.prefetch(24);
        self.fetch_ends(|distance| {
            waiting.get(distance).map(|LanePacket { id, destination, .. }| (*id, *destination))
        });
    }

    /// Prefetches the state that packets need at their hosts, in stages: each stage follows
    /// pointers that the previous stage has prefetched. `at` returns the packet at a distance from
    /// the present one, and the endpoint that it reaches. The distances were chosen by measurement.
    #[inline(always)]
    pub(in crate::engine) fn fetch_ends(&self, at: impl Fn(usize) -> Option<(u32, Endpoint)>) {
        if let Some((id, flow, side)) = self.end_of(at(6)) {
            self.packets.prefetch(id);
            flow.prefetch(side);
        }
        if let Some((id, flow, side)) = self.end_of(at(4)) {
            flow.prefetch_board(side);
            if side == Side::Receiver && flow.has_unresolved_losses() {
                self.packets.prefetch_hop(id);
            }
            if let Some(pipe) = flow.first_route_entry(side).find_pipe(&self.pipes) {
                pipe.prefetch_for_several();
            }
        }
        if let Some((_, flow, side)) = self.end_of(at(2)) {
            flow.prefetch_records(side);
            if let Some(pipe) = flow.first_route_entry(side).find_pipe(&self.pipes) {
                if self.epochs.is_some() {
                    pipe.prefetch_waiting_slots();
                    prefetch_index(&self.routes, flow.first_hops()[side as usize] as usize);
                } else {
                    pipe.prefetch_back();
                }
            }
        }
    }

    /// Flow and side that a waiting packet reaches; `None` if it has further hops.
    #[inline(always)]
    fn end_of(&self, waiting: Option<(u32, Endpoint)>) -> Option<(u32, &Flow, Side)> {
        let (id, to) = waiting?;
        Some((id, self.flows.get(to.flow() as usize)?, to.side()))
    }

    /// Packets in all lanes.
    pub(in crate::engine) fn packets_in_lanes(&self) -> impl Iterator<Item = HeldPacket> {
        let waiting = self.lanes.all.iter().flat_map(|lane| lane.waiting.iter());
        waiting.map(|packet| HeldPacket {
            pipe: packet.last_pipe((&self.routes, &self.packets, &self.flows)),
            arrival: packet.arrival,
            bytes: self.packets.get(packet.id).bytes(),
        })
    }
}
