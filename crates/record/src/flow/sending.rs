//! Segments sent by the data sender: counts and records them, and determines whether a
//! retransmission is necessary.

use super::FlowRecord;
use super::episode::LastEpisode;
use crate::capture::Transmission;
use crate::counters::IdleEnd;
use crate::tables::{self, Tables, packet_number};
use crate::truth::{ArrivedData, Retransmission, SegmentCopy};
use retx_units::{Duration, Time};

/// Segment of the data sender that occupies sequence space.
#[derive(Debug, Clone, Copy)]
pub struct SentSegment {
    /// Number of the copy, and the range of the stream in it, including SYN and FIN.
    pub copy: SegmentCopy,
    /// Payload bytes.
    pub payload_bytes: u32,
}

impl FlowRecord {
    /// Counts a packet of any kind from the data sender. Returns its number, which is its
    /// [`SegmentCopy::number`] if it occupies sequence space.
    #[inline(always)]
    pub const fn count_packet(&mut self) -> u64 {
        let number = self.counters.frames_sent;
        self.counters.frames_sent += 1;
        number
    }

    /// Records a segment of the data sender; returns whether it is a retransmission, and of which
    /// kind. `longest_pause` returns the longest time between data that does not count as a pause:
    /// the smoothed RTT, or before the first RTT sample the retransmission timeout. It is called
    /// only if some time has passed since the last data.
    #[inline(always)]
    pub fn on_sent(
        &mut self,
        now: Time,
        segment: SentSegment,
        longest_pause: impl FnOnce() -> Duration,
        receiver: &impl ArrivedData,
    ) -> Transmission {
        if segment.payload_bytes > 0 {
            self.counters.segments_sent += 1;
            if now != self.last_data {
                self.note_pause(now, longest_pause());
            }
        }
        let SegmentCopy { from, to, .. } = segment.copy;
        if from >= self.sent_to {
            self.sent_to = to;
            return Transmission::First;
        }
        self.sent_again(now, segment, receiver)
    }

    /// Checks, when data are sent, whether the time since the last data is long enough for a pause.
    #[inline]
    fn note_pause(&mut self, now: Time, longest: Duration) {
        let last = std::mem::replace(&mut self.last_data, now);
        let drained = std::mem::take(&mut self.drained);
        let pause = now.since(last);
        if last != Time::NEVER && pause > longest {
            let end = if drained { IdleEnd::Application } else { self.idle_end };
            self.counters.idle.add(pause, end);
        }
    }

    /// Recovery to which a retransmission belongs. If the recovery has ended, a copy of the last
    /// data sent is a probe, of the tail or of a closed window, and belongs to none.
    fn recovery_of(&self, now: Time, copy: SegmentCopy) -> Option<LastEpisode> {
        self.episode.filter(|episode| episode.covers(now) || copy.to < self.sent_to)
    }

    #[cold]
    fn sent_again(
        &mut self,
        now: Time,
        segment: SentSegment,
        receiver: &impl ArrivedData,
    ) -> Transmission {
        let SentSegment { copy, payload_bytes } = segment;
        let sent_to = self.sent_to;
        self.sent_to = sent_to.max(copy.to);
        let episode = self.recovery_of(now, copy).and_then(LastEpisode::row);
        // Only data segments are counted, so a FIN alone is not.
        let counted = payload_bytes > 0;
        let again = Retransmission { copy, sent_to, episode, counted };
        let unnecessary = self.truth_mut().on_retransmitted(again, receiver);
        if counted {
            self.counters.segments_retransmitted += 1;
            self.counters.retransmissions_unnecessary += u64::from(unnecessary);
        }
        if unnecessary { Transmission::Unnecessary } else { Transmission::Necessary }
    }

    /// Writes a segment that was just [sent](Self::sent) into the tables; returns its row in
    /// `segments`, if that table is recorded. `smss` is the payload of a full-sized segment.
    pub fn write_sent(
        &mut self,
        (now, smss): (Time, u32),
        segment: SentSegment,
        transmission: Transmission,
        tables: &mut Tables,
    ) -> Option<u32> {
        let SentSegment { copy, payload_bytes } = segment;
        let retransmission = transmission != Transmission::First;
        let recovery = self.recovery_of(now, copy).filter(|_| retransmission);
        if let Some(row) = recovery.and_then(LastEpisode::row)
            && let Some(episodes) = &mut tables.episodes
        {
            let episode = episodes.row_mut(row);
            episode.retransmitted += 1;
            episode.unnecessary += u64::from(transmission == Transmission::Unnecessary);
        }
        let row = tables.segments.as_mut()?.push(tables::Segment {
            flow: self.flow,
            sent: now,
            seq: copy.from,
            length_bytes: payload_bytes,
            packet_number: packet_number(copy.from, smss),
            retransmission,
            cause: recovery.map(|episode| episode.kind),
        });
        self.unacked.get_or_insert_default().push(copy.to, row, retransmission);
        Some(row)
    }
}
