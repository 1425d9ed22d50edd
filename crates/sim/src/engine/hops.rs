//! Hops: how a packet enters a hop, leaves it, or is dropped in it.

use super::Engine;
use super::routes::EnteringPacket;
use crate::drop::PacketDrop;
use crate::route_entry::RouteEntry;
use retx_link::Pipe;
use retx_link::pipe::PlainPacket;
use retx_link::stage::{Departure, Entry, Packet};

impl Engine<'_> {
    /// Handles the wake-up of a pipe: a packet leaves the pipe, or is lost in it.
    #[inline(never)]
    pub(super) fn handle_pipe_wakeup(&mut self, index: u32) {
        let pipe = &mut self.pipes[index as usize];
        let departure = pipe.poll_transmit(self.now);
        self.agenda.wake(index, pipe.poll_timeout());
        if let Some(departure) = departure {
            self.handle_departure(index, &departure);
        }
    }

    /// Handles a packet that leaves a pipe or another stage; `index` is the place at which it
    /// entered.
    pub(super) fn handle_departure(&mut self, index: u32, departure: &Departure) {
        match *departure {
            Departure::Delivered { id } => self.move_to_next_hop(index, id),
            Departure::Lost { id, at, reason } => {
                self.drop(id, &PacketDrop::by_channel(at, index, reason));
            }
            Departure::Dropped { id, at } => self.drop(id, &PacketDrop::by_queue(at, index)),
            Departure::Marked { id } => self.packets.get_mut(id).set_ce(),
            Departure::Copied { id } => self.create_duplicate(index, id),
        }
    }

    /// Moves a packet that has left a pipe or another stage at this place to the next hop of its
    /// route, or to its host.
    #[inline(never)]
    pub(super) fn move_to_next_hop(&mut self, from: u32, id: u32) {
        self.recorder.on_left(self.now, from, id, &mut self.packets);
        let packet = PlainPacket { id, bytes: self.packets.get(id).bytes() };
        if let Some((id, to)) = self.move_to_hop(self.entering_from(from, packet)) {
            self.deliver_out_of_line(id, to);
        }
    }

    /// Enters a packet into this hop of its route.
    #[inline(always)]
    pub(super) fn flush_and_enter(&mut self, entry: RouteEntry, entering: EnteringPacket) {
        let pipe = entry.find_pipe(&self.pipes);
        // Packets that wait in the funnel before this pipe arrive first.
        if let Some(funnel) = pipe.and_then(Pipe::source) {
            self.flush_funnel(funnel);
        }
        self.enter_in_order(entry, entering);
    }

    /// Enters a packet into this hop. The caller ensures that no earlier arrival at the hop is
    /// still waiting elsewhere.
    #[inline(always)]
    pub(super) fn enter_in_order(&mut self, entry: RouteEntry, entering: EnteringPacket) {
        if self.uses_fast_paths {
            self.enter_fast(entry, entering);
        } else {
            self.enter_hop(entry, entering);
        }
    }

    #[inline(never)]
    fn enter_hop(&mut self, entry: RouteEntry, entering: EnteringPacket) {
        let id = entering.packet.id;
        self.packets.set_hop(id, entering.hop);
        let Some((index, pipe)) = entry.find_pipe_mut(&mut self.pipes) else {
            return self.enter_stage(entry, id);
        };
        self.recorder.on_entered(self.now, index, id, &mut self.packets);
        let packet = self.packets.get(id);
        let (frame, ecn_capable) = (packet.frame(), packet.is_ecn_capable());
        match pipe.handle_packet(self.now, &Packet { id, frame, ecn_capable }) {
            Entry::Accepted => self.agenda.wake(index, pipe.poll_timeout()),
            // The pipe has determined that its channel duplicates the packet; only the engine can
            // allocate an id for the copy.
            Entry::AcceptedTwice => self.create_duplicate(index, id),
            Entry::QueueFull => self.drop_at_full_queue(index, id),
        }
    }

    /// Enters a packet sent by a host into the first hop of its route.
    #[inline(never)]
    pub(super) fn enter_first_hop(&mut self, entering: EnteringPacket) {
        if self.epochs.is_some() {
            return self.enter_by_epochs(entering);
        }
        let entry = self.routes[entering.hop as usize];
        let pipe = entry.find_pipe(&self.pipes);
        // If this pipe leads to a bottleneck with a funnel, the packet waits in the funnel, sorted
        // by arrival, instead of in this pipe.
        if let Some(number) = pipe.and_then(Pipe::sink) {
            return self.enter_funnel(number, entering);
        }
        self.flush_and_enter(entry, entering);
    }

    /// Drops a packet because a pipe's queue is full.
    #[inline(never)]
    pub(super) fn drop_at_full_queue(&mut self, index: u32, id: u32) {
        self.drop(id, &PacketDrop::by_queue(self.now, index));
    }

    /// Creates the copy of a packet that a channel has duplicated.
    #[cold]
    pub(super) fn create_duplicate(&mut self, index: u32, id: u32) {
        self.counts.copied += 1;
        let copy = self.packets.create_copy(id);
        self.report_copy(id, copy);
        let pipe = &mut self.pipes[index as usize];
        pipe.add_copy(copy);
        self.agenda.wake(index, pipe.poll_timeout());
    }
}
