//! Summary of a run, as `retx run --json` prints it.

use crate::FlowRow;
pub use crate::drops::DropSummary;
pub use crate::flow::{
    CauseSummary, EpisodeSummary, ExchangeSummary, FlowInputs, FlowSummary, IdleSummary,
    InferenceSummary, InferredSummary,
};
pub use crate::relay::RelaySummary;
pub use crate::wireless::{AirtimeSummary, StationSummary, WlanCounts, WlanSummary};
use serde::Serialize;

/// Summary of one run. It borrows its parts, because there may be many thousands of rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary<'a, S> {
    /// Resolved scenario, so that the run can be repeated.
    pub scenario: S,
    /// Version of retx.
    pub version: &'static str,
    /// Seed of the scenario.
    pub seed: u64,
    /// Number of the replication, from 0.
    pub replication: u64,
    /// Flows, in the scenario's order.
    pub flows: Vec<FlowRow<'a>>,
    /// Links, in the scenario's order: for each link the forward and then the reverse direction.
    pub links: &'a [LinkSummary],
    /// Wlans, in the scenario's order.
    pub wlans: &'a [WlanSummary],
    /// Relays, in the scenario's order.
    pub relays: &'a [RelaySummary],
    /// Events handled, simulated time, and wall-clock time.
    pub engine: RunCost,
}

/// Cost of a run, as it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RunCost {
    /// With wall-clock time.
    Whole(EngineSummary),
    /// Without wall-clock time, which differs from run to run.
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
    /// Copies made by the channel. Packets in + copies = delivered + dropped + queued + in transit.
    pub packets_duplicated: u64,
    pub drops: DropSummary,
    /// Packets that the queue marked (congestion experienced) instead of dropping them.
    pub packets_marked: u64,
    /// Mean number of consecutive frames lost by the channel, in the order of transmission; 0 if
    /// none was lost. Frames are counted when their fate is determined, which may be on entry.
    pub loss_burst_mean_packets: f64,
    pub loss_burst_max_packets: u64,
    /// Mean delay that the channels themselves add to a frame, without the wait behind earlier
    /// frames (`order_wait_mean_s`). The mean is over all frames that are delayed or have to wait;
    /// `None` if there were none. Links with `arq` or `fec` do not measure it.
    pub channel_delay_mean_s: Option<f64>,
    /// Mean time for which the frames of `channel_delay_mean_s` wait behind earlier ones, because
    /// order is kept. Their mean total delay is the sum of `channel_delay_mean_s` and this time.
    pub order_wait_mean_s: Option<f64>,
    /// Time average of the number of waiting packets, without the one in transmission; `None` if
    /// the run ended in its warm-up.
    pub queue_mean_packets: Option<f64>,
    pub queue_max_packets: u64,
    /// Share of time spent transmitting; `None` if the run ended in its warm-up.
    pub utilisation: Option<f64>,
    /// Link-layer retransmissions.
    pub frames_repeated: u64,
    /// Parity frames sent.
    pub frames_parity: u64,
    /// Packets waiting at the end of the run.
    pub packets_queued: u64,
    /// Packets in transmission or propagation at the end of the run.
    pub packets_in_transit: u64,
}

/// Events, simulated time and wall-clock time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EngineSummary {
    /// Events handled.
    pub events: u64,
    /// End of the run in simulated time.
    pub simulated_s: f64,
    /// Wall-clock time; `None` if it was not measured.
    pub wall_s: Option<f64>,
}

impl EngineSummary {
    /// Cost without wall-clock time.
    pub const fn without_wall_time(self) -> RunCost {
        RunCost::Repeatable { events: self.events, simulated_s: self.simulated_s }
    }
}
