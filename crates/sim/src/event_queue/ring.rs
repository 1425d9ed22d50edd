//! Ring of lists: list n is at index n modulo [`LISTS`]. A bitmap, 64 bits to a word, marks the
//! indices that have a list.

use super::nodes::NodeIndex;

/// Number of lists in a ring. The numbers of any two lists must differ by less than this.
pub(super) const LISTS: u64 = 64 * WORDS;

/// Number of words in the bitmap of a ring.
pub(super) const WORDS: u64 = 256;

/// Lists of events, by number.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    bits: [u64; WORDS as usize],
    /// Lists by index; valid if the bit is set.
    lists: Box<[NodeIndex; LISTS as usize]>,
    /// Number of lists.
    count: u64,
}

impl Default for Ring {
    fn default() -> Self {
        let lists = vec![0; LISTS as usize].try_into().expect("as many");
        Self { bits: [0; WORDS as usize], lists, count: 0 }
    }
}

impl Ring {
    /// List with this number, if there is one.
    #[inline]
    pub fn get(&self, number: u64) -> Option<NodeIndex> {
        let bit = self.bits[(number / 64 % WORDS) as usize] >> (number % 64) & 1;
        (bit != 0).then(|| self.existing(number))
    }

    /// List with this number, which must exist.
    #[inline]
    pub fn existing(&self, number: u64) -> NodeIndex {
        self.lists[(number % LISTS) as usize]
    }

    /// Bits of this word of the bitmap.
    #[inline]
    pub fn bits_of_word(&self, word: u64) -> u64 {
        self.bits[(word % WORDS) as usize]
    }

    /// Stores a list under a number that has none.
    #[inline]
    pub fn put(&mut self, number: u64, list: NodeIndex) {
        self.count += 1;
        self.lists[(number % LISTS) as usize] = list;
        self.bits[(number / 64 % WORDS) as usize] |= 1 << (number % 64);
    }

    /// Stores a list under this number. If a list is there already, returns that list instead.
    #[inline(always)]
    pub fn put_if_free(&mut self, number: u64, list: NodeIndex) -> Result<(), NodeIndex> {
        let word = &mut self.bits[(number / 64 % WORDS) as usize];
        let place = &mut self.lists[(number % LISTS) as usize];
        let with = *word | 1 << (number % 64);
        // An unchanged word shows that the bit was already set.
        if *word == with {
            return Err(*place);
        }
        *word = with;
        *place = list;
        self.count += 1;
        Ok(())
    }

    /// Replaces the list with this number.
    #[inline]
    pub fn replace(&mut self, number: u64, list: NodeIndex) {
        self.lists[(number % LISTS) as usize] = list;
    }

    /// Removes the list with this number, if there is one.
    #[inline]
    pub fn clear(&mut self, number: u64) {
        let word = &mut self.bits[(number / 64 % WORDS) as usize];
        self.count -= *word >> (number % 64) & 1;
        *word &= !(1 << (number % 64));
    }

    /// Removes the first list of a word that has one.
    #[inline(always)]
    pub fn clear_first_of_word(&mut self, word: u64) {
        let bits = &mut self.bits[(word % WORDS) as usize];
        *bits &= *bits - 1;
        self.count -= 1;
    }

    /// First number, at or after `from`, that has a list. The search is cyclic. In the word of
    /// `from`, the bits below `from` represent the highest numbers, so they are searched last.
    pub fn next_occupied(&self, from: u64) -> Option<u64> {
        let bits = self.bits_of_word(from / 64) >> (from % 64);
        if bits != 0 {
            return Some(from + u64::from(bits.trailing_zeros()));
        }
        let word = self.next_filled_word(from / 64 + 1)?;
        Some(word * 64 + u64::from(self.bits_of_word(word).trailing_zeros()))
    }

    /// First word of the bitmap, at or after `from`, that has a bit set.
    #[inline]
    pub fn next_filled_word(&self, from: u64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        (from..from + WORDS).find(|word| self.bits_of_word(*word) != 0)
    }
}
