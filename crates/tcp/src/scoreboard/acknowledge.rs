//! Processing of acknowledgments, which remove or mark segments on the scoreboard.

use super::{Delivered, Record, Scoreboard};
use crate::work;
use retx_wire::SackBlocks;

impl Scoreboard {
    /// Processes an acknowledgment of everything below `snd_una`, with its SACK blocks (as
    /// positions). Adds the delivered segments to `delivered`.
    pub fn acknowledge(&mut self, snd_una: u64, blocks: &[(u64, u64)], delivered: &mut Delivered) {
        // This position is read before the blocks of this ACK are marked: an original that arrives
        // below it was overtaken (RFC 8985 §6.2, step 3).
        let highest_before = self.sacked.end().unwrap_or(0);
        let segments = self.records.len();
        if self.sacked.is_empty() {
            self.acknowledge_originals(snd_una, delivered);
        }
        loop {
            self.remove_sacked(snd_una, delivered);
            let Some(record) = self.records.front().filter(|it| it.end() <= snd_una) else { break };
            work::steps(1);
            let record = *record;
            self.forget_extra_copy(0);
            self.records.pop_front();
            self.opened_bursts -= u64::from(record.opens_burst);
            delivered.acked_retransmitted |= record.ever_retransmitted;
            self.forget(&record);
            delivered.bytes += u64::from(record.length);
            delivered.add_acked(&record);
            // A retransmission below the highest block fills a hole; only an original shows
            // reordering.
            if !record.ever_retransmitted && record.end() <= highest_before {
                delivered.note_reordered(record.start);
            }
        }
        self.assumed.last_acked_segments = (segments - self.records.len()) as u64;
        if self.sacked.begins_below(snd_una) {
            self.sacked.remove_below(snd_una);
        }
        self.examined = self.examined.max(snd_una);
        for &(left, right) in blocks {
            self.take_block(left.max(snd_una), right, |run| {
                delivered.add_sacked(run, highest_before);
            });
        }
        if !self.without_times {
            self.forget_arrived();
        }
    }

    /// Like [`Self::acknowledge`] of no new data, with a block above `SND.UNA`; returns the
    /// delivered segments.
    #[inline(always)]
    pub fn acknowledge_block(&mut self, block: (u64, u64)) -> Delivered {
        self.assumed.last_acked_segments = 0;
        match self.acknowledge_next_original(block) {
            Some(delivered) => delivered,
            None => self.acknowledge_any_block(block),
        }
    }

    #[inline(never)]
    fn acknowledge_any_block(&mut self, (left, right): (u64, u64)) -> Delivered {
        let highest_before = self.sacked.end().unwrap_or(0);
        let mut delivered = Delivered { has_sack: true, ..Delivered::default() };
        self.take_block(left, right, |run| delivered.add_sacked(run, highest_before));
        if !self.without_times {
            self.forget_arrived();
        }
        delivered
    }

    /// Handles a block whose new part is one segment that was sent once, above all data selectively
    /// acknowledged before. Returns `None`, without any effect, in other cases.
    #[inline(always)]
    fn acknowledge_next_original(&mut self, (left, right): (u64, u64)) -> Option<Delivered> {
        let (start, end) = self.sacked.first_gap(left, right)?;
        if self.sacked.end().is_some_and(|highest| start < highest) {
            return None;
        }
        let index = self.first_index_from(start);
        let is_next = |it: &&mut Record| it.start == start && it.end() == end && it.is_original();
        let record = self.records.get_mut(index).filter(is_next)?;
        work::steps(1);
        record.sacked = true;
        let (sent, length) = (record.sent, end - start);
        self.sacked_bytes += length;
        self.sacked_segments += 1;
        if self.as_linux {
            self.regroup(index, 1);
        }
        self.sacked.insert(start, end);
        Some(Delivered::of_original(sent, end, length))
    }

    /// Removes leading segments that are selectively acknowledged.
    #[inline(always)]
    fn remove_sacked(&mut self, snd_una: u64, delivered: &mut Delivered) {
        if !self.records.front().is_some_and(|it| it.sacked && it.end() <= snd_una) {
            return;
        }
        let (mut bytes, mut segments, mut bursts, mut again) = (0, 0, 0, false);
        let (mut extra_bytes, mut extra_segments) = (0, 0);
        self.records.pop_while(|record| {
            let goes = record.sacked && record.end() <= snd_una;
            if goes {
                work::steps(1);
                let length = u64::from(record.length);
                bytes += length;
                segments += 1;
                bursts += u64::from(record.opens_burst);
                again |= record.ever_retransmitted;
                if record.extra_copy_in_flight {
                    extra_bytes += length;
                    extra_segments += 1;
                }
            }
            goes
        });
        self.sacked_bytes -= bytes;
        self.sacked_segments -= segments;
        self.opened_bursts -= bursts;
        self.extra_copy_bytes -= extra_bytes;
        self.extra_copy_segments -= extra_segments;
        delivered.acked_retransmitted |= again;
    }

    /// Removes leading segments that were sent once and are not marked lost, while nothing is
    /// selectively acknowledged: the most common case. They are in the order of transmission, so
    /// the last of them is the newest.
    #[inline]
    fn acknowledge_originals(&mut self, snd_una: u64, delivered: &mut Delivered) {
        let is_original = |record: &Record| !(record.lost | record.ever_retransmitted);
        let Some(first) = self.records.front().copied() else { return };
        let (mut last, mut count) = (first, 0);
        while let Some(record) = self.records.front()
            && record.end() <= snd_una
            && is_original(record)
        {
            work::steps(1);
            last = *record;
            count += 1;
            self.opened_bursts -= u64::from(record.opens_burst);
            self.records.pop_front();
        }
        if count > 0 {
            delivered.add_originals(&first, &last, count);
        }
    }

    /// Marks segments newly covered by a block; true if there are any. `left` is not below SND.UNA.
    pub fn mark_block(&mut self, left: u64, right: u64) -> bool {
        let before = self.sacked_segments;
        self.take_block(left, right, |_| {});
        self.sacked_segments > before
    }

    /// Records the SACK blocks of an acknowledgment.
    pub fn note_sack(&mut self, blocks: &SackBlocks) {
        **self.last_sack.get_or_insert_default() = *blocks;
    }

    /// Marks segments newly covered by a SACK block, and passes each run of them to `show`. A
    /// segment of which a block covers only a part has not arrived (Linux `tcp_match_skb_to_sack`);
    /// a later block may cover all of it.
    #[inline(always)]
    fn take_block(&mut self, left: u64, right: u64, mut show: impl FnMut(&SackedRun)) {
        let mut from = left;
        // Only the new parts of a block are visited, so repeated blocks (RFC 2018 §4) cost one
        // search each.
        while let Some((gap_left, gap_right)) = self.sacked.first_gap(from, right) {
            let mut index = self.first_index_from(gap_left);
            let mut covered: Option<(u64, u64)> = None;
            while let Some(first) =
                self.records.get(index).copied().filter(|it| it.end() <= gap_right)
            {
                let run = self.mark_run(index, &first, gap_right);
                if !first.sacked {
                    show(&run);
                }
                covered = Some((covered.map_or(first.start, |it| it.0), run.last.end()));
                index += run.count as usize;
            }
            if let Some((start, end)) = covered {
                self.sacked.insert(start, end);
            }
            if gap_right >= right {
                break;
            }
            from = gap_right;
        }
    }

    /// Marks the segment `first`, which has this index, as selectively acknowledged. If it was sent
    /// once and is not marked lost, also marks those that follow it below `right` and are in the
    /// same state.
    #[inline(always)]
    fn mark_run(&mut self, index: usize, first: &Record, right: u64) -> SackedRun {
        work::steps(1);
        let mut run = SackedRun { first: *first, last: *first, count: 1 };
        if first.sacked {
            return run;
        }
        let before = &mut self.records[index];
        before.sacked = true;
        before.lost = false;
        before.retransmitted = false;
        before.previous_copy_in_flight = false;
        // `first` has the previous state, which the counts of lost and retransmitted segments still
        // include.
        self.forget(first);
        if first.is_original() {
            while let Some(record) = self.records.get_mut(index + run.count as usize)
                && record.end() <= right
                && record.is_original()
            {
                work::steps(1);
                run.last = *record;
                run.count += 1;
                record.sacked = true;
                if self.as_linux {
                    // Each joins the segment before it, as in `regroup`.
                    self.opened_bursts -= u64::from(std::mem::take(&mut record.opens_burst));
                }
            }
        }
        self.sacked_bytes += run.last.end() - first.start;
        self.sacked_segments += run.count;
        if self.as_linux {
            self.regroup(index, run.count as usize);
        }
        run
    }
}

/// Adjacent segments newly acknowledged selectively, in their state before. If there are several,
/// each was sent once.
#[derive(Debug)]
pub(crate) struct SackedRun {
    pub first: Record,
    pub last: Record,
    pub count: u64,
}

impl Record {
    /// True if sent once, and neither selectively acknowledged nor marked lost.
    #[inline(always)]
    pub(super) const fn is_original(&self) -> bool {
        !(self.sacked | self.lost | self.ever_retransmitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::{Duration, StreamKey, Time};

    const MS: fn(u64) -> Time = |ms| Time::ZERO + Duration::from_millis(ms);

    /// Blocks above `SND.UNA` in random order, some of which extend an earlier block, among
    /// segments that are lost or retransmitted.
    #[test]
    fn a_block_alone_is_acknowledged_as_with_other_data() {
        let mut direct = 0;
        for seed in 0..400 {
            let mut stream = StreamKey { seed, replication: 0 }.stream("one block");
            let as_linux = seed % 2 == 0;
            let mut board = Scoreboard { as_linux, ..Scoreboard::default() };
            for n in 0..20 {
                board.push(MS(n), 1 + 1_000 * n, 1_000);
                if stream.below(3) == 0 {
                    board.mark_burst_start();
                }
            }
            for step in 0..12 {
                let next = board.sacked.end().map_or(0, |end| end / 1_000);
                let first = if stream.below(2) == 0 { next } else { stream.below(20) };
                let start = 1 + 1_000 * first.min(19);
                let block = (start, start + 1_000 + 500 * stream.below(3));
                let mut general = board.clone();
                let mut expected = Delivered { has_sack: true, ..Delivered::default() };
                general.acknowledge(1, &[block], &mut expected);
                direct += u32::from(board.clone().acknowledge_next_original(block).is_some());
                assert_eq!(
                    format!("{:?}", board.acknowledge_block(block)),
                    format!("{expected:?}"),
                    "{seed}, {step}: {block:?}"
                );
                let mut compared = board.clone();
                for board in [&mut compared, &mut general] {
                    board.normalise(1);
                }
                assert_eq!(format!("{compared:?}"), format!("{general:?}"), "{seed}, {step}");
                let other = 1 + 1_000 * stream.below(20);
                if stream.below(4) == 0 && !board.sacked.contains(other, other + 1_000) {
                    board.mark_retransmitted(MS(30 + step), other);
                } else if stream.below(4) == 0 {
                    board.mark_lost_below(other);
                }
            }
        }
        assert!(direct > 500, "{direct} blocks had one new segment at the end");
    }
}
