//! Data delivered by an acknowledgment (RFC 8985 §6.2, RFC 9937 §5).

use super::{Record, SackedRun};
use retx_units::Time;

/// Data that an acknowledgment has newly delivered, cumulatively or selectively.
#[derive(Debug, Clone, Copy, Default)]
pub struct Delivered {
    /// Bytes newly delivered: those newly acknowledged selectively, and those acknowledged
    /// cumulatively that were not selectively acknowledged before.
    pub bytes: u64,
    /// Part of `bytes` that is newly acknowledged selectively.
    pub sacked: u64,
    /// Number of segments newly delivered.
    pub segments: u64,
    /// Most recently sent segment among those newly delivered (RFC 8985 §6.2, step 2).
    pub newest: Option<Newest>,
    /// Most recently sent segment among those newly delivered and never retransmitted.
    pub newest_original: Option<Newest>,
    /// True if `newest` had been retransmitted, but the timestamp echo shows that its original
    /// arrived.
    pub original_arrived: bool,
    /// Evidence of reordering (RFC 8985 §6.2, step 3): the lowest position of newly acknowledged
    /// data that were never retransmitted and lie below data acknowledged earlier. In Linux, also
    /// the position of retransmitted data that a DSACK reports as arrived twice.
    pub reordered: Option<u64>,
    /// Range that a DSACK reports as arrived twice (RFC 2883); `None` without a DSACK, or if no
    /// retransmission can be the cause.
    pub dsack: Option<(u64, u64)>,
    /// End of a range reported as arrived twice, whatever the cause.
    pub dsack_end: Option<u64>,
    /// Number of retransmitted segments in the range of `dsack` that were in flight before this
    /// ACK.
    pub dsacked_in_flight: u64,
    /// True if the ACK carries a SACK option.
    pub has_sack: bool,
    /// True if the acknowledgment number lies below `SND.UNA`.
    pub is_old: bool,
    /// Highest segment acknowledged cumulatively. Linux measures RACK's RTT by this segment and
    /// `highest_sacked`.
    pub highest_acked: Option<Newest>,
    /// Highest segment acknowledged selectively.
    pub highest_sacked: Option<Newest>,
    /// Transmission time of the first segment acknowledged cumulatively that was never
    /// retransmitted.
    pub first_acked: Option<Time>,
    /// Transmission time of the first segment newly acknowledged selectively that was never
    /// retransmitted.
    pub first_sacked: Option<Time>,
    /// Transmission time of the last segment in the stream that was acknowledged cumulatively and
    /// never retransmitted.
    pub last_acked: Option<Time>,
    /// Transmission time of the last segment in the stream that was newly acknowledged selectively
    /// and never retransmitted.
    pub last_sacked: Option<Time>,
    /// Lowest end of the delivered segments that were never retransmitted.
    pub lowest_original_end: Option<u64>,
    /// True if a cumulatively acknowledged segment had been retransmitted.
    pub acked_retransmitted: bool,
}

/// Most recently sent segment among those delivered by an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Newest {
    /// Time of the segment's most recent transmission.
    pub sent: Time,
    /// Position after the segment.
    pub end: u64,
    /// True if the segment had been retransmitted.
    pub retransmitted: bool,
}

impl Newest {
    /// True if this segment was sent after another one, which was sent at `sent` and ends at `end`
    /// (RFC 8985 §5.2, `RACK_sent_after`).
    pub fn is_after(&self, sent: Time, end: u64) -> bool {
        self.sent > sent || (self.sent == sent && self.end > end)
    }
}

impl Delivered {
    /// Transmission time of the segment that gives this acknowledgment's RTT sample: the first one
    /// acknowledged cumulatively, if none of those was ever retransmitted (Karn's rule, RFC 6298
    /// §3); otherwise the first one acknowledged selectively.
    pub fn rtt_sent(&self) -> Option<Time> {
        self.first_acked.filter(|_| !self.acked_retransmitted).or(self.first_sacked)
    }

    /// Transmission time of the segment whose RTT Linux passes to the congestion control
    /// (`ca_rtt_us`): the last one selectively acknowledged, otherwise the last one acknowledged.
    pub fn ca_rtt_sent(&self) -> Option<Time> {
        self.last_sacked.or(self.last_acked.filter(|_| !self.acked_retransmitted))
    }

    /// Selective acknowledgment of one segment that was sent once, at `sent`, above all data
    /// acknowledged before.
    #[inline(always)]
    pub(super) fn of_original(sent: Time, end: u64, length: u64) -> Self {
        let newest = Some(Newest { sent, end, retransmitted: false });
        Self {
            bytes: length,
            sacked: length,
            segments: 1,
            newest,
            newest_original: newest,
            highest_sacked: newest,
            first_sacked: Some(sent),
            last_sacked: Some(sent),
            lowest_original_end: Some(end),
            has_sack: true,
            ..Self::default()
        }
    }

    /// Adds newly selectively acknowledged segments; `highest` is the end of the highest data that
    /// had been acknowledged before.
    #[inline]
    pub(crate) fn add_sacked(&mut self, run: &SackedRun, highest: u64) {
        let SackedRun { first, last, count } = run;
        let bytes = last.end() - first.start;
        self.bytes += bytes;
        self.sacked += bytes;
        self.segments += count;
        // The last of several segments, each sent once, is the newest and the highest.
        self.note(last, true);
        if first.ever_retransmitted {
            return;
        }
        self.note_original_end(first.end());
        self.first_sacked.get_or_insert(first.sent);
        self.last_sacked = Some(last.sent);
        if first.end() <= highest {
            self.note_reordered(first.start);
        }
    }

    /// Records a segment at `start` that arrived after a segment above it.
    pub(crate) fn note_reordered(&mut self, start: u64) {
        self.reordered = Some(self.reordered.unwrap_or(u64::MAX).min(start));
    }

    fn note_original_end(&mut self, end: u64) {
        self.lowest_original_end = Some(self.lowest_original_end.unwrap_or(u64::MAX).min(end));
    }

    /// Adds a segment acknowledged cumulatively and not selectively before.
    pub(crate) fn add_acked(&mut self, record: &Record) {
        self.segments += 1;
        self.note(record, false);
        if !record.ever_retransmitted {
            self.note_original_end(record.end());
            self.first_acked.get_or_insert(record.sent);
            self.last_acked = Some(record.sent);
        }
    }

    /// Adds `count` cumulatively acknowledged segments, from `first` to `last`. They were the
    /// lowest in flight, and each was sent once, in order.
    #[inline]
    pub(crate) fn add_originals(&mut self, first: &Record, last: &Record, count: u64) {
        self.bytes += last.end() - first.start;
        self.segments += count;
        self.first_acked.get_or_insert(first.sent);
        self.last_acked = Some(last.sent);
        self.note_original_end(first.end());
        let newest = Some(Newest { sent: last.sent, end: last.end(), retransmitted: false });
        self.newest = newest;
        self.newest_original = newest;
        self.highest_acked = newest;
    }

    /// Compares a delivered segment with the newest and the highest so far.
    fn note(&mut self, record: &Record, selectively: bool) {
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
