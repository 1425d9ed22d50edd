//! Results of wlans, as `retx run --json` prints them.

use crate::drops::DropSummary;
use serde::Serialize;

/// Results of one wlan, from the end of the warm-up on.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct WlanSummary {
    pub name: String,
    /// All stations together; bursts are those in the order of time, whoever sent.
    #[serde(flatten)]
    pub counts: WlanCounts,
    /// Share of the time in which someone was on the air; as all shares and means of the time,
    /// `None` if the run ended in its warm-up.
    pub utilisation: Option<f64>,
    /// Share of the time in which nobody was: backoff, spaces between frames, nothing to send.
    pub idle_share: Option<f64>,
    /// One per station, in the scenario's order.
    pub stations: Vec<StationSummary>,
}

/// Results of one station as a sender.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct StationSummary {
    pub name: String,
    #[serde(flatten)]
    pub counts: WlanCounts,
    /// Mean number of packets waiting behind the one in service.
    pub queue_mean_packets: Option<f64>,
    pub queue_max_packets: u64,
    /// Waiting when the run ended.
    pub packets_queued: u64,
    /// In service when the run ended.
    pub packets_in_service: u64,
    /// Received by the next station, which had not handed them on when the run ended.
    pub packets_late: u64,
}

/// What is counted of a station, and of a wlan.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct WlanCounts {
    pub packets_in: u64,
    pub packets_delivered: u64,
    pub drops: DropSummary,
    /// Packets that a queue has marked: congestion experienced.
    pub packets_marked: u64,
    /// Data frames sent, retries included.
    pub frames_sent: u64,
    /// Those that did not reach their receiver whole.
    pub frames_erroneous: u64,
    /// Those of them that another transmission has spoilt.
    pub frames_collided: u64,
    /// Erroneous frames over frames whose end has come; `None` without one.
    pub frame_error_rate: Option<f64>,
    /// Mean and longest run of erroneous frames.
    pub error_burst_mean: Option<f64>,
    pub error_burst_max: u64,
    /// The same of what the channel alone does, as a receiver sees it that cannot hear collisions:
    /// frames that only a collision has spoilt are left out.
    pub channel_error_rate: Option<f64>,
    pub channel_burst_mean: Option<f64>,
    pub channel_burst_max: u64,
    /// Mean and longest run of packets given up at the retry limit.
    pub loss_burst_mean: Option<f64>,
    pub loss_burst_max: u64,
    pub retries: u64,
    /// Data frames that arrived and whose acknowledgment did not.
    pub acks_lost: u64,
    pub rts_sent: u64,
    pub rts_failed: u64,
    /// Data frames for a packet, mean and most, of those acknowledged or given up.
    pub attempts_mean: Option<f64>,
    pub attempts_max: u64,
    /// Share of the time on the air, with acknowledgments and other control frames.
    pub airtime_share: Option<f64>,
    /// What that share is made of.
    pub airtime: AirtimeSummary,
}

/// Shares of the time on the air.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AirtimeSummary {
    /// Data frames that reached their receiver whole.
    pub data: Option<f64>,
    /// Data frames that the channel has lost.
    pub erroneous: Option<f64>,
    /// Data frames that another transmission has spoilt.
    pub collided: Option<f64>,
    /// Acknowledgments.
    pub ack: Option<f64>,
    /// RTS and CTS.
    pub rts_cts: Option<f64>,
}
