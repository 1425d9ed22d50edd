//! Copies that the network makes of packets: what becomes of one may depend on the others.

use super::beside::Notes;
use super::{NONE, Packets};
use crate::drop::Drop;
use retx_wire::Ecn;

/// What is left of the copies that the network has made of one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Twins {
    /// Still on their way.
    alive: u32,
    /// One has reached the host.
    arrived: bool,
    /// How the last to be dropped was.
    last_drop: Option<Drop>,
    /// The number in the capture of the first that was seen, or [`NONE`].
    captured: u32,
}

/// A packet of which there are no copies yet.
const ALONE: Twins = Twins { alive: 1, arrived: false, last_drop: None, captured: NONE };

/// What else there is of a packet that has come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Nothing.
    None,
    /// A copy has reached the host before; none is on its way.
    Arrived,
    /// A copy is on its way.
    OnTheirWay,
}

impl Packets {
    /// A copy of a packet, where the packet is; returns its number. It belongs to no row and to no
    /// sight of a capture: those are the packet's own.
    pub fn copy(&mut self, id: u32) -> u32 {
        let segment = self.segment(id);
        if self.get(id).twins() == NONE {
            let group = self.free_twins.pop().unwrap_or_else(|| {
                self.twins.push(ALONE);
                u32::try_from(self.twins.len() - 1).expect("fewer than 2^32 copies")
            });
            self.twins[group as usize] = Twins { captured: self.get(id).captured(), ..ALONE };
            self.get_mut(id).notes_mut().twins = group;
        }
        let (copy, _) = self.insert(&segment, Ecn::NotEct);
        let [from, to] = [id, copy].map(|id| id as usize);
        self.slots[to] = self.slots[from];
        self.trails[to] = self.trails[from];
        let (group, own) = (self.get(id).twins(), self.notes[from]);
        *self.get_mut(copy).notes_mut() = Notes { captured: NONE, ..own };
        self.twins[group as usize].alive += 1;
        copy
    }

    /// A packet is about to be dropped: how, should there be others of it.
    pub fn note_drop(&mut self, id: u32, drop: &Drop) {
        let group = self.get(id).twins();
        if group != NONE {
            self.twins[group as usize].last_drop = Some(*drop);
        }
    }

    /// A copy comes to its end that was only kept. If it was the last, and none has arrived, the
    /// packet is lost after all, by the drop that is returned.
    pub fn end_kept(&mut self, id: u32) -> Option<Drop> {
        let group = self.get(id).twins() as usize;
        let last_drop = self.twins[group].last_drop;
        self.end_among_twins(id, false);
        let lost = self.get(id).others() == Others::None;
        lost.then(|| last_drop.expect("what did not arrive was dropped"))
    }

    /// A packet has come to its end, at its host or by being dropped: notes in it whether there are
    /// others of it.
    #[inline]
    pub fn end(&mut self, id: u32, arrived: bool) {
        if self.get(id).has_twins() {
            self.end_among_twins(id, arrived);
        }
    }

    #[cold]
    fn end_among_twins(&mut self, id: u32, arrived: bool) {
        let group = self.get(id).twins();
        let twins = &mut self.twins[group as usize];
        twins.alive -= 1;
        let before = twins.arrived;
        twins.arrived |= arrived;
        let others = match (twins.alive, before) {
            (0, false) => Others::None,
            (0, true) => Others::Arrived,
            _ => Others::OnTheirWay,
        };
        if others != Others::OnTheirWay {
            self.free_twins.push(group);
        }
        let mut packet = self.get_mut(id);
        let notes = packet.notes_mut();
        notes.others = others;
        notes.later = before;
        // A drop is written down when there is no other.
        if !arrived && (before || others == Others::OnTheirWay) {
            packet.set_row(NONE);
        }
    }

    /// The number in the capture of a copy of this packet that has been seen before it.
    pub fn captured_twin(&self, id: u32) -> Option<u32> {
        let group = self.get(id).twins();
        let captured = if group == NONE { NONE } else { self.twins[group as usize].captured };
        (captured != NONE).then_some(captured)
    }

    /// A packet has its number in the capture.
    pub fn note_captured(&mut self, id: u32, captured: u32) {
        self.get_mut(id).notes_mut().captured = captured;
        let group = self.get(id).twins();
        if group != NONE && self.twins[group as usize].captured == NONE {
            self.twins[group as usize].captured = captured;
        }
    }
}
