//! What can be wrong with the bytes of a packet.

/// Why bytes are not a packet that retx understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end early, or a length field claims too many.
    #[error("{part} takes {needs} bytes, and there are {has}")]
    Truncated {
        /// What does not fit.
        part: &'static str,
        /// Bytes that it takes.
        needs: usize,
        /// Bytes that are there.
        has: usize,
    },
    /// Not IPv4.
    #[error("IP version {version}: only version 4 is understood")]
    Version {
        /// The version field.
        version: u8,
    },
    /// A length field is smaller than the header that it stands in.
    #[error("a length field of the {header} header says {says} bytes; it takes at least {least}")]
    HeaderLength {
        /// `IPv4`, `TCP` or `UDP`.
        header: &'static str,
        /// What the field says, in bytes.
        says: usize,
        /// What is the least, in bytes.
        least: usize,
    },
    /// A part of a fragmented packet.
    #[error("a fragment at byte {offset} of an IPv4 packet: reassemble the packet first")]
    Fragment {
        /// The fragment's place in the packet's payload, in bytes.
        offset: u32,
    },
    /// Neither TCP nor UDP.
    #[error("IP protocol {protocol}: only TCP (6) and UDP (17) are understood")]
    Protocol {
        /// The protocol field.
        protocol: u8,
    },
    /// A TCP option whose length is not one that its kind can have.
    #[error("TCP option of kind {kind} says that it has {length} bytes; it cannot have")]
    OptionLength {
        /// The option's kind.
        kind: u8,
        /// Its length field.
        length: u8,
    },
    /// A TCP option that runs beyond the header.
    #[error("TCP option of kind {kind} runs beyond the header, which has {has} bytes left for it")]
    OptionTruncated {
        /// The option's kind.
        kind: u8,
        /// Bytes from its kind to the end of the header.
        has: usize,
    },
    /// A checksum that does not match.
    #[error("the {header} checksum does not match: the packet was changed on its way")]
    Checksum {
        /// `IPv4`, `TCP` or `UDP`.
        header: &'static str,
    },
}
