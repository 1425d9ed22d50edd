//! Allocation of packet indices in ascending order. Packets sent in succession are then adjacent in
//! memory; most packets arrive in the order of sending, so successive arrivals are adjacent, too.
//! If indices were reused in the order of their release, they would soon be scattered: with more
//! packets than a cache holds, each access would then miss the cache, and often the TLB.

/// Indices are reused from the lowest on only if more than one in `FREE_OF` is free; otherwise new
/// indices are added. If fewer were free, the reused indices would be scattered, and packets sent
/// in succession would not be adjacent.
const FREE_OF: usize = 4;

/// Bitmap of free indices, 64 to a word.
#[derive(Debug, Clone, Default)]
pub(super) struct FreeIndices {
    words: Vec<u64>,
    /// Word from which indices are allocated.
    word: usize,
    /// Bits of the indices in `word` that can still be allocated in this round. Indices that are
    /// released meanwhile are reused in the next round.
    left: u64,
}

impl FreeIndices {
    /// True if [`Self::advance`] must be called before the next allocation.
    #[inline(always)]
    pub const fn is_word_used_up(&self) -> bool {
        self.left == 0
    }

    /// Allocates the next index.
    #[inline(always)]
    pub const fn allocate(&mut self) -> u32 {
        debug_assert!(!self.is_word_used_up(), "it has one");
        let bit = self.left.trailing_zeros();
        self.left &= self.left - 1;
        self.word as u32 * 64 + bit
    }

    /// Advances to the next word with free indices; this may increase the number of indices.
    pub fn advance(&mut self) {
        while self.left == 0 {
            self.word += 1;
            if self.word >= self.words.len() {
                self.begin_round();
            }
            self.left = std::mem::take(&mut self.words[self.word]);
        }
    }

    /// Starts a round at the first index or, if too few indices are free, at newly added ones.
    #[cold]
    fn begin_round(&mut self) {
        self.word = 0;
        if self.count() <= self.capacity() / FREE_OF {
            self.word = self.words.len();
            assert!(self.capacity() < 1 << 31, "fewer than 2^31 packets on their way");
            self.words.resize(self.word + self.word / 2 + 1, u64::MAX);
        }
    }

    /// Releases an index.
    #[inline(always)]
    pub fn release(&mut self, number: u32) {
        self.words[number as usize / 64] |= 1 << (number % 64);
    }

    /// Number of indices, free or not.
    pub const fn capacity(&self) -> usize {
        64 * self.words.len()
    }

    /// Number of free indices.
    pub fn count(&self) -> usize {
        let words = self.words.iter().chain([&self.left]);
        words.map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn next(free: &mut FreeIndices) -> u32 {
        if free.is_word_used_up() {
            free.advance();
        }
        free.allocate()
    }

    proptest! {
        /// No index is allocated twice.
        #[test]
        fn nothing_is_given_twice(steps in prop::collection::vec(any::<u16>(), 0..2000)) {
            let mut free = FreeIndices::default();
            let mut given: Vec<u32> = Vec::new();
            for step in steps {
                if step % 3 == 0 && !given.is_empty() {
                    free.release(given.swap_remove(step as usize % given.len()));
                } else {
                    let number = next(&mut free);
                    prop_assert!(!given.contains(&number) && (number as usize) < free.capacity());
                    given.push(number);
                }
                prop_assert_eq!(free.count(), free.capacity() - given.len());
            }
        }
    }

    #[test]
    fn what_is_taken_lies_side_by_side() {
        let mut free = FreeIndices::default();
        let first: Vec<u32> = (0..100).map(|_| next(&mut free)).collect();
        first.iter().rev().for_each(|number| free.release(*number));
        assert!((100..free.capacity() as u32).all(|number| next(&mut free) == number));
        assert!((0..100).all(|number| next(&mut free) == number));
    }
}
