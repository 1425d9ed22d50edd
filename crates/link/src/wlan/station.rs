//! Station: radio, channel access and queue.

use super::line::Line;
use super::statistics::Counters;
use crate::channel::Frame;
use crate::queue::QueueActions;
use crate::stage::Packet;
use retx_units::{RandomStream, Time};

/// Value of a station index that stands for no station.
pub(super) const NOBODY: u16 = u16::MAX;

/// Activities of a station.
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
    /// No backoff is pending.
    Free,
    /// A packet arrived while the medium was idle; it waits for the interframe space.
    Fresh,
    /// Backoff, with the remaining number of idle slots.
    Backoff(u32),
}

/// State of a station's radio. It is small, because every transmission accesses the radios of all
/// stations in reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct Radio {
    /// Time since which the medium has been idle for the station; valid while it is idle.
    pub idle_since: Time,
    /// Network allocation vector (NAV): end of the reservation of the medium.
    nav: Time,
    /// Time by which a frame must begin after an RTS. Otherwise the reservation by the RTS ends at
    /// this time.
    nav_timeout: Time,
    /// Time before which idle slots do not reduce the backoff.
    pub not_before: Time,
    pub access: Access,
    /// Number of current transmissions that the station senses.
    pub sensed: u16,
    /// Number of current transmissions that disturb the station's reception.
    pub noise: u16,
    /// Station whose frame is being received; [`NOBODY`] if there is none.
    pub receiving_from: u16,
    /// True if the frame being received is undamaged so far.
    pub intact: bool,
    /// True if the last frame heard was damaged, so that EIFS applies instead of DIFS.
    pub eifs: bool,
    pub activity: Activity,
    /// True if a packet is in service.
    pub has_packet: bool,
}

impl Radio {
    pub const fn new() -> Self {
        Self {
            idle_since: Time::ZERO,
            nav: Time::ZERO,
            nav_timeout: Time::NEVER,
            not_before: Time::ZERO,
            access: Access::Free,
            sensed: 0,
            noise: 0,
            receiving_from: NOBODY,
            intact: false,
            eifs: false,
            activity: Activity::Contending,
            has_packet: false,
        }
    }

    /// End of the reservation, provided that no frame begins before it.
    #[inline]
    pub fn reserved_until(&self) -> Time {
        self.nav.min(self.nav_timeout)
    }

    /// End of the reservation, provided that a frame confirms it.
    pub const fn nav(&self) -> Time {
        self.nav
    }

    /// Extends the reservation to `until`. A reservation by an RTS lapses at `in_vain` unless a
    /// frame begins before then; for other frames `in_vain` is [`Time::NEVER`].
    #[inline]
    pub fn update_nav(&mut self, until: Time, in_vain: Time) {
        if until > self.reserved_until() {
            self.nav = until;
            self.nav_timeout = in_vain;
        }
    }

    /// Handles the start of a frame: confirms the reservation by an earlier RTS, or removes it if
    /// it has lapsed.
    #[inline]
    pub fn confirm_nav(&mut self, now: Time) {
        if self.nav_timeout < now {
            self.nav = self.reserved_until();
        }
        self.nav_timeout = Time::NEVER;
    }

    /// Suspends a backoff of this number of slots, after `passed` idle slots.
    #[inline]
    pub fn suspend_backoff(&mut self, slots: u32, passed: u32) {
        let left = slots.saturating_sub(passed);
        let is_over = left == 0 && !self.has_packet;
        self.access = if is_over { Access::Free } else { Access::Backoff(left) };
    }

    /// Begins to receive the only frame on the air.
    #[inline]
    pub fn begin_reception(&mut self, now: Time, from: u16) {
        self.sensed = 1;
        self.noise = 1;
        self.receiving_from = from;
        self.intact = true;
        self.confirm_nav(now);
    }

    /// Notes that the medium is idle from `now` on, after undamaged frames.
    #[inline]
    pub fn be_idle_since(&mut self, now: Time) {
        self.sensed = 0;
        self.noise = 0;
        self.receiving_from = NOBODY;
        self.eifs = false;
        self.activity = Activity::Contending;
        self.idle_since = now;
    }

    /// True if the medium is busy by physical carrier sense, or because the station itself
    /// transmits.
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
    /// True if the next station has received the packet.
    pub delivered: bool,
    /// True if the last attempt was received intact.
    pub arrived: bool,
    /// Number of data frames sent so far.
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
    pub backoff_stream: RandomStream,
    /// Next backoff, if it has been drawn already.
    pub drawn: Option<u32>,
    pub counters: Counters,
    pub line: Line,
    /// Number of packets that the queue has dropped and whose drops the caller has not fetched yet.
    pub unreported_drops: u64,
    /// Number of packets that the next station has received, and that a channel model still delays
    /// there.
    pub delayed: u64,
}

impl Sender {
    pub fn new(line: Line, backoff_stream: RandomStream, cw_min: u32) -> Self {
        Self {
            cw: cw_min,
            head: None,
            backoff_stream,
            drawn: None,
            counters: Counters::default(),
            line,
            unreported_drops: 0,
            delayed: 0,
        }
    }

    /// Admits a packet to service, or to the queue; false if the queue is full.
    pub fn admit(
        &mut self,
        now: Time,
        to: u16,
        packet: &Packet,
        actions: &mut QueueActions,
    ) -> bool {
        self.counters.packets_in += 1;
        if self.head.is_none() && self.line.may_be_bypassed() {
            self.head = Some(Head::new(packet.id, to, packet.frame));
            return true;
        }
        if !self.line.enqueue(now, to, packet, actions) {
            self.counters.dropped_by_queue += 1;
            return false;
        }
        if self.head.is_none() {
            self.head = self.line.dequeue(now, actions);
        }
        self.line.update_max_queue();
        true
    }

    /// Packet in service.
    #[inline]
    pub fn served(&mut self) -> &mut Head {
        self.head.as_mut().expect("a packet is in service")
    }

    /// Ends the service of a packet and begins that of the next one.
    #[inline]
    pub fn begin_next_packet(&mut self, now: Time, actions: &mut QueueActions) {
        self.head = self.line.dequeue(now, actions);
    }

    /// Counts a data frame that begins; returns its packet.
    #[inline]
    pub fn count_data_sent(&mut self) -> &Head {
        let head = self.head.as_mut().expect("a packet is in service");
        self.counters.frames_sent += 1;
        self.counters.retries += u64::from(head.attempts > 0);
        head.attempts = head.attempts.saturating_add(1);
        head.arrived = false;
        head
    }

    /// Draws a number of slots, uniform in 0 … CW (IEEE 802.11-1999 §9.2.4).
    #[inline]
    pub fn draw_backoff(&mut self) -> u32 {
        match self.drawn.take() {
            Some(slots) => slots,
            None => self.draw_backoff_from(self.cw),
        }
    }

    /// Draws a number of slots, uniform in 0 … `window`.
    #[inline]
    pub fn draw_backoff_from(&mut self, window: u32) -> u32 {
        self.backoff_stream.below(u64::from(window) + 1) as u32
    }

    pub fn restart_maxima(&mut self) {
        self.line.restart_maximum();
        self.counters.attempts.max_frames = 0;
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
