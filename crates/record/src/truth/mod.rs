//! Verdicts on a flow's retransmissions and recovery episodes, derived from the true fate of each
//! copy of a segment.
//!
//! *What it does.* A retransmission is unnecessary when an earlier copy of each of its bytes
//! reached, or still reaches, the receiver. An episode's cause is the fate of the newest copy, sent
//! before it, of the segment that it retransmits first: *congestion* if it was dropped by a queue,
//! *wireless* if it was lost by the medium, *spurious* if it was delivered or is still in flight.
//! If a tail loss probe found the loss by repairing it, the probe counts as the retransmission of
//! the episode, and the copy before the probe decides.
//!
//! Nothing is stored as long as nothing is lost or retransmitted. Only exceptions are stored:
//! dropped copies, retransmitted copies, and verdicts that depend on a copy still in flight. Such a
//! verdict assumes that the copy arrives; if it is dropped, a [`Correction`] follows. A byte has
//! one original and some retransmissions, and hence is in flight or has arrived unless all of these
//! are among the drops.
//!
//! Positions are those of the stream: SYN 0, first byte of data 1, FIN after the last.

mod exceptions;

use crate::reason::{Belief, Cause, EpisodeKind, SubCause};
use exceptions::Exceptions;

/// A copy of a range of the stream, sent in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentCopy {
    /// Number of the copy, increasing with every segment that the flow's sender sends.
    pub number: u64,
    /// Position of its first byte.
    pub from: u64,
    /// Position after its last byte.
    pub to: u64,
}

impl SegmentCopy {
    const fn overlaps(&self, from: u64, to: u64) -> bool {
        self.from < to && from < self.to
    }
}

/// Copy of bytes that had been sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// The copy.
    pub copy: SegmentCopy,
    /// Position after the last byte sent before.
    pub sent_to: u64,
    /// Episode that it belongs to.
    pub episode: Row,
    /// True if it counts in the statistics.
    pub counted: bool,
}

/// First segment that an episode retransmits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger {
    /// Start of the segment.
    pub position: u64,
    /// True if the newest copy of the segment is already the repair of the loss: a tail loss probe,
    /// or a retransmission of the previous recovery.
    pub repaired: bool,
}

/// Bytes that have reached the other end.
pub trait Arrived {
    /// First range within `from … to` that has not arrived; `None` if all has.
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)>;
}

/// Row of a retransmission or an episode in the `episodes` table, if recorded.
pub type Row = Option<u32>;

/// Changed verdict, because a copy that it depended on was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// A retransmission was necessary.
    Necessary {
        /// Number of the copy.
        number: u64,
        /// Episode that it belongs to.
        episode: Row,
        /// True if it counts in the statistics.
        counted: bool,
    },
    /// An episode was not spurious.
    Cause {
        /// Row of the episode.
        episode: Row,
        /// Number of the episode: the value of [`Truth::episodes`] right after its start.
        number: u64,
        /// Belief of the sender.
        belief: Belief,
        /// True cause.
        cause: Cause,
        /// True if it counts in the statistics.
        counted: bool,
    },
}

/// Retransmission that an earlier copy, still in flight, may prove unnecessary.
#[derive(Debug, Clone)]
struct Open {
    copy: SegmentCopy,
    /// Ranges that no earlier copy has delivered yet.
    missing: Vec<(u64, u64)>,
    episode: Row,
    counted: bool,
}

/// Episode that was spurious, unless this copy is dropped.
#[derive(Debug, Clone)]
struct Watched {
    /// Number of the retransmission; `None` for the original.
    number: Option<u64>,
    trigger: u64,
    belief: Belief,
    episode: Row,
    /// Number of the episode.
    which: u64,
    counted: bool,
}

/// Losses and retransmissions of one flow.
#[derive(Debug, Clone, Default)]
pub struct Truth {
    exceptions: Exceptions,
    open: Vec<Open>,
    watched: Vec<Watched>,
    /// Copies that the receiver discarded, while the network has other copies of the same packet.
    thrown_away: Vec<SegmentCopy>,
    /// Highest acknowledgment that was dropped.
    ack_dropped: u64,
    episodes: u64,
}

impl Truth {
    /// Records a copy of bytes sent before, up to `sent_to`. Returns true if, as far as is known,
    /// it was unnecessary.
    pub fn retransmitted(&mut self, again: Retransmission, arrived: &impl Arrived) -> bool {
        let Retransmission { copy, sent_to, episode, counted } = again;
        let old = SegmentCopy { to: copy.to.min(sent_to), ..copy };
        let necessary =
            // Contains new bytes: the segment had to be sent.
            copy.to > sent_to || self.exceptions.all_dropped(&old, copy.number);
        if !necessary {
            let missing = missing(arrived, copy.from, copy.to);
            if !missing.is_empty() {
                self.open.push(Open { copy, missing, episode, counted });
            }
        }
        self.exceptions.retransmitted(old);
        !necessary
    }

    /// Records that a copy was dropped. Episodes whose verdict assumed its arrival get the cause
    /// `cause`. Changed verdicts are appended to `corrections`.
    pub fn dropped(&mut self, copy: SegmentCopy, cause: Cause, corrections: &mut Vec<Correction>) {
        self.exceptions.dropped(copy, Some(cause));
        self.reopen(&copy, corrections);
        let exceptions = &self.exceptions;
        self.watched.retain(|watched| {
            let hit = watched.is(&copy, exceptions);
            if hit {
                corrections.push(Correction::Cause {
                    episode: watched.episode,
                    number: watched.which,
                    belief: watched.belief,
                    cause,
                    counted: watched.counted,
                });
            }
            !hit
        });
    }

    /// Records a copy that the receiver discarded, for lack of room or for its old timestamp: not a
    /// loss on the path, but its bytes have to be sent again.
    pub fn refused(&mut self, copy: SegmentCopy, corrections: &mut Vec<Correction>) {
        self.thrown_away.retain(|other| other.number != copy.number);
        self.exceptions.dropped(copy, None);
        self.reopen(&copy, corrections);
        let exceptions = &self.exceptions;
        self.watched.retain(|watched| !watched.is(&copy, exceptions));
    }

    /// Records a discarded copy. The network has duplicated it, and the receiver may still accept a
    /// duplicate.
    pub fn refused_so_far(&mut self, copy: SegmentCopy) {
        if !self.has_refused(copy.number) {
            self.thrown_away.push(copy);
        }
    }

    /// True if the receiver has discarded all copies of a segment that have arrived so far, while
    /// others may still arrive.
    pub fn has_refused(&self, number: u64) -> bool {
        self.thrown_away.iter().any(|copy| copy.number == number)
    }

    /// Re-evaluates retransmissions that would have been unnecessary if `copy` had arrived.
    fn reopen(&mut self, copy: &SegmentCopy, corrections: &mut Vec<Correction>) {
        let exceptions = &self.exceptions;
        self.open.retain(|open| {
            let lost = copy.number < open.copy.number
                && open.missing.iter().any(|&(from, to)| {
                    let part = SegmentCopy {
                        number: copy.number,
                        from: from.max(copy.from),
                        to: to.min(copy.to),
                    };
                    part.from < part.to && exceptions.all_dropped(&part, open.copy.number)
                });
            if lost {
                let Open { copy: SegmentCopy { number, .. }, episode, counted, .. } = *open;
                corrections.push(Correction::Necessary { number, episode, counted });
            }
            !lost
        });
    }

    /// Records that the receiver has accepted a copy.
    #[inline]
    pub fn delivered(&mut self, copy: SegmentCopy) {
        if !(self.open.is_empty()
            && self.watched.is_empty()
            && self.thrown_away.is_empty()
            && !self.exceptions.has_retransmitted())
        {
            self.delivered_among_exceptions(copy.number, copy.from, copy.to);
        }
    }

    // Arguments by value stay in registers; a struct would be written to memory even without
    // exceptions.
    #[inline(never)]
    fn delivered_among_exceptions(&mut self, number: u64, from: u64, to: u64) {
        let copy = SegmentCopy { number, from, to };
        self.thrown_away.retain(|other| other.number != copy.number);
        self.open.retain_mut(|open| {
            if copy.number < open.copy.number && copy.overlaps(open.copy.from, open.copy.to) {
                subtract(&mut open.missing, copy.from, copy.to);
            }
            !open.missing.is_empty()
        });
        let exceptions = &mut self.exceptions;
        self.watched.retain(|watched| !watched.is(&copy, exceptions));
        exceptions.delivered(&copy);
    }

    /// Records that an acknowledgment of everything before `ack` was dropped.
    pub fn ack_dropped(&mut self, ack: u64) {
        self.ack_dropped = self.ack_dropped.max(ack);
    }

    /// Records an episode and returns its cause, as far as is known.
    pub fn episode(
        &mut self,
        belief: Belief,
        trigger: Trigger,
        row: Row,
        arrived: &impl Arrived,
    ) -> (Cause, Option<SubCause>) {
        self.episodes += 1;
        let Trigger { position: trigger, repaired } = trigger;
        let newest = self.exceptions.newest(trigger, repaired);
        if let Some(cause) = newest.dropped {
            return (cause, None);
        }
        let settled = newest.settled
            || newest.number.is_none()
                && match newest.probe {
                    Some(probe) => self.open.iter().all(|open| open.copy.number != probe),
                    None => arrived.missing(trigger, trigger + 1).is_none(),
                };
        if !settled {
            let number = newest.number;
            let which = self.episodes;
            let episode = row;
            self.watched.push(Watched { number, trigger, belief, episode, which, counted: true });
        }
        let refused_so_far = self.thrown_away.iter().any(|copy| match newest.number {
            Some(number) => copy.number == number,
            None => {
                copy.overlaps(trigger, trigger + 1) && self.exceptions.is_original(copy, trigger)
            }
        });
        let sub_cause = match belief.kind {
            _ if newest.refused || refused_so_far => SubCause::Refused,
            // An acknowledgment that covered the trigger was sent, but it was dropped.
            _ if self.ack_dropped > trigger => SubCause::AckLost,
            EpisodeKind::FastRetransmit => SubCause::Reordering,
            EpisodeKind::Rto => SubCause::Delay,
        };
        (Cause::Spurious, Some(sub_cause))
    }

    /// Number of episodes so far, which is the number of the newest.
    pub const fn episodes(&self) -> u64 {
        self.episodes
    }

    /// Records that everything before `position` is acknowledged, so that state about it is kept
    /// for open verdicts only.
    pub fn advance(&mut self, position: u64) {
        if self.exceptions.is_empty() {
            return;
        }
        let open = self.open.iter().map(|open| open.copy.from);
        let watched = self.watched.iter().map(|watched| watched.trigger);
        let keep = open.chain(watched).min().map_or(position, |first| first.min(position));
        self.exceptions.forget_before(keep);
    }

    /// Begins statistics: corrections of earlier verdicts do not count.
    pub fn stop_counting(&mut self) {
        self.open.iter_mut().for_each(|open| open.counted = false);
        self.watched.iter_mut().for_each(|watched| watched.counted = false);
    }

    /// Number of exceptions stored; 0 in a flow without loss for a round trip.
    pub fn kept(&self) -> usize {
        self.exceptions.len() + self.open.len() + self.watched.len() + self.thrown_away.len()
    }
}

impl Watched {
    fn is(&self, copy: &SegmentCopy, exceptions: &Exceptions) -> bool {
        match self.number {
            Some(number) => number == copy.number,
            None => {
                copy.overlaps(self.trigger, self.trigger + 1)
                    && exceptions.is_original(copy, self.trigger)
            }
        }
    }
}

/// All ranges within `from … to` that have not arrived.
fn missing(arrived: &impl Arrived, mut from: u64, to: u64) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    while from < to
        && let Some(stretch) = arrived.missing(from, to)
    {
        all.push(stretch);
        from = stretch.1;
    }
    all
}

/// Removes `from … to` from a list of ranges.
fn subtract(stretches: &mut Vec<(u64, u64)>, from: u64, to: u64) {
    let mut rest = Vec::new();
    for &(start, end) in stretches.iter() {
        if start < from.min(end) {
            rest.push((start, from.min(end)));
        }
        if to.max(start) < end {
            rest.push((to.max(start), end));
        }
    }
    *stretches = rest;
}
