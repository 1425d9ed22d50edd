//! Captures: a file in, the answer out.

use crate::text::json;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use retx_diagnose::reader::ReadError;
use std::fs::File;
use std::path::PathBuf;

/// Diagnoses a capture; the answer is JSON.
#[pyfunction]
pub fn diagnose(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let name = path.display().to_string();
    let file = File::open(&path)?;
    let answer = py.detach(|| retx_diagnose::diagnose(file, &name));
    match answer {
        Ok(answer) => Ok(json(&answer)),
        Err(error @ ReadError::Io(_)) => Err(PyOSError::new_err(format!("{name}: {error}"))),
        Err(error) => Err(PyValueError::new_err(format!("{name}: {error}"))),
    }
}
