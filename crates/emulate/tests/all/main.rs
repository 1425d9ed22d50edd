//! What this crate owes to those who use it. One program for all, since each more would be
//! optimised and linked on its own.
//!
//! `cargo test -p retx-emulate --test all FILE::` runs one file.

mod episodes;
mod real;
mod traffic;

use retx_emulate::{EmulateError, Emulated, Settings, emulate};
use retx_scenario::Scenario;
use retx_sim::Control;
use std::sync::{Mutex, PoisonError};

/// How often a machine may be too busy for what reaches a host to be read in time.
const CHANCES: usize = 3;

/// Emulates, one at a time: several would be late because of each other.
fn emulate_alone(scenario: &Scenario, settings: &Settings) -> Result<Emulated, EmulateError> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut result = emulate(scenario, settings, &Control::default());
    for _ in 1..CHANCES {
        if !result.as_ref().is_ok_and(was_too_slow) {
            break;
        }
        result = emulate(scenario, settings, &Control::default());
    }
    result
}

fn was_too_slow(emulated: &Emulated) -> bool {
    let datagrams = emulated.summary.flows.iter().filter_map(|flow| flow.udp());
    datagrams.flat_map(|flow| &flow.fault).any(|fault| fault.ends_with("it was too slow"))
}
