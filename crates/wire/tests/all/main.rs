//! Contract tests of the crate. They share one binary, because each further binary would be
//! optimised and linked separately.
//!
//! `cargo test -p retx-wire --test all FILE::` runs one file.

mod fuzz;
mod generate;
mod round_trip;
