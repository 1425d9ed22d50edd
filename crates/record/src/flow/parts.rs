//! Parts of a flow's results: the tables nested in its row.

use crate::counters::{Episodes, IdleTimes};
use crate::distribution::{Distribution, DistributionSummary};
use crate::flow::limits::LimitTimes;
use crate::limit::FlowLimit;
use crate::reason::{Cause, EpisodeKind, InferredCause, SenderInference};
use serde::Serialize;

/// Requests and responses of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ExchangeSummary {
    /// Number of responses.
    pub count: Option<u64>,
    /// Distribution of the times from a request to the last byte of its response.
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
    pub fast_retransmit: CauseSummary,
    pub rto: CauseSummary,
}

impl EpisodeSummary {
    /// Converts the counts of episodes.
    pub fn from_episodes(episodes: &Episodes) -> Self {
        let of = |kind| CauseSummary::from_counts(|cause| episodes.count(kind, cause));
        Self { fast_retransmit: of(EpisodeKind::FastRetransmit), rto: of(EpisodeKind::Rto) }
    }
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
    fn from_counts(count: impl Fn(Cause) -> u64) -> Self {
        Self {
            congestion: count(Cause::Congestion),
            wireless: count(Cause::Wireless),
            spurious: count(Cause::Spurious),
        }
    }
}

/// Episodes by kind, inferred cause and true cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct InferenceSummary {
    pub fast_retransmit: InferredSummary,
    pub rto: InferredSummary,
}

impl InferenceSummary {
    /// Converts the counts of episodes.
    pub fn from_episodes(episodes: &Episodes) -> Self {
        let of = |kind, inferred| {
            CauseSummary::from_counts(|cause| {
                episodes.count_inferred(SenderInference { kind, inferred }, cause)
            })
        };
        let summary = |kind| InferredSummary {
            congestion: of(kind, InferredCause::Congestion),
            corruption: of(kind, InferredCause::Corruption),
        };
        Self {
            fast_retransmit: summary(EpisodeKind::FastRetransmit),
            rto: summary(EpisodeKind::Rto),
        }
    }
}

/// Episodes by inferred cause and true cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct InferredSummary {
    pub congestion: CauseSummary,
    pub corruption: CauseSummary,
}

/// Idle times by the event that ended them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct IdleSummary {
    pub rto_s: f64,
    pub window_s: f64,
    /// Seconds of pauses in which the sender had nothing to send; not included in the totals.
    pub application_s: f64,
}

impl IdleSummary {
    /// Converts the sums of pauses.
    pub fn from_idle_times(idle: &IdleTimes) -> Self {
        Self {
            rto_s: idle.rto.as_secs_f64(),
            window_s: idle.window.as_secs_f64(),
            application_s: idle.application.as_secs_f64(),
        }
    }
}

/// Times by true cause, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LimitCauses {
    pub congestion: f64,
    pub wireless: f64,
    pub spurious: f64,
}

/// Life of a flow by limit, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LimitSummary {
    pub handshake: f64,
    pub application: f64,
    pub send_buffer: f64,
    pub receive_window: f64,
    pub bottleneck: f64,
    pub slow_start: f64,
    pub window: LimitCauses,
    pub recovery: LimitCauses,
    pub timeout: LimitCauses,
    pub pacing: f64,
    pub nagle: f64,
    pub delayed_ack: f64,
}

impl LimitSummary {
    /// Converts the times to seconds.
    pub fn from_limit_times(times: &LimitTimes) -> Self {
        let seconds = |limit| times.time_under(limit).as_secs_f64();
        let causes = |limit: fn(Cause) -> FlowLimit| LimitCauses {
            congestion: seconds(limit(Cause::Congestion)),
            wireless: seconds(limit(Cause::Wireless)),
            spurious: seconds(limit(Cause::Spurious)),
        };
        Self {
            handshake: seconds(FlowLimit::Handshake),
            application: seconds(FlowLimit::Application),
            send_buffer: seconds(FlowLimit::SendBuffer),
            receive_window: seconds(FlowLimit::ReceiveWindow),
            bottleneck: seconds(FlowLimit::Bottleneck),
            slow_start: seconds(FlowLimit::SlowStart),
            window: causes(FlowLimit::Window),
            recovery: causes(FlowLimit::Recovery),
            timeout: causes(FlowLimit::Timeout),
            pacing: seconds(FlowLimit::Pacing),
            nagle: seconds(FlowLimit::Nagle),
            delayed_ack: seconds(FlowLimit::DelayedAck),
        }
    }
}
