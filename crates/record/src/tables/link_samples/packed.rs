//! Compact storage of queue samples.
//!
//! A row takes two 32-bit words, or six. Usually two suffice, because time, place and queue length
//! differ little from the previous values.

use super::LinkSample;
use crate::tables::words::{Words, split_u64};
use retx_units::Time;

/// Packed rows.
#[derive(Debug, Clone, Default)]
pub(super) struct PackedRows {
    words: Vec<u32>,
    rows: usize,
    before: Before,
}

/// State after the previous rows; the next row is stored relative to it.
#[derive(Debug, Clone, Default)]
struct Before {
    time: u64,
    place: u32,
    /// Last queue length of each place; [`UNWRITTEN`] before its first row.
    queues: Vec<u64>,
}

/// Value for the queue length of a place without a row so far.
const UNWRITTEN: u64 = u64::MAX;
/// First word of a row in which place, time and queue length follow in full. Any other first word
/// is the time since the previous row; a second word then holds the differences of place and queue
/// length, 16 bits each.
const WHOLE: u32 = u32::MAX;

impl Before {
    fn queue(&mut self, place: u32) -> &mut u64 {
        if place as usize >= self.queues.len() {
            self.queues.resize(place as usize + 1, UNWRITTEN);
        }
        &mut self.queues[place as usize]
    }
}

impl PackedRows {
    /// Number of rows.
    pub const fn row_count(&self) -> usize {
        self.rows
    }

    /// Appends a row.
    pub fn push(&mut self, LinkSample { time, place, queue_packets }: LinkSample) {
        self.rows += 1;
        let time = time.as_nanos();
        let last = std::mem::replace(self.before.queue(place), queue_packets);
        let after = time.wrapping_sub(std::mem::replace(&mut self.before.time, time));
        let place_step =
            place.wrapping_sub(std::mem::replace(&mut self.before.place, place)) as i32;
        let step = queue_packets.wrapping_sub(last) as i64;
        let is_near = last != UNWRITTEN && after < u64::from(WHOLE);
        match (i16::try_from(place_step), i16::try_from(step)) {
            (Ok(place_step), Ok(step)) if is_near => {
                let steps = u32::from(place_step as u16) | u32::from(step as u16) << 16;
                self.words.extend_from_slice(&[after as u32, steps]);
            }
            _ => self.push_whole(time, place, queue_packets),
        }
    }

    fn push_whole(&mut self, time: u64, place: u32, queue: u64) {
        let ([time, later], [queue, more]) = (split_u64(time), split_u64(queue));
        self.words.extend_from_slice(&[WHOLE, place, time, later, queue, more]);
    }

    pub fn iter(&self) -> impl Iterator<Item = LinkSample> {
        Reader { words: Words::new(&self.words), before: Before::default() }
    }
}

struct Reader<'a> {
    words: Words<'a>,
    before: Before,
}

impl Iterator for Reader<'_> {
    type Item = LinkSample;

    fn next(&mut self) -> Option<LinkSample> {
        let first = self.words.next_row()?;
        if first == WHOLE {
            self.before.place = self.words.next_word();
            self.before.time = self.words.next_u64();
            let queue = self.words.next_u64();
            *self.before.queue(self.before.place) = queue;
        } else {
            let steps = self.words.next_word();
            self.before.time += u64::from(first);
            let place_step = i32::from(steps as u16 as i16);
            self.before.place = self.before.place.wrapping_add_signed(place_step);
            let queue = self.before.queue(self.before.place);
            *queue = queue.wrapping_add_signed(i64::from((steps >> 16) as u16 as i16));
        }
        let Before { time, place, queues } = &self.before;
        let queue_packets = queues[*place as usize];
        Some(LinkSample { time: Time::from_nanos(*time), place: *place, queue_packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Rows are read back unchanged, whether they differ little or much from the previous row.
        #[test]
        fn what_is_put_in_comes_out(
            rows in prop::collection::vec((0u32..5, 0u64..1 << 34, 0u32..4, -9i64..9), 0..300),
        ) {
            let (mut packed, mut samples) = (PackedRows::default(), Vec::new());
            let (mut time, mut queues) = (0, [40u64; 5]);
            for (place, after, scale, step) in rows {
                time += after >> (8 * scale);
                let queue = &mut queues[place as usize];
                // The differences of place 4 are 20,000 times larger, so they do not fit into 16
                // bits.
                let factor = if place == 4 { 20_000 } else { i64::from(scale.max(1)) };
                *queue = queue.saturating_add_signed(step * factor);
                let sample = LinkSample {
                    time: Time::from_nanos(time),
                    place: if place == 3 { 40_000 } else { place },
                    queue_packets: *queue,
                };
                packed.push(sample);
                samples.push(sample);
            }
            prop_assert_eq!(packed.row_count(), samples.len());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), samples);
        }
    }

    #[test]
    fn a_little_change_takes_eight_bytes() {
        let mut packed = PackedRows::default();
        let mut sizes = Vec::new();
        for (number, (place, queue_packets)) in
            [(2, 5), (3, 0), (2, 6), (3, 0), (2, 1), (3, 40_000)].into_iter().enumerate()
        {
            let time = Time::from_nanos(12_000 * number as u64);
            let before = packed.words.len();
            packed.push(LinkSample { time, place, queue_packets });
            sizes.push(4 * (packed.words.len() - before));
        }
        assert_eq!(sizes, [24, 24, 8, 8, 8, 24]);
    }
}
