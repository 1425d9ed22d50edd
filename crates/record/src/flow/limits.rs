//! Limits of a flow: its whole life is divided into spans of time, each under the limit that kept
//! the flow from sending more.
//!
//! *Rule* (`docs/decisions/0018-what-limits-a-flow.md`). Whenever the sender has sent all that it
//! may send, it reports what limits it; that limit holds until its next report. Three facts become
//! known only later, and move time from one limit to another:
//! - If the retransmission timer expires, the time since the last data belongs to *timeout*.
//! - If the peer has delayed an acknowledgment, the time of the delay belongs to *delayed ACK*.
//! - If a copy of a segment is dropped later, the true cause of an episode may change.

use crate::counters::Measure;
use crate::limit::FlowLimit;
use crate::reason::Cause;
pub use history::LimitHistory;
use retx_units::{Duration, Time};
pub use times::LimitTimes;

mod failure;
mod history;
mod legs;
mod times;

/// Reduction of the congestion window.
#[derive(Debug, Clone, Copy)]
pub struct Reduction {
    /// Number of the episode; 0 if its cause is final.
    pub episode: u64,
    /// Cause of the episode, as far as it is known.
    pub cause: Cause,
    /// True if the retransmission timer has fired.
    pub by_timer: bool,
    /// True if an undo also reverts the reduction before this one.
    pub same_window_of_data: bool,
    /// True if the timer was started before the last partial ACK, which did not restart it. The
    /// timer then expired because the previous recovery, from many losses, took longer than the
    /// timeout, whatever the fate of the segment that is retransmitted first. This reduction
    /// therefore gets the cause of that recovery.
    pub stale_timer: bool,
}

impl Reduction {
    /// First reduction in its window of data, without an expiry of the timer.
    pub const fn first_in_window(episode: u64, cause: Cause) -> Self {
        Self { episode, cause, by_timer: false, same_window_of_data: false, stale_timer: false }
    }
}

/// Maximum number of reductions that are stored because their cause may still be corrected; beyond
/// it, the oldest is removed. Corrections come within a round trip, so few are needed.
const MOST_CLAIMS: usize = 16;

/// Times attributed to a reduction whose cause may still be corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claim {
    /// Number of the reduction on this connection, from 1.
    number: u32,
    episode: u64,
    cause: Cause,
    window: Duration,
    recovery: Duration,
    timeout: Duration,
    /// Index of the first part of the recorded history that may belong to this reduction.
    first_part: usize,
}

impl Claim {
    /// Time of this reduction under `limit`: window, recovery or timeout with the cause of the
    /// reduction. `None` for any other limit.
    fn place(&mut self, limit: FlowLimit) -> Option<&mut Duration> {
        match limit {
            FlowLimit::Window(cause) if cause == self.cause => Some(&mut self.window),
            FlowLimit::Recovery(cause) if cause == self.cause => Some(&mut self.recovery),
            FlowLimit::Timeout(cause) if cause == self.cause => Some(&mut self.timeout),
            _ => None,
        }
    }
}

/// Time under a limit that is moved to the limit *timeout* if the retransmission timer expires
/// before data are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    limit: FlowLimit,
    from: Time,
    to: Time,
    /// Number of the reduction in force during this time, whose [`Claim`] includes the time; 0 if
    /// there is none.
    reduction: u32,
}

/// Time for which the peer delayed an acknowledgment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Hold {
    /// End of the previous delay under the same limit, or the start of that limit.
    free_from: Time,
    from: Time,
    to: Time,
}

/// Accounting of the time under each limit of a flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    times: LimitTimes,
    /// Current limit.
    limit: FlowLimit,
    /// Start of the current limit; `None` before the flow begins.
    since: Option<Time>,
    /// True once the life of the flow is over.
    is_over: bool,
    /// Part of the time since `since` that belongs to the peer's delayed acknowledgment.
    held: Duration,
    /// The latest of the ACK delays that are summed in `held`.
    hold: Hold,
    /// Times under earlier limits since data were last sent.
    unclaimed: Vec<Span>,
    /// Reductions of the congestion window whose causes may still be corrected; the last one is in
    /// force.
    claims: Vec<Claim>,
    /// Number of reductions of the congestion window on this connection.
    reductions: u32,
    /// Episode and cause of the reduction that an undo would put in force again.
    before: Option<(u64, Cause)>,
    /// Limits over time; `None` if they are not recorded.
    history: Option<Box<LimitHistory>>,
}

impl Limits {
    /// Current limit.
    pub const fn limit(&self) -> FlowLimit {
        self.limit
    }

    /// Reference to the current limit, for prefetching.
    #[inline(always)]
    pub const fn limit_ref(&self) -> &FlowLimit {
        &self.limit
    }

    /// Enables the recording of limits over time; must be called before the flow begins.
    pub fn record_limit_history(&mut self) {
        self.history = Some(Box::default());
    }

    /// Limits over time, if they are recorded.
    pub fn history(&self) -> Option<&LimitHistory> {
        self.history.as_deref()
    }

    /// Begins a connection; the first one begins the life of the flow.
    pub fn begin_connection(&mut self, now: Time) {
        if self.since.is_none() {
            self.since = Some(now);
            self.limit = FlowLimit::Handshake;
            self.history.iter_mut().for_each(|history| **history = LimitHistory::new(now));
        } else {
            self.bind(now, FlowLimit::Handshake, now);
        }
        (self.reductions, self.before) = (0, None);
        self.claims.clear();
        // A timer of this connection must not reassign time from before the connection.
        self.unclaimed.clear();
    }

    /// Limit to report for the congestion window: slow start until the first reduction, then the
    /// window with the cause of the last reduction.
    pub fn window_limit(&self) -> FlowLimit {
        match self.claims.last() {
            Some(claim) => FlowLimit::Window(claim.cause),
            None => FlowLimit::SlowStart,
        }
    }

    /// Limit to report for fast recovery.
    pub fn recovery_limit(&self) -> FlowLimit {
        self.claims.last().map_or(FlowLimit::SlowStart, |claim| FlowLimit::Recovery(claim.cause))
    }

    /// Sets the limit from now on. Data were last sent at `last_data`.
    pub fn set(&mut self, now: Time, limit: FlowLimit, last_data: Time) {
        if limit != self.limit {
            self.bind(now, limit, last_data);
        }
    }

    #[inline(never)]
    fn bind(&mut self, now: Time, limit: FlowLimit, last_data: Time) {
        self.close(now, last_data);
        self.limit = limit;
    }

    /// Ends the current span. The part of the span after the last data is remembered: if the timer
    /// expires, it is moved to the limit *timeout*.
    fn close(&mut self, now: Time, last_data: Time) {
        let Some(since) = self.since.filter(|_| !self.is_over) else { return };
        self.since = Some(now);
        let held = std::mem::take(&mut self.held).min(now.since(since));
        self.times.add(FlowLimit::DelayedAck, held);
        self.add(self.limit, now.since(since) - held);
        self.extend_history(now, self.limit);
        self.unclaimed.retain(|span| span.to > last_data);
        if matches!(self.limit, FlowLimit::Handshake) {
            return;
        }
        if held == Duration::ZERO {
            self.leave_to_timer(since, now);
        } else {
            // Data were sent after each earlier delay under this limit, so a timer that is running
            // now was started after those delays. The last delay itself is left out.
            let Hold { free_from, from, to } = self.hold;
            self.leave_to_timer(free_from, from);
            self.leave_to_timer(to, now);
        }
    }

    fn extend_history(&mut self, to: Time, limit: FlowLimit) {
        if let Some(history) = self.history.as_mut().filter(|_| !self.is_over) {
            history.extend(to, limit, self.claims.last().map_or(0, |claim| claim.number));
        }
    }

    /// Remembers a span of time and its current limit. If the timer expires, the span is attributed
    /// to the wait for the timer instead.
    fn leave_to_timer(&mut self, from: Time, to: Time) {
        if to > from {
            let reduction = self.claims.last().map_or(0, |claim| claim.number);
            self.unclaimed.push(Span { limit: self.limit, from, to, reduction });
        }
    }

    /// Adds time under a limit, to the sums and to the newest reduction.
    fn add(&mut self, limit: FlowLimit, time: Duration) {
        self.times.add(limit, time);
        if let Some(place) = self.claims.last_mut().and_then(|claim| claim.place(limit)) {
            *place += time;
        }
    }

    /// Subtracts time from a limit, in the sums and in the reduction that was in force then.
    fn take(&mut self, span: &Span, time: Duration) {
        self.times.remove(span.limit, time);
        let claim = self.claims.iter_mut().find(|claim| claim.number == span.reduction);
        if let Some(place) = claim.and_then(|claim| claim.place(span.limit)) {
            *place = place.saturating_sub(time);
        }
    }

    /// Records a reduction of the congestion window. If the retransmission timer has expired, the
    /// time since the last data is moved to the limit *timeout*.
    pub fn note_reduction(&mut self, now: Time, last_data: Time, reduction: &Reduction) {
        self.close(now, last_data);
        let Reduction { by_timer, same_window_of_data, stale_timer, .. } = *reduction;
        let in_force = self.claims.last().map(|claim| (claim.episode, claim.cause));
        let (episode, cause) =
            in_force.filter(|_| stale_timer).unwrap_or((reduction.episode, reduction.cause));
        if !same_window_of_data {
            self.before = in_force;
        }
        let silence = if by_timer { std::mem::take(&mut self.unclaimed) } else { Vec::new() };
        let mut claimed = Duration::ZERO;
        for span in &silence {
            let time = span.to.since(span.from.max(last_data));
            self.take(span, time);
            claimed += time;
        }
        self.put_in_force(episode, cause);
        self.add(FlowLimit::Timeout(cause), claimed);
        if let (Some(history), Some(claim)) = (&mut self.history, self.claims.last_mut()) {
            let limit = (FlowLimit::Timeout(cause), claim.number);
            claim.first_part = history.relabel_after_timeout(&silence, last_data, limit);
        }
        // The limit is updated here, because in an emulation the sender's next report comes only
        // after the next acknowledgment.
        if self.limit.is_congestion_window() {
            let repairs = !by_timer && reduction.episode > 0;
            self.limit = if repairs { self.recovery_limit() } else { self.window_limit() };
        }
    }

    fn put_in_force(&mut self, episode: u64, cause: Cause) {
        if self.claims.len() >= MOST_CLAIMS {
            self.claims.remove(0);
        }
        self.reductions += 1;
        let [window, recovery, timeout] = [Duration::ZERO; 3];
        let number = self.reductions;
        let first_part = self.history.as_ref().map_or(0, |history| history.next_part());
        self.claims.push(Claim { number, episode, cause, window, recovery, timeout, first_part });
    }

    /// Records that the sender has restored the congestion window. The reduction before the
    /// reverted ones, if any, is in force again. Times under the reverted reductions stay
    /// attributed to them; they can be corrected only if there was such an earlier reduction.
    pub fn note_undo(&mut self, now: Time, last_data: Time) {
        self.close(now, last_data);
        match self.before {
            Some((episode, cause)) => self.put_in_force(episode, cause),
            None => self.claims.clear(),
        }
        if self.limit.is_congestion_window() {
            self.limit = self.window_limit();
        }
    }

    /// Records that the peer delayed the acknowledgment of all data sent, from `from` until now.
    pub fn note_delayed_ack(&mut self, from: Time, now: Time) {
        if let Some(since) = self.since
            && self.limit.waits_for_ack()
        {
            let is_first = self.held == Duration::ZERO;
            let mut from = from.max(since);
            if !is_first && from < self.hold.to {
                // Two acknowledgments may end the same delay, of which each time counts once.
                from = self.hold.to;
                self.hold.to = now;
            } else {
                let free_from = if is_first { since } else { self.hold.to };
                self.hold = Hold { free_from, from, to: now };
            }
            self.held += now.since(from);
            self.extend_history(from, self.limit);
            self.extend_history(now, FlowLimit::DelayedAck);
        }
    }

    /// Corrects the cause of an episode, and moves the time attributed to the previous cause.
    pub fn correct_cause(&mut self, episode: u64, cause: Cause) {
        if episode == 0 {
            return;
        }
        if let Some((_, known)) = self.before.as_mut().filter(|(before, _)| *before == episode) {
            *known = cause;
        }
        // Several reductions may belong to one episode.
        for index in 0..self.claims.len() {
            if self.claims[index].episode == episode {
                self.correct_claim(index, cause);
            }
        }
    }

    fn correct_claim(&mut self, index: usize, cause: Cause) {
        let claim = &mut self.claims[index];
        let before = std::mem::replace(claim, Claim { cause, ..*claim });
        self.history.iter_mut().for_each(|history| history.correct(&before, cause));
        let is_in_force = index + 1 == self.claims.len();
        let moves = [
            (FlowLimit::Window as fn(Cause) -> FlowLimit, before.window),
            (FlowLimit::Recovery, before.recovery),
            (FlowLimit::Timeout, before.timeout),
        ];
        for (limit, time) in moves {
            let time = time.min(self.times.time_under(limit(before.cause)));
            self.times.remove(limit(before.cause), time);
            self.times.add(limit(cause), time);
            if is_in_force && self.limit == limit(before.cause) {
                self.limit = limit(cause);
            }
            for span in &mut self.unclaimed {
                if span.reduction == before.number && span.limit == limit(before.cause) {
                    span.limit = limit(cause);
                }
            }
        }
    }

    /// Ends the life of the flow.
    pub fn end_life(&mut self, now: Time) {
        self.close(now, now);
        self.is_over = true;
    }

    /// Times under each limit so far.
    pub const fn times(&self) -> &LimitTimes {
        &self.times
    }

    /// Starts the statistics: times attributed so far are not corrected any more.
    pub fn exclude_past_corrections(&mut self) {
        for claim in &mut self.claims {
            let [window, recovery, timeout] = [Duration::ZERO; 3];
            *claim = Claim { window, recovery, timeout, ..*claim };
        }
        self.unclaimed.clear();
    }
}

impl Measure for Box<Limits> {
    fn since(&self, start: &Self) -> Self {
        let mut all = self.clone();
        all.times.subtract(&start.times);
        all
    }

    fn advance_to(&mut self, now: Time) {
        // The run ends here, or its statistics start; no later event may reassign the time up to
        // now.
        self.close(now, Time::ZERO);
    }
}
