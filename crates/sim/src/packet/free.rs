//! Numbers that are free, given out as they lie: what is sent one after the other then lies side by
//! side, and as most packets arrive in the order in which they were sent, so does what arrives.
//! Given out as they come back, they are mixed up before long; of more packets than a cache holds
//! each then waits for its line, and for its page.

/// Of so many numbers one has to be free when a round begins: else those that are lie far apart.
const FREE_OF: usize = 4;

/// Free numbers, 64 to a word.
#[derive(Debug, Clone, Default)]
pub(super) struct Free {
    words: Vec<u64>,
    /// The word from which numbers are given out, …
    word: usize,
    /// … and those of it that are left. What comes back to it meanwhile waits for the next round.
    left: u64,
}

impl Free {
    /// Before the next number is given out, [`Self::go_on`] has to be called.
    #[inline(always)]
    pub const fn has_to_go_on(&self) -> bool {
        self.left == 0
    }

    /// The next number.
    #[inline(always)]
    pub const fn take(&mut self) -> u32 {
        debug_assert!(!self.has_to_go_on(), "it has one");
        let bit = self.left.trailing_zeros();
        self.left &= self.left - 1;
        self.word as u32 * 64 + bit
    }

    /// On to the next word that has some. There may be more numbers then than before.
    pub fn go_on(&mut self) {
        while self.left == 0 {
            self.word += 1;
            if self.word >= self.words.len() {
                self.begin_round();
            }
            self.left = std::mem::take(&mut self.words[self.word]);
        }
    }

    /// From the first number on, or with more numbers.
    #[cold]
    fn begin_round(&mut self) {
        self.word = 0;
        if self.count() <= self.all() / FREE_OF {
            self.word = self.words.len();
            assert!(self.all() < 1 << 31, "fewer than 2^31 packets on their way");
            self.words.resize(self.word + self.word / 2 + 1, u64::MAX);
        }
    }

    /// A number is free again.
    #[inline(always)]
    pub fn give_back(&mut self, number: u32) {
        self.words[number as usize / 64] |= 1 << (number % 64);
    }

    /// How many there are, free or not.
    pub const fn all(&self) -> usize {
        64 * self.words.len()
    }

    /// How many are free.
    pub fn count(&self) -> usize {
        let words = self.words.iter().chain([&self.left]);
        words.map(|word| word.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn next(free: &mut Free) -> u32 {
        if free.has_to_go_on() {
            free.go_on();
        }
        free.take()
    }

    proptest! {
        /// Nobody gets what somebody has.
        #[test]
        fn nothing_is_given_twice(steps in prop::collection::vec(any::<u16>(), 0..2000)) {
            let mut free = Free::default();
            let mut given: Vec<u32> = Vec::new();
            for step in steps {
                if step % 3 == 0 && !given.is_empty() {
                    free.give_back(given.swap_remove(step as usize % given.len()));
                } else {
                    let number = next(&mut free);
                    prop_assert!(!given.contains(&number) && (number as usize) < free.all());
                    given.push(number);
                }
                prop_assert_eq!(free.count(), free.all() - given.len());
            }
        }
    }

    #[test]
    fn what_is_taken_lies_side_by_side() {
        let mut free = Free::default();
        let first: Vec<u32> = (0..100).map(|_| next(&mut free)).collect();
        first.iter().rev().for_each(|number| free.give_back(*number));
        assert!((100..free.all() as u32).all(|number| next(&mut free) == number));
        assert!((0..100).all(|number| next(&mut free) == number));
    }
}
