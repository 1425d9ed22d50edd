//! What a run found, on its way to Python.

use crate::columns::dictionary;
use crate::scenario::Scenario;
use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use retx_emulate::Emulated;
use retx_record::pcapng::{self, About, Snap};
use retx_record::{Table, write_atomically};
use retx_sim::Outcome;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What one run found. Each table can be taken once.
#[pyclass(module = "retx._native")]
pub struct RawResult {
    scenario: Arc<retx_scenario::Scenario>,
    recorded: [(&'static str, bool); 7],
    outcome: Outcome,
    /// An emulation's own.
    summary: Option<String>,
}

impl RawResult {
    /// The outcome of a scenario's run.
    pub fn new(scenario: &Scenario, outcome: Outcome) -> Self {
        let tables = &outcome.tables;
        Self {
            scenario: Arc::clone(&scenario.inner),
            recorded: [
                ("samples", tables.samples.is_some()),
                ("link_samples", tables.link_samples.is_some()),
                ("segments", tables.segments.is_some()),
                ("acks", tables.acks.is_some()),
                ("drops", tables.drops.is_some()),
                ("episodes", tables.episodes.is_some()),
                ("exchanges", tables.exchanges.is_some()),
            ],
            outcome,
            summary: None,
        }
    }

    /// What an emulation came to.
    pub fn emulated(scenario: &Scenario, emulated: Emulated) -> Self {
        let summary = serde_json::to_string(&emulated.summary);
        let summary = summary.expect("a summary is plain data");
        Self { summary: Some(summary), ..Self::new(scenario, emulated.outcome) }
    }

    /// Frees a table's rows as its columns are made.
    fn table(&mut self, name: &str) -> Option<Table> {
        let Outcome { tables, names, .. } = &mut self.outcome;
        match name {
            "samples" => tables.samples.take().map(|rows| rows.table(names)),
            "link_samples" => tables.link_samples.take().map(|rows| rows.table(names)),
            "segments" => tables.segments.take().map(|rows| rows.table(names)),
            "acks" => tables.acks.take().map(|rows| rows.table(names)),
            "drops" => tables.drops.take().map(|rows| rows.table(names)),
            "episodes" => tables.episodes.take().map(|rows| rows.table(names)),
            "exchanges" => tables.exchanges.take().map(|rows| rows.table(names)),
            _ => None,
        }
    }
}

#[pymethods]
impl RawResult {
    /// The summary as the text of a JSON object.
    fn summary(&self) -> String {
        if let Some(summary) = &self.summary {
            return summary.clone();
        }
        let summary = self.outcome.summary(&self.scenario);
        serde_json::to_string(&summary).expect("a summary is plain data")
    }

    /// The scenario as the text of a file, every value written out; files of the user's own code
    /// by the names that they have there.
    fn scenario_toml(&self, code: HashMap<String, String>) -> String {
        if code.is_empty() {
            return self.scenario.to_toml();
        }
        let mut scenario = (*self.scenario).clone();
        for tcp in &mut scenario.tcps {
            for file in tcp.config.code_files() {
                if let Some(name) = code.get(file) {
                    file.clone_from(name);
                }
            }
        }
        scenario.to_toml()
    }

    /// Whether the run kept the table of that name, be it taken or not.
    fn recorded(&self, name: &str) -> bool {
        self.recorded.contains(&(name, true))
    }

    /// A table as a dictionary from column to array; its memory becomes numpy's.
    ///
    /// Numbers are arrays, in which NaN and 2^64 − 1 stand for absent values. Names are a pair: an
    /// array of codes (2^32 − 1: absent), and the list of names.
    fn take<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let table = py
            .detach(|| self.table(name))
            .ok_or_else(|| PyKeyError::new_err(format!("no table {name}, or not any more")))?;
        dictionary(py, table)
    }

    /// Writes the capture as pcapng, all of it or nothing.
    fn write_capture(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let capture = self
            .outcome
            .capture
            .as_ref()
            .ok_or_else(|| PyRuntimeError::new_err("nothing was captured in this run"))?;
        let comment =
            format!("seed {}, replication {}", self.scenario.seed, self.outcome.replication);
        let application = concat!("retx ", env!("CARGO_PKG_VERSION"));
        let about = About::new(application, &comment, Snap::Full)
            .expect("the texts are short and nothing is cut");
        py.detach(|| write_atomically(&path, |file| pcapng::write(capture, &about, file))).map_err(
            |error| match error.source.raw_os_error() {
                // With number and path Python makes it the right subclass of OSError.
                Some(number) => {
                    let text = error.source.to_string();
                    PyOSError::new_err((number, text, error.path))
                }
                None => PyOSError::new_err(error.to_string()),
            },
        )
    }
}
