//! `segments`: every segment of a flow's data direction that occupied sequence space (SYN, data,
//! FIN), and its fate.

use super::{names, times};
use crate::reason::{EpisodeKind, SegmentFate};
use crate::table::{Column, Names, Table};
use retx_units::Time;
use std::collections::VecDeque;

/// Segment as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Index of the flow.
    pub flow: u32,
    /// Time of sending.
    pub sent: Time,
    /// Relative sequence number: SYN 0, first byte of data 1.
    pub seq: u64,
    /// Payload bytes.
    pub length_bytes: u32,
    /// Packet number in the numbering of ns-2 ([`super::packet_number`]).
    pub packet_number: u64,
    /// True if the segment contains bytes that had been sent before.
    pub retransmission: bool,
    /// Kind of the episode in which the segment was retransmitted; `None` for first transmissions.
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
    /// Appends a segment; returns its row.
    pub fn push(&mut self, segment: Segment) -> u32 {
        let row = self.next_row();
        self.sent.push(segment);
        self.fate.push(SegmentFate::OnItsWay);
        self.arrived.push(Time::NEVER);
        self.acked.push(Time::NEVER);
        row
    }

    /// Index of the row that the next segment will have.
    pub fn next_row(&self) -> u32 {
        u32::try_from(self.sent.len()).expect("at most 2^32 segments in a table")
    }

    /// Records that a segment has reached the receiver. If the network has made several copies, the
    /// first copy that the receiver accepts is recorded.
    pub fn set_delivered(&mut self, row: u32, now: Time) {
        if self.fate[row as usize] == SegmentFate::Delivered {
            return;
        }
        self.fate[row as usize] = SegmentFate::Delivered;
        self.arrived[row as usize] = now;
    }

    /// Records that the receiver has discarded the segment that just arrived.
    pub fn set_discarded(&mut self, row: u32) {
        self.fate[row as usize] = SegmentFate::Refused;
    }

    /// Records that a segment was dropped.
    pub fn set_dropped(&mut self, row: u32, fate: SegmentFate) {
        self.fate[row as usize] = fate;
    }

    /// Records that the sender knows everything up to the end of a segment to have arrived.
    pub fn set_acked(&mut self, row: u32, now: Time) {
        self.acked[row as usize] = now;
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// True if the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Rows as sent, with their fates.
    pub fn rows(&self) -> impl Iterator<Item = (&Segment, SegmentFate)> {
        self.sent.iter().zip(self.fate.iter().copied())
    }

    /// Time at which the sender learned that the segment of a row had arrived; [`Time::NEVER`] if
    /// it did not.
    pub fn acked_at(&self, row: u32) -> Time {
        self.acked[row as usize]
    }

    /// Converts to a table: `flow sent_s seq length_bytes packet_number retransmission cause fate
    /// arrived_s acked_s`.
    pub fn to_table(&self, of: &Names) -> Table {
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

/// Unacknowledged segments of one flow. Each entry is the position after the segment's end, and the
/// segment's row.
#[derive(Debug, Clone, Default)]
pub struct Unacked {
    /// First transmissions, in order of position.
    firsts: VecDeque<(u64, u32)>,
    retransmissions: Vec<(u64, u32)>,
}

impl Unacked {
    /// Adds a segment with its row; `end` is the position after its end.
    pub fn push(&mut self, end: u64, row: u32, retransmission: bool) {
        if retransmission {
            self.retransmissions.push((end, row));
        } else {
            self.firsts.push_back((end, row));
        }
    }

    /// Records that the sender knows everything before `position` to have arrived.
    pub fn on_acknowledged(&mut self, now: Time, position: u64, segments: &mut Segments) {
        while let Some(&(end, row)) = self.firsts.front()
            && end <= position
        {
            self.firsts.pop_front();
            segments.set_acked(row, now);
        }
        self.retransmissions.retain(|(end, row)| {
            if *end <= position {
                segments.set_acked(*row, now);
            }
            *end > position
        });
    }
}
