//! Encoding: headers to bytes.

use crate::packet::{Ecn, Endpoint, Ipv4Header, Packet, Transport};
use crate::{Flags, IPV4_HEADER_BYTES, Segment};
use etherparse::{IpEcn, IpNumber, TcpHeader};

/// Appends the bytes of `packet` to `out`, with valid checksums. `fill` is called once to write the
/// payload into the given slice.
///
/// # Panics
/// If the packet exceeds 65,535 bytes or its options exceed [`crate::TCP_OPTIONS_MAX_BYTES`]. No
/// such packet can exist, so the headers are wrong.
pub fn encode_packet(packet: &Packet, fill: &mut dyn FnMut(&mut [u8]), out: &mut Vec<u8>) {
    let bytes = packet.packet_bytes();
    let Ok(total) = u16::try_from(bytes) else {
        panic!("an IPv4 packet of {bytes} bytes: {packet:?}");
    };
    let start = out.len();
    out.resize(start + usize::from(total), 0);
    let (headers, payload) = out[start..].split_at_mut((bytes - packet.payload_bytes()) as usize);
    fill(payload);
    let (ip, transport) = headers.split_at_mut(IPV4_HEADER_BYTES as usize);
    ip.copy_from_slice(&ipv4_header(packet, total));
    match &packet.transport {
        Transport::Tcp(segment) => {
            transport.copy_from_slice(&tcp_header(packet, segment, payload).to_bytes());
        }
        Transport::Udp(_) => transport.copy_from_slice(&udp_header(packet, payload)),
    }
}

fn ipv4_header(packet: &Packet, total: u16) -> [u8; IPV4_HEADER_BYTES as usize] {
    let Ipv4Header { identification, time_to_live, ecn } = packet.ip;
    let protocol = match packet.transport {
        Transport::Tcp(_) => IpNumber::TCP,
        Transport::Udp(_) => IpNumber::UDP,
    };
    let mut header = etherparse::Ipv4Header {
        total_len: total,
        identification,
        dont_fragment: true,
        time_to_live,
        protocol,
        source: packet.source.address.octets(),
        destination: packet.destination.address.octets(),
        ecn: match ecn {
            Ecn::NotEct => IpEcn::ZERO,
            Ecn::Ect1 => IpEcn::ONE,
            Ecn::Ect0 => IpEcn::TWO,
            Ecn::Ce => IpEcn::THREE,
        },
        ..Default::default()
    };
    header.header_checksum = header.calc_header_checksum();
    let mut bytes = [0; IPV4_HEADER_BYTES as usize];
    bytes.copy_from_slice(&header.to_bytes());
    bytes
}

fn tcp_header(packet: &Packet, segment: &Segment, payload: &[u8]) -> TcpHeader {
    let has = |flag| segment.flags.contains(flag);
    let mut header = TcpHeader {
        acknowledgment_number: segment.ack.0,
        fin: has(Flags::FIN),
        syn: has(Flags::SYN),
        rst: has(Flags::RST),
        psh: has(Flags::PSH),
        ack: has(Flags::ACK),
        urg: has(Flags::URG),
        ece: has(Flags::ECE),
        cwr: has(Flags::CWR),
        ..TcpHeader::new(packet.source.port, packet.destination.port, segment.seq.0, segment.window)
    };
    header
        .set_options_raw(segment.options.encode().as_slice())
        .expect("encoded options fit into a header");
    let Endpoint { address: source, .. } = packet.source;
    let Endpoint { address: destination, .. } = packet.destination;
    header.checksum = header
        .calc_checksum_ipv4_raw(source.octets(), destination.octets(), payload)
        .expect("the packet's length is checked");
    header
}

fn udp_header(packet: &Packet, payload: &[u8]) -> [u8; 8] {
    let mut header = etherparse::UdpHeader::without_ipv4_checksum(
        packet.source.port,
        packet.destination.port,
        payload.len(),
    )
    .expect("the packet's length is checked");
    header.checksum = header
        .calc_checksum_ipv4_raw(
            packet.source.address.octets(),
            packet.destination.address.octets(),
            payload,
        )
        .expect("the packet's length is checked");
    header.to_bytes()
}
