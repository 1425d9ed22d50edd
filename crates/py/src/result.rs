//! Results of a run for Python.

use crate::columns::{column_to_array, table_to_dict};
use crate::scenario::Scenario;
use crate::text::{json, write_text};
use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
#[cfg(target_os = "linux")]
use retx_emulate::EmulationResult;
use retx_record::pcapng::{self, CaptureMetadata, SnapLength};
use retx_record::{FlowRow, Table, write_atomically};
use retx_scenario::ScenarioHeader;
use retx_sim::Outcome;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::{mem, thread};

/// Number of flows and links above which a result is freed by another thread.
const MANY_ROWS: usize = 10_000;

/// Result of one run. Each table can be taken once.
#[pyclass(module = "retx._native")]
pub struct RawResult {
    scenario: Arc<retx_scenario::Scenario>,
    recorded: [(&'static str, bool); 8],
    outcome: Outcome,
    /// Summary of an emulation; `None` for a simulation.
    summary: Option<Value>,
}

impl RawResult {
    /// Result of a simulation.
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
                ("limits", tables.limits.is_some()),
            ],
            outcome,
            summary: None,
        }
    }

    /// Result of an emulation.
    #[cfg(target_os = "linux")]
    pub fn from_emulation(scenario: &Scenario, emulated: EmulationResult) -> Self {
        let summary = serde_json::to_value(&emulated.summary);
        let mut result = Self::new(scenario, emulated.outcome);
        result.summary = Some(summary.expect("a summary is plain data"));
        result
    }

    /// Copy of the scenario in which files of user code have the names in `code`.
    fn renamed(&self, code: &HashMap<String, String>) -> Cow<'_, retx_scenario::Scenario> {
        let mut scenario = Cow::Borrowed(&*self.scenario);
        if code.is_empty() {
            return scenario;
        }
        for tcp in &mut scenario.to_mut().tcps {
            for file in tcp.config.code_files() {
                if let Some(name) = code.get(file) {
                    file.clone_from(name);
                }
            }
        }
        scenario
    }

    /// Takes a table. Its rows are freed while the columns are built.
    fn table(&mut self, name: &str) -> Option<Table> {
        let Outcome { tables, names, .. } = &mut self.outcome;
        match name {
            "samples" => tables.samples.take().map(|rows| rows.to_table(names)),
            "link_samples" => tables.link_samples.take().map(|rows| rows.to_table(names)),
            "segments" => tables.segments.take().map(|rows| rows.to_table(names)),
            "acks" => tables.acks.take().map(|rows| rows.to_table(names)),
            "drops" => tables.drops.take().map(|rows| rows.to_table(names)),
            "episodes" => tables.episodes.take().map(|rows| rows.to_table(names)),
            "exchanges" => tables.exchanges.take().map(|rows| rows.to_table(names)),
            "limits" => tables.limits.take().map(|rows| rows.to_table(names)),
            _ => None,
        }
    }
}

impl Drop for RawResult {
    /// Frees a large result in another thread: a million flows take a quarter of a second, in which
    /// Python would not react to Ctrl-C.
    fn drop(&mut self) {
        let Outcome { flows, links, names, .. } = &mut self.outcome;
        if flows.len() + links.len() > MANY_ROWS {
            let rows = (mem::take(flows), mem::take(links), mem::take(names));
            let large = (rows, Arc::clone(&self.scenario));
            // If no thread can be started, everything is freed here.
            let _ = thread::Builder::new().spawn(move || drop(large));
        }
    }
}

#[pymethods]
impl RawResult {
    /// Summary as JSON text.
    fn summary(&self) -> String {
        match &self.summary {
            Some(summary) => summary.to_string(),
            None => json(&self.outcome.summary(&*self.scenario)),
        }
    }

    /// Summary as JSON text without rows: `flows`, `links` and the lists of the scenario are empty
    /// or left out.
    fn head(&self) -> String {
        let Some(summary) = &self.summary else {
            return json(&self.outcome.summary_head(ScenarioHeader(&self.scenario)));
        };
        let mut head = summary.clone();
        for key in ["flows", "links"] {
            head[key] = Value::Array(Vec::new());
        }
        head["scenario"] =
            serde_json::to_value(ScenarioHeader(&self.scenario)).expect("plain data");
        head.to_string()
    }

    /// Number of rows of `flows` or `links`.
    fn row_count(&self, table: &str) -> usize {
        if let Some(summary) = &self.summary {
            return summary[table].as_array().map_or(0, Vec::len);
        }
        match table {
            "flows" => self.outcome.flows.len() + self.outcome.datagrams.len(),
            _ => self.outcome.links.len(),
        }
    }

    /// Rows `first` to `first + count` of the summary's `flows` or `links`, as JSON text.
    fn rows(&self, table: &str, first: usize, count: usize) -> String {
        if let Some(summary) = &self.summary {
            return json(part(summary[table].as_array().expect("a list"), first, count));
        }
        match table {
            // Only the requested rows are built: building all rows for each request would take
            // quadratic time.
            "flows" if self.outcome.datagrams.is_empty() => {
                let flows = part(&self.outcome.flows, first, count);
                json(&flows.iter().map(FlowRow::Tcp).collect::<Vec<_>>())
            }
            "flows" => json(part(&self.outcome.flows_in_order(), first, count)),
            _ => json(part(&self.outcome.links, first, count)),
        }
    }

    /// Warning about this run, if any.
    fn warning(&self) -> Option<&str> {
        self.outcome.warning.as_deref()
    }

    /// Writes the summary to `file` in the format of Python's library with `indent=2`, and a line
    /// break. With `repeatable` it omits values that depend on the clock. Files of user code have
    /// the names in `code`.
    fn write_summary(
        &self,
        file: &Bound<'_, PyAny>,
        repeatable: bool,
        code: HashMap<String, String>,
    ) -> PyResult<()> {
        let scenario = self.renamed(&code);
        let Some(summary) = &self.summary else {
            let mut summary = self.outcome.summary(&*scenario);
            if repeatable {
                summary.engine = self.outcome.engine.without_wall_time();
            }
            return write_text(&summary, file);
        };
        let mut summary = summary.clone();
        if let (true, Some(engine)) = (repeatable, summary["engine"].as_object_mut()) {
            engine.shift_remove("wall_s");
        }
        summary["scenario"] = scenario.to_json();
        write_text(&summary, file)
    }

    /// Scenario as JSON text, as in the summary.
    #[pyo3(signature = (code = HashMap::new()))]
    fn scenario_json(&self, code: HashMap<String, String>) -> String {
        json(&*self.renamed(&code))
    }

    /// Scenario as the text of a file with every value written out. Files of user code have the
    /// names in `code`.
    #[pyo3(signature = (code = HashMap::new()))]
    fn scenario_toml(&self, code: HashMap<String, String>) -> String {
        self.renamed(&code).to_toml()
    }

    /// Table of the summary (`flows`, `links`, `wlans`, `stations`, `relays`) as a dictionary from
    /// column to array, like that of `take`. Each number or text of a nested row has a column of
    /// its own. None for an emulation.
    fn columns<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.summary.is_some() {
            return Ok(None);
        }
        let columns = self.outcome.summary_columns(name);
        let columns = columns.ok_or_else(|| PyKeyError::new_err(format!("no table {name}")))?;
        let dictionary = PyDict::new(py);
        for (name, column) in columns {
            dictionary.set_item(name, column_to_array(py, column)?)?;
        }
        Ok(Some(dictionary))
    }

    /// Columns of up to `count` flows from the flow `first` on, as in `columns`; None for an
    /// emulation.
    fn columns_of_flows<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        count: usize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.summary.is_some() {
            return Ok(None);
        }
        let dictionary = PyDict::new(py);
        for (name, column) in self.outcome.flow_columns(first, count) {
            dictionary.set_item(name, column_to_array(py, column)?)?;
        }
        Ok(Some(dictionary))
    }

    /// True if the run recorded the table of this name, even if the table has already been taken.
    fn recorded(&self, name: &str) -> bool {
        self.recorded.contains(&(name, true))
    }

    /// Table as a dictionary from column to array; its memory moves to numpy.
    ///
    /// Numbers are arrays, in which NaN and 2^64 − 1 stand for absent values. A column of names is
    /// a pair: an array of codes (2^32 − 1 if absent), and the list of names.
    fn take<'py>(&mut self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let table = py
            .detach(|| self.table(name))
            .ok_or_else(|| PyKeyError::new_err(format!("no table {name}, or not any more")))?;
        table_to_dict(py, table)
    }

    /// Writes the capture as pcapng, atomically.
    fn write_capture(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let capture = self
            .outcome
            .capture
            .as_ref()
            .ok_or_else(|| PyRuntimeError::new_err("nothing was captured in this run"))?;
        let comment =
            format!("seed {}, replication {}", self.scenario.seed, self.outcome.replication);
        let application = concat!("retx ", env!("CARGO_PKG_VERSION"));
        let about = CaptureMetadata::new(application, &comment, SnapLength::Full)
            .expect("the texts are short and nothing is cut");
        py.detach(|| write_atomically(&path, |file| pcapng::write(capture, &about, file))).map_err(
            |error| match error.source.raw_os_error() {
                // With the error number and the path, Python chooses the right subclass of OSError.
                Some(number) => {
                    let text = error.source.to_string();
                    PyOSError::new_err((number, text, error.path))
                }
                None => PyOSError::new_err(error.to_string()),
            },
        )
    }
}

/// One table of many runs; its first column is `replication`. `name` is a table of the summary (see
/// `columns`) or of single events (see `take`). The tables of the single results remain available.
/// `None` for emulations and for tables that were already taken; these have to be joined from the
/// tables of each run.
#[pyfunction]
pub fn stacked<'py>(
    py: Python<'py>,
    results: Vec<PyRef<'py, RawResult>>,
    name: &str,
    events: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    if results.iter().any(|result| result.summary.is_some()) {
        return Ok(None);
    }
    let outcomes: Vec<&Outcome> = results.iter().map(|result| &result.outcome).collect();
    if events {
        let table = py.detach(|| Outcome::recorded_table_of_runs(&outcomes, name));
        return table.map(|table| table_to_dict(py, table)).transpose();
    }
    let Some(columns) = py.detach(|| Outcome::summary_columns_of_runs(&outcomes, name)) else {
        return Ok(None);
    };
    let dictionary = PyDict::new(py);
    for (name, column) in columns {
        dictionary.set_item(name, column_to_array(py, column)?)?;
    }
    Ok(Some(dictionary))
}

fn part<T>(rows: &[T], first: usize, count: usize) -> &[T] {
    let first = first.min(rows.len());
    &rows[first..rows.len().min(first.saturating_add(count))]
}
