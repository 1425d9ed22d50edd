//! Round trips: an encoded packet decodes to itself.

use crate::generate::packet;
use proptest::prelude::*;
use retx_wire::{Packet, Transport, WireError, decode_packet, encode_packet, verify_checksums};

/// Payload bytes that depend on position and packet.
fn fill(payload: &mut [u8], salt: u16) {
    for (index, byte) in payload.iter_mut().enumerate() {
        *byte = (index as u16).wrapping_mul(31).wrapping_add(salt).to_le_bytes()[0];
    }
}

fn encode(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_packet(packet, &mut |payload| fill(payload, packet.ip.identification), &mut bytes);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    })]

    #[test]
    fn a_packet_survives_the_wire(packet in packet(), prefix in 0usize..40, padding in 0usize..40) {
        let mut bytes = vec![0xaa; prefix];
        encode_packet(&packet, &mut |payload| fill(payload, 7), &mut bytes);
        let mut bytes = bytes.split_off(prefix);
        prop_assert_eq!(bytes.len(), packet.packet_bytes() as usize);
        prop_assert_eq!(verify_checksums(&bytes), Ok(()));

        bytes.resize(bytes.len() + padding, 0x55);
        let decoded = decode_packet(&bytes).unwrap();
        prop_assert_eq!(decoded.packet, packet);
        let mut payload = vec![0; packet.payload_bytes() as usize];
        fill(&mut payload, 7);
        prop_assert_eq!(&bytes[decoded.payload], payload.as_slice());
        prop_assert_eq!(verify_checksums(&bytes), Ok(()));
    }

    #[test]
    fn a_truncated_packet_is_refused(packet in packet(), share in 0.0..1.0f64) {
        let bytes = encode(&packet);
        let kept = (bytes.len() as f64 * share) as usize;
        let result = decode_packet(&bytes[..kept]);
        let is_truncated = matches!(result, Err(WireError::Truncated { .. }));
        prop_assert!(is_truncated, "{result:?}");
    }

    /// A 16-bit checksum detects every error within one byte, unless that byte is a length or marks
    /// the checksum as absent.
    #[test]
    fn a_changed_byte_is_found(packet in packet(), place: prop::sample::Index, change in 1u8..) {
        let mut bytes = encode(&packet);
        let place = place.index(bytes.len());
        let is_udp = matches!(packet.transport, Transport::Udp(_));
        prop_assume!(place != 0 && !(is_udp && (24..28).contains(&place)));
        bytes[place] ^= change;
        prop_assert!(verify_checksums(&bytes).is_err(), "byte {place} changed");
    }
}
