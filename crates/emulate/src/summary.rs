//! What an emulation came to, with the keys of a simulation's summary.
//!
//! A value that nobody has seen is null: the kernel tells less of itself than a model does.

use crate::lateness::LatenessSummary;
use crate::protocol::FlowReport;
use crate::tcp_info::TcpInfo;
use retx_record::counters::FlowCounters;
use retx_record::empty_row;
use retx_record::summary::{EngineSummary, LinkSummary, RelaySummary, WlanSummary};
use retx_units::Time;
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
#[allow(missing_docs)]
pub struct EmulatedFlow {
    pub name: String,
    pub tcp: String,
    /// When the initiator called `connect`; `None` if the run ended before.
    pub start_s: Option<f64>,
    /// When the receiver had read the last byte.
    pub finish_s: Option<f64>,
    pub response_time_s: Option<f64>,
    pub bytes_delivered: u64,
    pub goodput_bit_s: f64,
    /// As they entered the first link.
    pub segments_sent: u64,
    pub segments_retransmitted: u64,
    pub retransmissions_unnecessary: u64,
    /// `tcpi_total_rto`: of the whole flow, the warm-up included.
    pub rto_count: Option<u64>,
    /// Pauses of the sender longer than a smoothed RTT, reckoned from the packets.
    pub idle_total_s: f64,
    pub idle_max_s: f64,
    pub idle: EmulatedIdle,
    /// All packets of the data sender.
    pub frames_sent: u64,
    /// Pure acknowledgments of the data receiver.
    pub acks_sent: u64,
    /// The sender's `TCP_INFO` at the end.
    pub kernel: TcpInfo,
    /// What went wrong at a socket, in the system's words.
    pub fault: Option<String>,
}

/// Pauses by what ended them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct EmulatedIdle {
    /// Packets do not tell whether it was a timer …
    pub rto_s: Option<f64>,
    /// … or an acknowledgment.
    pub window_s: Option<f64>,
    /// There was nothing to send.
    pub application_s: f64,
}

/// What a flow's results are about.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The flow.
    pub name: &'a str,
    /// Its TCP.
    pub tcp: &'a str,
    /// Statistics start here …
    pub from: Time,
    /// … and end here.
    pub to: Time,
}

impl EmulatedFlow {
    /// A flow's results, from what its ends know and what was seen on the way.
    pub fn new(frame: Frame<'_>, report: FlowReport, counts: &FlowCounters) -> Self {
        let FlowReport { start, finish, bytes_delivered, bytes_in_warmup, kernel, fault } = report;
        let begin = start.map_or(frame.to, |start| start.max(frame.from));
        let span = finish.unwrap_or(frame.to).since(begin).as_secs_f64();
        let bytes_delivered = bytes_delivered - bytes_in_warmup;
        let response = start.zip(finish).map(|(start, finish)| finish.since(start));
        Self {
            name: frame.name.to_owned(),
            tcp: frame.tcp.to_owned(),
            start_s: start.map(Time::as_secs_f64),
            finish_s: finish.map(Time::as_secs_f64),
            response_time_s: response.map(retx_units::Duration::as_secs_f64),
            bytes_delivered,
            goodput_bit_s: if span > 0.0 { bytes_delivered as f64 * 8.0 / span } else { 0.0 },
            segments_sent: counts.segments_sent,
            segments_retransmitted: counts.segments_retransmitted,
            retransmissions_unnecessary: counts.retransmissions_unnecessary,
            rto_count: kernel.total_rto,
            idle_total_s: counts.idle.total().as_secs_f64(),
            idle_max_s: counts.idle.longest.as_secs_f64(),
            idle: EmulatedIdle {
                rto_s: None,
                window_s: None,
                application_s: counts.idle.application.as_secs_f64(),
            },
            frames_sent: counts.frames_sent,
            acks_sent: counts.acks_sent,
            kernel,
            fault,
        }
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
