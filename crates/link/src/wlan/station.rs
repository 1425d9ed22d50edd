//! One station: what its radio hears, when it may send, and what it sends.

use super::line::Line;
use super::statistics::Counters;
use crate::channel::Frame;
use crate::queue::Exits;
use crate::stage::Packet;
use retx_units::{Stream, Time};

/// No station.
pub(super) const NOBODY: u16 = u16::MAX;

/// What a station is doing beside listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Nothing, or waiting for its turn.
    Contending,
    /// It will send what has to be sent a SIFS after what it has received.
    Responding,
    /// It is on the air.
    Transmitting,
    /// It waits for an ACK or a CTS.
    Awaiting,
}

/// How a station comes to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// No backoff is left to be done.
    Free,
    /// A packet that came while the medium was idle waits until it has been idle for long enough.
    Fresh,
    /// So many idle slots have to pass.
    Backoff(u32),
}

/// What a station hears, and when it is its turn: small, as every transmission looks at the radios
/// of all who hear it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Radio {
    /// The medium has been idle here since then, if it is.
    pub idle_since: Time,
    /// The network allocation vector: the medium is reserved until then.
    nav: Time,
    /// The reservation of an RTS ends then already, if no frame has begun until then.
    nav_in_vain: Time,
    /// Slots count from here at the earliest.
    pub not_before: Time,
    pub access: Access,
    /// Transmissions that it senses.
    pub sensed: u16,
    /// Transmissions that spoil what it receives.
    pub noise: u16,
    /// The station whose frame it is receiving.
    pub lock: u16,
    /// What it is receiving is whole so far.
    pub whole: bool,
    /// The last frame that it heard was not whole: EIFS instead of DIFS.
    pub eifs: bool,
    pub activity: Activity,
    /// It has a packet to send.
    pub wants: bool,
}

impl Radio {
    pub const fn new() -> Self {
        Self {
            idle_since: Time::ZERO,
            nav: Time::ZERO,
            nav_in_vain: Time::NEVER,
            not_before: Time::ZERO,
            access: Access::Free,
            sensed: 0,
            noise: 0,
            lock: NOBODY,
            whole: false,
            eifs: false,
            activity: Activity::Contending,
            wants: false,
        }
    }

    /// The medium is reserved until then, if no frame begins before.
    #[inline]
    pub fn reserved_until(&self) -> Time {
        self.nav.min(self.nav_in_vain)
    }

    /// A frame reserves the medium; what an RTS reserves may be in vain from some instant on.
    #[inline]
    pub fn reserve(&mut self, until: Time, in_vain: Time) {
        if until > self.reserved_until() {
            self.nav = until;
            self.nav_in_vain = in_vain;
        }
    }

    /// A frame begins: an RTS from before was not in vain, or it was and has reserved nothing.
    #[inline]
    pub fn keep_nav(&mut self, now: Time) {
        if self.nav_in_vain < now {
            self.nav = self.reserved_until();
        }
        self.nav_in_vain = Time::NEVER;
    }

    /// Physical carrier sense, its own transmission included.
    #[inline]
    pub fn is_occupied(&self) -> bool {
        self.sensed > 0 || self.activity == Activity::Transmitting
    }
}

/// The packet in service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub id: u32,
    pub to: u16,
    pub frame: Frame,
    /// The next station has got it.
    pub delivered: bool,
    /// The receiver of the last attempt got it whole.
    pub arrived: bool,
    /// Attempts so far.
    pub attempts: u32,
    /// Station short retry count of this packet.
    pub short_retries: u32,
    /// Station long retry count of this packet.
    pub long_retries: u32,
}

/// A station's line of packets, its contention window, its books.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    pub cw: u32,
    pub head: Option<Head>,
    pub stream: Stream,
    pub counters: Counters,
    pub line: Line,
    /// Packets that the queue has dropped, and nobody has taken note.
    pub untold: u64,
    /// Packets that have come and are not yet handed on.
    pub late: u64,
}

impl Sender {
    pub fn new(line: Line, stream: Stream, cw_min: u32) -> Self {
        Self {
            cw: cw_min,
            head: None,
            stream,
            counters: Counters::default(),
            line,
            untold: 0,
            late: 0,
        }
    }

    /// A packet comes: into service, or into the line. False when the queue turns it away.
    pub fn admit(&mut self, now: Time, to: u16, packet: &Packet, exits: &mut Exits) -> bool {
        self.counters.packets_in += 1;
        if self.head.is_none() && self.line.lets_pass() {
            self.head = Some(Head::new(packet.id, to, packet.frame));
            return true;
        }
        if !self.line.enqueue(now, to, packet, exits) {
            self.counters.dropped_by_queue += 1;
            return false;
        }
        if self.head.is_none() {
            self.head = self.line.dequeue(now, exits);
        }
        self.line.remember_longest();
        true
    }

    /// The packet in service is done with; the next takes its place.
    pub fn advance(&mut self, now: Time, exits: &mut Exits) -> Head {
        let done = self.head.take().expect("a packet is in service");
        self.head = self.line.dequeue(now, exits);
        done
    }

    /// A number of slots, uniform in 0 … CW (IEEE 802.11-1999 §9.2.4).
    pub fn draw(&mut self) -> u32 {
        self.stream.below(u64::from(self.cw) + 1) as u32
    }

    pub fn restart_maxima(&mut self) {
        self.line.restart_maximum();
        self.counters.attempts.most = 0;
        self.counters.error_bursts.restart();
        self.counters.loss_bursts.restart();
        self.counters.channel_bursts.restart();
    }
}

impl Head {
    pub const fn new(id: u32, to: u16, frame: Frame) -> Self {
        Self {
            id,
            to,
            frame,
            delivered: false,
            arrived: false,
            attempts: 0,
            short_retries: 0,
            long_retries: 0,
        }
    }
}
