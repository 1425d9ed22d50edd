//! Link layers, and the headers between them and IP: VLAN tags, MPLS labels, PPPoE sessions.

use super::internet;
use super::{NoSegment, View, word};
use crate::packet::Packet;

/// Reads a frame of a link type (`LINKTYPE_…` of pcap).
#[inline]
pub fn decode_frame(link_type: u16, view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    match link_type {
        1 => decode_ethernet(view, packet),
        0 | 108 => loopback(view, packet),
        12 | 14 | 101 | 228 | 229 => internet::decode_ip(view, packet),
        9 => decode_ppp(view, packet),
        // PPP in HDLC-like framing: address and control fields come first.
        50 if view.data.starts_with(&[0xff, 3]) => decode_ppp(view.after(2)?, packet),
        // Cisco HDLC: address and control fields, then an EtherType.
        50 | 104 => tagged(view.after(2)?, packet),
        51 => pppoe(view, packet),
        113 => {
            let head = view.head(16)?;
            decode_by_ethertype(word(head, 14), view.marked(&head[..4]).after(16)?, packet)
        }
        276 => {
            let head = view.head(20)?;
            decode_by_ethertype(word(head, 0), view.marked(&head[4..12]).after(20)?, packet)
        }
        other => Err(NoSegment::LinkType(other)),
    }
}

/// Reads an Ethernet frame.
#[inline]
pub fn decode_ethernet(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let head = view.head(14)?;
    let view = view.marked(&head[..12]).after(14)?;
    decode_by_ethertype(word(head, 12), view, packet)
}

/// Decodes a header whose next two bytes are an EtherType.
fn tagged(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let kind = word(view.head(2)?, 0);
    decode_by_ethertype(kind, view.after(2)?, packet)
}

/// Reads the contents of a frame with this EtherType.
#[inline]
pub fn decode_by_ethertype(
    kind: u16,
    view: View<'_>,
    packet: &mut Packet,
) -> Result<(), NoSegment> {
    match kind {
        0x0800 | 0x86dd => internet::decode_ip(view, packet),
        // IEEE 802.1Q, 802.1ad and earlier types.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            let head = view.head(4)?;
            decode_by_ethertype(word(head, 2), view.marked(&head[..2]).after(4)?, packet)
        }
        0x8847 | 0x8848 => labels(view, packet),
        0x8864 => pppoe(view, packet),
        0x6558 => decode_ethernet(view, packet),
        0x880b => decode_ppp(view, packet),
        // ERSPAN types II and III; type III may have a sub-header.
        0x88be => decode_ethernet(view.after(8)?, packet),
        0x22eb => {
            let more = if view.head(12)?[11] & 1 != 0 { 8 } else { 0 };
            decode_ethernet(view.after(12 + more)?, packet)
        }
        // The field is a length, so an IEEE 802.2 header follows; only SNAP carries IP.
        ..0x0600 if view.data.starts_with(&[0xaa, 0xaa, 3]) => {
            let head = view.head(8)?;
            decode_by_ethertype(word(head, 6), view.after(8)?, packet)
        }
        _ => Err(NoSegment::Protocol),
    }
}

/// Reads MPLS labels (RFC 3032). No type follows the last label, so the protocol is recognised by
/// the first bits of the payload.
fn labels(mut view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    loop {
        let head = view.head(4)?;
        let is_last = head[2] & 1 != 0;
        view = view.marked(head).after(4)?;
        if is_last {
            break;
        }
    }
    match view.head(1)?[0] >> 4 {
        4 | 6 => internet::decode_ip(view, packet),
        // A pseudowire's control word (RFC 4385), then an Ethernet frame.
        0 => decode_ethernet(view.after(4)?, packet),
        _ => decode_ethernet(view, packet),
    }
}

/// Reads a session packet of PPP over Ethernet (RFC 2516).
fn pppoe(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let head = view.head(6)?;
    let length = u32::from(word(head, 4));
    decode_ppp(view.marked(&head[2..4]).after(6)?.shortened(length), packet)
}

/// Reads PPP (RFC 1661); a compressed protocol field has one byte.
pub fn decode_ppp(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let view = if view.data.starts_with(&[0xff, 3]) { view.after(2)? } else { view };
    let first = view.head(1)?[0];
    let (protocol, bytes) =
        if first & 1 != 0 { (u16::from(first), 1) } else { (word(view.head(2)?, 0), 2) };
    match protocol {
        0x21 | 0x57 => internet::decode_ip(view.after(bytes)?, packet),
        0x281 | 0x283 => labels(view.after(bytes)?, packet),
        _ => Err(NoSegment::Protocol),
    }
}

/// Reads a BSD loopback header: the address family, in the byte order of the machine.
fn loopback(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let head = view.head(4)?;
    let family = if head[0] == 0 && head[1] == 0 { head[3] } else { head[0] };
    match family {
        // AF_INET, and the values of AF_INET6 in the BSDs, Linux and macOS.
        2 | 10 | 23 | 24 | 28 | 30 => internet::decode_ip(view.after(4)?, packet),
        _ => Err(NoSegment::Protocol),
    }
}
