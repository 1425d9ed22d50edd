//! Conversion of the errors of the Rust crates to Python exceptions.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::{PyErr, Python, create_exception};

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

create_exception!(
    retx,
    UserCodeError,
    RunError,
    "Code of the user's own failed; the exception that it raised is the cause (`__cause__`)."
);
create_exception!(
    retx,
    EmulationRefusedError,
    PyValueError,
    "A scenario that cannot be emulated, by no kernel or on this machine: the message says why."
);
create_exception!(
    retx,
    CodeRefusedError,
    PyValueError,
    "Raised by the function that finds code: the key that is wrong, and what is wrong with it."
);

/// Converts an error of the scenario.
pub fn scenario_error(error: &retx_scenario::ScenarioError) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// Converts the error of a failed run.
pub fn run_error(py: Python<'_>, error: &retx_sim::RunError) -> PyErr {
    match error {
        retx_sim::RunError::UserCode(fault) => {
            let failed = UserCodeError::new_err(fault.message.clone());
            let cause = fault.cause.downcast_ref::<PyErr>();
            failed.set_cause(py, cause.map(|cause| cause.clone_ref(py)));
            failed
        }
        other => RunError::new_err(other.to_string()),
    }
}
