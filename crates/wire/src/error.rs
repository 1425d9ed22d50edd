//! Errors of decoding.

/// Reason why bytes cannot be decoded as a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The bytes end early, or a length field exceeds them.
    #[error("{part} takes {needs} bytes, and there are {has}")]
    Truncated {
        /// Part of the packet that is incomplete.
        part: &'static str,
        /// Bytes required.
        needs: usize,
        /// Bytes available.
        has: usize,
    },
    /// The IP version is not 4.
    #[error("IP version {version}: only version 4 is understood")]
    Version {
        /// The version field.
        version: u8,
    },
    /// A length field is smaller than the minimum length of its header.
    #[error("a length field of the {header} header says {says} bytes; it takes at least {least}")]
    HeaderLength {
        /// `IPv4`, `TCP` or `UDP`.
        header: &'static str,
        /// Value of the length field, in bytes.
        says: usize,
        /// Minimum length, in bytes.
        least: usize,
    },
    /// The packet is a fragment.
    #[error("a fragment at byte {offset} of an IPv4 packet: reassemble the packet first")]
    Fragment {
        /// Fragment offset, in bytes.
        offset: u32,
    },
    /// The protocol is neither TCP nor UDP.
    #[error("IP protocol {protocol}: only TCP (6) and UDP (17) are understood")]
    Protocol {
        /// The protocol field.
        protocol: u8,
    },
    /// A TCP option has a length that its kind does not allow.
    #[error("TCP option of kind {kind} says that it has {length} bytes; it cannot have")]
    OptionLength {
        /// The option's kind.
        kind: u8,
        /// Length field of the option.
        length: u8,
    },
    /// A TCP option extends beyond the header.
    #[error("TCP option of kind {kind} runs beyond the header, which has {has} bytes left for it")]
    OptionTruncated {
        /// The option's kind.
        kind: u8,
        /// Bytes from the option's kind to the end of the header.
        has: usize,
    },
    /// A checksum does not match.
    #[error("the {header} checksum does not match: the packet was changed on its way")]
    Checksum {
        /// `IPv4`, `TCP` or `UDP`.
        header: &'static str,
    },
}
