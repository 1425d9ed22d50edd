//! The line before a transmitter whose discipline decides as packets leave.
//!
//! Such a pipe waits for one more thing than others: the end of the transmission under way, while
//! packets wait for it. The discipline is asked for the next packet at that very instant; when none
//! waits it is told so late, before the next arrival, but with the same instant.

use super::rare::Twin;
use crate::queue::{Exit, Exits, Queue, State, Waiting};
use retx_units::{History, Time};
use std::collections::VecDeque;

/// What happens to a packet in the line.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// The discipline drops or marks it.
    Exit(Exit),
    /// Its transmission begins, and the channel makes a copy.
    Copied { id: u32, twin: Twin },
}

/// Those that wait, and the discipline among them.
#[derive(Debug, Clone)]
pub(super) struct Line {
    queue: State,
    exits: Exits,
    /// What has happened to packets and nobody has taken note of, in order.
    events: VecDeque<(Time, Event)>,
    /// Packets among them that were dropped.
    dropped: u64,
    /// A copy has no name yet: what is sent after it comes after it.
    unnamed: bool,
    /// Nothing is in transmission, and the discipline knows.
    idle: bool,
    /// Packets × nanoseconds up to `settled`.
    waited: u128,
    settled: Time,
    longest: u64,
    history: Option<History>,
}

impl Line {
    pub fn new(queue: State) -> Self {
        Self {
            queue,
            exits: Exits::default(),
            events: VecDeque::new(),
            dropped: 0,
            unnamed: false,
            idle: true,
            waited: 0,
            settled: Time::ZERO,
            longest: 0,
            history: None,
        }
    }

    /// A packet arrives; true when it may wait.
    pub fn enqueue(&mut self, packet: &Waiting) -> bool {
        let before = self.settle(packet.since);
        let admitted = self.queue.enqueue(packet.since, packet, &mut self.exits);
        self.note(packet.since, before);
        admitted
    }

    /// The packet whose transmission begins by `now`, and when: the one before takes until
    /// `busy_until`.
    pub fn next_start(&mut self, now: Time, busy_until: Time) -> Option<(Time, Waiting)> {
        let at = if self.idle { now } else { busy_until };
        if at > now || self.unnamed || self.idle && self.waiting() == 0 {
            return None;
        }
        let before = self.settle(at);
        let packet = self.queue.dequeue(at, &mut self.exits);
        self.note(at, before);
        self.idle = packet.is_none();
        packet.map(|packet| (at, packet))
    }

    /// A packet in transmission since `start` has a copy.
    pub fn copied(&mut self, start: Time, id: u32, twin: Twin) {
        self.unnamed = true;
        self.events.push_back((start, Event::Copied { id, twin }));
    }

    /// When something happens next of which note has to be taken, or a transmission is to begin.
    pub fn due(&self, busy_until: Time) -> Time {
        let happened = self.events.front().map_or(Time::NEVER, |(at, _)| *at);
        if self.waiting() > 0 { happened.min(busy_until) } else { happened }
    }

    /// What has happened to packets, one by one, and when.
    pub fn pop_event(&mut self) -> Option<(Time, Event)> {
        let event = self.events.pop_front()?;
        self.dropped -= u64::from(matches!(event, (_, Event::Exit(Exit::Dropped(_)))));
        self.unnamed &= !matches!(event, (_, Event::Copied { .. }));
        Some(event)
    }

    /// What the discipline has done at this instant, when so many waited before.
    fn note(&mut self, at: Time, before: u64) {
        let waiting = self.waiting();
        self.history.iter_mut().for_each(|history| history.change(at, before, waiting));
        while let Some(exit) = self.exits.pop() {
            self.dropped += u64::from(matches!(exit, Exit::Dropped(_)));
            self.events.push_back((at, Event::Exit(exit)));
        }
    }

    fn waiting(&self) -> u64 {
        self.queue.occupancy().packets
    }

    /// Counts the waiting up to `at`; returns how many do.
    fn settle(&mut self, at: Time) -> u64 {
        let waiting = self.waiting();
        self.waited += u128::from(at.since(self.settled).as_nanos()) * u128::from(waiting);
        self.settled = self.settled.max(at);
        waiting
    }

    /// Keeps from now on how many wait.
    pub fn keep_history(&mut self) {
        self.history = Some(History::default());
    }

    /// How many have waited at every instant, if that was kept.
    pub const fn take_history(&mut self) -> Option<History> {
        self.history.take()
    }

    /// Packets that wait, and those dropped of which nobody has taken note.
    pub fn held(&self) -> u64 {
        self.waiting() + self.dropped
    }

    /// The time that all packets together have waited up to `now`, in nanoseconds.
    pub fn waited(&self, now: Time) -> u128 {
        let since = now.since(self.settled).as_nanos();
        self.waited + u128::from(since) * u128::from(self.waiting())
    }

    /// Who waits now does wait: no transmission begins at this instant any more.
    pub fn remember_longest(&mut self) {
        self.longest = self.longest.max(self.waiting());
    }

    /// The most packets that ever waited at once.
    pub const fn longest(&self) -> u64 {
        self.longest
    }

    pub fn restart_maximum(&mut self) {
        self.longest = self.waiting();
    }
}
