//! Tests of the cell.

mod bianchi;
mod delays;
mod errors;
mod queues;
mod rig;
mod timelines;
mod witness;
