//! Results of many runs: tables joined, sorted in the order of a plan, and stored as Parquet files.
//!
//! Threads and other machines return [`Batch`]es, whose rows identify their run by point number.
//! [`join`] combines them into one table that identifies runs by the key of their point, and
//! [`file::write`] writes it. [`merge`] selects runs from several such files.
//!
//! The bytes of a file depend only on its rows, not on the batches from which they come, because
//! texts are numbered in order of first appearance.

mod batch;
mod columns;
pub mod file;
mod merge;

pub use batch::{Batch, PointRuns, Value};
pub use columns::{Columns, KEY_COLUMN, POINT_COLUMN, REPLICATION_COLUMN};
pub use merge::{ReplicationRange, Runs, Source, join, merge, runs_in};
