//! `link_samples`: time series of the queues.

mod packed;

use super::{names, seconds_of};
use crate::table::{Column, Names, Table};
use packed::PackedRows;
use retx_units::{QueueLengthHistory, Time};

/// Queue length at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSample {
    /// Time of the sample.
    pub time: Time,
    /// Index of the place in [`Names::places`]: directions of links, followed by stations.
    pub place: u32,
    /// Number of waiting packets, without packets in transmission.
    pub queue_packets: u64,
}

/// All samples, sorted by time, then by place. They are the samples pushed, or one sample for each
/// change of a queue length.
#[derive(Debug, Clone, Default)]
pub struct LinkSamples {
    packed: PackedRows,
    /// Queue length over time, by place.
    histories: Vec<QueueLengthHistory>,
    /// End of the histories.
    end: Time,
}

impl LinkSamples {
    /// Appends a sample.
    pub fn push(&mut self, sample: LinkSample) {
        self.packed.push(sample);
    }

    /// Number of samples pushed.
    pub const fn len(&self) -> usize {
        self.packed.row_count()
    }

    /// True if no sample has been pushed.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the queue lengths over time up to `end`, by place; they are used instead of samples.
    pub fn add_histories(&mut self, histories: Vec<QueueLengthHistory>, end: Time) {
        (self.histories, self.end) = (histories, end);
    }

    /// All rows, unpacked.
    pub fn rows(&self) -> Vec<LinkSample> {
        if self.histories.is_empty() {
            let mut rows = Vec::with_capacity(self.len());
            rows.extend(self.packed.iter());
            return rows;
        }
        let of_place = |(place, history): (u32, &QueueLengthHistory)| {
            let changes = history.changes(self.end);
            changes
                .map(|(time, queue_packets)| LinkSample { time, place, queue_packets })
                .collect::<Vec<_>>()
        };
        let mut rows: Vec<LinkSample> = (0..).zip(&self.histories).flat_map(of_place).collect();
        // The rows of each place are already sorted, which makes this fast. The sort is stable, so
        // rows of equal times stay in the order of places.
        rows.sort_by_key(|row| row.time);
        rows
    }

    /// Converts to a table: `time_s place queue_packets`.
    pub fn to_table(&self, of: &Names) -> Table {
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
        let mut histories = [
            QueueLengthHistory::default(),
            QueueLengthHistory::default(),
            QueueLengthHistory::default(),
        ];
        histories[0].add_packet(at(5), at(9));
        histories[2].add_packet(at(3), at(5));
        histories[2].add_packet(at(5), at(30));
        let mut samples = LinkSamples::default();
        samples.add_histories(histories.into(), at(20));
        let found: Vec<(u64, u32, u64)> = samples
            .rows()
            .into_iter()
            .map(|row| (row.time.as_nanos(), row.place, row.queue_packets))
            .collect();
        assert_eq!(found, [(0, 0, 0), (0, 1, 0), (0, 2, 0), (3, 2, 1), (5, 0, 1), (9, 0, 0)]);
    }
}
