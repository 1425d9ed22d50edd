//! Python bindings (`retx._native`): scenario in, tables out. They contain no model.

// PyO3 passes owned values, and the interpreter as an additional argument.
#![allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]

mod boundary;
mod columns;
mod control;
mod diagnose;
mod drill;
#[cfg(target_os = "linux")]
mod emulate;
mod errors;
mod fit;
mod memory;
mod result;
mod run;
mod scenario;
mod store;
mod sweep;
mod text;
mod user;

use boundary::ExitsWithoutMemory;
use pyo3::prelude::*;
#[cfg(not(all(target_os = "linux", feature = "large_pages")))]
use std::alloc::System as Inner;
/// jemalloc, which requests large pages from the system (`.cargo/config.toml`).
#[cfg(all(target_os = "linux", feature = "large_pages"))]
use tikv_jemallocator::Jemalloc as Inner;

#[global_allocator]
static ALLOCATOR: ExitsWithoutMemory<Inner> = ExitsWithoutMemory(Inner);

/// Scenarios, runs and their results, for the Python package `retx`.
#[pymodule]
mod _native {
    use super::{PyModule, PyResult};
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::control::Control;
    #[pymodule_export]
    use crate::diagnose::{diagnose, diagnose_pair, flow_tables, measure_path};
    #[pymodule_export]
    use crate::drill::{Drilled, play_drill};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::emulate::{emulate, emulate_calibrate, emulate_clean, emulate_worker};
    #[pymodule_export]
    use crate::errors::{
        CodeRefusedError, EmulationRefusedError, RunError, ScenarioError, UserCodeError,
    };
    #[pymodule_export]
    use crate::fit::{channel_losses, fit_losses};
    #[pymodule_export]
    use crate::memory::catch_aborts;
    #[pymodule_export]
    use crate::result::{RawResult, stacked};
    #[pymodule_export]
    use crate::run::{run, run_many};
    #[pymodule_export]
    use crate::scenario::{Scenario, describe, expand_topology, from_json, json_schema, parse};
    #[pymodule_export]
    use crate::store::{Batch, Table, joined, merged, parquet_rows};
    #[pymodule_export]
    use crate::sweep::{Pool, fill_hypercube, measures, parse_points, read_sweep, toml_of_json};

    #[pymodule_export]
    use crate::user::arguments::{Ack, Loss, Sent, UnexplainedLoss, Window};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("ENGINE", concat!(env!("CARGO_PKG_VERSION"), "+", env!("RETX_ENGINE")))
    }
}
