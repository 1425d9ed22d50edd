//! Changes to packet headers on the path, with their checksums.

use retx_wire::Ecn;

/// Sets the ECN field of an IPv4 packet (RFC 3168 §5).
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    let bits = match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    let before = u16::from_be_bytes([packet[0], packet[1]]);
    let after = before & !3 | bits;
    if before != after {
        packet[1] = after.to_be_bytes()[1];
        update(packet, IP_CHECKSUM, (before, after));
    }
}

/// Sets the window field of a TCP segment that begins at offset `tcp` of an IPv4 packet.
pub fn set_window(packet: &mut [u8], tcp: usize, window: u16) {
    let at = tcp + 14;
    let before = u16::from_be_bytes([packet[at], packet[at + 1]]);
    if before != window {
        packet[at..at + 2].copy_from_slice(&window.to_be_bytes());
        update(packet, tcp + 16, (before, window));
    }
}

/// First of the reserved bits of a TCP header, next to the data offset (RFC 9293 §3.1).
const LOSS_NOTICE: u16 = 0x0800;

/// Marks an ACK with an explicit loss notification: the segment that it requests was corrupted, not
/// dropped by a queue. Balakrishnan & Katz 1998 use a reserved bit, which kernels ignore.
pub fn set_loss_notice(packet: &mut [u8]) {
    let tcp = usize::from(packet[0] & 15) * 4;
    let at = tcp + 12;
    let before = u16::from_be_bytes([packet[at], packet[at + 1]]);
    let after = before | LOSS_NOTICE;
    if before != after {
        packet[at..at + 2].copy_from_slice(&after.to_be_bytes());
        update(packet, tcp + 16, (before, after));
    }
}

/// Offset of the checksum in an IPv4 header.
const IP_CHECKSUM: usize = 10;

/// Updates a checksum for a changed word (RFC 1624 §3, eq. 3).
fn update(packet: &mut [u8], checksum: usize, (before, after): (u16, u16)) {
    let old = u16::from_be_bytes([packet[checksum], packet[checksum + 1]]);
    // Only the old and the new value of the changed word are needed, not the payload.
    let mut sum = u32::from(!old) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[checksum..checksum + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::SeqNr;
    use retx_wire::{
        Endpoint, Flags, Ipv4Header, Packet, Segment, Transport, decode_packet, encode_packet,
        verify_checksums,
    };

    fn packet(seq: u32, window: u16) -> Vec<u8> {
        let end = |last, port| Endpoint { address: [10, 0, 0, last].into(), port };
        let packet = Packet {
            source: end(1, 1000),
            destination: end(2, 20_001),
            ip: Ipv4Header { identification: 7, time_to_live: 64, ecn: Ecn::Ect0 },
            transport: Transport::Tcp(Segment {
                seq: SeqNr(seq),
                window,
                flags: Flags::ACK,
                ..Segment::default()
            }),
        };
        let mut bytes = Vec::new();
        encode_packet(&packet, &mut |_| {}, &mut bytes);
        bytes
    }

    #[test]
    fn checksums_follow() {
        for seq in 0..2000 {
            let mut bytes = packet(seq * 77_777, (seq * 31) as u16);
            set_ecn(&mut bytes, Ecn::Ce);
            set_window(&mut bytes, 20, 8760);
            set_loss_notice(&mut bytes);
            assert_eq!(bytes[32] & 0x0e, 8);
            verify_checksums(&bytes).expect("right");
            let decoded = decode_packet(&bytes).expect("sound").packet;
            assert_eq!(decoded.ip.ecn, Ecn::Ce);
            let Transport::Tcp(segment) = decoded.transport else { panic!("TCP") };
            assert_eq!(segment.window, 8760);
        }
    }
}
