//! Congestion window and slow start threshold, which a user's congestion control may set.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyInt};
use retx_tcp::congestion_control as model;

/// Congestion window and slow start threshold of a sender.
#[pyclass(module = "retx")]
#[derive(Debug)]
pub struct Window {
    pub(super) inner: model::Window,
    pub(super) writable: bool,
}

impl Default for Window {
    fn default() -> Self {
        Self { inner: model::Window { cwnd: 0, ssthresh: 0, smss: 1 }, writable: false }
    }
}

impl Window {
    /// Makes the window writable for a call.
    pub const fn lend(&mut self, window: model::Window) {
        self.inner = window;
        self.writable = true;
    }

    /// Reads the window back after the call.
    pub const fn take_back(&mut self) -> model::Window {
        self.writable = false;
        self.inner
    }

    /// Makes the window readable for a call.
    pub const fn lend_read_only(&mut self, window: model::Window) {
        self.inner = window;
        self.writable = false;
    }

    fn check_writable(&self, what: &str) -> PyResult<()> {
        if self.writable {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!(
            "{what} can be set only in a call of a congestion control that is given the window: \
             on_ack, on_loss, on_timeout, on_recovery_end, on_undo"
        )))
    }
}

/// Checks a number of bytes set by the user.
fn bytes(value: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    let shown = || value.repr().map_or_else(|_| "it".into(), |text| text.to_string());
    let whole = value.is_instance_of::<PyInt>() || value.hasattr("__index__")?;
    if !whole || value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!(
            "{what} = {}: it takes whole bytes, an int; round a float, as with int(…) or //",
            shown()
        )));
    }
    value.extract().map_err(|_| {
        PyValueError::new_err(format!("{what} = {}: it takes bytes from 0 to 2**64 - 1", shown()))
    })
}

#[pymethods]
impl Window {
    #[new]
    fn new(cwnd: u64, ssthresh: u64, smss: u32) -> PyResult<Self> {
        if smss == 0 {
            return Err(PyValueError::new_err("smss is 0: a segment carries a byte at least"));
        }
        Ok(Self { inner: model::Window { cwnd, ssthresh, smss }, writable: true })
    }

    /// Congestion window, bytes.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.inner.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check_writable("cwnd")?;
        self.inner.cwnd = bytes(value, "cwnd")?;
        Ok(())
    }

    /// Slow start threshold, bytes; 2**64 - 1 until one is set.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.inner.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check_writable("ssthresh")?;
        self.inner.ssthresh = bytes(value, "ssthresh")?;
        Ok(())
    }

    /// Sender maximum segment size: the payload of a full segment.
    #[getter]
    fn smss(&self) -> u32 {
        self.inner.smss
    }

    /// `cwnd < ssthresh` (RFC 5681 §3.1).
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.inner.in_slow_start()
    }

    fn __repr__(&self) -> String {
        let model::Window { cwnd, ssthresh, smss } = self.inner;
        format!("Window(cwnd={cwnd}, ssthresh={ssthresh}, smss={smss})")
    }
}
