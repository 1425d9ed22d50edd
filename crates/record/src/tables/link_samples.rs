//! `link_samples`: time series of the queues.

mod packed;

use super::{names, seconds_of};
use crate::table::{Column, Names, Table};
use packed::Packed;
use retx_units::{History, Time};

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

/// All samples, in order of time; at the same time in the order of the places. Those that were
/// pushed, or else all changes of queues.
#[derive(Debug, Clone, Default)]
pub struct LinkSamples {
    packed: Packed,
    /// How the queues have changed, by place.
    histories: Vec<History>,
    /// Up to when.
    end: Time,
}

impl LinkSamples {
    /// Another sample.
    pub fn push(&mut self, sample: LinkSample) {
        self.packed.push(sample);
    }

    /// How many have been pushed.
    pub const fn len(&self) -> usize {
        self.packed.rows()
    }

    /// True when none has been.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the queues of all places have changed up to `end`, by place; instead of samples.
    pub fn tell(&mut self, histories: Vec<History>, end: Time) {
        (self.histories, self.end) = (histories, end);
    }

    /// The rows, which are kept in another form.
    pub fn rows(&self) -> Vec<LinkSample> {
        if self.histories.is_empty() {
            let mut rows = Vec::with_capacity(self.len());
            rows.extend(self.packed.iter());
            return rows;
        }
        let of_place = |(place, history): (u32, &History)| {
            let changes = history.changes(self.end);
            changes
                .map(|(time, queue_packets)| LinkSample { time, place, queue_packets })
                .collect::<Vec<_>>()
        };
        let mut rows: Vec<LinkSample> = (0..).zip(&self.histories).flat_map(of_place).collect();
        // Each place's are in order, which makes this fast; and it leaves places in order.
        rows.sort_by_key(|row| row.time);
        rows
    }

    /// In columns: `time_s place queue_packets`.
    pub fn table(&self, of: &Names) -> Table {
        let rows = self.rows();
        Table::new(
            "link_samples",
            vec![
                ("time_s", Column::Float(rows.iter().map(|row| seconds_of(row.time)).collect())),
                ("place", names(rows.iter().map(|row| row.place).collect(), &of.places)),
                (
                    "queue_packets",
                    Column::Integer(rows.iter().map(|row| row.queue_packets).collect()),
                ),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_all_places_are_in_order_of_time() {
        let at = Time::from_nanos;
        let mut histories = [History::default(), History::default(), History::default()];
        histories[0].stay(at(5), at(9));
        histories[2].stay(at(3), at(5));
        histories[2].stay(at(5), at(30));
        let mut samples = LinkSamples::default();
        samples.tell(histories.into(), at(20));
        let found: Vec<(u64, u32, u64)> = samples
            .rows()
            .into_iter()
            .map(|row| (row.time.as_nanos(), row.place, row.queue_packets))
            .collect();
        assert_eq!(found, [(0, 0, 0), (0, 1, 0), (0, 2, 0), (3, 2, 1), (5, 0, 1), (9, 0, 0)]);
    }
}
