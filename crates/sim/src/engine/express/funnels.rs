//! Funnels: packets on their way to a bottleneck over private links wait in one merge queue.
//!
//! *Feeders.* A pipe feeds a funnel if it is the first of its route, private
//! ([`crate::engine::routes`]) and directly before the bottleneck. A packet's arrival at the
//! bottleneck is known when it enters such a pipe; the packets of all feeders wait in one funnel,
//! sorted by that arrival ([`super::funnel`]).
//!
//! *Gain.* A packet at a plain bottleneck has no effect elsewhere before the bottleneck's
//! propagation delay has passed. One event, that much later than the first arrival, therefore
//! handles all arrivals of that time (or of the transmission time of [`TOGETHER`] packets), one
//! after the other, each at its own time. Code that reads the state of the bottleneck or the fate
//! of a packet before then first handles all arrivals up to the present ([`Engine::flush_funnels`],
//! [`Engine::flush_funnels_of`]).
//!
//! *Exceptions.* Packets that arrive too long after the first wait in their own pipes, with an
//! event each.
//!
//! *Order.* Packets of a funnel that arrive at the same nanosecond keep the order of the funnel,
//! and precede packets that arrive by an event. With a capture, which records each arrival at its
//! time, funnels keep this order, too, but their events do not wait.

use super::calendar::Days;
use super::funnel::{Arrival, Enqueued, Funnel};
use super::lanes::{ParallelLanes, Waiting};
use crate::agenda::Agenda;
use crate::engine::Engine;
use crate::engine::routes::{Step, end_of, is_end, is_private, pipe_of};
use crate::event_queue::Target;
use retx_link::Pipe;
use retx_link::pipe::Parcel;
use retx_link::pipe::ahead::{Crossing, Kept};
use retx_link::stage::Entry;
use retx_units::{Duration, Time};

/// Number of packets by which prefetching runs ahead in a row. It is used if there are more flows
/// than the caches hold; with 10,000 flows it saves about 5 % of the time.
const FETCHED: usize = 6;

/// Largest number of arrivals carried out together: with more, the last would evict the state of
/// the first from the cache.
const TOGETHER: u64 = 512;

/// Size of a long packet, bytes.
const PACKET_BYTES: u32 = 1500;

/// Merge queue and the bottleneck behind it.
#[derive(Debug, Clone)]
struct Merge {
    funnel: Funnel,
    bottleneck: u32,
    /// Longest delay of the event after the first arrival: the bottleneck's propagation delay.
    max_wait: Duration,
}

/// All funnels.
#[derive(Debug, Clone)]
pub(in crate::engine) struct Funnels {
    all: Vec<Merge>,
    /// First target that is a funnel; the others follow, before the first lane.
    first: Target,
}

/// Reasons to leave the fast path for a packet.
enum Halt {
    /// Dropped by the queue.
    QueueFull,
    /// Leaves the bottleneck at this time, and continues on another path.
    LeavesBottleneck(Time),
    /// Leaves the pipe behind the bottleneck at this time, and fits into no lane.
    FitsNoLane(Time),
}

impl Funnels {
    /// Creates funnels before the pipes of these routes that can have one, and marks the pipes that
    /// feed them; with `waits` their events may be delayed.
    pub fn new(routes: &[u32], pipes: &mut [Pipe], (first, waits): (Target, bool)) -> Self {
        // A pipe gets a funnel if packets come to it and all its sources can feed a funnel.
        let mut fed = vec![None; pipes.len()];
        for route in routes.split_inclusive(|word| is_end(*word)) {
            for (at, word) in route.iter().enumerate() {
                let Some(fed) = fed.get_mut(pipe_of(*word) as usize) else { continue };
                let first = || &pipes[pipe_of(route[0]) as usize];
                let feeds = at == 1 && is_private(route[0]) && first().is_plain();
                *fed = Some(feeds && !first().leads() && fed.unwrap_or(true));
            }
        }
        let feeders =
            || routes.split_inclusive(|word| is_end(*word)).map(|route| pipe_of(route[0]));
        let delays = feeders().filter_map(|first| Some(pipes.get(first as usize)?.delay()));
        let longest = delays.max().unwrap_or_default();
        let mut all = Vec::new();
        for (bottleneck, fed) in (0..).zip(&mut fed) {
            let pipe = &pipes[bottleneck as usize];
            // A packet at a plain pipe has no effect outside it before the propagation delay has
            // passed, so the funnel's event may be that late.
            if *fed == Some(true) && pipe.is_plain() && !pipe.follows() {
                let each = pipe.transmission_time(PACKET_BYTES);
                let most = Duration::from_nanos(each.as_nanos().saturating_mul(TOGETHER));
                let max_wait = if waits { pipe.delay().min(most) } else { Duration::ZERO };
                pipes[bottleneck as usize].attach_source(all.len() as u32);
                let funnel = Funnel::new(Days::new((max_wait + longest) * 2, each));
                all.push(Merge { funnel, bottleneck, max_wait });
            }
        }
        for route in routes.split_inclusive(|word| is_end(*word)) {
            let Some(second) = route.get(1) else { continue };
            if let Ok(number) = all.binary_search_by_key(&pipe_of(*second), |fed| fed.bottleneck) {
                pipes[pipe_of(route[0]) as usize].feed(number as u32);
            }
        }
        Self { all, first }
    }

    /// Number of funnels.
    pub const fn count(&self) -> u32 {
        self.all.len() as u32
    }

    /// Inserts a packet that enters a pipe feeding this funnel.
    #[inline(always)]
    pub fn feed(
        &mut self,
        number: u32,
        (now, step): (Time, Step),
        (index, pipe): (u32, &mut Pipe),
        agenda: &mut Agenda,
    ) -> Entry {
        let Step { parcel, hop } = step;
        let Crossing::Arrives(arrival) = pipe.cross_plain(now, parcel.bytes) else {
            return Entry::QueueFull;
        };
        let fed = &mut self.all[number as usize];
        match fed.funnel.enqueue(arrival, parcel, hop + 1) {
            Enqueued::Behind => pipe.hand_over(),
            Enqueued::First => {
                pipe.hand_over();
                agenda.wake(self.first + number, arrival + fed.max_wait);
            }
            Enqueued::Refused => {
                pipe.append(arrival, parcel);
                agenda.wake(index, pipe.poll_timeout());
            }
        }
        Entry::Accepted
    }
}

/// Parts of the engine that an arrival at a bottleneck needs.
struct Onward<'e> {
    pipes: &'e mut [Pipe],
    routes: &'e [u32],
    /// Lanes behind the bottleneck.
    lanes: ParallelLanes<'e>,
    agenda: &'e mut Agenda,
}

impl Onward<'_> {
    /// Moves a packet through the bottleneck and the pipe behind it, into a lane.
    #[inline(always)]
    fn carry_out(&mut self, arriving: &Arrival, bottleneck: u32) -> Result<(), Halt> {
        let Parcel { id, bytes } = arriving.parcel;
        let leader = &mut self.pipes[bottleneck as usize];
        let Crossing::Arrives(at) = leader.cross_plain(arriving.arrival, bytes) else {
            return Err(Halt::QueueFull);
        };
        let through = Err(Halt::LeavesBottleneck(at));
        let hop = arriving.hop as usize;
        let Some([_, next, behind]) = self.routes.get(hop..hop + 3) else { return through };
        let Some(to) = end_of(*behind) else { return through };
        let next = self.pipes.get_mut(pipe_of(*next) as usize);
        let Some(next) = next.filter(|next| next.follows()) else { return through };
        let Some(arrival) = next.traverse_ahead((arriving.arrival, at), bytes) else {
            return through;
        };
        if !self.lanes.append(Waiting { arrival, id, to }, self.agenda) {
            return Err(Halt::FitsNoLane(arrival));
        }
        next.hand_over();
        Ok(())
    }

    /// Prefetches the state that a packet will need behind the bottleneck.
    #[inline(always)]
    fn prefetch(&self, next: &Arrival) {
        let next = pipe_of(self.routes[next.hop as usize + 1]);
        self.pipes.get(next as usize).into_iter().for_each(Pipe::prefetch);
    }
}

impl Engine<'_> {
    /// [`Self::enter`] for the first hop of a route, if that feeds this funnel.
    #[inline(never)]
    pub(in crate::engine) fn feed(&mut self, number: u32, step: Step) {
        let index = pipe_of(self.routes[step.hop as usize]);
        self.recorder.entered(self.now, index, step.parcel.id, &mut self.packets);
        let pipe = &mut self.pipes[index as usize];
        let entry = self.funnels.feed(number, (self.now, step), (index, pipe), &mut self.agenda);
        if entry != Entry::Accepted {
            self.write_hop(step);
            self.drop_at_full_queue(index, step.parcel.id);
        }
    }

    /// Handles the event of a funnel, which has waited as long as possible.
    #[inline(never)]
    pub(in crate::engine) fn funnel_due(&mut self, number: u32) {
        self.carry_out(number);
        let Merge { funnel, max_wait, .. } = &self.funnels.all[number as usize];
        let first = funnel.first();
        if first != Time::NEVER {
            self.agenda.wake(self.funnels.first + number, first + *max_wait);
        }
    }

    /// Carries out all arrivals of a funnel up to now.
    pub(in crate::engine) fn carry_out(&mut self, number: u32) {
        self.carry_out_by(self.now, number);
    }

    #[inline(never)]
    fn carry_out_by(&mut self, time: Time, number: u32) {
        let now = self.now;
        let leader = self.funnels.all[number as usize].bottleneck;
        let has_no_lanes = self.lanes.behind(leader).is_none();
        if has_no_lanes {
            while let Some(next) = self.funnels.all[number as usize].funnel.pop(time) {
                self.carry_out_alone(&next);
            }
        } else {
            let usual = if self.lanes.exceed_caches() {
                Self::carry_out_usual::<true>
            } else {
                Self::carry_out_usual::<false>
            };
            // A packet that leaves the fast path is handled as if its own event had occurred at its
            // arrival.
            while let Some((next, halt)) = usual(self, (number, time)) {
                self.now = next.arrival;
                let step = Step { parcel: next.parcel, hop: next.hop };
                match halt {
                    Halt::QueueFull => self.stay_in_leader(leader, step, false),
                    Halt::LeavesBottleneck(at) => self.go_ahead(leader, (at, step)),
                    Halt::FitsNoLane(at) => {
                        // The packet has also passed the pipe behind the bottleneck, where it now
                        // waits.
                        self.take_lane(leader, (at, Step { hop: step.hop + 1, ..step }));
                    }
                }
            }
        }
        self.now = now;
    }

    /// Carries out arrivals at a leading pipe as long as each packet gets into a lane behind the
    /// next pipe; returns the first that does not. `PREFETCHES` is true if there are more flows
    /// than the caches hold.
    // The engine is borrowed in parts, once for all arrivals.
    #[inline(never)]
    fn carry_out_usual<const PREFETCHES: bool>(
        &mut self,
        (number, time): (u32, Time),
    ) -> Option<(Arrival, Halt)> {
        let Self { funnels, pipes, routes, lanes, agenda, .. } = self;
        let Merge { funnel, bottleneck, .. } = &mut funnels.all[number as usize];
        let mut onward = Onward { pipes, routes, lanes: lanes.behind(*bottleneck)?, agenda };
        loop {
            // The packet is read in place and removed at the end of the loop body: a copy would
            // have to be spilled to memory.
            let next = funnel.first_by(time)?;
            if let Err(halt) = onward.carry_out(next, *bottleneck) {
                return funnel.pop(time).map(|next| (next, halt));
            }
            if PREFETCHES {
                onward.lanes.prefetch();
                funnel.ahead(FETCHED).into_iter().for_each(|other| onward.prefetch(other));
            }
            funnel.drop_first();
        }
    }

    /// Carries out one arrival that must be reported, or that occurs at a pipe without followers.
    #[inline(never)]
    fn carry_out_alone(&mut self, next: &Arrival) {
        let Arrival { arrival, parcel, hop, .. } = *next;
        self.now = arrival;
        let [before, word] = [hop - 1, hop].map(|hop| self.routes[hop as usize]);
        self.recorder.left(self.now, pipe_of(before), parcel.id, &mut self.packets);
        self.enter_in_turn(word, Step { parcel, hop });
    }

    /// Carries out all arrivals at bottlenecks up to now.
    pub(in crate::engine) fn flush_funnels(&mut self) {
        (0..self.funnels.count()).for_each(|number| self.carry_out(number));
    }

    /// Carries out the arrivals up to now at the bottlenecks on a flow's path.
    pub(in crate::engine) fn flush_funnels_of(&mut self, flow: u32) {
        for hop in self.flows[flow as usize].first_hops() {
            let first = self.pipes.get(pipe_of(self.routes[hop as usize]) as usize);
            if let Some(number) = first.and_then(Pipe::feeds) {
                self.carry_out(number);
            }
        }
    }

    /// Packets in all funnels.
    pub(in crate::engine) fn in_funnels(&self) -> impl Iterator<Item = Kept> {
        self.funnels.all.iter().flat_map(|fed| fed.funnel.iter()).map(|next| {
            let pipe = pipe_of(self.routes[next.hop as usize - 1]);
            Kept { pipe, arrival: next.arrival, bytes: next.parcel.bytes }
        })
    }
}
