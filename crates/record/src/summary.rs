//! The summary of a run, as `retx run --json` prints it.

use crate::FlowRow;
pub use crate::drops::DropSummary;
pub use crate::flow::{
    BeliefSummary, CauseSummary, EpisodeSummary, ExchangeSummary, FlowFrame, FlowSummary,
    IdleSummary, SaidSummary,
};
pub use crate::relay::RelaySummary;
pub use crate::wireless::{AirtimeSummary, StationSummary, WlanCounts, WlanSummary};
use serde::Serialize;

/// What one run comes to. It borrows what it tells: there may be many thousands of rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary<'a, S> {
    /// The resolved scenario, so that it can be run again.
    pub scenario: S,
    /// Of retx.
    pub version: &'static str,
    /// The scenario's.
    pub seed: u64,
    /// Which repetition of the scenario this was, from 0.
    pub replication: u64,
    /// One per flow, in the scenario's order.
    pub flows: Vec<FlowRow<'a>>,
    /// Two per link, in the scenario's order: forward, reverse.
    pub links: &'a [LinkSummary],
    /// One per wlan, in the scenario's order.
    pub wlans: &'a [WlanSummary],
    /// One per relay, in the scenario's order.
    pub relays: &'a [RelaySummary],
    /// What the run cost.
    pub engine: Cost,
}

/// What a run cost, as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cost {
    /// All of it.
    Whole(EngineSummary),
    /// Less what the clock said, which no two runs share.
    #[allow(missing_docs)]
    Repeatable { events: u64, simulated_s: f64 },
}

/// Results of one direction of a link, from the end of the warm-up on.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LinkSummary {
    pub name: String,
    /// `forward` or `reverse`.
    pub direction: &'static str,
    pub packets_in: u64,
    pub packets_delivered: u64,
    /// Copies that the channel made: packets in + copies = delivered + dropped + inside.
    pub packets_duplicated: u64,
    pub drops: DropSummary,
    /// Times that the queue marked a packet (congestion experienced) instead of dropping it.
    pub packets_marked: u64,
    /// Mean number of frames that the channel lost in a row, in the order of transmission; 0
    /// without a loss. Counted when a frame enters, which settles its fate.
    pub loss_burst_mean_packets: f64,
    pub loss_burst_max_packets: u64,
    /// Mean number of packets waiting, the one in transmission not counted; `None` if the run
    /// ended in its warm-up.
    pub queue_mean_packets: Option<f64>,
    pub queue_max_packets: u64,
    /// Share of the time spent transmitting; `None` in the same case.
    pub utilisation: Option<f64>,
    /// Frames that the link sent again.
    pub frames_repeated: u64,
    /// Parity frames that the link sent.
    pub frames_parity: u64,
    /// Waiting when the run ended.
    pub packets_queued: u64,
    /// In transmission or on their way when the run ended.
    pub packets_in_air: u64,
}

/// What the run cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EngineSummary {
    /// Events handled.
    pub events: u64,
    /// When the run ended, in simulated time.
    pub simulated_s: f64,
    /// How long it took; `None` where nobody watched a clock.
    pub wall_s: Option<f64>,
}

impl EngineSummary {
    /// Less what the clock said.
    pub const fn repeatable(self) -> Cost {
        Cost::Repeatable { events: self.events, simulated_s: self.simulated_s }
    }
}
