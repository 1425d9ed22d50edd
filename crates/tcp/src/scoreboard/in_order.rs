//! While everything arrives in order there is nothing to find out about it.

use super::Scoreboard;
use crate::work;
use retx_units::Time;

/// Segments that an acknowledgment has taken off the board.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InOrder {
    /// Bytes of whole segments.
    pub bytes: u64,
    /// When the first of them was sent, where none had been sent again (Karn).
    pub first_sent: Option<Time>,
}

impl Scoreboard {
    /// Nothing is selectively acknowledged, taken for lost, or in flight twice.
    pub fn is_in_order(&self) -> bool {
        let odd = self.lost_bytes | self.doubled_bytes | self.surplus_bytes | self.marked_segments;
        odd == 0 && self.sacked.is_empty()
    }

    /// When the first segment in flight was sent last.
    pub fn first_sent(&self) -> Option<Time> {
        self.records.front().map(|record| record.sent)
    }

    /// The index of the first segment that begins at `position` or after it.
    #[inline]
    pub(super) fn first_from(&self, position: u64) -> usize {
        // Nearly all are of one length.
        if let Some(front) = self.records.front() {
            let before = position.saturating_sub(front.start) / u64::from(front.length.max(1));
            let index = before as usize;
            if self.records.get(index).is_some_and(|record| record.start == position) {
                return index;
            }
        }
        self.records.partition_point(|record| record.start < position)
    }

    /// [`Scoreboard::acknowledge`] without blocks, for a board in order that is not asked for the
    /// order of time.
    #[inline]
    pub(crate) fn acknowledge_in_order(&mut self, snd_una: u64) -> InOrder {
        let mut taken = InOrder { bytes: 0, first_sent: None };
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

    /// Brings what is remembered of segments that have gone up to date, so that boards which behave
    /// alike look alike.
    #[cfg(test)]
    pub(crate) fn tidy(&mut self, snd_una: u64) {
        self.examined = self.examined.max(snd_una);
        self.assumed.acknowledged = 0;
        self.told = None;
    }
}
