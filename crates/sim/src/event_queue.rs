//! Event queue: a timing wheel (`wheel.rs`) whose slots are about as wide as the events are apart.
//!
//! Events are ordered by time, ties by insertion; the width of the slots affects only the speed. It
//! is derived from the events alone: a sixteenth to an eighth of the mean time between two,
//! measured over thousands of them, so that a slot rarely holds two events and the next one is
//! found in the same word of the bitmap; less if they come in clusters.
//!
//! An event is stored in a slot that belongs to its target, next to the time of the target's next
//! wake-up (`places.rs`): because a target rarely has two events, no memory has to be allocated for
//! an event, and no second access is needed.
//!
//! Removing and inserting an event takes 75 to 80 instructions with 3 to 300 pending, and 160 with
//! 10,000, which mostly wait in later turns; a binary heap takes 150 and 220, with unpredictable
//! branches.

mod far;
mod places;
mod ring;
mod wheel;

use retx_units::Time;
use wheel::Wheel;

/// Target of an event: an index below 2^24.
pub type Target = u32;

/// Number of targets that an event can address.
pub const MAX_TARGETS: u32 = 1 << TARGET_BITS;

const TARGET_BITS: u32 = 24;

/// Binary logarithm of the initial slot width in nanoseconds, used until some events have been
/// measured.
const FIRST_WIDTH: u32 = 14;

/// Number of events in the first period.
const FIRST_PERIOD: u64 = 64;

/// Number of events that suffices to measure their density.
const LONG_PERIOD: u64 = 4096;

/// Length of the longest period, as a multiple of the number of pending events. A new width moves
/// all pending events, so it must not be chosen more often.
const TIMES_PENDING: u64 = 8;

/// Pending events.
#[derive(Debug, Clone)]
pub struct EventQueue {
    wheel: Wheel,
    inserted: u64,
    /// Events removed before this period.
    taken: u64,
    /// Number of events that this period removes before the slot width is reconsidered.
    period: u64,
    /// Number of events of the period still to be removed.
    left: u64,
    began: Time,
    /// Binary logarithm of the additional factor by which slots are narrower than the mean time
    /// between events suggests.
    narrower: u32,
}

impl EventQueue {
    /// Creates an empty queue for `targets` targets.
    pub fn new(targets: u32) -> Self {
        debug_assert!(targets <= MAX_TARGETS);
        Self {
            wheel: Wheel::new(targets, FIRST_WIDTH),
            inserted: 0,
            taken: 0,
            period: FIRST_PERIOD,
            left: FIRST_PERIOD,
            began: Time::ZERO,
            narrower: 0,
        }
    }

    /// Number of pending events.
    pub const fn len(&self) -> usize {
        (self.inserted - self.taken - (self.period - self.left)) as usize
    }

    /// True if no event is pending.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of events ever inserted.
    pub const fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Next wake-up of `target`; a caller that changes it inserts an event at that time.
    #[inline(always)]
    pub fn wake_mut(&mut self, target: Target) -> &mut Time {
        self.wheel.places.wake_mut(target)
    }

    /// Next wake-up of `target`; [`Time::NEVER`] if there is none.
    pub fn wake_of(&self, target: Target) -> Time {
        self.wheel.places.wake_of(target)
    }

    /// Inserts an event: wake `target` at `time`.
    ///
    /// # Panics
    /// If 2^40 events have been inserted that lay beyond the wheel's range.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) {
        self.inserted += 1;
        self.wheel.push(time, target);
    }

    /// Removes and returns the first event, whether or not its target is to be woken then.
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        let event = self.wheel.pop()?;
        self.count_out(event.0);
        Some(event)
    }

    /// Removes events up to the first one at which its target is to be woken, clears that wake-up,
    /// and returns it.
    // Inlined into the engine's step: a call would return the event in memory.
    #[inline(always)]
    pub fn take_first(&mut self) -> Option<(Time, Target)> {
        if let Some(event) = self.wheel.pop_simple() {
            self.count_out(event.0);
            return Some(event);
        }
        match self.skip_superseded() {
            (Time::NEVER, _) => None,
            event => Some(event),
        }
    }

    // Two words, which are returned in registers: no event is due at `NEVER`.
    #[inline(never)]
    fn skip_superseded(&mut self) -> (Time, Target) {
        loop {
            let Some((time, target)) = self.pop() else { return (Time::NEVER, 0) };
            // Otherwise an earlier event has superseded it.
            if self.is_due(time, target) {
                return (time, target);
            }
        }
    }

    /// True if this target is to be woken at this time; clears the wake-up.
    #[inline(always)]
    fn is_due(&mut self, time: Time, target: Target) -> bool {
        let wake = self.wake_mut(target);
        let due = *wake == time;
        if due {
            *wake = Time::NEVER;
        }
        due
    }

    /// Counts an event that has been removed.
    #[inline(always)]
    fn count_out(&mut self, time: Time) {
        self.left -= 1;
        if self.left == 0 {
            self.end_period(time);
        }
    }

    /// Removes the first event, which is superseded.
    #[cold]
    #[inline(never)]
    pub fn drop_first(&mut self) {
        self.pop();
    }

    /// First event, without removing it.
    pub fn first(&self) -> Option<(Time, Target)> {
        self.wheel.first()
    }

    /// Chooses the slot width from the measurements of this period.
    #[cold]
    #[inline(never)]
    fn end_period(&mut self, now: Time) {
        let apart = now.as_nanos().saturating_sub(self.began.as_nanos()) / self.period;
        // At most an eighth of the mean distance, so that a slot rarely holds two events.
        let widest = apart.max(1).ilog2().saturating_sub(3);
        let load = self.wheel.take_load();
        self.narrower += load.narrowed;
        // Many insertions pass other events in their slot: events come in clusters, in which the
        // mean distance is too wide a measure.
        if load.passed > self.period / 2 {
            self.narrower += 1 + (2 * load.passed / self.period).ilog2() / 2;
        } else if load.passed < self.period / 64 {
            self.narrower = self.narrower.saturating_sub(1);
        }
        self.narrower = self.narrower.min(widest);
        // `len` counts this period by `left`, so its events move to `taken` only now.
        self.taken += self.period;
        let (width, wanted) = (self.wheel.width(), widest - self.narrower);
        if wanted < width || wanted > width + 1 {
            // Hysteresis against fluctuations of the mean: a width that is half of the wanted one
            // is kept.
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
