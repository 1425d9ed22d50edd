//! `episodes`: every recovery of a sender, and what truly was behind it.

use super::{durations, names, times};
use crate::reason::{Cause, EpisodeKind, SaidCause, SubCause};
use crate::table::{Column, Names, Table};
use retx_units::{Duration, Time};

/// A recovery episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// Index of the flow.
    pub flow: u32,
    /// How the sender found the loss.
    pub kind: EpisodeKind,
    /// When.
    pub start: Time,
    /// When recovery was over, or the next episode began; [`Time::NEVER`] if it never was.
    pub end: Time,
    /// Number of the segment that is retransmitted first.
    pub trigger_packet: u64,
    /// What truly was behind it.
    pub cause: Cause,
    /// For a spurious one: what made the sender believe in a loss.
    pub sub_cause: Option<SubCause>,
    /// What the sender took it to be.
    pub said_cause: SaidCause,
    /// `cwnd` before the reaction.
    pub cwnd_before_bytes: u64,
    /// `cwnd` after it, without what fast recovery adds.
    pub cwnd_after_bytes: u64,
    /// The timeout in force.
    pub rto: Duration,
    /// Doublings in it.
    pub backoff: u32,
    /// Where that segment begins. No column.
    pub trigger: u64,
    /// Its newest copy is a retransmission from before, which may have arrived: the cause is that
    /// of the copy before. No column.
    pub repaired: bool,
    /// The first row of the `segments` table, if that is kept, that was sent after it began. No
    /// column: it tells what came first of what happened at the same instant.
    pub next_segment: u32,
    /// Segments retransmitted from here until the next episode, FINs included.
    pub retransmitted: u64,
    /// Of these, the unnecessary ones.
    pub unnecessary: u64,
}

/// All episodes, in the order in which they began.
#[derive(Debug, Clone, Default)]
pub struct Episodes {
    rows: Vec<Episode>,
}

impl Episodes {
    /// The row that the next episode will have.
    pub fn next_row(&self) -> u32 {
        u32::try_from(self.rows.len()).expect("at most 2^32 episodes")
    }

    /// Another episode.
    pub fn push(&mut self, episode: Episode) {
        self.rows.push(episode);
    }

    /// A row, to complete it.
    pub fn row_mut(&mut self, row: u32) -> &mut Episode {
        &mut self.rows[row as usize]
    }

    /// The rows.
    pub fn rows(&self) -> &[Episode] {
        &self.rows
    }

    /// In columns, see the fields of [`Episode`].
    pub fn table(&self, of: &Names) -> Table {
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
                ("said_cause", SaidCause::column(rows.iter().map(|row| Some(row.said_cause)))),
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
