//! 32-bit words in which rows of samples are stored.

/// Lower and upper half of a number.
pub(super) const fn split_u64(long: u64) -> [u32; 2] {
    [long as u32, (long >> 32) as u32]
}

/// Reader of words.
#[derive(Debug, Clone)]
pub(super) struct Words<'a>(std::slice::Iter<'a, u32>);

impl<'a> Words<'a> {
    pub fn new(words: &'a [u32]) -> Self {
        Self(words.iter())
    }

    /// First word of the next row; `None` at the end.
    pub fn next_row(&mut self) -> Option<u32> {
        self.0.next().copied()
    }

    /// Next word of a row.
    pub fn next_word(&mut self) -> u32 {
        *self.0.next().expect("a row is written as a whole")
    }

    /// Next two words, as written by [`halves`].
    pub fn next_u64(&mut self) -> u64 {
        u64::from(self.next_word()) | u64::from(self.next_word()) << 32
    }
}
