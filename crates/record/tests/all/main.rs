//! What this crate owes to those who use it. One program for all, since each more would be
//! optimised and linked on its own.
//!
//! `cargo test -p retx-record --test all FILE::` runs one file.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod connections;
mod pcapng;
mod pcapng_tshark;
mod truth;
