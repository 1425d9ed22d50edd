//! Recovery episodes: counted, given their true cause, written down.

use super::FlowRecord;
use super::limits::Reduction;
use crate::counters::IdleEnd;
use crate::reason::{Belief, EpisodeKind};
use crate::tables::{self, Segments, Tables, packet_number};
use crate::truth::{Arrived, Row, Trigger};
use retx_units::{Duration, Time};

/// The last episode of a sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastEpisode {
    /// Its row; `u32::MAX` without a table.
    row: u32,
    pub kind: EpisodeKind,
    over: bool,
}

impl LastEpisode {
    pub fn row(self) -> Row {
        (self.row != u32::MAX).then_some(self.row)
    }
}

/// A loss that the sender has found, or believes in.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeStart {
    /// When.
    pub at: Time,
    /// How it found the loss, and what it took it for.
    pub belief: Belief,
    /// The segment that is retransmitted first.
    pub trigger: Trigger,
    /// Payload of a full segment.
    pub smss: u32,
    /// `cwnd` before the reaction.
    pub cwnd_before_bytes: u64,
    /// `cwnd` after it, without what fast recovery adds.
    pub cwnd_after_bytes: u64,
    /// The timeout that was in force.
    pub rto: Duration,
    /// Doublings in it.
    pub backoff: u32,
    /// Doublings in the timeout now in force.
    pub backoff_now: u32,
}

impl FlowRecord {
    /// The sender has found a loss, or believes so.
    #[cold]
    pub fn begin_episode(
        &mut self,
        start: EpisodeStart,
        receiver: &impl Arrived,
        tables: &mut Tables,
    ) {
        self.end_episode(start.at, tables);
        let EpisodeStart { belief, trigger, .. } = start;
        let row = tables.episodes.as_ref().map(tables::Episodes::next_row);
        let (cause, sub_cause) = self.truth_mut().episode(belief, trigger, row, receiver);
        self.counters.episodes.add(belief, cause);
        let episode = self.truth_mut().episodes();
        let reduction = Reduction { episode, cause, by_timer: belief.kind == EpisodeKind::Rto };
        self.counters.limited_by.reduce(start.at, self.last_data, &reduction);
        if belief.kind == EpisodeKind::Rto {
            self.idle_end = IdleEnd::Rto;
            self.counters.max_backoff.note(start.backoff_now);
        }
        if let Some(episodes) = &mut tables.episodes {
            episodes.push(tables::Episode {
                flow: self.flow,
                kind: belief.kind,
                start: start.at,
                end: Time::NEVER,
                trigger_packet: packet_number(trigger.position, start.smss),
                cause,
                sub_cause,
                said_cause: belief.said,
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
        self.episode = Some(LastEpisode { row, kind: belief.kind, over: false });
    }

    /// Recovery is over, or the next one begins.
    pub fn end_episode(&mut self, now: Time, tables: &mut Tables) {
        if let Some(episode) = &mut self.episode
            && !std::mem::replace(&mut episode.over, true)
            && let (Some(row), Some(episodes)) = (episode.row(), &mut tables.episodes)
        {
            episodes.row_mut(row).end = now;
        }
    }
}
