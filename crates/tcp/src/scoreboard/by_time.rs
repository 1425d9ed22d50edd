//! Transmissions in order of time, and those that later transmissions have overtaken (RFC 8985
//! §6.2).

use super::{Newest, Record, Scoreboard};
use crate::work;
use retx_units::Time;

impl Scoreboard {
    /// Records the time of a transmission that is not the first of its segment. Among segments sent
    /// at the same time, the lower position counts as earlier (RFC 8985 §5.2).
    pub(super) fn note_time(&mut self, now: Time, start: u64) {
        if self.without_times {
            return;
        }
        // A transmission that is recorded late precedes the later ones, of which there are few.
        let later = self.resent.iter().rev().take_while(|other| **other > (now, start)).count();
        work::steps(later + 1);
        self.resent.insert(self.resent.len() - later, (now, start));
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
        let first = self.first();
        self.move_overtaken(newest, first);
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

    /// Moves the transmissions that were sent before `newest` to `overtaken`, in order of time:
    /// those of `resent`, and those of the segments from `next_original` on.
    #[inline(always)]
    fn move_overtaken(&mut self, newest: &Newest, first: (u64, u32)) {
        let mut index = self.first_index_from(self.next_original);
        loop {
            // Segments sent after `newest` are not overtaken, and do not precede those that are.
            let may_precede = self.resent.front().is_some_and(|(sent, _)| *sent <= newest.sent);
            let again = if may_precede { self.first_resent(first) } else { None };
            let limit = again.map_or((Time::NEVER, 0), |(time, _)| time);
            let overtaken = &mut self.overtaken;
            index = self.records.skip_while(index, |record| {
                work::steps(1);
                // Segments that were marked lost by time are not examined again in Linux, even if
                // an undo has removed the mark.
                if record.is_original() && !record.overdue {
                    let time = (record.sent, record.start);
                    if time > limit || !newest.is_after(record.sent, record.end()) {
                        return false;
                    }
                    overtaken.push_back(time);
                }
                true
            });
            let Some((time, _)) = again.filter(|(time, end)| newest.is_after(time.0, *end)) else {
                break;
            };
            self.overtaken.push_back(time);
            self.resent.pop_front();
        }
        let end = self.records.back().map_or(self.next_original, Record::end);
        self.next_original = self.records.get(index).map_or(end, |record| record.start);
    }

    /// First of the transmissions in `resent` that is not out of date, and the end of its segment.
    #[inline(always)]
    fn first_resent(&mut self, first: (u64, u32)) -> Option<((Time, u64), u64)> {
        while let Some(&(sent, start)) = self.resent.front() {
            work::steps(1);
            if let Some((_, record)) = self.current_from(first, sent, start) {
                return Some(((sent, start), record.end()));
            }
            self.resent.pop_front();
        }
        None
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
        if !self.resent.is_empty() {
            self.first_resent(self.first());
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
        let found = self.record_at(first, start);
        // If the times differ, the segment has been retransmitted since this entry was made.
        found.filter(|(_, record)| record.sent == sent && !record.sacked && !record.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Delivered;
    use retx_units::{Duration, StreamKey};

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

    /// Transmissions move in order of time, whether or not they were repeated.
    #[test]
    fn transmissions_move_in_order_of_time() {
        let starts = |board: &Scoreboard| board.overtaken.iter().map(|it| it.1).collect::<Vec<_>>();
        let mut first = board();
        // The time of the retransmission is that of the last segment, whose position is higher.
        first.mark_retransmitted(MS(9), 8_001);
        first.push(MS(10), 10_001, 1_000);
        first.split(10_001, 400);
        first.mark_retransmitted(MS(11), 10_001);
        first.push(MS(12), 11_001, 1_000);
        arrive(&mut first, 2, MS(0));
        assert_eq!(starts(&first), [1, 1_001]);
        arrive(&mut first, 11, MS(0));
        let order = [1, 1_001, 3_001, 4_001, 5_001, 6_001, 7_001, 8_001, 9_001, 10_401, 10_001];
        assert_eq!(starts(&first), order);
        let mut second = board();
        arrive(&mut second, 9, MS(0));
        assert_eq!(second.overtaken.len(), 9, "all others were overtaken");
    }

    /// Segments in flight whose last transmission was overtaken, with the time of this
    /// transmission.
    fn overtaken_by_definition(board: &Scoreboard, newest: &Newest) -> Vec<(Time, u64)> {
        let is_overtaken =
            |it: &&Record| !(it.sacked || it.lost) && newest.is_after(it.sent, it.end());
        board.records.iter().filter(is_overtaken).map(|it| (it.sent, it.start)).collect()
    }

    /// Random transmissions, arrivals and losses, compared with the definition.
    #[test]
    fn losses_by_time_are_those_of_the_definition() {
        for seed in 0..500 {
            let mut stream = StreamKey { seed, replication: 0 }.stream("by time");
            let (mut board, mut end, mut una) = (Scoreboard::default(), 1, 1);
            let mut newest: Option<Newest> = None;
            for step in 0..120 {
                let now = MS(10 + step / 3);
                let segments = (end - una) / 1_000;
                let start = una + 1_000 * stream.below(segments.max(1));
                match stream.below(5) {
                    0 | 1 => {
                        board.push(now, end, 1_000);
                        end += 1_000;
                    }
                    2 if segments > 0 => board.mark_retransmitted(now, start),
                    3 if segments > 8 => {
                        una += 1_000 * stream.below(3);
                        board.acknowledge(una, &[], &mut Delivered::default());
                    }
                    4 if segments > 0 => {
                        let mut delivered = Delivered::default();
                        board.acknowledge(una, &[(start, start + 1_000)], &mut delivered);
                        let later = delivered.newest.filter(|it| {
                            newest.is_none_or(|known| it.is_after(known.sent, known.end))
                        });
                        newest = later.or(newest);
                        let Some(newest) = newest else { continue };
                        let late = MS(8 + step / 3 - stream.below(6).min(step / 3));
                        let (lost, waiting): (Vec<_>, Vec<_>) =
                            overtaken_by_definition(&board, &newest)
                                .into_iter()
                                .partition(|it| it.0 < late);
                        let before = board.losses;
                        let latest = board.mark_lost_by_time(&newest, |sent| sent < late);
                        assert_eq!(board.losses - before, lost.len() as u64, "{seed}, {step}");
                        assert_eq!(latest, waiting.iter().map(|it| it.0).max(), "{seed}, {step}");
                    }
                    _ => {}
                }
            }
        }
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
