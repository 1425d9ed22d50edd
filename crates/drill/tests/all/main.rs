//! What this crate owes to those who use it. One program for all, since each more would be
//! optimised and linked on its own.
//!
//! `cargo test -p retx-drill --test all FILE::` runs one file.

mod drills;
mod fuzz;
mod sockets;
mod verdicts;
