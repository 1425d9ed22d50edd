//! What an acknowledgment has delivered (RFC 8985 §6.2, RFC 9937 §5).

use crate::scoreboard::Record;
use retx_units::Time;

/// What an acknowledgment has delivered for the first time, cumulatively or selectively.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivered {
    /// Bytes that left the network: newly acknowledged and not selectively acknowledged before,
    /// plus newly selectively acknowledged.
    pub bytes: u64,
    /// Of these, newly selectively acknowledged.
    pub sacked: u64,
    /// Segments among them.
    pub segments: u64,
    /// The segment among them that was sent last: when, where it ends, and whether it had been
    /// retransmitted (RFC 8985 §6.2, step 2).
    pub newest: Option<Newest>,
    /// The same, of those never retransmitted.
    pub newest_original: Option<Newest>,
    /// That segment had been retransmitted, and yet it is its original that arrived: so the
    /// timestamp's echo says.
    pub original_arrived: bool,
    /// The lowest position selectively acknowledged by this ACK that was never retransmitted and
    /// lies below something acknowledged before: evidence of reordering (RFC 8985 §6.2, step 3). In
    /// Linux, of what was retransmitted, too, that a DSACK says has arrived twice.
    pub reordered: Option<u64>,
    /// The range that the ACK says has arrived twice (DSACK, RFC 2883), unless that cannot have
    /// come of a retransmission.
    pub dsack: Option<(u64, u64)>,
    /// The end of a range that it says has arrived twice, whatever the reason.
    pub twice_end: Option<u64>,
    /// Segments in flight before it that lie in the range of `dsack` and had been sent again.
    pub twice_in_flight: u64,
    /// The ACK carries a SACK option.
    pub reported: bool,
    /// The highest of those that it acknowledges cumulatively, …
    pub highest_acked: Option<Newest>,
    /// … and of those that it acknowledges selectively: what Linux measures RACK's RTT by.
    pub highest_sacked: Option<Newest>,
    /// When the first of the segments that it acknowledges cumulatively, and of those that it newly
    /// acknowledges selectively, was sent, of those never retransmitted.
    pub first_acked: Option<Time>,
    /// See above.
    pub first_sacked: Option<Time>,
    /// Send times of the last segments in the order of the stream.
    pub last_acked: Option<Time>,
    /// See above.
    pub last_sacked: Option<Time>,
    /// The lowest end of the segments that it delivers and that were never retransmitted.
    pub lowest_original_end: Option<u64>,
    /// Some segment that it acknowledges cumulatively had been retransmitted.
    pub acked_retransmitted: bool,
}

/// The most recently sent segment among those that an ACK delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newest {
    /// When it was sent last.
    pub sent: Time,
    /// Its end.
    pub end: u64,
    /// Whether it had been retransmitted.
    pub retransmitted: bool,
}

impl Newest {
    /// RFC 8985 §5.2, `RACK_sent_after`.
    pub fn is_after(&self, sent: Time, end: u64) -> bool {
        self.sent > sent || (self.sent == sent && self.end > end)
    }
}

impl Delivered {
    /// When the segment was sent that times this acknowledgment: by Karn's rule (RFC 6298 §3) none
    /// that is acknowledged together with a retransmitted one, then one selectively acknowledged.
    pub fn timed(&self) -> Option<Time> {
        self.first_acked.filter(|_| !self.acked_retransmitted).or(self.first_sacked)
    }

    /// When the segment was sent whose RTT Linux tells the congestion control (`ca_rtt_us`): the
    /// last one selectively acknowledged, else the last one acknowledged.
    pub fn timed_last(&self) -> Option<Time> {
        self.last_sacked.or(self.last_acked.filter(|_| !self.acked_retransmitted))
    }

    /// A segment is selectively acknowledged for the first time; what lay up to `highest` had been
    /// before, in part.
    pub(crate) fn take_sacked(&mut self, record: &Record, highest: u64) {
        self.bytes += u64::from(record.length);
        self.sacked += u64::from(record.length);
        self.note_sacked(record);
        if !record.ever_retransmitted && record.end() <= highest {
            self.note_reordered(record.start);
        }
    }

    /// A segment that begins there has arrived after one behind it.
    pub(crate) fn note_reordered(&mut self, start: u64) {
        self.reordered = Some(self.reordered.unwrap_or(u64::MAX).min(start));
    }

    /// A segment among those selectively acknowledged.
    fn note_sacked(&mut self, record: &Record) {
        self.note(record, true);
        if !record.ever_retransmitted {
            self.first_sacked.get_or_insert(record.sent);
            self.last_sacked = Some(record.sent);
        }
    }

    /// A segment acknowledged cumulatively that was not selectively.
    pub(crate) fn note_acked(&mut self, record: &Record) {
        self.note(record, false);
        if !record.ever_retransmitted {
            self.first_acked.get_or_insert(record.sent);
            self.last_acked = Some(record.sent);
        }
    }

    /// The first segments in flight, from `first` to `last`, are acknowledged cumulatively: so many
    /// that were sent once, in order.
    #[inline]
    pub(crate) fn note_originals(&mut self, first: &Record, last: &Record, count: u64) {
        self.bytes += last.end() - first.start;
        self.segments += count;
        self.first_acked.get_or_insert(first.sent);
        self.last_acked = Some(last.sent);
        let lowest = self.lowest_original_end.unwrap_or(u64::MAX);
        self.lowest_original_end = Some(lowest.min(first.end()));
        let newest = Some(Newest { sent: last.sent, end: last.end(), retransmitted: false });
        self.newest = newest;
        self.newest_original = newest;
        self.highest_acked = newest;
    }

    /// A segment is among what was delivered.
    fn note(&mut self, record: &Record, selectively: bool) {
        if !record.ever_retransmitted {
            let lowest = self.lowest_original_end.unwrap_or(u64::MAX);
            self.lowest_original_end = Some(lowest.min(record.end()));
        }
        self.segments += 1;
        let this = Newest {
            sent: record.sent,
            end: record.end(),
            retransmitted: record.ever_retransmitted,
        };
        let is_latest = |known: Option<Newest>| {
            known.is_none_or(|known| !known.is_after(record.sent, record.end()))
        };
        if is_latest(self.newest) {
            self.newest = Some(this);
        }
        if !this.retransmitted && is_latest(self.newest_original) {
            self.newest_original = Some(this);
        }
        let highest = if selectively { &mut self.highest_sacked } else { &mut self.highest_acked };
        if highest.is_none_or(|known| known.end < this.end) {
            *highest = Some(this);
        }
    }
}
