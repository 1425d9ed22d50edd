//! Funnels: packets on their way to a bottleneck over private links wait in one merge queue.
//!
//! *Feeders.* A pipe feeds a funnel if it is the first pipe of its route, private
//! ([`crate::engine::routes`]) and directly before the bottleneck. When a packet enters such a
//! pipe, its arrival at the bottleneck is known. The packets of all feeders of a bottleneck wait in
//! one funnel, sorted by their arrival there ([`super::funnel`]).
//!
//! *Gain.* A packet that arrives at a plain bottleneck has no effect elsewhere before the
//! bottleneck's propagation delay has passed. The funnel's event may therefore be delayed by that
//! time, or by the transmission time of [`TOGETHER`] packets if that is shorter. It then handles
//! all arrivals up to the present, one after another, each at its own time. Code that needs the
//! state of the bottleneck or the fate of a packet earlier calls [`Engine::flush_funnels`] or
//! [`Engine::flush_funnels_of`] first, which do the same.
//!
//! *Order.* Packets of a funnel that arrive in the same nanosecond are handled in the order in
//! which they were sent, and packets sent in the same nanosecond in the order of their routes,
//! which is that of the flows in the file. They precede packets that arrive by events of their own.
//! A capture records each arrival when it happens, so with a capture the events of funnels are not
//! delayed; the order is the same.

use super::calendar::CalendarSize;
use super::funnel::{Arrival, Enqueued, Funnel};
use super::lanes::{LanePacket, ParallelLanes};
use crate::agenda::Agenda;
use crate::engine::Engine;
use crate::engine::routes::EnteringPacket;
use crate::event_queue::Target;
use crate::route_entry::RouteEntry;
use prefetch_index::prefetch_index;
use retx_link::Pipe;
use retx_link::pipe::PlainPacket;
use retx_link::pipe::ahead::{HeldPacket, LeaderEntry};
use retx_link::stage::Entry;
use retx_units::{Duration, Time};

/// Distances in a row, in packets, from the packet being handled to those for which the route and
/// then the pipe behind the bottleneck are prefetched. Prefetching is used if the caches cannot
/// hold all flows; with 10,000 flows it saves about 5 % of the time.
const ROUTE: usize = 12;
const PIPE: usize = 6;

/// Approximate maximum number of arrivals handled by one event. With more arrivals, the state
/// loaded for the first ones would be evicted from the cache before the last ones are handled.
const TOGETHER: u64 = 512;

/// Packet size that is assumed for transmission times, bytes.
const PACKET_BYTES: u32 = 1500;

/// Merge queue, and the bottleneck to which its packets go.
#[derive(Debug, Clone)]
struct Merge {
    funnel: Funnel,
    bottleneck: u32,
    /// Time by which the funnel's event may follow the arrival of its first packet; at most the
    /// bottleneck's propagation delay.
    max_wait: Duration,
}

/// All funnels.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Funnels {
    all: Vec<Merge>,
    /// Target of the first funnel; the other funnels have the targets after it.
    first: Target,
}

/// Reason why a packet leaves the fast path.
enum Halt {
    /// The bottleneck's queue drops the packet.
    QueueFull,
    /// The packet leaves the bottleneck at this time, and is handled individually from there on.
    LeavesBottleneck(Time),
    /// The packet leaves the pipe behind the bottleneck at this time, but fits into no lane.
    FitsNoLane(Time),
}

impl Funnels {
    /// Creates a funnel before each pipe of these routes that can have one, and marks the pipes
    /// that feed it. Events of funnels are delayed only if `waits` is true.
    pub fn new(routes: &[RouteEntry], pipes: &mut [Pipe], (first, waits): (Target, bool)) -> Self {
        // A pipe gets a funnel if packets enter it and all of them come from pipes that can feed a
        // funnel.
        let mut fed = vec![None; pipes.len()];
        let each_route = || routes.split_inclusive(|entry| entry.is_end());
        for route in each_route() {
            for (at, entry) in route.iter().enumerate() {
                let Some(index) = entry.pipe() else { continue };
                let first = route[0].find_pipe(pipes).filter(|_| at == 1 && route[0].is_private());
                let feeds = first.is_some_and(|first| first.is_plain() && !first.leads());
                let fed = &mut fed[index as usize];
                *fed = Some(feeds && fed.unwrap_or(true));
            }
        }
        let delays = each_route().filter_map(|route| Some(route[0].find_pipe(pipes)?.delay()));
        let longest = delays.max().unwrap_or_default();
        let mut all = Vec::new();
        for (bottleneck, fed) in (0..).zip(&mut fed) {
            let pipe = &pipes[bottleneck as usize];
            // A packet in a plain pipe has no effect outside the pipe before the propagation delay
            // has passed, so the funnel's event may be delayed that long.
            if *fed == Some(true) && pipe.is_plain() && !pipe.follows() {
                let each = pipe.transmission_time(PACKET_BYTES);
                let most = Duration::from_nanos(each.as_nanos().saturating_mul(TOGETHER));
                let max_wait = if waits { pipe.delay().min(most) } else { Duration::ZERO };
                pipes[bottleneck as usize].attach_source(all.len() as u32);
                let funnel = Funnel::new(CalendarSize::new((max_wait + longest) * 2, each));
                all.push(Merge { funnel, bottleneck, max_wait });
            }
        }
        for route in each_route() {
            let Some(second) = route.get(1).and_then(|second| second.pipe()) else { continue };
            if let Ok(number) = all.binary_search_by_key(&second, |fed| fed.bottleneck) {
                pipes[route[0].known_pipe() as usize].attach_sink(number as u32);
            }
        }
        Self { all, first }
    }

    /// Number of funnels.
    pub const fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// Inserts a packet that enters a feeder of this funnel.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        number: u32,
        (now, entering): (Time, EnteringPacket),
        pipe: &mut Pipe,
        agenda: &mut Agenda,
    ) -> Entry {
        let EnteringPacket { packet, hop } = entering;
        let LeaderEntry::Arrives(arrival) = pipe.enter_plain(now, packet.bytes) else {
            return Entry::QueueFull;
        };
        pipe.hand_over();
        let fed = &mut self.all[number as usize];
        if fed.funnel.enqueue((now, arrival), packet, hop + 1) == Enqueued::First {
            agenda.wake(self.first + number, arrival + fed.max_wait);
        }
        Entry::Accepted
    }
}

/// Parts of the engine needed to handle an arrival at a bottleneck.
struct Onward<'e> {
    pipes: &'e mut [Pipe],
    routes: &'e [RouteEntry],
    /// Lanes behind the bottleneck.
    lanes: ParallelLanes<'e>,
    agenda: &'e mut Agenda,
}

impl Onward<'_> {
    /// Moves a packet through the bottleneck and the pipe behind it, into a lane.
    #[inline(always)]
    fn move_to_lane(&mut self, arriving: &Arrival, bottleneck: u32) -> Result<(), Halt> {
        let PlainPacket { id, bytes } = arriving.packet;
        let leader = &mut self.pipes[bottleneck as usize];
        let LeaderEntry::Arrives(at) = leader.enter_plain(arriving.arrival, bytes) else {
            return Err(Halt::QueueFull);
        };
        let through = Err(Halt::LeavesBottleneck(at));
        let hop = arriving.hop as usize;
        let Some([_, next, behind]) = self.routes.get(hop..hop + 3) else { return through };
        let Some(destination) = behind.destination() else { return through };
        let next = next.find_pipe_mut(self.pipes).filter(|(_, next)| next.follows());
        let Some((_, next)) = next else { return through };
        let Some(arrival) = next.traverse_ahead((arriving.arrival, at), bytes) else {
            return through;
        };
        if !self.lanes.append(LanePacket { arrival, id, destination }, self.agenda) {
            return Err(Halt::FitsNoLane(arrival));
        }
        next.hand_over();
        Ok(())
    }

    /// Prefetches the position of a packet on its route behind the bottleneck.
    #[inline(always)]
    fn prefetch_route(&self, next: &Arrival) {
        prefetch_index(self.routes, next.hop as usize + 1);
    }

    /// Prefetches the state of the pipe that a packet takes behind the bottleneck.
    #[inline(always)]
    fn prefetch(&self, next: &Arrival) {
        let next = self.routes[next.hop as usize + 1];
        next.find_pipe(self.pipes).into_iter().for_each(Pipe::prefetch);
    }
}

impl Engine<'_> {
    /// Enters a packet into the first hop of its route, which feeds this funnel.
    #[inline(always)]
    pub(in crate::engine) fn enter_funnel(&mut self, number: u32, entering: EnteringPacket) {
        let index = self.routes[entering.hop as usize].known_pipe();
        self.recorder.on_entered(self.now, index, entering.packet.id, &mut self.packets);
        let pipe = &mut self.pipes[index as usize];
        let entry = self.funnels.enqueue(number, (self.now, entering), pipe, &mut self.agenda);
        if entry != Entry::Accepted {
            self.store_hop(entering);
            self.drop_at_full_queue(index, entering.packet.id);
        }
    }

    /// Handles the event of a funnel: all arrivals up to now.
    #[inline(never)]
    pub(in crate::engine) fn handle_funnel_wakeup(&mut self, number: u32) {
        self.flush_funnel(number);
        let Merge { funnel, max_wait, .. } = &self.funnels.all[number as usize];
        let first = funnel.earliest_arrival();
        if first != Time::NEVER {
            self.agenda.wake(self.funnels.first + number, first + *max_wait);
        }
    }

    /// Handles all arrivals of a funnel up to now.
    pub(in crate::engine) fn flush_funnel(&mut self, number: u32) {
        self.flush_funnel_until(self.now, number);
    }

    #[inline(never)]
    fn flush_funnel_until(&mut self, time: Time, number: u32) {
        let now = self.now;
        let leader = self.funnels.all[number as usize].bottleneck;
        let has_no_lanes = self.lanes.lanes_behind(leader).is_none();
        if has_no_lanes {
            while let Some(next) = self.funnels.all[number as usize].funnel.pop(time) {
                self.handle_arrival(&next);
            }
        } else {
            let usual = if self.lanes.exceed_caches() {
                Self::flush_into_lanes::<true>
            } else {
                Self::flush_into_lanes::<false>
            };
            // A packet that leaves the fast path is handled as if an event of its own had occurred
            // when it arrived.
            while let Some((next, halt)) = usual(self, (number, time)) {
                self.now = next.arrival;
                let entering = EnteringPacket { packet: next.packet, hop: next.hop };
                match halt {
                    Halt::QueueFull => self.handle_loss_in_leader(leader, entering, false),
                    Halt::LeavesBottleneck(at) => self.traverse_followers(leader, (at, entering)),
                    Halt::FitsNoLane(at) => {
                        // The packet has also passed the pipe behind the bottleneck.
                        // `append_to_lane` lets it wait in that pipe, since no lane accepts it.
                        self.append_to_lane(
                            leader,
                            (at, EnteringPacket { hop: entering.hop + 1, ..entering }),
                        );
                    }
                }
            }
        }
        self.now = now;
    }

    /// Handles arrivals at a bottleneck with lanes, up to the first packet that cannot be moved
    /// into a lane; returns that packet and the reason. `PREFETCHES` is true if the caches cannot
    /// hold all flows. The parts of the engine are borrowed once for all arrivals.
    #[inline(never)]
    fn flush_into_lanes<const PREFETCHES: bool>(
        &mut self,
        (number, time): (u32, Time),
    ) -> Option<(Arrival, Halt)> {
        let Self { funnels, pipes, routes, lanes, agenda, .. } = self;
        let Merge { funnel, bottleneck, .. } = &mut funnels.all[number as usize];
        let mut onward = Onward { pipes, routes, lanes: lanes.lanes_behind(*bottleneck)?, agenda };
        loop {
            // The packet is read in place and removed only at the end of the loop body; a copy
            // would not fit into registers.
            let next = funnel.first_arrived_by(time)?;
            if let Err(halt) = onward.move_to_lane(next, *bottleneck) {
                return funnel.pop(time).map(|next| (next, halt));
            }
            if PREFETCHES {
                onward.lanes.prefetch();
                funnel.peek_ahead(ROUTE).into_iter().for_each(|it| onward.prefetch_route(it));
                funnel.peek_ahead(PIPE).into_iter().for_each(|it| onward.prefetch(it));
            }
            funnel.remove_first();
        }
    }

    /// Handles one arrival at a bottleneck without lanes, like an event at the time of the arrival.
    #[inline(never)]
    fn handle_arrival(&mut self, next: &Arrival) {
        let Arrival { arrival, packet, hop, .. } = *next;
        self.now = arrival;
        let [before, entry] = [hop - 1, hop].map(|hop| self.routes[hop as usize]);
        self.recorder.on_left(self.now, before.known_pipe(), packet.id, &mut self.packets);
        self.enter_in_order(entry, EnteringPacket { packet, hop });
    }

    /// Handles all arrivals at all bottlenecks up to now.
    pub(in crate::engine) fn flush_funnels(&mut self) {
        (0..self.funnels.count()).for_each(|number| self.flush_funnel(number));
    }

    /// Handles the arrivals up to now in the funnels that a flow's routes feed.
    pub(in crate::engine) fn flush_funnels_of(&mut self, flow: u32) {
        for hop in self.flows[flow as usize].first_hops() {
            let first = self.routes[hop as usize].find_pipe(&self.pipes);
            if let Some(number) = first.and_then(Pipe::sink) {
                self.flush_funnel(number);
            }
        }
    }

    /// Packets in all funnels.
    pub(in crate::engine) fn packets_in_funnels(&self) -> impl Iterator<Item = HeldPacket> {
        self.funnels.all.iter().flat_map(|fed| fed.funnel.iter()).map(|next| {
            let pipe = self.routes[next.hop as usize - 1].known_pipe();
            HeldPacket { pipe, arrival: next.arrival, bytes: next.packet.bytes }
        })
    }
}
