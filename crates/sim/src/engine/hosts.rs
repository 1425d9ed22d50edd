//! Hosts: the engine delivers packets to the endpoints of flows, and sends the packets of the
//! endpoints. Functions called for each packet are compiled once for each side (sender and
//! receiver).

use super::Engine;
use super::owners::Owner;
use crate::endpoint::Endpoint;
use crate::flow::Context;
use crate::packet::ArrivedPacket;
use crate::plan::Side;
use retx_tcp::Polled;

impl Engine<'_> {
    #[inline(never)]
    pub(super) fn deliver_out_of_line(&mut self, id: u32, to: Endpoint) {
        self.deliver(id, to);
    }

    /// Delivers a packet to the endpoint `to`.
    #[inline(always)]
    pub(super) fn deliver(&mut self, id: u32, to: Endpoint) {
        self.counts.received += 1;
        // The function is inlined twice, so the side is a constant in each instance.
        match to.side() {
            Side::Sender => self.deliver_to((to.flow(), Side::Sender), id),
            Side::Receiver => self.deliver_to((to.flow(), Side::Receiver), id),
        }
    }

    #[inline(always)]
    fn deliver_to(&mut self, (index, side): (u32, Side), id: u32) {
        // Indices beyond the TCP flows denote UDP flows and external packets.
        let Some(flow) = self.flows.get_mut(index as usize) else {
            return self.deliver_non_tcp(id);
        };
        let mut packet = self.packets.get(id);
        if packet.has_copies() {
            // Records in the packet whether another copy arrived before it.
            self.packets.record_end(id, true);
            packet = self.packets.get(id);
        }
        self.recorder.on_delivered(self.now, packet);
        let place = &mut self.arriving;
        let arriving = ArrivedPacket { packet, buffer: place };
        flow.handle_packet(self.now, side, arriving, &mut self.recorder);
        self.packets.remove(id);
        self.serve_at_once(index, side);
    }

    /// Handles the wake-up of one endpoint of a flow, or opens the flow's next connection.
    pub(super) fn handle_host_wakeup(&mut self, index: u32, side: Side) {
        // Arrivals at the bottleneck that still wait in its funnel may include drops of this flow.
        // These drops must be recorded before the record judges a timeout or a retransmission. At
        // the end of a pacing delay it judges only retransmissions of segments that were overtaken,
        // whose drops are recorded: the bottleneck has passed on later segments.
        if self.uses_fast_paths && self.flows[index as usize].only_opens_gate(self.now, side) {
            self.flows[index as usize].open_gate(self.now, &mut self.recorder);
            return self.send_and_rearm(index, side);
        }
        self.flush_funnels_of(index);
        let (flows, tcps, key) = (&self.plan.flows, &self.tcps, self.key);
        let mut context = Context { flows, tcps, key, recorder: &mut self.recorder };
        let flow = &mut self.flows[index as usize];
        let acked = flow.last_ack_sent();
        flow.handle_timeout(self.now, side, &mut context);
        self.send_and_rearm(index, side);
        if side == Side::Receiver {
            self.flows[index as usize].note_delayed_ack(self.now, acked);
        }
    }

    /// Sends the packets of an endpoint, and schedules its next wake-up.
    #[inline(never)]
    pub(super) fn send_and_rearm(&mut self, index: u32, side: Side) {
        self.serve_at_once(index, side);
    }

    #[inline(always)]
    fn serve_at_once(&mut self, index: u32, side: Side) {
        // Rarely true: the connection has closed, or a proxy has data to forward.
        if self.transmit(index, side) {
            self.handle_closed_or_proxied(index);
        }
    }

    #[inline(never)]
    pub(super) fn transmit_out_of_line(&mut self, index: u32, side: Side) {
        self.transmit(index, side);
    }

    /// Sends the packets of an endpoint; true if [`Self::handle_closed_or_proxied`] must be called.
    #[inline(always)]
    fn transmit(&mut self, index: u32, side: Side) -> bool {
        if self.uses_fast_paths {
            self.transmit_fast(index, side)
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
            self.send_polled_segment(index, side);
        }
        if side == Side::Sender {
            // The factor that limits the sender (a window, the application, …) is known once the
            // sender has sent everything that it may send.
            self.flows[index as usize].note_limit(self.now, &mut self.in_flight);
        }
        self.rearm_host(index, side);
        self.flows[index as usize].needs_close_check()
    }

    /// Sends the segment that an endpoint has written into `transmit`.
    #[inline(never)]
    pub(super) fn send_polled_segment(&mut self, index: u32, side: Side) {
        self.counts.sent += 1;
        // The segment is read in place: a copy of it would stall until the stores that have just
        // written it reach the cache.
        let transmit = &self.transmit;
        let (id, mut packet) = self.packets.insert(&transmit.segment, transmit.ecn);
        let flow = &mut self.flows[index as usize];
        flow.note_sent(self.now, (side, transmit), &mut packet, &mut self.recorder);
        self.enter_first_hop(self.entering_stored(id));
    }

    #[inline]
    pub(super) fn rearm_host(&mut self, index: u32, side: Side) {
        let target = self.owners.target(Owner::Host(index, side));
        if let Some(time) = self.flows[index as usize].poll_wake(side) {
            self.agenda.wake(target, time);
        }
    }
}
