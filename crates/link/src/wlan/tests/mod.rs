//! Tests of the cell.

mod bianchi;
mod delays;
mod queues;
mod rig;
mod timelines;
mod witness;
