//! Count of visited or moved elements, by which tests check the cost of an acknowledgment. Outside
//! of these tests, nothing is counted.

/// Counts visited or moved elements.
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

    /// Counts visited or moved elements.
    pub fn steps(count: usize) {
        STEPS.with(|steps| steps.set(steps.get() + count as u64));
    }

    /// Returns the count since the last call, and resets it.
    pub fn take() -> u64 {
        STEPS.with(|steps| steps.replace(0))
    }
}
