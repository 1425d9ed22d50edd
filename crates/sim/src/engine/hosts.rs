//! Hosts: the engine delivers packets to the ends of flows, and sends the packets of these ends.
//! Functions called for each packet are compiled once for each side.

use super::Engine;
use super::owners::Owner;
use crate::flow::Context;
use crate::packet::Arriving;
use crate::plan::Side;
use retx_tcp::Polled;

impl Engine<'_> {
    #[inline(never)]
    pub(super) fn deliver_out_of_line(&mut self, id: u32, to: u32) {
        self.deliver(id, to);
    }

    /// Delivers a packet to its end.
    #[inline(always)]
    pub(super) fn deliver(&mut self, id: u32, to: u32) {
        self.counts.received += 1;
        // Two instances of the code, in which the side is a constant.
        if to & 1 == 0 {
            self.deliver_to((to >> 1, Side::Sender), id);
        } else {
            self.deliver_to((to >> 1, Side::Receiver), id);
        }
    }

    #[inline(always)]
    fn deliver_to(&mut self, (index, side): (u32, Side), id: u32) {
        // Indices beyond the TCP flows denote UDP flows and packets from outside.
        let Some(flow) = self.flows.get_mut(index as usize) else {
            return self.deliver_elsewhere(id);
        };
        let mut packet = self.packets.get(id);
        if packet.has_copies() {
            // Records in the packet whether another copy has arrived before it.
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

    /// Handles the wake-up of one endpoint of a flow, or opens the flow's next connection.
    pub(super) fn host_due(&mut self, index: u32, side: Side) {
        // Arrivals at the bottleneck that wait in its funnel may include drops of this flow, which
        // its record has to know before it judges a timeout or a retransmission.
        self.flush_funnels_of(index);
        let (flows, tcps, key) = (&self.plan.flows, &self.tcps, self.key);
        let mut context = Context { flows, tcps, key, recorder: &mut self.recorder };
        self.flows[index as usize].handle_timeout(self.now, side, &mut context);
        self.serve(index, side);
    }

    /// Sends the packets of an end, and schedules its next wake-up.
    #[inline(never)]
    pub(super) fn serve(&mut self, index: u32, side: Side) {
        self.serve_at_once(index, side);
    }

    #[inline(always)]
    fn serve_at_once(&mut self, index: u32, side: Side) {
        // Rare after a packet: the end of a connection, or data for a proxy.
        if self.transmit(index, side) {
            self.attend(index);
        }
    }

    #[inline(never)]
    pub(super) fn transmit_out_of_line(&mut self, index: u32, side: Side) {
        self.transmit(index, side);
    }

    /// Sends the packets of an end; true if the flow needs attention.
    #[inline(always)]
    fn transmit(&mut self, index: u32, side: Side) -> bool {
        if self.is_express {
            self.transmit_express(index, side)
        } else {
            self.transmit_each(index, side)
        }
    }

    #[inline(never)]
    fn transmit_each(&mut self, index: u32, side: Side) -> bool {
        loop {
            match self.flows[index as usize].poll_transmit(self.now, side, &mut self.transmit) {
                Polled::Nothing => break,
                Polled::Plain(plain) => {
                    let timestamps = self.flows[index as usize].timestamps(self.now, side);
                    self.transmit = plain.transmit(timestamps);
                }
                Polled::Written => {}
            }
            self.send_written(index, side);
        }
        if side == Side::Sender {
            // The limit of the sender shows only after it has sent everything it may send.
            self.flows[index as usize].note_limit(self.now, &mut self.in_flight);
        }
        self.rearm(index, side);
        self.flows[index as usize].wants_attention()
    }

    /// Sends the segment that an end has written.
    #[inline(never)]
    pub(super) fn send_written(&mut self, index: u32, side: Side) {
        self.counts.sent += 1;
        // Used in place: copying would wait until the segment just written has reached the cache.
        let transmit = &self.transmit;
        let (id, mut packet) = self.packets.insert(&transmit.segment, transmit.ecn);
        let flow = &mut self.flows[index as usize];
        flow.sent(self.now, (side, transmit), &mut packet, &mut self.recorder);
        self.send_into(self.step_of(id));
    }

    #[inline]
    pub(super) fn rearm(&mut self, index: u32, side: Side) {
        let target = self.owners.target(Owner::Host(index, side));
        if let Some(time) = self.flows[index as usize].poll_wake(side) {
            self.agenda.wake(target, time);
        }
    }
}
