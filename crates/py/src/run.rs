//! Runs, with the interpreter's lock released.

use crate::control::Control;
use crate::errors::run_error;
use crate::result::RawResult;
use crate::scenario::Scenario;
use pyo3::prelude::*;
use retx_sim::{Batch, CapturePoint, Options, ThreadWrapper};
use std::num::NonZeroUsize;
use std::time::Instant;

/// Simulates a scenario. `tables` records drops and episodes, `segments` records segments and
/// acknowledgments. `reference` disables everything that exists only for speed.
///
/// `capture` is a list of capture points, each a link and one of its two nodes. With an empty list
/// the capture is at the first flow's sender; with `None` there is no capture.
#[pyfunction]
#[pyo3(signature = (
    scenario, control, *, replication = 0, tables = true, segments = true, capture = None,
    reference = false
))]
pub fn run(
    py: Python<'_>,
    scenario: &Scenario,
    control: &Control,
    replication: u64,
    tables: bool,
    segments: bool,
    capture: Option<Vec<(String, String)>>,
    reference: bool,
) -> PyResult<RawResult> {
    let capture = match capture {
        Some(places) => scenario.capture_points(&places)?,
        None => Vec::new(),
    };
    let options =
        Options { replication, is_reference_run: reference, ..options(tables, segments, capture) };
    control.set_total_time(1, scenario.inner.duration.as_nanos());
    // The simulation does not read the wall clock, so its running time is measured here.
    let start = Instant::now();
    let mut outcome = py
        .detach(|| retx_sim::run(&scenario.inner, &options, &control.inner))
        .map_err(|error| run_error(py, &error))?;
    outcome.engine.wall_s = Some(start.elapsed().as_secs_f64());
    Ok(RawResult::new(scenario, outcome))
}

/// Simulates `replications` draws of a scenario, numbered from 0, on the given number of threads.
/// The results are in order and do not depend on the number of threads.
#[pyfunction]
#[pyo3(signature = (
    scenario, control, *, replications, threads, tables = true, segments = false,
    reference = false
))]
pub fn run_many(
    py: Python<'_>,
    scenario: &Scenario,
    control: &Control,
    replications: u64,
    threads: NonZeroUsize,
    tables: bool,
    segments: bool,
    reference: bool,
) -> PyResult<Vec<RawResult>> {
    let options = Options { is_reference_run: reference, ..options(tables, segments, Vec::new()) };
    let batch = Batch { first: 0, count: replications, threads };
    control.set_total_time(replications, scenario.inner.duration.as_nanos());
    let known = scenario.inner.tcps.iter().any(|tcp| tcp.config.has_user_code());
    let around = (
        &control.inner,
        if known { with_interpreter as ThreadWrapper } else { without_interpreter },
    );
    let outcomes = py
        .detach(|| retx_sim::run_many_within(&scenario.inner, &options, batch, around))
        .map_err(|error| run_error(py, &error))?;
    Ok(outcomes.into_iter().map(|outcome| RawResult::new(scenario, outcome)).collect())
}

/// Runs the work of a thread that does not call Python.
pub fn without_interpreter(work: &mut (dyn FnMut() + Send)) {
    work();
}

/// Runs the work of a thread that calls user code. The thread is attached to the interpreter once,
/// which makes the calls much cheaper.
pub fn with_interpreter(work: &mut (dyn FnMut() + Send)) {
    Python::attach(|py| py.detach(work));
}

const fn options(tables: bool, segments: bool, capture: Vec<CapturePoint>) -> Options {
    let (drops, episodes) = (tables, tables);
    Options {
        replication: 0,
        record_segments: segments,
        record_drops: drops,
        record_episodes: episodes,
        capture_points: capture,
        is_reference_run: false,
    }
}
