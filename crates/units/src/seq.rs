//! 32-bit sequence numbers, as in a TCP header.

/// TCP sequence number; arithmetic and comparison are modulo 2^32 (RFC 9293 §3.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SeqNr(pub u32);

impl SeqNr {
    /// Sequence number `bytes` after this one.
    #[must_use]
    pub const fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Signed distance from `other` to this number, in −2^31 … 2^31 − 1.
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Unwraps this number to a 64-bit position in the stream: of all positions with this sequence
    /// number, the one nearest to `near`. `origin` is the sequence number of position 0.
    ///
    /// The result is negative if the number lies before position 0.
    pub const fn unwrap_near(self, origin: Self, near: u64) -> i64 {
        let expected = origin.0.wrapping_add(near as u32);
        near as i64 + self.0.wrapping_sub(expected) as i32 as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unwrapping_finds_the_position(
            origin: u32,
            near in 0u64..1 << 40,
            offset in -(1i64 << 30)..1 << 30,
        ) {
            let position = near as i64 + offset;
            let number = SeqNr(origin.wrapping_add(position as u32));
            prop_assert_eq!(number.unwrap_near(SeqNr(origin), near), position);
        }
    }

    #[test]
    fn order_survives_the_wrap() {
        assert_eq!(SeqNr(5).distance_from(SeqNr(u32::MAX - 4)), 10);
        assert_eq!(SeqNr(u32::MAX).add(2), SeqNr(1));
    }
}
