//! Whether an acknowledgment may grow the window: a window that was never filled is not known to
//! be free.
//!
//! *Reference.* RFC 7661 §3 (cwnd-limited), §4.2 (pipeACK), §4.3 and §4.4.1 (the two phases); for
//! Linux see `usage.rs`.
//!
//! *Equations.* pipeACK = the most that was acknowledged in one round trip of the last max(3·SRTT,
//! 1 s); undefined before there was one, and after a recovery. The window is validated while
//! pipeACK is undefined or at least cwnd/2.
//!
//! *Where we differ.* Of RFC 7661 this is the growth only. A pause is `slow_start_after_idle`'s
//! matter, and a loss the congestion control's (not §4.4.2 and §4.4.3).

use super::usage::{InUse, Usage};
use crate::congestion_control::{Ack, Window};
use crate::late::{Late, Nothing};
use crate::work;
use prefetch_index::prefetch_index;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// When an acknowledgment may grow the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CwndValidation {
    /// Always: RFC 5681 asks for no more than new data acknowledged.
    None,
    /// While the window is full, or at least half of it was acknowledged in one of the last round
    /// trips (RFC 7661 §4.4.1).
    Rfc7661,
    /// While the window was full in the last round trip; in slow start while more than half of it
    /// was in flight (Linux `tcp_is_cwnd_limited`).
    Linux,
}

/// What was used of the window lately.
#[derive(Debug, Clone)]
pub(crate) struct Validation {
    policy: CwndValidation,
    /// The window was full at some time since the last ACK of new data.
    full: bool,
    /// For `linux`.
    usage: Late<Usage>,
    /// For `rfc7661`.
    rounds: Late<Rounds>,
}

/// What was acknowledged in the last round trips.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
struct Rounds {
    now: Option<Round>,
    /// Most acknowledged in a round trip: samples of falling size, oldest first.
    samples: VecDeque<(Time, u64)>,
}

/// A round trip in which bytes acknowledged are counted.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// It is over once this is acknowledged.
    end: u64,
    bytes: u64,
}

impl Nothing for Rounds {
    const NOTHING: &'static Self = &Self { now: None, samples: VecDeque::new() };
}

impl Validation {
    pub const fn new(policy: CwndValidation) -> Self {
        Self { policy, full: false, usage: Late::NONE, rounds: Late::NONE }
    }

    /// An acknowledgment is about to come: lets the processor fetch what that needs.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(rounds) = self.rounds.get() {
            prefetch_index(std::slice::from_ref(rounds), 0);
        }
    }

    /// So much is in use, just after something was sent or an ACK was dealt with: full is what has
    /// no room for another segment.
    pub fn on_flight(&mut self, in_use: &InUse, window: &Window, sent: bool) {
        if self.policy == CwndValidation::None {
            return;
        }
        let full = in_use.pipe + u64::from(window.smss) > window.cwnd;
        match self.policy {
            CwndValidation::None => {}
            CwndValidation::Rfc7661 => self.full |= full,
            CwndValidation::Linux if full || sent => self.usage.note(in_use, full),
            CwndValidation::Linux => {}
        }
    }

    /// The window leaves less room than is worth sending at once.
    pub fn on_deferral(&mut self, in_use: &InUse) {
        self.usage.note(in_use, true);
    }

    /// New data were acknowledged.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack) {
        if self.policy != CwndValidation::Rfc7661 {
            return;
        }
        if ack.in_recovery {
            return self.forget_rounds();
        }
        let goes_on = self.rounds.made().is_some_and(|rounds| rounds.goes_on(ack));
        if !goes_on {
            self.rounds.on_ack(ack);
        }
    }

    /// §4.2: what a recovery delivers is no sample, and what was before is out of date.
    fn forget_rounds(&mut self) {
        if let Some(rounds) = self.rounds.made() {
            rounds.now = None;
            rounds.samples.clear();
        }
    }

    /// An ACK of new data may grow the window.
    pub fn allows_growth(&self, window: &Window) -> bool {
        match self.policy {
            CwndValidation::None => true,
            CwndValidation::Linux => self.usage.is_limited(window),
            CwndValidation::Rfc7661 => {
                let pipe_ack = || self.rounds.samples.front().map(|sample| sample.1);
                self.full || pipe_ack().is_none_or(|bytes| bytes >= window.cwnd.div_ceil(2))
            }
        }
    }

    /// An ACK of new data has been dealt with.
    pub fn end_ack(&mut self) {
        self.full = false;
    }
}

impl Rounds {
    /// Counts what is acknowledged within a round trip, if no sample can be out of date: else
    /// nothing has happened.
    #[inline(always)]
    fn goes_on(&mut self, ack: &Ack) -> bool {
        match &mut self.now {
            Some(round) if ack.snd_una < round.end && self.samples.len() <= 1 => {
                round.bytes += ack.bytes_acked;
                true
            }
            _ => false,
        }
    }

    #[inline(never)]
    fn on_ack(&mut self, ack: &Ack) {
        let Some(round) = &mut self.now else {
            self.now = Some(Round { end: ack.snd_nxt, bytes: 0 });
            return;
        };
        round.bytes += ack.bytes_acked;
        if ack.snd_una >= round.end {
            let bytes = round.bytes;
            *round = Round { end: ack.snd_nxt, bytes: 0 };
            while self.samples.back().is_some_and(|sample| sample.1 <= bytes) {
                work::steps(1);
                self.samples.pop_back();
            }
            if self.samples.capacity() == 0 {
                // There is hardly ever a second: what is acknowledged grows, or the rest is old.
                self.samples.reserve_exact(1);
            }
            self.samples.push_back((ack.now, bytes));
        }
        if self.samples.len() > 1 {
            self.drop_old_samples(ack);
        }
    }

    fn drop_old_samples(&mut self, ack: &Ack) {
        let period = ack.srtt.map_or(Duration::ZERO, |srtt| srtt.saturating_mul(3));
        let period = period.max(Duration::from_secs(1));
        // The newest stands until there is a newer one: a flow without samples has no other.
        while self.samples.len() > 1
            && self.samples.front().is_some_and(|sample| sample.0 + period < ack.now)
        {
            work::steps(1);
            self.samples.pop_front();
        }
    }
}
