//! Summaries of relays, and of flows in several legs.

use crate::engine::Engine;
use crate::plan::{Plan, StagePlan};
use crate::stage::{RelaySnapshot, Snapshot};
use retx_record::counters::{Gauge, Measure};
use retx_record::flow::FlowCounters;
use retx_record::summary::RelaySummary;
use retx_units::Time;

/// Summary of each relay.
pub fn relay_summaries(plan: &Plan, engine: &Engine<'_>) -> Vec<RelaySummary> {
    let span = engine.now().since(engine.baseline.at).as_nanos() as f64;
    let named = |plan| named(plan, span > 0.0);
    let mut relays: Vec<RelaySummary> = plan.relays.iter().map(named).collect();
    for (proxy, start) in engine.proxies.iter().zip(&engine.baseline.proxies) {
        let of = &mut relays[proxy.plan().relay as usize];
        of.bytes_relayed += proxy.bytes_forwarded - start.bytes_forwarded;
        add_level(of, &proxy.held_bytes.since(&start.held_bytes));
    }
    let stages = plan.stages.iter().zip(&engine.stages).zip(&engine.baseline.stages);
    for ((plan, placed), start) in stages {
        let (StagePlan::Relay(plan), Snapshot::Relay(start), Snapshot::Relay(end)) =
            (plan, start, placed.stage.snapshot(engine.now()))
        else {
            continue;
        };
        let of = &mut relays[plan.relay as usize];
        add_agent(of, (start, &end));
        let held = (end.occupancy.integral - start.occupancy.integral) as f64;
        of.buffer_mean_bytes = of.buffer_mean_bytes.map(|_| held / span);
    }
    relays
}

fn add_agent(of: &mut RelaySummary, (start, end): (&RelaySnapshot, &RelaySnapshot)) {
    let (from, to) = (&start.counters, &end.counters);
    of.segments_cached = to.segments_cached - from.segments_cached;
    of.retransmissions_by_acks = to.repeated_by_acks - from.repeated_by_acks;
    of.retransmissions_by_timer = to.repeated_by_timer - from.repeated_by_timer;
    of.segments_given_up = to.given_up - from.given_up;
    of.acks_suppressed = to.acks_suppressed - from.acks_suppressed;
    of.acks_marked = to.acks_marked - from.acks_marked;
    of.buffer_max_bytes = end.occupancy.max;
    of.buffer_end_bytes = end.occupancy.bytes;
}

/// Summary of a relay without activity. `lasted` is false for a run that ended in its warm-up.
fn named(plan: &crate::plan::RelayPlan, lasted: bool) -> RelaySummary {
    let crate::plan::RelayPlan { name, node, kind } = plan.clone();
    let buffer_mean_bytes = lasted.then_some(0.0);
    RelaySummary { name, kind, node, buffer_mean_bytes, ..RelaySummary::default() }
}

/// Adds a flow's buffer to the summary of a relay. Each flow has a buffer of its own, so the
/// relay's mean and maximum are sums over the flows.
fn add_level(of: &mut RelaySummary, level: &Gauge) {
    of.buffer_mean_bytes = of.buffer_mean_bytes.map(|mean| mean + level.mean());
    of.buffer_max_bytes += level.max;
    of.buffer_end_bytes += level.value();
}

/// A flow's counters, start and finish, across all its legs.
#[derive(Debug, Clone)]
pub struct EndToEndResults {
    /// Counters from the end of the warm-up on.
    pub counters: FlowCounters,
    /// Time at which the initiator opened the connection.
    pub start: Option<Time>,
    /// Time at which the receiving application read the last byte.
    pub finish: Option<Time>,
}

/// Results of a flow. The first leg of a chain gets the results of the whole chain, from the
/// initiator's opening to the delivery at the receiving application.
pub fn end_to_end_results(engine: &Engine<'_>, index: usize) -> EndToEndResults {
    let of = |index: usize| {
        let record = &engine.flows[index].record;
        let counters = record.counters.since(&engine.baseline.flow(index));
        EndToEndResults { counters, start: record.start(), finish: record.finish() }
    };
    let own = of(index);
    let chain = engine.flows[index].chain().map(|chain| &engine.chains[chain as usize]);
    let Some(chain) = chain.filter(|chain| chain.sender_leg as usize == index) else { return own };
    let last = of(chain.receiver_leg as usize);
    let mut limited_by = last.counters.limited_by;
    // Until the last leg is opened, the path is incomplete; that time counts as handshake.
    match (own.start, last.start) {
        (Some(own), Some(last)) => {
            let from = own.max(engine.baseline.at);
            limited_by.add_handshake(last.since(from));
            limited_by.begin_history_at(own);
        }
        (Some(_), None) => {
            limited_by = own.counters.limited_by.clone();
            limited_by.count_all_as_handshake();
        }
        (None, _) => {}
    }
    let bytes_delivered = last.counters.bytes_delivered;
    let counters = FlowCounters { bytes_delivered, limited_by, ..own.counters };
    let start = own.start.into_iter().chain(last.start).min();
    EndToEndResults { counters, start, finish: last.finish }
}
