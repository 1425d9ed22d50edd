//! Relays that inspect segments: the engine shows them the packets that pass, stores copies for
//! them, and sends these copies when a relay orders a retransmission.

use super::Engine;
use crate::drop::PacketDrop;
use crate::packet::OtherCopies;
use crate::plan::Port;
use crate::route_entry::NextHop;
use crate::stage::Stage;
use retx_link::relay::{CopyAction, PassingSegment, Relay, Verdict, eln};
use retx_record::capture::DropReason;

impl Engine<'_> {
    fn relay(&mut self, index: u32) -> Option<&mut Relay> {
        match &mut self.stages[index as usize].stage {
            Stage::Relay(relay) => Some(relay),
            Stage::Wlan(_) => None,
        }
    }

    /// Shows a passing packet to a relay.
    fn show<T>(
        &mut self,
        port: Port,
        id: u32,
        to: impl FnOnce(&mut Relay, &PassingSegment<'_>) -> T,
    ) -> Option<T> {
        let packet = self.packets.get(id);
        let (flow, with_data) = (packet.flow(), packet.carries_data_direction());
        let segment = self.packets.segment(id);
        let side = if port.exit == 0 { eln::Side::Toward } else { eln::Side::From };
        let passing = PassingSegment { flow, side, with_data, segment: &segment };
        self.relay(port.stage).map(|relay| to(relay, &passing))
    }

    /// Handles a packet that passes a relay at this place.
    pub(super) fn pass_relay(&mut self, (port, place): (Port, u32), id: u32) {
        let now = self.now;
        let verdict = self.show(port, id, |relay, passing| relay.handle_packet(now, passing));
        let verdict = verdict.expect("a relay");
        if verdict == Verdict::Keep {
            // The copy is made before the packet moves on, because the packet may be freed at once.
            let copy = self.copy_packet(id);
            self.relay(port.stage).expect("a relay").cache_copy(copy);
        }
        self.execute_relay_actions(port.stage);
        self.rearm_stage(port.stage);
        match verdict {
            Verdict::Absorb => self.absorb(id, place),
            Verdict::Mark => {
                self.packets.get_mut(id).set_loss_notice();
                self.move_to_next_hop(place, id);
            }
            Verdict::Pass | Verdict::Keep => self.move_to_next_hop(place, id),
        }
    }

    fn copy_packet(&mut self, id: u32) -> u32 {
        self.counts.copied += 1;
        let copy = self.packets.create_copy(id);
        if self.external.is_some() {
            self.report_copy(id, copy);
        }
        copy
    }

    /// Carries out the actions of a relay.
    pub(super) fn execute_relay_actions(&mut self, index: u32) {
        while let Some(action) = self.relay(index).and_then(Relay::poll_action) {
            match action {
                CopyAction::Send(held) => {
                    let copy = self.copy_packet(held);
                    let place = self.stages[index as usize].first_place;
                    self.move_to_next_hop(place, copy);
                }
                CopyAction::Forget(held) => self.forget(held),
            }
        }
    }

    fn absorb(&mut self, id: u32, place: u32) {
        self.packets.record_end(id, false);
        // An acknowledgment that a relay absorbs does not arrive. It is counted as dropped, because
        // `check_conservation` compares sums of these counters.
        self.counts.dropped += 1;
        let drop = PacketDrop::by_relay(self.now, place);
        let packet = self.packets.get(id);
        let Some(flow) = self.flows.get(packet.flow() as usize) else {
            return self.drop_non_tcp(id, &drop);
        };
        flow.record_absorbed(packet, &drop, &mut self.recorder);
        self.packets.remove(id);
    }

    /// Frees a copy held by a relay. If all other copies of the packet were dropped, it is lost.
    fn forget(&mut self, id: u32) {
        self.counts.forgotten += 1;
        // The sender does not learn of this event. But if all other copies were dropped, the packet
        // is lost from now on, and must be recorded as lost.
        let lost = self.packets.end_held_copy(id);
        let packet = self.packets.get(id);
        let flow = self.flows.get_mut(packet.flow() as usize);
        match (lost, flow) {
            (Some(drop), Some(flow)) => {
                flow.record_lost_with_last_copy(packet, &drop, &mut self.recorder)
            }
            (Some(drop), None) => self.report_external_loss(id, &drop),
            (None, Some(flow)) if packet.other_copies() == OtherCopies::Arrived => {
                flow.record_given_up_after_arrival(packet, &mut self.recorder);
            }
            (None, _) => {}
        }
        self.packets.remove(id);
    }

    /// Called before a packet is dropped. Stores the drop, in case the packet's other copies are
    /// lost as well. If a queue drops the packet and the hop before this one is a relay, that relay
    /// is informed.
    #[cold]
    pub(super) fn prepare_drop(&mut self, id: u32, drop: &PacketDrop) {
        self.packets.note_drop(id, drop);
        let before = self.packets.hop(id).checked_sub(1);
        let (DropReason::Queue, Some(before)) = (drop.reason, before) else { return };
        // Otherwise the previous entry is a pipe, or the end of another route.
        let NextHop::Port(port) = self.routes[before as usize].next_hop() else { return };
        let (now, port) = (self.now, self.ports[port as usize]);
        if self.show(port, id, |relay, passing| relay.on_queue_drop(now, passing)).is_some() {
            self.execute_relay_actions(port.stage);
        }
    }
}
