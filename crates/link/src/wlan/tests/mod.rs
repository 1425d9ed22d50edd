//! Tests of the cell.

mod bianchi;
mod delays;
mod errors;
mod fast_path;
mod queues;
mod rig;
mod timelines;
mod witness;
