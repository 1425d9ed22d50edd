//! Captures: packets that were seen at places of the network during a run. They are stored until
//! their fates are known, and then written as pcapng ([`crate::pcapng`]).
//!
//! A packet is added once, with its headers, and may then be seen at any number of places. Its fate
//! is set later, when the run knows it, and so is the verdict on whether a retransmission was
//! necessary. A packet takes 54 bytes plus its TCP options, and each sighting takes another 16
//! bytes.

mod address;
mod payload;

pub use address::{ConnectionIndex, FlowEndpoints, FlowNodes, node_address};

use retx_units::{SeqNr, Time};
use retx_wire::{Ecn, Endpoint, Flags, Ipv4Header, Options, Packet, Segment, Transport, UdpHeader};

/// Maximum length of the name of a place or a flow, bytes. Names go into pcapng options, whose
/// length fields have 16 bits.
pub const NAME_MAX_BYTES: usize = 10_000;

/// Error: a name is too long for a capture file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a name of {bytes} bytes is too long for a capture file: at most {NAME_MAX_BYTES}")]
pub struct LongName {
    /// Length of the name, bytes.
    pub bytes: usize,
}

/// Index of a place where packets are seen or lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointId(u16);

/// Index of a flow in the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowId(u32);

/// Index of a packet in the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketId(u32);

/// Transport protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Tcp,
    Udp,
}

/// Sender of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Endpoint that sent the first SYN.
    Opener,
    /// Endpoint that received the first SYN.
    Listener,
}

/// Reason why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DropReason {
    Queue,
    Channel,
    RetryLimit,
    Script,
    Suppressed,
}

impl DropReason {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Channel => "channel",
            Self::RetryLimit => "retry_limit",
            Self::Script => "script",
            Self::Suppressed => "suppressed",
        }
    }
}

/// Fate of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fate {
    /// Still in flight at the end of the run.
    #[default]
    UnderWay,
    /// Delivered to the other endpoint.
    Delivered {
        /// Arrival time.
        at: Time,
    },
    /// Dropped on the way.
    Dropped {
        /// Place of the drop.
        place: PointId,
        /// Reason why it was dropped.
        reason: DropReason,
    },
}

/// First transmission or retransmission, and whether a retransmission was necessary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transmission {
    /// First transmission: none of the segment's data had been sent before.
    #[default]
    First,
    /// Retransmission that may be necessary or unnecessary; its verdict is not known.
    Again,
    /// Retransmission with at least one byte of which no earlier copy arrives.
    Necessary,
    /// Retransmission whose bytes have all arrived, or still arrive, in earlier copies.
    Unnecessary,
}

/// Packet that is added to the capture, with its header and verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Flow of the packet.
    pub flow: FlowId,
    /// Number of the flow's connection, from 1. Not used for UDP.
    pub connection: u32,
    /// Endpoint that sends the packet.
    pub side: Side,
    /// Position of the packet's first byte in the sender's stream: SYN 0, first byte of data 1.
    pub position: u64,
    /// First transmission or retransmission.
    pub transmission: Transmission,
    /// Identification field of the IP header; copies made by the network have that of the original.
    pub identification: u16,
    /// TCP header.
    pub segment: Segment,
}

/// Captured packet. Its TCP options are in [`CaptureBuffer::options`].
#[derive(Debug, Clone)]
struct Row {
    position: u64,
    fate: Fate,
    seq: SeqNr,
    ack: SeqNr,
    flow: FlowId,
    /// Index of the packet's first word of options in [`CaptureBuffer::options`].
    options_at: u32,
    payload_bytes: u16,
    window: u16,
    flags: Flags,
    options_words: u8,
    side: Side,
    transmission: Transmission,
}

const _: () = assert!(size_of::<Row>() == 48 && size_of::<Sighting>() == 16);

/// Packet seen at one place at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting {
    pub(crate) time: Time,
    pub(crate) packet: PacketId,
    pub(crate) place: PointId,
    /// ECN field at this place; queues on the path may mark the packet.
    pub(crate) ecn: Ecn,
}

#[derive(Debug, Clone)]
pub(crate) struct ObservationPoint {
    pub(crate) name: String,
    /// True if packets are captured at the place; false if it is only a place of drops.
    pub(crate) is_interface: bool,
}

#[derive(Debug, Clone)]
struct Flow {
    name: String,
    ends: FlowEndpoints,
    protocol: Protocol,
}

/// Packets captured so far.
#[derive(Debug, Clone, Default)]
pub struct CaptureBuffer {
    points: Vec<ObservationPoint>,
    flows: Vec<Flow>,
    rows: Vec<Row>,
    options: Vec<[u8; 4]>,
    /// IP identification of each packet. It is stored apart, because the rows have no room left.
    identifications: Vec<u16>,
    /// Number of each packet's connection.
    connections: Vec<u32>,
    sightings: Vec<Sighting>,
}

impl CaptureBuffer {
    /// Creates an empty capture.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a place where packets are captured. In the file it is an interface with this name.
    ///
    /// # Errors
    /// The name is too long.
    pub fn add_interface(&mut self, name: &str) -> Result<PointId, LongName> {
        self.push_point(name, true)
    }

    /// Adds a place where packets may be lost, but are not captured.
    ///
    /// # Errors
    /// The name is too long.
    pub fn add_drop_point(&mut self, name: &str) -> Result<PointId, LongName> {
        self.push_point(name, false)
    }

    fn push_point(&mut self, name: &str, is_interface: bool) -> Result<PointId, LongName> {
        let id = PointId(u16::try_from(self.points.len()).expect("at most 65,536 places"));
        self.points.push(ObservationPoint { name: short(name)?, is_interface });
        Ok(id)
    }

    /// Adds a flow. Its ports follow from the number of flows added before it and the number of the
    /// connection, so no two flows have the same pair of ports.
    ///
    /// # Errors
    /// The name is too long.
    pub fn add_flow(&mut self, name: &str, nodes: FlowNodes) -> Result<FlowId, LongName> {
        self.push_flow(name, nodes, Protocol::Tcp)
    }

    /// Adds a flow of UDP datagrams. Its packets use only the payload length of their segments, and
    /// their positions are the numbers of the datagrams.
    ///
    /// # Errors
    /// The name is too long.
    pub fn add_udp_flow(&mut self, name: &str, nodes: FlowNodes) -> Result<FlowId, LongName> {
        self.push_flow(name, nodes, Protocol::Udp)
    }

    fn push_flow(
        &mut self,
        name: &str,
        nodes: FlowNodes,
        protocol: Protocol,
    ) -> Result<FlowId, LongName> {
        let id = FlowId(u32::try_from(self.flows.len()).expect("at most 2^32 flows"));
        let ends = FlowEndpoints::new(id.0, nodes);
        self.flows.push(Flow { name: short(name)?, ends, protocol });
        Ok(id)
    }

    /// Adds a packet. It appears in the file once for each call of [`CaptureBuffer::add_sighting`].
    pub fn add_packet(&mut self, packet: &CapturedPacket) -> PacketId {
        let CapturedPacket { flow, side, position, transmission, segment, .. } = *packet;
        let id = PacketId(u32::try_from(self.rows.len()).expect("at most 2^32 packets"));
        let options_at = u32::try_from(self.options.len()).expect("at most 16 GiB of TCP options");
        let encoded = segment.options.encode();
        self.options.extend_from_slice(encoded.as_slice().as_chunks().0);
        self.identifications.push(packet.identification);
        self.connections.push(packet.connection);
        self.rows.push(Row {
            position,
            fate: Fate::UnderWay,
            seq: segment.seq,
            ack: segment.ack,
            flow,
            options_at,
            payload_bytes: u16::try_from(segment.payload_bytes).expect("a packet's payload"),
            window: segment.window,
            flags: segment.flags,
            options_words: (encoded.as_slice().len() / 4) as u8,
            side,
            transmission,
        });
        id
    }

    /// Records that a packet passes an interface, with this ECN field.
    pub fn add_sighting(&mut self, time: Time, place: PointId, packet: PacketId, ecn: Ecn) {
        assert!(self.points[usize::from(place.0)].is_interface, "packets are seen at interfaces");
        assert!((packet.0 as usize) < self.rows.len());
        self.sightings.push(Sighting { time, packet, place, ecn });
    }

    /// Sets the fate of a packet.
    pub fn set_fate(&mut self, packet: PacketId, fate: Fate) {
        self.rows[packet.0 as usize].fate = fate;
    }

    /// Sets whether the retransmission of a packet was necessary.
    pub fn set_transmission(&mut self, packet: PacketId, transmission: Transmission) {
        self.rows[packet.0 as usize].transmission = transmission;
    }

    /// Number of sightings: each packet is counted once for each place where it was seen.
    pub fn sighting_count(&self) -> usize {
        self.sightings.len()
    }

    pub(crate) fn observation_points(&self) -> &[ObservationPoint] {
        &self.points
    }

    /// Sightings in order of time; at equal times in the order of the calls.
    pub(crate) fn sightings_by_time(&self) -> Vec<Sighting> {
        let mut sightings = self.sightings.clone();
        sightings.sort_by_key(|sighting| sighting.time);
        sightings
    }

    /// Headers of a packet.
    pub(crate) fn packet_headers(&self, id: PacketId, ecn: Ecn) -> Packet {
        let row = &self.rows[id.0 as usize];
        let options = &self.options[row.options_at as usize..][..usize::from(row.options_words)];
        let segment = Segment {
            seq: row.seq,
            ack: row.ack,
            window: row.window,
            flags: row.flags,
            payload_bytes: u32::from(row.payload_bytes),
            loss_notice: false,
            options: Options::decode(options.as_flattened()).expect("options encoded above"),
        };
        let (source, destination) = self.endpoints(id);
        Packet {
            source,
            destination,
            ip: Ipv4Header {
                identification: self.identifications[id.0 as usize],
                time_to_live: 64,
                ecn,
            },
            transport: match self.flows[row.flow.0 as usize].protocol {
                Protocol::Tcp => Transport::Tcp(segment),
                Protocol::Udp => Transport::Udp(UdpHeader { payload_bytes: segment.payload_bytes }),
            },
        }
    }

    fn endpoints(&self, id: PacketId) -> (Endpoint, Endpoint) {
        let row = &self.rows[id.0 as usize];
        let flow = &self.flows[row.flow.0 as usize];
        let is_tcp = flow.protocol == Protocol::Tcp;
        let number = if is_tcp { self.connections[id.0 as usize] } else { 1 };
        let connection = ConnectionIndex { flow: row.flow.0, number };
        let FlowEndpoints { opener, listener } =
            flow.ends.of_connection(connection, self.flows.len() as u32);
        match row.side {
            Side::Opener => (opener, listener),
            Side::Listener => (listener, opener),
        }
    }

    /// Writes a packet's payload. The bytes of a stream depend only on their position, so a
    /// retransmission contains the same bytes as the original.
    pub(crate) fn fill_payload(&self, id: PacketId, payload: &mut [u8]) {
        let row = &self.rows[id.0 as usize];
        if self.flows[row.flow.0 as usize].protocol == Protocol::Udp {
            return payload::fill_numbered(row.position, payload);
        }
        let syn = u64::from(row.flags.contains(Flags::SYN));
        // Position 1 is the first byte of data.
        payload::fill((row.position + syn).saturating_sub(1), payload);
    }

    /// Comment of a packet: its fate, and whether a retransmission was necessary.
    pub(crate) fn packet_comment(&self, id: PacketId) -> String {
        let row = &self.rows[id.0 as usize];
        let fate = match row.fate {
            Fate::UnderWay => "still under way when the run ended".to_owned(),
            Fate::Delivered { at } => {
                let (s, ns) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
                format!("delivered at {s}.{ns:09} s")
            }
            Fate::Dropped { place, reason } => {
                let place = &self.points[usize::from(place.0)].name;
                format!("dropped by {} at {place}", reason.name())
            }
        };
        let transmission = match row.transmission {
            Transmission::First => "",
            Transmission::Again => "; retransmission",
            Transmission::Necessary => "; retransmission, necessary",
            Transmission::Unnecessary => "; retransmission, unnecessary",
        };
        format!("{fate}{transmission}; flow {}", self.flows[row.flow.0 as usize].name)
    }
}

impl PointId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

fn short(name: &str) -> Result<String, LongName> {
    if name.len() > NAME_MAX_BYTES {
        return Err(LongName { bytes: name.len() });
    }
    Ok(name.to_owned())
}
