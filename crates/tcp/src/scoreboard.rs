//! Scoreboard: for each segment in flight the time of its transmission, and whether it was
//! selectively acknowledged, marked lost or retransmitted (RFC 6675 §3, RFC 8985 §5.1).
//!
//! The cost of an ACK hardly grows with the window: each segment is marked a bounded number of
//! times in its life, and is found by binary search.

mod acknowledge;
mod by_time;
mod delivered;
mod in_order;
mod losses;
mod retransmit;
mod split;
mod undo;
mod without_sack;

use crate::lazy::LazyDefault;
use crate::ranges::Ranges;
use crate::ring::Ring;
use crate::work;
pub(crate) use acknowledge::SackedRun;
pub use delivered::{Delivered, Newest};
pub(crate) use in_order::{RemovedInTimeOrder, RemovedSegments};
use retx_units::Time;
use retx_wire::SackBlocks;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use without_sack::AssumedArrivals;

/// Segment in flight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Record {
    /// First position.
    pub start: u64,
    /// Time of the segment's most recent transmission.
    pub sent: Time,
    /// Length in sequence space, including a FIN.
    pub length: u32,
    /// True if selectively acknowledged.
    pub sacked: bool,
    /// True if marked lost and not retransmitted since.
    pub lost: bool,
    /// True if retransmitted, with the copy considered in flight.
    pub retransmitted: bool,
    /// True if the previous copy is also considered in flight: the segment was retransmitted
    /// without being marked lost (RFC 6675 §4, `NextSeg` rules 3 and 4; a tail loss probe).
    pub previous_copy_in_flight: bool,
    /// True if transmitted more than once in its life.
    pub ever_retransmitted: bool,
    /// True if a copy is considered in flight in addition to the original, because the recovery
    /// that sent the copy was undone (in Linux: tagged R, but no longer L).
    pub extra_copy_in_flight: bool,
    /// True if marked lost by RACK's time limit (RFC 8985 §6.2), and not retransmitted since.
    overdue: bool,
    /// True for the first segment of a burst.
    opens_burst: bool,
}

impl Record {
    /// Position after the segment.
    pub const fn end(&self) -> u64 {
        self.start + self.length as u64
    }
}

/// Segments that a connection has in flight.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct Scoreboard {
    records: Ring<Record>,
    /// True if the loss detection does not need the order of transmission: `resent` then stays
    /// empty.
    pub without_times: bool,
    /// True for Linux's rules: a tail loss probe does not count as in flight, and an undo leaves
    /// copies in flight.
    pub as_linux: bool,
    /// Ranges selectively acknowledged above `SND.UNA`.
    sacked: Ranges,
    sacked_bytes: u64,
    sacked_segments: u64,
    lost_bytes: u64,
    lost_segments: u64,
    /// Number of times that a segment was marked lost.
    pub losses: u64,
    /// Latest time of sending among the retransmissions that were marked lost; 0 if none was.
    pub latest_lost_copy: Time,
    previous_copy_bytes: u64,
    /// Bytes of the segments with [`Record::extra_copy_in_flight`].
    extra_copy_bytes: u64,
    extra_copy_segments: u64,
    /// Number of segments marked lost, including those retransmitted.
    marked_segments: u64,
    /// SACK blocks of the last acknowledgment, all of which have been processed.
    pub last_sack: Option<Box<SackBlocks>>,
    /// Number of segments in flight that began a burst.
    opened_bursts: u64,
    /// Segments assumed to have arrived because of duplicate ACKs.
    assumed: AssumedArrivals,
    /// Positions of lost segments not yet retransmitted, lowest first; entries may be out of date.
    to_retransmit: BinaryHeap<Reverse<u64>>,
    /// Transmissions other than the first of each segment, as (time, first position), in order of
    /// time. Those in `overtaken` are left out; entries may be out of date.
    resent: VecDeque<(Time, u64)>,
    /// Position of the first segment whose first transmission has not been compared with a later
    /// one that has arrived. The segments from here on that were sent once, are in flight and are
    /// not lost belong to the order of time, too.
    next_original: u64,
    /// Transmissions of data that were still in flight when data sent later had arrived, in order
    /// of time; entries may be out of date.
    overtaken: VecDeque<(Time, u64)>,
    /// Position after the highest segment ever retransmitted.
    resent_end: u64,
    /// Position below which [`Self::mark_lost_below`] has examined everything.
    examined: u64,
    /// Range in which all segments have arrived or been retransmitted, so rule 3 of `NextSeg` skips
    /// it.
    exhausted: (u64, u64),
}

impl LazyDefault for Scoreboard {
    const DEFAULT: &'static Self = &Self {
        records: Ring::EMPTY,
        sacked: Ranges::EMPTY,
        sacked_bytes: 0,
        sacked_segments: 0,
        lost_bytes: 0,
        lost_segments: 0,
        losses: 0,
        latest_lost_copy: Time::ZERO,
        previous_copy_bytes: 0,
        extra_copy_bytes: 0,
        extra_copy_segments: 0,
        marked_segments: 0,
        last_sack: None,
        opened_bursts: 0,
        assumed: AssumedArrivals::NONE,
        to_retransmit: BinaryHeap::new(),
        resent: VecDeque::new(),
        next_original: 0,
        overtaken: VecDeque::new(),
        resent_end: 0,
        examined: 0,
        exhausted: (0, 0),
        without_times: false,
        as_linux: false,
    };
}

impl Scoreboard {
    /// Prefetches the records that the next ACK is likely to remove, and the slots of the next new
    /// records.
    #[inline]
    pub fn prefetch_records(&self) {
        self.records.prefetch_ends();
    }

    /// Adds a new segment.
    pub fn push(&mut self, now: Time, start: u64, length: u32) {
        self.records.push_back(Record {
            start,
            sent: now,
            length,
            sacked: false,
            lost: false,
            retransmitted: false,
            previous_copy_in_flight: false,
            ever_retransmitted: false,
            extra_copy_in_flight: false,
            overdue: false,
            opens_burst: false,
        });
    }

    /// Marks the most recently added segment as the first of a burst.
    pub fn mark_burst_start(&mut self) {
        if let Some(last) = self.records.back_mut() {
            last.opens_burst = true;
            self.opened_bursts += 1;
        }
    }

    /// Number of bursts with data in flight, if the first segments of bursts are marked.
    pub fn bursts_in_flight(&self) -> u64 {
        let begun = self.records.front().is_some_and(|record| !record.opens_burst);
        self.opened_bursts + u64::from(begun)
    }

    /// Number of segments marked lost that have not arrived, including those retransmitted.
    pub fn marked_segments(&self) -> u64 {
        self.marked_segments
    }

    /// Removes a segment from the counts of lost and retransmitted segments.
    fn forget(&mut self, record: &Record) {
        let length = u64::from(record.length);
        self.lost_bytes -= if record.lost { length } else { 0 };
        self.lost_segments -= u64::from(record.lost);
        self.previous_copy_bytes -= if record.previous_copy_in_flight { length } else { 0 };
        self.marked_segments -=
            u64::from(record.lost || record.retransmitted && !record.previous_copy_in_flight);
    }

    /// Number of segments in flight, including selectively acknowledged ones.
    pub fn segments(&self) -> usize {
        self.records.len()
    }

    /// Position and length of the first segment that is lost and not retransmitted.
    pub fn next_to_retransmit(&mut self) -> Option<(u64, u32)> {
        while let Some(&Reverse(start)) = self.to_retransmit.peek() {
            work::steps(1);
            if let Some((_, record)) = self.record_at(self.first(), start)
                && record.lost
            {
                return Some((start, record.length));
            }
            // The segment has meanwhile arrived or been retransmitted. Removing its entry only here
            // saves a search at each arrival.
            self.to_retransmit.pop();
        }
        None
    }

    /// RFC 6675 §4, rule 3 of `NextSeg`: the first segment below the highest selectively
    /// acknowledged one that has neither arrived nor been retransmitted, whether or not it is lost.
    pub fn next_below_highest_sacked(&mut self, above: u64) -> Option<(u64, u32)> {
        let highest = self.sacked.end()?;
        // A range without a segment for rule 3 is not searched again.
        let (from, to) = self.exhausted;
        let (from, begin) = if (from..=to).contains(&above) { (from, to) } else { (above, above) };
        let mut index = self.first_index_from(begin);
        let mut end = begin;
        let found = loop {
            let Some(record) = self.records.get(index).filter(|record| record.end() <= highest)
            else {
                break None;
            };
            work::steps(1);
            if !record.sacked && !record.retransmitted {
                break Some((record.start, record.length));
            }
            end = record.end();
            index += 1;
        };
        self.exhausted = (from, end);
        found
    }

    /// Last segment in flight that is not selectively acknowledged: the one for a tail loss probe
    /// or a rescue retransmission.
    pub fn last_unsacked(&self) -> Option<(u64, u32)> {
        let mut newest_first = self.records.iter().rev();
        let last = newest_first.find(|record| {
            work::steps(1);
            !record.sacked
        });
        last.map(|record| (record.start, record.length))
    }

    /// Bytes considered in flight (RFC 6675 §4, `SetPipe`): sent, and neither acknowledged,
    /// selectively acknowledged, nor lost. A retransmission counts again.
    pub fn pipe(&self, outstanding: u64) -> u64 {
        let left = self.sacked_bytes + self.lost_bytes + self.assumed.bytes();
        (outstanding + self.previous_copy_bytes + self.extra_copy_bytes).saturating_sub(left)
    }

    /// Bytes selectively acknowledged above `SND.UNA`.
    pub const fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Segments selectively acknowledged above `SND.UNA`.
    pub const fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Bytes marked lost and not yet retransmitted.
    pub const fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Position after the highest byte selectively acknowledged.
    pub fn highest_sacked(&self) -> Option<u64> {
        self.sacked.end()
    }

    /// Index of the segment that begins at `start`.
    fn index_at(&self, start: u64) -> Option<usize> {
        self.record_at(self.first(), start).map(|(index, _)| index)
    }

    /// Segment that begins at `start`, and its index. `first` is the result of [`Self::first`].
    #[inline(always)]
    fn record_at(&self, first: (u64, u32), start: u64) -> Option<(usize, &Record)> {
        // A segment below the first one has been acknowledged.
        let before = start.checked_sub(first.0)?;
        // Most segments have equal lengths, so the index can usually be computed.
        let index = (before / u64::from(first.1)) as usize;
        match self.records.get(index) {
            Some(record) if record.start == start => Some((index, record)),
            _ => self.search_record_at(start),
        }
    }

    #[inline(never)]
    fn search_record_at(&self, start: u64) -> Option<(usize, &Record)> {
        let index = self.first_index_from(start);
        self.records.get(index).filter(|record| record.start == start).map(|it| (index, it))
    }
}

#[cfg(test)]
mod tests;
