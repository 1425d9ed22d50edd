//! Events of a stage that follow each other without the event queue.

use crate::drop::PacketDrop;
use crate::engine::Engine;
use crate::engine::layout::PlacedStage;
use crate::route_entry::NextHop;
use crate::stage::Stage;
use retx_link::stage::{Entry, Packet};
use retx_link::wlan;
use retx_units::Time;

/// Maximum number of events of a stage that follow its wake-up at once, so that the caller can
/// interrupt the run (an arbitrary choice).
const EVENTS_MAX: u32 = 16;

impl Engine<'_> {
    /// Handles the events of a stage that precede all other events.
    pub(in crate::engine) fn handle_next_stage_events(&mut self, index: u32) {
        for _ in 0..EVENTS_MAX {
            let next = self.stages[index as usize].stage.poll_timeout();
            if !self.is_next_event(next) {
                break;
            }
            self.events += 1;
            self.now = next;
            self.handle_stage_event(index);
        }
    }

    /// Enters a packet that has left a port of a cell, which is handling its event, into the next
    /// port of its route; false if that belongs to no cell, or to another one.
    #[inline(always)]
    pub(in crate::engine) fn enter_same_stage(&mut self, index: u32, id: u32) -> bool {
        let hop = self.packets.hop(id) + 1;
        let NextHop::Port(port) = self.routes[hop as usize].next_hop() else { return false };
        let port = self.ports[port as usize];
        let PlacedStage { stage, first_place } = &mut self.stages[index as usize];
        let Stage::Wlan(cell) = stage else { return false };
        if port.stage != index || !self.uses_fast_paths {
            return false;
        }
        self.packets.set_hop(id, hop);
        let packet = self.packets.get(id);
        let (frame, ecn_capable) = (packet.frame(), packet.is_ecn_capable());
        let way = wlan::Port { from: port.entry, to: port.exit };
        let packet = Packet { id, frame, ecn_capable };
        if cell.handle_packet(self.now, way, &packet) == Entry::QueueFull {
            let place = *first_place + u32::from(port.entry);
            self.drop(id, &PacketDrop::by_queue(self.now, place));
        }
        true
    }

    /// True if an event at `time`, which no queue holds, precedes all others, so that it can be
    /// handled at once.
    #[inline]
    pub(in crate::engine) fn is_next_event(&mut self, time: Time) -> bool {
        // An engine of external packets must not run ahead of its clock.
        self.uses_fast_paths
            && self.external.is_none()
            && !self.over
            && self.lanes.are_woken_by_events()
            && self.agenda.begins_after(time)
    }
}
