//! Recovery episodes: they are counted, attributed to their true cause, and recorded.

use super::FlowRecord;
use super::limits::Reduction;
use crate::counters::IdleEnd;
use crate::reason::{EpisodeKind, SenderInference};
use crate::tables::{self, Segments, Tables, packet_number};
use crate::truth::{ArrivedData, EpisodeRow, Trigger};
use retx_units::{Duration, Time};

/// Latest episode of a sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastEpisode {
    /// Row in the table `episodes`; `u32::MAX` if that table is not recorded.
    row: u32,
    pub kind: EpisodeKind,
    /// Time of its end; [`Time::NEVER`] before.
    end: Time,
}

impl LastEpisode {
    pub fn row(self) -> EpisodeRow {
        (self.row != u32::MAX).then_some(self.row)
    }

    /// True if a retransmission at this time belongs to the recovery. The acknowledgment that ends
    /// a recovery may release a last one.
    pub fn covers(&self, now: Time) -> bool {
        now <= self.end
    }
}

/// Loss detected by the sender, correctly or not.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeStart {
    /// Time of detection.
    pub at: Time,
    /// Kind of detection, and the cause that the sender inferred.
    pub inference: SenderInference,
    /// Segment that is retransmitted first.
    pub trigger: Trigger,
    /// Payload of a full-sized segment, bytes.
    pub smss: u32,
    /// Congestion window before the reaction, bytes.
    pub cwnd_before_bytes: u64,
    /// Congestion window after the reaction, without the inflation of fast recovery, bytes.
    pub cwnd_after_bytes: u64,
    /// Retransmission timeout at the time of detection.
    pub rto: Duration,
    /// Number of doublings that `rto` contains.
    pub backoff: u32,
    /// Number of doublings in the timeout after the reaction.
    pub backoff_now: u32,
    /// True if the episode concerns the same window of data as an earlier one. An undo then
    /// restores the congestion window that was in force before the earlier episode.
    pub same_window_of_data: bool,
    /// True if the timer that has expired was started before the last partial ACK of the previous
    /// recovery: see [`Reduction::stale_timer`].
    pub stale_timer: bool,
}

impl FlowRecord {
    /// Records that the sender has detected a loss, correctly or not.
    #[cold]
    pub fn begin_episode(
        &mut self,
        start: EpisodeStart,
        receiver: &impl ArrivedData,
        tables: &mut Tables,
    ) {
        self.end_episode(start.at, tables);
        let EpisodeStart { inference, trigger, .. } = start;
        let row = tables.episodes.as_ref().map(tables::Episodes::next_row);
        let (cause, sub_cause) = self.truth_mut().record_episode(inference, trigger, row, receiver);
        self.counters.episodes.add(inference, cause);
        let episode = self.truth_mut().episode_count();
        let reduction = Reduction {
            episode,
            cause,
            by_timer: inference.kind == EpisodeKind::Rto,
            same_window_of_data: start.same_window_of_data,
            stale_timer: start.stale_timer,
        };
        self.counters.limited_by.note_reduction(start.at, self.last_data, &reduction);
        if inference.kind == EpisodeKind::Rto {
            self.idle_end = IdleEnd::Rto;
            self.counters.max_backoff.note(start.backoff_now);
        }
        if let Some(episodes) = &mut tables.episodes {
            episodes.push(tables::Episode {
                flow: self.flow,
                kind: inference.kind,
                start: start.at,
                end: Time::NEVER,
                trigger_packet: packet_number(trigger.position, start.smss),
                cause,
                sub_cause,
                inferred_cause: inference.inferred,
                cwnd_before_bytes: start.cwnd_before_bytes,
                cwnd_after_bytes: start.cwnd_after_bytes,
                rto: start.rto,
                backoff: start.backoff,
                trigger: trigger.position,
                repaired: trigger.repaired,
                next_segment: tables.segments.as_ref().map_or(0, Segments::next_row),
                retransmitted: 0,
                unnecessary: 0,
            });
        }
        let row = row.unwrap_or(u32::MAX);
        self.episode = Some(LastEpisode { row, kind: inference.kind, end: Time::NEVER });
    }

    /// Records the end of a recovery; the start of the next episode ends it, too.
    pub fn end_episode(&mut self, now: Time, tables: &mut Tables) {
        if let Some(episode) = &mut self.episode
            && episode.end == Time::NEVER
        {
            episode.end = now;
            if let (Some(row), Some(episodes)) = (episode.row(), &mut tables.episodes) {
                episodes.row_mut(row).end = now;
            }
        }
    }
}
