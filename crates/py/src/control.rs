//! How a running simulation is watched and stopped from another thread.

use pyo3::prelude::*;

/// Watches and stops a run.
#[pyclass(frozen, module = "retx._native")]
#[derive(Default)]
pub struct Control {}

#[pymethods]
impl Control {
    /// A control for one call of `run` or `run_many`.
    #[new]
    fn new() -> Self {
        Self::default()
    }
}
