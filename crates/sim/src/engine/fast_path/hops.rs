//! Fast paths of packets between hosts and pipes.

use super::funnels::Funnels;
use crate::agenda::Agenda;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::engine::owners::Owner;
use crate::engine::routes::EnteringPacket;
use crate::flow::Flow;
use crate::packet::Packets;
use crate::plan::Side;
use crate::route_entry::RouteEntry;
use retx_link::pipe::{Pipe, PlainPacket};
use retx_link::stage::{Entry, Packet};
use retx_tcp::Polled;
use retx_units::Time;

/// Result of [`Engine::transmit_plain`].
enum Outcome {
    /// There is no further segment to send.
    Done { needs_close_check: bool },
    /// A segment that is not plain has been written into `transmit`.
    Written,
    /// The packet enters its first hop, which is not a private pipe.
    Enters(EnteringPacket),
    /// The queue of this pipe has dropped the packet.
    QueueFull(EnteringPacket, u32),
}

/// Parts of the engine that send the rest of a burst into a pipe of a funnel.
struct Train<'e> {
    flow: &'e mut Flow,
    packets: &'e mut Packets,
    pipe: &'e mut Pipe,
    funnels: &'e mut Funnels,
    agenda: &'e mut Agenda,
    /// Number of packets sent.
    count: &'e mut u64,
}

/// End of a [`Train`].
enum TrainEnd {
    /// Further segments may be sent.
    MayGoOn,
    /// There is no further segment to send.
    WasLast,
    /// The queue of the pipe has dropped the packet.
    QueueFull(EnteringPacket),
}

impl Train<'_> {
    /// Sends segments of the data sender as [`Engine::transmit_plain`] does; none if the pipe does
    /// not lead to a funnel.
    #[inline(never)]
    fn send(&mut self, now: Time) -> TrainEnd {
        let Some(number) = self.pipe.sink() else { return TrainEnd::MayGoOn };
        let Some(mut train) = self.flow.begin_train(now) else { return TrainEnd::MayGoOn };
        // All segments are sent at the same time, and no segment arrives meanwhile.
        let timestamps = self.flow.timestamps(now, Side::Sender);
        let mut refused = None;
        for plain in &mut train {
            *self.count += 1;
            let label = self.flow.send_plain(now, Side::Sender, &plain);
            let (id, bytes) = self.packets.insert_plain(&plain, timestamps, &label);
            let entering = EnteringPacket { packet: PlainPacket { id, bytes }, hop: label.hop };
            let entry = self.funnels.enqueue(number, (now, entering), self.pipe, self.agenda);
            if entry != Entry::Accepted {
                refused = Some(entering);
                break;
            }
        }
        let may_go_on = self.flow.end_train(now, &train);
        match refused {
            Some(entering) => TrainEnd::QueueFull(entering),
            None if may_go_on => TrainEnd::MayGoOn,
            None => TrainEnd::WasLast,
        }
    }
}

impl Engine<'_> {
    /// Takes the first packet out of a pipe. If the packet has reached its destination, returns the
    /// packet and the endpoint; otherwise moves the packet to its next hop.
    #[inline(always)]
    pub(in crate::engine) fn handle_pipe_wakeup_fast(
        &mut self,
        index: u32,
    ) -> Option<(u32, Endpoint)> {
        let pipe = &mut self.pipes[index as usize];
        // The usual case.
        if let Some(packet) = pipe.poll_plain(self.now) {
            self.agenda.wake(index, pipe.poll_timeout());
            return self.move_to_hop(self.entering_from(index, packet));
        }
        self.handle_pipe_wakeup(index);
        None
    }

    /// Enters a packet into the hop of this route entry.
    #[inline(always)]
    pub(in crate::engine) fn enter_fast(&mut self, hop: RouteEntry, entering: EnteringPacket) {
        let id = entering.packet.id;
        let Some((index, pipe)) = hop.find_pipe_mut(&mut self.pipes) else {
            self.store_hop(entering);
            return self.enter_stage(hop, id);
        };
        if pipe.leads() {
            return self.enter_leader(index, entering);
        }
        let entry = if pipe.is_plain() {
            pipe.handle_plain(self.now, entering.packet)
        } else if pipe.is_plain_but_lossy() {
            pipe.handle_losing(self.now, entering.packet, &self.packets.get(id).frame())
        } else {
            let packet = self.packets.get(id);
            let (frame, ecn_capable) = (packet.frame(), packet.is_ecn_capable());
            pipe.handle_packet(self.now, &Packet { id, frame, ecn_capable })
        };
        // In a private pipe the packet's hop follows from the pipe. It is stored in the packet only
        // if the packet is dropped or copied, because the code for these cases reads it there.
        if !hop.is_private() || entry != Entry::Accepted {
            self.packets.set_hop(id, entering.hop);
        }
        match entry {
            Entry::Accepted => self.agenda.wake(index, pipe.poll_timeout()),
            Entry::AcceptedTwice => self.create_duplicate(index, id),
            Entry::QueueFull => self.drop_at_full_queue(index, id),
        }
    }

    /// Sends the packets of an endpoint; true if [`Engine::handle_closed_or_proxied`] must be
    /// called.
    #[inline(always)]
    pub(in crate::engine) fn transmit_fast(&mut self, index: u32, side: Side) -> bool {
        loop {
            match self.transmit_plain(index, side) {
                Outcome::Done { needs_close_check } => return needs_close_check,
                Outcome::Written => self.send_polled_segment(index, side),
                Outcome::Enters(entering) => self.enter_first_hop(entering),
                Outcome::QueueFull(entering, pipe) => {
                    self.store_hop(entering);
                    self.drop_at_full_queue(pipe, entering.packet.id);
                }
            }
        }
    }

    /// Sends plain segments into a private pipe, which is the usual case. Stops at the first packet
    /// that needs other treatment; otherwise schedules the flow's next wake-up at the end. The
    /// parts of the engine are borrowed once for all segments.
    #[inline(always)]
    fn transmit_plain(&mut self, index: u32, side: Side) -> Outcome {
        let now = self.now;
        let Self { flows, packets, pipes, funnels, lanes, agenda, recorder, .. } = self;
        let flow = &mut flows[index as usize];
        loop {
            let plain = match flow.poll_transmit(now, side, &mut self.transmit) {
                Polled::Nothing => break,
                Polled::Written => return Outcome::Written,
                Polled::Plain(plain) => plain,
            };
            self.counts.sent += 1;
            let label = flow.send_plain(now, side, &plain);
            let timestamps = flow.timestamps(now, side);
            let (id, bytes) = packets.insert_plain(&plain, timestamps, &label);
            let packet = PlainPacket { id, bytes };
            let entering = EnteringPacket { packet, hop: label.hop };
            if recorder.notes_sent_packets {
                flow.write_sent(now, side, &mut packets.get_mut(id), recorder);
            }
            let hop = flow.first_route_entry(side);
            let pipe = hop.find_pipe_mut(pipes).filter(|_| hop.is_private());
            let Some((first, pipe)) = pipe else { return Outcome::Enters(entering) };
            let entry = if let Some(number) = pipe.sink() {
                funnels.enqueue(number, (now, entering), pipe, agenda)
            } else if pipe.lanes().is_some() {
                let entry = if pipe.is_plain() {
                    pipe.enter_plain(now, bytes)
                } else {
                    pipe.enter_losing(now, id, &packets.get(id).frame())
                };
                lanes.enter_from((first, pipe), entry, (packet, label.destination), agenda)
            } else if pipe.leads() {
                return Outcome::Enters(entering);
            } else {
                let entry = if pipe.is_plain() {
                    pipe.handle_plain(now, packet)
                } else {
                    pipe.handle_losing(now, packet, &packets.get(id).frame())
                };
                agenda.wake(first, pipe.poll_timeout());
                entry
            };
            if entry != Entry::Accepted {
                return Outcome::QueueFull(entering, first);
            }
            // The connection has reported that it has nothing more to send, so it need not be
            // polled again.
            if !plain.may_send_more {
                break;
            }
            // The tables have a row for each segment, which only this loop writes.
            if side == Side::Sender && plain.begins_train && !recorder.notes_sent_packets {
                let count = &mut self.counts.sent;
                let mut train = Train { flow, packets, pipe, funnels, agenda, count };
                match train.send(now) {
                    TrainEnd::MayGoOn => {}
                    TrainEnd::WasLast => break,
                    TrainEnd::QueueFull(entering) => return Outcome::QueueFull(entering, first),
                }
            }
        }
        if side == Side::Sender {
            flow.note_limit_fast(now, &mut self.in_flight);
        }
        if let Some(time) = flow.poll_wake(side) {
            agenda.wake(self.owners.target(Owner::Host(index, side)), time);
        }
        Outcome::Done { needs_close_check: flow.needs_close_check() }
    }
}
