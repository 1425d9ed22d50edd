//! Contract tests of the crate. They share one binary, because each further binary would be
//! optimised and linked separately.
//!
//! `cargo test -p retx-record --test all FILE::` runs one file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod connections;
mod limits;
mod pcapng;
mod pcapng_tshark;
mod skipping;
mod truth;
mod truth_cases;
