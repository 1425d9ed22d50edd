//! Tests of the cell.

mod bianchi;
mod queues;
mod rig;
mod timelines;
