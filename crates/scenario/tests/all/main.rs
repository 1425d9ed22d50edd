//! Contract tests of the crate. They share one binary, because each further binary would be
//! optimised and linked separately.
//!
//! `cargo test -p retx-scenario --test all FILE::` runs one file.

mod errors;
mod examples;
mod fuzz;
mod resolution;
mod round_trip;
mod traces;
