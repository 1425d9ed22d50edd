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
            record.retransmitted = true;
        } else if !self.as_linux {
            record.retransmitted = true;
            if !std::mem::replace(&mut record.doubled, true) {
                self.doubled_bytes += length;
            }
        }
        record.ever_retransmitted = true;
        record.overdue = false;
        record.sent = now;
        self.note_time(now, start);
    }
}
