//! `link_samples`: time series of the queues.
//!
//! Rows are kept in one, two or six words of 32 bits: mostly the queue of the place of the row
//! before has become a little longer or shorter, a little later.

use super::{names, seconds_of};
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
    words: Vec<u32>,
    rows: usize,
    before: Before,
}

/// The rows before, as far as the next one builds on them.
#[derive(Debug, Clone, Default)]
struct Before {
    time: u64,
    place: u32,
    /// The queue written last, by place.
    queues: Vec<u64>,
}

/// No row of that place has been written.
const UNWRITTEN: u64 = u64::MAX;
/// A second word has the place's step and the queue's in 16 bits each.
const TWO_WORDS: u32 = 1 << 30;
/// The place, the time and the queue follow, whole.
const WHOLE: u32 = 1 << 31;
const TIME_BITS: u32 = 26;
/// Where the time since the row before is.
const TIME: u32 = (1 << TIME_BITS) - 1;
/// Where the queue's step is in a row of one word, between the time and [`TWO_WORDS`].
const STEP_BITS: u32 = 4;
/// What is added to it, so that it is positive.
const STEP_BASE: u64 = 1 << (STEP_BITS - 1);

impl Before {
    #[inline]
    fn queue(&mut self, place: u32) -> &mut u64 {
        if place as usize >= self.queues.len() {
            self.add(place);
        }
        &mut self.queues[place as usize]
    }

    #[cold]
    fn add(&mut self, place: u32) {
        self.queues.resize(place as usize + 1, UNWRITTEN);
    }
}

impl LinkSamples {
    /// Another sample.
    pub fn push(&mut self, sample: LinkSample) {
        let last = self.before.queue(sample.place);
        let last = std::mem::replace(last, sample.queue_packets);
        self.write(sample, last);
    }

    /// Another sample, unless it says what the last one of that place does.
    #[inline]
    pub fn push_changed(&mut self, sample: LinkSample) {
        let last = self.before.queue(sample.place);
        let last = std::mem::replace(last, sample.queue_packets);
        if last != sample.queue_packets {
            self.write(sample, last);
        }
    }

    /// Another row; `last` is the queue of the place's last row.
    #[inline(always)]
    fn write(&mut self, LinkSample { time, place, queue_packets }: LinkSample, last: u64) {
        self.rows += 1;
        let time = time.as_nanos();
        let after = time.wrapping_sub(std::mem::replace(&mut self.before.time, time));
        let place_step =
            place.wrapping_sub(std::mem::replace(&mut self.before.place, place)) as i32;
        let step = queue_packets.wrapping_sub(last);
        if after > u64::from(TIME) || last == UNWRITTEN {
            return self.push_whole(time, place, queue_packets);
        }
        let raised = step.wrapping_add(STEP_BASE);
        if place_step == 0 && raised < 1 << STEP_BITS {
            return self.words.push(after as u32 | (raised as u32) << TIME_BITS);
        }
        if i64::from(step as i16) as u64 != step || i32::from(place_step as i16) != place_step {
            return self.push_whole(time, place, queue_packets);
        }
        let steps = u32::from(place_step as u16) | u32::from(step as u16) << 16;
        self.words.extend_from_slice(&[TWO_WORDS | after as u32, steps]);
    }

    #[cold]
    #[inline(never)]
    fn push_whole(&mut self, time: u64, place: u32, queue: u64) {
        let halves = |long: u64| [long as u32, (long >> 32) as u32];
        let ([time, later], [queue, more]) = (halves(time), halves(queue));
        self.words.extend_from_slice(&[WHOLE, place, time, later, queue, more]);
    }

    /// How many rows there are.
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// True without a row.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows, which are kept in another form.
    pub fn rows(&self) -> Vec<LinkSample> {
        let mut rows = Vec::with_capacity(self.rows);
        rows.extend(self.iter());
        rows
    }

    fn iter(&self) -> impl Iterator<Item = LinkSample> {
        Reader { words: self.words.iter(), before: Before::default() }
    }

    /// In columns: `time_s place queue_packets`.
    pub fn table(&self, of: &Names) -> Table {
        let mut times = Vec::with_capacity(self.rows);
        let mut places = Vec::with_capacity(self.rows);
        let mut queues = Vec::with_capacity(self.rows);
        for row in self.iter() {
            times.push(seconds_of(row.time));
            places.push(row.place);
            queues.push(row.queue_packets);
        }
        Table::new(
            "link_samples",
            vec![
                ("time_s", Column::Float(times)),
                ("place", names(places, &of.places)),
                ("queue_packets", Column::Integer(queues)),
            ],
        )
    }
}

struct Reader<'a> {
    words: std::slice::Iter<'a, u32>,
    before: Before,
}

impl Reader<'_> {
    fn word(&mut self) -> u32 {
        *self.words.next().expect("a row is written as a whole")
    }

    fn long(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }
}

impl Iterator for Reader<'_> {
    type Item = LinkSample;

    fn next(&mut self) -> Option<LinkSample> {
        let first = *self.words.next()?;
        if first & WHOLE != 0 {
            self.before.place = self.word();
            self.before.time = self.long();
            let queue = self.long();
            *self.before.queue(self.before.place) = queue;
        } else {
            self.before.time += u64::from(first & TIME);
            let step = if first & TWO_WORDS != 0 {
                let steps = self.word();
                let place_step = i32::from(steps as u16 as i16);
                self.before.place = self.before.place.wrapping_add_signed(place_step);
                i64::from((steps >> 16) as u16 as i16)
            } else {
                i64::from(first >> TIME_BITS) - STEP_BASE as i64
            };
            let queue = self.before.queue(self.before.place);
            *queue = queue.wrapping_add_signed(step);
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
        /// Whatever is put in comes out, be it near the row before or far from it.
        #[test]
        fn what_is_put_in_comes_out(
            rows in prop::collection::vec((0u32..5, 0u64..1 << 28, 0u32..4, -9i64..9), 0..300),
        ) {
            let (mut packed, mut samples) = (LinkSamples::default(), Vec::new());
            let (mut time, mut queues) = (0, [40u64; 5]);
            for (place, after, scale, step) in rows {
                time += after >> (8 * scale);
                let queue = &mut queues[place as usize];
                // At times by thousands, or by more than has room in 16 bits.
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
            prop_assert_eq!(packed.is_empty(), samples.is_empty());
            prop_assert_eq!(packed.rows(), samples);
        }
    }

    #[test]
    fn a_little_change_takes_four_bytes() {
        let mut packed = LinkSamples::default();
        let mut sizes = Vec::new();
        for (number, (place, queue_packets)) in
            [(2, 5), (2, 6), (2, 6), (2, 0), (3, 0), (2, 1), (2, 9)].into_iter().enumerate()
        {
            let time = Time::from_nanos(12_000 * number as u64);
            let before = packed.words.len();
            packed.push_changed(LinkSample { time, place, queue_packets });
            sizes.push(4 * (packed.words.len() - before));
        }
        assert_eq!(sizes, [24, 4, 0, 4, 24, 8, 8]);
    }
}
