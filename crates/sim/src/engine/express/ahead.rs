//! Packets that pass hops ahead of time ([`retx_link::pipe::ahead`]): an access link behind a
//! bottleneck costs no event of its own.
//!
//! All stays as it was, but for what happens at the same nanosecond: there the order is that of
//! insertion, and the arrival behind such a hop is put in when the packet enters the hop before.

use crate::engine::Engine;
use crate::engine::routes::{HOST, Step, is_private, pipe_of};
use crate::plan::PipePlan;
use retx_link::Pipe;
use retx_link::pipe::ahead::{self, Crossing};
use retx_link::pipe::{Packet, Parcel, Statistics};
use retx_units::Time;

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

/// Lets pipes follow others where they can.
pub(in crate::engine) fn find_followers(pipes: &mut [Pipe], routes: &[u32], plans: &[PipePlan]) {
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
    /// A packet enters a pipe that others follow: takes it as far as it gets without an event.
    #[inline(always)]
    pub(in crate::engine) fn enter_leader(&mut self, leader: u32, step: Step) {
        let Parcel { id, bytes } = step.parcel;
        let pipe = &mut self.pipes[leader as usize];
        let crossing = if pipe.is_plain() {
            pipe.cross_plain(self.now, bytes)
        } else {
            let packet = self.packets.get(id);
            let (frame, ecn_capable) = (packet.frame(), packet.is_ecn_capable());
            pipe.cross(self.now, &Packet { id, frame, ecn_capable })
        };
        if let Crossing::Arrives(at) = crossing {
            self.go_ahead(leader, (at, step));
        } else {
            self.stay_in_leader(leader, step, crossing == Crossing::Lost);
        }
    }

    /// A packet arrives at `at`, at the far end of the pipe where it is, which others follow: takes
    /// it as far as it gets behind that.
    #[inline(always)]
    pub(in crate::engine) fn go_ahead(&mut self, leader: u32, (mut at, mut step): (Time, Step)) {
        let Parcel { bytes, .. } = step.parcel;
        let mut word = self.routes[step.hop as usize];
        loop {
            let next = self.routes[step.hop as usize + 1];
            let pipe = self.pipes.get_mut(pipe_of(next) as usize).filter(|pipe| pipe.follows());
            let Some(pipe) = pipe else { break };
            let Some(further) = pipe.foresee((self.now, at), bytes) else { break };
            step.hop += 1;
            (word, at) = (next, further);
            if !pipe.leads() {
                // Nearly all get here: who follows is plain.
                return self.take_lane(leader, (at, step));
            }
        }
        let index = pipe_of(word);
        if !is_private(word) {
            self.write_hop(step);
        }
        let pipe = &mut self.pipes[index as usize];
        pipe.put(at, step.parcel);
        self.agenda.wake(index, pipe.poll_timeout());
    }

    /// A packet does not get through a pipe that others follow.
    #[inline(never)]
    pub(in crate::engine) fn stay_in_leader(&mut self, index: u32, step: Step, lost: bool) {
        self.write_hop(step);
        if lost {
            self.agenda.wake(index, self.pipes[index as usize].poll_timeout());
        } else {
            self.turn_away(index, step.parcel.id);
        }
    }

    /// What the pipes have counted, one after the other.
    pub fn pipe_statistics(&self) -> Box<dyn Iterator<Item = Statistics> + '_> {
        if self.funnels.count() > 0 || self.pipes.iter().any(Pipe::leads) {
            let bytes = |id| self.packets.get(id).bytes();
            Box::new(ahead::statistics(
                &self.pipes,
                self.now,
                self.in_lanes().chain(self.in_funnels()),
                bytes,
            ))
        } else {
            Box::new(self.pipes.iter().map(|pipe| pipe.statistics(self.now)))
        }
    }
}
