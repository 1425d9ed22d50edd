//! Fast path: one event for a data frame that nobody disturbs, and one for its acknowledgment.
//!
//! *Preconditions.* All stations hear each other, and no channel model delays packets. No frame is
//! on the air or awaited, and the backoff of exactly one station ends first. Then the time line of
//! the exchange is known: from its start to the end of the ACK the medium is busy or reserved for
//! every station, so a packet that arrives meanwhile only draws a backoff. A frame that needs an
//! RTS, a collision, and a data frame or ACK that the channel loses are left to the general code.
//!
//! *Why it is exact.* The start of the data frame and that of the ACK have no effect outside the
//! cell. The first is made up for at the next event or arrival ([`Cell::settle`]), with its own
//! time. The second only interrupts waiting stations within the interframe space, so their slots
//! and random draws do not change. A test compares random cells with and without this path.

use super::Cell;
use super::exchange::{Kind, Transmission};
use super::station::{Activity, NOBODY};
use retx_units::{Duration, Time};

/// Undisturbed data frame and its ACK.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// Station that sends the data frame.
    station: u16,
    progress: Progress,
}

/// Progress of an exchange.
#[derive(Debug, Clone, Copy)]
enum Progress {
    /// The data frame begins at this time, unless a packet arrives before.
    Planned(Time),
    /// The data frame is on the air.
    Sending,
    /// The data frame has been received; its ACK begins at this time.
    Acknowledging(Time),
}

impl Cell {
    /// Enables the fast path, if the cell permits it.
    pub fn enable_fast_path(&mut self) {
        self.uses_fast_path = self.reach.is_complete() && self.delayed.is_none();
    }

    /// Brings the cell up to date: a data frame that has begun before `now` is on the air.
    /// `inclusive` is true if the events of the cell at `now` precede what the caller does.
    #[inline]
    pub fn settle(&mut self, now: Time, inclusive: bool) {
        if let Some(Exchange { station, progress: Progress::Planned(start) }) = self.exchange
            && (start < now || inclusive && start == now)
        {
            self.start_exchange(start, station);
        }
    }

    /// Plans the next exchange, if nothing can disturb it; called when nothing happens before
    /// `next`, the earliest deadline.
    pub(super) fn plan_exchange(&mut self) {
        self.exchange = None;
        if !self.uses_fast_path || self.next == Time::NEVER {
            return;
        }
        let start = self.next;
        let mut starting = None;
        for (station, (due, radio)) in self.dues.iter().zip(&self.radios).enumerate() {
            if radio.activity != Activity::Contending {
                return;
            }
            if *due == start && starting.replace(station as u16).is_some() {
                return;
            }
        }
        let Some(station) = starting else { return };
        let head = self.head(station);
        let end = start + self.data_time(head.frame.bytes) + self.parameters.propagation;
        // A new rate applies to the ACK, too, if it comes before the ACK.
        let changes = self.rates.last().is_some_and(|(at, _)| *at <= end + self.parameters.sifs);
        if changes || self.is_announced(&head) {
            return;
        }
        self.exchange = Some(Exchange { station, progress: Progress::Planned(start) });
        self.next = end;
    }

    /// Plans again after a station has begun to contend.
    pub(super) fn plan_with(&mut self, station: u16) {
        match self.exchange {
            None => {
                self.next = self.next.min(self.dues[usize::from(station)]);
                self.plan_exchange();
            }
            Some(Exchange { progress: Progress::Planned(start), .. }) => {
                let due = self.dues[usize::from(station)];
                if due <= start {
                    self.next = due;
                    self.plan_exchange();
                }
            }
            // The station waits until the exchange is over.
            Some(_) => {}
        }
    }

    fn start_exchange(&mut self, now: Time, station: u16) {
        self.begin_transmission(now, station);
        self.notify_start(now, station);
        self.exchange = Some(Exchange { station, progress: Progress::Sending });
    }

    /// Handles the end of the data frame, or of the ACK, of an exchange.
    pub(super) fn advance_exchange(&mut self, now: Time, exchange: Exchange) {
        let Exchange { station, progress } = exchange;
        match progress {
            Progress::Planned(start) => {
                self.start_exchange(start, station);
                self.end_data(now, station);
            }
            Progress::Sending => self.end_data(now, station),
            Progress::Acknowledging(start) => self.end_exchange(now, station, start),
        }
    }

    /// Handles the end of the data frame.
    fn end_data(&mut self, now: Time, station: u16) {
        self.exchange = None;
        let frame = self.on_air[usize::from(station)];
        let spared = self.fate(now, station, &frame);
        let start = now + self.parameters.sifs;
        let end = start + self.times.ack + self.parameters.propagation;
        if let Some(after) = spared {
            let mut ack = Transmission::new(station, Kind::Ack, Duration::ZERO);
            ack.rate = self.control_rate;
            let fate = self.fate(end, frame.to, &ack);
            if fate.is_some() {
                self.count_transmission_end(now);
                self.arrive(now, (station, frame.to), after);
                self.count_ended(station, (Kind::Data, frame.airtime), true);
                let progress = Progress::Acknowledging(start);
                self.exchange = Some(Exchange { station, progress });
                self.next = end;
                return;
            }
            self.ack_fate = Some(fate);
        }
        self.end_with(now, station, spared);
        self.find_next();
    }

    /// Handles the end of the ACK. All stations have heard both frames.
    fn end_exchange(&mut self, now: Time, station: u16, ack_start: Time) {
        let frame = self.on_air[usize::from(station)];
        self.busy.total += now.since(ack_start);
        for (index, radio) in (0..).zip(&mut self.radios) {
            radio.sensed = 0;
            radio.noise = 0;
            radio.receiving_from = NOBODY;
            radio.eifs = false;
            radio.activity = Activity::Contending;
            radio.idle_since = now;
            if index == station {
                radio.confirm_nav(ack_start);
            } else if index != frame.to {
                // The reservation by the data frame ends with the ACK at the latest.
                radio.update_nav(now, Time::NEVER);
            }
        }
        self.senders[usize::from(frame.to)].counters.airtime.ack += self.times.ack;
        self.finish_packet(now, station);
        self.next = Time::NEVER;
        for index in 0..self.radios.len() {
            self.schedule_transmission(now, index);
            self.next = self.next.min(self.dues[index]);
        }
        self.plan_exchange();
    }

    /// Airtime of a current ACK up to `now`.
    pub(super) fn ack_time(&self, now: Time) -> Duration {
        match self.exchange {
            Some(Exchange { progress: Progress::Acknowledging(start), .. }) => now.since(start),
            _ => Duration::ZERO,
        }
    }
}
