//! Emulations, with the interpreter's lock released.

use crate::control::Control;
use crate::errors::{EmulationRefusedError, RunError, run_error};
use crate::result::RawResult;
use crate::scenario::Scenario;
use pyo3::prelude::*;
use retx_emulate::{
    Backend, EmulateError, HostProgram, LATENESS_BOUND, LaunchOptions, Settings, worker,
};
use retx_scenario::suggest::did_you_mean;
use retx_sim::Options;
use retx_units::Duration;

/// Emulates a scenario with this machine's kernel.
///
/// `command` starts a process that calls `emulate_worker`. Each of `programs` is a tuple: a host, a
/// shell command (`None` for an interactive shell), and true if the run waits until the program
/// ends. With `programs_to_error`, programs write their output to standard error. `tables`,
/// `segments` and `capture` are those of `run`.
#[pyfunction]
#[pyo3(signature = (
    scenario, control, *, command, backend = "tun", programs = Vec::new(),
    programs_to_error = false, lateness_bound_s = None, rate_max_bit_s = None, replication = 0,
    tables = true, segments = true, capture = None
))]
pub fn emulate(
    py: Python<'_>,
    scenario: &Scenario,
    control: &Control,
    command: Vec<String>,
    backend: &str,
    programs: Vec<(String, Option<String>, bool)>,
    programs_to_error: bool,
    lateness_bound_s: Option<f64>,
    rate_max_bit_s: Option<f64>,
    replication: u64,
    tables: bool,
    segments: bool,
    capture: Option<Vec<(String, String)>>,
) -> PyResult<RawResult> {
    let capture = match capture {
        Some(places) => scenario.capture_points(&places)?,
        None => Vec::new(),
    };
    let backend = backend_named(backend)?;
    let programs = programs.into_iter();
    let programs = programs
        .map(|(host, command, waits)| HostProgram { host, command, background: !waits })
        .collect();
    let settings = Settings {
        run_options: Options {
            replication,
            record_segments: segments,
            record_drops: tables,
            record_episodes: tables,
            capture_points: capture,
            is_reference_run: false,
        },
        backend,
        programs,
        lateness_bound: lateness_bound_s.map_or(LATENESS_BOUND, Duration::from_secs_f64),
        max_rate_bit_s: rate_max_bit_s,
        launch: LaunchOptions { command, output_to_error: programs_to_error },
    };
    control.set_total_time(1, scenario.inner.duration.as_nanos());
    let emulated = py
        .detach(|| retx_emulate::emulate(&scenario.inner, &settings, &control.inner))
        .map_err(|error| emulation_failed(py, &error))?;
    Ok(RawResult::from_emulation(scenario, emulated))
}

/// Converts the error of a failed emulation.
fn emulation_failed(py: Python<'_>, error: &EmulateError) -> PyErr {
    match error {
        EmulateError::Scenario(message) | EmulateError::Machine(message) => {
            EmulationRefusedError::new_err(message.clone())
        }
        EmulateError::Run(error) => run_error(py, error),
        EmulateError::Broken { .. } => RunError::new_err(error.to_string()),
    }
}

fn backend_named(name: &str) -> PyResult<Backend> {
    Backend::from_name(name).ok_or_else(|| {
        let near = did_you_mean(name, Backend::NAMES.iter().copied());
        let names = Backend::NAMES.join(", ");
        EmulationRefusedError::new_err(format!("no backend \"{name}\"{near} (there are {names})"))
    })
}

/// Tries increasing rates until this machine does not sustain one. Returns a JSON list of results.
#[pyfunction]
#[pyo3(signature = (control, *, command, backend = "tun"))]
pub fn emulate_calibrate(
    py: Python<'_>,
    control: &Control,
    command: Vec<String>,
    backend: &str,
) -> PyResult<String> {
    let launch = LaunchOptions { command, output_to_error: true };
    let backend = backend_named(backend)?;
    let trials = py
        .detach(|| retx_emulate::run_rate_trials(&launch, backend, &control.inner))
        .map_err(|error| emulation_failed(py, &error))?;
    Ok(serde_json::to_string(&trials).expect("plain data"))
}

/// Runs the worker process of an emulation, which holds the hosts. Returns its exit code at the end
/// of the emulation. Standard input must be the socket to the emulator; `command` starts another
/// such process.
#[pyfunction]
pub fn emulate_worker(py: Python<'_>, command: Vec<String>, inner: bool) -> i32 {
    py.detach(|| worker::run(&command, inner))
}

/// Ends workers whose emulator no longer exists; returns the number of ended processes.
#[pyfunction]
pub fn emulate_clean(py: Python<'_>) -> usize {
    py.detach(worker::kill_orphans)
}
