//! Which event is next? A wheel of slots of time (`wheel.rs`), as wide as the events are apart.
//!
//! Events are ordered by time, and at the same time by the order in which they were put in; the
//! width of the slots is only for speed. It follows from the events alone: an eighth to a quarter
//! of the mean time between two, as measured over thousands of them, so that a slot has hardly ever
//! two and the next is found in the same word of bits; less if they come in clusters.
//!
//! Taking one out and putting one in takes 90 instructions with 30 pending and 110 with 10,000,
//! where a binary heap takes 150 and 220, and follows branches that nobody can foresee. Up to eight
//! are kept in a row (`few.rs`), which takes 30 with three pending, where a heap takes 50.

mod far;
mod few;
mod lists;
mod ring;
mod wheel;

use few::Few;
use retx_units::Time;
use wheel::Wheel;

/// Who an event wakes: an index below 2^24.
pub type Target = u32;

/// Targets that an event has room for.
pub const MAX_TARGETS: u32 = 1 << TARGET_BITS;

const TARGET_BITS: u32 = 24;

/// The binary logarithm of the slots' first width in nanoseconds, until some events have told.
const FIRST_WIDTH: u32 = 14;

/// Events of the first period.
const FIRST_PERIOD: u64 = 64;

/// Events of a period after which no longer one is needed to tell how dense they are; and how often
/// a period has to take out as many as are pending, as all must be put into slots of a new width.
const LONG_PERIOD: u64 = 4096;
const TIMES_PENDING: u64 = 8;

/// When no more than these are pending at the end of a period, there are few.
const FEW: u64 = 4;

/// Events to come.
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// All events, unless they are many.
    few: Few,
    /// All events are in the wheel.
    many: bool,
    wheel: Wheel,
    inserted: u64,
    /// Events taken out before this period.
    taken: u64,
    /// Events that this period takes out; after it, the slots' width is looked at.
    period: u64,
    /// Those of them that are still to come.
    left: u64,
    began: Time,
    /// How much narrower slots are than the mean time between events asks for: binary logarithm.
    narrower: u32,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            few: Few::default(),
            many: false,
            wheel: Wheel::new(FIRST_WIDTH),
            inserted: 0,
            taken: 0,
            period: FIRST_PERIOD,
            left: FIRST_PERIOD,
            began: Time::ZERO,
            narrower: 0,
        }
    }
}

impl EventQueue {
    /// Events waiting.
    pub const fn len(&self) -> usize {
        (self.inserted - self.taken - (self.period - self.left)) as usize
    }

    /// True when none is waiting.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Events ever put in.
    pub const fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Puts in an event: `target` is to be woken at `time`.
    ///
    /// # Panics
    /// When 2^40 events have lain so far ahead, at the time, that they were not in the wheel.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) {
        debug_assert!(target < MAX_TARGETS);
        self.inserted += 1;
        if self.many {
            self.wheel.push(time, target);
        } else if !self.few.push(time, target) {
            self.become_many(time, target);
        }
    }

    #[cold]
    #[inline(never)]
    fn become_many(&mut self, time: Time, target: Target) {
        self.many = true;
        while let Some((time, target)) = self.few.pop() {
            self.wheel.push(time, target);
        }
        self.wheel.push(time, target);
    }

    fn become_few(&mut self) {
        self.many = false;
        while let Some((time, target)) = self.wheel.pop() {
            self.few.push(time, target);
        }
    }

    /// Takes out the first event.
    // The engine's step is to hold it: a call would hand the event over in memory.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        let event = if self.many { self.wheel.pop()? } else { self.few.pop()? };
        self.left -= 1;
        if self.left == 0 {
            self.end_period(event.0);
        }
        Some(event)
    }

    /// Takes out the first event, which counts no more.
    #[cold]
    #[inline(never)]
    pub fn drop_first(&mut self) {
        self.pop();
    }

    /// The first event, which stays.
    pub fn first(&self) -> Option<(Time, Target)> {
        if self.many { self.wheel.first() } else { self.few.first() }
    }

    /// Chooses how wide slots are to be, from what this period has told.
    #[cold]
    #[inline(never)]
    fn end_period(&mut self, now: Time) {
        let apart = now.as_nanos().saturating_sub(self.began.as_nanos()) / self.period;
        let widest = apart.max(1).ilog2().saturating_sub(2);
        let load = self.wheel.take_load();
        self.narrower += load.narrowed;
        if load.passed > self.period / 2 {
            self.narrower += 1 + (2 * load.passed / self.period).ilog2() / 2;
        } else if load.passed < self.period / 64 {
            self.narrower = self.narrower.saturating_sub(1);
        }
        self.narrower = self.narrower.min(widest);
        self.taken += self.period;
        let (width, wanted) = (self.wheel.width(), widest - self.narrower);
        if self.many && self.inserted - self.taken <= FEW {
            self.become_few();
            // The wheel has turned to the last of them.
            self.wheel.set_width(wanted, now);
        } else if wanted < width || wanted > width + 1 {
            // As the mean varies, a width that is half as much as wanted may stay.
            self.wheel.set_width(wanted, now);
        }
        let longest = LONG_PERIOD.max(TIMES_PENDING * (self.inserted - self.taken));
        self.period = (2 * self.period).min(longest);
        self.left = self.period;
        self.began = now;
    }
}

#[cfg(test)]
mod tests;
