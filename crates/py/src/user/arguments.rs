//! Arguments of the methods of user classes. Amounts are in bytes, as integers; times are in
//! seconds.

mod ack;
mod loss;
mod sent;
mod window;

pub use ack::Ack;
pub use loss::{Loss, UnexplainedLoss};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use retx_units::{Duration, Time};
pub use sent::Sent;
pub use window::Window;

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

fn duration(secs: f64, what: &str) -> PyResult<Duration> {
    if secs >= 0.0 && secs.is_finite() {
        return Ok(Duration::from_secs_f64(secs));
    }
    Err(PyValueError::new_err(format!("{what} is {secs}: seconds are 0 or more")))
}

fn optional(secs: Option<f64>, what: &str) -> PyResult<Option<Duration>> {
    secs.map(|secs| duration(secs, what)).transpose()
}

fn instant(secs: f64) -> PyResult<Time> {
    Ok(Time::ZERO + duration(secs, "now")?)
}
