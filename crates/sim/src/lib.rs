//! Engine: hosts, applications and links in virtual time, and the record of a run.
//!
//! Path of a packet: the [`engine`] takes the earliest event, and polls a flow's application and
//! connection for a segment ([`flow`]). It passes the packet to the first hop of its route: a pipe
//! (queue, rate, channel and delay; `retx_link::pipe`) or another [`stage`]. When the packet leaves
//! a hop, the engine passes it to the next, and finally to the peer's connection. The
//! acknowledgment returns in the same way.

pub mod agenda;
mod app;
pub mod build;
pub mod capture;
mod columns;
mod copy_on_write;
pub mod datagram;
mod drop;
mod endpoint;
pub mod engine;
pub mod event_queue;
pub mod exchanges;
mod flow;
pub mod options;
mod packet;
pub mod path;
pub mod plan;
mod pool;
mod proxy;
mod recorder;
mod relaying;
mod replications;
mod route_entry;
pub mod run;
pub mod source;
pub mod stage;
mod wireless;

pub use capture::CapturePoint;
pub use columns::{Columns, TablesByJobKind};
pub use drop::PacketDrop;
pub use options::{Options, RunError};
pub use packet::Transmission;
pub use pool::{Collect, Job, Pool, PoolResults, ThreadWrapper};
pub use replications::{Batch, run, run_many, run_many_within};
pub use run::{Control, Outcome, run_plan};
