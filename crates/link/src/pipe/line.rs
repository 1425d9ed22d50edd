//! Queue of a pipe whose discipline decides at dequeue which packets to drop, mark or send.
//!
//! While packets wait, such a pipe has two deadlines: the departure of its first packet, and the
//! end of the current transmission, at which the discipline chooses the next packet. If no packet
//! waits at the end of a transmission, the discipline learns only at the next arrival that the
//! transmitter has become idle, and since when.

use super::rare::Duplicate;
use crate::queue::{Queue, QueueAction, QueueActions, State, Waiting};
use retx_units::{QueueLengthHistory, Time};
use std::collections::VecDeque;

/// Events of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// The discipline has dropped or marked a packet.
    Action(QueueAction),
    /// A transmission has begun, and the channel makes a copy of the packet.
    Copied { id: u32, duplicate: Duplicate },
}

/// Waiting packets and their queue discipline.
#[derive(Debug, Clone)]
pub(super) struct Line {
    queue: State,
    actions: QueueActions,
    /// Events that the caller has not fetched yet, in order of time.
    events: VecDeque<(Time, Event)>,
    /// Number of dropped packets among `events`.
    dropped: u64,
    /// True while a copy has no id yet. No transmission begins during this time, because ids must
    /// be allocated in the order of transmission.
    unnamed: bool,
    /// True if no transmission is in progress and the discipline has been informed of that.
    idle: bool,
    /// Sum of the waiting times of all packets up to the time `settled`, in packet-nanoseconds.
    waited: u128,
    settled: Time,
    longest: u64,
    history: Option<QueueLengthHistory>,
}

impl Line {
    pub fn new(queue: State) -> Self {
        Self {
            queue,
            actions: QueueActions::default(),
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
        let admitted = self.queue.enqueue(packet.since, packet, &mut self.actions);
        self.note(packet.since, before);
        admitted
    }

    /// Next packet whose transmission begins by `now`, and the time at which it begins. The
    /// transmitter is busy until `busy_until`.
    pub fn next_start(&mut self, now: Time, busy_until: Time) -> Option<(Time, Waiting)> {
        // An idle transmitter starts now. Otherwise the discipline chooses a packet with the queue
        // as it is at the end of the current transmission, even if this function is called later.
        let at = if self.idle { now } else { busy_until };
        if at > now || self.unnamed || self.idle && self.queue_length() == 0 {
            return None;
        }
        let before = self.advance_to(at);
        let packet = self.queue.dequeue(at, &mut self.actions);
        self.note(at, before);
        // Disciplines such as CoDel must know when the queue becomes empty. Therefore `dequeue` is
        // also called at the end of the last transmission.
        self.idle = packet.is_none();
        packet.map(|packet| (at, packet))
    }

    /// Records that the packet whose transmission began at `start` is duplicated.
    pub fn record_duplicate(&mut self, start: Time, id: u32, twin: Duplicate) {
        self.unnamed = true;
        self.events.push_back((start, Event::Copied { id, duplicate: twin }));
    }

    /// Time of the next event to be fetched, or of the next start of a transmission if that is
    /// earlier.
    pub fn next_due(&self, busy_until: Time) -> Time {
        let happened = self.events.front().map_or(Time::NEVER, |(at, _)| *at);
        if self.queue_length() > 0 { happened.min(busy_until) } else { happened }
    }

    /// Removes and returns the next event and its time.
    pub fn pop_event(&mut self) -> Option<(Time, Event)> {
        let event = self.events.pop_front()?;
        self.dropped -= u64::from(matches!(event, (_, Event::Action(QueueAction::Dropped(_)))));
        // The caller allocates the id of the copy as soon as it gets this event.
        self.unnamed &= !matches!(event, (_, Event::Copied { .. }));
        Some(event)
    }

    /// Records the discipline's drops and marks at `at`; `before` packets were waiting before these
    /// actions.
    fn note(&mut self, at: Time, before: u64) {
        let waiting = self.queue_length();
        self.history.iter_mut().for_each(|history| history.add_change(at, before, waiting));
        while let Some(action) = self.actions.pop() {
            self.dropped += u64::from(matches!(action, QueueAction::Dropped(_)));
            self.events.push_back((at, Event::Action(action)));
        }
    }

    fn queue_length(&self) -> u64 {
        self.queue.occupancy().packets
    }

    /// Advances the sum of waiting times to `at`; returns the number of waiting packets.
    fn advance_to(&mut self, at: Time) -> u64 {
        let waiting = self.queue_length();
        self.waited += u128::from(at.since(self.settled).as_nanos()) * u128::from(waiting);
        self.settled = self.settled.max(at);
        waiting
    }

    /// Starts recording the queue length over time.
    pub fn record_history(&mut self) {
        self.history = Some(QueueLengthHistory::default());
    }

    /// Removes and returns the queue length over time, if it was recorded.
    pub const fn take_history(&mut self) -> Option<QueueLengthHistory> {
        self.history.take()
    }

    /// Number of waiting packets, plus dropped packets that the caller has not fetched yet.
    pub fn undelivered_packets(&self) -> u64 {
        self.queue_length() + self.dropped
    }

    /// Total waiting time of all packets up to `now`, in packet-nanoseconds.
    pub fn total_waiting_ns(&self, now: Time) -> u128 {
        let since = now.since(self.settled).as_nanos();
        self.waited + u128::from(since) * u128::from(self.queue_length())
    }

    /// Updates the maximum queue length; called after the transmissions that begin at this instant.
    pub fn update_max_queue(&mut self) {
        self.longest = self.longest.max(self.queue_length());
    }

    /// Maximum number of packets that waited at once.
    pub const fn max_queue(&self) -> u64 {
        self.longest
    }

    pub fn restart_maximum(&mut self) {
        self.longest = self.queue_length();
    }
}
