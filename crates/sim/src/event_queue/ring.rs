//! Lists in a row that goes round: number n lies at place n modulo [`PLACES`], and a bit tells
//! whether a place holds one. 64 numbers in a row are a word.

use super::places::Node;

/// Lists that a ring has room for: their numbers differ by less.
pub(super) const PLACES: u64 = 64 * WORDS;

/// Words that a ring has.
pub(super) const WORDS: u64 = 256;

/// Lists by number.
#[derive(Debug, Clone)]
pub(super) struct Ring {
    bits: [u64; WORDS as usize],
    /// The list of each place that has one.
    lists: Box<[Node; PLACES as usize]>,
}

impl Default for Ring {
    fn default() -> Self {
        let lists = vec![0; PLACES as usize].try_into().expect("as many");
        Self { bits: [0; WORDS as usize], lists }
    }
}

impl Ring {
    /// The list of this number.
    #[inline]
    pub fn at(&self, number: u64) -> Option<Node> {
        let bit = self.bits[(number / 64 % WORDS) as usize] >> (number % 64) & 1;
        (bit != 0).then(|| self.at_some(number))
    }

    /// The list of this number, which is there.
    #[inline]
    pub fn at_some(&self, number: u64) -> Node {
        self.lists[(number % PLACES) as usize]
    }

    /// The numbers of this word that have lists, as bits.
    #[inline]
    pub fn word(&self, word: u64) -> u64 {
        self.bits[(word % WORDS) as usize]
    }

    /// Writes a list to this number, where there is none.
    #[inline]
    pub fn put(&mut self, number: u64, list: Node) {
        self.lists[(number % PLACES) as usize] = list;
        self.bits[(number / 64 % WORDS) as usize] |= 1 << (number % 64);
    }

    /// Writes a list to this number, unless there is one.
    #[inline(always)]
    pub fn put_if_free(&mut self, number: u64, list: Node) -> Result<(), Node> {
        let word = &mut self.bits[(number / 64 % WORDS) as usize];
        let place = &mut self.lists[(number % PLACES) as usize];
        let with = *word | 1 << (number % 64);
        if *word == with {
            return Err(*place);
        }
        *word = with;
        *place = list;
        Ok(())
    }

    /// Writes a list to this number in place of that which is there.
    #[inline]
    pub fn replace(&mut self, number: u64, list: Node) {
        self.lists[(number % PLACES) as usize] = list;
    }

    /// Leaves no list at this number.
    #[inline]
    pub fn clear(&mut self, number: u64) {
        self.bits[(number / 64 % WORDS) as usize] &= !(1 << (number % 64));
    }

    /// Leaves lists at these numbers of a word alone.
    #[inline]
    pub fn set_word(&mut self, word: u64, bits: u64) {
        self.bits[(word % WORDS) as usize] = bits;
    }

    /// The first number from this one on that has a list. What has its bit before this number in
    /// the same word lies furthest ahead.
    pub fn first(&self, from: u64) -> Option<u64> {
        let bits = self.word(from / 64) >> (from % 64);
        if bits != 0 {
            return Some(from + u64::from(bits.trailing_zeros()));
        }
        let word = self.first_word(from / 64 + 1)?;
        Some(word * 64 + u64::from(self.word(word).trailing_zeros()))
    }

    /// The first word from this one on that has a list.
    #[inline]
    pub fn first_word(&self, from: u64) -> Option<u64> {
        (from..from + WORDS).find(|word| self.word(*word) != 0)
    }
}
