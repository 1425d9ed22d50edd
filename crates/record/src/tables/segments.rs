//! `segments`: every segment of a flow's data direction that took sequence space (SYN, data, FIN),
//! and what became of it.

use super::{names, times};
use crate::reason::{EpisodeKind, SegmentFate};
use crate::table::{Column, Names, Table};
use retx_units::Time;
use std::collections::VecDeque;

/// A segment as it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Index of the flow.
    pub flow: u32,
    /// When.
    pub sent: Time,
    /// Relative sequence number: SYN 0, first byte of data 1.
    pub seq: u64,
    /// Payload bytes.
    pub length_bytes: u32,
    /// Counted as ns-2 does.
    pub packet_number: u64,
    /// Some of it had been sent before.
    pub retransmission: bool,
    /// For a retransmission: the kind of the episode in which it was sent.
    pub cause: Option<EpisodeKind>,
}

/// All segments, in the order of sending.
#[derive(Debug, Clone, Default)]
pub struct Segments {
    sent: Vec<Segment>,
    fate: Vec<SegmentFate>,
    arrived: Vec<Time>,
    acked: Vec<Time>,
}

impl Segments {
    /// Another segment; returns its row.
    pub fn push(&mut self, segment: Segment) -> u32 {
        let row = self.next_row();
        self.sent.push(segment);
        self.fate.push(SegmentFate::OnItsWay);
        self.arrived.push(Time::NEVER);
        self.acked.push(Time::NEVER);
        row
    }

    /// The row that the next segment will have.
    pub fn next_row(&self) -> u32 {
        u32::try_from(self.sent.len()).expect("at most 2^32 segments in a table")
    }

    /// A segment reached the receiver. Copies that the network has made of it are one: the first
    /// counts that the receiver does not throw away.
    pub fn delivered(&mut self, row: u32, now: Time) {
        if self.fate[row as usize] == SegmentFate::Delivered {
            return;
        }
        self.fate[row as usize] = SegmentFate::Delivered;
        self.arrived[row as usize] = now;
    }

    /// The receiver has thrown away what it has just got.
    pub fn refused(&mut self, row: u32) {
        self.fate[row as usize] = SegmentFate::Refused;
    }

    /// A segment was dropped.
    pub fn dropped(&mut self, row: u32, fate: SegmentFate) {
        self.fate[row as usize] = fate;
    }

    /// The sender has heard that everything up to a segment's end has arrived.
    pub fn acked(&mut self, row: u32, now: Time) {
        self.acked[row as usize] = now;
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// True without a row.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// The rows as they were sent, and the fate of each.
    pub fn rows(&self) -> impl Iterator<Item = (&Segment, SegmentFate)> {
        self.sent.iter().zip(self.fate.iter().copied())
    }

    /// When the sender heard that a row's segment has arrived; [`Time::NEVER`] if it never did.
    pub fn acked_at(&self, row: u32) -> Time {
        self.acked[row as usize]
    }

    /// In columns: `flow sent_s seq length_bytes packet_number retransmission cause fate arrived_s
    /// acked_s`.
    pub fn table(&self, of: &Names) -> Table {
        let sent = &self.sent;
        let sent_at: Vec<Time> = sent.iter().map(|row| row.sent).collect();
        let integer = |of: fn(&Segment) -> u64| Column::Integer(sent.iter().map(of).collect());
        Table::new(
            "segments",
            vec![
                ("flow", names(sent.iter().map(|row| row.flow).collect(), &of.flows)),
                ("sent_s", times(&sent_at)),
                ("seq", integer(|row| row.seq)),
                ("length_bytes", integer(|row| row.length_bytes.into())),
                ("packet_number", integer(|row| row.packet_number)),
                (
                    "retransmission",
                    Column::Flag(sent.iter().map(|row| row.retransmission).collect()),
                ),
                ("cause", EpisodeKind::column(sent.iter().map(|row| row.cause))),
                ("fate", SegmentFate::column(self.fate.iter().map(|fate| Some(*fate)))),
                ("arrived_s", times(&self.arrived)),
                ("acked_s", times(&self.acked)),
            ],
        )
    }
}

/// Rows of one flow's segments that are not yet acknowledged, by the position after each.
#[derive(Debug, Clone, Default)]
pub struct Unacked {
    /// In order of position.
    firsts: VecDeque<(u64, u32)>,
    retransmissions: Vec<(u64, u32)>,
}

impl Unacked {
    /// A segment that ends before `end` was written into this row.
    pub fn push(&mut self, end: u64, row: u32, retransmission: bool) {
        if retransmission {
            self.retransmissions.push((end, row));
        } else {
            self.firsts.push_back((end, row));
        }
    }

    /// The sender has heard that everything before `position` has arrived.
    pub fn acknowledged(&mut self, now: Time, position: u64, segments: &mut Segments) {
        while let Some(&(end, row)) = self.firsts.front()
            && end <= position
        {
            self.firsts.pop_front();
            segments.acked(row, now);
        }
        self.retransmissions.retain(|(end, row)| {
            if *end <= position {
                segments.acked(*row, now);
            }
            *end > position
        });
    }
}
