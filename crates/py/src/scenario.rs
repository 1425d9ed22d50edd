//! Scenarios: text in, checked types out.

use crate::errors::refused;
use pyo3::prelude::*;
use retx_scenario::Source;
use std::sync::Arc;

/// A checked scenario, with every value written out.
#[pyclass(frozen, module = "retx._native")]
pub struct Scenario {
    pub(crate) inner: Arc<retx_scenario::Scenario>,
}

#[pymethods]
impl Scenario {
    /// As the text of a JSON object, with the keys of the file.
    fn to_json(&self) -> String {
        self.inner.to_json().to_string()
    }

    /// As the text of a scenario file, which parses to an equal scenario.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }
}

/// Reads and checks the text of a scenario file.
///
/// `name` is what messages call the file; `overrides` are pairs of key and TOML value, as with
/// `--set`.
#[pyfunction]
#[pyo3(signature = (text, name, overrides = Vec::new()))]
#[allow(clippy::needless_pass_by_value)] // PyO3 hands over owned values
pub fn parse(
    py: Python<'_>,
    text: &str,
    name: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Scenario> {
    let source = Source { name, text, overrides: &overrides };
    let parsed = py.detach(|| retx_scenario::parse(&source));
    match parsed {
        Ok(scenario) => Ok(Scenario { inner: Arc::new(scenario) }),
        Err(error) => Err(refused(&error)),
    }
}

/// Reads and checks a scenario given as the text of a JSON object.
#[pyfunction]
#[pyo3(signature = (text, overrides = Vec::new()))]
pub fn from_json(
    py: Python<'_>,
    text: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<Scenario> {
    let toml = py.detach(|| retx_scenario::from_json(text)).map_err(|error| refused(&error))?;
    parse(py, &toml, "", overrides)
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub fn json_schema() -> String {
    retx_scenario::json_schema()
}

/// Every choice that a scenario can name, by kind, as the text of a JSON object.
#[pyfunction]
pub fn describe() -> String {
    retx_scenario::describe().to_string()
}
