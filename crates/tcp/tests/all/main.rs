//! Tests of this crate's public interface. They share one binary, because each further binary would
//! be optimised and linked separately.
//!
//! `cargo test -p retx-tcp --test all FILE::` runs one file.

mod backoff_bursty_rto;
mod backoff_policies;
mod congestion_control;
mod congestion_control_bulk_repeat;
mod contract;
mod limits;
mod loss_cause_connection;
mod loss_cause_contract;
mod pacing;
mod rig;
mod spurious;
mod timers;
mod transfer;
mod user_code;
