//! Copies that the network makes of packets. The fate of a packet depends on all its copies.

use super::fields::RareFields;
use super::{NONE, Packets};
use crate::drop::PacketDrop;
use retx_wire::Ecn;

/// State of the copies of one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copies {
    /// Number of copies still in flight.
    alive: u32,
    /// True once a copy has reached the host.
    arrived: bool,
    /// Most recent drop of a copy.
    last_drop: Option<PacketDrop>,
}

/// State of a packet of which the network has made no copy.
const ALONE: Copies = Copies { alive: 1, arrived: false, last_drop: None };

/// State of the other copies of a packet when the packet arrives or is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherCopies {
    /// There are no other copies, or all of them were dropped.
    None,
    /// A copy has reached the host earlier; none is in flight.
    Arrived,
    /// A copy is in flight.
    OnTheirWay,
}

impl Packets {
    /// Creates a copy of a packet, at the same position; returns its index. The copy has no row in
    /// a table and no id in a capture yet, because the row and the id belong to the original.
    pub fn create_copy(&mut self, id: u32) -> u32 {
        let segment = self.segment(id);
        if self.get(id).copy_group() == NONE {
            let group = self.free_groups.pop().unwrap_or_else(|| {
                self.copies.push(ALONE);
                u32::try_from(self.copies.len() - 1).expect("fewer than 2^32 copies")
            });
            self.copies[group as usize] = ALONE;
            self.get_mut(id).rare_fields_mut().copy_group = group;
        }
        // The insertion allocates the index and stores the options; the header, including the ECN
        // field, is copied below.
        let (copy, _) = self.insert(&segment, Ecn::NotEct);
        let [from, to] = [id, copy].map(|id| id as usize);
        self.slots[to] = self.slots[from];
        self.tracking[to] = self.tracking[from];
        let (group, own) = (self.get(id).copy_group(), self.rare_fields[from]);
        *self.get_mut(copy).rare_fields_mut() = RareFields { capture_id: NONE, ..own };
        self.copies[group as usize].alive += 1;
        copy
    }

    /// Records the drop of a packet, in case its other copies are lost as well.
    pub fn note_drop(&mut self, id: u32, drop: &PacketDrop) {
        let group = self.get(id).copy_group();
        if group != NONE {
            self.copies[group as usize].last_drop = Some(*drop);
        }
    }

    /// Ends a copy that a relay held. If it was the last copy and none has arrived, the packet is
    /// lost, and the last drop of another copy is returned.
    pub fn end_held_copy(&mut self, id: u32) -> Option<PacketDrop> {
        let group = self.get(id).copy_group() as usize;
        let last_drop = self.copies[group].last_drop;
        self.end_among_copies(id, false);
        let lost = self.get(id).other_copies() == OtherCopies::None;
        lost.then(|| last_drop.expect("what did not arrive was dropped"))
    }

    /// Ends a packet that has `arrived` at its host or was dropped; records in the packet the state
    /// of its other copies.
    #[inline]
    pub fn record_end(&mut self, id: u32, arrived: bool) {
        if self.get(id).has_copies() {
            self.end_among_copies(id, arrived);
        }
    }

    #[cold]
    fn end_among_copies(&mut self, id: u32, arrived: bool) {
        let group = self.get(id).copy_group();
        let copies = &mut self.copies[group as usize];
        copies.alive -= 1;
        // Read before the arrival of this copy is recorded, because only other copies are of
        // interest.
        let before = copies.arrived;
        copies.arrived |= arrived;
        let others = match (copies.alive, before) {
            (0, false) => OtherCopies::None,
            (0, true) => OtherCopies::Arrived,
            _ => OtherCopies::OnTheirWay,
        };
        if others != OtherCopies::OnTheirWay {
            self.free_groups.push(group);
        }
        let mut packet = self.get_mut(id);
        let rare_fields = packet.rare_fields_mut();
        rare_fields.other_copies = others;
        rare_fields.is_later_copy = before;
        // The row shows a drop only if no other copy has arrived or may still arrive.
        if !arrived && (before || others == OtherCopies::OnTheirWay) {
            packet.set_table_row(NONE);
        }
    }

    /// Records the id of a packet in the capture.
    pub fn note_captured(&mut self, id: u32, captured: u32) {
        self.get_mut(id).rare_fields_mut().capture_id = captured;
    }

    /// Sets the identification field of a packet's IP header. Copies that the network makes of the
    /// packet later have it, too.
    pub fn identify(&mut self, id: u32, identification: u16) {
        self.get_mut(id).rare_fields_mut().identification = Some(identification);
    }
}
