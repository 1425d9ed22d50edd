//! Addresses and ports in a capture.

use retx_wire::Endpoint;
use std::net::Ipv4Addr;

/// Number of addresses used in each 10.x.y.0/24: 1 to 254, because 0 and 255 look like network and
/// broadcast addresses.
const HOSTS: u32 = 254;

/// Ports of the opener, from the ephemeral range (RFC 6335 §6).
const OPENER_PORTS: std::ops::RangeInclusive<u16> = 49_152..=65_535;
/// Port in the range of the opener that is not used, because Wireshark dissects it as IRC.
const TAKEN: u16 = 57_000;
/// Number of ports of the opener, without `TAKEN`.
const OPENERS: u32 = (*OPENER_PORTS.end() - *OPENER_PORTS.start()) as u32;
/// Ports of the listener, used in this order. Wireshark dissects none of them as a protocol. The
/// first range suffices for 147,447 flows.
const LISTENER_PORTS: [std::ops::RangeInclusive<u16>; 2] = [5_001..=5_009, 35_001..=44_000];

/// Address of the node with this index in the run: 10.0.0.1, 10.0.0.2, … 10.0.0.254, 10.0.1.1, …
///
/// # Panics
/// If the index is 16,646,144 or more.
pub fn node_address(node: u32) -> Ipv4Addr {
    let [zero, high, middle, _] = (node / HOSTS * 256).to_be_bytes();
    assert!(zero == 0, "10.0.0.0/8 has no room for node {node}");
    Ipv4Addr::new(10, high, middle, (node % HOSTS + 1) as u8)
}

/// Nodes at both ends of a flow, as indices in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowNodes {
    /// Node that sends the first SYN.
    pub opener: u32,
    /// Node that receives the first SYN.
    pub listener: u32,
}

/// Addresses and ports at both ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowEndpoints {
    /// Endpoint that sends the first SYN.
    pub opener: Endpoint,
    /// Endpoint that receives the first SYN.
    pub listener: Endpoint,
}

/// Connection of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionIndex {
    /// Index of the flow.
    pub flow: u32,
    /// Number of the flow's connection, from 1; 0 means the first one, too.
    pub number: u32,
}

impl FlowEndpoints {
    /// Endpoints of the first connection of the flow with index `flow`. No two flows share both
    /// ports, even between different nodes.
    ///
    /// # Panics
    /// If the index is 147,594,447 or more.
    pub fn new(flow: u32, nodes: FlowNodes) -> Self {
        let listener_port = LISTENER_PORTS
            .into_iter()
            .flatten()
            .nth((flow / OPENERS) as usize)
            .unwrap_or_else(|| panic!("no ports are left for flow {flow}"));
        let opener_port = opener_port(flow % OPENERS);
        Self {
            opener: Endpoint { address: node_address(nodes.opener), port: opener_port },
            listener: Endpoint { address: node_address(nodes.listener), port: listener_port },
        }
    }

    /// Endpoints of one connection of the flow with these endpoints, in a capture of `flows` flows.
    /// The opener takes another port for each connection, as real clients do, and begins again when
    /// it has used its share of the ports. No two flows share both ports.
    pub fn of_connection(self, connection: ConnectionIndex, flows: u32) -> Self {
        let ConnectionIndex { flow, number } = connection;
        // Flows with the same port of the listener divide the ports of the opener among them.
        let flows = (flows - flow / OPENERS * OPENERS).min(OPENERS);
        let earlier = number.saturating_sub(1) % (OPENERS / flows);
        let port = opener_port(flow % OPENERS + earlier * flows);
        Self { opener: Endpoint { port, ..self.opener }, ..self }
    }
}

fn opener_port(index: u32) -> u16 {
    let port = OPENER_PORTS.start() + index as u16;
    if port < TAKEN { port } else { port + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const NODES: FlowNodes = FlowNodes { opener: 0, listener: 1 };

    #[test]
    fn nodes_have_addresses_of_their_own() {
        assert_eq!(node_address(0), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(node_address(253), Ipv4Addr::new(10, 0, 0, 254));
        assert_eq!(node_address(254), Ipv4Addr::new(10, 0, 1, 1));
        assert_eq!(node_address(16_646_143), Ipv4Addr::new(10, 255, 255, 254));
        let addresses: HashSet<_> = (0..100_000).map(node_address).collect();
        assert_eq!(addresses.len(), 100_000);
    }

    #[test]
    #[should_panic(expected = "no room for node 16646144")]
    fn nodes_end() {
        node_address(16_646_144);
    }

    /// Flows between two nodes have distinct pairs of ports, whichever node opens them.
    #[test]
    fn flows_have_ports_of_their_own() {
        let mut seen = HashSet::new();
        for flow in 0..200_000 {
            let ends =
                FlowEndpoints::new(flow, FlowNodes { opener: flow % 2, listener: 1 - flow % 2 });
            let mut pair = [ends.opener, ends.listener];
            pair.sort();
            assert!(seen.insert(pair), "flow {flow} has the ends of another");
            assert!(![ends.opener.port, ends.listener.port].contains(&TAKEN));
        }
        let last = FlowEndpoints::new(147_594_446, NODES);
        assert_eq!((last.opener.port, last.listener.port), (65_535, 44_000));
    }

    /// Each connection has a port of its own, until the share of its flow is used up. No flow has
    /// the ports of another, and the first connection has the ports of its flow.
    #[test]
    fn connections_have_ports_of_their_own() {
        let shares = [(1, [16_383; 2]), (2, [8191; 2]), (300, [54; 2]), (20_000, [1, 4])];
        for (flows, expected) in shares {
            let mut seen = HashSet::new();
            let mut ports_of = |flow| {
                let first = FlowEndpoints::new(flow, NODES);
                let at = |number| first.of_connection(ConnectionIndex { flow, number }, flows);
                assert_eq!((at(0), at(1)), (first, first));
                let again = (2..).find(|number| at(*number) == first).expect("ports end");
                for number in 1..again {
                    let FlowEndpoints { opener, listener } = at(number);
                    assert_eq!(listener, first.listener);
                    assert!(opener.port != TAKEN && OPENER_PORTS.contains(&opener.port));
                    assert!(seen.insert((opener.port, listener.port)), "{flow} {number}");
                }
                again - 1
            };
            let counts: Vec<u32> = (0..flows).map(&mut ports_of).collect();
            assert_eq!([counts[0], counts[flows as usize - 1]], expected);
        }
    }

    #[test]
    #[should_panic(expected = "no ports are left for flow 147594447")]
    fn flows_end() {
        FlowEndpoints::new(147_594_447, NODES);
    }
}
