//! Tests of the cell.

mod bianchi;
mod rig;
mod timelines;
