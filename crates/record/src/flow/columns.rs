//! Counters of a TCP flow, and the columns of its results.
//!
//! A result is one line in the macro `columns!`: its doc comment, name, type, and formula in terms
//! of the counters. The JSON of the summary, the table `flows`, the columns of sweeps and the
//! reference page of result columns are derived from these lines. A new result takes one line, and
//! one field of [`FlowCounters`] if it needs a new counter.

use super::LimitSummary;
use super::limits::Limits;
use super::{EpisodeSummary, ExchangeSummary, IdleSummary, InferenceSummary};
use crate::counters::{Episodes, IdleTimes, LazyGauge, Maximum, Measure, Moments, TimeMean};
use crate::reason::EpisodeKind::{FastRetransmit, Rto};
use retx_units::Time;
use serde::Serialize;

/// Declares a struct of measures, with the operations that all measures have.
macro_rules! measures {
    (
        $(#[$doc:meta])*
        pub struct $name:ident { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$doc])*
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl $name {
            /// Measures since the snapshot `start`; maxima since [`Self::restart_maxima`].
            #[must_use]
            pub fn since(&self, start: &Self) -> Self {
                Self { $($field: self.$field.since(&start.$field),)* }
            }

            /// Integrates quantities over time up to now.
            pub fn advance_to(&mut self, now: Time) {
                $(self.$field.advance_to(now);)*
            }

            /// Resets maxima to the current values.
            pub fn restart_maxima(&mut self) {
                $(self.$field.restart_maximum();)*
            }
        }
    };
}

measures! {
    /// Counters of a flow from the start of the run. Counters that change with each segment come
    /// first.
    #[derive(Debug, Clone, Default, PartialEq)]
    #[repr(C)]
    pub struct FlowCounters {
        /// Bytes read by the receiving application.
        pub bytes_delivered: u64,
        /// Pure acknowledgments sent by the data receiver: packets without data, SYN, FIN or RST.
        pub acks_sent: u64,
        /// Packets of any kind sent by the data sender.
        pub frames_sent: u64,
        /// Data segments sent, retransmissions included.
        pub segments_sent: u64,
        /// Time under each limit.
        pub limited_by: Box<Limits>,
        /// Congestion window over time.
        pub cwnd: TimeMean,
        /// Data segments containing bytes sent before.
        pub segments_retransmitted: u64,
        /// Retransmissions whose bytes all reach the receiver in earlier copies.
        pub retransmissions_unnecessary: u64,
        /// Raw RTT samples.
        pub rtt: Moments,
        /// Recovery episodes.
        pub episodes: Episodes,
        /// Window reductions caused by ECN-Echo.
        pub ecn_reductions: u32,
        /// Maximum number of backoffs (doublings of the timeout) in force.
        pub max_backoff: Maximum,
        /// Idle times of the sender.
        pub idle: IdleTimes,
        /// Bytes acknowledged to the sender, but not yet delivered, if proxies split the
        /// connection.
        pub undelivered: LazyGauge,
    }
}

/// Inputs of a flow's results in addition to its counters.
#[derive(Debug, Clone)]
pub struct FlowInputs {
    /// Name of the flow.
    pub name: String,
    /// Name of the flow's TCP.
    pub tcp: String,
    /// Time at which the initiator opened the connection.
    pub start: Option<Time>,
    /// Time at which the receiving application read the last byte.
    pub finish: Option<Time>,
    /// Start of the statistics.
    pub from: Time,
    /// End of the statistics.
    pub to: Time,
}

impl FlowInputs {
    /// Time from the start (or the end of the warm-up) to the finish (or the end of the run),
    /// seconds.
    fn span_s(&self) -> f64 {
        let begin = self.start.map_or(self.to, |start| start.max(self.from));
        self.finish.unwrap_or(self.to).since(begin).as_secs_f64()
    }
}

/// Declares the struct of a flow's results from a list of columns.
macro_rules! columns {
    (
        $(#[$doc:meta])*
        pub struct $name:ident from |$inputs:ident, $counters:ident| {
            $($(#[doc = $column_doc:literal])+ $column:ident: $type:ty = $value:expr,)*
        }
    ) => {
        $(#[$doc])*
        pub struct $name { $($(#[doc = $column_doc])+ pub $column: $type,)* }

        impl $name {
            /// Name and meaning of each column, in order.
            pub const COLUMNS: &[(&str, &str)] =
                &[$((stringify!($column), concat!($($column_doc),+)),)*];

            /// Results of a flow; `counters` must count from `inputs.from` on.
            pub fn new($inputs: FlowInputs, $counters: &FlowCounters) -> Self {
                Self { $($column: $value,)* }
            }
        }
    };
}

columns! {
    /// Results of a flow, from the end of the warm-up on.
    #[derive(Debug, Clone, Default, PartialEq, Serialize)]
    pub struct FlowSummary from |inputs, counters| {
        /// Name of the flow.
        name: String = inputs.name.clone(),
        /// Name of the flow's TCP in the scenario.
        tcp: String = inputs.tcp.clone(),
        /// Time at which the initiator opened the connection; null if the run ended earlier.
        start_s: Option<f64> = inputs.start.map(Time::as_secs_f64),
        /// Time at which the receiving application read the last byte; null if it has not.
        finish_s: Option<f64> = inputs.finish.map(Time::as_secs_f64),
        /// Time from the start to the finish.
        response_time_s: Option<f64> =
            inputs.start.zip(inputs.finish).map(|(from, to)| to.since(from).as_secs_f64()),
        /// Bytes read by the receiving application.
        bytes_delivered: u64 = counters.bytes_delivered,
        /// Bytes delivered, divided by the time from the start (or the end of the warm-up) to the
        /// finish (or the end of the run); null if there is no such time.
        goodput_bit_s: Option<f64> = Some(inputs.span_s())
            .filter(|span| *span > 0.0)
            .map(|span| counters.bytes_delivered as f64 * 8.0 / span),
        /// Data segments sent, retransmissions included.
        segments_sent: u64 = counters.segments_sent,
        /// Data segments containing bytes sent before.
        segments_retransmitted: u64 = counters.segments_retransmitted,
        /// Retransmissions whose bytes all reach the receiver in earlier copies.
        retransmissions_unnecessary: u64 = counters.retransmissions_unnecessary,
        /// Recovery episodes triggered by duplicate ACKs (fast retransmit).
        fast_retransmit_count: u64 = counters.episodes.total(FastRetransmit),
        /// Recovery episodes triggered by a retransmission timeout.
        rto_count: u64 = counters.episodes.total(Rto),
        /// Recovery episodes by kind and true cause.
        episodes: EpisodeSummary = EpisodeSummary::from_episodes(&counters.episodes),
        /// Recovery episodes by kind, by the cause that the sender inferred, and by true cause: a
        /// confusion matrix.
        inferred: InferenceSummary = InferenceSummary::from_episodes(&counters.episodes),
        /// Window reductions caused by ECN-Echo (RFC 3168); they are not episodes.
        ecn_reductions: u64 = counters.ecn_reductions.into(),
        /// Maximum number of backoffs (doublings of the timeout) in force.
        max_backoff: u32 = counters.max_backoff.value(),
        /// Total of the sender's pauses longer than a smoothed RTT while there was data to send.
        idle_total_s: f64 = counters.idle.total().as_secs_f64(),
        /// Longest pause of the sender while there was data to send; 0 if none was longer than a
        /// smoothed RTT.
        idle_max_s: f64 = counters.idle.longest.as_secs_f64(),
        /// All pauses longer than a smoothed RTT, by the event that ended them.
        idle: IdleSummary = IdleSummary::from_idle_times(&counters.idle),
        /// Life of the flow by limit, in seconds, from the start (or the end of the warm-up) to the
        /// finish (or the end of the run). `docs/decisions/0018-what-limits-a-flow.md` defines each
        /// key.
        limited_by: LimitSummary = LimitSummary::from_limit_times(counters.limited_by.times()),
        /// Mean of the raw RTT samples.
        rtt_mean_s: Option<f64> = counters.rtt.mean_s(),
        /// Standard deviation of the raw RTT samples.
        rtt_sd_s: Option<f64> = counters.rtt.sd_s(),
        /// Mean congestion window over the lifetime of the connection.
        cwnd_mean_bytes: Option<f64> = counters.cwnd.mean(),
        /// Packets of any kind sent by the data sender.
        frames_sent: u64 = counters.frames_sent,
        /// Pure acknowledgments sent by the data receiver.
        acks_sent: u64 = counters.acks_sent,
        /// Requests and responses; all null for other traffic.
        exchanges: ExchangeSummary = ExchangeSummary::default(),
        /// Time average of the bytes acknowledged to the sender but not yet delivered; above 0 only
        /// if a proxy splits the connection.
        undelivered_mean_bytes: f64 = counters.undelivered.mean(),
        /// Maximum of the bytes acknowledged to the sender but not yet delivered.
        undelivered_max_bytes: u64 = counters.undelivered.max(),
        /// Bytes acknowledged to the sender but not delivered at the end of the run.
        undelivered_end_bytes: u64 = counters.undelivered.value(),
    }
}
