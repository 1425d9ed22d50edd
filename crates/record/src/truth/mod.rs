//! Why did it happen? The verdicts on a flow's retransmissions and recovery episodes, from what
//! truly became of each copy of a segment.
//!
//! *What it does.* A retransmission is unnecessary when an earlier copy of each of its bytes
//! reached, or still reaches, the receiver. An episode's cause is the fate of the newest copy, sent
//! before it, of the segment that it retransmits first: dropped by a queue, *congestion*; by the
//! medium, *wireless*; delivered or still on its way, *spurious*. Where a tail loss probe has
//! found the loss by repairing it, the probe is what the episode retransmits: the copy before it
//! decides.
//!
//! As long as nothing is lost or retransmitted, nothing is kept. What is kept are exceptions: the
//! copies that were dropped, the copies that were retransmissions, and the verdicts that hang on a
//! copy still on its way. Such a verdict is given as if the copy arrived; should it be dropped, a
//! [`Correction`] follows. A byte has one original and so many retransmissions, hence: it is on its
//! way, or has arrived, unless all of these are among the drops.
//!
//! Positions are those of the stream: SYN 0, first byte of data 1, FIN after the last.

mod exceptions;

use crate::reason::{Belief, Cause, EpisodeKind, SubCause};
use exceptions::Exceptions;

/// One copy of a stretch of the stream, sent in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentCopy {
    /// Which copy: grows with every segment that the flow's sender sends.
    pub number: u64,
    /// Position of its first byte.
    pub from: u64,
    /// Position after its last.
    pub to: u64,
}

impl SegmentCopy {
    const fn overlaps(&self, from: u64, to: u64) -> bool {
        self.from < to && from < self.to
    }
}

/// A copy of something that had been sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// The copy.
    pub copy: SegmentCopy,
    /// Position after the last byte sent before.
    pub sent_to: u64,
    /// The episode that it belongs to.
    pub episode: Row,
    /// It counts in the statistics.
    pub counted: bool,
}

/// What an episode retransmits first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger {
    /// Where it begins.
    pub position: u64,
    /// Its newest copy is that retransmission: of a probe that has repaired a loss, or of the
    /// recovery before.
    pub repaired: bool,
}

/// What has reached the other end.
pub trait Arrived {
    /// The first stretch of `from … to` that has not arrived; `None` when all has.
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)>;
}

/// A retransmission or an episode in the record: its row in the `episodes` table, if that is kept.
pub type Row = Option<u32>;

/// A verdict that has changed because a copy was dropped on which it hung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// A retransmission was necessary after all.
    Necessary {
        /// Which copy.
        number: u64,
        /// The episode that it belongs to.
        episode: Row,
        /// It counts in the statistics.
        counted: bool,
    },
    /// An episode was not spurious after all.
    Cause {
        /// The episode.
        episode: Row,
        /// Its number: [`Truth::episodes`] when it had begun.
        number: u64,
        /// What the sender held it to be.
        belief: Belief,
        /// What was behind it.
        cause: Cause,
        /// It counts in the statistics.
        counted: bool,
    },
}

/// A retransmission that some earlier copy, still on its way, may prove unnecessary.
#[derive(Debug, Clone)]
struct Open {
    copy: SegmentCopy,
    /// What no earlier copy has brought yet.
    missing: Vec<(u64, u64)>,
    episode: Row,
    counted: bool,
}

/// An episode that was no loss, unless this copy is dropped.
#[derive(Debug, Clone)]
struct Watched {
    /// The retransmission, or the original.
    number: Option<u64>,
    trigger: u64,
    belief: Belief,
    episode: Row,
    /// Number of the episode.
    which: u64,
    counted: bool,
}

/// What is known of one flow's losses and retransmissions.
#[derive(Debug, Clone, Default)]
pub struct Truth {
    exceptions: Exceptions,
    open: Vec<Open>,
    watched: Vec<Watched>,
    /// Copies that the receiver threw away, while the network has others of the same packet.
    thrown_away: Vec<SegmentCopy>,
    /// The highest acknowledgment that was dropped on its way.
    ack_dropped: u64,
    episodes: u64,
}

impl Truth {
    /// The sender has sent a copy of something that it had sent before, up to `sent_to`. Returns
    /// true when, by what is known so far, that was unnecessary.
    pub fn retransmitted(&mut self, again: Retransmission, arrived: &impl Arrived) -> bool {
        let Retransmission { copy, sent_to, episode, counted } = again;
        let old = SegmentCopy { to: copy.to.min(sent_to), ..copy };
        let necessary =
            // Some of it is new: the segment had to be sent.
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

    /// A copy was dropped, which makes of an episode what `cause` says. Verdicts that this changes
    /// are appended to `corrections`.
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

    /// A copy reached a receiver that threw it away, for lack of room or for its old timestamp: no
    /// loss on the way, but its bytes have to come again.
    pub fn refused(&mut self, copy: SegmentCopy, corrections: &mut Vec<Correction>) {
        self.thrown_away.retain(|other| other.number != copy.number);
        self.exceptions.dropped(copy, None);
        self.reopen(&copy, corrections);
        let exceptions = &self.exceptions;
        self.watched.retain(|watched| !watched.is(&copy, exceptions));
    }

    /// The same, but the network has made more of the packet, and the receiver may yet keep that.
    pub fn refused_so_far(&mut self, copy: SegmentCopy) {
        if !self.has_refused(copy.number) {
            self.thrown_away.push(copy);
        }
    }

    /// The receiver has thrown away all that has come of a copy of which more may come.
    pub fn has_refused(&self, number: u64) -> bool {
        self.thrown_away.iter().any(|copy| copy.number == number)
    }

    /// Retransmissions for which `copy` was the last hope to have been unnecessary.
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

    /// A copy has reached the receiver, which kept it.
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

    // In registers, or all would be written to memory where there are no exceptions, too.
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

    /// An acknowledgment of everything before `ack` was dropped.
    pub fn ack_dropped(&mut self, ack: u64) {
        self.ack_dropped = self.ack_dropped.max(ack);
    }

    /// The sender has found a loss, or believes so. The cause as far as it is known.
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
            // The sender has seen no acknowledgment beyond the trigger, but one was sent.
            _ if self.ack_dropped > trigger => SubCause::AckLost,
            EpisodeKind::Frr => SubCause::Reordering,
            EpisodeKind::Rto => SubCause::Delay,
        };
        (Cause::Spurious, Some(sub_cause))
    }

    /// Episodes so far: the number of the newest.
    pub const fn episodes(&self) -> u64 {
        self.episodes
    }

    /// Everything before `position` is acknowledged: no verdict will ask for it again, except those
    /// that are open.
    pub fn advance(&mut self, position: u64) {
        if self.exceptions.is_empty() {
            return;
        }
        let open = self.open.iter().map(|open| open.copy.from);
        let watched = self.watched.iter().map(|watched| watched.trigger);
        let keep = open.chain(watched).min().map_or(position, |first| first.min(position));
        self.exceptions.forget_before(keep);
    }

    /// Statistics start now: corrections of what came before do not count in them.
    pub fn stop_counting(&mut self) {
        self.open.iter_mut().for_each(|open| open.counted = false);
        self.watched.iter_mut().for_each(|watched| watched.counted = false);
    }

    /// Exceptions kept: 0 in a flow that has been loss-free for a round trip.
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

/// All stretches of `from … to` that have not arrived.
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

/// Takes `from … to` out of a list of stretches.
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
