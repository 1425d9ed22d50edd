//! Ends of a process without memory.

use crate::boundary;
use pyo3::prelude::*;

/// Lets an abort of this process for want of memory end it with one sentence and status 1.
#[pyfunction]
pub fn catch_aborts() {
    boundary::catch_aborts();
}
