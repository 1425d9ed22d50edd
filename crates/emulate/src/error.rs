//! Errors of emulations.

use retx_sim::RunError;
use std::io;

/// Error of an emulation.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// The kernel cannot do what the scenario requires.
    #[error("{0}")]
    Scenario(String),
    /// The machine lacks something that the emulation needs, or does not allow it.
    #[error("{0}")]
    Machine(String),
    /// The run was cancelled, or its record is inconsistent.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An operation failed during the run.
    #[error("{what}: {source}")]
    Broken {
        /// Operation that failed.
        what: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

impl EmulateError {
    /// Converts an error of the system during the operation `what`.
    pub fn io_error(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Broken { what, source }
    }
}
