//! Packets that pass hops ahead of time ([`retx_link::pipe::ahead`]). A pipe that gets all its
//! packets from one other pipe *follows* that pipe, its *leader*; an access link behind a
//! bottleneck is an example. A packet's passage through the follower is computed when the packet
//! enters the leader, so the follower needs no event.
//!
//! The results are unchanged. Events in the same nanosecond are ordered by their pipes, and a
//! packet leaves the last pipe that it has passed at the same time and in the same order as without
//! this method. A pipe that takes no time is no follower: an arrival at it would, without this
//! method, come after other events in that nanosecond.

use crate::engine::Engine;
use crate::engine::routes::EnteringPacket;
use crate::plan::PipePlan;
use crate::route_entry::RouteEntry;
use retx_link::Pipe;
use retx_link::pipe::ahead::{self, LeaderEntry};
use retx_link::pipe::{Packet, PlainPacket, Statistics};
use retx_units::{Duration, Time};

/// Sources of a pipe's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feeders {
    Nobody,
    One(u32),
    /// Hosts, stages other than pipes, or several pipes.
    Others,
}

impl Feeders {
    fn and(self, other: Self) -> Self {
        match self {
            Self::Nobody => other,
            own if own == other => own,
            _ => Self::Others,
        }
    }
}

/// Makes each pipe follow the pipe that feeds it, where that is possible.
pub(in crate::engine) fn find_followers(
    pipes: &mut [Pipe],
    routes: &[RouteEntry],
    plans: &[PipePlan],
) {
    let mut feeders = vec![Feeders::Nobody; pipes.len()];
    // Routes are stored one after another. The entry before the first hop of a route is the end of
    // the previous route, which is not a pipe; the packets of a first hop come from a host.
    let mut before = None;
    for entry in routes {
        let pipe = entry.pipe();
        if let Some(pipe) = pipe {
            let feeders = &mut feeders[pipe as usize];
            *feeders = feeders.and(before.map_or(Feeders::Others, Feeders::One));
        }
        before = pipe;
    }
    for (index, feeders) in feeders.into_iter().enumerate() {
        let Feeders::One(leader) = feeders else { continue };
        let takes_time = pipes[index].delay() + pipes[index].transmission_time(1) > Duration::ZERO;
        if takes_time && pipes[index].is_plain() && plans[leader as usize].config.can_lead() {
            pipes[index].set_leader(leader);
            pipes[leader as usize].make_leader();
        }
    }
}

impl Engine<'_> {
    /// Enters a packet into a leader, and moves it as far as possible without an event.
    #[inline(always)]
    pub(in crate::engine) fn enter_leader(&mut self, leader: u32, entering: EnteringPacket) {
        let PlainPacket { id, bytes } = entering.packet;
        let pipe = &mut self.pipes[leader as usize];
        let crossing = if pipe.is_plain() {
            pipe.enter_plain(self.now, bytes)
        } else {
            let packet = self.packets.get(id);
            let (frame, ecn_capable) = (packet.frame(), packet.is_ecn_capable());
            pipe.enter_leader(self.now, &Packet { id, frame, ecn_capable })
        };
        if let LeaderEntry::Arrives(at) = crossing {
            self.traverse_followers(leader, (at, entering));
        } else {
            self.handle_loss_in_leader(leader, entering, crossing == LeaderEntry::Lost);
        }
    }

    /// Moves a packet through the pipes that follow its leader, as far as possible. `at` is its
    /// time of arrival at the far end of the leader.
    #[inline(always)]
    pub(in crate::engine) fn traverse_followers(
        &mut self,
        leader: u32,
        (mut at, mut entering): (Time, EnteringPacket),
    ) {
        let PlainPacket { bytes, .. } = entering.packet;
        let mut entry = self.routes[entering.hop as usize];
        loop {
            let next = self.routes[entering.hop as usize + 1];
            let pipe = next.find_pipe_mut(&mut self.pipes).filter(|(_, pipe)| pipe.follows());
            let Some((_, pipe)) = pipe else { break };
            // `traverse_ahead` refuses a packet that the queue would drop, or that would raise the
            // maximum queue length. Both depend on packets that may still arrive before it, so the
            // pipe must handle this packet when it arrives.
            let Some(further) = pipe.traverse_ahead((self.now, at), bytes) else { break };
            entering.hop += 1;
            (entry, at) = (next, further);
            if !pipe.leads() {
                // The usual case: this follower has no followers of its own.
                return self.append_to_lane(leader, (at, entering));
            }
        }
        let index = entry.known_pipe();
        if self.pipes[index as usize].lanes().is_some() {
            return self.append_to_lane(leader, (at, entering));
        }
        if !entry.is_private() {
            self.store_hop(entering);
        }
        let pipe = &mut self.pipes[index as usize];
        // The packet waits in the last pipe that it has passed; an event of that pipe moves it on.
        pipe.insert(at, entering.packet);
        self.agenda.wake(index, pipe.poll_timeout());
    }

    /// Handles a packet that does not reach the far end of a leader: the channel has lost it
    /// (`lost`), or the queue was full.
    #[inline(never)]
    pub(in crate::engine) fn handle_loss_in_leader(
        &mut self,
        index: u32,
        entering: EnteringPacket,
        lost: bool,
    ) {
        self.store_hop(entering);
        if lost {
            self.agenda.wake(index, self.pipes[index as usize].poll_timeout());
        } else {
            self.drop_at_full_queue(index, entering.packet.id);
        }
    }

    /// Statistics of all pipes in order.
    pub fn pipe_statistics(&self) -> Box<dyn Iterator<Item = Statistics> + '_> {
        // A pipe counts a packet in a lane or funnel before the packet gets there.
        // `ahead::statistics` corrects the counters by the arrival time of each such packet.
        let by_epochs = self.epochs.is_some();
        if by_epochs || self.funnels.count() > 0 || self.pipes.iter().any(Pipe::leads) {
            let bytes = |id| self.packets.get(id).bytes();
            Box::new(ahead::statistics(
                &self.pipes,
                self.now,
                self.packets_in_lanes()
                    .chain(self.packets_in_funnels())
                    .chain(self.packets_in_epochs()),
                bytes,
            ))
        } else {
            Box::new(self.pipes.iter().map(|pipe| pipe.statistics(self.now)))
        }
    }
}
