//! Tables of a run, written row by row.

mod acks;
mod drops;
mod episodes;
mod exchanges;
mod limits;
mod link_samples;
mod samples;
mod segments;
mod words;

pub use acks::{Ack, Acks};
pub use drops::{DropRow, Drops};
pub use episodes::{Episode, Episodes};
pub use exchanges::{Exchange, Exchanges};
pub use limits::LimitSpans;
pub use link_samples::{LinkSample, LinkSamples};
pub use samples::{Sample, Samples};
pub use segments::{Segment, Segments, Unacked};

use crate::table::{Column, NO_INTEGER};
use retx_units::{Duration, Time};

/// Tables that a run records.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// Time series of the senders.
    pub samples: Option<Samples>,
    /// Time series of the queues; recorded together with the samples.
    pub link_samples: Option<LinkSamples>,
    /// Every segment that occupied sequence space.
    pub segments: Option<Segments>,
    /// Every acknowledgment; recorded together with the segments.
    pub acks: Option<Acks>,
    /// Every packet that was dropped.
    pub drops: Option<Drops>,
    /// Every recovery episode.
    pub episodes: Option<Episodes>,
    /// Every request with a complete response.
    pub exchanges: Option<Exchanges>,
    /// Limits of the flows over time; recorded together with the samples.
    pub limits: Option<LimitSpans>,
}

/// Number of the segment at `position` as ns-2 counts packets: SYN 0, first data segment 1.
pub const fn packet_number(position: u64, smss: u32) -> u64 {
    match position.checked_sub(1) {
        None => 0,
        Some(offset) => offset.div_ceil(smss as u64) + 1,
    }
}

/// Converts an instant to seconds; [`Time::NEVER`] becomes NaN, the value of absent numbers.
fn seconds_of(time: Time) -> f64 {
    if time == Time::NEVER { f64::NAN } else { time.as_secs_f64() }
}

/// Converts a duration to seconds; `None` becomes NaN.
fn seconds(duration: Option<Duration>) -> f64 {
    duration.map_or(f64::NAN, Duration::as_secs_f64)
}

/// Column of instants in seconds.
fn times(values: &[Time]) -> Column {
    Column::Float(values.iter().copied().map(seconds_of).collect())
}

/// Column of durations in seconds.
fn durations(values: impl Iterator<Item = Option<Duration>>) -> Column {
    Column::Float(values.map(seconds).collect())
}

/// Column of integers, some of which may be absent.
fn integers(values: impl Iterator<Item = Option<u64>>) -> Column {
    Column::Integer(values.map(|value| value.unwrap_or(NO_INTEGER)).collect())
}

/// Column of indices into names.
fn names(codes: Vec<u32>, names: &[String]) -> Column {
    Column::Name { codes, names: names.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_numbered_as_in_ns2() {
        let numbers = [0, 1, 1461, 2921, 3000].map(|position| packet_number(position, 1460));
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
    }
}
