//! Recognition of packets: flow, destination, and contents.

use super::rewrite;
use crate::layout::Layout;
use retx_sim::plan::Side;
use retx_wire::{
    DecodedPacket, Ecn, Endpoint, Flags, Segment, Transport, UdpHeader, WireError, decode_packet,
};
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// Maximum number of conversations that are distinguished in addition to the scenario's flows.
const OTHERS_MAX: usize = 4096;

/// Recognised packet.
#[derive(Debug, Clone)]
pub struct InspectedPacket {
    /// Route: an index into the plan's routes.
    pub route: u32,
    /// Flow: an index into the plan's flows. Higher indices stand for other conversations.
    pub flow: u32,
    /// Destination end of the flow.
    pub destination: Side,
    /// Destination host.
    pub host: usize,
    /// TCP segment; the default value for other packets.
    pub segment: Segment,
    /// Advertised window, in bytes.
    pub window_bytes: u64,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// True if the packet belongs to one of the scenario's flows and the opener sent it.
    pub from_opener: bool,
    /// Port of the end that opens the connection of one of the scenario's TCP flows; 0 for other
    /// packets. A kernel takes another one for each connection.
    pub opener_port: u16,
}

/// Recogniser of packets.
#[derive(Debug)]
pub struct Inspector {
    /// Hosts by address.
    hosts: HashMap<Ipv4Addr, usize>,
    /// Route between each pair of hosts; `None` if there is no route.
    routes: Vec<Option<u32>>,
    /// TCP flows by listening endpoint.
    listening: HashMap<(Ipv4Addr, u16), u32>,
    flows: Vec<Flow>,
    /// UDP flows by source and destination, with their routes.
    datagrams: HashMap<[Endpoint; 2], (u32, u32)>,
    others: HashMap<Conversation, u32>,
    /// Names of other conversations, in order of index.
    conversation_names: Vec<String>,
}

/// Flow of the scenario.
#[derive(Debug)]
struct Flow {
    /// Routes of the flow's data and of its acknowledgments.
    routes: [u32; 2],
    opener: Side,
    /// Fixed advertised windows of the data sender and the data receiver, if any.
    advertised_windows: [Option<u32>; 2],
    /// Window scale shifts that the opener and the listener have offered; `None` if not offered.
    scales: [Option<u8>; 2],
}

/// Protocol and endpoints, the smaller one first.
type Conversation = (u8, [(Ipv4Addr, u16); 2]);

impl Inspector {
    /// Creates the recogniser of a layout.
    pub fn new(layout: &Layout) -> Self {
        let setup = &layout.setup;
        let hosts = setup.hosts.iter().enumerate().map(|(index, host)| (host.address, index));
        let listening = setup.flows.iter().enumerate().map(|(index, flow)| {
            // The end that does not open the connection listens.
            let listener = flow.hosts[usize::from(flow.sender_opens)];
            ((setup.hosts[listener].address, flow.port), index as u32)
        });
        let flows = layout.plan.flows.iter().zip(&layout.advertised_windows);
        let flow = |(flow, windows): (&retx_sim::plan::FlowPlan, &[Option<u32>; 2])| Flow {
            routes: flow.routes,
            opener: flow.initiator,
            advertised_windows: *windows,
            scales: [None; 2],
        };
        let first = layout.plan.flows.len();
        let planned = setup.datagrams.iter().zip(&layout.plan.datagrams).enumerate();
        let datagrams = planned.map(|(index, (flow, plan))| {
            let end =
                |host: usize| Endpoint { address: setup.hosts[host].address, port: flow.port };
            (flow.hosts.map(end), ((first + index) as u32, plan.route))
        });
        Self {
            hosts: hosts.collect(),
            routes: layout.routes.clone(),
            listening: listening.collect(),
            flows: flows.map(flow).collect(),
            datagrams: datagrams.collect(),
            others: HashMap::new(),
            conversation_names: Vec::new(),
        }
    }

    /// Names of conversations besides the flows.
    pub fn conversation_names(&self) -> &[String] {
        &self.conversation_names
    }

    /// Recognises a packet that a host has sent. If the packet's flow has a fixed window, writes
    /// this window into the packet. Returns `None` for a packet that is not valid IPv4, or whose
    /// destination is not another host.
    pub fn inspect(&mut self, from: usize, packet: &mut [u8]) -> Option<InspectedPacket> {
        let decoded = match decode_packet(packet) {
            Ok(decoded) => decoded,
            // Fragments and packets of other protocols have no known ports. They take the route
            // between their two hosts.
            Err(WireError::Protocol { .. } | WireError::Fragment { .. }) => {
                return self.other(from, packet, None);
            }
            Err(_) => return None,
        };
        let segment = match decoded.packet.transport {
            Transport::Tcp(segment) => segment,
            Transport::Udp(header) => {
                let datagram = self.datagram(packet, &decoded, header);
                return datagram.or_else(|| self.other(from, packet, Some(&decoded)));
            }
        };
        let [source, destination] = [decoded.packet.source, decoded.packet.destination];
        let to_listener = self.listening.get(&(destination.address, destination.port));
        let from_listener = || self.listening.get(&(source.address, source.port));
        let Some(index) = to_listener.or_else(from_listener).copied() else {
            return self.other(from, packet, Some(&decoded));
        };
        let from_opener = to_listener.is_some();
        let flow = &mut self.flows[index as usize];
        let shift = flow.window_shift(&segment, from_opener);
        // The listening port shows which end sent the packet; the flow's opener then determines
        // whether that is the data sender.
        let to = if from_opener { flow.opener.other() } else { flow.opener };
        let segment = flow.hold_window((segment, shift), to.other(), packet);
        Some(InspectedPacket {
            route: flow.routes[usize::from(to == Side::Sender)],
            flow: index,
            destination: to,
            host: *self.hosts.get(&destination.address)?,
            segment,
            window_bytes: u64::from(segment.window) << shift,
            bytes: total_length(packet),
            ecn: decoded.packet.ip.ecn,
            from_opener,
            opener_port: if from_opener { source.port } else { destination.port },
        })
    }

    /// Recognises a packet of one of the scenario's UDP flows.
    fn datagram(
        &self,
        packet: &[u8],
        decoded: &DecodedPacket,
        header: UdpHeader,
    ) -> Option<InspectedPacket> {
        let ends = [decoded.packet.source, decoded.packet.destination];
        let (flow, route) = *self.datagrams.get(&ends)?;
        Some(InspectedPacket {
            route,
            flow,
            destination: Side::Receiver,
            host: *self.hosts.get(&ends[1].address)?,
            segment: Segment { payload_bytes: header.payload_bytes, ..Segment::default() },
            window_bytes: 0,
            bytes: total_length(packet),
            ecn: decoded.packet.ip.ecn,
            from_opener: true,
            opener_port: 0,
        })
    }

    /// Recognises a packet that belongs to none of the scenario's flows.
    fn other(
        &mut self,
        from: usize,
        packet: &[u8],
        decoded: Option<&DecodedPacket>,
    ) -> Option<InspectedPacket> {
        let address = |at: usize| {
            let octets: [u8; 4] = packet[at..at + 4].try_into().expect("four bytes");
            Ipv4Addr::from(octets)
        };
        let ends = decoded.map_or([(address(12), 0), (address(16), 0)], |decoded| {
            [decoded.packet.source, decoded.packet.destination].map(|end| (end.address, end.port))
        });
        let host = *self.hosts.get(&ends[1].0)?;
        let route = self.routes[from * self.hosts.len() + host]?;
        let backwards = ends[0] > ends[1];
        // Both directions of a conversation share one name.
        let ordered = if backwards { [ends[1], ends[0]] } else { ends };
        let flow = self.conversation((packet[9], ordered));
        let segment = match decoded.map(|decoded| decoded.packet.transport) {
            Some(Transport::Tcp(segment)) => segment,
            _ => Segment::default(),
        };
        Some(InspectedPacket {
            route,
            flow,
            destination: if backwards { Side::Sender } else { Side::Receiver },
            host,
            segment,
            window_bytes: 0,
            bytes: total_length(packet),
            ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(packet[1] & 3)],
            from_opener: false,
            opener_port: 0,
        })
    }

    fn conversation(&mut self, conversation: Conversation) -> u32 {
        if let Some(flow) = self.others.get(&conversation) {
            return *flow;
        }
        let flow = (self.flows.len() + self.datagrams.len() + self.conversation_names.len()) as u32;
        if self.conversation_names.len() == OTHERS_MAX {
            // Further conversations count as the last one that has a name.
            return flow - 1;
        }
        let (protocol, [a, b]) = conversation;
        let protocol = match protocol {
            1 => "icmp".to_owned(),
            6 => "tcp".to_owned(),
            17 => "udp".to_owned(),
            other => format!("protocol {other}"),
        };
        self.conversation_names.push(if a.1 == 0 && b.1 == 0 {
            format!("{protocol} {} {}", a.0, b.0)
        } else {
            format!("{protocol} {}:{} {}:{}", a.0, a.1, b.0, b.1)
        });
        self.others.insert(conversation, flow);
        flow
    }
}

impl Flow {
    /// Shift by which the window field of this segment is scaled.
    fn window_shift(&mut self, segment: &Segment, from_opener: bool) -> u8 {
        let syn = segment.flags.contains(Flags::SYN);
        if syn {
            // There is one shift per endpoint, because each announces the shift of its own windows
            // (RFC 7323 §2.2).
            self.scales[usize::from(!from_opener)] = segment.options.window_scale;
        }
        // The window in a SYN is never scaled (RFC 7323 §2.2); both ends have to offer scaling.
        match self.scales {
            [Some(opener), Some(listener)] if !syn => {
                (if from_opener { opener } else { listener }).min(14)
            }
            _ => 0,
        }
    }

    /// Writes the fixed advertised window into a segment, if the flow has one.
    fn hold_window(
        &self,
        (mut segment, shift): (Segment, u8),
        from: Side,
        packet: &mut [u8],
    ) -> Segment {
        let Some(window) = self.advertised_windows[from as usize] else { return segment };
        let field = window_field(window, shift);
        // The window of a RST has no meaning (it is usually zero), so it is not changed.
        if !segment.flags.contains(Flags::RST) {
            let ip_header = usize::from(packet[0] & 15) * 4;
            rewrite::set_window(packet, ip_header, field);
            segment.window = field;
        }
        segment
    }
}

/// Window field, rounded up to the unit of the window scale, as in Linux. If it were rounded down,
/// a window of twelve segments would admit eleven, and a window below the unit none.
fn window_field(window: u32, shift: u8) -> u16 {
    window.div_ceil(1 << shift).min(u32::from(u16::MAX)) as u16
}

fn total_length(packet: &[u8]) -> u32 {
    u32::from(u16::from_be_bytes([packet[2], packet[3]]))
}

#[cfg(test)]
mod tests {
    use super::window_field;

    #[test]
    fn a_window_admits_the_segments_that_it_is_for() {
        let window = 12 * 1460;
        for shift in 0..=14 {
            let advertised = u32::from(window_field(window, shift)) << shift;
            assert!(advertised >= window, "{advertised} with a shift of {shift}");
            assert!(advertised < window + (1 << shift), "{advertised} with a shift of {shift}");
        }
        assert_eq!(window_field(u32::MAX, 0), u16::MAX);
    }
}
