//! Decoding: bytes to headers.

use crate::packet::{Ecn, Endpoint, Ipv4Header, Packet, Transport, UdpHeader};
use crate::{Flags, Options, Segment, WireError};
use etherparse::checksum::Sum16BitWords;
use etherparse::err::{ipv4, tcp};
use etherparse::{IpNumber, Ipv4HeaderSlice, TcpSlice, UdpHeaderSlice};
use retx_units::SeqNr;
use std::ops::Range;

/// Headers of a packet, and the byte range of its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedPacket {
    /// Decoded headers.
    pub packet: Packet,
    /// Byte range of the payload in the decoded bytes.
    pub payload: Range<usize>,
}

/// Reads the headers of an IPv4 packet that carries TCP or UDP.
///
/// Bytes after the packet's total length (padding of a short Ethernet frame) are ignored, and so
/// are IP options and TCP options of unknown kinds. Checksums are not verified, because packets of
/// a kernel with checksum offload lack them; see [`verify_checksums`].
///
/// # Errors
/// The first field that is malformed or unsupported.
pub fn decode_packet(bytes: &[u8]) -> Result<DecodedPacket, WireError> {
    let (header, body) = split_ipv4(bytes)?;
    let (ports, transport, payload_start) = match header.protocol() {
        IpNumber::TCP => decode_tcp(&bytes[body.clone()])?,
        IpNumber::UDP => decode_udp(&bytes[body.clone()])?,
        IpNumber(protocol) => return Err(WireError::Protocol { protocol }),
    };
    let start = body.start + payload_start;
    let packet = Packet {
        source: Endpoint { address: header.source_addr(), port: ports.source },
        destination: Endpoint { address: header.destination_addr(), port: ports.destination },
        ip: Ipv4Header {
            identification: header.identification(),
            time_to_live: header.ttl(),
            ecn: [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(header.ecn().value())],
        },
        transport,
    };
    let end = start + packet.payload_bytes() as usize;
    Ok(DecodedPacket { packet, payload: start..end })
}

/// Verifies the checksums of the IPv4 header and of the TCP segment or UDP datagram. A UDP checksum
/// of zero means that the sender computed none (RFC 768).
///
/// # Errors
/// [`WireError::Checksum`] if one does not match; all errors of [`decode_packet`].
pub fn verify_checksums(bytes: &[u8]) -> Result<(), WireError> {
    // If the checksum is correct, the sum over all words, including the checksum, is all ones (RFC
    // 1071 §1).
    let matches = |sum: Sum16BitWords| sum.ones_complement() == 0;
    let decoded = decode_packet(bytes)?;
    let (header, body) = split_ipv4(bytes)?;
    if !matches(Sum16BitWords::new().add_slice(header.slice())) {
        return Err(WireError::Checksum { header: "IPv4" });
    }
    let body = &bytes[body.start..decoded.payload.end];
    let name = match decoded.packet.transport {
        Transport::Tcp(_) => "TCP",
        Transport::Udp(_) if body[6..8] == [0, 0] => return Ok(()),
        Transport::Udp(_) => "UDP",
    };
    let pseudo_header = Sum16BitWords::new()
        .add_4bytes(header.source())
        .add_4bytes(header.destination())
        .add_2bytes([0, header.protocol().0])
        .add_2bytes((body.len() as u16).to_be_bytes());
    if matches(pseudo_header.add_slice(body)) {
        Ok(())
    } else {
        Err(WireError::Checksum { header: name })
    }
}

/// IPv4 header, and the byte range of its payload.
fn split_ipv4(bytes: &[u8]) -> Result<(Ipv4HeaderSlice<'_>, Range<usize>), WireError> {
    use ipv4::{HeaderError, HeaderSliceError};
    let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|error| match error {
        HeaderSliceError::Len(length) => WireError::Truncated {
            part: "the IPv4 header",
            needs: length.required_len,
            has: bytes.len(),
        },
        HeaderSliceError::Content(HeaderError::UnexpectedVersion { version_number }) => {
            WireError::Version { version: version_number }
        }
        HeaderSliceError::Content(HeaderError::HeaderLengthSmallerThanHeader { ihl }) => {
            WireError::HeaderLength { header: "IPv4", says: usize::from(ihl) * 4, least: 20 }
        }
    })?;
    let start = header.slice().len();
    let end = usize::from(header.total_len());
    if end < start {
        return Err(WireError::HeaderLength { header: "IPv4", says: end, least: start });
    }
    if end > bytes.len() {
        let part = "the IPv4 packet";
        return Err(WireError::Truncated { part, needs: end, has: bytes.len() });
    }
    if header.is_fragmenting_payload() {
        let offset = u32::from(header.fragments_offset().value()) * 8;
        return Err(WireError::Fragment { offset });
    }
    Ok((header, start..end))
}

struct Ports {
    source: u16,
    destination: u16,
}

fn decode_tcp(body: &[u8]) -> Result<(Ports, Transport, usize), WireError> {
    use tcp::{HeaderError, HeaderSliceError};
    let slice = TcpSlice::from_slice(body).map_err(|error| match error {
        HeaderSliceError::Len(length) => WireError::Truncated {
            part: "the TCP header",
            needs: length.required_len,
            has: body.len(),
        },
        HeaderSliceError::Content(HeaderError::DataOffsetTooSmall { data_offset }) => {
            WireError::HeaderLength { header: "TCP", says: usize::from(data_offset) * 4, least: 20 }
        }
    })?;
    let segment = Segment {
        seq: SeqNr(slice.sequence_number()),
        ack: SeqNr(slice.acknowledgment_number()),
        window: slice.window_size(),
        // The eight control bits are one byte of the header.
        flags: Flags(body[13]),
        payload_bytes: slice.payload().len() as u32,
        // The explicit loss notification is not part of the encoded header.
        loss_notice: false,
        options: Options::decode(slice.options())?,
    };
    let ports = Ports { source: slice.source_port(), destination: slice.destination_port() };
    Ok((ports, Transport::Tcp(segment), slice.header_len()))
}

fn decode_udp(body: &[u8]) -> Result<(Ports, Transport, usize), WireError> {
    let header = UdpHeaderSlice::from_slice(body).map_err(|length| WireError::Truncated {
        part: "the UDP header",
        needs: length.required_len,
        has: body.len(),
    })?;
    let header_bytes = header.slice().len();
    let says = usize::from(header.length());
    if says < header_bytes {
        return Err(WireError::HeaderLength { header: "UDP", says, least: header_bytes });
    }
    if says > body.len() {
        let part = "the UDP datagram";
        return Err(WireError::Truncated { part, needs: says, has: body.len() });
    }
    let ports = Ports { source: header.source_port(), destination: header.destination_port() };
    let transport = Transport::Udp(UdpHeader { payload_bytes: (says - header_bytes) as u32 });
    Ok((ports, transport, header_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SackBlocks, Timestamps};

    /// A SYN in Linux's layout from 192.0.2.1 to 192.0.2.2, with checksums that were not computed
    /// by this crate.
    const SYN: [u8; 60] = [
        0x45, 0x00, 0x00, 0x3c, 0x1c, 0x46, 0x40, 0x00, 0x40, 0x06, 0x9a, 0x72, 0xc0, 0x00, 0x02,
        0x01, 0xc0, 0x00, 0x02, 0x02, 0xc3, 0x50, 0x13, 0x89, 0xff, 0xff, 0xff, 0xf0, 0x00, 0x00,
        0x00, 0x00, 0xa0, 0x02, 0xfa, 0xf0, 0xee, 0x3a, 0x00, 0x00, 0x02, 0x04, 0x05, 0xb4, 0x04,
        0x02, 0x08, 0x0a, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x03, 0x07,
    ];

    fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Result<DecodedPacket, WireError> {
        let mut bytes = SYN.to_vec();
        change(&mut bytes);
        decode_packet(&bytes)
    }

    #[test]
    fn a_syn() {
        let decoded = decode_packet(&SYN).unwrap();
        let endpoint = |last, port| Endpoint { address: [192, 0, 2, last].into(), port };
        assert_eq!(decoded.packet.source, endpoint(1, 50_000));
        assert_eq!(decoded.packet.destination, endpoint(2, 5_001));
        assert_eq!(
            decoded.packet.ip,
            Ipv4Header { identification: 0x1c46, time_to_live: 64, ecn: Ecn::NotEct }
        );
        let options = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 0x0102_0304, echo: 0 }),
            sack: SackBlocks::default(),
        };
        let segment = Segment {
            seq: SeqNr(0xffff_fff0),
            ack: SeqNr(0),
            window: 64_240,
            flags: Flags::SYN,
            payload_bytes: 0,
            loss_notice: false,
            options,
        };
        assert_eq!(decoded.packet.transport, Transport::Tcp(segment));
        assert_eq!(decoded.payload, 60..60);
        assert_eq!(verify_checksums(&SYN), Ok(()));
    }

    #[test]
    fn refusals_say_what_is_wrong() {
        let error = |change: fn(&mut Vec<u8>)| changed(change).unwrap_err().to_string();
        assert_eq!(error(Vec::clear), "the IPv4 header takes 20 bytes, and there are 0");
        assert_eq!(error(|b| b.truncate(59)), "the IPv4 packet takes 60 bytes, and there are 59");
        assert_eq!(error(|b| b[0] = 0x65), "IP version 6: only version 4 is understood");
        assert_eq!(
            error(|b| b[0] = 0x44),
            "a length field of the IPv4 header says 16 bytes; it takes at least 20"
        );
        assert_eq!(
            error(|b| b[3] = 19),
            "a length field of the IPv4 header says 19 bytes; it takes at least 20"
        );
        assert_eq!(error(|b| b[3] = 39), "the TCP header takes 20 bytes, and there are 19");
        assert_eq!(error(|b| b[3] = 59), "the TCP header takes 40 bytes, and there are 39");
        assert_eq!(
            error(|b| b[32] = 0x40),
            "a length field of the TCP header says 16 bytes; it takes at least 20"
        );
        assert_eq!(
            error(|b| b[7] = 2),
            "a fragment at byte 16 of an IPv4 packet: reassemble the packet first"
        );
        assert_eq!(
            error(|b| b[6] |= 0x20).split(':').next(),
            Some("a fragment at byte 0 of an IPv4 packet")
        );
        assert_eq!(error(|b| b[9] = 1), "IP protocol 1: only TCP (6) and UDP (17) are understood");
        assert_eq!(
            error(|b| b[41] = 5),
            "TCP option of kind 2 says that it has 5 bytes; it cannot have"
        );
    }

    #[test]
    fn checksums_are_told_apart() {
        let verify = |place: usize| {
            let mut bytes = SYN;
            bytes[place] ^= 1;
            verify_checksums(&bytes)
        };
        assert_eq!(verify(8), Err(WireError::Checksum { header: "IPv4" }));
        assert_eq!(verify(26), Err(WireError::Checksum { header: "TCP" }));
    }

    #[test]
    fn a_udp_datagram_may_go_without_a_checksum() {
        let mut bytes = SYN[..32].to_vec();
        bytes[3] = 32;
        bytes[9] = 17;
        // Length 9: one byte of payload; the last three bytes belong to no datagram.
        bytes[24..28].copy_from_slice(&[0, 9, 0, 0]);
        bytes[10..12].fill(0);
        let checksum = Sum16BitWords::new().add_slice(&bytes[..20]).ones_complement();
        bytes[10..12].copy_from_slice(&checksum.to_ne_bytes());
        let decoded = decode_packet(&bytes).unwrap();
        assert_eq!(decoded.packet.transport, Transport::Udp(UdpHeader { payload_bytes: 1 }));
        assert_eq!(decoded.payload, 28..29);
        assert_eq!(verify_checksums(&bytes), Ok(()));
        bytes[27] = 1;
        assert_eq!(verify_checksums(&bytes), Err(WireError::Checksum { header: "UDP" }));
        bytes[25] = 7;
        assert_eq!(
            decode_packet(&bytes).unwrap_err().to_string(),
            "a length field of the UDP header says 7 bytes; it takes at least 8"
        );
        bytes[25] = 13;
        assert_eq!(
            decode_packet(&bytes).unwrap_err().to_string(),
            "the UDP datagram takes 13 bytes, and there are 12"
        );
    }
}
