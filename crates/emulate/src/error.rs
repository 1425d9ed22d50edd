//! Why nothing is emulated.

use retx_sim::RunError;
use std::io;

/// Why nothing is emulated.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// The kernel cannot do what the scenario asks for.
    #[error("{0}")]
    Scenario(String),
    /// This machine lacks something, or does not allow it.
    #[error("{0}")]
    Machine(String),
    /// The run was cancelled, or its record is faulty.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Something that had worked does not any more.
    #[error("{what}: {source}")]
    Broken {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl EmulateError {
    /// Makes one of what the system says while something is being done.
    pub fn broken(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Broken { what, source }
    }
}
