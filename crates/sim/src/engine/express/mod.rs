//! Fast paths of the engine (express): everything in it that exists only for speed.
//!
//! The plain engine ([`super::hops`], [`super::hosts`]) moves each packet through each hop by an
//! event of its own. The fast paths are used unless the run is a reference run
//! ([`Options::reference`](crate::Options::reference)) or takes a capture, which has to see every
//! hop at its time.
//!
//! *Assumptions.* A plain pipe (droptail queue, constant rate and delay, no channel) determines a
//! packet's arrival at its far end when the packet enters; so does a pipe whose channel only loses
//! packets. The route of a flow never changes. Packets leave a pipe in order, unless its channel
//! reorders them.
//!
//! *Invariants.* No result changes except the number of events: counters, tables, samples,
//! conservation of packets at each instant at which it is checked, and the order of packets at each
//! queue. `tests/all/reference.rs` and `tests/all/ahead.rs` compare. TCP's own fast paths are in
//! `retx_tcp`'s `connection/fast_path.rs`, under the same rule.
//!
//! *Parts.*
//! - [`hops`]: packets skip the checks that a plain pipe does not need, and are not read between
//!   their ends where their position is known (private pipes, [`super::routes`]).
//! - [`ahead`]: a pipe that a single other pipe feeds costs no event; a packet passes it when it
//!   enters the pipe before.
//! - [`lanes`]: access links behind a bottleneck share a few lanes instead of an event each. With
//!   more flows than the caches hold, the data of the next packets are prefetched.
//! - [`funnels`], [`funnel`], [`calendar`]: one event handles many arrivals at a bottleneck from
//!   links of one host each.
//!
//! *Gain of all parts, TCP's fast paths included.* Instructions (events) per delivered segment of
//! a dumbbell, start and end of the run included, by `benches/scale.rs flows N` with and without
//! `--reference` under callgrind, without link-time optimisation:
//!
//! | flows | with | reference |
//! |---:|---:|---:|
//! | 1 | 1,928 (1.50) | 5,392 (4.50) |
//! | 10 | 3,621 (2.44) | 9,509 (7.21) |
//! | 100 | 1,865 (1.62) | 6,067 (4.79) |
//! | 1,000 | 4,506 (2.41) | 9,831 (7.12) |
//! | 10,000 | 9,337 (2.84) | 14,632 (8.35) |
//!
//! *Order of ties.* Packets that reach a bottleneck at the same nanosecond over private links are
//! ordered by their transmission time. Funnels keep that order; the general engine also uses them
//! for it, with an event for each arrival.

mod ahead;
mod calendar;
mod funnel;
mod funnels;
mod hops;
mod lanes;

pub(super) use ahead::find_followers;
pub(super) use funnels::Funnels;
pub(super) use lanes::Lanes;
