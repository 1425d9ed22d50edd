//! Losses that the methods of user classes get: those attributed to congestion, and those whose
//! cause is to be decided.

use super::window::Window;
use super::{instant, optional, seconds};
use pyo3::prelude::*;
use retx_tcp::congestion_control as model;
use retx_tcp::loss_cause;

/// Loss attributed to congestion.
#[pyclass(frozen, module = "retx")]
#[derive(Debug)]
pub struct Loss {
    inner: model::Loss,
}

impl From<&model::Loss> for Loss {
    fn from(loss: &model::Loss) -> Self {
        Self { inner: *loss }
    }
}

#[pymethods]
impl Loss {
    #[new]
    #[pyo3(signature = (*, now = 0.0, flight_size = 0, snd_una = 0, snd_max = 0, srtt = None))]
    fn new_for_tests(
        now: f64,
        flight_size: u64,
        snd_una: u64,
        snd_max: u64,
        srtt: Option<f64>,
    ) -> PyResult<Self> {
        let (now, srtt) = (instant(now)?, optional(srtt, "srtt")?);
        Ok(Self { inner: model::Loss { now, flight_size, snd_una, snd_max, srtt } })
    }

    /// Time at which the loss was detected, in seconds since the start of the run.
    #[getter]
    fn now(&self) -> f64 {
        self.inner.now.as_secs_f64()
    }

    /// Bytes in flight when the loss was detected (FlightSize of RFC 5681 §2).
    #[getter]
    fn flight_size(&self) -> u64 {
        self.inner.flight_size
    }

    /// First unacknowledged position.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.inner.snd_una
    }

    /// Position after the last byte that was ever sent.
    #[getter]
    fn snd_max(&self) -> u64 {
        self.inner.snd_max
    }

    /// Smoothed RTT; None before the first sample.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.inner.srtt.map(seconds)
    }

    fn __repr__(&self) -> String {
        format!("Loss(now={}, flight_size={}, …)", self.now(), self.inner.flight_size)
    }
}

/// Loss whose cause is to be decided, with the sender's state at its detection.
#[pyclass(frozen, module = "retx")]
#[derive(Debug)]
pub struct UnexplainedLoss {
    inner: loss_cause::Loss,
}

impl From<&loss_cause::Loss> for UnexplainedLoss {
    fn from(loss: &loss_cause::Loss) -> Self {
        Self { inner: *loss }
    }
}

#[pymethods]
impl UnexplainedLoss {
    #[new]
    #[pyo3(signature = (
        window, *, now = 0.0, by_timeout = false, srtt = None, last_rtt = None, flight_size = 0,
        lost_segments = 1, notified = false
    ))]
    fn new_for_tests(
        window: &Window,
        now: f64,
        by_timeout: bool,
        srtt: Option<f64>,
        last_rtt: Option<f64>,
        flight_size: u64,
        lost_segments: u64,
        notified: bool,
    ) -> PyResult<Self> {
        let inner = loss_cause::Loss {
            now: instant(now)?,
            by_timeout,
            srtt: optional(srtt, "srtt")?,
            last_rtt: optional(last_rtt, "last_rtt")?,
            window: window.inner,
            flight_size,
            lost_segments,
            notified,
        };
        Ok(Self { inner })
    }

    /// Time at which the loss was detected, in seconds since the start of the run.
    #[getter]
    fn now(&self) -> f64 {
        self.inner.now.as_secs_f64()
    }

    /// True if a timeout detected the loss; false if duplicate or selective ACKs did.
    #[getter]
    fn by_timeout(&self) -> bool {
        self.inner.by_timeout
    }

    /// Smoothed RTT; None before the first sample.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.inner.srtt.map(seconds)
    }

    /// Latest RTT sample, unsmoothed; None before the first sample.
    #[getter]
    fn last_rtt(&self) -> Option<f64> {
        self.inner.last_rtt.map(seconds)
    }

    /// Window before any reaction to the loss.
    #[getter]
    fn window(&self) -> Window {
        Window { inner: self.inner.window, writable: false }
    }

    /// Bytes in flight.
    #[getter]
    fn flight_size(&self) -> u64 {
        self.inner.flight_size
    }

    /// Number of segments considered lost at this time, at least 1.
    #[getter]
    fn lost_segments(&self) -> u64 {
        self.inner.lost_segments
    }

    /// True if a relay has notified the sender that the channel lost the first segment.
    #[getter]
    fn notified(&self) -> bool {
        self.inner.notified
    }

    fn __repr__(&self) -> String {
        format!("UnexplainedLoss(now={}, by_timeout={}, …)", self.now(), self.inner.by_timeout)
    }
}
