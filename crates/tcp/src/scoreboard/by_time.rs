//! Transmissions in order of time, and those that later transmissions have overtaken (RFC 8985
//! §6.2).

use super::{Newest, Record, Scoreboard};
use crate::work;
use retx_units::Time;

impl Scoreboard {
    /// Appends the segments sent since the last call, which are the last in order of time. Most
    /// segments are acknowledged before anyone asks for this order, and never listed.
    ///
    /// Must be called before the transmission time of a segment changes.
    pub(super) fn list_new(&mut self) {
        let end = self.records.back().map_or(0, Record::end);
        if self.without_times || end <= self.listed_end {
            return;
        }
        for index in self.first_index_from(self.listed_end)..self.records.len() {
            work::steps(1);
            let record = &self.records[index];
            // As in `current_from`: other segments would be removed from the list as out of date.
            if !(record.sacked || record.lost) {
                self.by_time.push_back((record.sent, record.start));
            }
        }
        self.listed_end = end;
    }

    /// Records a transmission time; new data have been listed. Among segments sent at the same
    /// time, the lower position counts as earlier (RFC 8985 §5.2).
    pub(super) fn note_time(&mut self, now: Time, start: u64) {
        if self.without_times {
            return;
        }
        if self.by_time.back().is_none_or(|last| *last <= (now, start)) {
            work::steps(1);
            self.by_time.push_back((now, start));
            return;
        }
        // A retransmission at the same instant as new data precedes the entries of these data, of
        // which there are few.
        let later = self.by_time.iter().rev().take_while(|other| **other > (now, start)).count();
        work::steps(later + 1);
        self.by_time.insert(self.by_time.len() - later, (now, start));
    }

    /// Marks lost the segments that were sent before `newest` by more than the reordering window,
    /// as `is_overdue` decides from their transmission times (RFC 8985 §6.2, step 5). Returns the
    /// latest transmission time among the other segments sent before `newest`.
    ///
    /// A transmission is moved once, when it has been overtaken, and removed once.
    pub fn mark_lost_by_time(
        &mut self,
        newest: &Newest,
        is_overdue: impl Fn(Time) -> bool,
    ) -> Option<Time> {
        self.list_new();
        let first = self.first();
        while let Some(&(sent, start)) = self.by_time.front() {
            work::steps(1);
            if let Some((_, record)) = self.current_from(first, sent, start) {
                // The list is sorted by time: all further entries were sent later, too.
                if !newest.is_after(sent, record.end()) {
                    break;
                }
                self.overtaken.push_back((sent, start));
            }
            self.by_time.pop_front();
        }
        while let Some(&(sent, start)) = self.overtaken.front() {
            work::steps(1);
            if let Some((index, _)) = self.current_from(first, sent, start) {
                if !is_overdue(sent) {
                    break;
                }
                self.mark_lost(index);
                self.records[index].overdue = true;
            }
            self.overtaken.pop_front();
        }
        self.latest_overtaken(first)
    }

    /// Latest transmission time of the overtaken segments still in flight.
    #[inline(always)]
    fn latest_overtaken(&mut self, first: (u64, u32)) -> Option<Time> {
        while let Some(&(sent, start)) = self.overtaken.back() {
            work::steps(1);
            if self.current_from(first, sent, start).is_some() {
                return Some(sent);
            }
            self.overtaken.pop_back();
        }
        None
    }

    /// Removes leading entries that are out of date, most of them because the segment has arrived.
    #[inline]
    pub(super) fn forget_arrived(&mut self) {
        let first = self.first();
        while let Some(&(sent, start)) = self.by_time.front() {
            work::steps(1);
            if self.current_from(first, sent, start).is_some() {
                break;
            }
            self.by_time.pop_front();
        }
    }

    /// Position and length of the first segment; (0, 1) if there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> (u64, u32) {
        self.records.front().map_or((0, 1), |first| (first.start, first.length.max(1)))
    }

    /// Record of a transmission, and its index, if it is the last transmission of its segment, and
    /// the segment is still in flight. `first` is the result of [`Self::first`].
    #[inline(always)]
    pub(super) fn current_from(
        &self,
        first: (u64, u32),
        sent: Time,
        start: u64,
    ) -> Option<(usize, &Record)> {
        // A segment below the first one has been acknowledged.
        let before = start.checked_sub(first.0)?;
        // Most segments have equal lengths, so the index can usually be computed.
        let index = (before / u64::from(first.1)) as usize;
        let found = match self.records.get(index) {
            Some(record) if record.start == start => Some((index, record)),
            _ => self.search_record_at(start),
        };
        // If the times differ, the segment has been retransmitted since this entry was made.
        found.filter(|(_, record)| record.sent == sent && !record.sacked && !record.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Delivered;
    use retx_units::Duration;

    const MS: fn(u64) -> Time = |ms| Time::ZERO + Duration::from_millis(ms);

    /// Ten segments of 1000 bytes, sent a millisecond apart from 0 ms on.
    fn board() -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..10).for_each(|n| board.push(MS(n), 1 + 1_000 * n, 1_000));
        board
    }

    /// Selectively acknowledges segment number `segment`, and marks lost the segments that were
    /// sent before `lost_before`.
    fn arrive(board: &mut Scoreboard, segment: u64, lost_before: Time) -> Option<Time> {
        let start = 1 + 1_000 * segment;
        let mut delivered = Delivered::default();
        board.acknowledge(1, &[(start, start + 1_000)], &mut delivered);
        let newest = delivered.newest.expect("a new segment");
        board.mark_lost_by_time(&newest, |sent| sent < lost_before)
    }

    fn lost(board: &Scoreboard) -> Vec<u64> {
        board.records.iter().filter(|it| it.lost).map(|it| it.start / 1_000).collect()
    }

    /// New data are listed when a retransmission, a detection or a split needs their order.
    #[test]
    fn new_data_are_listed_when_needed() {
        let starts = |board: &Scoreboard| board.by_time.iter().map(|it| it.1).collect::<Vec<_>>();
        let mut first = board();
        assert_eq!(starts(&first), [0; 0]);
        first.mark_retransmitted(MS(9), 8_001);
        // The time of the retransmission is that of the last segment, whose position is higher.
        let order = [1, 1_001, 2_001, 3_001, 4_001, 5_001, 6_001, 7_001, 8_001, 8_001, 9_001];
        assert_eq!(starts(&first), order);
        first.push(MS(10), 10_001, 1_000);
        assert_eq!(starts(&first), order);
        first.split(10_001, 400);
        assert_eq!(starts(&first)[11..], [10_001, 10_401]);
        let mut second = board();
        arrive(&mut second, 9, MS(0));
        assert_eq!(starts(&second), [0; 0], "all others were overtaken");
        assert_eq!(second.overtaken.len(), 9);
    }

    /// RFC 8985 §6.2, step 5: only `segment.xmit_ts`, the time of the last transmission, counts. A
    /// retransmitted segment is lost again if a segment sent after the retransmission arrives, and
    /// the reordering window has passed since.
    #[test]
    fn only_the_last_transmission_is_judged() {
        let mut board = board();
        assert_eq!(arrive(&mut board, 3, MS(2)), Some(MS(2)), "the segment of 2 ms may be late");
        assert_eq!(lost(&board), [0, 1]);
        board.mark_retransmitted(MS(20), 1);
        // This segment is retransmitted without being lost, as by a tail loss probe.
        board.mark_retransmitted(MS(20), 2_001);
        // The original transmissions of both segments were before 4 ms, but do not count.
        assert_eq!(arrive(&mut board, 4, MS(4)), None);
        assert_eq!(lost(&board), [1]);
        board.push(MS(21), 10_001, 1_000);
        assert_eq!(arrive(&mut board, 10, MS(20)), Some(MS(20)), "retransmissions may be late");
        assert_eq!(lost(&board), [1, 5, 6, 7, 8, 9]);
        board.push(MS(22), 11_001, 1_000);
        assert_eq!(arrive(&mut board, 11, MS(21)), None);
        assert_eq!(lost(&board), [0, 1, 2, 5, 6, 7, 8, 9]);
    }
}
