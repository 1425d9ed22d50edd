//! Hosts: what reaches the ends of flows, and what these send. What happens at each packet is
//! written out where it is done, once for each side.

use super::Engine;
use super::routes::{Step, is_private, pipe_of};
use crate::flow::Context;
use crate::packet::Arriving;
use crate::plan::Side;
use retx_link::pipe::Parcel;
use retx_link::stage::Entry;
use retx_tcp::Polled;

/// How far an end has got with sending by itself.
enum Outcome {
    /// It has nothing more to send.
    Done { wants_attention: bool },
    /// A segment is written down.
    Written,
    /// A packet is to take this step.
    Enters(Step),
    /// The packet of this step has found no room in this pipe.
    TurnedAway(Step, u32),
}

impl Engine<'_> {
    #[inline(never)]
    pub(super) fn deliver_apart(&mut self, id: u32, to: u32) {
        self.deliver(id, to);
    }

    /// A packet has reached the end that it is for.
    #[inline(always)]
    pub(super) fn deliver(&mut self, id: u32, to: u32) {
        self.counts.received += 1;
        // Each in a copy of the code in which the side is a constant.
        if to & 1 == 0 {
            self.deliver_to((to >> 1, Side::Sender), id);
        } else {
            self.deliver_to((to >> 1, Side::Receiver), id);
        }
    }

    #[inline(always)]
    fn deliver_to(&mut self, (index, side): (u32, Side), id: u32) {
        let Some(flow) = self.flows.get_mut(index as usize) else {
            return self.deliver_elsewhere(id);
        };
        let mut packet = self.packets.get(id);
        if packet.has_twins() {
            self.packets.end(id, true);
            packet = self.packets.get(id);
        }
        self.recorder.delivered(self.now, packet);
        let place = &mut self.arriving;
        let arriving = Arriving { packet, place };
        flow.handle_packet(self.now, side, arriving, &mut self.recorder);
        self.packets.remove(id);
        self.serve_at_once(index, side);
    }

    /// An end of a flow has asked to be woken, or was to be opened.
    pub(super) fn host_due(&mut self, index: u32, side: Side) {
        self.settle_funnels_of(index);
        let (flows, tcps, key) = (&self.plan.flows, &self.tcps, self.key);
        let mut context = Context { flows, tcps, key, recorder: &mut self.recorder };
        self.flows[index as usize].handle_timeout(self.now, side, &mut context);
        self.serve(index, side);
    }

    /// Sends what an end wants to send, and asks when it wants to be woken.
    #[inline(never)]
    pub(super) fn serve(&mut self, index: u32, side: Side) {
        self.serve_at_once(index, side);
    }

    #[inline(always)]
    fn serve_at_once(&mut self, index: u32, side: Side) {
        if self.transmit(index, side) {
            self.attend(index);
        }
    }

    #[inline(never)]
    pub(super) fn transmit_apart(&mut self, index: u32, side: Side) {
        self.transmit(index, side);
    }

    /// Returns true when the flow wants attention.
    #[inline(always)]
    fn transmit(&mut self, index: u32, side: Side) -> bool {
        loop {
            match self.transmit_plain(index, side) {
                Outcome::Done { wants_attention } => return wants_attention,
                Outcome::Written => self.send_written(index, side),
                Outcome::Enters(step) => self.send_into(step),
                Outcome::TurnedAway(step, pipe) => {
                    self.write_hop(step);
                    self.turn_away(pipe, step.parcel.id);
                }
            }
        }
    }

    /// Sends plain segments into a private pipe, as nearly all are, until something else is to be
    /// done; asks at the end when to wake the flow.
    // All that it needs of the engine is taken apart once.
    #[inline(always)]
    fn transmit_plain(&mut self, index: u32, side: Side) -> Outcome {
        let Self { flows, packets, pipes, funnels, agenda, recorder, now, .. } = self;
        let flow = &mut flows[index as usize];
        loop {
            let plain = match flow.poll_transmit(*now, side, &mut self.transmit) {
                Polled::Nothing => break,
                Polled::Written => return Outcome::Written,
                Polled::Plain(plain) => plain,
            };
            self.counts.sent += 1;
            let label = flow.send_plain(*now, side, &plain);
            let (id, bytes) = packets.insert_plain(&plain, &label);
            let parcel = Parcel { id, bytes };
            let step = Step { parcel, hop: label.hop };
            if recorder.notes_packets {
                if recorder.keeps_segments() {
                    flow.write_sent(*now, side, &mut packets.get_mut(id), recorder);
                }
                if recorder.capture.is_some() {
                    return Outcome::Enters(step);
                }
            }
            let word = flow.first_word(side);
            let first = pipe_of(word);
            let pipe = pipes.get_mut(first as usize);
            let Some(pipe) = pipe.filter(|pipe| is_private(word) && !pipe.leads()) else {
                return Outcome::Enters(step);
            };
            let entry = if let Some(number) = pipe.feeds() {
                funnels.feed(number, (*now, step), (first, pipe), agenda)
            } else {
                let entry = if pipe.is_plain() {
                    pipe.handle_plain(*now, parcel)
                } else {
                    pipe.handle_losing(*now, parcel, &packets.get(id).frame())
                };
                agenda.wake(first, pipe.poll_timeout());
                entry
            };
            if entry != Entry::Accepted {
                return Outcome::TurnedAway(step, first);
            }
            if !plain.more {
                break;
            }
        }
        if let Some(time) = flow.poll_wake(side) {
            agenda.wake(pipes.len() as u32 + 2 * index + side as u32, time);
        }
        Outcome::Done { wants_attention: flow.wants_attention() }
    }

    /// The segment that an end has written down goes out.
    #[inline(never)]
    fn send_written(&mut self, index: u32, side: Side) {
        self.counts.sent += 1;
        // In one place: a copy of what was just written would wait until it is in the cache.
        let transmit = &self.transmit;
        let (id, mut packet) = self.packets.insert(&transmit.segment, transmit.ecn);
        let flow = &mut self.flows[index as usize];
        flow.sent(self.now, (side, transmit), &mut packet, &mut self.recorder);
        self.send_into(self.step_of(id));
    }

    #[inline]
    pub(super) fn rearm(&mut self, index: u32, side: Side) {
        let target = self.pipes.len() as u32 + 2 * index + side as u32;
        if let Some(time) = self.flows[index as usize].poll_wake(side) {
            self.agenda.wake(target, time);
        }
    }
}
