//! `drops`: every packet that was dropped.

use super::{integers, names, times};
use crate::reason::DropReason;
use crate::table::{Column, Names, Table};
use retx_units::Time;

/// Dropped packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropRow {
    /// Time of the drop: the arrival at a full queue, the end of a lost transmission, or the time
    /// at which a queue or a link gave the packet up.
    pub time: Time,
    /// Index of the place in [`Names::places`].
    pub place: u32,
    /// Reason why the packet was dropped.
    pub reason: DropReason,
    /// Index of the packet's flow.
    pub flow: u32,
    /// Packet number, if the packet travels in the direction of the flow's data and occupies
    /// sequence space.
    pub packet_number: Option<u64>,
    /// True if the segment contains bytes sent before.
    pub retransmission: bool,
}

/// All drops.
#[derive(Debug, Clone, Default)]
pub struct Drops {
    rows: Vec<DropRow>,
}

impl Drops {
    /// Appends a drop.
    pub fn push(&mut self, drop: DropRow) {
        self.rows.push(drop);
    }

    /// Sorts the drops by time, then by place.
    pub fn sort(&mut self) {
        self.rows.sort_by_key(|drop| (drop.time, drop.place));
    }

    /// All rows.
    pub fn rows(&self) -> &[DropRow] {
        &self.rows
    }

    /// Converts to a table: `time_s place reason flow packet_number retransmission`.
    pub fn to_table(&self, of: &Names) -> Table {
        let rows = &self.rows;
        let times_of: Vec<Time> = rows.iter().map(|row| row.time).collect();
        use DropReason::{Channel, Queue, RetryLimit, Script, Suppressed};
        let reasons = [Queue, Channel, RetryLimit, Script, Suppressed];
        let reason = Column::Name {
            codes: rows.iter().map(|row| row.reason as u32).collect(),
            names: reasons.iter().map(|reason| reason.name().to_owned()).collect(),
        };
        Table::new(
            "drops",
            vec![
                ("time_s", times(&times_of)),
                ("place", names(rows.iter().map(|row| row.place).collect(), &of.places)),
                ("reason", reason),
                ("flow", names(rows.iter().map(|row| row.flow).collect(), &of.flows)),
                ("packet_number", integers(rows.iter().map(|row| row.packet_number))),
                (
                    "retransmission",
                    Column::Flag(rows.iter().map(|row| row.retransmission).collect()),
                ),
            ],
        )
    }
}
