//! What this crate owes to those who use it. One program for all, since each more would be
//! optimised and linked on its own.
//!
//! `cargo test -p retx-link --test all FILE::` runs one file.

mod bursts;
mod channels;
mod delays;
mod fading;
mod paths;
mod pie_drops;
mod pipe;
mod queue_laws;
mod queues;
mod relays;
mod repair;
