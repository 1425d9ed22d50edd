//! What this crate owes to those who use it. One program for all, since each more would be
//! optimised and linked on its own.
//!
//! `cargo test -p retx-emulate --test all FILE::` runs one file.

mod episodes;
mod real;
mod traffic;
