//! Emulation: the kernel's TCP over a scenario's links, in real time.
//!
//! Nodes where flows end become network namespaces with one device each, in a separate process, the
//! [`worker`]. The packets of these devices pass through the simulator's stages, in the simulator's
//! engine, in real time ([`path`]). This crate contains no models.
//!
//! Steps of an emulation:
//!
//! 1. [`settings`] converts a TCP to kernel settings.
//! 2. [`layout`] computes the layout.
//! 3. [`launch`] starts the worker.
//! 4. [`path`] moves packets until the run is over.
//! 5. [`summary`] contains the results.

// Namespaces, TUN devices and packet sockets exist only on Linux.
#![cfg(target_os = "linux")]

mod boundary;
pub mod clock;
mod error;
pub mod lateness;
pub mod launch;
pub mod layout;
mod nanos;
pub mod path;
pub mod progress;
pub mod protocol;
mod rate_trials;
mod results;
mod run;
pub mod settings;
mod setups;
pub mod socket_state;
pub mod summary;
pub mod tcp_info;
pub mod worker;

pub use error::EmulateError;
pub use launch::LaunchOptions;
pub use layout::HostProgram;
pub use protocol::Backend;
pub use rate_trials::{Trial, run_rate_trials};
pub use run::{EmulationResult, LATENESS_BOUND, Settings, emulate};
