//! Captures: records which packets were seen at which places, and their fates.

use crate::drop::PacketDrop;
use crate::packet::{NONE, PacketRef, Packets, Transmission};
use crate::plan::{PipePlan, Plan, Side};
use retx_record::capture::{
    self, CaptureBuffer, CapturedPacket, Fate, FlowId, FlowNodes, LongName, PacketId, PointId,
};
use retx_units::Time;
use retx_wire::Segment;
use std::collections::BTreeMap;

/// Place of a capture. Like a capture program on a node's interface, it sees two kinds of packets:
/// those that enter the link or stage here, before they are queued, and those that are delivered
/// here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapturePoint {
    /// End of a link.
    Link {
        /// Index of the link.
        link: u32,
        /// True for the link's second end, false for its first.
        right: bool,
    },
    /// Place of a stage that is not a pipe, such as a station of a cell.
    Stage {
        /// Index of the stage.
        stage: u32,
        /// Index of the place in the stage.
        place: u16,
    },
}

/// Capture places of one pipe, or of one place (such as a station) of another stage.
#[derive(Debug, Clone, Copy, Default)]
struct Sights {
    entering: Option<PointId>,
    leaving: Option<PointId>,
    /// Capture point that shows the drops of this pipe or stage; created at the first drop.
    drops: Option<PointId>,
}

/// Capture in progress.
#[derive(Debug)]
pub struct Capture {
    buffer: CaptureBuffer,
    places: Vec<Sights>,
    /// Name of each pipe (link and direction), followed by the names of places in other stages.
    names: Vec<String>,
    flows: Vec<FlowId>,
    /// Side that opens the connection of each flow.
    initiators: Vec<Side>,
    /// Number of packets that each side of each flow has sent. As in Linux, they
    /// are the IP identifications.
    sent: Vec<[u16; 2]>,
    packets: Vec<PacketId>,
    /// Retransmissions that are recorded as unnecessary until [`Self::mark_necessary`] corrects the
    /// record. The key is the flow, the copy number and the index in `packets`. The index tells
    /// apart the duplicates that the network has made of a retransmission.
    unnecessary: BTreeMap<(u32, u64, u32), PacketId>,
}

impl Capture {
    /// Creates an empty capture at these points.
    ///
    /// # Errors
    /// A name is too long for a capture file.
    pub fn new(plan: &Plan, points: &[CapturePoint]) -> Result<Self, LongName> {
        let mut buffer = CaptureBuffer::new();
        let pipe = |pipe: &PipePlan| format!("{} {}", pipe.link, pipe.direction);
        let mut names: Vec<String> = plan.pipes.iter().map(pipe).collect();
        let mut firsts = Vec::with_capacity(plan.stages.len());
        for stage in &plan.stages {
            firsts.push(names.len());
            names.extend(stage.places().map(|place| format!("{} {place}", stage.name())));
        }
        let mut places = vec![Sights::default(); names.len()];
        for point in points {
            match *point {
                CapturePoint::Link { link, right } => {
                    let forward = 2 * link as usize;
                    let right = usize::from(right);
                    let pipe = &plan.pipes[forward];
                    let name = format!("{} at {}", pipe.link, pipe.ends[right]);
                    let place = buffer.add_interface(&name)?;
                    // The left end sees packets that enter the forward direction and packets that
                    // leave the reverse direction; for the right end the directions are swapped.
                    places[forward + right].entering = Some(place);
                    places[forward + 1 - right].leaving = Some(place);
                }
                CapturePoint::Stage { stage, place } => {
                    let index = firsts[stage as usize] + usize::from(place);
                    let seen = buffer.add_interface(&names[index].replacen(' ', " at ", 1))?;
                    places[index].entering = Some(seen);
                    places[index].leaving = Some(seen);
                }
            }
        }
        let flows = plan.flows.iter().map(|flow| {
            let opener = flow.nodes[flow.initiator as usize];
            let listener = flow.nodes[flow.initiator.other() as usize];
            buffer.add_flow(&flow.name, FlowNodes { opener, listener })
        });
        let mut flows = flows.collect::<Result<Vec<_>, _>>()?;
        for flow in &plan.datagrams {
            let [opener, listener] = flow.nodes;
            flows.push(buffer.add_udp_flow(&flow.name, FlowNodes { opener, listener })?);
        }
        let initiators = plan.flows.iter().map(|flow| flow.initiator);
        let senders = plan.datagrams.iter().map(|_| Side::Sender);
        Ok(Self {
            sent: vec![[0; 2]; flows.len()],
            buffer,
            places,
            names,
            flows,
            initiators: initiators.chain(senders).collect(),
            packets: Vec::new(),
            unnecessary: BTreeMap::new(),
        })
    }

    /// Packets captured.
    pub fn into_buffer(self) -> CaptureBuffer {
        self.buffer
    }

    /// Records that a packet enters a pipe or another stage at this place.
    pub fn on_entered(&mut self, now: Time, place: u32, id: u32, packets: &mut Packets) {
        self.identify(id, packets);
        if let Some(place) = self.places[place as usize].entering {
            self.see((now, place), id, packets);
        }
    }

    /// Records that a packet leaves a pipe at its far end, or another stage at this place.
    pub fn on_left(&mut self, now: Time, place: u32, id: u32, packets: &mut Packets) {
        if let Some(place) = self.places[place as usize].leaving {
            self.see((now, place), id, packets);
        }
    }

    /// Numbers a packet when it enters its first stage, whether it is captured or not.
    fn identify(&mut self, id: u32, packets: &mut Packets) {
        let packet = packets.get(id);
        if let Some(sent) = self.sent.get_mut(packet.flow() as usize)
            && packet.identification().is_none()
        {
            let number = &mut sent[usize::from(packet.carries_data_direction())];
            *number = number.wrapping_add(1);
            packets.identify(id, *number);
        }
    }

    fn see(&mut self, (now, place): (Time, PointId), id: u32, packets: &mut Packets) {
        if packets.get(id).flow() as usize >= self.flows.len() {
            // An external packet that belongs to no flow of the scenario.
            return;
        }
        if packets.get(id).capture_id() == NONE {
            let captured = self.add(packets.get(id), packets.segment(id));
            packets.note_captured(id, captured);
        }
        let seen = packets.get(id);
        self.buffer.add_sighting(now, place, self.packets[seen.capture_id() as usize], seen.ecn());
    }

    fn add(&mut self, packet: PacketRef<'_>, segment: Segment) -> u32 {
        let flow = packet.flow();
        let from = if packet.carries_data_direction() { Side::Sender } else { Side::Receiver };
        let opens = self.initiators[flow as usize] == from;
        let captured = CapturedPacket {
            flow: self.flows[flow as usize],
            connection: packet.connection,
            side: if opens { capture::Side::Opener } else { capture::Side::Listener },
            position: packet.position,
            transmission: packet.transmission(),
            identification: packet.identification().unwrap_or_default(),
            segment,
        };
        let id = self.buffer.add_packet(&captured);
        let own = u32::try_from(self.packets.len()).expect("fewer than 2^32 packets in a capture");
        if packet.transmission() == Transmission::Unnecessary {
            self.unnecessary.insert((flow, packet.copy_number(), own), id);
        }
        self.packets.push(id);
        own
    }

    /// Records that a packet has reached its host.
    pub fn on_delivered(&mut self, now: Time, packet: PacketRef<'_>) {
        self.record_fate(packet, Fate::Delivered { at: now });
    }

    /// Records that a packet was dropped.
    pub fn on_dropped(&mut self, packet: PacketRef<'_>, drop: &PacketDrop) {
        if packet.capture_id() == NONE {
            return;
        }
        let index = drop.place as usize;
        let place = *self.places[index].drops.get_or_insert_with(|| {
            // Names in a scenario have at most 100 characters, so this name fits.
            self.buffer
                .add_drop_point(&self.names[index])
                .expect("the link's name has been accepted")
        });
        self.record_fate(packet, Fate::Dropped { place, reason: drop.reason });
    }

    fn record_fate(&mut self, packet: PacketRef<'_>, fate: Fate) {
        if packet.capture_id() != NONE {
            self.buffer.set_fate(self.packets[packet.capture_id() as usize], fate);
        }
    }

    /// Records that a retransmission was necessary.
    pub fn mark_necessary(&mut self, flow: u32, copy: u64) {
        // Only packets that a capture point has seen are in the map.
        let range = (flow, copy, 0)..=(flow, copy, u32::MAX);
        while let Some((&key, &id)) = self.unnecessary.range(range.clone()).next() {
            self.unnecessary.remove(&key);
            self.buffer.set_transmission(id, Transmission::Necessary);
        }
    }
}
