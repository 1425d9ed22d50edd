//! TCP headers, as far as they were captured.

use super::{NoSegment, View, word};
use crate::packet::{ControlBits, Options, Packet};

/// Length of the header up to the control bits. A header that was truncated before their end is not
/// used.
const LEAST_BYTES: usize = 14;
const HEADER_BYTES: usize = 20;

/// Reads a TCP header.
#[inline]
pub fn decode_tcp(view: View<'_>, packet: &mut Packet) -> Result<(), NoSegment> {
    let head = view.head(LEAST_BYTES)?;
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let header = usize::from(head[12] >> 4) * 4;
    if header < HEADER_BYTES || header as u64 > u64::from(view.original) {
        return Err(NoSegment::Malformed);
    }
    packet.source.port = word(head, 0);
    packet.destination.port = word(head, 2);
    packet.seq = number(4);
    packet.ack = number(8);
    packet.control = ControlBits(head[13]);
    packet.payload_bytes = view.original - header as u32;
    packet.link_fingerprint = view.link;
    let field = |at: usize| view.data.get(at..at + 2).map_or(0, |bytes| word(bytes, 0));
    packet.window = field(14);
    packet.checksum = field(16);
    if let Some(bytes) = view.data.get(HEADER_BYTES..header.min(view.data.len())) {
        packet.options = options(bytes);
    }
    packet.options.is_truncated = header > view.data.len();
    Ok(())
}

/// Options up to the first invalid one.
#[inline]
fn options(mut bytes: &[u8]) -> Options {
    let mut options = Options::default();
    // The usual options of Linux: two no-operations, then timestamps.
    if let [1, 1, 8, 10, v0, v1, v2, v3, e0, e1, e2, e3, rest @ ..] = bytes {
        let value = u32::from_be_bytes([*v0, *v1, *v2, *v3]);
        options.timestamps = Some((value, u32::from_be_bytes([*e0, *e1, *e2, *e3])));
        bytes = rest;
    }
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 => break,
            1 => bytes = rest,
            _ => {
                let Some((length, _)) = rest.split_first() else { break };
                let Some(value) = bytes.get(2..usize::from(*length)) else { break };
                option(*kind, value, &mut options);
                bytes = &bytes[usize::from(*length)..];
            }
        }
    }
    options
}

fn option(kind: u8, value: &[u8], options: &mut Options) {
    let number =
        |at: usize| u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
    match (kind, value.len()) {
        (2, 2) => options.mss = Some(word(value, 0)),
        (3, 1) => options.window_scale = Some(value[0].min(14)),
        (4, 0) => options.sack_permitted = true,
        (5, _) => {
            for at in (0..value.len() / 8).map(|index| index * 8) {
                options.sack.push(number(at), number(at + 4));
            }
        }
        (8, 8) => options.timestamps = Some((number(0), number(4))),
        _ => {}
    }
}
