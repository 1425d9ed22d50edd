//! Tests of this crate's public interface, in one program, since each more would be
//! optimised and linked on its own.
//!
//! `cargo test -p retx-diagnose --test all FILE::` runs one file.

mod build;
mod damage;
mod encapsulations;
mod far;
mod flows;
mod formats;
mod identification;
mod needless;
mod pacing;
mod patterns;
mod recoveries;
mod script;
mod short;
mod silences;
