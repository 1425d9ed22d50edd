//! Segments that are sent again, and counts of segments by their state.

use super::{Record, Scoreboard};
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

    /// Segments selectively acknowledged, taken for lost (those sent again included), and sent
    /// again: for those who look on, by a pass over all.
    pub fn counts(&self) -> (u64, u64, u64) {
        let count = |test: fn(&Record) -> bool| {
            self.records.iter().filter(|record| test(record)).count() as u64
        };
        let lost = count(|it| it.lost || (it.retransmitted && !it.doubled));
        (count(|it| it.sacked), lost, count(|it| it.retransmitted || it.surplus))
    }
}
