//! What this crate owes to those who use it. One program for all, since each more would be
//! optimised and linked on its own.
//!
//! `cargo test -p retx-scenario --test all FILE::` runs one file.

mod errors;
mod examples;
mod fuzz;
mod resolution;
mod round_trip;
mod traces;
