//! Contract tests of the crate. They share one binary, because each further binary would be
//! optimised and linked separately.
//!
//! `cargo test -p retx-link --test all FILE::` runs one file.

mod bursts;
mod channel_changes;
mod channels;
mod delays;
mod draws;
mod exact_channels;
mod fading;
mod paths;
mod pie_drops;
mod pipe;
mod queue_laws;
mod queue_limits;
mod queues;
mod refused_channels;
mod relays;
mod repair;
