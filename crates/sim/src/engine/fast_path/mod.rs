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
//!   there. The segments of a burst after the first are sent in a loop of their own.
//! - [`ahead`]: a pipe that gets its packets from one other pipe needs no event; a packet's passage
//!   through it is computed when the packet enters that other pipe.
//! - [`lanes`]: access links behind a bottleneck share a few queues, instead of one event per link.
//!   If the caches cannot hold all flows, the data of the next packets are prefetched.
//!   The wake-ups of a few lanes wait outside the event queue (`lanes/wakeups.rs`); if a network
//!   has only a few links, their packets pass lanes, too (`lanes/single_links.rs`).
//! - `flow/cached_limit.rs`: after most acknowledgments, a few comparisons show that the limit of
//!   the flow is the same as before.
//! - [`funnels`], [`funnel`], [`calendar`]: one event handles many arrivals at a bottleneck that is
//!   reached over access links of single hosts.
//! - [`epochs`]: in networks of many shared plain pipes, such as a fat tree, a hop needs no event.
//!   The arrivals within the shortest propagation delay are handled pipe by pipe.
//! - [`stages`]: if the next event of an 802.11 cell precedes all others, it is handled at once,
//!   without the event queue. A packet that goes on to another port of the cell enters it directly.
//! - [`fetching`]: in other networks of many shared pipes, each hop is an event of its own. The
//!   state of the next events in the queue is prefetched, which only reads it.
//!
//! *Gains.* The first row shows instructions per delivered segment (events in brackets), the others
//! by how many per cent they rise if a part is switched off. Runs of the same number of flows
//! delivered the same bytes. Measured by `benches/scale.rs flows N` under callgrind, including the
//! start and the end of the run, in the profile `release`: debug assertions, which `develop` has,
//! also determine each cached limit in full. The first two rows were measured on 2026-11-30, the
//! others on 2026-11-29, when all wake-ups of lanes were events.
//!
//! | flows | 1 | 10 | 100 | 1,000 | 10,000 |
//! |---|---:|---:|---:|---:|---:|
//! | all parts | 1,752 (1.50) | 3,097 (2.44) | 1,658 (1.62) | 3,680 (2.20) | 6,999 (2.60) |
//! | all wake-ups of lanes as events, no lanes of single links | +7.3 | +6.4 | +7.7 | +2.9 | −0.1 |
//! | without short checks in [`hops`] | +21.0 | +18.9 | +23.0 | +15.1 | +8.5 |
//! | without private pipes | +4.8 | +22.2 | +27.6 | +16.0 | +9.1 |
//! | without [`ahead`], which lanes need | +18.0 | +25.9 | +31.2 | +24.8 | +14.4 |
//! | without [`lanes`] | 0 | +13.1 | +16.2 | +2.6 | +2.2 |
//! | without delayed events of [`funnels`] | 0 | +21.4 | +26.6 | +17.8 | +10.6 |
//! | without `flow/cached_limit.rs` | −1.5 | +4.3 | +3.5 | +2.7 | +1.2 |
//! | without TCP's fast paths | +102 | +95 | +130 | +72 | +34 |
//! | `--reference` | +180 | +174 | +230 | +126 | +64 |
//!
//! The [`calendar`] is hardly used in these runs. With delays of 1 to 50 ms on the access links
//! (flows of 10 Mbit/s each), the standard library's binary heap in its place takes 3.6 % more
//! instructions with 100 flows, and 8.5 % more with 1,000 (15 % more time).
//!
//! Without [`stages`], a flow of one 802.11 station takes 7.1 % more instructions, one over four
//! hops of a cell 9.2 %, and the uploads of ten stations 6.1 % (`benches/engine.rs`). If packets do
//! not enter the next port of a cell directly, the flow over four hops takes 7.7 % more.
//!
//! *Why lanes, funnels and a calendar.* One type of queue for both sides of a bottleneck was tried:
//! any number of rows, each sorted by arrival, and a tournament among their first packets. It was
//! 330 lines shorter, but took 0.8 to 4.4 % more instructions.
//!
//! *Order of ties.* Events in the same nanosecond are handled in an order that does not depend on
//! when they were inserted: that of the pipes that packets leave ([`super::owners::TargetRanges`]).
//! Packets that reach a bottleneck over private links are ordered by the time at which they were
//! sent, and if that is the same, by their routes. Funnels provide that order. The general engine
//! uses funnels for the same reason, with an event for each arrival.

mod ahead;
mod calendar;
mod epochs;
mod fetching;
mod funnel;
mod funnels;
mod hops;
mod lanes;
mod stages;

pub(super) use epochs::Epochs;
pub(super) use fetching::exceed_caches;
pub(super) use funnels::Funnels;
pub(super) use lanes::Lanes;

use crate::plan::Plan;
use crate::route_entry::RouteEntry;
use retx_link::Pipe;

/// Chooses how packets pass the pipes: by epochs, or with followers that are passed ahead of time.
pub(super) fn prepare_pipes(
    plan: &Plan,
    routes: &[RouteEntry],
    pipes: &mut [Pipe],
    has_flows: bool,
) -> Option<Box<Epochs>> {
    let epochs = Epochs::new(plan, routes, pipes).filter(|_| has_flows);
    if epochs.is_none() {
        ahead::find_followers(pipes, routes, &plan.pipes);
    }
    epochs
}
