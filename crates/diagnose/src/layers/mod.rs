//! Decoding of a frame down to its TCP segment, through all supported encapsulations.
//!
//! The snap length of the capture may truncate a frame at any place. The headers before this place
//! are read all the same. Checksums are not verified, since network cards compute them after the
//! capture.

mod internet;
mod link;
mod tcp;

use crate::packet::Packet;
use crate::reader::Frame;

/// Maximum number of headers of a frame; a frame with more is treated as damaged.
const DEPTH_MAX: u32 = 16;

/// Reason why a frame yields no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSegment {
    /// Not TCP over IP.
    Protocol,
    /// Fragment of an IP packet other than the first.
    Fragment,
    /// Truncated before the sequence numbers.
    Cut,
    /// Header with impossible lengths.
    Malformed,
    /// Unknown link type.
    LinkType(u16),
}

/// Bytes of a frame that are not read yet.
#[derive(Clone, Copy)]
struct View<'a> {
    /// The bytes captured.
    data: &'a [u8],
    /// Number of bytes on the wire from here on, which is at least the number captured.
    original: u32,
    /// Number of headers that have been read.
    depth: u32,
    /// Hash of the headers parsed so far, which tells the links of a capture apart.
    link: u32,
}

impl<'a> View<'a> {
    /// View of the bytes after a header.
    #[inline]
    fn after(self, bytes: usize) -> Result<Self, NoSegment> {
        if self.depth >= DEPTH_MAX || bytes as u64 > u64::from(self.original) {
            return Err(NoSegment::Malformed);
        }
        let data = self.data.get(bytes..).ok_or(NoSegment::Cut)?;
        let (original, depth) = (self.original - bytes as u32, self.depth + 1);
        Ok(Self { data, original, depth, ..self })
    }

    /// View of the first `bytes` bytes, without anything behind the packet, such as the padding of
    /// a short frame.
    fn shortened(self, bytes: u32) -> Self {
        let original = self.original.min(bytes);
        let captured = self.data.len().min(original as usize);
        Self { data: &self.data[..captured], original, ..self }
    }

    /// The header's bytes.
    #[inline]
    fn head(self, bytes: usize) -> Result<&'a [u8], NoSegment> {
        self.data.get(..bytes).ok_or(NoSegment::Cut)
    }

    /// Adds the bytes of a header to the hash `link`.
    #[inline]
    fn marked(mut self, bytes: &[u8]) -> Self {
        for part in bytes.chunks(4) {
            let mut word = [0; 4];
            word[..part.len()].copy_from_slice(part);
            let mixed = (self.link ^ u32::from_le_bytes(word)).wrapping_mul(0x9e37_79b1);
            self.link = mixed ^ mixed >> 15;
        }
        self
    }
}

/// A 16-bit number in network order.
#[inline]
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Decodes the TCP segment in a frame.
///
/// # Errors
/// The frame contains no TCP segment; the error is the reason.
#[inline]
pub fn decode(frame: &Frame<'_>) -> Result<Packet, NoSegment> {
    let original = frame.original_bytes.max(frame.data.len() as u32);
    let view = View { data: frame.data, original, depth: 0, link: 0 };
    let mut packet = Packet {
        number: frame.number,
        time_ns: frame.time_ns,
        interface: frame.interface,
        ..Packet::default()
    };
    link::decode_frame(frame.link_type, view, &mut packet)?;
    Ok(packet)
}
