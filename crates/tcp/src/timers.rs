//! The timers of a connection, as one table of deadlines.

use crate::lazy::{Lazy, LazyDefault};
use retx_units::{Duration, Time};

/// Deadlines; [`Time::NEVER`] for a timer that is off.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Timers {
    /// Delayed acknowledgment (RFC 5681 §4.2).
    pub delayed_ack: Time,
    /// Retransmission (RFC 6298).
    pub retransmit: Time,
    /// Timers that most connections never start.
    pub rare: Lazy<Rare>,
}

/// Deadlines of rarely used timers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rare {
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    pub persist: Time,
    /// Timer of loss detection: the reordering timer of RACK (RFC 8985 §6.2).
    pub reordering: Time,
    /// Tail loss probe (RFC 8985 §7.2).
    pub tail_loss_probe: Time,
    /// True if an acknowledgment has set the deadline of the tail loss probe, not data sent since.
    pub probe_follows_ack: bool,
    /// Opening of the pacing gate.
    pub pacing: Time,
    /// Acknowledgment of several segments beyond a gap.
    pub compressed_ack: Time,
    /// End of TIME-WAIT (RFC 9293 §3.6.1).
    pub time_wait: Time,
    /// Keep-alive (RFC 9293 §3.8.4).
    pub keepalive: Time,
    /// Deadlines of the timer wheel that fast paths calculated last: of the retransmission timer
    /// and of the tail loss probe.
    pub known: [KnownDeadline; 2],
}

/// Deadline on the timer wheel. All waits that begin in the same tick and last the same number of
/// ticks, rounded up, end at the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownDeadline {
    /// Tick in which the wait begins.
    begins: Time,
    /// Longest wait that lasts one tick less.
    exceeds: Duration,
    expires: Time,
}

impl KnownDeadline {
    /// No known deadline.
    pub const NONE: Self =
        Self { begins: Time::NEVER, exceeds: Duration::MAX, expires: Time::NEVER };

    /// Records the expiry of a `wait` that begins now; `tick` is not zero.
    pub fn record(&mut self, now: Time, wait: Duration, tick: Duration, expires: Time) {
        let wait = Time::ZERO + wait;
        *self = match wait.align_up(tick).since(Time::ZERO).as_nanos().checked_sub(tick.as_nanos())
        {
            Some(exceeds) => Self {
                begins: now.align_down(tick),
                exceeds: Duration::from_nanos(exceeds),
                expires,
            },
            None => Self::NONE,
        };
    }

    /// Expiry of a `wait` that begins now, if it is the recorded one.
    #[inline(always)]
    pub fn find(&self, now: Time, wait: Duration, tick: Duration) -> Option<Time> {
        let same = now >= self.begins
            && now.since(self.begins) < tick
            && wait > self.exceeds
            && wait <= self.exceeds + tick;
        same.then_some(self.expires)
    }
}

impl Default for Rare {
    fn default() -> Self {
        *Self::DEFAULT
    }
}

impl LazyDefault for Rare {
    const DEFAULT: &'static Self = &Self {
        persist: Time::NEVER,
        reordering: Time::NEVER,
        tail_loss_probe: Time::NEVER,
        probe_follows_ack: false,
        pacing: Time::NEVER,
        compressed_ack: Time::NEVER,
        time_wait: Time::NEVER,
        keepalive: Time::NEVER,
        known: [KnownDeadline::NONE; 2],
    };
}

impl Rare {
    /// Switches the timers of loss detection off.
    pub fn stop_loss_detection(&mut self) {
        (self.reordering, self.tail_loss_probe) = (Time::NEVER, Time::NEVER);
    }

    fn next(&self) -> Time {
        let sender = self.persist.min(self.pacing);
        let loss_detection = self.reordering.min(self.tail_loss_probe);
        let others = self.compressed_ack.min(self.time_wait).min(self.keepalive);
        sender.min(loss_detection).min(others)
    }
}

impl Timers {
    pub const ALL_OFF: Self =
        Self { delayed_ack: Time::NEVER, retransmit: Time::NEVER, rare: Lazy::NONE };

    /// Earliest deadline.
    #[inline]
    pub fn next(&self) -> Time {
        self.rare.get().map_or(Time::NEVER, Rare::next).min(self.next_usual_deadline())
    }

    /// Earliest deadline of the timers that are usually active.
    #[inline]
    pub const fn next_usual_deadline(&self) -> Time {
        // `min` is not available in constant functions.
        if self.retransmit.as_nanos() < self.delayed_ack.as_nanos() {
            self.retransmit
        } else {
            self.delayed_ack
        }
    }

    /// True if only the timers run that most connections of Linux use: retransmission, delayed ACK,
    /// tail loss probe and pacing.
    pub fn has_only_usual_timers(&self) -> bool {
        self.rare.get().is_none_or(|rare| {
            let unusual = rare.persist.min(rare.reordering).min(rare.compressed_ack);
            unusual.min(rare.time_wait).min(rare.keepalive) == Time::NEVER
        })
    }

    /// Earliest deadline; valid if [`Self::has_only_usual_timers`].
    #[inline]
    pub fn next_deadline_detailed(&self) -> Time {
        let usual = self.next_usual_deadline();
        self.rare.get().map_or(usual, |rare| rare.tail_loss_probe.min(rare.pacing).min(usual))
    }

    /// Forgets the deadlines that fast paths calculated last.
    #[cfg(test)]
    pub fn forget_known(&mut self) {
        self.rare.allocated_mut().into_iter().for_each(|rare| rare.known = Rare::DEFAULT.known);
    }

    /// True if one of the rare timers is set.
    pub fn has_rare(&self) -> bool {
        self.rare.get().is_some_and(|rare| rare.next() != Time::NEVER)
    }

    /// Sets or clears a rare timer; clearing allocates nothing.
    #[inline]
    pub fn set(&mut self, which: impl Fn(&mut Rare) -> &mut Time, deadline: Time) {
        if let Some(rare) = self.rare.allocated_mut() {
            *which(rare) = deadline;
        } else if deadline != Time::NEVER {
            *which(&mut self.rare) = deadline;
        }
    }

    /// Switches a rare timer off if its deadline has passed; returns true in that case.
    pub fn expire_rare(&mut self, which: impl Fn(&mut Rare) -> &mut Time, now: Time) -> bool {
        self.rare.allocated_mut().is_some_and(|rare| Self::expire(which(rare), now))
    }

    /// True if the pacing timer is due, and no other timer.
    pub fn is_only_pacing_due(&self, now: Time) -> bool {
        self.rare.get().is_some_and(|rare| {
            let others = Rare { pacing: Time::NEVER, ..*rare };
            rare.pacing <= now && others.next().min(self.next_usual_deadline()) > now
        })
    }

    /// Switches the pacing timer off if it is the only timer due; returns true in that case.
    pub fn expire_pacing_alone(&mut self, now: Time) -> bool {
        let is_alone = self.is_only_pacing_due(now);
        if is_alone {
            self.rare.pacing = Time::NEVER;
        }
        is_alone
    }

    /// Clears the deadline if it has passed; returns true in that case.
    pub fn expire(deadline: &mut Time, now: Time) -> bool {
        let due = *deadline <= now;
        if due {
            *deadline = Time::NEVER;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::Duration;

    #[test]
    fn the_pacing_timer_expires_alone() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let expires = |pacing, retransmit, now| {
            let mut timers = Timers { retransmit, ..Timers::ALL_OFF };
            timers.set(|rare| &mut rare.pacing, pacing);
            (timers.expire_pacing_alone(now), timers.rare.pacing)
        };
        assert_eq!(expires(at(5), at(6), at(4)), (false, at(5)));
        assert_eq!(expires(at(5), at(6), at(5)), (true, Time::NEVER));
        assert_eq!(expires(at(5), at(6), at(6)), (false, at(5)), "with the retransmission timer");
        assert_eq!(expires(Time::NEVER, at(6), at(6)), (false, Time::NEVER));
    }

    /// Retransmission, delayed ACK, tail loss probe and pacing are the timers that most connections
    /// of Linux use.
    #[test]
    fn usual_and_rare_timers() {
        let due = Time::ZERO + Duration::from_secs(1);
        let seen = |which: fn(&mut Rare) -> &mut Time| {
            let mut timers = Timers::ALL_OFF;
            assert!(timers.has_only_usual_timers() && !timers.has_rare());
            timers.set(which, due);
            assert!(timers.has_rare());
            assert_eq!(timers.next(), due);
            let usual = timers.has_only_usual_timers();
            assert_eq!(timers.next_deadline_detailed(), if usual { due } else { Time::NEVER });
            timers.set(which, Time::NEVER);
            assert!(timers.has_only_usual_timers() && !timers.has_rare());
            usual
        };
        assert!(seen(|rare| &mut rare.tail_loss_probe));
        assert!(seen(|rare| &mut rare.pacing));
        assert!(!seen(|rare| &mut rare.persist));
        assert!(!seen(|rare| &mut rare.reordering));
        assert!(!seen(|rare| &mut rare.compressed_ack));
        assert!(!seen(|rare| &mut rare.time_wait));
        assert!(!seen(|rare| &mut rare.keepalive));
    }
}
