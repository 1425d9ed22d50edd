//! Prefetching in networks of many shared pipes that do not allow [`super::epochs`], for example
//! with queues other than droptail.
//!
//! There each hop of a packet is an event of a pipe of its own, and the state of all pipes and
//! packets exceeds the caches. The event queue shows which events come next. Once in a few events,
//! the state of later ones is therefore prefetched in stages: each stage follows a pointer that an
//! earlier stage has prefetched. Events that are inserted meanwhile shift the later ones, so a
//! stage may miss a few of them; they only take longer.

use crate::engine::Engine;
use crate::event_queue::Target;
use crate::route_entry::NextHop;
use retx_link::Pipe;

/// Number of pipes with events of their own above which their state is assumed to exceed a
/// processor's L2 cache.
const MANY: usize = 1000;

/// Number of events for which a call prefetches; the next call follows after as many events.
const ROUND: usize = 4;

/// Distances of the stages, in events; they and [`ROUND`] were chosen by measurement.
const PIPE: usize = 12;
const FRONT: usize = 9;
const PACKET: usize = 6;
const NEXT: usize = 3;

/// True if the caches cannot hold the state of the pipes that have events.
pub(in crate::engine) fn exceed_caches(pipes: &[Pipe]) -> bool {
    let has_events = |pipe: &&Pipe| !pipe.follows() && pipe.sink().is_none();
    pipes.iter().filter(has_events).count() > MANY
}

impl Engine<'_> {
    /// Handles the wake-up of a pipe, and prefetches the state that later events will need.
    pub(in crate::engine) fn wake_pipe_and_fetch(&mut self, index: u32) {
        if self.events.is_multiple_of(ROUND as u64) {
            self.fetch_upcoming();
        }
        if let Some((id, to)) = self.handle_pipe_wakeup_fast(index) {
            self.deliver(id, to);
        }
    }

    /// Prefetches the state that the next events of pipes will need.
    #[inline(never)]
    fn fetch_upcoming(&self) {
        let mut upcoming = [Target::MAX; PIPE + ROUND];
        for (place, target) in upcoming.iter_mut().zip(self.agenda.upcoming()) {
            *place = target;
        }
        let at = |distance: usize| {
            let targets = upcoming[distance..distance + ROUND].iter();
            targets.filter_map(|target| self.pipes.get(*target as usize))
        };
        at(PIPE).for_each(Pipe::prefetch_whole);
        at(FRONT).for_each(Pipe::prefetch_front);
        at(PACKET).filter_map(Pipe::front).for_each(|id| self.packets.prefetch_hop(id));
        at(NEXT).filter_map(Pipe::front).for_each(|id| self.fetch_next_hop(id));
    }

    /// Prefetches the pipe that a packet enters next, or what its arrival at a host needs.
    #[inline(always)]
    fn fetch_next_hop(&self, id: u32) {
        let Some(entry) = self.routes.get(self.packets.hop(id) as usize + 1) else { return };
        let to = match entry.next_hop() {
            NextHop::Pipe(next) | NextHop::PrivatePipe(next) => {
                self.pipes[next as usize].prefetch_whole();
                return self.agenda.prefetch(next);
            }
            NextHop::Port(_) | NextHop::Source => return self.packets.prefetch(id),
            NextHop::Endpoint(to) => to,
            NextHop::PacketDestination => self.packets.get(id).destination,
        };
        self.packets.prefetch(id);
        if let Some(flow) = self.flows.get(to.flow() as usize) {
            flow.prefetch(to.side());
        }
    }
}
