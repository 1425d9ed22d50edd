//! The summary of a run, as `retx run --json` prints it.

use crate::FlowRow;
use crate::counters::FlowCounters;
use crate::distribution::{Distribution, DistributionSummary};
use crate::reason::{Belief, Cause, EpisodeKind, SaidCause};
pub use crate::relay::RelaySummary;
pub use crate::wireless::{AirtimeSummary, StationSummary, WlanCounts, WlanSummary};
use retx_units::Time;
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

/// A flow's results, from the end of the warm-up on.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct FlowSummary {
    pub name: String,
    /// The name of its TCP in the scenario.
    pub tcp: String,
    /// When the initiator opened; `None` if the run ended before.
    pub start_s: Option<f64>,
    /// When the receiving application read the last byte; `None` when that has not happened.
    pub finish_s: Option<f64>,
    /// From start to finish.
    pub response_time_s: Option<f64>,
    pub bytes_delivered: u64,
    /// Bytes delivered over the time from the start, or the end of the warm-up, to the finish or
    /// the end of the run; `None` if there is no such time.
    pub goodput_bit_s: Option<f64>,
    /// Data segments, retransmissions included.
    pub segments_sent: u64,
    pub segments_retransmitted: u64,
    pub retransmissions_unnecessary: u64,
    pub frr_count: u64,
    pub rto_count: u64,
    pub episodes: EpisodeSummary,
    /// The same by what the sender took each for: a confusion matrix of said and true cause.
    pub said: BeliefSummary,
    /// Reductions of the window by an echo of a mark (ECN, RFC 3168); no episodes.
    pub ecn_reductions: u64,
    pub max_backoff: u32,
    /// Pauses of the sender longer than a smoothed RTT while there was something to send.
    pub idle_total_s: f64,
    pub idle_max_s: f64,
    /// All such pauses by what ended them.
    pub idle: IdleSummary,
    pub rtt_mean_s: Option<f64>,
    pub rtt_sd_s: Option<f64>,
    pub cwnd_mean_bytes: Option<f64>,
    /// All packets of the data sender.
    pub frames_sent: u64,
    /// Pure acknowledgments of the data receiver.
    pub acks_sent: u64,
    /// Requests and responses; all absent for other traffic.
    pub exchanges: ExchangeSummary,
    /// Bytes acknowledged to the sender and not delivered: more than 0 only where a proxy splits
    /// the connection.
    pub undelivered_mean_bytes: f64,
    pub undelivered_max_bytes: u64,
    /// When the run ended.
    pub undelivered_end_bytes: u64,
}

/// Requests and responses of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ExchangeSummary {
    /// How many have been answered.
    pub count: Option<u64>,
    /// How long they took, from asking to the last byte of the response.
    #[serde(flatten)]
    pub times: DistributionSummary,
}

impl From<&Distribution> for ExchangeSummary {
    fn from(times: &Distribution) -> Self {
        Self { count: Some(times.count()), times: times.summary() }
    }
}

/// Episodes by kind and cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct EpisodeSummary {
    pub frr: CauseSummary,
    pub rto: CauseSummary,
}

/// Episodes by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct CauseSummary {
    pub congestion: u64,
    pub wireless: u64,
    pub spurious: u64,
}

impl CauseSummary {
    fn of(count: impl Fn(Cause) -> u64) -> Self {
        Self {
            congestion: count(Cause::Congestion),
            wireless: count(Cause::Wireless),
            spurious: count(Cause::Spurious),
        }
    }
}

/// Episodes by kind, cause said and true cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct BeliefSummary {
    pub frr: SaidSummary,
    pub rto: SaidSummary,
}

/// Episodes by cause said and true cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct SaidSummary {
    pub congestion: CauseSummary,
    pub corruption: CauseSummary,
}

/// Idle times by what ended them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct IdleSummary {
    pub rto_s: f64,
    pub window_s: f64,
    /// There was nothing to send; not in the totals.
    pub application_s: f64,
}

/// What a flow's results need beside its counters.
#[derive(Debug, Clone)]
pub struct FlowFrame {
    /// The flow.
    pub name: String,
    /// The name of its TCP.
    pub tcp: String,
    /// When the initiator opened.
    pub start: Option<Time>,
    /// When the receiving application read the last byte.
    pub finish: Option<Time>,
    /// Statistics start here …
    pub from: Time,
    /// … and end here.
    pub to: Time,
}

impl FlowSummary {
    /// A flow's results; `counters` count from `frame.from` on.
    pub fn new(frame: FlowFrame, counters: &FlowCounters) -> Self {
        let FlowFrame { name, tcp, start, finish, from, to } = frame;
        let begin = start.map_or(to, |start| start.max(from));
        let span = finish.unwrap_or(to).since(begin).as_secs_f64();
        let bits = counters.bytes_delivered as f64 * 8.0;
        let episodes = &counters.episodes;
        let causes = |kind| CauseSummary::of(|cause| episodes.count(kind, cause));
        let said = |kind| {
            let of =
                |said| CauseSummary::of(|cause| episodes.believed(Belief { kind, said }, cause));
            SaidSummary {
                congestion: of(SaidCause::Congestion),
                corruption: of(SaidCause::Corruption),
            }
        };
        Self {
            name,
            tcp,
            start_s: start.map(Time::as_secs_f64),
            finish_s: finish.map(Time::as_secs_f64),
            response_time_s: start
                .zip(finish)
                .map(|(start, finish)| finish.since(start).as_secs_f64()),
            bytes_delivered: counters.bytes_delivered,
            goodput_bit_s: (span > 0.0).then(|| bits / span),
            segments_sent: counters.segments_sent,
            segments_retransmitted: counters.segments_retransmitted,
            retransmissions_unnecessary: counters.retransmissions_unnecessary,
            frr_count: episodes.total(EpisodeKind::Frr),
            rto_count: episodes.total(EpisodeKind::Rto),
            episodes: EpisodeSummary {
                frr: causes(EpisodeKind::Frr),
                rto: causes(EpisodeKind::Rto),
            },
            said: BeliefSummary { frr: said(EpisodeKind::Frr), rto: said(EpisodeKind::Rto) },
            ecn_reductions: counters.ecn_reductions.into(),
            max_backoff: counters.max_backoff,
            idle_total_s: counters.idle.total().as_secs_f64(),
            idle_max_s: counters.idle.longest.as_secs_f64(),
            idle: IdleSummary {
                rto_s: counters.idle.rto.as_secs_f64(),
                window_s: counters.idle.window.as_secs_f64(),
                application_s: counters.idle.application.as_secs_f64(),
            },
            rtt_mean_s: counters.rtt.mean_s(),
            rtt_sd_s: counters.rtt.sd_s(),
            cwnd_mean_bytes: counters.cwnd.mean(),
            frames_sent: counters.frames_sent,
            acks_sent: counters.acks_sent,
            exchanges: ExchangeSummary::default(),
            undelivered_mean_bytes: counters.undelivered.mean(),
            undelivered_max_bytes: counters.undelivered.max(),
            undelivered_end_bytes: counters.undelivered.value(),
        }
    }
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

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct DropSummary {
    pub queue: u64,
    pub channel: u64,
    pub retry_limit: u64,
    pub script: u64,
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
