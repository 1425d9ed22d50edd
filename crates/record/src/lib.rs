//! Record of a run: counters, tables in columns, recovery episodes with their true causes, and
//! captures.

mod atomic;
pub mod capture;
mod collected;
pub mod counters;
pub mod datagrams;
pub mod distribution;
mod drops;
pub mod flow;
mod json;
mod limit;
pub mod pcapng;
pub mod reason;
mod relay;
mod rows;
pub mod summary;
pub mod table;
pub mod tables;
pub mod truth;
mod wireless;

pub use atomic::{WriteError, write_atomically};
pub use collected::Rows;
pub use json::write_json;
pub use rows::{FlowRow, FlowRows, empty_row};
pub use table::{Column, Names, Table};
