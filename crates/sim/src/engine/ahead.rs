//! Packets that pass hops ahead of time ([`retx_link::pipe::ahead`]): an access link behind a
//! bottleneck costs no event of its own.
//!
//! All stays as it was, but for what happens at the same nanosecond: there the order is that of
//! insertion, and the arrival behind such a hop is put in when the packet enters the hop before.

use super::{Engine, HOST, VARIES};
use crate::flow::Flow;
use crate::plan::{PipePlan, Side};
use retx_link::Pipe;
use retx_link::pipe::ahead::{self, Crossing};
use retx_link::pipe::{Packet, Statistics};
use retx_wire::Ecn;

/// Who feeds a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feeders {
    Nobody,
    One(u32),
    /// Hosts, stages that are no pipes, or several.
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

/// A host behind a pipe: with it, the end that all packets from there are for ([`Packet::to`]).
///
/// [`Packet::to`]: crate::packet::Packet::to
const END: u32 = 1 << 31;

/// What comes behind each of so many pipes: a hop, an end, or [`VARIES`], [`HOST`] or [`SOURCE`],
/// where the packet has to be asked. Few need be: so where a packet goes is known before it is in
/// the cache.
///
/// [`SOURCE`]: super::SOURCE
pub(super) fn behind(pipes: usize, routes: &[u32], flows: &[Flow]) -> Vec<u32> {
    let merged = |known: &mut Option<u32>, new: u32| {
        *known = Some(if known.is_none_or(|known| known == new) { new } else { VARIES });
    };
    // Whose packets take the route that begins there.
    let mut users: Vec<Option<u32>> = vec![None; routes.len()];
    for (index, flow) in (0..).zip(flows) {
        let [data, acks] = flow.first_hops();
        merged(&mut users[data as usize], END | (2 * index + Side::Receiver as u32));
        merged(&mut users[acks as usize], END | (2 * index + Side::Sender as u32));
    }
    let mut found: Vec<Option<u32>> = vec![None; pipes];
    let mut user = HOST;
    for (at, pair) in routes.windows(2).enumerate() {
        if at == 0 || routes[at - 1] == HOST {
            user = users[at].unwrap_or(HOST);
        }
        if let Some(found) = found.get_mut(pair[0] as usize) {
            merged(found, if pair[1] == HOST { user } else { pair[1] });
        }
    }
    found.into_iter().map(|found| found.unwrap_or(VARIES)).collect()
}

/// Lets pipes follow others where they can.
pub(super) fn find_followers(pipes: &mut [Pipe], routes: &[u32], plans: &[PipePlan]) {
    let mut feeders = vec![Feeders::Nobody; pipes.len()];
    let mut before = HOST;
    for word in routes {
        if let Some(feeders) = feeders.get_mut(*word as usize) {
            let from_pipe = (before as usize) < pipes.len();
            let feeder = if from_pipe { Feeders::One(before) } else { Feeders::Others };
            *feeders = feeders.and(feeder);
        }
        before = *word;
    }
    for (index, feeders) in feeders.into_iter().enumerate() {
        let Feeders::One(leader) = feeders else { continue };
        if pipes[index].is_plain() && plans[leader as usize].config.can_lead() {
            pipes[index].follow(leader);
            pipes[leader as usize].lead();
        }
    }
}

impl Engine<'_> {
    /// Moves a packet on to what is `behind` the place where it was; returns that, and the end that
    /// it is for should that be [`HOST`].
    #[inline(always)]
    pub(super) fn next_of(&mut self, id: u32, behind: u32) -> (u32, u32) {
        let packet = self.packets.get_mut(id);
        packet.hop += 1;
        if behind >= VARIES {
            return (self.routes[packet.hop as usize], packet.to);
        }
        let (next, to) = if behind & END == 0 { (behind, packet.to) } else { (HOST, behind ^ END) };
        debug_assert_eq!((next, to), (self.routes[packet.hop as usize], packet.to));
        (next, to)
    }

    /// A packet enters a pipe that others follow: takes it as far as it gets without an event.
    #[inline(always)]
    pub(super) fn enter_leader(&mut self, mut index: u32, id: u32) {
        let packet = self.packets.get_mut(id);
        let pipe = &mut self.pipes[index as usize];
        let crossing = if pipe.is_plain() {
            pipe.cross_plain(self.now, packet.bytes)
        } else {
            let (frame, ecn_capable) = (packet.frame(), packet.ecn != Ecn::NotEct);
            pipe.cross(self.now, &Packet { id, frame, ecn_capable })
        };
        let leader = index;
        let mut at = match crossing {
            Crossing::Arrives(at) => at,
            Crossing::Lost => return self.agenda.wake(index, pipe.poll_timeout()),
            Crossing::QueueFull => return self.turn_away(index, id),
        };
        loop {
            let next = self.routes[packet.hop as usize + 1];
            let Some(pipe) = self.pipes.get_mut(next as usize).filter(|pipe| pipe.follows()) else {
                break;
            };
            let Some(further) = pipe.foresee(self.now, at, packet.bytes) else { break };
            packet.hop += 1;
            (index, at) = (next, further);
            if !pipe.leads() {
                // Nearly all get here: who follows is plain.
                if !self.take_lane(leader, index, (at, id)) {
                    self.pipes[index as usize].append(at, id);
                    self.agenda.wake(index, at);
                }
                return;
            }
        }
        let pipe = &mut self.pipes[index as usize];
        pipe.put(at, id);
        self.agenda.wake(index, pipe.poll_timeout());
    }

    /// What the pipes have counted, one after the other.
    pub fn pipe_statistics(&self) -> Box<dyn Iterator<Item = Statistics> + '_> {
        if self.pipes.iter().any(Pipe::leads) {
            let bytes = |id| self.packets.get(id).bytes;
            Box::new(ahead::statistics(&self.pipes, self.now, self.in_lanes(), bytes))
        } else {
            Box::new(self.pipes.iter().map(|pipe| pipe.statistics(self.now)))
        }
    }
}
