//! `episodes`: every recovery of a sender with its true cause.

use super::{durations, names, times};
use crate::reason::{Cause, EpisodeKind, InferredCause, SubCause};
use crate::table::{Column, Names, Table};
use retx_units::{Duration, Time};

/// Recovery episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// Index of the flow.
    pub flow: u32,
    /// Kind of detection.
    pub kind: EpisodeKind,
    /// Time of detection.
    pub start: Time,
    /// End of the recovery, or start of the next episode; [`Time::NEVER`] if neither occurred.
    pub end: Time,
    /// Packet number of the segment that is retransmitted first.
    pub trigger_packet: u64,
    /// True cause, from the fate of the segment that is retransmitted first.
    pub cause: Cause,
    /// Reason why the episode was spurious; `None` for other episodes.
    pub sub_cause: Option<SubCause>,
    /// Cause inferred by the sender.
    pub inferred_cause: InferredCause,
    /// Congestion window before the reaction.
    pub cwnd_before_bytes: u64,
    /// Congestion window after the reaction, without the inflation of fast recovery.
    pub cwnd_after_bytes: u64,
    /// Retransmission timeout at the time of detection.
    pub rto: Duration,
    /// Number of backoffs included in the RTO.
    pub backoff: u32,
    /// Start of the segment that is retransmitted first. Not a column.
    pub trigger: u64,
    /// True if the newest copy of the segment at `trigger` is already a repair of the loss, such as
    /// a tail loss probe. The cause then depends on the copy before the repair. Not a column.
    pub repaired: bool,
    /// First row of the table `segments` (if recorded) that was sent after the start of the
    /// episode. It shows the order of events at the same instant. Not a column.
    pub next_segment: u32,
    /// Number of segments retransmitted from the start of this episode until the next one,
    /// including FINs.
    pub retransmitted: u64,
    /// Number of unnecessary retransmissions among `retransmitted`.
    pub unnecessary: u64,
}

/// All episodes, in order of start.
#[derive(Debug, Clone, Default)]
pub struct Episodes {
    rows: Vec<Episode>,
}

impl Episodes {
    /// Index of the row that the next episode will have.
    pub fn next_row(&self) -> u32 {
        u32::try_from(self.rows.len()).expect("at most 2^32 episodes")
    }

    /// Appends an episode.
    pub fn push(&mut self, episode: Episode) {
        self.rows.push(episode);
    }

    /// Mutable row of an episode, whose values may still change.
    pub fn row_mut(&mut self, row: u32) -> &mut Episode {
        &mut self.rows[row as usize]
    }

    /// All rows.
    pub fn rows(&self) -> &[Episode] {
        &self.rows
    }

    /// Converts to a table, see the fields of [`Episode`].
    pub fn to_table(&self, of: &Names) -> Table {
        let rows = &self.rows;
        let time = |of: fn(&Episode) -> Time| times(&rows.iter().map(of).collect::<Vec<_>>());
        let integer = |of: fn(&Episode) -> u64| Column::Integer(rows.iter().map(of).collect());
        Table::new(
            "episodes",
            vec![
                ("flow", names(rows.iter().map(|row| row.flow).collect(), &of.flows)),
                ("kind", EpisodeKind::column(rows.iter().map(|row| Some(row.kind)))),
                ("start_s", time(|row| row.start)),
                ("end_s", time(|row| row.end)),
                ("trigger_packet", integer(|row| row.trigger_packet)),
                ("cause", Cause::column(rows.iter().map(|row| Some(row.cause)))),
                ("sub_cause", SubCause::column(rows.iter().map(|row| row.sub_cause))),
                (
                    "inferred_cause",
                    InferredCause::column(rows.iter().map(|row| Some(row.inferred_cause))),
                ),
                ("cwnd_before_bytes", integer(|row| row.cwnd_before_bytes)),
                ("cwnd_after_bytes", integer(|row| row.cwnd_after_bytes)),
                ("rto_s", durations(rows.iter().map(|row| Some(row.rto)))),
                ("backoff", integer(|row| row.backoff.into())),
                ("retransmitted", integer(|row| row.retransmitted)),
                ("unnecessary", integer(|row| row.unnecessary)),
            ],
        )
    }
}
