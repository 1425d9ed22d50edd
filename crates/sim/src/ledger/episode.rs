//! Recovery episodes: how they are counted and written down.

use super::{Ledger, Receiver};
use crate::recorder::Recorder;
use retx_record::counters::IdleEnd;
use retx_record::reason::{Belief, EpisodeKind, SaidCause};
use retx_record::tables::{self, Segments, packet_number};
use retx_record::truth::{Row, Trigger};
use retx_tcp::{Connection, loss_cause};
use retx_units::Time;

/// What is kept of an episode.
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

impl Ledger {
    /// The sender has found a loss, or believes so.
    #[cold]
    pub fn episode(
        &mut self,
        now: Time,
        (kind, episode): (EpisodeKind, &retx_tcp::Episode),
        ends: [&Connection; 2],
        to: &mut Recorder,
    ) {
        self.end_episode(now, to);
        let flow = self.flow;
        let row = to.tables.episodes.as_ref().map(|episodes| episodes.next_row());
        let said = match episode.said {
            loss_cause::Cause::Congestion => SaidCause::Congestion,
            loss_cause::Cause::Corruption => SaidCause::Corruption,
        };
        let belief = Belief { kind, said };
        let trigger = Trigger { position: episode.trigger, repaired: episode.repaired };
        let (cause, sub_cause) = self.truth().episode(belief, trigger, row, &Receiver(ends[1]));
        self.counters.episodes.add(belief, cause);
        if kind == EpisodeKind::Rto {
            self.impulse = IdleEnd::Rto;
            self.counters.max_backoff = self.counters.max_backoff.max(ends[0].backoff());
        }
        if let Some(episodes) = &mut to.tables.episodes {
            episodes.push(tables::Episode {
                flow,
                kind,
                start: now,
                end: Time::NEVER,
                trigger_packet: packet_number(episode.trigger, ends[0].window().smss),
                cause,
                sub_cause,
                said_cause: said,
                cwnd_before_bytes: episode.cwnd_before,
                cwnd_after_bytes: episode.cwnd_after,
                rto: episode.rto,
                backoff: episode.backoff,
                trigger: episode.trigger,
                repaired: episode.repaired,
                next_segment: to.tables.segments.as_ref().map_or(0, Segments::next_row),
                retransmitted: 0,
                unnecessary: 0,
            });
        }
        let row = row.unwrap_or(u32::MAX);
        self.episode = Some(LastEpisode { row, kind, over: false });
    }

    /// Recovery is over, or the next one begins.
    pub fn end_episode(&mut self, now: Time, to: &mut Recorder) {
        if let Some(episode) = &mut self.episode
            && !std::mem::replace(&mut episode.over, true)
            && let (Some(row), Some(episodes)) = (episode.row(), &mut to.tables.episodes)
        {
            episodes.row_mut(row).end = now;
        }
    }
}
