//! Transmission of data that the methods of user classes get.

use super::instant;
use pyo3::prelude::*;
use retx_tcp::congestion_control as model;

/// Data being sent.
#[pyclass(frozen, module = "retx")]
#[derive(Debug)]
pub struct Sent {
    inner: model::Sent,
}

impl From<&model::Sent> for Sent {
    fn from(sent: &model::Sent) -> Self {
        Self { inner: *sent }
    }
}

#[pymethods]
impl Sent {
    #[new]
    #[pyo3(signature = (
        *, now = 0.0, position = 0, bytes = 0, flight_size = 0, retransmission = false
    ))]
    fn new_for_tests(
        now: f64,
        position: u64,
        bytes: u32,
        flight_size: u64,
        retransmission: bool,
    ) -> PyResult<Self> {
        let now = instant(now)?;
        Ok(Self { inner: model::Sent { now, position, bytes, flight_size, retransmission } })
    }

    /// Time of the transmission, in seconds since the start of the run.
    #[getter]
    fn now(&self) -> f64 {
        self.inner.now.as_secs_f64()
    }

    /// Position of the first byte; the first byte of data is 1.
    #[getter]
    fn position(&self) -> u64 {
        self.inner.position
    }

    /// Number of payload bytes.
    #[getter]
    fn bytes(&self) -> u32 {
        self.inner.bytes
    }

    /// Bytes in flight, including the data being sent.
    #[getter]
    fn flight_size(&self) -> u64 {
        self.inner.flight_size
    }

    /// True for a retransmission.
    #[getter]
    fn retransmission(&self) -> bool {
        self.inner.retransmission
    }

    fn __repr__(&self) -> String {
        format!("Sent(now={}, position={}, …)", self.now(), self.inner.position)
    }
}
