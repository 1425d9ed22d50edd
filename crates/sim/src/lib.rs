//! Engine: hosts, applications and links in virtual time, and the record of a run.
//!
//! Path of a packet: [`engine`] takes the earliest event → a flow's application and connection are
//! asked for a segment ([`flow`]) → the engine passes it to the first pipe of its route → queue,
//! rate, channel and delay (`retx_link::pipe`), or another [`stage`] → the next hop … → the peer's
//! connection → its acknowledgment returns likewise.

pub mod agenda;
mod app;
pub mod build;
pub mod capture;
mod columns;
pub mod datagram;
mod drop;
pub mod engine;
pub mod event_queue;
pub mod exchanges;
mod flow;
mod many;
pub mod options;
mod packet;
pub mod path;
pub mod plan;
mod pool;
mod proxy;
mod recorder;
mod relaying;
pub mod run;
mod shared;
pub mod source;
pub mod stage;
mod wireless;

pub use capture::CapturePoint;
pub use columns::{Columns, ColumnsByKind};
pub use drop::Drop;
pub use many::{Batch, run, run_many, run_many_within};
pub use options::{Options, RunError};
pub use packet::Transmission;
pub use pool::{Collect, Found, Job, Pool, Within};
pub use run::{Control, Outcome, run_plan};
