//! Words of 32 bits, in which rows of samples are kept.

/// The halves of a number, the lower first.
pub(super) const fn halves(long: u64) -> [u32; 2] {
    [long as u32, (long >> 32) as u32]
}

/// Reads words, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Words<'a>(std::slice::Iter<'a, u32>);

impl<'a> Words<'a> {
    pub fn new(words: &'a [u32]) -> Self {
        Self(words.iter())
    }

    /// The first of a row, if there is another row.
    pub fn first(&mut self) -> Option<u32> {
        self.0.next().copied()
    }

    /// The next of a row.
    pub fn word(&mut self) -> u32 {
        *self.0.next().expect("a row is written as a whole")
    }

    /// The next two, as [`halves`].
    pub fn long(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }
}
