//! `acks`: every acknowledgment that a flow's data receiver sent, with or without data, and its
//! fate.

use super::{names, times};
use crate::reason::SegmentFate;
use crate::table::{Column, Names, Table};
use retx_units::Time;

/// Acknowledgment as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Index of the flow.
    pub flow: u32,
    /// Time of sending.
    pub sent: Time,
    /// Relative acknowledgment number, on the scale of `seq` in the `segments` table.
    pub ack: u64,
    /// Advertised window, bytes.
    pub window_bytes: u64,
}

/// All acknowledgments, in the order of sending.
#[derive(Debug, Clone, Default)]
pub struct Acks {
    sent: Vec<Ack>,
    fate: Vec<SegmentFate>,
    arrived: Vec<Time>,
}

impl Acks {
    /// Appends an acknowledgment; returns its row.
    pub fn push(&mut self, ack: Ack) -> u32 {
        self.sent.push(ack);
        self.fate.push(SegmentFate::OnItsWay);
        self.arrived.push(Time::NEVER);
        u32::try_from(self.sent.len() - 1).expect("at most 2^32 acknowledgments in a table")
    }

    /// Records that an acknowledgment has reached the data sender. If several copies arrive, the
    /// time of the first is kept.
    pub fn set_delivered(&mut self, row: u32, now: Time) {
        if self.fate[row as usize] == SegmentFate::Delivered {
            return;
        }
        self.fate[row as usize] = SegmentFate::Delivered;
        self.arrived[row as usize] = now;
    }

    /// Records that an acknowledgment was dropped.
    pub fn set_dropped(&mut self, row: u32, fate: SegmentFate) {
        self.fate[row as usize] = fate;
    }

    /// Acknowledgments in the order of transmission, each with its fate.
    pub fn rows(&self) -> impl Iterator<Item = (&Ack, SegmentFate)> {
        self.sent.iter().zip(self.fate.iter().copied())
    }

    /// Converts to a table: `flow sent_s ack window_bytes fate arrived_s`.
    pub fn to_table(&self, of: &Names) -> Table {
        let sent = &self.sent;
        let sent_at: Vec<Time> = sent.iter().map(|row| row.sent).collect();
        Table::new(
            "acks",
            vec![
                ("flow", names(sent.iter().map(|row| row.flow).collect(), &of.flows)),
                ("sent_s", times(&sent_at)),
                ("ack", Column::Integer(sent.iter().map(|row| row.ack).collect())),
                (
                    "window_bytes",
                    Column::Integer(sent.iter().map(|row| row.window_bytes).collect()),
                ),
                ("fate", SegmentFate::column(self.fate.iter().map(|fate| Some(*fate)))),
                ("arrived_s", times(&self.arrived)),
            ],
        )
    }
}
