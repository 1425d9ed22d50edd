//! Station: radio, channel access and queue.

use super::line::Line;
use super::statistics::Counters;
use crate::channel::Frame;
use crate::queue::Exits;
use crate::stage::Packet;
use retx_units::{Stream, Time};

/// No station.
pub(super) const NOBODY: u16 = u16::MAX;

/// Activities of a station besides listening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Idle or contending.
    Contending,
    /// Waiting for SIFS before a response.
    Responding,
    /// Transmitting.
    Transmitting,
    /// Waiting for an ACK or CTS.
    Awaiting,
}

/// State of channel access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// No backoff pending.
    Free,
    /// A packet arrived while the medium was idle; it waits for the interframe space.
    Fresh,
    /// Remaining number of idle slots.
    Backoff(u32),
}

/// Radio state and transmission time of a station. Kept small, because every transmission visits
/// the radios of all stations in reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct Radio {
    /// Start of the current idle time of the medium, if idle.
    pub idle_since: Time,
    /// Network allocation vector: end of the reservation.
    nav: Time,
    /// Earlier end of a reservation by RTS, in force if no frame has begun by that time.
    nav_in_vain: Time,
    /// Slots count from this time at the earliest.
    pub not_before: Time,
    pub access: Access,
    /// Number of transmissions sensed.
    pub sensed: u16,
    /// Number of transmissions that disturb reception.
    pub noise: u16,
    /// Station whose frame is being received.
    pub lock: u16,
    /// True if the frame being received is undamaged so far.
    pub whole: bool,
    /// True if the last frame heard was damaged: EIFS instead of DIFS.
    pub eifs: bool,
    pub activity: Activity,
    /// True if a packet is in service.
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

    /// End of the reservation if no frame begins until then.
    #[inline]
    pub fn reserved_until(&self) -> Time {
        self.nav.min(self.nav_in_vain)
    }

    /// Extends the reservation; one made by an RTS lapses at `in_vain` if no frame begins.
    #[inline]
    pub fn reserve(&mut self, until: Time, in_vain: Time) {
        if until > self.reserved_until() {
            self.nav = until;
            self.nav_in_vain = in_vain;
        }
    }

    /// Handles the start of a frame: confirms the reservation of an earlier RTS, or drops it if it
    /// has lapsed.
    #[inline]
    pub fn keep_nav(&mut self, now: Time) {
        if self.nav_in_vain < now {
            self.nav = self.reserved_until();
        }
        self.nav_in_vain = Time::NEVER;
    }

    /// Physical carrier sense, own transmission included.
    #[inline]
    pub fn is_occupied(&self) -> bool {
        self.sensed > 0 || self.activity == Activity::Transmitting
    }
}

/// Packet in service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub id: u32,
    pub to: u16,
    pub frame: Frame,
    /// True if the next station has received it.
    pub delivered: bool,
    /// True if the last attempt was received intact.
    pub arrived: bool,
    /// Attempts so far.
    pub attempts: u32,
    /// Station short retry count of this packet.
    pub short_retries: u32,
    /// Station long retry count of this packet.
    pub long_retries: u32,
}

/// Queue, contention window and counters of a station.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    pub cw: u32,
    pub head: Option<Head>,
    pub stream: Stream,
    pub counters: Counters,
    pub line: Line,
    /// Packets dropped by the queue whose drop the caller has not collected yet.
    pub unreported_drops: u64,
    /// Packets received and not yet forwarded.
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
            unreported_drops: 0,
            late: 0,
        }
    }

    /// Admits a packet to service or to the queue; false if the queue is full.
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

    /// Ends the service of a packet; the next takes its place.
    pub fn advance(&mut self, now: Time, exits: &mut Exits) -> Head {
        let done = self.head.take().expect("a packet is in service");
        self.head = self.line.dequeue(now, exits);
        done
    }

    /// Draws a number of slots, uniform in 0 … CW (IEEE 802.11-1999 §9.2.4).
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
