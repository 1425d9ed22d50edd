//! What many runs found: tables joined, put in the order of a plan, and kept as Parquet files.
//!
//! Threads and machines bring [`Batch`]es, whose rows say by numbers of a plan which run they
//! belong to. [`joined`] makes one table of them, whose rows say so by the names of points, and
//! [`file::write`] the file of it. [`merged`] takes runs out of several such files.
//!
//! The bytes of a file depend on its rows alone, whichever batches they came in: texts are numbered
//! as they first appear.

mod batch;
mod columns;
pub mod file;
mod merge;

pub use batch::{Batch, OfPoint, Value};
pub use columns::Columns;
pub use merge::{KEY, REPLICATION, Range, Runs, Source, joined, merged, runs_of};

/// The column of a batch that tells a run's point.
pub const POINT: &str = "point";
