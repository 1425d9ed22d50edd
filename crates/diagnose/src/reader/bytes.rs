//! Integers in the byte order of a file.

/// The order of bytes in an integer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// Little endian.
    #[default]
    Little,
    /// Big endian.
    Big,
}

impl ByteOrder {
    /// The 16-bit integer at an offset.
    #[inline]
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let word = [bytes[at], bytes[at + 1]];
        if self == Self::Big { u16::from_be_bytes(word) } else { u16::from_le_bytes(word) }
    }

    /// The 32-bit integer at an offset.
    #[inline]
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&bytes[at..at + 4]);
        if self == Self::Big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    /// The 64-bit integer at an offset.
    pub fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        if self == Self::Big { first << 32 | second } else { second << 32 | first }
    }
}
