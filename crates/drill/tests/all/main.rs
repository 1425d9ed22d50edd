//! Contract tests of the crate. They share one binary, because each further binary would be
//! optimised and linked separately.
//!
//! `cargo test -p retx-drill --test all FILE::` runs one file.

mod drills;
mod fuzz;
mod sockets;
mod verdicts;
