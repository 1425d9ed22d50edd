//! One station: what its radio hears, when it may send, and what it sends.

use super::statistics::Counters;
use crate::channel::Frame;
use crate::queue::{Occupancy, droptail};
use retx_units::{Stream, Time};
use std::collections::VecDeque;

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
    pub nav: Time,
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

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    id: u32,
    to: u16,
    frame: Frame,
    since: Time,
}

/// A station's line of packets, its contention window, its books.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    pub cw: u32,
    pub head: Option<Head>,
    pub stream: Stream,
    pub counters: Counters,
    room: droptail::Limits,
    line: VecDeque<Waiting>,
    line_bytes: u64,
    waited: u128,
    queue_max: u64,
}

impl Sender {
    pub fn new(queue: &droptail::Config, stream: Stream, cw_min: u32) -> Self {
        Self {
            cw: cw_min,
            head: None,
            stream,
            counters: Counters::default(),
            room: queue.limits(),
            line: VecDeque::new(),
            line_bytes: 0,
            waited: 0,
            queue_max: 0,
        }
    }

    /// A packet comes: into service, or into the line. False when the queue is full.
    pub fn admit(&mut self, now: Time, id: u32, to: u16, frame: Frame) -> bool {
        self.counters.packets_in += 1;
        if self.head.is_none() {
            self.head = Some(Head::new(id, to, frame));
            return true;
        }
        let waiting = Occupancy { packets: self.line.len() as u64, bytes: self.line_bytes };
        if !self.room.admits(waiting, frame.bytes) {
            self.counters.dropped_by_queue += 1;
            return false;
        }
        self.line.push_back(Waiting { id, to, frame, since: now });
        self.line_bytes += u64::from(frame.bytes);
        self.queue_max = self.queue_max.max(self.line.len() as u64);
        true
    }

    /// The packet in service is done with; the next takes its place.
    pub fn advance(&mut self, now: Time) -> Head {
        let done = self.head.take().expect("a packet is in service");
        if let Some(next) = self.line.pop_front() {
            self.line_bytes -= u64::from(next.frame.bytes);
            self.waited += u128::from(now.since(next.since).as_nanos());
            self.head = Some(Head::new(next.id, next.to, next.frame));
        }
        done
    }

    /// A number of slots, uniform in 0 … CW (IEEE 802.11-1999 §9.2.4).
    pub fn draw(&mut self) -> u32 {
        self.stream.below(u64::from(self.cw) + 1) as u32
    }

    pub fn queued(&self) -> u64 {
        self.line.len() as u64
    }

    pub fn waited(&self, now: Time) -> u128 {
        let still = self.line.iter().map(|it| u128::from(now.since(it.since).as_nanos()));
        self.waited + still.sum::<u128>()
    }

    pub const fn queue_max(&self) -> u64 {
        self.queue_max
    }

    pub fn restart_maxima(&mut self) {
        self.queue_max = self.line.len() as u64;
        self.counters.error_bursts.restart();
        self.counters.loss_bursts.restart();
    }
}

impl Head {
    const fn new(id: u32, to: u16, frame: Frame) -> Self {
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
