//! The record of a flow over TCP: counters, pauses of the sender, recovery episodes and the
//! verdicts on them, and its rows in the tables.
//!
//! Simulations and emulations feed it by the same calls: a simulation from its two connections, an
//! emulation from the packets that pass and from looks at the kernel's sockets. `columns` lists
//! the counters and the columns of a flow's results.

mod columns;
mod episode;
mod limits;
mod parts;
mod sending;

pub use columns::{FlowCounters, FlowFrame, FlowSummary};
pub use episode::EpisodeStart;
pub use limits::{FlowLimit, LimitCauses, LimitSummary, LimitTimes, Limits, Reduction};
pub use parts::{
    BeliefSummary, CauseSummary, EpisodeSummary, ExchangeSummary, IdleSummary, SaidSummary,
};
pub use sending::SentSegment;

use crate::counters::IdleEnd;
use crate::reason::Cause;
use crate::tables::{Tables, Unacked};
use crate::truth::{Correction, SegmentCopy, Truth};
use episode::LastEpisode;
use retx_units::Time;

/// Numbers ([`SegmentCopy::number`]) of retransmissions that have turned out to be necessary: the
/// earlier copy on which the verdict hung was dropped. Nearly always empty.
pub type FoundNecessary = Vec<u64>;

/// The record of a flow. Fields that each segment needs come first.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct FlowRecord {
    flow: u32,
    /// End of the pause that data sent now would close.
    idle_end: IdleEnd,
    /// The sender has had nothing to send since its last data.
    drained: bool,
    /// False while `truth` keeps nothing, so that arrivals skip the look-up.
    has_unresolved_losses: bool,
    /// When data were sent last; [`Time::NEVER`] before.
    last_data: Time,
    /// Position after the last ever sent on this connection.
    sent_to: u64,
    /// Since when the peer has held back the acknowledgment of all that was sent;
    /// [`Time::NEVER`] while it does not.
    ack_held: Time,
    /// Counters from the beginning of the run.
    pub counters: FlowCounters,
    /// Losses and retransmissions of this connection, once there are any.
    truth: Option<Box<Truth>>,
    /// Rows of the `segments` table not yet acknowledged.
    unacked: Option<Box<Unacked>>,
    episode: Option<LastEpisode>,
    /// When the initiator first opened; [`Time::NEVER`] before.
    start: Time,
    /// When the receiving application read the last byte; [`Time::NEVER`] before.
    finish: Time,
}

impl FlowRecord {
    /// The record of the flow with this index, in which nothing has happened yet.
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
            ack_held: Time::NEVER,
            counters: FlowCounters::default(),
            episode: None,
            start: Time::NEVER,
            finish: Time::NEVER,
        }
    }

    /// The record of a flow of which nobody says what limits it.
    pub fn without_limits(flow: u32) -> Self {
        let mut record = Self::new(flow);
        record.counters.limited_by.leave_out();
        record
    }

    /// Index of the flow.
    #[inline(always)]
    pub const fn flow(&self) -> u32 {
        self.flow
    }

    /// A connection begins. Packets of the one before that are still on their way are ignored from
    /// now on.
    pub fn begin_connection(&mut self, now: Time) {
        self.start = self.start.min(now);
        self.counters.limited_by.begin_connection(now);
        self.sent_to = 0;
        self.ack_held = Time::NEVER;
        self.truth = None;
        self.has_unresolved_losses = false;
        self.episode = None;
        self.unacked = None;
    }

    /// When the initiator first opened.
    pub fn start(&self) -> Option<Time> {
        (self.start != Time::NEVER).then_some(self.start)
    }

    /// When the receiving application read the last byte.
    pub fn finish(&self) -> Option<Time> {
        (self.finish != Time::NEVER).then_some(self.finish)
    }

    /// The receiving application has read the last byte.
    pub fn note_finish(&mut self, now: Time) {
        self.finish = self.finish.min(now);
        self.counters.limited_by.end(now);
    }

    /// The sender has nothing more to send now, for this reason.
    #[inline(always)]
    pub fn limited_by(&mut self, now: Time, limit: FlowLimit) {
        self.counters.limited_by.set(now, limit, self.last_data);
    }

    /// A mark has reduced the window (ECN).
    pub fn note_ecn_reduction(&mut self, now: Time) {
        self.counters.ecn_reductions += 1;
        let reduction = Reduction { episode: 0, cause: Cause::Congestion, by_timer: false };
        self.counters.limited_by.reduce(now, self.last_data, &reduction);
    }

    /// The peer holds back the acknowledgment of all that was sent.
    pub fn ack_is_held(&mut self, now: Time) {
        self.ack_held = self.ack_held.min(now);
    }

    /// The peer sends an acknowledgment.
    #[inline(always)]
    pub fn ack_is_sent(&mut self, now: Time) {
        if self.ack_held != Time::NEVER {
            let from = std::mem::replace(&mut self.ack_held, Time::NEVER);
            self.counters.limited_by.held_back(from, now);
        }
    }

    /// An acknowledgment or a timer reaches the sender. Data that it sends now end a pause for
    /// which the window is the reason, unless [`Self::begin_episode`] says that it is a timeout.
    #[inline(always)]
    pub const fn note_sender_wakes(&mut self) {
        self.idle_end = IdleEnd::Window;
    }

    /// Whether the sender has had nothing to send since its last data.
    #[inline(always)]
    pub const fn set_drained(&mut self, drained: bool) {
        self.drained = drained;
    }

    /// A segment has reached the receiver, which kept it. `copy` is asked for only where it
    /// matters.
    #[inline(always)]
    pub fn arrived(&mut self, copy: impl FnOnce() -> SegmentCopy) {
        if self.has_unresolved_losses {
            self.truth_mut().delivered(copy());
        } else {
            debug_assert!(self.truth.as_ref().is_none_or(|truth| truth.kept() == 0));
        }
    }

    /// A segment has reached the receiver, which threw it away; nothing else of it comes.
    #[must_use]
    pub fn refused(&mut self, copy: SegmentCopy, tables: &mut Tables) -> FoundNecessary {
        let mut corrections = Vec::new();
        self.truth_mut().refused(copy, &mut corrections);
        self.correct(corrections, tables)
    }

    /// The receiver threw a segment away, of which the network has made copies that may yet come.
    pub fn refused_so_far(&mut self, copy: SegmentCopy) {
        self.truth_mut().refused_so_far(copy);
    }

    /// True when the receiver has thrown away all that has come of a segment so far.
    pub fn has_refused(&self, number: u64) -> bool {
        self.truth.as_ref().is_some_and(|truth| truth.has_refused(number))
    }

    /// A segment was dropped, and no copy of it that the network has made arrives.
    #[must_use]
    pub fn dropped(
        &mut self,
        copy: SegmentCopy,
        cause: Cause,
        tables: &mut Tables,
    ) -> FoundNecessary {
        let mut corrections = Vec::new();
        self.truth_mut().dropped(copy, cause, &mut corrections);
        self.correct(corrections, tables)
    }

    /// An acknowledgment of everything before `position` was dropped.
    pub fn ack_dropped(&mut self, position: u64) {
        self.truth_mut().ack_dropped(position);
    }

    /// The sender knows that everything before `snd_una` has arrived. `open_probe` is asked only
    /// while a loss is unresolved: where the segment begins that a tail loss probe has sent again,
    /// as long as an episode may yet be about its repair.
    #[inline(always)]
    pub fn acknowledged(
        &mut self,
        now: Time,
        snd_una: u64,
        open_probe: impl FnOnce() -> Option<u64>,
        tables: &mut Tables,
    ) {
        if self.has_unresolved_losses {
            self.forget_before(open_probe().map_or(snd_una, |probe| probe.min(snd_una)));
        }
        if let Some(segments) = &mut tables.segments
            && let Some(unacked) = &mut self.unacked
        {
            unacked.acknowledged(now, snd_una, segments);
        }
    }

    #[inline(never)]
    fn forget_before(&mut self, position: u64) {
        let truth = self.truth_mut();
        truth.advance(position);
        self.has_unresolved_losses = truth.kept() > 0;
    }

    /// Losses and retransmissions, to note one.
    fn truth_mut(&mut self) -> &mut Truth {
        self.has_unresolved_losses = true;
        self.truth.get_or_insert_default()
    }

    fn correct(&mut self, corrections: Vec<Correction>, tables: &mut Tables) -> FoundNecessary {
        let mut necessary = FoundNecessary::new();
        for correction in corrections {
            match correction {
                Correction::Necessary { number, episode, counted } => {
                    self.counters.retransmissions_unnecessary -= u64::from(counted);
                    if let (Some(row), Some(episodes)) = (episode, &mut tables.episodes) {
                        episodes.row_mut(row).unnecessary -= 1;
                    }
                    necessary.push(number);
                }
                Correction::Cause { episode, number, belief, cause, counted } => {
                    if counted {
                        self.counters.episodes.correct(belief, cause);
                    }
                    self.counters.limited_by.correct(number, cause);
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

    /// Statistics start now: returns what has been counted so far, to be subtracted at the end.
    pub fn begin_statistics(&mut self, now: Time) -> FlowCounters {
        self.counters.settle(now);
        self.counters.restart_maxima();
        self.counters.limited_by.stop_correcting();
        if let Some(truth) = &mut self.truth {
            truth.stop_counting();
        }
        self.counters.clone()
    }
}
