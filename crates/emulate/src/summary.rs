//! Summary of an emulation, with the keys of a simulation's summary.
//!
//! A value that was not observed is null.

use crate::lateness::LatenessSummary;
use crate::path::DatagramObservations;
use crate::protocol::{DatagramReport, FlowReport};
use crate::tcp_info::TcpInfo;
use retx_record::datagrams::{DatagramInputs, DatagramSummary};
use retx_record::empty_row;
use retx_record::flow::FlowCounters;
use retx_record::summary::{
    EngineSummary, FlowInputs, FlowSummary, LinkSummary, RelaySummary, WlanSummary,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// Summary of one emulation, as `retx emulate --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulationSummary {
    /// Resolved scenario, with which the emulation can be repeated.
    pub scenario: serde_json::Value,
    /// Version of retx.
    pub version: String,
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the replication, which determines the draws of the models.
    pub replication: u64,
    /// Flows, in the scenario's order, with all keys of a simulated one.
    #[serde(serialize_with = "rows")]
    pub flows: Vec<EmulatedRow>,
    /// Links, in the scenario's order: forward and reverse of each.
    pub links: Vec<LinkSummary>,
    /// Wlans, in the scenario's order.
    pub wlans: Vec<WlanSummary>,
    /// Relays, in the scenario's order.
    pub relays: Vec<RelaySummary>,
    /// Cost of the engine. The simulated time equals the wall-clock time, because an emulation runs
    /// in real time.
    pub engine: EngineSummary,
    /// Circumstances and validity of the emulation.
    pub emulation: Emulation,
}

/// Circumstances and validity of an emulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Emulation {
    /// True if packets were on time, and only models dropped packets.
    pub valid: bool,
    /// Reasons why the run is not valid, one sentence each.
    pub faults: Vec<String>,
    pub backend: &'static str,
    /// Release of the kernel.
    pub kernel: String,
    /// `fifo` if the emulator had real-time priority; otherwise `normal`.
    pub priority: &'static str,
    /// Settings of each host, as read back from the kernel.
    pub sysctls: BTreeMap<String, BTreeMap<String, String>>,
    /// Features of the hosts' devices that are disabled.
    pub offloads_off: Vec<String>,
    /// Source of the senders' states: `tcp_info`.
    pub states_from: &'static str,
    /// Description of the times at which the senders' states were read.
    pub states_at: &'static str,
    /// Lateness of the packets that were written to the hosts.
    pub lateness: LatenessSummary,
    /// Bound of the 99th percentile of lateness, seconds; a run above it is not valid.
    pub lateness_bound_s: f64,
    /// Number of packets that the hosts' devices dropped.
    pub device_drops: u64,
    /// Number of packets that have no destination host or that the models ignore (IPv6).
    pub packets_unroutable: u64,
    /// Programs that were run, and their exit codes.
    pub programs: Vec<ProgramSummary>,
}

/// Program that was run in a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct ProgramSummary {
    pub host: String,
    /// Command; `None` for an interactive shell.
    pub command: Option<String>,
    /// Exit code; `None` if the run ended before the program.
    pub exit_code: Option<i32>,
}

/// Results of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "there are few")]
pub enum EmulatedRow {
    /// TCP flow.
    Tcp(EmulatedFlow),
    /// UDP flow.
    Udp(EmulatedDatagrams),
}

impl EmulatedRow {
    /// Results of a TCP flow.
    pub const fn tcp(&self) -> Option<&EmulatedFlow> {
        if let Self::Tcp(flow) = self { Some(flow) } else { None }
    }

    /// Results of a UDP flow.
    pub const fn udp(&self) -> Option<&EmulatedDatagrams> {
        if let Self::Udp(flow) = self { Some(flow) } else { None }
    }

    /// Goodput in bit/s, as a simulation computes it; `None` if undefined.
    pub const fn goodput_bit_s(&self) -> Option<f64> {
        match self {
            Self::Tcp(flow) => flow.summary.goodput_bit_s,
            Self::Udp(flow) => flow.summary.goodput_bit_s,
        }
    }
}

/// Results of a UDP flow after the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulatedDatagrams {
    /// Observations on the links.
    #[serde(flatten)]
    pub summary: DatagramSummary,
    /// Always `None`: UDP has no `TCP_INFO`.
    pub kernel: Option<TcpInfo>,
    /// Message of the system about an error of a socket, if any.
    pub fault: Option<String>,
}

impl EmulatedDatagrams {
    /// Combines the reports of a flow's ends with the observations on the path.
    pub fn new(
        inputs: DatagramInputs,
        report: DatagramReport,
        observations: &DatagramObservations,
    ) -> Self {
        // The kernel does not report drops of UDP packets at the socket. They are inferred from the
        // numbers of packets that reached the host and of those that the program read.
        let missing = observations.packets_delivered.saturating_sub(report.received);
        let unread = (missing > 0).then(|| {
            format!("{missing} packets have reached the host and not the program: it was too slow")
        });
        Self {
            summary: DatagramSummary::new(inputs, &observations.counters),
            kernel: None,
            fault: report.fault.or(unread),
        }
    }
}

/// Results of a TCP flow after the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulatedFlow {
    /// Results with the keys of a simulated flow. Segments are counted when they enter the first
    /// link.
    #[serde(flatten)]
    pub summary: FlowSummary,
    /// The sender's `TCP_INFO` at the end.
    pub kernel: TcpInfo,
    /// Message of the system about an error of a socket, if any.
    pub fault: Option<String>,
    /// True if proxies split the flow. Its undelivered bytes were then not observed.
    #[serde(skip)]
    pub is_split: bool,
}

impl EmulatedFlow {
    /// Combines the reports of a flow's ends with the observations on the path.
    pub fn new(inputs: FlowInputs, report: FlowReport, counts: &FlowCounters) -> Self {
        let FlowReport { start, finish, bytes_delivered, bytes_in_warmup, .. } = report;
        let inputs = FlowInputs { start, finish, ..inputs };
        // The program counts bytes from the start of the run, whereas the record of the path counts
        // only after the warm-up.
        let bytes_delivered = bytes_delivered - bytes_in_warmup;
        let counters = FlowCounters { bytes_delivered, ..counts.clone() };
        let FlowReport { kernel, fault, .. } = report;
        Self { summary: FlowSummary::new(inputs, &counters), kernel, fault, is_split: false }
    }
}

/// Serializes rows with every key of a simulated flow; unknown values are null.
fn rows<S: Serializer>(flows: &[EmulatedRow], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(flows.iter().map(|flow| {
        let mut row = empty_row();
        match serde_json::to_value(flow) {
            Ok(Value::Object(known)) if flow.tcp().is_some_and(|flow| flow.is_split) => {
                let seen = |(key, _): &(String, Value)| !key.starts_with("undelivered_");
                // Bytes inside a proxy were not observed, so the keys for undelivered bytes stay
                // null.
                row.extend(known.into_iter().filter(seen));
            }
            Ok(Value::Object(known)) => row.extend(known),
            other => unreachable!("results are tables: {other:?}"),
        }
        row
    }))
}
