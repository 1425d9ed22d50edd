//! IPv4, IPv6 with extension headers, and the tunnels that they carry.

use super::{NoSegment, View, link, tcp, word};
use crate::packet::{Endpoint, Packet};

const TCP: u8 = 6;
/// The port of VXLAN (RFC 7348).
const VXLAN: u16 = 4789;

/// Reads an IP packet of either version.
#[inline]
pub fn decode_ip(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    match view.head(1)?[0] >> 4 {
        4 => version_4(view, packet),
        6 => version_6(view, packet),
        _ => Err(NoSegment::Malformed),
    }
}

#[inline]
fn version_4(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let head = view.head(20)?;
    let header = usize::from(head[0] & 15) * 4;
    let total = u32::from(word(head, 2));
    if header < 20 || total != 0 && (total as usize) < header {
        return Err(NoSegment::Malformed);
    }
    if word(head, 6) & 0x1fff != 0 {
        return Err(NoSegment::Fragment);
    }
    packet.ecn = head[1] & 3;
    packet.ip_id = word(head, 4);
    packet.ttl = head[8];
    packet.source = Endpoint::v4([head[12], head[13], head[14], head[15]], 0);
    packet.destination = Endpoint::v4([head[16], head[17], head[18], head[19]], 0);
    // With segmentation offload the length can exceed the field, which is then 0.
    let body = if total == 0 { view } else { view.shortened(total) };
    carried(head[9], body.after(header)?, packet)
}

fn version_6(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let head = view.head(40)?;
    packet.ecn = (head[1] >> 4) & 3;
    packet.ip_id = 0;
    packet.ttl = head[7];
    packet.source = Endpoint { address: address(head, 8), port: 0 };
    packet.destination = Endpoint { address: address(head, 24), port: 0 };
    let payload = u32::from(word(head, 4));
    let jumbo = if payload == 0 && head[6] == 0 { jumbo_bytes(view) } else { None };
    let body = match (payload, jumbo) {
        (_, Some(bytes)) => view.shortened(bytes.saturating_add(40)),
        (0, None) => view,
        (bytes, None) => view.shortened(bytes + 40),
    };
    extensions(head[6], body.after(40)?, packet)
}

fn address(head: &[u8], at: usize) -> [u8; 16] {
    let mut address = [0; 16];
    address.copy_from_slice(&head[at..at + 16]);
    address
}

/// Payload length of a jumbogram from its hop-by-hop option (RFC 2675), which BIG TCP uses, too.
fn jumbo_bytes(view: View<'_>) -> Option<u32> {
    let options = view.data.get(42..)?;
    let length = usize::from(view.data[41]) * 8 + 6;
    let mut options = &options[..options.len().min(length)];
    while let [kind, rest @ ..] = options {
        if *kind == 0 {
            options = rest;
            continue;
        }
        let (length, value) = rest.split_first()?;
        let value = value.get(..usize::from(*length))?;
        if let (0xc2, [a, b, c, d]) = (*kind, value) {
            return Some(u32::from_be_bytes([*a, *b, *c, *d]));
        }
        options = &rest[1 + value.len()..];
    }
    None
}

/// Skips extension headers (RFC 8200 §4).
fn extensions(mut next: u8, mut view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    loop {
        let length = match next {
            0 | 43 | 60 | 135 | 139 | 140 => (usize::from(view.head(2)?[1]) + 1) * 8,
            // The length field of an authentication header counts words of 4 bytes, minus 2.
            51 => (usize::from(view.head(2)?[1]) + 2) * 4,
            44 => {
                if word(view.head(8)?, 2) & 0xfff8 != 0 {
                    return Err(NoSegment::Fragment);
                }
                8
            }
            _ => return carried(next, view, packet),
        };
        next = view.head(1)?[0];
        view = view.after(length)?;
    }
}

/// Reads the payload of an IP packet by its protocol number.
#[inline]
fn carried(protocol: u8, view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    match protocol {
        TCP => tcp::decode_tcp(view, packet),
        4 | 41 => decode_ip(view, packet),
        17 => vxlan(view, packet),
        47 => gre(view, packet),
        _ => Err(NoSegment::Protocol),
    }
}

fn vxlan(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let head = view.head(16)?;
    if word(head, 2) != VXLAN || head[8] & 8 == 0 {
        return Err(NoSegment::Protocol);
    }
    link::decode_ethernet(view.marked(&head[12..15]).after(16)?, packet)
}

/// Reads generic routing encapsulation (RFC 2784, 2890), and PPTP's version of it (RFC 2637).
fn gre(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let head = view.head(4)?;
    let (flags, kind) = (word(head, 0), word(head, 2));
    let has = |bit: u16| usize::from(flags & bit != 0);
    if flags & 7 == 1 {
        let body = view.after(8 + 4 * has(0x1000) + 4 * has(0x0080))?;
        return link::decode_ppp(body, packet);
    }
    // One word holds both the checksum and the offset for routing, so either flag adds it.
    let options = usize::from(flags & 0xc000 != 0) + has(0x2000) + has(0x1000);
    let body = view.after(4 + 4 * options)?;
    match kind {
        // ERSPAN type I has no header of its own. It is recognised by a GRE header without a
        // sequence number.
        0x88be if flags & 0x1000 == 0 => link::decode_ethernet(body, packet),
        _ => link::decode_by_ethertype(kind, body, packet),
    }
}
