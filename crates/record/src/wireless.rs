//! Results of wlans, as `retx run --json` prints them.

use crate::drops::DropSummary;
use serde::Serialize;

/// Results of one wlan, from the end of the warm-up on.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct WlanSummary {
    pub name: String,
    /// Sums over all stations. Bursts are counted in the combined sequence of the frames and
    /// packets of all stations, in order of time.
    #[serde(flatten)]
    pub counts: WlanCounts,
    /// Share of time in which at least one station transmitted. Like all shares and time averages,
    /// `None` if the run ended in its warm-up.
    pub utilisation: Option<f64>,
    /// Share of time in which no station transmitted: backoff, interframe spaces, or nothing to
    /// send.
    pub idle_share: Option<f64>,
    /// Stations, in the scenario's order.
    pub stations: Vec<StationSummary>,
}

/// Results of one station as a sender.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct StationSummary {
    pub name: String,
    #[serde(flatten)]
    pub counts: WlanCounts,
    /// Time average of the number of packets in the queue.
    pub queue_mean_packets: Option<f64>,
    pub queue_max_packets: u64,
    /// Packets in the queue at the end of the run.
    pub packets_queued: u64,
    /// Packets in service at the end of the run.
    pub packets_in_service: u64,
    /// Packets that the next station has received, but that a channel model still delays at the end
    /// of the run.
    pub packets_late: u64,
}

/// Counters of a station, and of a wlan.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct WlanCounts {
    pub packets_in: u64,
    pub packets_delivered: u64,
    pub drops: DropSummary,
    /// Packets marked by a queue with congestion experienced.
    pub packets_marked: u64,
    /// Data frames sent, retries included.
    pub frames_sent: u64,
    /// Data frames that were not received intact.
    pub frames_erroneous: u64,
    /// Data frames lost in collisions.
    pub frames_collided: u64,
    /// Erroneous data frames divided by all data frames that have ended; `None` if none has.
    pub frame_error_rate: Option<f64>,
    /// Mean number of consecutive erroneous data frames.
    pub error_burst_mean: Option<f64>,
    pub error_burst_max: u64,
    /// Share of data frames lost by the channel; frames damaged only by collisions are left out.
    pub channel_error_rate: Option<f64>,
    pub channel_burst_mean: Option<f64>,
    pub channel_burst_max: u64,
    /// Mean number of consecutive packets given up at the retry limit.
    pub loss_burst_mean: Option<f64>,
    pub loss_burst_max: u64,
    pub retries: u64,
    /// Data frames that were received intact, but whose acknowledgment was lost.
    pub acks_lost: u64,
    pub rts_sent: u64,
    pub rts_failed: u64,
    /// Mean number of data frames per packet that was acknowledged or given up.
    pub attempts_mean: Option<f64>,
    pub attempts_max: u64,
    /// Share of time spent transmitting, including acknowledgments and other control frames.
    pub airtime_share: Option<f64>,
    /// Parts of `airtime_share`, by kind of frame.
    pub airtime: AirtimeSummary,
}

/// Shares of time spent transmitting, by kind of frame.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AirtimeSummary {
    /// Share of time spent on data frames that were received intact.
    pub data: Option<f64>,
    /// Share of time spent on data frames that the channel lost.
    pub erroneous: Option<f64>,
    /// Share of time spent on data frames that were lost in collisions.
    pub collided: Option<f64>,
    /// Share of time spent on acknowledgments.
    pub ack: Option<f64>,
    /// Share of time spent on RTS and CTS frames.
    pub rts_cts: Option<f64>,
}
