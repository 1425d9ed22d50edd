//! End of a process that has run out of memory.

use crate::boundary;
use pyo3::prelude::*;

/// Makes this process end with one sentence and status 1 if a library aborts it because memory is
/// exhausted.
#[pyfunction]
pub fn catch_aborts() {
    boundary::catch_aborts();
}
