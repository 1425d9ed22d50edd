//! Stages other than pipes: the engine enters packets into them and handles the departures and
//! drops that they report.

use super::Engine;
use super::layout::PlacedStage;
use super::owners::Owner;
use crate::drop::PacketDrop;
use crate::plan::Port;
use crate::route_entry::{NextHop, RouteEntry};
use crate::stage::Stage;
use retx_link::stage::{Departure, Entry, Packet};

impl Engine<'_> {
    /// Handles the wake-up of a stage.
    pub(super) fn handle_stage_wakeup(&mut self, index: u32) {
        self.handle_stage_event(index);
        self.handle_next_stage_events(index);
        self.rearm_stage(index);
    }

    /// Handles one event of a stage; the stage's next event must then be scheduled, or handled.
    pub(super) fn handle_stage_event(&mut self, index: u32) {
        self.note_turn(Owner::Stage(index));
        self.waking_stage = Some(index);
        let placed = index as usize;
        self.stages[placed].stage.handle_timeout(self.now);
        if matches!(self.stages[placed].stage, Stage::Relay(_)) {
            self.execute_relay_actions(index);
        }
        while let Some(departure) = self.stages[placed].stage.poll_transmit(self.now) {
            let first = self.stages[placed].first_place;
            // A stage knows only the ids of packets. The port follows from the position that was
            // stored in the packet when it entered.
            let port = self.port_of(departure.id());
            match departure {
                // A packet is delivered at the exit of the port, and dropped or marked at its
                // entry.
                Departure::Delivered { id } if self.enter_same_stage(index, id) => {}
                Departure::Delivered { id } => {
                    self.move_to_next_hop(first + u32::from(port.exit), id)
                }
                other => self.handle_departure(first + u32::from(port.entry), &other),
            }
        }
        self.waking_stage = None;
    }

    /// Records that a stage or UDP flow handles its events at this time.
    pub(super) fn note_turn(&mut self, owner: Owner) {
        // The target may be lower than the last one at this time: a packet that crosses a link
        // without delay can wake an earlier target again. The later ones stay over.
        self.last_turn = self.last_turn.max((self.now, self.owners.target(owner)));
    }

    /// Brings a stage up to date. Events at this time are handled in the order of their targets, so
    /// those of the stage are over if it, or a target after it, has handled its events.
    pub(super) fn update_stage(&mut self, index: u32) {
        // Without fast paths, each event of the stage has been handled at its own time.
        let target = self.owners.target(Owner::Stage(index));
        let over = self.last_turn >= (self.now, target);
        let stage = &mut self.stages[index as usize].stage;
        let planned = stage.poll_timeout();
        stage.advance_to(self.now, over);
        let next = stage.poll_timeout();
        if next != planned {
            self.agenda.wake(target, next);
        }
    }

    pub(super) fn rearm_stage(&mut self, index: u32) {
        let target = self.owners.target(Owner::Stage(index));
        self.agenda.wake(target, self.stages[index as usize].stage.poll_timeout());
    }

    /// Port that a packet has entered most recently.
    fn port_of(&self, id: u32) -> Port {
        match self.routes[self.packets.hop(id) as usize].next_hop() {
            NextHop::Port(index) => self.ports[index as usize],
            other => unreachable!("{other:?} is no port"),
        }
    }

    #[inline(never)]
    pub(super) fn enter_stage(&mut self, entry: RouteEntry, id: u32) {
        let port = match entry.next_hop() {
            NextHop::Source => return self.leave_first_hop(id),
            NextHop::Port(index) => self.ports[index as usize],
            other => unreachable!("{other:?} is no stage"),
        };
        // A stage that is handling its event is up to date, and is scheduled when that ends.
        let is_waking = self.waking_stage == Some(port.stage);
        if !is_waking {
            self.update_stage(port.stage);
        }
        let PlacedStage { stage, first_place: first } = &mut self.stages[port.stage as usize];
        let place = *first + u32::from(port.entry);
        self.recorder.on_entered(self.now, place, id, &mut self.packets);
        // A relay neither queues nor delays packets, so its verdict takes effect at once.
        if matches!(stage, Stage::Relay(_)) {
            return self.pass_relay((port, place), id);
        }
        let packet = self.packets.get(id);
        let (frame, ecn_capable) = (packet.frame(), packet.is_ecn_capable());
        match stage.handle_packet(self.now, port, &Packet { id, frame, ecn_capable }) {
            Entry::Accepted if is_waking => {}
            Entry::Accepted => self.rearm_stage(port.stage),
            Entry::AcceptedTwice => unreachable!("only pipes copy"),
            Entry::QueueFull => self.drop(id, &PacketDrop::by_queue(self.now, place)),
        }
    }
}
