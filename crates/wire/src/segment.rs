//! TCP segments: header fields and payload length, without addresses and payload bytes.

use retx_units::SeqNr;

/// Length of an IPv4 header without options, bytes.
pub const IPV4_HEADER_BYTES: u32 = 20;
/// Length of a TCP header without options, bytes.
pub const TCP_HEADER_BYTES: u32 = 20;
/// Maximum length of the options: the 4-bit data offset counts at most 15 words.
pub const TCP_OPTIONS_MAX_BYTES: u32 = 40;

/// Control bits of a TCP header (RFC 9293 §3.1), in the bit positions of the header's 14th byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push function.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer is significant.
    pub const URG: Self = Self(0x20);
    /// ECN-Echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// True if every bit of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Union of both sets of bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The timestamps option (RFC 7323 §3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// TSval, the sender's timestamp clock.
    pub value: u32,
    /// TSecr, the echoed timestamp of the peer.
    pub echo: u32,
}

/// Block of a SACK option: bytes `left` to `right` − 1 have arrived (RFC 2018 §3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: SeqNr,
    /// Sequence number after the last one of the block.
    pub right: SeqNr,
}

/// Up to four SACK blocks, in the order of the option.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    len: u8,
}

impl SackBlocks {
    /// Appends a block; a fifth block is dropped, because no header has room for it.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }

    /// Blocks, first to last.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }

    /// True if there is no block.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if `block` is among the blocks.
    #[inline]
    pub fn contains(&self, block: &SackBlock) -> bool {
        self.as_slice().contains(block)
    }
}

/// Options that retx's TCP sends and understands; `None` for an option that the segment lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Maximum segment size (RFC 9293 §3.2), on SYNs.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323 §2), on SYNs, as in the header. A user of the value must treat
    /// a shift above 14 as 14 (§2.3).
    pub window_scale: Option<u8>,
    /// SACK-permitted (RFC 2018 §2), on SYNs.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgments (RFC 2018 §3).
    pub sack: SackBlocks,
}

impl Options {
    /// Appends a SACK block and returns true, if the header has room for it (three blocks with
    /// timestamps, four without).
    pub fn push_sack(&mut self, block: SackBlock) -> bool {
        let mut longer = *self;
        longer.sack.push(block);
        let fits =
            longer.sack.len > self.sack.len && longer.encoded_bytes() <= TCP_OPTIONS_MAX_BYTES;
        if fits {
            *self = longer;
        }
        fits
    }

    /// Length of the encoded options, padded to 32-bit words. In Linux's layout, timestamps and
    /// SACK blocks are each preceded by two NOPs. Options that would thus exceed
    /// [`TCP_OPTIONS_MAX_BYTES`] are encoded without NOPs.
    ///
    /// Options that exceed [`TCP_OPTIONS_MAX_BYTES`] even then cannot be encoded. SACK blocks added
    /// with [`Options::push_sack`] never lead to such a length.
    pub const fn encoded_bytes(&self) -> u32 {
        let aligned = self.padded_bytes();
        if aligned > TCP_OPTIONS_MAX_BYTES { self.dense_bytes() } else { aligned }
    }

    /// Length if NOPs align every option to 32 bits.
    pub(crate) const fn padded_bytes(&self) -> u32 {
        let mut bytes = 0;
        if self.mss.is_some() {
            bytes += 4;
        }
        if self.window_scale.is_some() {
            bytes += 4;
        }
        match (self.timestamps.is_some(), self.sack_permitted) {
            // SACK-permitted takes the place of the timestamps' two NOPs.
            (true, _) => bytes += 12,
            (false, true) => bytes += 4,
            (false, false) => {}
        }
        if self.sack.len > 0 {
            bytes += 4 + 8 * self.sack.len as u32;
        }
        bytes
    }

    /// Length without NOPs, padded only at the end.
    const fn dense_bytes(&self) -> u32 {
        let mut bytes = 0;
        if self.mss.is_some() {
            bytes += 4;
        }
        if self.window_scale.is_some() {
            bytes += 3;
        }
        if self.sack_permitted {
            bytes += 2;
        }
        if self.timestamps.is_some() {
            bytes += 10;
        }
        if self.sack.len > 0 {
            bytes += 2 + 8 * self.sack.len as u32;
        }
        bytes.next_multiple_of(4)
    }
}

/// A TCP segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Sequence number of the first byte (of the SYN, if it is set).
    pub seq: SeqNr,
    /// Acknowledgment number; significant with [`Flags::ACK`].
    pub ack: SeqNr,
    /// Window field of the header, unscaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Explicit loss notification: the segment requested by this acknowledgment was corrupted on
    /// the channel. It is not part of the header, and not encoded.
    pub loss_notice: bool,
    /// TCP options.
    pub options: Options,
}

impl Segment {
    /// Length in sequence space: payload, SYN and FIN (SEG.LEN, RFC 9293 §3.3.1).
    pub const fn seq_len(&self) -> u32 {
        self.payload_bytes
            + self.flags.contains(Flags::SYN) as u32
            + self.flags.contains(Flags::FIN) as u32
    }

    /// Length of the TCP header, options included.
    pub const fn header_bytes(&self) -> u32 {
        TCP_HEADER_BYTES + self.options.encoded_bytes()
    }

    /// Length of the IPv4 packet that carries the segment.
    pub const fn packet_bytes(&self) -> u32 {
        IPV4_HEADER_BYTES + self.header_bytes() + self.payload_bytes
    }
}

/// Segment without loss notice, and without options other than timestamps: the most common kind.
/// The timestamps are stored separately, because without them the segment fits into registers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PlainSegment {
    /// Sequence number of the first byte.
    pub seq: SeqNr,
    /// Acknowledgment number.
    pub ack: SeqNr,
    /// Window field, unscaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Payload bytes.
    pub payload_bytes: u32,
}

impl PlainSegment {
    /// Converts to a general [`Segment`] with these timestamps.
    pub fn segment(&self, timestamps: Option<Timestamps>) -> Segment {
        let Self { seq, ack, window, flags, payload_bytes } = *self;
        let options = Options { timestamps, ..Options::default() };
        Segment { seq, ack, window, flags, payload_bytes, loss_notice: false, options }
    }
}

impl Segment {
    /// Converts to a plain segment, without the loss notice and the options.
    #[inline]
    pub const fn plain(&self) -> PlainSegment {
        let Self { seq, ack, window, flags, payload_bytes, .. } = *self;
        PlainSegment { seq, ack, window, flags, payload_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sack_blocks_fill_the_header_and_no_more() {
        let block = SackBlock { left: SeqNr(1), right: SeqNr(2) };
        let fill = |mut options: Options| {
            while options.push_sack(block) {}
            (options.sack.as_slice().len(), options.encoded_bytes())
        };
        let timestamps = Some(Timestamps::default());
        assert_eq!(fill(Options::default()), (4, 36));
        assert_eq!(fill(Options { timestamps, ..Options::default() }), (3, 40));
    }

    #[test]
    fn a_full_syn() {
        let mut options = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps::default()),
            sack: SackBlocks::default(),
        };
        assert_eq!(options.encoded_bytes(), 20);
        options.timestamps = None;
        assert_eq!(options.encoded_bytes(), 12);
    }
}
