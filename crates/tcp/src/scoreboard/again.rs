//! What is sent again.

use super::Scoreboard;
use retx_units::Time;

impl Scoreboard {
    /// The segment that begins at `start` has been sent again.
    pub fn resent(&mut self, now: Time, start: u64) {
        let Some(index) = self.index_at(start) else { return };
        let record = &mut self.records[index];
        let length = u64::from(record.length);
        // RFC 6675 §4, `SetPipe`: the copy is in the network; the original only if it is not lost.
        if std::mem::take(&mut record.lost) {
            self.lost_bytes -= length;
            self.lost_segments -= 1;
        } else if !std::mem::replace(&mut record.doubled, true) {
            self.doubled_bytes += length;
        }
        record.ever_retransmitted = true;
        record.retransmitted = true;
        record.overdue = false;
        record.sent = now;
        self.note_time(now, start);
    }

    /// A segment has been sent again as a tail loss probe: in Linux (`tcp_send_loss_probe`) what is
    /// in flight stays the same.
    pub fn probed(&mut self, now: Time, start: u64) {
        let Some(index) = self.index_at(start) else { return };
        let record = &mut self.records[index];
        record.ever_retransmitted = true;
        record.overdue = false;
        record.sent = now;
        self.note_time(now, start);
    }

    /// True when the segment that begins at `start` is taken for lost.
    pub fn is_lost(&self, start: u64) -> bool {
        self.index_at(start).is_some_and(|index| self.records[index].lost)
    }
}
