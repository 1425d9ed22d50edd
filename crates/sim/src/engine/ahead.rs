//! Packets that pass hops ahead of time ([`retx_link::pipe::ahead`]): an access link behind a
//! bottleneck costs no event of its own.
//!
//! All stays as it was, but for what happens at the same nanosecond: there the order is that of
//! insertion, and the arrival behind such a hop is put in when the packet enters the hop before.

use super::{Engine, HOST};
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

impl Engine<'_> {
    /// Finds the pipes that follow others. A capture sees packets at each hop, at their time: with
    /// one there are none.
    pub(super) fn find_followers(&mut self) {
        if self.recorder.capture.is_some() {
            return;
        }
        let count = self.pipes.len();
        let mut feeders = vec![Feeders::Nobody; count];
        let mut before = HOST;
        for word in &self.routes {
            if let Some(feeders) = feeders.get_mut(*word as usize) {
                let from_pipe = (before as usize) < count;
                let feeder = if from_pipe { Feeders::One(before) } else { Feeders::Others };
                *feeders = feeders.and(feeder);
            }
            before = *word;
        }
        for (index, feeders) in feeders.into_iter().enumerate() {
            let Feeders::One(leader) = feeders else { continue };
            if self.pipes[index].is_plain() && self.plan.pipes[leader as usize].config.can_lead() {
                self.pipes[index].follow(leader);
                self.pipes[leader as usize].lead();
            }
        }
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
                pipe.append(at, id);
                return self.agenda.wake(index, at);
            }
        }
        let pipe = &mut self.pipes[index as usize];
        pipe.put(at, id);
        self.agenda.wake(index, pipe.poll_timeout());
    }

    /// What the pipes have counted.
    pub fn pipe_statistics(&self) -> Vec<Statistics> {
        if self.pipes.iter().any(Pipe::leads) {
            ahead::statistics(&self.pipes, self.now, |id| self.packets.get(id).bytes)
        } else {
            self.pipes.iter().map(|pipe| pipe.statistics(self.now)).collect()
        }
    }
}
