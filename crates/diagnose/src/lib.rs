//! Diagnoses captures: from a file of any common format to what limited each TCP flow in it.
//!
//! [`reader`] yields frames in memory of bounded size, [`layers`] finds the segment in a frame,
//! through whatever encapsulations, and [`packet`] is what a segment says. [`flow`] follows both
//! directions of each connection, and [`answer`] is what is said about it.

pub mod answer;
pub mod between;
pub mod flow;
pub mod layers;
pub mod measure;
mod order;
pub mod packet;
pub mod pair;
pub mod picture;
pub mod reader;
mod run;
pub mod tables;

pub use pair::diagnose_pair;
pub use run::{diagnose, diagnose_with_picture};
