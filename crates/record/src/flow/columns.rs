//! Counters of a flow over TCP, and the columns of its results.
//!
//! A result is one row of [`columns`](self): its name, type, doc comment and how it follows from
//! the counters. The summary's JSON, the table `flows`, the columns of sweeps and the reference
//! page of result columns follow from it. A new counter is one field of [`FlowCounters`] and one
//! row.

use super::limits::{LimitSummary, Limits};
use super::{BeliefSummary, EpisodeSummary, ExchangeSummary, IdleSummary};
use crate::counters::{Episodes, IdleTimes, Maximum, Measure, Moments, SeldomLevel, TimeMean};
use crate::reason::EpisodeKind::{Frr, Rto};
use retx_units::Time;
use serde::Serialize;

/// Makes a struct of measures, and what all of them can do.
macro_rules! measures {
    (
        $(#[$doc:meta])*
        pub struct $name:ident { $($(#[$told:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$doc])*
        pub struct $name { $($(#[$told])* pub $field: $type,)* }

        impl $name {
            /// What has been measured since `start`, a copy taken earlier. Maxima are those since
            /// [`Self::restart_maxima`].
            #[must_use]
            pub fn since(&self, start: &Self) -> Self {
                Self { $($field: self.$field.since(&start.$field),)* }
            }

            /// Counts the time up to now.
            pub fn settle(&mut self, now: Time) {
                $(self.$field.settle(now);)*
            }

            /// Forgets maxima: they are those from now on.
            pub fn restart_maxima(&mut self) {
                $(self.$field.restart_maximum();)*
            }
        }
    };
}

measures! {
    /// A flow's counters, from the beginning of the run. Those that each segment changes come
    /// first.
    #[derive(Debug, Clone, Default, PartialEq)]
    #[repr(C)]
    pub struct FlowCounters {
        /// Bytes that the receiving application has read.
        pub bytes_delivered: u64,
        /// Packets without data, SYN, FIN or RST that the data receiver has sent.
        pub acks_sent: u64,
        /// Packets that the data sender has sent, of whatever kind.
        pub frames_sent: u64,
        /// Data segments sent, retransmissions included.
        pub segments_sent: u64,
        /// `cwnd` over time.
        pub cwnd: TimeMean,
        /// Data segments of which some was sent before.
        pub segments_retransmitted: u64,
        /// Of these, the ones of which an earlier copy reached, or still reaches, the receiver.
        pub retransmissions_unnecessary: u64,
        /// Raw RTT samples.
        pub rtt: Moments,
        /// Recovery episodes.
        pub episodes: Episodes,
        /// Reductions of the window by an echo of a mark (ECN).
        pub ecn_reductions: u32,
        /// The most doublings of the timeout that were ever in force.
        pub max_backoff: Maximum,
        /// Idle times of the sender.
        pub idle: IdleTimes,
        /// What the flow waited for.
        pub limited_by: Box<Limits>,
        /// Bytes acknowledged to the sender and not delivered, where proxies split the connection.
        pub undelivered: SeldomLevel,
    }
}

/// A flow's results need this beside its counters.
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

impl FlowFrame {
    /// From the start, or the end of the warm-up, to the finish or the end of the run, seconds.
    fn span_s(&self) -> f64 {
        let begin = self.start.map_or(self.to, |start| start.max(self.from));
        self.finish.unwrap_or(self.to).since(begin).as_secs_f64()
    }
}

/// Makes the struct of a flow's results from a list of columns.
macro_rules! columns {
    (
        $(#[$doc:meta])*
        pub struct $name:ident from |$frame:ident, $counters:ident| {
            $($(#[doc = $told:literal])+ $column:ident: $type:ty = $value:expr,)*
        }
    ) => {
        $(#[$doc])*
        pub struct $name { $($(#[doc = $told])+ pub $column: $type,)* }

        impl $name {
            /// Each column's name and meaning, in order.
            pub const COLUMNS: &[(&str, &str)] =
                &[$((stringify!($column), concat!($($told),+)),)*];

            /// A flow's results; `counters` count from `frame.from` on.
            pub fn new($frame: FlowFrame, $counters: &FlowCounters) -> Self {
                Self { $($column: $value,)* }
            }
        }
    };
}

columns! {
    /// A flow's results, from the end of the warm-up on.
    #[derive(Debug, Clone, Default, PartialEq, Serialize)]
    pub struct FlowSummary from |frame, counters| {
        /// The flow's name.
        name: String = frame.name.clone(),
        /// The name of its TCP in the scenario.
        tcp: String = frame.tcp.clone(),
        /// When the initiator opened; null if the run ended before.
        start_s: Option<f64> = frame.start.map(Time::as_secs_f64),
        /// When the receiving application read the last byte; null when that has not happened.
        finish_s: Option<f64> = frame.finish.map(Time::as_secs_f64),
        /// From start to finish.
        response_time_s: Option<f64> =
            frame.start.zip(frame.finish).map(|(from, to)| to.since(from).as_secs_f64()),
        /// Bytes that the receiving application has read.
        bytes_delivered: u64 = counters.bytes_delivered,
        /// Bytes delivered over the time from the start, or the end of the warm-up, to the finish
        /// or the end of the run; null if there is no such time.
        goodput_bit_s: Option<f64> = Some(frame.span_s())
            .filter(|span| *span > 0.0)
            .map(|span| counters.bytes_delivered as f64 * 8.0 / span),
        /// Data segments sent, retransmissions included.
        segments_sent: u64 = counters.segments_sent,
        /// Data segments of which some was sent before.
        segments_retransmitted: u64 = counters.segments_retransmitted,
        /// Retransmissions of which earlier copies of all bytes reach the receiver.
        retransmissions_unnecessary: u64 = counters.retransmissions_unnecessary,
        /// Recovery episodes begun by duplicate ACKs.
        frr_count: u64 = counters.episodes.total(Frr),
        /// Recovery episodes begun by a retransmission timeout.
        rto_count: u64 = counters.episodes.total(Rto),
        /// Recovery episodes by kind and true cause.
        episodes: EpisodeSummary = EpisodeSummary::of(&counters.episodes),
        /// Recovery episodes by kind, by what the sender took each for, and by true cause: a
        /// confusion matrix.
        said: BeliefSummary = BeliefSummary::of(&counters.episodes),
        /// Reductions of the window by an echo of a mark (ECN, RFC 3168); no episodes.
        ecn_reductions: u64 = counters.ecn_reductions.into(),
        /// The most doublings of the timeout that were ever in force.
        max_backoff: u32 = counters.max_backoff.value(),
        /// Pauses of the sender longer than a smoothed RTT while there was something to send.
        idle_total_s: f64 = counters.idle.total().as_secs_f64(),
        /// The longest of these pauses.
        idle_max_s: f64 = counters.idle.longest.as_secs_f64(),
        /// All pauses longer than a smoothed RTT by what ended them.
        idle: IdleSummary = IdleSummary::of(&counters.idle),
        /// The flow's life, from its start, or the end of the warm-up, to its finish or the end of
        /// the run, by what limited it, in seconds: what each key means is in
        /// `docs/decisions/0018-what-limits-a-flow.md`.
        limited_by: LimitSummary = LimitSummary::of(counters.limited_by.times()),
        /// Mean of the raw RTT samples.
        rtt_mean_s: Option<f64> = counters.rtt.mean_s(),
        /// Standard deviation of the raw RTT samples.
        rtt_sd_s: Option<f64> = counters.rtt.sd_s(),
        /// Mean of the congestion window over the time that it existed.
        cwnd_mean_bytes: Option<f64> = counters.cwnd.mean(),
        /// All packets of the data sender.
        frames_sent: u64 = counters.frames_sent,
        /// Pure acknowledgments of the data receiver.
        acks_sent: u64 = counters.acks_sent,
        /// Requests and responses; all null for other traffic.
        exchanges: ExchangeSummary = ExchangeSummary::default(),
        /// Bytes acknowledged to the sender and not delivered, mean over time: more than 0 only
        /// where a proxy splits the connection.
        undelivered_mean_bytes: f64 = counters.undelivered.mean(),
        /// The most bytes acknowledged to the sender and not delivered.
        undelivered_max_bytes: u64 = counters.undelivered.max(),
        /// Bytes acknowledged to the sender and not delivered when the run ended.
        undelivered_end_bytes: u64 = counters.undelivered.value(),
    }
}
