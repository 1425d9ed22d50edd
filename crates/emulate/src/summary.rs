//! What an emulation came to, with the keys of a simulation's summary.
//!
//! A value that nobody has seen is null.

use crate::lateness::LatenessSummary;
use crate::protocol::FlowReport;
use crate::tcp_info::TcpInfo;
use retx_record::counters::FlowCounters;
use retx_record::empty_row;
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
    pub flows: Vec<EmulatedFlow>,
    /// Two per link, in the scenario's order: forward, reverse.
    pub links: Vec<LinkSummary>,
    /// One per wlan, in the scenario's order.
    pub wlans: Vec<WlanSummary>,
    /// None: relays are not emulated.
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

/// What is known of a flow, from the end of the warm-up on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulatedFlow {
    /// As of a simulated one; its segments are counted as they entered the first link.
    #[serde(flatten)]
    pub summary: FlowSummary,
    /// The sender's `TCP_INFO` at the end.
    pub kernel: TcpInfo,
    /// What went wrong at a socket, in the system's words.
    pub fault: Option<String>,
}

impl EmulatedFlow {
    /// A flow's results, from what its ends know and what was seen on the way.
    pub fn new(frame: FlowFrame, report: FlowReport, counts: &FlowCounters) -> Self {
        let FlowReport { start, finish, bytes_delivered, bytes_in_warmup, kernel, fault } = report;
        let frame = FlowFrame { start, finish, ..frame };
        let bytes_delivered = bytes_delivered - bytes_in_warmup;
        let counters = FlowCounters { bytes_delivered, ..*counts };
        Self { summary: FlowSummary::new(frame, &counters), kernel, fault }
    }
}

/// Rows with every key that a simulated flow has; null where nothing is known.
fn rows<S: Serializer>(flows: &[EmulatedFlow], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(flows.iter().map(|flow| {
        let mut row = empty_row();
        match serde_json::to_value(flow) {
            Ok(Value::Object(known)) => row.extend(known),
            other => unreachable!("results are tables: {other:?}"),
        }
        row
    }))
}
