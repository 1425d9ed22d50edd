//! *What it does.* One direction of a link: queue → rate → channel → propagation delay.
//!
//! With a `droptail` queue, no event is needed at the end of a transmission. When a packet arrives,
//! its transmission is known to start at `max(now, busy_until)`. This determines the end of the
//! transmission, the channel's effect on the packet, and its arrival at the far end. A pipe
//! therefore has one pending event: the departure of its first packet ([`Pipe::poll_timeout`]).
//!
//! Other disciplines decide at dequeue, so their packets wait in a queue. While packets are queued,
//! a pipe with such a discipline also has an event at the end of each transmission.
//!
//! A packet that the channel loses leaves the pipe when its transmission ends, not before. The
//! counters are therefore correct at every instant: packets in + copies = delivered + dropped +
//! queued + in transit.
//!
//! *Order.* Frames arrive in the order of transmission, whatever their delays: frames behind a
//! delayed frame wait for it, even if the propagation delay has decreased meanwhile. The exceptions
//! are the fates `Fate::Stray` and `Fate::HoldBack`, and copies.
//!
//! *A link that repairs losses* ([`repair`]) also has an event at the start of the next
//! transmission.
//!
//! *A pipe that gets all its packets from one other pipe* may be passed ahead of time ([`ahead`]).
//!
//! *Rates that change* follow a schedule or a trace, which is known in advance. The end of a
//! transmission is therefore known at the packet's arrival, too: the rate is integrated.

pub mod ahead;
mod changes;
mod coupling;
mod decide;
mod delay_line;
mod fate;
mod line;
mod prefetch;
mod rare;
pub mod repair;
mod statistics;
mod transmitter;
mod waiting_packet;

use crate::channel::{self, Frame, Model, Reason};
use crate::queue::{self, droptail};
pub use crate::rates::Rates;
pub use crate::stage::{Departure, Entry, Packet};
use crate::stage::{later, later_by};
pub use changes::Change;
use changes::Changes;
use coupling::{Coupling, PackedCoupling};
use delay_line::DelayLine;
pub use delay_line::PlainPacket;
use line::Line;
use rare::Rare;
use repair::Repairs;
use retx_units::{Duration, Rate, StreamKey, Time};
pub use statistics::{Bursts, Drops, Statistics};
use std::fmt::Display;
use transmitter::Transmitter;

/// Configuration of one direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Transmission rate. If it is `None` and no channel model sets the rate, transmissions take no
    /// time, and packets do not wait.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Link-layer overhead added to each IP packet, bytes.
    pub overhead: u32,
    /// Queue discipline.
    pub queue: queue::Config,
    /// Channel models, applied in this order until one loses the frame.
    pub channel: Vec<channel::Config>,
    /// Link-layer repair of losses. Allowed only with channel models that do nothing but lose
    /// frames.
    pub repair: Option<repair::Config>,
    /// Scheduled changes, in order of time.
    pub changes: Vec<Change>,
}

/// Running direction of a link. The fields needed for every packet are in its first cache line, and
/// those needed for waiting packets in the second, because a network with thousands of flows has
/// more pipes than fit into a cache.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Pipe {
    kind: Kind,
    /// True if other pipes follow this one ([`ahead`]).
    leads: bool,
    /// True if a packet from the leader could not pass this pipe ahead of time, and will enter it
    /// in an event at its arrival ([`ahead`]).
    awaits: bool,
    /// True if packets have waited since the transmitter was last idle.
    has_waited: bool,
    /// Leader, sink or source ([`ahead`]).
    coupling: PackedCoupling,
    delay: Duration,
    counts: Counts,
    transmitter: Transmitter,
    delay_line: DelayLine,
    /// Latest arrival of a packet that could not pass ahead of time ([`ahead`]).
    by_event: Time,
    rare: Option<Box<Rare>>,
    /// Queue whose discipline decides at dequeue which packets to drop, mark or send; otherwise
    /// `None`.
    line: Option<Box<Line>>,
    repairs: Option<Box<Repairs>>,
    changes: Option<Box<Changes>>,
    next_change: Time,
}

/// Kind of a pipe: when it determines a packet's fate, and which fates are possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The fate is determined at arrival; packets wait, are transmitted, and take a constant delay.
    Plain,
    /// Like `Plain`, but the channel may lose packets.
    Loses,
    /// The fate is determined at arrival; the pipe has neither `line` nor `repairs`.
    DecidesAtArrival,
    /// The fate is determined at the start of the transmission, or later.
    DecidesAtDeparture,
}

/// Counters of passing packets.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Packets that have entered when they arrived, not ahead of time.
    packets_in: u64,
    /// Packets that have passed this pipe ahead of time ([`ahead`]).
    passed: u64,
    delivered: u64,
}

const _: () = {
    let transmitter = std::mem::offset_of!(Pipe, transmitter);
    assert!(transmitter + Transmitter::HOT_BYTES == 64);
    assert!(transmitter + Transmitter::WARM_BYTES <= 128);
    // The size is limited because there are many pipes: a flow with access links at both ends has
    // four.
    assert!(size_of::<Pipe>() <= 256);
};

impl Pipe {
    /// Creates an empty pipe. Its channels draw from the streams `NAME.channel.0`,
    /// `NAME.channel.1`, …, its queue from `NAME.queue`.
    pub fn new(config: &Config, key: StreamKey, name: impl Display) -> Self {
        let droptail = matches!(config.queue, queue::Config::droptail(_));
        assert!(droptail || config.repair.is_none(), "repairs go with droptail only");
        let rates = config.channel.iter().find_map(Model::rates);
        // A rate set by a channel model takes precedence over scheduled rates.
        let rates = rates.or_else(|| changes::rates(config.rate, &config.changes));
        let later = config.changes.iter().filter_map(|change| change.channel.as_ref());
        // Streams are numbered by the position of a model in its list. The longest list determines
        // how many streams are needed.
        let most = later.map(Vec::len).fold(config.channel.len(), usize::max);
        let stream = |index: usize| key.stream(&format!("{name}.channel.{index}"));
        let built = config.channel.iter().map(Model::build).enumerate();
        let channels: Vec<_> = built.map(|(index, model)| (model, stream(index))).collect();
        let changes = (!config.changes.is_empty()).then(|| {
            Box::new(Changes {
                pending: config.changes.iter().rev().cloned().collect(),
                streams: (config.channel.len()..most).rev().map(stream).collect(),
            })
        });
        let (room, line) = match &config.queue {
            queue::Config::droptail(droptail) => (*droptail, None),
            discipline => {
                let environment = queue::Environment {
                    random_stream: key.stream(&format!("{name}.queue")),
                    rate: rates.as_ref().map_or(config.rate, Rates::mean),
                    overhead: config.overhead,
                };
                let queue = discipline.build(environment);
                (droptail::Config::default(), Some(Box::new(Line::new(queue))))
            }
        };
        let kind = if line.is_some() || config.repair.is_some() {
            Kind::DecidesAtDeparture
        } else if changes.is_some() || !config.channel.iter().all(Model::only_loses) {
            Kind::DecidesAtArrival
        } else if config.channel.is_empty() {
            Kind::Plain
        } else {
            Kind::Loses
        };
        Self {
            kind,
            leads: false,
            awaits: false,
            has_waited: false,
            coupling: PackedCoupling::new(Coupling::None),
            by_event: Time::ZERO,
            line,
            transmitter: Transmitter::new(config.rate, rates, config.overhead, room.limits()),
            delay: config.delay,
            delay_line: DelayLine::new(),
            repairs: config.repair.map(|repair| Box::new(Repairs::new(&repair, config.delay))),
            counts: Counts::default(),
            rare: (!channels.is_empty()).then(|| Box::new(Rare { channels, ..Rare::default() })),
            next_change: changes.as_ref().map_or(Time::NEVER, |changes| changes.next()),
            changes,
        }
    }

    /// Handles the arrival of a packet at the near end.
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) -> Entry {
        let plain = PlainPacket { id: packet.id, bytes: packet.frame.bytes };
        if self.is_plain() {
            return self.handle_plain(now, plain);
        }
        if self.is_plain_but_lossy() {
            return self.handle_losing(now, plain, &packet.frame);
        }
        if !self.decides_at_arrival() {
            self.counts.packets_in += 1;
            return self.enqueue(now, packet);
        }
        match self.admit(now, packet.frame.bytes) {
            Some(end) => self.go(end, packet),
            None => Entry::QueueFull,
        }
    }

    /// True if nothing happens to packets except waiting in a droptail queue, transmission and a
    /// constant delay, so that [`Self::handle_plain`] may be used.
    #[inline]
    pub const fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Plain)
    }

    /// True if the pipe is like a plain one, except that its channel may lose packets, so that
    /// [`Self::handle_losing`] may be used.
    #[inline]
    pub const fn is_plain_but_lossy(&self) -> bool {
        matches!(self.kind, Kind::Loses)
    }

    /// True if a packet's fate is determined at arrival.
    #[inline]
    const fn decides_at_arrival(&self) -> bool {
        !matches!(self.kind, Kind::DecidesAtDeparture)
    }

    /// Current propagation delay.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Transmission time of a packet of `bytes`; 0 if the rate is not constant.
    pub fn transmission_time(&self, bytes: u32) -> Duration {
        self.transmitter.transmission_time(bytes)
    }

    /// Handles a packet that arrives at a plain pipe, the most common kind.
    #[inline(always)]
    pub fn handle_plain(&mut self, now: Time, plain: PlainPacket) -> Entry {
        let Some(end) = self.admit(now, plain.bytes) else { return Entry::QueueFull };
        self.delay_line.append(later(end, self.delay), plain);
        Entry::Accepted
    }

    /// Handles a packet that arrives at a pipe that has no followers and a channel that may lose
    /// the packet ([`Self::is_plain_but_lossy`]).
    #[inline(always)]
    pub fn handle_losing(&mut self, now: Time, plain: PlainPacket, frame: &Frame) -> Entry {
        let Some(end) = self.admit(now, plain.bytes) else { return Entry::QueueFull };
        match self.draw_loss(end, frame) {
            None => self.delay_line.append(later(end, self.delay), plain),
            Some(reason) => self.delay_line.insert_loss(end, plain.id, reason),
        }
        Entry::Accepted
    }

    /// Admits a packet of `bytes`; returns the end of its transmission, or `None` if the queue is
    /// full.
    #[inline(always)]
    fn admit(&mut self, now: Time, bytes: u32) -> Option<Time> {
        self.counts.packets_in += 1;
        let end = self.transmitter.admit(now, bytes, &mut self.has_waited);
        if end.is_none() {
            self.count_queue_drop();
        }
        end
    }

    /// Applies the scheduled changes due by `end`.
    #[inline]
    fn apply_changes(&mut self, end: Time) {
        // A frame's fate is decided by the channel at the end of its transmission.
        if end >= self.next_change {
            self.apply_due_changes(end);
        }
    }

    /// Sends a packet whose transmission ends at `end`: determines its fate and arrival.
    fn go(&mut self, end: Time, packet: &Packet) -> Entry {
        self.apply_changes(end);
        if self.rare.as_ref().is_none_or(|rare| rare.channels.is_empty()) {
            self.delay_line.insert_in_order(later(end, self.delay), packet.id);
            return Entry::Accepted;
        }
        self.pass_channels(end, packet)
    }

    /// Departure time of the next packet; [`Time::NEVER`] if the pipe is empty.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        let leaving = self.delay_line.next();
        // A pipe that does not decide at arrival has another event: the next start of a
        // transmission.
        if self.decides_at_arrival() { leaving } else { leaving.min(self.next_begin()) }
    }

    /// Removes and returns the next packet that has left by `now`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Departure> {
        match self.poll_plain(now) {
            Some(PlainPacket { id, .. }) => Some(Departure::Delivered { id }),
            None => self.poll_exceptions(now),
        }
    }

    /// Fast variant of [`Self::poll_transmit`] for a pipe in which no packet is lost or held back;
    /// returns `None` for any other pipe.
    #[inline]
    pub fn poll_plain(&mut self, now: Time) -> Option<PlainPacket> {
        if !self.is_plain() && (!self.decides_at_arrival() || self.delay_line.has_exceptions()) {
            return None;
        }
        let plain = self.delay_line.pop_plain(now)?;
        self.counts.delivered += 1;
        Some(plain)
    }

    #[inline(never)]
    fn poll_exceptions(&mut self, now: Time) -> Option<Departure> {
        if !self.decides_at_arrival()
            && let Some(departure) = self.start_due_transmission(now)
        {
            return Some(departure);
        }
        let departure = self.delay_line.pop(now)?;
        match departure {
            Departure::Lost { reason, .. } => {
                let drops = &mut self.rare_mut().exceptions.drops;
                match reason {
                    // A policer is modelled as a channel, so both are counted together; tables
                    // state the reason of each drop.
                    Reason::Channel | Reason::Policer => drops.channel += 1,
                    Reason::Script { .. } => drops.script += 1,
                    Reason::RetryLimit => drops.retry_limit += 1,
                }
            }
            _ => self.counts.delivered += 1,
        }
        Some(departure)
    }

    /// Resets the maxima of queue length and burst length, so that later statistics report the
    /// maxima from `now` on.
    pub fn restart_maximum(&mut self, now: Time) {
        let future = self.transmitter.restart_maximum(now);
        // Packets that have passed this pipe ahead of time, but arrive after the reset, are
        // included in the new maximum.
        if !future.is_empty() || self.rare.is_some() {
            self.rare_mut().future_queues = future;
        }
        self.line.iter_mut().for_each(|line| line.restart_maximum());
        self.repairs.iter_mut().for_each(|repairs| repairs.restart_maximum());
        self.rare.iter_mut().for_each(|rare| rare.exceptions.bursts.restart_maximum());
    }
}
