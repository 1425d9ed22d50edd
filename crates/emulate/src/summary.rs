//! What an emulation came to, with the keys of a simulation's summary.
//!
//! A value that nobody has seen is null.

use crate::lateness::LatenessSummary;
use crate::path::DatagramSight;
use crate::protocol::{DatagramReport, FlowReport};
use crate::tcp_info::TcpInfo;
use retx_record::datagrams::{DatagramFrame, DatagramSummary};
use retx_record::empty_row;
use retx_record::flow::FlowCounters;
use retx_record::summary::{
    EngineSummary, FlowFrame, FlowSummary, LinkSummary, RelaySummary, WlanSummary,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// What one emulation comes to, as `retx emulate --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulationSummary {
    /// The resolved scenario, so that it can be run again.
    pub scenario: serde_json::Value,
    /// Of retx.
    pub version: String,
    /// The scenario's.
    pub seed: u64,
    /// Which draws of it the models took, from 0.
    pub replication: u64,
    /// One per flow, in the scenario's order, with all keys of a simulated one.
    #[serde(serialize_with = "rows")]
    pub flows: Vec<EmulatedRow>,
    /// Two per link, in the scenario's order: forward, reverse.
    pub links: Vec<LinkSummary>,
    /// One per wlan, in the scenario's order.
    pub wlans: Vec<WlanSummary>,
    /// One per relay, in the scenario's order.
    pub relays: Vec<RelaySummary>,
    /// What the engine did; its time is that of the clock.
    pub engine: EngineSummary,
    /// By what it was done, and how well.
    pub emulation: Emulation,
}

/// By what an emulation was done, and how well.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Emulation {
    /// Packets were on time, and none was dropped that no model dropped.
    pub valid: bool,
    /// If not, why; a sentence each.
    pub faults: Vec<String>,
    pub backend: &'static str,
    /// The kernel's release.
    pub kernel: String,
    /// `fifo` where the emulator ran before everything else, `normal` where it may not.
    pub priority: &'static str,
    /// Settings of each host, as the kernel reads them back.
    pub sysctls: BTreeMap<String, BTreeMap<String, String>>,
    /// Features of the hosts' devices that are switched off.
    pub offloads_off: Vec<String>,
    /// Where the senders' states come from: `tcp_info`, …
    pub states_from: &'static str,
    /// … and when they were looked at, in words.
    pub states_at: &'static str,
    /// How late packets left for the hosts.
    pub lateness: LatenessSummary,
    /// The 99th percentile above which a run is not valid.
    pub lateness_bound_s: f64,
    /// Packets that the hosts' devices dropped, none of it a model's doing.
    pub device_drops: u64,
    /// Packets to no host, or of no use to the models (IPv6).
    pub packets_unroutable: u64,
    /// The programs that were run, and their exit codes.
    pub programs: Vec<ProgramSummary>,
}

/// A program that was run in a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct ProgramSummary {
    pub host: String,
    /// `None` for a shell.
    pub command: Option<String>,
    /// `None` when the run was over before the program.
    pub exit_code: Option<i32>,
}

/// A flow's results.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "there are few")]
pub enum EmulatedRow {
    /// Over TCP.
    Tcp(EmulatedFlow),
    /// Of UDP.
    Udp(EmulatedDatagrams),
}

impl EmulatedRow {
    /// One over TCP.
    pub const fn tcp(&self) -> Option<&EmulatedFlow> {
        if let Self::Tcp(flow) = self { Some(flow) } else { None }
    }

    /// One of UDP.
    pub const fn udp(&self) -> Option<&EmulatedDatagrams> {
        if let Self::Udp(flow) = self { Some(flow) } else { None }
    }

    /// Bytes delivered over the time that it took.
    pub const fn goodput_bit_s(&self) -> Option<f64> {
        match self {
            Self::Tcp(flow) => flow.summary.goodput_bit_s,
            Self::Udp(flow) => flow.seen.goodput_bit_s,
        }
    }
}

/// What is known of a flow of UDP, from the end of the warm-up on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulatedDatagrams {
    /// What the links saw.
    #[serde(flatten)]
    pub seen: DatagramSummary,
    /// There is no `TCP_INFO`.
    pub kernel: Option<TcpInfo>,
    /// What went wrong at a socket, in the system's words.
    pub fault: Option<String>,
}

impl EmulatedDatagrams {
    /// A flow's results, from what its ends know and what was seen on the way.
    pub fn new(frame: DatagramFrame, report: DatagramReport, sight: &DatagramSight) -> Self {
        let missing = sight.handed.saturating_sub(report.received);
        let unread = (missing > 0).then(|| {
            format!("{missing} packets have reached the host and not the program: it was too slow")
        });
        Self {
            seen: DatagramSummary::new(frame, &sight.counters),
            kernel: None,
            fault: report.fault.or(unread),
        }
    }
}

/// What is known of a flow over TCP, from the end of the warm-up on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulatedFlow {
    /// As of a simulated one; its segments are counted as they entered the first link.
    #[serde(flatten)]
    pub summary: FlowSummary,
    /// The sender's `TCP_INFO` at the end.
    pub kernel: TcpInfo,
    /// What went wrong at a socket, in the system's words.
    pub fault: Option<String>,
    /// Proxies split it: what is undelivered nobody has seen.
    #[serde(skip)]
    pub is_split: bool,
}

impl EmulatedFlow {
    /// A flow's results, from what its ends know and what was seen on the way.
    pub fn new(frame: FlowFrame, report: FlowReport, counts: &FlowCounters) -> Self {
        let FlowReport { start, finish, bytes_delivered, bytes_in_warmup, .. } = report;
        let frame = FlowFrame { start, finish, ..frame };
        let bytes_delivered = bytes_delivered - bytes_in_warmup;
        let counters = FlowCounters { bytes_delivered, ..counts.clone() };
        let FlowReport { kernel, fault, .. } = report;
        Self { summary: FlowSummary::new(frame, &counters), kernel, fault, is_split: false }
    }
}

/// Rows with every key that a simulated flow has; null where nothing is known.
fn rows<S: Serializer>(flows: &[EmulatedRow], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(flows.iter().map(|flow| {
        let mut row = empty_row();
        match serde_json::to_value(flow) {
            Ok(Value::Object(known)) if flow.tcp().is_some_and(|flow| flow.is_split) => {
                let seen = |(key, _): &(String, Value)| !key.starts_with("undelivered_");
                row.extend(known.into_iter().filter(seen));
            }
            Ok(Value::Object(known)) => row.extend(known),
            other => unreachable!("results are tables: {other:?}"),
        }
        row
    }))
}
