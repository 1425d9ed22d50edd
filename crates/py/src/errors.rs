//! The errors of the Rust crates as Python exceptions.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::{PyErr, create_exception};

create_exception!(
    retx,
    ScenarioError,
    PyValueError,
    "A scenario is wrong: the message says where, what, and what instead."
);
create_exception!(
    retx,
    RunError,
    PyRuntimeError,
    "A run could not be carried out, through no fault of its scenario's text."
);

/// The Python form of a refusal.
pub fn refused(error: &retx_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// The Python form of a run that failed.
pub fn run_failed(error: &retx_sim::RunError) -> PyErr {
    RunError::new_err(error.to_string())
}
