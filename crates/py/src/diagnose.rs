//! Diagnosis and measurement of captures.

use crate::text::json;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use retx_diagnose::answer::{Capture, Flow};
use retx_diagnose::measure::{Path, measure, measure_pair};
use retx_diagnose::reader::ReadError;
use serde::Serialize;
use std::fs::File;
use std::path::PathBuf;

/// Diagnoses two captures of the same flows; returns JSON.
#[pyfunction]
#[pyo3(signature = (path, other, pictured=None))]
pub fn diagnose_pair(
    py: Python<'_>,
    path: PathBuf,
    other: PathBuf,
    pictured: Option<usize>,
) -> PyResult<String> {
    let names = [path.display().to_string(), other.display().to_string()];
    let files = [File::open(&path)?, File::open(&other)?];
    let both = [names[0].as_str(), names[1].as_str()];
    match py.detach(|| retx_diagnose::diagnose_pair(files, both, pictured)) {
        Ok(answer) => Ok(json(&answer)),
        Err(error) => Err(refusal(&names.join(" and "), &error)),
    }
}

/// Diagnoses a capture; returns JSON, with the time–sequence diagram of flow `pictured` if one is
/// given.
#[pyfunction]
#[pyo3(signature = (path, pictured=None))]
pub fn diagnose(py: Python<'_>, path: PathBuf, pictured: Option<usize>) -> PyResult<String> {
    let name = path.display().to_string();
    let file = File::open(&path)?;
    let answer = py.detach(|| retx_diagnose::diagnose_with_diagram(file, &name, pictured));
    match answer {
        Ok(answer) => Ok(json(&answer)),
        Err(error) => Err(refusal(&name, &error)),
    }
}

/// Tables of flow `number` as JSON; `null` if there is no such flow.
#[pyfunction]
pub fn flow_tables(py: Python<'_>, path: PathBuf, number: usize) -> PyResult<String> {
    let name = path.display().to_string();
    let file = File::open(&path)?;
    match py.detach(|| retx_diagnose::tables::tables(file, &name, number)) {
        Ok(tables) => Ok(json(&tables)),
        Err(error) => Err(refusal(&name, &error)),
    }
}

/// Diagnosis of a flow, and the measurements of its path.
#[derive(Serialize)]
struct Measured<'a> {
    capture: &'a Capture,
    flow: Option<&'a Flow>,
    path: Option<&'a Path>,
}

/// Measures the path of flow `number`, between two captures if a second one is given; returns JSON.
#[pyfunction]
#[pyo3(signature = (path, number, other=None))]
pub fn measure_path(
    py: Python<'_>,
    path: PathBuf,
    number: usize,
    other: Option<PathBuf>,
) -> PyResult<String> {
    let mut name = path.display().to_string();
    let file = File::open(&path)?;
    let found = match other {
        None => py.detach(|| measure(file, &name, number)),
        Some(other) => {
            let names = [name.clone(), other.display().to_string()];
            name = names.join(" and ");
            let files = [file, File::open(&other)?];
            py.detach(|| measure_pair(files, [&names[0], &names[1]], number))
        }
    };
    match found {
        Ok((answer, path)) => {
            let flow = answer.flows.iter().find(|flow| flow.number == number);
            Ok(json(&Measured { capture: &answer.capture, flow, path: path.as_ref() }))
        }
        Err(error) => Err(refusal(&name, &error)),
    }
}

/// Error for a capture that cannot be read. With the error number and the path, Python chooses the
/// right subclass of `OSError`.
fn refusal(name: &str, error: &ReadError) -> PyErr {
    match error {
        ReadError::Io(failure) => match failure.raw_os_error() {
            Some(number) => {
                let text = failure.to_string();
                let text = text.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, text, name.to_owned()))
            }
            None => PyOSError::new_err(format!("{name}: {error}")),
        },
        _ => PyValueError::new_err(format!("{name}: {error}")),
    }
}
