//! Progress and cancellation of a running simulation, from another thread.

use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of one call of `run` or `run_many`, and its cancellation.
#[pyclass(frozen, module = "retx._native")]
#[derive(Default)]
pub struct Control {
    pub(crate) inner: Arc<retx_sim::Control>,
    /// Simulated time of all runs together, in nanoseconds; 0 until it is known.
    total_nanos: AtomicU64,
}

impl Control {
    /// Sets the total amount of simulated time: that of `runs` runs.
    pub(crate) fn set_total_time(&self, runs: u64, nanos_each: u64) {
        self.total_nanos.store(runs.saturating_mul(nanos_each), Ordering::Relaxed);
    }
}

#[pymethods]
impl Control {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Share of the simulated time that has passed, from 0 to 1. It stays below 1 if a run ends
    /// early, because all flows are complete.
    #[getter]
    fn progress(&self) -> f64 {
        match self.total_nanos.load(Ordering::Relaxed) {
            0 => 0.0,
            total => (self.inner.simulated_nanos() as f64 / total as f64).min(1.0),
        }
    }

    /// Cancels the run, which stops within milliseconds.
    fn cancel(&self) {
        self.inner.cancel();
    }
}
