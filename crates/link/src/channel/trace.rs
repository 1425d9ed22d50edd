//! *What it does.* Replays recorded losses, delays and rates: a table over time, or the delivery
//! opportunities of a Mahimahi trace.
//!
//! *Reference.* Mahimahi's packet-delivery traces (Netravali et al. 2015; the README of
//! mahimahi-traces). Each line is the time, in milliseconds, of an opportunity to deliver 1500
//! bytes. The trace is repeated after its last line. An opportunity is lost if no packet waits.
//!
//! *Equations.* Each value holds from its instant to the next one; the last value holds until the
//! end of the run, or until the table repeats after `every`. Losses are drawn independently. Delays
//! are added to the delay of the link. Rates replace the rate of the link; when the rate changes, a
//! frame in transmission continues at the new rate. The loss rate is the mean over `every`.
//!
//! *Where we differ.* mm-link adds 4 bytes of tunnel header to each packet, and an opportunity has
//! 1504 bytes there. Here an opportunity has 1500 bytes, and the length of the IP packet is
//! subtracted from them, without the link's overhead.
//!
//! When a scenario is read, `file` is replaced by the table that the file contains, so a resolved
//! scenario needs no other file.

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, checked, independent_burst};
use crate::rates::Rates;
use retx_units::{Duration, Probability, RandomStream, Rate, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Loss, delay and rate over time, from a file or from a list; or a Mahimahi trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Config {
    /// A file; its path is relative to the scenario's. A CSV file has a header: time_s, and one or
    /// more of loss, delay_s and rate_bit_s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Format of `file`; CSV by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Loss, delay and rate over time; in place of a file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
    /// Times of the delivery opportunities of a Mahimahi trace, in milliseconds; in place of a
    /// file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opportunities_ms: Vec<u64>,
    /// Period after which a table repeats; without it, the last values hold for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "every")]
    pub period: Option<Duration>,
}

checked!(Config);

/// Format of a trace file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// CSV table with a header.
    #[default]
    Csv,
    /// Mahimahi trace: each line is the time, in milliseconds, of an opportunity to send 1500
    /// bytes.
    Mahimahi,
}

/// Row of a table over time: values that hold from an instant on. All rows of a table set the same
/// quantities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Instant from which the values hold; 0 s in the first row.
    pub at: Duration,
    /// Probability of losing a frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Delay in addition to the link's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Rate of the link, which must not have a `rate` of its own; may be 0 for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Number of bytes that one delivery opportunity of a Mahimahi trace can carry.
const OPPORTUNITY_BYTES: u32 = 1500;
/// Latest permitted time of a delivery opportunity: one year (366 days).
const LATEST_MS: u64 = 366 * 86_400_000;

impl Config {
    fn check(&self) -> Result<(), String> {
        if let Some(file) = &self.file {
            let message = format!("\"{file}\" has not been read: only scenarios read files");
            return Err(choice::error_at("file", &message));
        }
        if self.format.is_some() {
            return Err(choice::error_at("format", "belongs to `file`"));
        }
        match (self.points.as_slice(), self.opportunities_ms.as_slice()) {
            ([], []) => Err("needs file, points or opportunities_ms".into()),
            ([_, ..], [_, ..]) => Err(choice::error_at(
                "points",
                "contradicts `opportunities_ms`: write one or the other",
            )),
            ([], [_, ..]) if self.period.is_some() => Err(choice::error_at(
                "every",
                "belongs to `points`: opportunities come again anyway",
            )),
            ([], opportunities) => check_opportunities(opportunities),
            (points, _) => self.check_points(points),
        }
    }

    fn check_points(&self, points: &[Point]) -> Result<(), String> {
        let first = points[0];
        let refuse = |index: usize, key: &str, message: &str| {
            Err(choice::error_at(&format!("points.{index}{key}"), message))
        };
        if first.loss.is_none() && first.delay.is_none() && first.rate.is_none() {
            return refuse(0, "", "says nothing: give it loss, delay or rate");
        }
        if !first.at.is_zero() {
            let message = format!("{}: the first point is at 0 s", first.at);
            return refuse(0, ".at", &message);
        }
        for (index, pair) in points.windows(2).enumerate() {
            let [one, next] = pair else { continue };
            if next.at <= one.at {
                let message = format!("{} does not come after {}", next.at, one.at);
                return refuse(index + 1, ".at", &message);
            }
            let kinds =
                |point: &Point| [point.loss.is_some(), point.delay.is_some(), point.rate.is_some()];
            let missing = kinds(&first).into_iter().zip(kinds(next)).position(|(a, b)| a != b);
            if let Some(which) = missing {
                let key = ["loss", "delay", "rate"][which];
                let message = format!("`{key}` stands in some points only: a gap in the trace");
                return refuse(index + 1, "", &message);
            }
        }
        let last = points[points.len() - 1].at;
        match self.period {
            Some(period) if period <= last => {
                let message = format!("{period} is too short: the last point is at {last}");
                Err(choice::error_at("every", &message))
            }
            Some(_) if first.rate.is_some() && points.iter().all(|point| stalls(point.rate)) => {
                refuse(0, ".rate", "0 bit/s throughout: nothing would ever be sent")
            }
            _ => Ok(()),
        }
    }
}

fn stalls(rate: Option<Rate>) -> bool {
    rate.is_some_and(|rate| rate.as_bit_s() == 0)
}

fn check_opportunities(list: &[u64]) -> Result<(), String> {
    let at = |index: usize, message: String| {
        Err(choice::error_at(&format!("opportunities_ms.{index}"), &message))
    };
    let back = list.windows(2).position(|pair| pair[1] < pair[0]);
    if let Some(index) = back {
        return at(index + 1, format!("{} goes back behind {}", list[index + 1], list[index]));
    }
    match list.last() {
        Some(0) => at(
            list.len() - 1,
            "0: the last millisecond, after which the trace comes again, \
             is above 0"
                .into(),
        ),
        Some(last) if *last > LATEST_MS => {
            at(list.len() - 1, format!("{last} lies beyond a year, {LATEST_MS}"))
        }
        _ => Ok(()),
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State {
            points: self.points.clone(),
            period: self.period.map_or(u64::MAX, Duration::as_nanos),
        }
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        let Some(first) = self.points.first() else { return Some(0.0) };
        if first.loss.is_none() {
            return Some(0.0);
        }
        let period = self.period?;
        let ends = self.points.iter().skip(1).map(|point| point.at).chain([period]);
        let each = self.points.iter().zip(ends).map(|(point, end)| {
            point.loss.unwrap_or_default().value() * (end - point.at).as_secs_f64()
        });
        Some(each.sum::<f64>() / period.as_secs_f64())
    }

    fn mean_burst(&self, _: u32) -> Option<f64> {
        match self.points.as_slice() {
            [Point { loss: Some(loss), .. }] => independent_burst(loss.value()),
            _ => None,
        }
    }

    fn rates(&self) -> Option<Rates> {
        if !self.opportunities_ms.is_empty() {
            let at = self.opportunities_ms.iter().map(|ms| Duration::from_millis(*ms)).collect();
            return Some(Rates::Opportunities { at, bytes: OPPORTUNITY_BYTES });
        }
        let steps: Option<Vec<(Duration, Rate)>> =
            self.points.iter().map(|point| Some((point.at, point.rate?))).collect();
        Some(Rates::Steps { steps: steps?, period: self.period })
    }

    fn only_loses(&self) -> bool {
        self.points.iter().all(|point| point.delay.is_none() && point.rate.is_none())
            && self.opportunities_ms.is_empty()
    }

    fn keeps_order(&self) -> bool {
        true
    }
}

/// Running trace: its points, and its period in nanoseconds.
#[derive(Debug, Clone)]
pub struct State {
    points: Vec<Point>,
    period: u64,
}

impl Channel for State {
    fn fate(&mut self, now: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        let at = Duration::from_nanos(now.as_nanos() % self.period);
        let begun = self.points.partition_point(|point| point.at <= at);
        // The first row of a table is at 0 s. Only a trace of delivery opportunities has no rows.
        let Some(point) = self.points[..begun].last() else { return DELIVER };
        // One draw per frame, even at probability 0, so that runs with different traces use the
        // same draws.
        if let Some(loss) = point.loss
            && stream.uniform() < loss.value()
        {
            return Fate::Lose(Reason::Channel);
        }
        Fate::Deliver { extra_delay: point.delay.unwrap_or_default() }
    }
}
