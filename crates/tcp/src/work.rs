//! Counts elements visited or moved, for the tests that hold the cost of an acknowledgment; nothing
//! elsewhere.

/// Counts elements that are visited or moved.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn steps(_: usize) {}

#[cfg(test)]
pub(crate) use count::{steps, take};

#[cfg(test)]
mod count {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// Counts elements that are visited or moved.
    pub fn steps(count: usize) {
        STEPS.with(|steps| steps.set(steps.get() + count as u64));
    }

    /// Takes the count since the last call.
    pub fn take() -> u64 {
        STEPS.with(|steps| steps.replace(0))
    }
}
