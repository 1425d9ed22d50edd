//! *What it does.* One direction of a link: queue → rate → channel → propagation delay.
//!
//! A first-in-first-out transmitter needs no event when a transmission ends: at a packet's arrival
//! its service starts at `max(now, busy_until)`, which settles when it ends, what the channel does
//! to it, and when it reaches the far end. So a pipe has one thing to wait for at any time, the
//! first of the packets in it to come out ([`Pipe::poll_timeout`]).
//!
//! What the channel loses leaves the pipe when its transmission ends, never before: the counters
//! hold at every instant, and packets in = delivered + dropped + queued + in the air.

mod air;
mod ring;
mod statistics;
mod transmitter;

use crate::channel::{self, Channel, Fate, Frame, Reason};
use crate::queue;
use air::Air;
use retx_units::{Duration, Rate, Stream, StreamKey, Time};
pub use statistics::{Drops, Statistics};
use transmitter::Transmitter;

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Transmission rate; without one a packet takes no time to send, and none ever waits.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Bytes that a frame adds to the IP packet on the wire.
    pub overhead: u32,
    /// Who may wait for the transmitter.
    pub queue: queue::Config,
    /// What becomes of a frame: every model is asked in this order until one loses it.
    pub channel: Vec<channel::Config>,
}

/// A packet as a pipe sees it.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// What the caller calls it.
    pub id: u32,
    /// What the channel may know of it.
    pub frame: Frame,
}

/// What became of a packet that wanted to enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Entry {
    /// It is in the pipe.
    Accepted,
    /// The queue turned it away.
    QueueFull,
}

/// A packet that leaves a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// At the far end.
    Delivered {
        /// What the caller called it.
        id: u32,
    },
    /// Into nothing: the channel lost it.
    Lost {
        /// What the caller called it.
        id: u32,
        /// When its transmission ended.
        at: Time,
        /// What the loss counts as.
        reason: Reason,
    },
}

/// A running direction of a link.
#[derive(Debug, Clone)]
pub struct Pipe {
    transmitter: Transmitter,
    queue: queue::State,
    channels: Vec<(channel::State, Stream)>,
    delay: Duration,
    air: Air,
    counts: Counts,
}

/// What a pipe counts as packets pass.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    packets_in: u64,
    delivered: u64,
    drops: Drops,
}

impl Pipe {
    /// An empty pipe. Its channels draw from the streams `NAME.channel.0`, `NAME.channel.1`, …
    pub fn new(config: &Config, key: StreamKey, name: &str) -> Self {
        let channels = config.channel.iter().enumerate();
        Self {
            transmitter: Transmitter::new(config.rate, config.overhead),
            queue: config.queue.build(),
            channels: channels
                .map(|(index, model)| {
                    (model.build(), key.stream(&format!("{name}.channel.{index}")))
                })
                .collect(),
            delay: config.delay,
            air: Air::new(),
            counts: Counts::default(),
        }
    }

    /// A packet arrives at the near end.
    #[inline]
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) -> Entry {
        self.counts.packets_in += 1;
        let frame = &packet.frame;
        if !self.transmitter.admits(now, &mut self.queue, frame.bytes) {
            self.counts.drops.queue += 1;
            return Entry::QueueFull;
        }
        let end = self.transmitter.start(now, frame.bytes);
        match self.fate(end, frame) {
            Fate::Deliver { extra_delay } => {
                self.air.send(later(end, later_by(self.delay, extra_delay)), packet.id);
            }
            Fate::Lose(reason) => self.air.lose(end, packet.id, reason),
        }
        Entry::Accepted
    }

    /// The fate of a frame whose transmission ends at `end`: the first loss decides, delays add up.
    #[inline]
    fn fate(&mut self, end: Time, frame: &Frame) -> Fate {
        let mut total = Duration::ZERO;
        for (model, stream) in &mut self.channels {
            match model.fate(end, frame, stream) {
                Fate::Deliver { extra_delay } => total = later_by(total, extra_delay),
                lost @ Fate::Lose(_) => return lost,
            }
        }
        Fate::Deliver { extra_delay: total }
    }

    /// When the next packet leaves; [`Time::NEVER`] for an empty pipe.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        self.air.next()
    }

    /// The next packet that has left by `now`, until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Departure> {
        let departure = self.air.pop(now)?;
        match departure {
            Departure::Delivered { .. } => self.counts.delivered += 1,
            Departure::Lost { reason: Reason::Channel, .. } => self.counts.drops.channel += 1,
            Departure::Lost { reason: Reason::Script { .. }, .. } => self.counts.drops.script += 1,
        }
        Some(departure)
    }

    /// What has been counted by `now`, the waiting and the busy time up to then included.
    pub fn statistics(&self, now: Time) -> Statistics {
        let queued = self.transmitter.waiting(now);
        assert!(queued.packets <= self.air.len(), "who waits has not left");
        Statistics {
            packets_in: self.counts.packets_in,
            packets_delivered: self.counts.delivered,
            drops: self.counts.drops,
            queued: queued.packets,
            in_air: self.air.len() - queued.packets,
            waited: self.transmitter.waited(now),
            busy: self.transmitter.busy(now),
            queue_max: self.transmitter.queue_max(),
        }
    }

    /// Forgets the longest queue so far: the next statistics tell the longest from `now` on.
    pub fn restart_maximum(&mut self, now: Time) {
        self.transmitter.restart_maximum(now);
    }
}

/// An instant that no delay can carry past the end of time.
#[inline]
fn later(time: Time, by: Duration) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add(by.as_nanos()))
}

/// The sum of two delays, which may each be as long as they like.
#[inline]
fn later_by(a: Duration, b: Duration) -> Duration {
    Duration::from_nanos(a.as_nanos().saturating_add(b.as_nanos()))
}
