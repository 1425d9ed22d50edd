//! Queue before a transmitter whose discipline decides at dequeue.
//!
//! Such a pipe has a second deadline: the end of the current transmission, while packets wait. The
//! discipline is asked for the next packet at that very instant. If no packet waits, the discipline
//! learns of the idle transmitter only before the next arrival, but with the correct time.

use super::rare::Duplicate;
use crate::queue::{Exit, Exits, Queue, State, Waiting};
use retx_units::{History, Time};
use std::collections::VecDeque;

/// Events of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// Dropped or marked by the discipline.
    Exit(Exit),
    /// Transmission begins, and the channel makes a copy.
    Copied { id: u32, twin: Duplicate },
}

/// Waiting packets and their queue discipline.
#[derive(Debug, Clone)]
pub(super) struct Line {
    queue: State,
    exits: Exits,
    /// Events that the caller has not collected yet, in order.
    events: VecDeque<(Time, Event)>,
    /// Number of dropped packets among `events`.
    dropped: u64,
    /// True while a copy awaits its id: packets sent after it must be numbered after it.
    unnamed: bool,
    /// True if no transmission is in progress and the discipline knows it.
    idle: bool,
    /// Sum of waiting times up to `settled`, in packet-nanoseconds.
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

    /// Enqueues a packet; true if it is accepted.
    pub fn enqueue(&mut self, packet: &Waiting) -> bool {
        let before = self.advance_to(packet.since);
        let admitted = self.queue.enqueue(packet.since, packet, &mut self.exits);
        self.note(packet.since, before);
        admitted
    }

    /// Next packet whose transmission begins by `now`, and when; the transmitter is busy until
    /// `busy_until`.
    pub fn next_start(&mut self, now: Time, busy_until: Time) -> Option<(Time, Waiting)> {
        // An idle transmitter starts now. Otherwise the discipline chooses when the current
        // transmission ends, even if the call comes later.
        let at = if self.idle { now } else { busy_until };
        if at > now || self.unnamed || self.idle && self.waiting() == 0 {
            return None;
        }
        let before = self.advance_to(at);
        let packet = self.queue.dequeue(at, &mut self.exits);
        self.note(at, before);
        // Disciplines such as CoDel measure when the queue becomes empty, so they are asked once
        // more at the end of the last transmission.
        self.idle = packet.is_none();
        packet.map(|packet| (at, packet))
    }

    /// Records that the packet in transmission since `start` has a copy.
    pub fn copied(&mut self, start: Time, id: u32, twin: Duplicate) {
        self.unnamed = true;
        self.events.push_back((start, Event::Copied { id, twin }));
    }

    /// Time of the next event to collect or transmission to begin.
    pub fn due(&self, busy_until: Time) -> Time {
        let happened = self.events.front().map_or(Time::NEVER, |(at, _)| *at);
        if self.waiting() > 0 { happened.min(busy_until) } else { happened }
    }

    /// Removes and returns the next event and its time.
    pub fn pop_event(&mut self) -> Option<(Time, Event)> {
        let event = self.events.pop_front()?;
        self.dropped -= u64::from(matches!(event, (_, Event::Exit(Exit::Dropped(_)))));
        // The caller allocates the id of the copy right after this event.
        self.unnamed &= !matches!(event, (_, Event::Copied { .. }));
        Some(event)
    }

    /// Records the discipline's actions at `at`, when `before` packets were waiting.
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

    /// Adds up waiting times to `at`; returns the number of waiting packets.
    fn advance_to(&mut self, at: Time) -> u64 {
        let waiting = self.waiting();
        self.waited += u128::from(at.since(self.settled).as_nanos()) * u128::from(waiting);
        self.settled = self.settled.max(at);
        waiting
    }

    /// Starts recording the queue length over time.
    pub fn keep_history(&mut self) {
        self.history = Some(History::default());
    }

    /// Queue length over time, if recorded.
    pub const fn take_history(&mut self) -> Option<History> {
        self.history.take()
    }

    /// Number of waiting packets plus dropped packets not yet collected.
    pub fn held(&self) -> u64 {
        self.waiting() + self.dropped
    }

    /// Total waiting time of all packets up to `now`, in packet-nanoseconds.
    pub fn waited(&self, now: Time) -> u128 {
        let since = now.since(self.settled).as_nanos();
        self.waited + u128::from(since) * u128::from(self.waiting())
    }

    /// Updates the maximum queue length; called once no further transmission begins at this
    /// instant.
    pub fn remember_longest(&mut self) {
        self.longest = self.longest.max(self.waiting());
    }

    /// Maximum number of packets that waited at once.
    pub const fn longest(&self) -> u64 {
        self.longest
    }

    pub fn restart_maximum(&mut self) {
        self.longest = self.waiting();
    }
}
