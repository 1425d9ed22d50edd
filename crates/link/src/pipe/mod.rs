//! *What it does.* One direction of a link: queue → rate → channel → propagation delay.
//!
//! A first-in-first-out transmitter needs no event when a transmission ends: at a packet's arrival
//! its service starts at `max(now, busy_until)`, which settles when it ends, what the channel does
//! to it, and when it reaches the far end. So a pipe has one thing to wait for at any time, the
//! first of the packets in it to come out ([`Pipe::poll_timeout`]).
//!
//! That is so for `droptail`. Other disciplines hold the packets that wait, as they decide when
//! these leave; then the end of a transmission is waited for, too, as long as packets wait for it.
//!
//! What the channel loses leaves the pipe when its transmission ends, never before: the counters
//! hold at every instant, and packets in + copies = delivered + dropped + queued + in the air.
//!
//! *Order.* Frames arrive in the order of transmission, whatever their delays: one that was delayed
//! holds up those behind it, also when the propagation delay falls. Only a fate that says so
//! takes a frame out of line (`Fate::Stray`, `Fate::HoldBack`, copies).
//!
//! *A link that repairs* what its channel loses ([`repair`]) decides when a transmission begins;
//! then the pipe waits for the next transmission, too.
//!
//! *A pipe that only one other pipe feeds* may be passed ahead of time ([`ahead`]).
//!
//! *Rates that change* are known beforehand, by a schedule or a trace, so that the end of a
//! transmission still follows at arrival: it integrates the rate.

pub mod ahead;
mod air;
mod changes;
mod decide;
mod fate;
mod line;
mod prefetch;
mod rare;
pub mod repair;
mod statistics;
mod transmitter;
mod turn;

use crate::channel::{self, Frame, Model, Reason};
use crate::queue::{self, droptail};
pub use crate::rates::Rates;
pub use crate::stage::{Departure, Entry, Packet};
use crate::stage::{later, later_by};
use air::Air;
pub use air::Parcel;
pub use changes::Change;
use changes::Changes;
use line::Line;
use rare::Rare;
use repair::Repairs;
use retx_units::{Duration, Rate, StreamKey, Time};
pub use statistics::{Bursts, Drops, Statistics};
use std::fmt::Display;
use transmitter::Transmitter;

/// One direction of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Transmission rate; without one a packet takes no time to send, and none ever waits, unless a
    /// channel model says how the rate goes.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Bytes that a frame adds to the IP packet on the wire.
    pub overhead: u32,
    /// Who may wait for the transmitter.
    pub queue: queue::Config,
    /// What becomes of a frame: every model is asked in this order until one loses it.
    pub channel: Vec<channel::Config>,
    /// What the link does about frames that the channel loses. It takes models that only lose
    /// frames.
    pub repair: Option<repair::Config>,
    /// What changes as time goes, in order of time.
    pub changes: Vec<Change>,
}

/// A running direction of a link. What every packet needs lies in its first cache line, what those
/// need that wait in the second: a network of thousands of flows has more pipes than a cache holds.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Pipe {
    kind: Kind,
    /// Others follow it ([`ahead`]).
    leads: bool,
    /// One or some of the packets that it follows are yet to come by an event ([`ahead`]).
    awaits: bool,
    /// Packets have waited since the transmitter was last seen idle.
    has_waited: bool,
    /// The pipe that it follows, or what it feeds, or is fed by ([`ahead`]).
    relation: u32,
    delay: Duration,
    counts: Counts,
    transmitter: Transmitter,
    air: Air,
    /// The latest arrival of a packet that comes by an event ([`ahead`]).
    by_event: Time,
    rare: Option<Box<Rare>>,
    /// For disciplines that hold the packets.
    line: Option<Box<Line>>,
    repairs: Option<Box<Repairs>>,
    changes: Option<Box<Changes>>,
    next_change: Time,
}

/// When it is known what becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// At its arrival; and nothing happens in it but waiting, transmission and a constant delay.
    Plain,
    /// The same, but that its channel may lose the packet.
    Loses,
    /// At its arrival: it has neither `line` nor `repairs`.
    Settles,
    /// Later.
    Decides,
}

/// What a pipe counts as packets pass.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Those that entered at their time.
    packets_in: u64,
    /// Those that have passed ahead of time ([`ahead`]).
    passed: u64,
    delivered: u64,
}

const _: () = {
    let transmitter = std::mem::offset_of!(Pipe, transmitter);
    assert!(transmitter + Transmitter::HOT_BYTES == 64);
    assert!(transmitter + Transmitter::WARM_BYTES <= 128);
    // There are four for each flow with links of its own at both ends.
    assert!(size_of::<Pipe>() <= 256);
};

impl Pipe {
    /// An empty pipe. Its channels draw from the streams `NAME.channel.0`, `NAME.channel.1`, …, its
    /// queue from `NAME.queue`.
    pub fn new(config: &Config, key: StreamKey, name: impl Display) -> Self {
        let droptail = matches!(config.queue, queue::Config::droptail(_));
        assert!(droptail || config.repair.is_none(), "repairs go with droptail only");
        let rates = config.channel.iter().find_map(Model::rates);
        let rates = rates.or_else(|| changes::rates(config.rate, &config.changes));
        let later = config.changes.iter().filter_map(|change| change.channel.as_ref());
        let most = later.map(Vec::len).fold(config.channel.len(), usize::max);
        let stream = |index: usize| key.stream(&format!("{name}.channel.{index}"));
        let built = config.channel.iter().map(Model::build).enumerate();
        let channels: Vec<_> = built.map(|(index, model)| (model, stream(index))).collect();
        let changes = (!config.changes.is_empty()).then(|| {
            Box::new(Changes {
                to_come: config.changes.iter().rev().cloned().collect(),
                streams: (config.channel.len()..most).rev().map(stream).collect(),
            })
        });
        let (room, line) = match &config.queue {
            queue::Config::droptail(droptail) => (*droptail, None),
            discipline => {
                let surroundings = queue::Surroundings {
                    stream: key.stream(&format!("{name}.queue")),
                    rate: rates.as_ref().map_or(config.rate, Rates::mean),
                    overhead: config.overhead,
                };
                let queue = discipline.build(surroundings);
                (droptail::Config::default(), Some(Box::new(Line::new(queue))))
            }
        };
        let kind = if line.is_some() || config.repair.is_some() {
            Kind::Decides
        } else if changes.is_some() || !config.channel.iter().all(Model::only_loses) {
            Kind::Settles
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
            relation: ahead::NEITHER,
            by_event: Time::ZERO,
            line,
            transmitter: Transmitter::new(config.rate, rates, config.overhead, room.limits()),
            delay: config.delay,
            air: Air::new(),
            repairs: config.repair.map(|repair| Box::new(Repairs::new(&repair, config.delay))),
            counts: Counts::default(),
            rare: (!channels.is_empty()).then(|| Box::new(Rare { channels, ..Rare::default() })),
            next_change: changes.as_ref().map_or(Time::NEVER, |changes| changes.next()),
            changes,
        }
    }

    /// A packet arrives at the near end.
    pub fn handle_packet(&mut self, now: Time, packet: &Packet) -> Entry {
        let parcel = Parcel { id: packet.id, bytes: packet.frame.bytes };
        if self.is_plain() {
            return self.handle_plain(now, parcel);
        }
        if self.loses() {
            return self.handle_losing(now, parcel, &packet.frame);
        }
        if !self.settles() {
            self.counts.packets_in += 1;
            return self.join(now, packet);
        }
        match self.admit(now, packet.frame.bytes) {
            Some(end) => self.go(end, packet),
            None => Entry::QueueFull,
        }
    }

    /// True when nothing happens in it but waiting in a droptail queue, transmission and a constant
    /// delay: then [`Self::handle_plain`] will do.
    #[inline]
    pub const fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Plain)
    }

    /// True when the same happens in it, and its channel may lose packets: then
    /// [`Self::handle_losing`] will do.
    #[inline]
    pub const fn loses(&self) -> bool {
        matches!(self.kind, Kind::Loses)
    }

    /// True when all follows at a packet's arrival.
    #[inline]
    const fn settles(&self) -> bool {
        !matches!(self.kind, Kind::Decides)
    }

    /// The propagation delay, as it is now.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// How long the transmission of a packet of `bytes` takes, at a constant rate; else 0.
    pub fn transmission_time(&self, bytes: u32) -> Duration {
        self.transmitter.takes(bytes)
    }

    /// A packet arrives at the near end of a plain pipe. Nearly all pipes are.
    #[inline(always)]
    pub fn handle_plain(&mut self, now: Time, parcel: Parcel) -> Entry {
        let Some(end) = self.admit(now, parcel.bytes) else { return Entry::QueueFull };
        self.air.append(later(end, self.delay), parcel);
        Entry::Accepted
    }

    /// A packet arrives at the near end of a pipe that no other follows, whose channel may lose it.
    #[inline(always)]
    pub fn handle_losing(&mut self, now: Time, parcel: Parcel, frame: &Frame) -> Entry {
        let Some(end) = self.admit(now, parcel.bytes) else { return Entry::QueueFull };
        match self.loss(end, frame) {
            None => self.air.append(later(end, self.delay), parcel),
            Some(reason) => self.air.lose(end, parcel.id, reason),
        }
        Entry::Accepted
    }

    /// A packet of `bytes` arrives at a pipe that settles: when its transmission ends, if there is
    /// room for it.
    #[inline(always)]
    fn admit(&mut self, now: Time, bytes: u32) -> Option<Time> {
        self.counts.packets_in += 1;
        let end = self.transmitter.take(now, bytes, &mut self.has_waited);
        if end.is_none() {
            self.drop_for_lack_of_room();
        }
        end
    }

    /// What a schedule changes by `end` is changed.
    #[inline]
    fn settle_changes(&mut self, end: Time) {
        if end >= self.next_change {
            self.change(end);
        }
    }

    /// The packet's transmission ends at `end`: its fate and its arrival follow.
    fn go(&mut self, end: Time, packet: &Packet) -> Entry {
        self.settle_changes(end);
        if self.rare.as_ref().is_none_or(|rare| rare.channels.is_empty()) {
            self.air.send(later(end, self.delay), packet.id);
            return Entry::Accepted;
        }
        self.pass_channels(end, packet)
    }

    /// When the next packet leaves; [`Time::NEVER`] for an empty pipe.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        let leaving = self.air.next();
        if self.settles() { leaving } else { leaving.min(self.next_begin()) }
    }

    /// The next packet that has left by `now`, until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Departure> {
        match self.poll_plain(now) {
            Some(Parcel { id, .. }) => Some(Departure::Delivered { id }),
            None => self.poll_exceptions(now),
        }
    }

    /// The same, of those that are simply delivered while there are no others: nearly all.
    #[inline]
    pub fn poll_plain(&mut self, now: Time) -> Option<Parcel> {
        if !self.is_plain() && (!self.settles() || self.air.has_exceptions()) {
            return None;
        }
        let parcel = self.air.pop_in_line(now)?;
        self.counts.delivered += 1;
        Some(parcel)
    }

    #[inline(never)]
    fn poll_exceptions(&mut self, now: Time) -> Option<Departure> {
        if !self.settles()
            && let Some(departure) = self.begin_due(now)
        {
            return Some(departure);
        }
        let departure = self.air.pop(now)?;
        match departure {
            Departure::Lost { reason, .. } => {
                let drops = &mut self.rare().exceptions.drops;
                match reason {
                    Reason::Channel => drops.channel += 1,
                    Reason::Script { .. } => drops.script += 1,
                    Reason::RetryLimit => drops.retry_limit += 1,
                }
            }
            _ => self.counts.delivered += 1,
        }
        Some(departure)
    }

    /// Forgets the longest queue and the longest burst so far: the next statistics tell the longest
    /// from `now` on.
    pub fn restart_maximum(&mut self, now: Time) {
        let to_come = self.transmitter.restart_maximum(now);
        if !to_come.is_empty() || self.rare.is_some() {
            self.rare().queues_to_come = to_come;
        }
        self.line.iter_mut().for_each(|line| line.restart_maximum());
        self.repairs.iter_mut().for_each(|repairs| repairs.restart_maximum());
        self.rare.iter_mut().for_each(|rare| rare.exceptions.bursts.restart_maximum());
    }
}
