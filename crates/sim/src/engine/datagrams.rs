//! UDP flows in the engine. Their indices follow those of the TCP flows.

use super::Engine;
use super::owners::Owner;
use crate::datagram::{Datagram, ROW_NOT_ARRIVED};
use crate::drop::PacketDrop;
use crate::endpoint::Endpoint;
use crate::plan::Side;
use retx_wire::{Ecn, IPV4_HEADER_BYTES, Segment, UDP_HEADER_BYTES};

impl Engine<'_> {
    /// Handles the wake-up of a UDP flow.
    pub(super) fn handle_datagrams_wakeup(&mut self, index: u32) {
        self.note_turn(Owner::Datagrams(index));
        self.datagrams[index as usize].sender.handle_timeout(self.now);
        while let Some(datagram) = self.datagrams[index as usize].poll_transmit(self.now) {
            self.counts.sent += 1;
            let id = self.insert_datagram(index, datagram);
            self.enter_first_hop(self.entering_stored(id));
        }
        self.rearm_datagrams(index);
    }

    fn insert_datagram(&mut self, index: u32, datagram: Datagram) -> u32 {
        let Datagram { number, payload_bytes } = datagram;
        let segment = Segment { payload_bytes, ..Segment::default() };
        let (id, mut packet) = self.packets.insert(&segment, Ecn::NotEct);
        let flow = &self.datagrams[index as usize];
        // A datagram has no sequence number and no copy number; these two fields hold the number
        // of the datagram and its time of sending.
        packet.position = number;
        packet.set_copy_number(self.now.as_nanos());
        packet.set_hop(flow.first_hop);
        packet.destination = Endpoint::new(flow.number, Side::Receiver);
        packet.set_bytes(IPV4_HEADER_BYTES + UDP_HEADER_BYTES + payload_bytes);
        packet.set_table_row(ROW_NOT_ARRIVED);
        id
    }

    /// Schedules the flow's next wake-up, and records whether it is done.
    pub(super) fn rearm_datagrams(&mut self, index: u32) {
        let flow = &mut self.datagrams[index as usize];
        // The flow ends when its last packet arrives or is dropped. Its sender has no wake-up after
        // that, so the end is detected here.
        if flow.finish_instant(self.now) {
            self.unfinished -= 1;
            self.over |= self.unfinished == 0 && !self.plan.runs_to_end;
        }
        let time = self.datagrams[index as usize].sender.poll_timeout();
        self.agenda.wake(self.owners.target(Owner::Datagrams(index)), time);
    }

    fn datagrams_of(&self, id: u32) -> u32 {
        self.packets.get(id).flow() - self.flows.len() as u32
    }

    /// Handles a packet that has left the first hop, and lets its saturating source send another
    /// packet.
    pub(super) fn leave_first_hop(&mut self, id: u32) {
        let is_external = self.report_first_hop(id);
        // The packet is at the entry `NextHop::Source`, and continues at the entry after it.
        self.packets.set_hop(id, self.packets.hop(id) + 1);
        let packet = self.packets.get(id);
        if !is_external {
            let index = packet.flow() - self.flows.len() as u32;
            self.datagrams[index as usize].on_left_first_hop(packet);
            self.rearm_datagrams(index);
        }
        if let Some((id, to)) = self.move_to_hop(self.entering_stored(id)) {
            self.deliver_out_of_line(id, to);
        }
    }

    /// Records that the network has made this copy of another packet.
    pub(super) fn note_copy_of_datagram(&mut self, copy: u32) {
        // UDP has no connections, so the field is free to mark copies.
        self.packets.get_mut(copy).connection = 1;
    }

    /// Delivers a datagram to its host.
    pub(super) fn deliver_datagram(&mut self, id: u32) {
        let index = self.datagrams_of(id);
        let packet = self.packets.get(id);
        self.recorder.on_datagram_delivered(self.now, packet);
        self.datagrams[index as usize].on_arrived(self.now, packet);
        self.packets.remove(id);
        self.rearm_datagrams(index);
    }

    /// Handles the drop of a datagram.
    pub(super) fn drop_datagram(&mut self, id: u32, drop: &PacketDrop) {
        let index = self.datagrams_of(id);
        let packet = self.packets.get(id);
        self.recorder.on_datagram_dropped(packet, drop);
        self.datagrams[index as usize].on_dropped(self.now, packet);
        self.packets.remove(id);
        self.rearm_datagrams(index);
    }
}
