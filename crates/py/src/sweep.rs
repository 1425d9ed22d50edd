//! Sweeps: many scenarios in, columns out.

use crate::control::Control;
use crate::errors::{run_error, scenario_error};
use crate::run::{with_interpreter, without_interpreter};
use crate::scenario::Scenario;
use crate::store::Batch;
use crate::user::PythonLoader;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use retx_record::summary::{LinkSummary, WlanSummary};
use retx_record::{Column, FlowRows, Rows};
use retx_scenario::sweep::{self, Sweep};
use retx_scenario::{ExternalSources, Source};
use retx_sim::{Job, Options, TablesByJobKind};
use serde_json::{Map, Value, json};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

type Changes = Vec<(String, String)>;
type Parsed = PyResult<Vec<retx_scenario::Scenario>>;

/// Reads and checks a scenario once for each of `points`, on all cores. The changes of a point
/// apply after `overrides`. With `samples` the scenario's `sample_interval` is kept. Title and
/// `[sweep]` are left out.
#[pyfunction]
#[pyo3(signature = (text, name, overrides, points, *, find = None, samples = false, threads))]
pub fn parse_points(
    py: Python<'_>,
    text: &str,
    name: &str,
    overrides: Changes,
    points: Vec<Changes>,
    find: Option<Py<PyAny>>,
    samples: bool,
    threads: NonZeroUsize,
) -> PyResult<Vec<Scenario>> {
    let source = Source { name, text, overrides: &overrides };
    let share = points.len().div_ceil(threads.get()).max(1);
    let parts: Vec<(&[Changes], PythonLoader)> = points
        .chunks(share)
        .map(|part| (part, PythonLoader::new(find.as_ref().map(|find| find.clone_ref(py)))))
        .collect();
    let one = |(part, loader): (&[Changes], PythonLoader)| -> Parsed {
        let outside = ExternalSources { files: &|file| loader.data(file), code: &loader };
        retx_scenario::parse_points(&source, part, outside)
            .map_err(|error| loader.failure().unwrap_or_else(|| scenario_error(&error)))
    };
    let parsed: Vec<Parsed> = py.detach(|| {
        std::thread::scope(|scope| {
            let start = |part| scope.spawn(|| one(part));
            let threads: Vec<_> = parts.into_iter().map(start).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Parsed>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    });
    let mut scenarios = Vec::with_capacity(points.len());
    for part in parsed {
        scenarios.extend(part?.into_iter().map(|mut scenario| {
            scenario.title.clear();
            scenario.sweep = None;
            if !samples {
                scenario.sample_interval = None;
            }
            Scenario { inner: Arc::new(scenario) }
        }));
    }
    Ok(scenarios)
}

/// Converts a scenario from JSON text to TOML.
#[pyfunction]
pub fn toml_of_json(text: &str) -> PyResult<String> {
    retx_scenario::from_json(text).map_err(|error| scenario_error(&error))
}

/// Checks a `[sweep]` given as JSON text, and expands its ranges. Returns JSON text with
/// `replications`, `until`, `cases`, `axes` (tables of lists that vary together) and `hypercube`.
#[pyfunction]
pub fn read_sweep(text: &str) -> PyResult<String> {
    Ok(json!(checked(text)?).to_string())
}

/// Values of a hypercube as JSON text. `shares` contains, for each key, a list of fractions of the
/// key's range.
#[pyfunction]
pub fn fill_hypercube(text: &str, shares: Vec<Vec<f64>>) -> PyResult<String> {
    let cube = checked(text)?.hypercube;
    let dimensions = cube.map(|cube| cube.dimensions).unwrap_or_default();
    if shares.len() != dimensions.len() {
        return Err(PyRuntimeError::new_err("a list of shares for each key is needed"));
    }
    let fill = |((key, dimension), shares): ((String, sweep::Dimension), Vec<f64>)| {
        let values = shares.iter().map(|share| dimension.value_at(*share)).collect();
        (key, Value::Array(values))
    };
    let filled: Map<String, Value> = dimensions.into_iter().zip(shares).map(fill).collect();
    Ok(Value::Object(filled).to_string())
}

fn checked(text: &str) -> PyResult<Sweep> {
    retx_scenario::read_sweep(text).map_err(|error| scenario_error(&error))
}

/// Numeric columns of a run's tables `flows`, `links`, `wlans`.
#[pyfunction]
pub fn measures() -> Vec<(&'static str, Vec<String>)> {
    fn measure((_, column): &(String, Column)) -> bool {
        !matches!(column, Column::Name { .. })
    }
    fn names<T: serde::Serialize>(row: &T) -> Vec<String> {
        let mut rows = Rows::default();
        rows.push(&[], &[], row);
        rows.into_columns().into_iter().filter(measure).map(|(name, _)| name).collect()
    }
    let measures = FlowRows::default().into_columns().into_iter().filter(measure);
    vec![
        ("flows", measures.map(|(name, _)| name).collect()),
        ("links", names(&LinkSummary::default())),
        ("wlans", names(&WlanSummary::default())),
    ]
}

/// Thread pool that runs submitted jobs, the most expensive first.
#[pyclass(frozen, module = "retx._native")]
pub struct Pool {
    inner: Mutex<Option<retx_sim::Pool<TablesByJobKind>>>,
}

impl Pool {
    fn with<T>(&self, work: impl FnOnce(&retx_sim::Pool<TablesByJobKind>) -> T) -> PyResult<T> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = inner.as_ref().ok_or_else(|| PyRuntimeError::new_err("the pool is closed"))?;
        Ok(work(pool))
    }
}

/// Failed run: label, replication, error.
type Failed = (u64, u64, PyErr);

#[pymethods]
impl Pool {
    /// Creates a pool; `user_code` prepares its threads for user code.
    #[new]
    #[pyo3(signature = (control, *, threads, user_code = false))]
    fn new(control: &Control, threads: NonZeroUsize, user_code: bool) -> Self {
        let within: retx_sim::ThreadWrapper =
            if user_code { with_interpreter } else { without_interpreter };
        let pool = retx_sim::Pool::new(threads, Arc::clone(&control.inner), within);
        Self { inner: Mutex::new(Some(pool)) }
    }

    /// Adds `count` replications of a scenario, starting with replication `first`. `tables` are
    /// recorded in addition to the summaries: `segments` (with `acks`), `drops`, `episodes`.
    /// Results of jobs of the same `kind` are returned in the same batches, so these jobs must
    /// record the same tables.
    #[pyo3(signature = (label, scenario, first, count, *, tables = Vec::new(), kind = 0))]
    fn submit(
        &self,
        label: u64,
        scenario: &Scenario,
        first: u64,
        count: u64,
        tables: Vec<String>,
        kind: u64,
    ) -> PyResult<()> {
        let kept = |name: &str| tables.iter().any(|table| table == name);
        let options = Options {
            record_segments: kept("segments"),
            record_drops: kept("drops"),
            record_episodes: kept("episodes"),
            ..Options::default()
        };
        let scenario = Arc::clone(&scenario.inner);
        self.with(|pool| pool.submit(Job { label, kind, options, scenario, first, count }))
    }

    /// Waits until everything is done, a run has failed, or `timeout_s` has passed. Returns the
    /// results since the last call as batches of one kind each, true if no work is left, and the
    /// failed runs.
    fn take(&self, py: Python<'_>, timeout_s: f64) -> PyResult<(Vec<Batch>, bool, Vec<Failed>)> {
        let timeout = Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0));
        let found = py.detach(|| self.with(|pool| pool.wait_for_results(timeout)))?;
        let batches =
            found.parts.into_iter().flat_map(TablesByJobKind::into_values).map(Batch::from_columns);
        let failed = found
            .failures
            .into_iter()
            .map(|(label, replication, error)| (label, replication, run_error(py, &error)));
        Ok((batches.collect(), found.is_idle, failed.collect()))
    }

    /// Cancels the remaining jobs and waits for the threads.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.inner.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}
