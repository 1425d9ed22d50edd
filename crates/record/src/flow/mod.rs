//! Record of a TCP flow: its counters, the pauses of its sender, its recovery episodes with their
//! true causes, and its rows in the tables.
//!
//! Simulations and emulations call the same methods: a simulation with data from its two
//! connections, an emulation with data from passing packets and from the kernel's sockets.
//! `columns` lists the counters and the columns of a flow's results.

mod columns;
mod episode;
mod limits;
mod parts;
mod sending;

pub use crate::limit::{FlowLimit, LimitedSpan};
pub use columns::{FlowCounters, FlowInputs, FlowSummary};
pub use episode::EpisodeStart;
pub use limits::{LimitHistory, LimitTimes, Limits, Reduction};
pub use parts::{
    CauseSummary, EpisodeSummary, ExchangeSummary, IdleSummary, InferenceSummary, InferredSummary,
    LimitCauses, LimitSummary,
};
pub use sending::SentSegment;

use crate::counters::IdleEnd;
use crate::reason::Cause;
use crate::tables::{Tables, Unacked};
use crate::truth::{Correction, SegmentCopy, Truth};
use episode::LastEpisode;
use retx_units::Time;
use std::ops::Range;

/// Numbers ([`SegmentCopy::number`]) of retransmissions that turned out to be necessary, because an
/// earlier copy that had been assumed to arrive was dropped. Nearly always empty.
pub type NecessaryRetransmissions = Vec<u64>;

/// Record of a flow. Fields that are used for each segment come first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct FlowRecord {
    flow: u32,
    /// Event that ends the current pause if data are sent now.
    idle_end: IdleEnd,
    /// True if the sender has had nothing to send since its last data.
    drained: bool,
    /// False while `truth` is empty, so that arrivals skip the look-up.
    has_unresolved_losses: bool,
    /// Time at which data were last sent; [`Time::NEVER`] before the first.
    last_data: Time,
    /// Position after the last byte sent on this connection.
    sent_to: u64,
    /// Time at which the last segment reached the peer; [`Time::NEVER`] before the first one.
    last_arrival: Time,
    /// Losses and retransmissions of this connection; allocated for the first one.
    truth: Option<Box<Truth>>,
    /// Counters from the start of the run.
    pub counters: FlowCounters,
    /// Rows of the `segments` table not yet acknowledged.
    unacked: Option<Box<Unacked>>,
    episode: Option<LastEpisode>,
    /// Time at which the initiator first opened a connection; [`Time::NEVER`] until then.
    start: Time,
    /// Time at which the receiving application read the last byte; [`Time::NEVER`] until then.
    finish: Time,
}

impl FlowRecord {
    /// Creates the record of the flow with this index.
    pub fn new(flow: u32) -> Self {
        Self {
            flow,
            idle_end: IdleEnd::Window,
            drained: false,
            has_unresolved_losses: false,
            truth: None,
            unacked: None,
            last_data: Time::NEVER,
            sent_to: 0,
            last_arrival: Time::NEVER,
            counters: FlowCounters::default(),
            episode: None,
            start: Time::NEVER,
            finish: Time::NEVER,
        }
    }

    /// Enables the recording of limits over time; must be called before the flow begins.
    pub fn record_limit_history(&mut self) {
        self.counters.limited_by.record_limit_history();
    }

    /// Index of the flow.
    #[inline(always)]
    pub const fn flow(&self) -> u32 {
        self.flow
    }

    /// Begins a connection. Packets of the previous connection that are still in flight must not be
    /// recorded any more.
    pub fn begin_connection(&mut self, now: Time) {
        self.start = self.start.min(now);
        self.counters.limited_by.begin_connection(now);
        self.sent_to = 0;
        self.last_arrival = Time::NEVER;
        self.truth = None;
        self.has_unresolved_losses = false;
        self.episode = None;
        self.unacked = None;
    }

    /// Time at which the initiator first opened a connection.
    pub fn start(&self) -> Option<Time> {
        (self.start != Time::NEVER).then_some(self.start)
    }

    /// Time at which the receiving application read the last byte.
    pub fn finish(&self) -> Option<Time> {
        (self.finish != Time::NEVER).then_some(self.finish)
    }

    /// Records that the receiving application has read the last byte.
    pub fn note_finish(&mut self, now: Time) {
        self.finish = self.finish.min(now);
        self.counters.limited_by.end_life(now);
    }

    /// Records that the flow has failed: a connection was aborted or reset before all data arrived.
    pub fn note_failure(&mut self, now: Time) {
        self.counters.limited_by.fail(now, self.last_data);
    }

    /// Limit that keeps the sender from sending more now.
    #[inline(always)]
    pub fn limit(&self) -> FlowLimit {
        self.counters.limited_by.limit()
    }

    /// Reference to the current limit, for prefetching.
    #[inline(always)]
    pub fn limit_ref(&self) -> &FlowLimit {
        self.counters.limited_by.limit_ref()
    }

    /// Records the limit that keeps the sender from sending more now.
    pub fn set_limit(&mut self, now: Time, limit: FlowLimit) {
        self.counters.limited_by.set(now, limit, self.last_data);
    }

    /// Records a reduction of the congestion window because of ECN.
    pub fn note_ecn_reduction(&mut self, now: Time) {
        self.counters.ecn_reductions += 1;
        let reduction = Reduction::first_in_window(0, Cause::Congestion);
        self.counters.limited_by.note_reduction(now, self.last_data, &reduction);
    }

    /// Records that the sender has undone its last reduction of the congestion window.
    pub fn note_undo(&mut self, now: Time) {
        self.counters.limited_by.note_undo(now, self.last_data);
    }

    /// Records that a segment reaches the peer.
    #[inline(always)]
    pub const fn note_arrival(&mut self, now: Time) {
        self.last_arrival = now;
    }

    /// Attributes the time since the last arrival to a delayed acknowledgment that the peer sends
    /// now. `acked` is the range of positions that it newly acknowledges; SND.UNA and SND.MAX are
    /// those of the sender.
    pub fn note_delayed_ack(&mut self, now: Time, acked: Range<u64>, [snd_una, snd_max]: [u64; 2]) {
        // The delay of the acknowledgment is the limit only if the acknowledgment covers everything
        // sent, and if all earlier acknowledgments have reached the sender. Otherwise data or
        // acknowledgments in flight may permit the sender to send more.
        let counts = !acked.is_empty() && acked.end == snd_max && snd_una >= acked.start;
        if counts && now > self.last_arrival {
            self.counters.limited_by.note_delayed_ack(self.last_arrival, now);
        }
    }

    /// Records that the sender handles an acknowledgment or a timer. If it then sends data, the
    /// pause before these data is attributed to a full window, unless [`Self::begin_episode`]
    /// attributes it to the retransmission timer.
    #[inline(always)]
    pub const fn note_sender_wakes(&mut self) {
        self.idle_end = IdleEnd::Window;
    }

    /// Sets whether the sender has had nothing to send since its last data.
    #[inline(always)]
    pub const fn set_drained(&mut self, drained: bool) {
        self.drained = drained;
    }

    /// Records that the receiver has accepted a segment. `copy` returns the segment, and true for a
    /// retransmission; it is called only while there are unresolved losses.
    #[inline(always)]
    pub fn on_arrived(&mut self, copy: impl FnOnce() -> (SegmentCopy, bool)) {
        if self.has_unresolved_losses {
            let (copy, again) = copy();
            self.truth_mut().on_delivered(copy, again);
        } else {
            debug_assert!(self.truth.as_ref().is_none_or(|truth| truth.exception_count() == 0));
        }
    }

    /// Records that the receiver has discarded a segment of which no other copy will arrive.
    #[must_use]
    pub fn on_discarded(
        &mut self,
        copy: SegmentCopy,
        tables: &mut Tables,
    ) -> NecessaryRetransmissions {
        let mut corrections = Vec::new();
        self.truth_mut().on_discarded(copy, &mut corrections);
        self.correct(corrections, tables)
    }

    /// Records that the receiver has discarded a segment of which another copy, made by the
    /// network, may still arrive.
    pub fn note_discarded_copy(&mut self, copy: SegmentCopy) {
        self.truth_mut().note_discarded_copy(copy);
    }

    /// True if the receiver has discarded a segment, but other copies of it may still arrive.
    pub fn has_discarded_copy(&self, number: u64) -> bool {
        self.truth.as_ref().is_some_and(|truth| truth.has_discarded_copy(number))
    }

    /// Records that a segment was dropped, and that no copy of it made by the network arrives.
    #[must_use]
    pub fn on_dropped(
        &mut self,
        copy: SegmentCopy,
        cause: Cause,
        tables: &mut Tables,
    ) -> NecessaryRetransmissions {
        let mut corrections = Vec::new();
        self.truth_mut().on_dropped(copy, cause, &mut corrections);
        self.correct(corrections, tables)
    }

    /// Records that an acknowledgment of everything before `position` was dropped.
    pub fn on_ack_dropped(&mut self, position: u64) {
        self.truth_mut().on_ack_dropped(position);
    }

    /// Records that the sender knows everything before `snd_una` to have arrived. `open_probe` is
    /// called only while there are unresolved losses. It returns the start of the segment that a
    /// tail loss probe has retransmitted, as long as an episode may still begin because of that
    /// segment's loss.
    #[inline(always)]
    pub fn on_acknowledged(
        &mut self,
        now: Time,
        snd_una: u64,
        open_probe: impl FnOnce() -> Option<u64>,
        tables: &mut Tables,
    ) {
        if self.has_unresolved_losses {
            let position = open_probe().map_or(snd_una, |probe| probe.min(snd_una));
            if self.truth.as_ref().is_none_or(|truth| truth.may_forget_before(position)) {
                self.forget_before(position);
            }
        }
        if let Some(segments) = &mut tables.segments
            && let Some(unacked) = &mut self.unacked
        {
            unacked.on_acknowledged(now, snd_una, segments);
        }
    }

    #[inline(never)]
    fn forget_before(&mut self, position: u64) {
        let truth = self.truth_mut();
        truth.on_acknowledged(position);
        self.has_unresolved_losses = truth.exception_count() > 0;
    }

    /// Losses and retransmissions of the flow, while some of them are unresolved.
    #[inline(always)]
    pub fn unresolved_losses(&self) -> Option<&Truth> {
        if self.has_unresolved_losses { self.truth.as_deref() } else { None }
    }

    /// Losses and retransmissions, allocated on first use.
    fn truth_mut(&mut self) -> &mut Truth {
        self.has_unresolved_losses = true;
        self.truth.get_or_insert_default()
    }

    fn correct(
        &mut self,
        corrections: Vec<Correction>,
        tables: &mut Tables,
    ) -> NecessaryRetransmissions {
        let mut necessary = NecessaryRetransmissions::new();
        for correction in corrections {
            match correction {
                Correction::Necessary { number, episode, counted } => {
                    self.counters.retransmissions_unnecessary -= u64::from(counted);
                    if let (Some(row), Some(episodes)) = (episode, &mut tables.episodes) {
                        episodes.row_mut(row).unnecessary -= 1;
                    }
                    necessary.push(number);
                }
                Correction::Cause { episode, number, inference, cause, counted } => {
                    if counted {
                        self.counters.episodes.correct_cause(inference, cause);
                    }
                    self.counters.limited_by.correct_cause(number, cause);
                    if let (Some(row), Some(episodes)) = (episode, &mut tables.episodes) {
                        let row = episodes.row_mut(row);
                        row.cause = cause;
                        row.sub_cause = None;
                    }
                }
            }
        }
        necessary
    }

    /// Starts the statistics; returns the counters so far, which are subtracted at the end.
    pub fn begin_statistics(&mut self, now: Time) -> FlowCounters {
        self.counters.advance_to(now);
        self.counters.restart_maxima();
        self.counters.limited_by.exclude_past_corrections();
        if let Some(truth) = &mut self.truth {
            truth.exclude_past_verdicts();
        }
        self.counters.clone()
    }
}
