//! Which event is next? A wheel of slots of time (`wheel.rs`), as wide as the events are apart.
//!
//! Events are ordered by time, and at the same time by the order in which they were put in; the
//! width of the slots is only for speed. It follows from the events alone: a sixteenth to an eighth
//! of the mean time between two, as measured over thousands of them, so that a slot has hardly ever
//! two and the next is found in the same word of bits; less if they come in clusters.
//!
//! An event lies in a place that belongs to its target, beside the time at which that is to be
//! woken first (`places.rs`): as a target hardly ever has two, neither room has to be found for an
//! event nor another look be taken.
//!
//! Taking one out and putting one in takes 75 to 80 instructions with 3 to 300 pending and 160 with
//! 10,000, which mostly wait in turns; a binary heap takes 150 and 220, and follows branches that
//! nobody can foresee.

mod far;
mod places;
mod ring;
mod wheel;

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

/// Events to come.
#[derive(Debug, Clone)]
pub struct EventQueue {
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

impl EventQueue {
    /// Nothing to come for so many targets.
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

    /// When `target` will be woken first; whoever changes it puts an event there.
    #[inline(always)]
    pub fn wake_mut(&mut self, target: Target) -> &mut Time {
        self.wheel.places.wake_mut(target)
    }

    /// When `target` will be woken first; [`Time::NEVER`] for not at all.
    pub fn wake_of(&self, target: Target) -> Time {
        self.wheel.places.wake_of(target)
    }

    /// Puts in an event: `target` is to be woken at `time`.
    ///
    /// # Panics
    /// When 2^40 events have lain so far ahead, at the time, that they were not in the wheel.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) {
        self.inserted += 1;
        self.wheel.push(time, target);
    }

    /// Takes out the first event, whether or not its target is to be woken then.
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        let event = self.wheel.pop()?;
        self.count_out(event.0);
        Some(event)
    }

    /// Takes out events up to the first by which its target is to be woken, which it is to be no
    /// more; returns that.
    // The engine's step is to hold it: a call would hand the event over in memory.
    #[inline(always)]
    pub fn take_first(&mut self) -> Option<(Time, Target)> {
        if let Some(event) = self.wheel.pop_simple() {
            self.count_out(event.0);
            return Some(event);
        }
        match self.take_first_otherwise() {
            (Time::NEVER, _) => None,
            event => Some(event),
        }
    }

    // Two words, which pass in registers: no event is due at `NEVER`.
    #[inline(never)]
    fn take_first_otherwise(&mut self) -> (Time, Target) {
        loop {
            let Some((time, target)) = self.pop() else { return (Time::NEVER, 0) };
            // Else an earlier event has come instead of this one.
            if self.is_due(time, target) {
                return (time, target);
            }
        }
    }

    /// True when this target was to be woken at this time; now it is no more.
    #[inline(always)]
    fn is_due(&mut self, time: Time, target: Target) -> bool {
        let wake = self.wake_mut(target);
        let due = *wake == time;
        if due {
            *wake = Time::NEVER;
        }
        due
    }

    /// An event has been taken out.
    #[inline(always)]
    fn count_out(&mut self, time: Time) {
        self.left -= 1;
        if self.left == 0 {
            self.end_period(time);
        }
    }

    /// Takes out the first event, which counts no more.
    #[cold]
    #[inline(never)]
    pub fn drop_first(&mut self) {
        self.pop();
    }

    /// The first event, which stays.
    pub fn first(&self) -> Option<(Time, Target)> {
        self.wheel.first()
    }

    /// Chooses how wide slots are to be, from what this period has told.
    #[cold]
    #[inline(never)]
    fn end_period(&mut self, now: Time) {
        let apart = now.as_nanos().saturating_sub(self.began.as_nanos()) / self.period;
        let widest = apart.max(1).ilog2().saturating_sub(3);
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
        if wanted < width || wanted > width + 1 {
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
