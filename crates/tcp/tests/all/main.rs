//! Tests of this crate's public interface, in one program, since each more would be
//! optimised and linked on its own.
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
