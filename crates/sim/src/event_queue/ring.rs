//! Lists in a row that goes round: number n lies at place n modulo [`PLACES`], and a bit tells
//! whether a place holds one.

use super::lists::Node;

/// Lists that a ring has room for: their numbers differ by less.
pub(super) const PLACES: u64 = 64 * WORDS;

const WORDS: u64 = 64;

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

    /// Writes a list to this number, where there is none.
    #[inline]
    pub fn put(&mut self, number: u64, list: Node) {
        self.lists[(number % PLACES) as usize] = list;
        self.bits[(number / 64 % WORDS) as usize] |= 1 << (number % 64);
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

    /// The first number from this one on that has a list.
    #[inline]
    pub fn first(&self, from: u64) -> Option<u64> {
        let bits = self.bits[(from / 64 % WORDS) as usize] >> (from % 64);
        if bits != 0 {
            return Some(from + u64::from(bits.trailing_zeros()));
        }
        self.first_further_on(from / 64)
    }

    /// The first number behind this word; what else has its bit in this word lies furthest ahead.
    fn first_further_on(&self, word: u64) -> Option<u64> {
        (word + 1..=word + WORDS).find_map(|word| {
            let bits = self.bits[(word % WORDS) as usize];
            (bits != 0).then(|| word * 64 + u64::from(bits.trailing_zeros()))
        })
    }
}
