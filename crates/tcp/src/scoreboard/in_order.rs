//! Handling of acknowledgments while everything arrives in order.

use super::Scoreboard;
use crate::work;
use retx_units::Time;

/// Segments that an acknowledgment has removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemovedSegments {
    /// Bytes of the removed segments.
    pub bytes: u64,
    /// Transmission time of the first segment; `None` if any segment was retransmitted (Karn).
    pub first_sent: Option<Time>,
}

/// Segments, each sent once, that an acknowledgment has removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemovedInTimeOrder {
    /// Bytes of the removed segments.
    pub bytes: u64,
    /// Number of segments.
    pub segments: u64,
    /// Transmission time of the first removed segment.
    pub first_sent: Time,
    pub last_sent: Time,
    /// Position after the last removed segment.
    pub end: u64,
}

impl Scoreboard {
    /// True if nothing is selectively acknowledged, marked lost, or in flight twice.
    pub fn is_in_order(&self) -> bool {
        let odd = self.lost_bytes
            | self.previous_copy_bytes
            | self.extra_copy_bytes
            | self.marked_segments;
        odd == 0 && self.sacked.is_empty()
    }

    /// True if everything in flight was sent once, and nothing of it was overtaken; the scoreboard
    /// must be [in order](Self::is_in_order).
    pub fn is_in_order_of_time(&self, snd_una: u64) -> bool {
        self.resent_end <= snd_una && self.resent.is_empty() && self.overtaken.is_empty()
    }

    /// Start and transmission time of the first segment in flight, if it ends at or before this
    /// position.
    #[inline(always)]
    pub fn first_below(&self, position: u64) -> Option<(u64, Time)> {
        let first = self.records.front().filter(|record| record.end() <= position)?;
        Some((first.start, first.sent))
    }

    /// Most recent transmission time of the first segment in flight.
    pub fn first_sent(&self) -> Option<Time> {
        self.records.front().map(|record| record.sent)
    }

    /// Index of the first segment that begins at or after `position`.
    #[inline]
    pub(super) fn first_index_from(&self, position: u64) -> usize {
        // Most segments have equal lengths, so the index can usually be computed. Shorter segments
        // before the position, of which there are few, raise the index.
        if let Some(front) = self.records.front() {
            if position <= front.start {
                return 0;
            }
            let before = (position - front.start) / u64::from(front.length.max(1));
            let starts = |index: usize| self.records.get(index).map(|record| record.start);
            let mut index = before as usize;
            for _ in 0..4 {
                match starts(index) {
                    Some(start) if start == position => return index,
                    Some(start) if start < position => index += 1,
                    _ => break,
                }
            }
        }
        self.records.partition_point(|record| record.start < position)
    }

    /// Like [`Scoreboard::acknowledge`] without blocks, for a scoreboard in order without
    /// transmission times.
    #[inline]
    pub(crate) fn acknowledge_in_order(&mut self, snd_una: u64) -> RemovedSegments {
        let mut taken = RemovedSegments { bytes: 0, first_sent: None };
        let mut again = false;
        let mut bursts = 0;
        self.records.pop_while(|record| {
            let goes = record.end() <= snd_una;
            if goes {
                work::steps(1);
                again |= record.ever_retransmitted;
                bursts += u64::from(record.opens_burst);
                taken.bytes += u64::from(record.length);
                taken.first_sent.get_or_insert(record.sent);
            }
            goes
        });
        self.opened_bursts -= bursts;
        if again {
            taken.first_sent = None;
        }
        taken
    }

    /// Like [`Scoreboard::acknowledge`] without blocks, for a scoreboard [in order of
    /// time](Self::is_in_order_of_time) whose first segment is acknowledged.
    /// `first_start` and `first_sent` are the result of [`Self::first_below`].
    #[inline]
    pub(crate) fn acknowledge_in_time_order(
        &mut self,
        snd_una: u64,
        (first_start, first_sent): (u64, Time),
    ) -> RemovedInTimeOrder {
        let mut bursts = 0;
        let segments = self.records.skip_while(0, |record| {
            let goes = record.end() <= snd_una;
            if goes {
                work::steps(1);
                bursts += u64::from(record.opens_burst);
            }
            goes
        });
        let last = segments.checked_sub(1).and_then(|last| self.records.get(last));
        let (last_sent, end) = last.map_or((first_sent, first_start), |it| (it.sent, it.end()));
        self.records.drop_front(segments);
        self.opened_bursts -= bursts;
        let (bytes, segments) = (end - first_start, segments as u64);
        RemovedInTimeOrder { bytes, segments, first_sent, last_sent, end }
    }

    /// Updates fields that are otherwise updated lazily, so that equivalent scoreboards compare
    /// equal.
    #[cfg(test)]
    pub(crate) fn normalise(&mut self, snd_una: u64) {
        self.examined = self.examined.max(snd_una);
        self.assumed.last_acked_segments = 0;
        self.next_original = self.next_original.max(snd_una);
        let (mut times, first) = (std::mem::take(&mut self.resent), self.first());
        times.retain(|(sent, start)| self.current_from(first, *sent, *start).is_some());
        self.resent = times;
        self.last_sack = None;
    }
}
