//! No two presets send the same segments, nor do two congestion controls in otherwise equal
//! configurations: a choice without any effect would not have been connected to the code.

use crate::plans::{LinkOf, bernoulli, one_flow, tcp};
use retx_sim::plan::{AppPlan, Plan, TcpPlan};
use retx_sim::{Control, Options, run_plan};
use retx_tcp::{congestion_control, presets};
use retx_units::{Duration, Time};
use std::collections::HashMap;

/// Pairs of presets or congestion controls that are documented to behave alike in this scenario:
/// DCTCP without a queue that marks, and TCP-LP without timestamps, are Reno as in Linux.
const EQUAL: [(&str, &str); 3] = [("reno_linux", "dctcp"), ("reno_linux", "lp"), ("dctcp", "lp")];

/// A minute of bulk data over 2 Mbit/s and 60 ms with a queue of 15 packets; 1 % of the data
/// packets are lost, and 0.5 % of the acknowledgments. Slow start overflows the queue, random
/// losses find full and empty queues, and some cost a timeout.
fn lossy(tcp: TcpPlan) -> Plan {
    let mut bottleneck = LinkOf::new("bottleneck", ["left", "right"]);
    bottleneck.mbit_s = Some(2);
    bottleneck.delay = Duration::from_millis(30);
    bottleneck.packets = Some(15);
    bottleneck.forward = vec![bernoulli(0.01)];
    bottleneck.reverse = vec![bernoulli(0.005)];
    Plan {
        end: Time::ZERO + Duration::from_secs(60),
        ..one_flow(&[bottleneck], tcp, AppPlan::Bulk)
    }
}

/// Every segment sent: its time, first sequence number and length.
type Trace = Vec<(Time, u64, u32)>;

fn trace(tcp: TcpPlan) -> Trace {
    let options = Options { record_segments: true, ..Options::default() };
    let outcome = run_plan(&lossy(tcp), &options, &Control::default()).expect("a sound plan");
    let segments = outcome.tables.segments.expect("asked for");
    segments.rows().map(|(row, _)| (row.sent, row.seq, row.length_bytes)).collect()
}

fn check(traces: impl Iterator<Item = (&'static str, Trace)>) {
    let mut seen: HashMap<Trace, &str> = HashMap::new();
    for (name, trace) in traces {
        let retransmitted = trace.len() - {
            let mut positions: Vec<u64> = trace.iter().map(|(_, seq, _)| *seq).collect();
            positions.sort_unstable();
            positions.dedup();
            positions.len()
        };
        assert!(retransmitted > 10, "{name} has hardly met a loss: {retransmitted}");
        if let Some(other) = seen.insert(trace, name) {
            let documented = EQUAL.contains(&(other, name)) || EQUAL.contains(&(name, other));
            assert!(documented, "{name} sends exactly what {other} sends");
        }
    }
}

#[test]
fn every_two_presets_differ() {
    check(presets::PRESETS.iter().map(|preset| (preset.name, trace(tcp(preset.name)))));
}

#[test]
fn every_two_congestion_controls_differ() {
    check(congestion_control::Config::BUILT_IN.iter().map(|name| {
        let mut tcp = tcp("sack");
        tcp.config.congestion_control =
            serde_json::from_value((*name).into()).expect("a name from the list");
        (*name, trace(tcp))
    }));
}
