//! Acknowledgment that the methods of user classes get.

use super::{instant, optional, seconds};
use pyo3::prelude::*;
use retx_tcp::congestion_control as model;
use retx_units::Duration;

/// Acknowledgment, as a method of a user class gets it.
#[pyclass(frozen, module = "retx")]
#[derive(Debug)]
pub struct Ack {
    inner: model::Ack,
    min_rtt: Option<Duration>,
}

impl Ack {
    /// Converts an acknowledgment; `min_rtt` is the smallest RTT so far.
    pub const fn new(ack: &model::Ack, min_rtt: Option<Duration>) -> Self {
        Self { inner: *ack, min_rtt }
    }
}

#[pymethods]
impl Ack {
    #[new]
    #[pyo3(signature = (
        *, now = 0.0, bytes_acked = 0, delivered = 0, flight_size = 0, rtt = None, srtt = None,
        min_rtt = None, snd_una = 0, snd_nxt = 0, cwnd_limited = true, in_recovery = false,
        receiver_time = None
    ))]
    fn new_for_tests(
        now: f64,
        bytes_acked: u64,
        delivered: u64,
        flight_size: u64,
        rtt: Option<f64>,
        srtt: Option<f64>,
        min_rtt: Option<f64>,
        snd_una: u64,
        snd_nxt: u64,
        cwnd_limited: bool,
        in_recovery: bool,
        receiver_time: Option<f64>,
    ) -> PyResult<Self> {
        let inner = model::Ack {
            now: instant(now)?,
            bytes_acked,
            delivered,
            flight_size,
            rtt: optional(rtt, "rtt")?,
            srtt: optional(srtt, "srtt")?,
            snd_una,
            snd_nxt,
            cwnd_limited,
            in_recovery,
            receiver_time: optional(receiver_time, "receiver_time")?,
        };
        Ok(Self { inner, min_rtt: optional(min_rtt, "min_rtt")? })
    }

    /// Arrival time, in seconds since the start of the run.
    #[getter]
    fn now(&self) -> f64 {
        self.inner.now.as_secs_f64()
    }

    /// Newly acknowledged bytes; 0 for a duplicate.
    #[getter]
    fn bytes_acked(&self) -> u64 {
        self.inner.bytes_acked
    }

    /// Bytes that have left the network according to this ACK, including SACKed ones.
    #[getter]
    fn delivered(&self) -> u64 {
        self.inner.delivered
    }

    /// Bytes in flight immediately before this ACK.
    #[getter]
    fn flight_size(&self) -> u64 {
        self.inner.flight_size
    }

    /// RTT sample of this ACK, unsmoothed; None without a sample.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.inner.rtt.map(seconds)
    }

    /// Smoothed RTT, including the sample of this ACK.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.inner.srtt.map(seconds)
    }

    /// Smallest RTT sample of the connection, including that of this ACK.
    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        self.min_rtt.map(seconds)
    }

    /// First unacknowledged position after this ACK; the first byte of data is 1.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.inner.snd_una
    }

    /// Next position to be sent.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.inner.snd_nxt
    }

    /// True if the window was full at some time since the last ACK.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.inner.cwnd_limited
    }

    /// True in fast recovery, and during the retransmissions after a timeout.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.inner.in_recovery
    }

    /// Timestamp of the receiver's clock; None without timestamps.
    #[getter]
    fn receiver_time(&self) -> Option<f64> {
        self.inner.receiver_time.map(seconds)
    }

    fn __repr__(&self) -> String {
        format!("Ack(now={}, bytes_acked={}, …)", self.now(), self.inner.bytes_acked)
    }
}
