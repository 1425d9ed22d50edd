//! Due times of events.

use super::Player;
use crate::script::{Action, Event, EventTime};
use retx_units::{Duration, Time};

/// Due time of an event.
#[derive(Debug, Clone, Copy)]
pub struct TimeWindow {
    /// Time to which the relative times of the event are added.
    pub base_time: Time,
    /// Earliest time.
    pub begin: Time,
    /// Latest time; equal to `begin` for a single time.
    pub end: Time,
    /// True if any time is allowed.
    pub is_any: bool,
    /// Tolerance before `begin` and after `end`.
    pub tolerance: Duration,
}

/// Previous event.
#[derive(Debug, Clone, Copy)]
pub struct PreviousEvent {
    /// Due time of the event.
    due: Time,
    /// Due time if the event is an arrival, otherwise `None`. It is the base of the next event if
    /// that is an arrival with a relative time.
    anchor: Option<Time>,
}

impl PreviousEvent {
    /// Records that an event has happened at `now`.
    pub fn new(event: &Event, due: &TimeWindow, now: Time) -> Self {
        let arrival = matches!(event.action, Action::Inbound(_));
        Self { due: if due.is_any { now } else { due.begin }, anchor: arrival.then_some(due.begin) }
    }
}

impl TimeWindow {
    /// True if `at` is within the range and its tolerance.
    pub fn contains(&self, at: Time) -> bool {
        let early = self.begin.since(at);
        let late = at.since(self.end);
        self.is_any || (early <= self.tolerance && late <= self.tolerance)
    }
}

impl Player<'_> {
    /// Due time of an event, relative to the previous event.
    pub fn time_window(&self, event: &Event) -> TimeWindow {
        let arrival = matches!(event.action, Action::Inbound(_));
        let anchor = self.last.and_then(|last| last.anchor).filter(|_| arrival);
        let base = anchor.unwrap_or(self.now);
        let (base, begin, end) = match event.when {
            EventTime::At(time) => (Time::ZERO, time, time),
            EventTime::Between(begin, end) => (Time::ZERO, begin, end),
            EventTime::After(wait) => (base, base + wait, base + wait),
            EventTime::AfterBetween(begin, end) => (base, base + begin, base + end),
            EventTime::Any => (base, base, base),
        };
        let step = self.last.map_or(Duration::ZERO, |last| begin.since(last.due));
        let share = step.as_secs_f64() * self.setup.tolerance_percent / 100.0;
        let tolerance = self.setup.tolerance.max(Duration::from_secs_f64(share));
        TimeWindow { base_time: base, begin, end, is_any: event.when == EventTime::Any, tolerance }
    }
}
