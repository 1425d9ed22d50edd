//! Fast paths of the engine: the code of the engine that exists only for speed.
//!
//! The general engine ([`super::hops`], [`super::hosts`]) handles each packet at each hop by an
//! event. The fast paths are used instead, except in a reference run
//! ([`Options::is_reference_run`](crate::Options::is_reference_run)) and in a run with a capture,
//! which must see each packet at each hop when it passes there.
//!
//! *Assumptions.* When a packet enters a plain pipe (droptail queue, constant rate and delay, no
//! channel), its arrival at the far end is known. The same holds for a pipe whose channel only
//! loses packets. The route of a flow never changes. Packets leave a pipe in order, unless its
//! channel reorders them.
//!
//! *Invariants.* The fast paths change no result except the number of events. Counters, tables and
//! samples are equal, packets are conserved whenever that is checked, and packets have the same
//! order at each queue. `tests/all/reference.rs` and `tests/all/ahead.rs` compare the results.
//! TCP's own fast paths, which follow the same rule, are in `connection/fast_path.rs` of
//! `retx_tcp`.
//!
//! *Parts.*
//! - [`hops`]: packets skip checks that a plain pipe does not need. In a private pipe
//!   ([`super::routes`]) a packet's position is known without reading the packet, so it is not read
//!   there.
//! - [`ahead`]: a pipe that gets its packets from one other pipe needs no event; a packet's passage
//!   through it is computed when the packet enters that other pipe.
//! - [`lanes`]: access links behind a bottleneck share a few queues, instead of one event per link.
//!   If the caches cannot hold all flows, the data of the next packets are prefetched.
//! - `flow/cached_limit.rs`: after most acknowledgments, a few comparisons show that the limit of
//!   the flow is the same as before. This saves 2.5 % of all instructions.
//! - [`funnels`], [`funnel`], [`calendar`]: one event handles many arrivals at a bottleneck that is
//!   reached over access links of single hosts.
//!
//! *Gain of all parts, including TCP's fast paths.* The table shows instructions (and events) per
//! delivered segment of a dumbbell, including the start and the end of the run. It was measured by
//! `benches/scale.rs flows N` under callgrind, with and without `--reference`, and without
//! link-time optimisation.
//!
//! | flows | with | reference |
//! |---:|---:|---:|
//! | 1 | 1,928 (1.50) | 5,392 (4.50) |
//! | 10 | 3,621 (2.44) | 9,509 (7.21) |
//! | 100 | 1,865 (1.62) | 6,067 (4.79) |
//! | 1,000 | 4,506 (2.41) | 9,831 (7.12) |
//! | 10,000 | 9,337 (2.84) | 14,632 (8.35) |
//!
//! *Order of ties.* Packets that reach a bottleneck in the same nanosecond over private links are
//! ordered by the time at which they were sent. Funnels provide that order. The general engine uses
//! funnels for the same reason, with an event for each arrival.

mod ahead;
mod calendar;
mod funnel;
mod funnels;
mod hops;
mod lanes;

pub(super) use ahead::find_followers;
pub(super) use funnels::Funnels;
pub(super) use lanes::Lanes;
