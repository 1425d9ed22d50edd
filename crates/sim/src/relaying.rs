//! What relays tell in the summary of a run, and how flows in several legs are told.

use crate::engine::Engine;
use crate::plan::Plan;
use retx_record::counters::{FlowCounters, Level};
use retx_record::summary::RelaySummary;
use retx_units::Time;

/// One per relay.
pub fn summaries(plan: &Plan, engine: &Engine<'_>) -> Vec<RelaySummary> {
    let mut relays: Vec<RelaySummary> = plan.relays.iter().map(named).collect();
    for (proxy, start) in engine.proxies.iter().zip(&engine.baseline.proxies) {
        let of = &mut relays[proxy.plan().relay as usize];
        of.bytes_relayed += proxy.given - start.given;
        add_level(of, &proxy.held.since(&start.held));
    }
    relays
}

fn named(plan: &crate::plan::RelayPlan) -> RelaySummary {
    let crate::plan::RelayPlan { name, node, kind } = plan.clone();
    RelaySummary { name, kind, node, ..RelaySummary::default() }
}

/// What a relay holds of several flows: the sum of the means, and of the maxima, as each flow has a
/// buffer of its own.
fn add_level(of: &mut RelaySummary, level: &Level) {
    of.buffer_mean_bytes += level.mean();
    of.buffer_max_bytes += level.max;
    of.buffer_end_bytes += level.value();
}

/// A flow's own counters and times from start to finish.
#[derive(Debug, Clone, Copy)]
pub struct EndToEnd {
    /// From the end of the warm-up on.
    pub counters: FlowCounters,
    /// When the initiator opened.
    pub start: Option<Time>,
    /// When the receiving application read the last byte.
    pub finish: Option<Time>,
}

/// What a flow comes to. The first leg of a chain stands for the whole of it: opened when its
/// initiator did, delivered where the data are read.
pub fn end_to_end(engine: &Engine<'_>, index: usize) -> EndToEnd {
    let of = |index: usize| {
        let ledger = &engine.flows[index].ledger;
        let counters = ledger.counters.since(&engine.baseline.flows[index]);
        EndToEnd { counters, start: ledger.start, finish: ledger.finish }
    };
    let own = of(index);
    let chain = engine.flows[index].chain().map(|chain| &engine.chains[chain as usize]);
    let Some(chain) = chain.filter(|chain| chain.first as usize == index) else { return own };
    let last = of(chain.last as usize);
    let counters = FlowCounters { bytes_delivered: last.counters.bytes_delivered, ..own.counters };
    let start = own.start.into_iter().chain(last.start).min();
    EndToEnd { counters, start, finish: last.finish }
}
