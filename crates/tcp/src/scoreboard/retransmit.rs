//! Retransmitted segments, and counts of segments by their state.

use super::{Record, Scoreboard};
use retx_units::Time;
use std::cmp::Reverse;

impl Scoreboard {
    /// Records the retransmission of the segment that begins at `start`.
    pub fn mark_retransmitted(&mut self, now: Time, start: u64) {
        let Some(index) = self.index_at(start) else { return };
        let record = &mut self.records[index];
        let length = u64::from(record.length);
        // RFC 6675 §4, `SetPipe`: the copy counts as in the network, and so does the original,
        // unless it is lost.
        if std::mem::take(&mut record.lost) {
            self.lost_bytes -= length;
            self.lost_segments -= 1;
            record.retransmitted = true;
            // Usually the segment is that of `next_to_retransmit`, whose entry need not be searched
            // again.
            if self.to_retransmit.peek() == Some(&Reverse(start)) {
                self.to_retransmit.pop();
            }
        } else if !self.as_linux {
            record.retransmitted = true;
            if !std::mem::replace(&mut record.previous_copy_in_flight, true) {
                self.previous_copy_bytes += length;
            }
        }
        record.ever_retransmitted = true;
        // Below `resent_end`, segments may have been sent out of order; this closes the fast paths
        // that assume transmission in order.
        self.resent_end = self.resent_end.max(record.end());
        // The retransmission has its own transmission time, and may be marked lost like any segment
        // (RFC 8985 §5.2).
        record.overdue = false;
        record.sent = now;
        self.note_time(now, start);
    }

    /// Numbers of segments selectively acknowledged, marked lost (including those retransmitted),
    /// and retransmitted. All segments are visited, so this is for observers only.
    pub fn segment_counts(&self) -> (u64, u64, u64) {
        let count = |test: fn(&Record) -> bool| {
            self.records.iter().filter(|record| test(record)).count() as u64
        };
        let lost = count(|it| it.lost || (it.retransmitted && !it.previous_copy_in_flight));
        (count(|it| it.sacked), lost, count(|it| it.retransmitted || it.extra_copy_in_flight))
    }

    /// Regroups `count` newly selectively acknowledged segments as Linux regroups its packets. The
    /// first of them leaves its packet, and joins the previous one if that is selectively
    /// acknowledged. The others have joined the first, and the next packet joins the last in the
    /// same way (Linux `tcp_match_skb_to_sack`, `tcp_shift_skb_data`).
    pub(super) fn regroup(&mut self, index: usize, count: usize) {
        let joins = index > 0 && self.records[index - 1].sacked;
        if index > 0 {
            self.set_opens_burst(index, !joins);
        }
        if let Some(next) = self.records.get(index + count)
            && (joins || count > 1 || !next.sacked)
        {
            let is_apart = !next.sacked;
            self.set_opens_burst(index + count, is_apart);
        }
    }

    /// Ends a burst of retransmissions at `end`, unless it goes on (`may_go_on`) with a segment
    /// that belongs to the same burst and is lost, too. Returns true if it ends. The segment at
    /// `end` then opens a burst, if there is one (Linux `tcp_fragment`).
    pub fn cut_burst(&mut self, end: u64, may_go_on: bool) -> bool {
        let Some(index) = self.index_at(end) else { return true };
        let record = &self.records[index];
        if record.opens_burst {
            return true;
        }
        if may_go_on && record.lost {
            return false;
        }
        self.set_opens_burst(index, true);
        true
    }

    fn set_opens_burst(&mut self, index: usize, opens: bool) {
        let before = std::mem::replace(&mut self.records[index].opens_burst, opens);
        self.opened_bursts = self.opened_bursts + u64::from(opens) - u64::from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Delivered;

    /// Eight segments of 1000 bytes in two bursts of four.
    fn board() -> Scoreboard {
        let mut board = Scoreboard { as_linux: true, ..Scoreboard::default() };
        for segment in 0..8 {
            board.push(Time::ZERO, 1 + 1000 * segment, 1000);
            if segment % 4 == 0 {
                board.mark_burst_start();
            }
        }
        board
    }

    fn bursts_after(board: &mut Scoreboard, left: u64, right: u64) -> u64 {
        board.acknowledge(1, &[(left, right)], &mut Delivered::default());
        board.bursts_in_flight()
    }

    /// A selective acknowledgment of the second segment splits a packet of four segments into three
    /// packets. Each later segment joins the packet of the second when it is selectively
    /// acknowledged, finally all segments of the next packet.
    #[test]
    fn selectively_acknowledged_segments_are_one_packet() {
        let mut board = board();
        assert_eq!(board.bursts_in_flight(), 2);
        assert_eq!(bursts_after(&mut board, 1001, 2001), 4);
        assert_eq!(bursts_after(&mut board, 1001, 3001), 4);
        assert_eq!(bursts_after(&mut board, 1001, 4001), 3);
        assert_eq!(bursts_after(&mut board, 1001, 6001), 3);
        assert_eq!(bursts_after(&mut board, 1001, 8001), 2);
    }

    /// A burst of retransmissions goes on with a lost segment of the same burst. It ends at the
    /// next burst, at a segment that is not lost, and where the window ends it; the rest is then
    /// another burst.
    #[test]
    fn a_burst_of_retransmissions_ends_where_its_packet_ends() {
        let mut board = board();
        board.mark_lost_below(3_001);
        assert!(!board.cut_burst(1_001, true));
        assert!(board.cut_burst(4_001, true) && board.cut_burst(8_001, true));
        assert_eq!(board.bursts_in_flight(), 2);
        assert!(board.cut_burst(3_001, true), "this segment is not lost");
        assert!(board.cut_burst(2_001, false), "the window has no room");
        assert_eq!(board.bursts_in_flight(), 4);
        assert!(board.cut_burst(2_001, true), "cut off already");
    }

    /// A filled hole joins the packets on both sides.
    #[test]
    fn a_filled_hole_joins_both_sides() {
        let mut board = board();
        assert_eq!(bursts_after(&mut board, 1001, 2001), 4);
        assert_eq!(bursts_after(&mut board, 3001, 4001), 5);
        assert_eq!(bursts_after(&mut board, 2001, 3001), 3);
    }

    /// Three segments selectively acknowledged, three lost, of which two are retransmitted.
    #[test]
    fn segments_are_counted_by_their_state() {
        let mut board = board();
        assert_eq!(board.segment_counts(), (0, 0, 0));
        board.acknowledge(1, &[(5001, 8001)], &mut Delivered::default());
        board.mark_lost_below(3001);
        assert_eq!(board.segment_counts(), (3, 3, 0));
        board.mark_retransmitted(Time::ZERO, 1);
        board.mark_retransmitted(Time::ZERO, 1001);
        assert_eq!(board.segment_counts(), (3, 3, 2));
    }

    /// A tail loss probe may retransmit a later segment while the first lost one still waits.
    #[test]
    fn a_retransmission_out_of_turn_leaves_the_first_in_line() {
        let mut board = Scoreboard::default();
        for segment in 0..3 {
            board.push(Time::ZERO, 1 + 1000 * segment, 1000);
        }
        board.mark_lost_below(3_001);
        for (again, next) in [(2_001, Some(1)), (1, Some(1_001)), (1_001, None)] {
            board.mark_retransmitted(Time::ZERO, again);
            assert_eq!(board.next_to_retransmit().map(|(start, _)| start), next);
        }
    }
}
