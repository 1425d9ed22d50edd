//! When events are due.

use super::Player;
use crate::script::{Action, Event, When};
use retx_units::{Duration, Time};

/// When an event is due.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    /// What its relative times are counted from.
    pub base: Time,
    /// From when …
    pub begin: Time,
    /// … to when; the same for one time.
    pub end: Time,
    /// Whenever.
    pub any: bool,
    /// How far it may lie outside.
    pub tolerance: Duration,
}

/// The event before.
#[derive(Debug, Clone, Copy)]
pub struct Last {
    /// When it was due.
    due: Time,
    /// What a relative time after it is counted from: an arrival's own time for another arrival.
    anchor: Option<Time>,
}

impl Last {
    /// The event that has just happened at `now`.
    pub fn new(event: &Event, due: &Due, now: Time) -> Self {
        let arrival = matches!(event.action, Action::Inbound(_));
        Self { due: if due.any { now } else { due.begin }, anchor: arrival.then_some(due.begin) }
    }
}

impl Due {
    /// True when something that happened at `at` happened in time.
    pub fn holds(&self, at: Time) -> bool {
        let early = self.begin.since(at);
        let late = at.since(self.end);
        self.any || (early <= self.tolerance && late <= self.tolerance)
    }
}

impl Player<'_> {
    /// When an event is due, given when the one before was.
    pub fn due(&self, event: &Event) -> Due {
        let arrival = matches!(event.action, Action::Inbound(_));
        let anchor = self.last.and_then(|last| last.anchor).filter(|_| arrival);
        let base = anchor.unwrap_or(self.now);
        let (base, begin, end) = match event.when {
            When::At(time) => (Time::ZERO, time, time),
            When::Between(begin, end) => (Time::ZERO, begin, end),
            When::After(wait) => (base, base + wait, base + wait),
            When::AfterBetween(begin, end) => (base, base + begin, base + end),
            When::Any => (base, base, base),
        };
        let step = self.last.map_or(Duration::ZERO, |last| begin.since(last.due));
        let share = step.as_secs_f64() * self.setup.tolerance_percent / 100.0;
        let tolerance = self.setup.tolerance.max(Duration::from_secs_f64(share));
        Due { base, begin, end, any: event.when == When::Any, tolerance }
    }
}
