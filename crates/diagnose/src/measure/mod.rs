//! Measurements of the path that a flow of a capture took, for `retx fit`.

mod arrivals;
mod copies;
mod delay;
mod queue;
mod rate;

use crate::answer::{self, Answer};
use crate::reader::ReadError;
use crate::run::{self, Wanted};
use serde::Serialize;
use std::io::Read;

/// A value with its 95 % interval, or why it cannot be known.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Estimate {
    /// The value; none where it cannot be known.
    pub value: Option<f64>,
    /// Lower end of the interval; without a value a bound, where there is one.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Evidence, or why the value cannot be known.
    pub evidence: String,
}

impl Estimate {
    fn known(value: f64, (low, high): (f64, f64), evidence: String) -> Self {
        Self { value: Some(value), low: Some(low), high: Some(high), evidence }
    }

    fn unknown(why: &str) -> Self {
        Self { evidence: why.to_owned(), ..Self::default() }
    }
}

/// The path of a flow.
#[derive(Debug, Clone, Serialize)]
pub struct Path {
    /// Rate of the bottleneck, bits per second of frames with 38 bytes beside the IP packet.
    pub rate_bit_s: Estimate,
    /// Propagation delay of both directions together.
    pub round_trip_s: Estimate,
    /// Queue before the bottleneck.
    pub queue: queue::Queue,
}

/// Measures the path of the flow of this number.
///
/// # Errors
/// The file is no capture.
pub fn measure<R: Read>(source: R, name: &str, number: usize) -> Result<(Answer, Option<Path>), ReadError> {
    let wanted = Wanted { pictured: None, watched: Some(number) };
    let mut answer = run::read(source, name, wanted, |_, _| ())?;
    let flow = answer.flows.iter_mut().find(|flow| flow.number == number);
    let path = flow.and_then(|flow| of_flow(flow));
    Ok((answer, path))
}

fn of_flow(flow: &mut answer::Flow) -> Option<Path> {
    let observed = flow.observed.take()?;
    let course = if flow.place == "receiver" {
        arrivals::of_arrivals(&observed)
    } else {
        copies::of_acknowledgments(&observed)
    };
    let rate_bit_s = rate::rate(&course);
    let round_trip_s = delay::round_trip(&observed, &course, rate_bit_s.value);
    let (queue, _) = queue::queue(&course, rate_bit_s.value);
    Some(Path { rate_bit_s, round_trip_s, queue })
}
