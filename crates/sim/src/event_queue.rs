//! Event queue: a timing wheel (`wheel.rs`) whose slot width adapts to the density of events.
//!
//! Events are ordered by time, ties by their targets, so that their order does not depend on when
//! they are inserted. The slot width affects only the speed. It is a sixteenth to an eighth of the
//! mean time between two events, measured over thousands of events. A slot then rarely holds two
//! events, and the next event is usually in the same word of the bitmap. If events come in
//! clusters, the slots are narrower.
//!
//! Each target has a node in memory for one event, in the same cache line as the time of the
//! target's next wake-up (`nodes.rs`). A target rarely has two events, so an insertion rarely
//! allocates memory.
//!
//! Inserting and removing an event takes 75 to 80 instructions with 3 to 300 pending events. With
//! 10,000, most of which wait in later turns, it takes 160. A binary heap takes 150 and 220, and
//! its branches are hard to predict.

mod far;
mod nodes;
mod ring;
mod wheel;

use nodes::Removed;
use retx_units::Time;
use wheel::Wheel;

/// Target of an event: an index below 2^24.
pub type Target = u32;

/// Number of targets that an event can address.
pub const MAX_TARGETS: u32 = 1 << 24;

/// Binary logarithm of the initial slot width in nanoseconds, used until the first period ends.
const FIRST_WIDTH: u32 = 14;

/// Number of events removed in the first period; at the end of each period the width is adapted.
const FIRST_PERIOD: u64 = 64;

/// Number of events per period that suffices to measure the density of events.
const LONG_PERIOD: u64 = 4096;

/// Maximum length of a period, as a multiple of the number of pending events. A change of the width
/// moves all pending events, so it should be rare if there are many.
const TIMES_PENDING: u64 = 8;

/// Pending events.
#[derive(Debug, Clone)]
pub struct EventQueue {
    wheel: Wheel,
    /// Time before which there is no event.
    lower_bound: Time,
    events_inserted: u64,
    /// Number of events removed before this period.
    taken: u64,
    /// Number of events that this period removes before the slot width is reconsidered.
    period: u64,
    /// Number of events of the period still to be removed.
    left: u64,
    began: Time,
    /// Binary logarithm of the factor by which slots are narrowed further because events come in
    /// clusters.
    narrower: u32,
}

impl EventQueue {
    /// Creates an empty queue for `targets` targets. At equal times, `first` and the targets after
    /// it precede the targets before it.
    pub fn new(targets: u32, first: Target) -> Self {
        debug_assert!(targets <= MAX_TARGETS);
        Self {
            wheel: Wheel::new((targets, first), FIRST_WIDTH),
            lower_bound: Time::ZERO,
            events_inserted: 0,
            taken: 0,
            period: FIRST_PERIOD,
            left: FIRST_PERIOD,
            began: Time::ZERO,
            narrower: 0,
        }
    }

    /// Number of pending events.
    pub const fn len(&self) -> usize {
        (self.events_inserted - self.taken - (self.period - self.left)) as usize
    }

    /// True if no event is pending.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of events ever inserted.
    pub const fn events_inserted(&self) -> u64 {
        self.events_inserted
    }

    /// Makes sure that `target` is woken at `time` or earlier.
    #[inline(always)]
    pub fn wake(&mut self, target: Target, time: Time) {
        if self.wheel.nodes.advance_wake(target, time) {
            self.push(time, target);
        }
    }

    /// Next wake-up of `target`; [`Time::NEVER`] if there is none.
    pub fn wake_time(&self, target: Target) -> Time {
        self.wheel.nodes.wake_time(target)
    }

    /// Inserts an event that wakes `target` at `time`.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) {
        self.events_inserted += 1;
        // A removed event leaves the bound as it is: it is raised only when that matters.
        if time < self.lower_bound {
            self.lower_bound = time;
        }
        self.wheel.push(time, target);
    }

    /// Removes and returns the first event, even if it has been superseded.
    pub fn pop(&mut self) -> Option<(Time, Target)> {
        self.pop_and_look().map(|(event, _)| event)
    }

    /// Removes and returns the first event; true if the next one is at the same time.
    #[inline]
    fn pop_and_look(&mut self) -> Option<((Time, Target), bool)> {
        let popped = self.wheel.pop()?;
        self.count_out(popped.0.0);
        Some(popped)
    }

    /// Removes and returns the first event, and clears the wake-up of its target, in the usual
    /// case: it is alone in its slot and was not superseded. Otherwise returns `None`; then
    /// [`Self::take_first`] must be called.
    ///
    /// Inlined into the engine's step, because a function call would return the event in memory.
    #[inline(always)]
    pub fn take_only(&mut self) -> Option<(Time, Target)> {
        self.take_only_before(Time::NEVER)
    }

    /// Like [`Self::take_only`], if the event is before `limit`.
    #[inline(always)]
    pub fn take_only_before(&mut self, limit: Time) -> Option<(Time, Target)> {
        let event = self.wheel.pop_simple(limit)?;
        self.count_out(event.0);
        Some(event)
    }

    /// Removes events up to the first one that has not been superseded; clears the wake-up of its
    /// target, and returns the event. `stands_for` returns the other target by which a target is
    /// ordered among events at the same time; such a target must precede all that it may stand for.
    pub fn take_first(
        &mut self,
        stands_for: impl Fn(Target) -> Option<Target>,
    ) -> Option<(Time, Target)> {
        loop {
            let ((time, target), is_tied) = self.pop_and_look()?;
            // An event that is not due was superseded by an earlier one.
            if self.is_due(time, target) {
                let first =
                    if is_tied { self.first_of_ties(time, target, stands_for) } else { target };
                return Some((time, first));
            }
        }
    }

    /// Returns the first target of the events at `time`, of which that of `target` has just been
    /// removed; the others remain in the queue.
    #[inline(never)]
    fn first_of_ties(
        &mut self,
        time: Time,
        target: Target,
        stands_for: impl Fn(Target) -> Option<Target>,
    ) -> Target {
        let rank = |queue: &Self, target: Target| {
            queue.wheel.nodes.rank(stands_for(target).unwrap_or(target))
        };
        let precedes = |queue: &Self, next: Target| {
            stands_for(next).is_none() && rank(queue, target) < rank(queue, next)
        };
        // The usual cases need no list. Events after one that stands for itself follow it.
        if stands_for(target).is_none() || self.first().is_none_or(|(_, next)| precedes(self, next))
        {
            return target;
        }
        let mut tied = vec![target];
        // Once a target stands for itself, the ones after it do, too, and follow it.
        while tied.last().is_some_and(|last| stands_for(*last).is_some())
            && let Some((next, other)) = self.first()
            && next == time
        {
            self.pop();
            if self.is_due(time, other) {
                tied.push(other);
            }
        }
        // The iterator yields the first of several minima, that of the lane that was filled first.
        let first = tied.iter().copied().min_by_key(|target| rank(self, *target));
        let first = first.unwrap_or(target);
        // The last one is inserted first, so that each precedes all events that are in the queue.
        for other in tied.into_iter().rev().filter(|other| *other != first) {
            self.wake(other, time);
        }
        first
    }

    /// Handles the removal of an event; true if its target is to be woken now.
    #[inline(always)]
    fn is_due(&mut self, time: Time, target: Target) -> bool {
        match self.wheel.nodes.take_wake(target, time) {
            Removed::Due => return true,
            Removed::Superseded => {}
            Removed::Precedes(wake) => self.push(wake, target),
        }
        false
    }

    /// Counts an event that has been removed.
    #[inline(always)]
    fn count_out(&mut self, time: Time) {
        self.left -= 1;
        if self.left == 0 {
            self.end_period(time);
        }
    }

    /// Removes the first event, which the caller knows to be superseded.
    #[cold]
    #[inline(never)]
    pub fn remove_first(&mut self) {
        if let Some((time, target)) = self.pop() {
            self.is_due(time, target);
        }
    }

    /// First event, without removing it.
    pub fn first(&self) -> Option<(Time, Target)> {
        self.wheel.first()
    }

    /// Time before which there is no event, known without a search.
    #[inline(always)]
    pub const fn lower_bound(&self) -> Time {
        self.lower_bound
    }

    /// Searches for a later [`Self::lower_bound`], and returns it.
    #[inline(never)]
    pub fn raise_lower_bound(&mut self) -> Time {
        self.lower_bound = self.wheel.earliest();
        self.lower_bound
    }

    /// Time before which there is no event; see [`Wheel::earliest`].
    pub fn earliest(&self) -> Time {
        self.wheel.earliest()
    }

    /// Targets of the events that follow soon, in order; see [`Wheel::upcoming`].
    #[inline(always)]
    pub fn upcoming(&self) -> impl Iterator<Item = Target> {
        self.wheel.upcoming()
    }

    /// Prefetches the place of a target's next event.
    #[inline(always)]
    pub fn prefetch(&self, target: Target) {
        self.wheel.nodes.prefetch(target);
    }

    /// Chooses the slot width from the measurements of this period.
    #[cold]
    #[inline(never)]
    fn end_period(&mut self, now: Time) {
        let apart = now.as_nanos().saturating_sub(self.began.as_nanos()) / self.period;
        // At most an eighth of the mean time between events, so a slot rarely holds two.
        let widest = apart.max(1).ilog2().saturating_sub(3);
        let load = self.wheel.take_crowding();
        self.narrower += load.narrowing_log2;
        // If insertions pass many other events within their slot, events come in clusters, and
        // slots derived from the mean time between events are too wide.
        if load.events_passed > self.period / 2 {
            self.narrower += 1 + (2 * load.events_passed / self.period).ilog2() / 2;
        } else if load.events_passed < self.period / 64 {
            self.narrower = self.narrower.saturating_sub(1);
        }
        self.narrower = self.narrower.min(widest);
        // During the period, `len` derives the events removed in it from `left`. They are added to
        // `taken` only now.
        self.taken += self.period;
        let (width, wanted) = (self.wheel.width_log2(), widest - self.narrower);
        if wanted < width || wanted > width + 1 {
            // The width is kept if it is the wanted one or half of it; this hysteresis avoids
            // changes due to fluctuations of the mean.
            self.wheel.set_width_log2(wanted, now);
        }
        let longest = LONG_PERIOD.max(TIMES_PENDING * (self.events_inserted - self.taken));
        self.period = (2 * self.period).min(longest);
        self.left = self.period;
        self.began = now;
    }
}

#[cfg(test)]
mod tests;
