//! `link_samples`: time series of the queues.

use super::{names, times};
use crate::table::{Column, Names, Table};
use retx_units::Time;

/// A queue at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSample {
    /// When.
    pub time: Time,
    /// Where: index of the link's direction, or behind those of the station.
    pub place: u32,
    /// Packets that wait; those in transmission are not counted.
    pub queue_packets: u64,
}

/// All samples, in order of time; at the same time in the order of the places.
#[derive(Debug, Clone, Default)]
pub struct LinkSamples {
    rows: Vec<LinkSample>,
    /// The queue written last, by place.
    last: Vec<Option<u64>>,
}

impl LinkSamples {
    /// Another sample.
    pub fn push(&mut self, sample: LinkSample) {
        self.rows.push(sample);
    }

    /// Another sample, unless it says what the last one of that place does.
    pub fn push_changed(&mut self, sample: LinkSample) {
        let place = sample.place as usize;
        if self.last.len() <= place {
            self.last.resize(place + 1, None);
        }
        if self.last[place].replace(sample.queue_packets) != Some(sample.queue_packets) {
            self.rows.push(sample);
        }
    }

    /// The rows.
    pub fn rows(&self) -> &[LinkSample] {
        &self.rows
    }

    /// In columns: `time_s place queue_packets`.
    pub fn table(&self, of: &Names) -> Table {
        let rows = &self.rows;
        let times_of: Vec<Time> = rows.iter().map(|row| row.time).collect();
        let queues = rows.iter().map(|row| row.queue_packets).collect();
        Table::new(
            "link_samples",
            vec![
                ("time_s", times(&times_of)),
                ("place", names(rows.iter().map(|row| row.place).collect(), &of.places)),
                ("queue_packets", Column::Integer(queues)),
            ],
        )
    }
}
