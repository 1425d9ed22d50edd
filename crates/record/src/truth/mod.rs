//! Verdicts on a flow's retransmissions and recovery episodes, derived from the true fate of each
//! copy of a segment.
//!
//! *What it does.* A retransmission is unnecessary if an earlier copy of each of its bytes has
//! reached the receiver or will reach it. The cause of an episode depends on the segment that it
//! retransmits first, and on the newest copy of that segment sent before the episode. The cause is
//! *congestion* if a queue dropped the copy, *wireless* if the medium lost it, and *spurious* if it
//! was delivered or is still in flight. A tail loss probe may already have repaired the loss; then
//! the copy before the probe decides.
//!
//! As long as no segment is lost or retransmitted, nothing is stored. Only exceptions are stored:
//! dropped copies, retransmissions, and verdicts that depend on a copy still in flight. Such a
//! verdict assumes that the copy arrives; if the copy is dropped, a [`Correction`] follows. Each
//! byte has one original and possibly some retransmissions. A byte has arrived or is in flight
//! unless all its copies were dropped.
//!
//! Positions are those of the stream: SYN 0, first byte of data 1, FIN after the last.

mod exceptions;

use crate::reason::{Cause, EpisodeKind, SenderInference, SubCause};
use exceptions::ExceptionalCopies;

/// Copy of a range of the stream, sent in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentCopy {
    /// Number of the copy; it increases with every packet that the flow's sender sends.
    pub number: u64,
    /// Position of the first byte.
    pub from: u64,
    /// Position after the last byte.
    pub to: u64,
}

impl SegmentCopy {
    const fn overlaps(&self, from: u64, to: u64) -> bool {
        self.from < to && from < self.to
    }
}

/// Retransmission: a copy that contains bytes sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// Copy that was sent; its range may include new bytes.
    pub copy: SegmentCopy,
    /// Position after the last byte that had been sent before this copy.
    pub sent_to: u64,
    /// Episode to which the retransmission belongs.
    pub episode: EpisodeRow,
    /// True if the retransmission is included in the statistics.
    pub counted: bool,
}

/// Segment that an episode retransmits first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger {
    /// Start of the segment.
    pub position: u64,
    /// True if the newest copy of the segment is already a repair of the loss: a tail loss probe,
    /// or a retransmission in the previous recovery.
    pub repaired: bool,
}

/// Data that have reached the receiver.
pub trait ArrivedData {
    /// First range within `from … to` that has not arrived; `None` if all has.
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)>;
}

/// Row of an episode in the table `episodes`; `None` if that table is not recorded or there is no
/// episode.
pub type EpisodeRow = Option<u32>;

/// Change of a verdict, because a copy on which the verdict depended was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// A retransmission was necessary.
    Necessary {
        /// Number of the copy.
        number: u64,
        /// Episode to which the retransmission belongs.
        episode: EpisodeRow,
        /// True if the retransmission is included in the statistics.
        counted: bool,
    },
    /// An episode was not spurious.
    Cause {
        /// Row of the episode in the table `episodes`.
        episode: EpisodeRow,
        /// Number of the episode: the value of [`Truth::episode_count`] right after its start.
        number: u64,
        /// Inference of the sender about the episode.
        inference: SenderInference,
        /// True cause, known now.
        cause: Cause,
        /// True if the episode is included in the statistics.
        counted: bool,
    },
}

/// Retransmission assumed to be unnecessary, because earlier copies that are still in flight are
/// assumed to arrive.
#[derive(Debug, Clone)]
struct Open {
    copy: SegmentCopy,
    /// Ranges of which no earlier copy has arrived yet.
    missing: Vec<(u64, u64)>,
    episode: EpisodeRow,
    counted: bool,
}

/// Episode that counts as spurious, unless the copy `number` is dropped.
#[derive(Debug, Clone)]
struct Watched {
    /// Number of the copy if it is a retransmission; `None` for the original.
    number: Option<u64>,
    trigger: u64,
    inference: SenderInference,
    episode: EpisodeRow,
    /// Number of the episode.
    which: u64,
    counted: bool,
}

/// Losses and retransmissions of one flow.
#[derive(Debug, Clone, Default)]
pub struct Truth {
    exceptions: ExceptionalCopies,
    open: Vec<Open>,
    watched: Vec<Watched>,
    /// Copies that the receiver has discarded, while other copies of the same packet, made by the
    /// network, may still arrive.
    thrown_away: Vec<SegmentCopy>,
    /// Highest position of an acknowledgment that was dropped.
    ack_dropped: u64,
    episodes: u64,
}

impl Truth {
    /// Records a retransmission. Returns true if it is unnecessary, as far as is known now.
    pub fn on_retransmitted(&mut self, again: Retransmission, arrived: &impl ArrivedData) -> bool {
        let Retransmission { copy, sent_to, episode, counted } = again;
        let old = SegmentCopy { to: copy.to.min(sent_to), ..copy };
        let necessary =
            // A segment with new bytes had to be sent in any case.
            copy.to > sent_to || self.exceptions.has_fully_dropped_byte(&old, copy.number);
        if !necessary {
            let missing = missing(arrived, copy.from, copy.to);
            if !missing.is_empty() {
                self.open.push(Open { copy, missing, episode, counted });
            }
        }
        self.exceptions.add_retransmitted(old);
        !necessary
    }

    /// Records that a copy was dropped. Verdicts that assumed its arrival change, and the changes
    /// are appended to `corrections`; the episodes among them get the cause `cause`.
    pub fn on_dropped(
        &mut self,
        copy: SegmentCopy,
        cause: Cause,
        corrections: &mut Vec<Correction>,
    ) {
        self.exceptions.add_dropped(copy, Some(cause));
        self.reopen(&copy, corrections);
        let exceptions = &self.exceptions;
        self.watched.retain(|watched| {
            let hit = watched.is(&copy, exceptions);
            if hit {
                corrections.push(Correction::Cause {
                    episode: watched.episode,
                    number: watched.which,
                    inference: watched.inference,
                    cause,
                    counted: watched.counted,
                });
            }
            !hit
        });
    }

    /// Records that the receiver has discarded a copy, for lack of buffer space or because of its
    /// old timestamp. The copy was not lost on the path, but its bytes must be sent again.
    pub fn on_discarded(&mut self, copy: SegmentCopy, corrections: &mut Vec<Correction>) {
        self.thrown_away.retain(|other| other.number != copy.number);
        self.exceptions.add_dropped(copy, None);
        self.reopen(&copy, corrections);
        let exceptions = &self.exceptions;
        self.watched.retain(|watched| !watched.is(&copy, exceptions));
    }

    /// Records that the receiver has discarded a copy that the network has duplicated. The receiver
    /// may still accept one of the duplicates.
    pub fn note_discarded_copy(&mut self, copy: SegmentCopy) {
        if !self.has_discarded_copy(copy.number) {
            self.thrown_away.push(copy);
        }
    }

    /// True if the receiver has discarded all copies of a segment that have arrived so far, but
    /// others may still arrive.
    pub fn has_discarded_copy(&self, number: u64) -> bool {
        self.thrown_away.iter().any(|copy| copy.number == number)
    }

    /// Judges again the retransmissions that were unnecessary only on the assumption that `copy`
    /// arrives.
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
                    part.from < part.to
                        && exceptions.has_fully_dropped_byte(&part, open.copy.number)
                });
            if lost {
                let Open { copy: SegmentCopy { number, .. }, episode, counted, .. } = *open;
                corrections.push(Correction::Necessary { number, episode, counted });
            }
            !lost
        });
    }

    /// Records that the receiver has accepted a copy; `again` is true for a retransmission.
    #[inline]
    pub fn on_delivered(&mut self, copy: SegmentCopy, again: bool) {
        // The arrival of an original is not stored.
        if !(self.open.is_empty()
            && self.watched.is_empty()
            && self.thrown_away.is_empty()
            && !(again && self.exceptions.has_retransmitted()))
        {
            self.delivered_among_exceptions(copy.number, copy.from, copy.to);
        }
    }

    // Separate parameters stay in registers; a struct would be written to memory, even if there are
    // no exceptions.
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
        exceptions.add_delivered(&copy);
    }

    /// Records that an acknowledgment of everything before `ack` was dropped.
    pub fn on_ack_dropped(&mut self, ack: u64) {
        self.ack_dropped = self.ack_dropped.max(ack);
    }

    /// Records an episode. Returns its cause as far as is known now, and the reason if the cause is
    /// [`Cause::Spurious`].
    pub fn record_episode(
        &mut self,
        inference: SenderInference,
        trigger: Trigger,
        row: EpisodeRow,
        arrived: &impl ArrivedData,
    ) -> (Cause, Option<SubCause>) {
        self.episodes += 1;
        let Trigger { position: trigger, repaired } = trigger;
        let newest = self.exceptions.newest_copy(trigger, repaired);
        if let Some(cause) = newest.dropped {
            return (cause, None);
        }
        let settled = newest.has_left_network
            || newest.number.is_none()
                && match newest.probe {
                    Some(probe) => self.open.iter().all(|open| open.copy.number != probe),
                    None => arrived.missing(trigger, trigger + 1).is_none(),
                };
        if !settled {
            let number = newest.number;
            let which = self.episodes;
            let episode = row;
            self.watched.push(Watched {
                number,
                trigger,
                inference,
                episode,
                which,
                counted: true,
            });
        }
        let refused_so_far = self.thrown_away.iter().any(|copy| match newest.number {
            Some(number) => copy.number == number,
            None => {
                copy.overlaps(trigger, trigger + 1) && self.exceptions.is_original(copy, trigger)
            }
        });
        let sub_cause = match inference.kind {
            _ if newest.refused || refused_so_far => SubCause::Refused,
            // An acknowledgment that covers the trigger was sent, but dropped.
            _ if self.ack_dropped > trigger => SubCause::AckLost,
            EpisodeKind::FastRetransmit => SubCause::Reordering,
            EpisodeKind::Rto => SubCause::Delay,
        };
        (Cause::Spurious, Some(sub_cause))
    }

    /// Number of episodes so far; it is also the number of the newest episode.
    pub const fn episode_count(&self) -> u64 {
        self.episodes
    }

    /// Copies that [`Self::may_forget_before`] reads, for prefetching.
    #[inline(always)]
    pub fn first_exceptions(&self) -> impl Iterator<Item = &SegmentCopy> {
        self.exceptions.firsts()
    }

    /// False if [`Self::on_acknowledged`] would change nothing, and [`Self::exception_count`] is
    /// not 0.
    #[inline(always)]
    pub fn may_forget_before(&self, position: u64) -> bool {
        self.exceptions.is_empty() || self.exceptions.begin_before(position)
    }

    /// Records that everything before `position` is acknowledged. State about the acknowledged
    /// range is then removed, unless a verdict still depends on it.
    pub fn on_acknowledged(&mut self, position: u64) {
        if self.exceptions.is_empty() {
            return;
        }
        let open = self.open.iter().map(|open| open.copy.from);
        let watched = self.watched.iter().map(|watched| watched.trigger);
        let keep = open.chain(watched).min().map_or(position, |first| first.min(position));
        self.exceptions.forget_before(keep);
    }

    /// Excludes all verdicts so far from the statistics, at the end of the warm-up: if one of them
    /// is corrected later, the correction is not counted.
    pub fn exclude_past_verdicts(&mut self) {
        self.open.iter_mut().for_each(|open| open.counted = false);
        self.watched.iter_mut().for_each(|watched| watched.counted = false);
    }

    /// Number of exceptions stored; 0 in a flow that has had no loss for a round trip.
    pub fn exception_count(&self) -> usize {
        self.exceptions.len() + self.open.len() + self.watched.len() + self.thrown_away.len()
    }
}

impl Watched {
    fn is(&self, copy: &SegmentCopy, exceptions: &ExceptionalCopies) -> bool {
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
fn missing(arrived: &impl ArrivedData, mut from: u64, to: u64) -> Vec<(u64, u64)> {
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
