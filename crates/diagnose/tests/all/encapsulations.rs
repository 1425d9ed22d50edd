//! Encapsulations: the segment within is the same, whatever is around it.

use crate::build::{Header, Order, Written, ethernet, ipv4, ipv6, pcap, read, tcp};
use proptest::prelude::*;
use retx_diagnose::packet::{Endpoint, Packet};

fn only(link_type: u32, frame: Vec<u8>) -> Option<Packet> {
    let original_bytes = frame.len() as u32;
    cut(link_type, frame, original_bytes)
}

fn cut(link_type: u32, data: Vec<u8>, original_bytes: u32) -> Option<Packet> {
    let frame = Written { time_ns: 0, interface: 0, original_bytes, data };
    let (packets, damage) = read(&pcap(Order::Big, 0xa1b2_c3d4, link_type, &[frame]));
    assert_eq!(damage, None);
    packets.first().map(|(packet, _)| *packet)
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// The ways to wrap an IPv4 packet, with the link type of each.
fn wrapped(packet: &[u8]) -> Vec<(&'static str, u32, Vec<u8>)> {
    let frame = ethernet(0x0800, packet);
    let pppoe_length = ((packet.len() + 2) as u16).to_be_bytes();
    let pppoe = joined(&[&[0x11, 0, 0, 7], &pppoe_length, &[0, 0x21], packet]);
    let q = |kind: [u8; 2], body: &[u8]| joined(&[&[0, 5], &kind, body]);
    let gre = |flags_and_kind: [u8; 4], body: &[u8]| {
        ethernet(0x0800, &ipv4(47, &joined(&[&flags_and_kind, body])))
    };
    let vxlan = joined(&[&[0x80, 0, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 9, 0], &frame]);
    vec![
        ("Ethernet", 1, frame.clone()),
        ("padded", 1, joined(&[&frame, &[0; 9]])),
        ("802.1Q", 1, ethernet(0x8100, &q([8, 0], packet))),
        ("802.1ad", 1, ethernet(0x88a8, &q([0x81, 0], &q([8, 0], packet)))),
        ("MPLS", 1, ethernet(0x8847, &joined(&[&[0, 1, 0, 64, 0, 1, 1, 64], packet]))),
        ("pseudowire", 1, ethernet(0x8847, &joined(&[&[0, 1, 1, 64, 0, 0, 0, 0], &frame]))),
        ("PPPoE in QinQ", 1, ethernet(0x88a8, &q([0x81, 0], &q([0x88, 0x64], &pppoe)))),
        ("SNAP", 1, ethernet(100, &joined(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], packet]))),
        ("SLL", 113, joined(&[&[0; 14], &[8, 0], packet])),
        ("SLL2", 276, joined(&[&[8, 0], &[0; 18], packet])),
        ("loopback", 0, joined(&[&[2, 0, 0, 0], packet])),
        ("loopback of OpenBSD", 108, joined(&[&[0, 0, 0, 2], packet])),
        ("raw", 101, packet.to_vec()),
        ("raw IPv4", 228, packet.to_vec()),
        ("PPP", 9, joined(&[&[0, 0x21], packet])),
        ("GRE", 1, gre([0, 0, 8, 0], packet)),
        ("GRE with a key", 1, gre([0x20, 0, 8, 0], &joined(&[&[0; 4], packet]))),
        ("GRE with Ethernet", 1, gre([0, 0, 0x65, 0x58], &frame)),
        ("ERSPAN I", 1, gre([0, 0, 0x88, 0xbe], &frame)),
        ("ERSPAN II", 1, gre([0x10, 0, 0x88, 0xbe], &joined(&[&[0; 12], &frame]))),
        ("ERSPAN III", 1, gre([0x10, 0, 0x22, 0xeb], &joined(&[&[0; 16], &frame]))),
        ("PPTP", 1, gre([0x30, 0x81, 0x88, 0x0b], &joined(&[&[0; 12], &[0x21], packet]))),
        ("IP in IP", 1, ethernet(0x0800, &ipv4(4, packet))),
        ("IPv4 in IPv6", 1, ethernet(0x86dd, &ipv6(4, packet))),
        ("VXLAN", 1, ethernet(0x0800, &ipv4(17, &vxlan))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_segment_is_the_same(seq: u32, ack: u32, payload in 0u16..1_400, value: u32) {
        let timestamps = Some((value, !value));
        let header = Header { seq, ack, flags: 0x18, payload, timestamps };
        for (name, link_type, frame) in wrapped(&ipv4(6, &tcp(header))) {
            let packet = only(link_type, frame).unwrap_or_else(|| panic!("{name}: no segment"));
            prop_assert_eq!((packet.seq, packet.ack), (seq, ack), "{}", name);
            prop_assert_eq!(packet.payload_bytes, u32::from(payload), "{}", name);
            prop_assert_eq!(packet.options.timestamps, timestamps, "{}", name);
            prop_assert_eq!(packet.source, Endpoint::v4([10, 0, 0, 1], 40_000), "{}", name);
            prop_assert_eq!(packet.destination, Endpoint::v4([10, 0, 0, 2], 5_001), "{}", name);
            prop_assert_eq!(packet.ip_id, 0x1234, "{}", name);
        }
    }

    /// Wherever the snap length cuts: what is understood is right, the payload's length included.
    #[test]
    fn cut_frames(seq: u32, payload in 0u16..1_400, at in 0usize..200) {
        let header = Header { seq, payload, timestamps: Some((7, 8)), ..Header::default() };
        for (name, link_type, frame) in wrapped(&ipv4(6, &tcp(header))) {
            let original = frame.len() as u32;
            let kept = frame[..at.min(frame.len())].to_vec();
            if let Some(packet) = cut(link_type, kept, original) {
                let found = (packet.seq, packet.payload_bytes);
                prop_assert_eq!(found, (seq, u32::from(payload)), "{}", name);
            }
        }
    }
}

#[test]
fn extension_headers() {
    let segment = tcp(Header { seq: 5, payload: 100, ..Header::default() });
    // Hop-by-hop, destination options, routing and an atomic fragment, each with what comes next.
    let chain = joined(&[
        &[60, 0, 1, 4, 0, 0, 0, 0],
        &[43, 1],
        &[0; 14],
        &[44, 0, 0, 0, 0, 0, 0, 0],
        &[6, 0, 0, 0, 0, 0, 0, 9],
        &segment,
    ]);
    let packet = only(1, ethernet(0x86dd, &ipv6(0, &chain))).unwrap();
    assert_eq!((packet.seq, packet.payload_bytes), (5, 100));
    assert_eq!(packet.source.to_string(), "[fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fd01]:40000");
    let mut fragment = joined(&[&[6, 0, 0, 9, 0, 0, 0, 9], &segment]);
    assert_eq!(only(1, ethernet(0x86dd, &ipv6(44, &fragment))), None, "a later fragment");
    fragment[3] = 1;
    assert!(only(1, ethernet(0x86dd, &ipv6(44, &fragment))).is_some(), "the first fragment");
}

/// Packets beyond 64 KiB: by the jumbo option, or without any length.
#[test]
fn jumbo_and_length_zero() {
    let segment = tcp(Header { payload: 60_000, ..Header::default() });
    let mut big = [segment.as_slice(), &[0; 60_000]].concat();
    let mut packet = ipv4(6, &segment);
    packet[2..4].fill(0);
    packet.extend([0; 60_000]);
    assert_eq!(only(1, ethernet(0x0800, &packet)).unwrap().payload_bytes, 120_000);
    assert_eq!(only(1, ethernet(0x86dd, &ipv6(6, &[]))), None);
    let mut packet = ipv6(6, &[]);
    packet.extend(&big);
    assert_eq!(only(1, ethernet(0x86dd, &packet)).unwrap().payload_bytes, 120_000);
    let length = (big.len() as u32 + 8).to_be_bytes();
    let hop_by_hop = joined(&[&[6, 0, 0xc2, 4], &length]);
    let mut packet = ipv6(0, &[]);
    packet.extend(hop_by_hop);
    packet.append(&mut big);
    packet.extend([0; 5]);
    assert_eq!(only(1, ethernet(0x86dd, &packet)).unwrap().payload_bytes, 120_000);
}
