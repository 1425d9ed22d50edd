//! Contract tests of the crate. They share one binary, because each further binary would be
//! optimised and linked separately.
//!
//! `cargo test -p retx-emulate --test all FILE::` runs one file.

mod episodes;
mod real;
#[path = "../../../record/tests/all/skipping.rs"]
mod skipping;
mod traffic;

use retx_emulate::{
    Backend, EmulateError, EmulationResult, LATENESS_BOUND, LaunchOptions, Settings, emulate,
};
use retx_scenario::Scenario;
use retx_sim::{Control, Options};
use skipping::skip;
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Number of attempts on a machine that may be too busy to read packets in time.
const CHANCES: usize = 3;

/// Lock that the Python tests take too (conftest.py), held while the file is open.
fn machine() -> File {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    std::fs::create_dir_all(&target).expect("there is room for a folder");
    let file = File::create(target.join("emulating")).expect("it is ours");
    file.lock().expect("locks of files work here");
    file
}

/// Runs emulations one at a time, because parallel ones would delay each other.
fn emulate_alone(
    scenario: &Scenario,
    settings: &Settings,
) -> Result<EmulationResult, EmulateError> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let _machine = machine();
    let mut result = emulate(scenario, settings, &Control::default());
    for _ in 1..CHANCES {
        if !result.as_ref().is_ok_and(was_too_slow) {
            break;
        }
        result = emulate(scenario, settings, &Control::default());
    }
    result
}

fn was_too_slow(emulated: &EmulationResult) -> bool {
    let datagrams = emulated.summary.flows.iter().filter_map(|flow| flow.udp());
    datagrams.flat_map(|flow| &flow.fault).any(|fault| fault.ends_with("it was too slow"))
}

/// Settings of an emulation: its record and backend.
fn settings(record: Options, backend: Backend) -> Settings {
    Settings {
        run_options: record,
        backend,
        programs: Vec::new(),
        lateness_bound: LATENESS_BOUND,
        max_rate_bit_s: None,
        launch: LaunchOptions {
            command: vec![env!("CARGO_BIN_EXE_retx-emulate-worker").to_owned()],
            output_to_error: true,
        },
    }
}

/// Refusals that machines may give; all other errors are faults of ours.
const NOT_HERE: [&str; 3] = ["does not let", "does not allow", "there is no /dev/net/tun"];

/// Result; `None`, with the reason on standard error, if the machine does not allow it and
/// `RETX_REQUIRE_ALL` does not require emulation.
fn allowed(result: Result<EmulationResult, EmulateError>) -> Option<EmulationResult> {
    allowed_with("emulation", result)
}

/// Result like that of `allowed`, for a test that wants something else, by its name in
/// `python/tests/required.py`.
fn allowed_with(
    wanted: &str,
    result: Result<EmulationResult, EmulateError>,
) -> Option<EmulationResult> {
    match result {
        Ok(emulated) => Some(emulated),
        Err(EmulateError::Machine(sentence)) if NOT_HERE.iter().any(|it| sentence.contains(it)) => {
            skip(wanted, &sentence);
            None
        }
        Err(other) => panic!("{other}"),
    }
}
