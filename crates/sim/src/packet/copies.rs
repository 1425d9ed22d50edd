//! Copies that the network makes of packets: the fate of a packet depends on all its copies.

use super::fields::Notes;
use super::{NONE, Packets};
use crate::drop::Drop;
use retx_wire::Ecn;

/// State of the copies of one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copies {
    /// Number still in flight.
    alive: u32,
    /// True once a copy has reached the host.
    arrived: bool,
    /// Most recent drop of a copy.
    last_drop: Option<Drop>,
    /// Id in the capture of the first copy seen, or [`NONE`].
    captured: u32,
}

/// State of a packet of which the network has made no copy.
const ALONE: Copies = Copies { alive: 1, arrived: false, last_drop: None, captured: NONE };

/// Other copies of a packet that has reached its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// None.
    None,
    /// A copy has reached the host before; none is in flight.
    Arrived,
    /// A copy is in flight.
    OnTheirWay,
}

impl Packets {
    /// Creates a copy of a packet at its position; returns its index. It has no row and no capture
    /// of its own: those belong to the original.
    pub fn copy(&mut self, id: u32) -> u32 {
        let segment = self.segment(id);
        if self.get(id).group() == NONE {
            let group = self.free_groups.pop().unwrap_or_else(|| {
                self.copies.push(ALONE);
                u32::try_from(self.copies.len() - 1).expect("fewer than 2^32 copies")
            });
            self.copies[group as usize] = Copies { captured: self.get(id).captured(), ..ALONE };
            self.get_mut(id).notes_mut().group = group;
        }
        // Inserted for its index and options; the header with the ECN field is copied below.
        let (copy, _) = self.insert(&segment, Ecn::NotEct);
        let [from, to] = [id, copy].map(|id| id as usize);
        self.slots[to] = self.slots[from];
        self.trails[to] = self.trails[from];
        let (group, own) = (self.get(id).group(), self.notes[from]);
        *self.get_mut(copy).notes_mut() = Notes { captured: NONE, ..own };
        self.copies[group as usize].alive += 1;
        copy
    }

    /// Records a drop for the other copies of the packet.
    pub fn note_drop(&mut self, id: u32, drop: &Drop) {
        let group = self.get(id).group();
        if group != NONE {
            self.copies[group as usize].last_drop = Some(*drop);
        }
    }

    /// Ends a copy that was held by a relay. If it was the last copy and none has arrived, the
    /// packet is lost; the drop that caused this is returned.
    pub fn end_kept(&mut self, id: u32) -> Option<Drop> {
        let group = self.get(id).group() as usize;
        let last_drop = self.copies[group].last_drop;
        self.end_among_copies(id, false);
        let lost = self.get(id).others() == Others::None;
        lost.then(|| last_drop.expect("what did not arrive was dropped"))
    }

    /// Ends a packet, at its host or by a drop: records in it whether there are other copies.
    #[inline]
    pub fn end(&mut self, id: u32, arrived: bool) {
        if self.get(id).has_copies() {
            self.end_among_copies(id, arrived);
        }
    }

    #[cold]
    fn end_among_copies(&mut self, id: u32, arrived: bool) {
        let group = self.get(id).group();
        let copies = &mut self.copies[group as usize];
        copies.alive -= 1;
        // State before this copy, which must not count as its own predecessor.
        let before = copies.arrived;
        copies.arrived |= arrived;
        let others = match (copies.alive, before) {
            (0, false) => Others::None,
            (0, true) => Others::Arrived,
            _ => Others::OnTheirWay,
        };
        if others != Others::OnTheirWay {
            self.free_groups.push(group);
        }
        let mut packet = self.get_mut(id);
        let notes = packet.notes_mut();
        notes.others = others;
        notes.later = before;
        // A drop is recorded only if no other copy remains.
        if !arrived && (before || others == Others::OnTheirWay) {
            packet.set_row(NONE);
        }
    }

    /// Id in the capture of an earlier copy of this packet.
    pub fn captured_copy(&self, id: u32) -> Option<u32> {
        let group = self.get(id).group();
        let captured = if group == NONE { NONE } else { self.copies[group as usize].captured };
        (captured != NONE).then_some(captured)
    }

    /// Records the id of a packet in the capture.
    pub fn note_captured(&mut self, id: u32, captured: u32) {
        self.get_mut(id).notes_mut().captured = captured;
        let group = self.get(id).group();
        if group != NONE && self.copies[group as usize].captured == NONE {
            self.copies[group as usize].captured = captured;
        }
    }
}
