//! Fast path: one event for a data frame that nobody disturbs, and for its acknowledgment.
//!
//! *Preconditions.* All stations hear each other, and no channel model delays packets. No frame is
//! on the air or awaited, and the backoff of exactly one station ends first. Then the time line of
//! the exchange is known: from its start to the end of the ACK the medium is busy or reserved for
//! every station, so a packet that arrives meanwhile only draws a backoff. A frame that needs an
//! RTS, a collision, and a data frame or ACK that the channel loses are left to the general code.
//!
//! *How.* Of an exchange, only the end of the data frame has an effect outside the cell. When it
//! ends, the backoff of its sender after the ACK is drawn, and thus the end of the next data frame
//! is known, unless packets arrive before it begins. The cell is woken then. What happens in
//! between is made up for at the next event or arrival ([`Cell::advance_to`]), with its own time.
//!
//! *Why it is exact.* Each station draws from a random stream of its own, and the same numbers in
//! the same order. A test compares random cells with and without this path.

use super::Cell;
use super::access::whole_slots;
use super::exchange::{Kind, Transmission};
use super::station::{Access, Activity, NOBODY};
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
    /// The data frame has been received.
    Acknowledging(Acknowledgment),
}

/// ACK of an exchange.
#[derive(Debug, Clone, Copy)]
struct Acknowledgment {
    start: Time,
    end: Time,
    /// Number of slots for which the sender of the data backs off afterwards.
    backoff: u32,
}

impl Cell {
    /// Enables the fast path, if the cell permits it.
    pub fn enable_fast_path(&mut self) {
        self.uses_fast_path = self.reach.is_complete() && self.delayed.is_none();
    }

    /// Brings the cell up to date with everything before `now`. `inclusive` is true if the events
    /// of the cell at `now` precede what the caller does.
    #[inline]
    pub fn advance_to(&mut self, now: Time, inclusive: bool) {
        while let Some(Exchange { station, progress }) = self.exchange {
            let due = match progress {
                Progress::Planned(start) => start,
                Progress::Acknowledging(ack) => ack.end,
                Progress::Sending => break,
            };
            if due > now || due == now && !inclusive {
                break;
            }
            match progress {
                Progress::Acknowledging(ack) => self.end_exchange(station, &ack),
                _ => self.start_exchange(due, station),
            }
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
        if let Some(station) = starting {
            self.plan_start(start, station);
        }
    }

    /// Plans the exchange that a station begins at `start`, if its data frame needs no RTS.
    fn plan_start(&mut self, start: Time, station: u16) {
        if let Some(end) = self.undisturbed_end(start, self.head(station).frame.bytes) {
            self.exchange = Some(Exchange { station, progress: Progress::Planned(start) });
            self.next = end;
        }
    }

    /// End of a data frame with a packet of `bytes` that begins at `start`; `None` if it needs an
    /// RTS, or if the rate changes before its ACK.
    fn undisturbed_end(&mut self, start: Time, bytes: u32) -> Option<Time> {
        let end = start + self.data_time(bytes) + self.parameters.propagation;
        let changes = self.rates.last().is_some_and(|(at, _)| *at <= end + self.parameters.sifs);
        (!changes && !self.is_announced(bytes)).then_some(end)
    }

    /// Plans again after a packet has arrived at a station; `begins` is true if the station begins
    /// to contend.
    pub(super) fn plan_with(&mut self, station: u16, begins: bool) {
        match self.exchange.map(|exchange| (exchange.station, exchange.progress)) {
            // A packet that waits behind others changes nothing.
            Some((sender, Progress::Acknowledging(ack))) => {
                let waits = self.senders[usize::from(sender)].line.queue_length();
                if begins || station == sender && waits == 1 {
                    self.expect_next(sender, &ack);
                }
            }
            Some((_, Progress::Sending)) => {}
            planned if begins => {
                let before = match planned {
                    Some((_, Progress::Planned(start))) => start,
                    _ => self.next,
                };
                self.next = before.min(self.dues[usize::from(station)]);
                self.plan_exchange();
            }
            _ => {}
        }
    }

    fn start_exchange(&mut self, now: Time, station: u16) {
        self.begin_transmission(now, station);
        self.notify_start_of_exchange(now, station);
        self.exchange = Some(Exchange { station, progress: Progress::Sending });
    }

    /// Has the effects of [`Self::notify_start`] if all stations hear each other and the medium was
    /// idle: then each station begins to receive the frame.
    fn notify_start_of_exchange(&mut self, now: Time, station: u16) {
        // The idle slots of most stations begin at the same time, so that their number is computed
        // once.
        let mut known = (Time::NEVER, 0);
        let Self { radios, dues, senders, parameters, .. } = self;
        for (index, (radio, due)) in radios.iter_mut().zip(dues).enumerate() {
            if index == usize::from(station) {
                continue;
            }
            if let Access::Backoff(slots) = radio.access {
                let start = radio.slots_start(parameters);
                if known.0 != start {
                    known = (start, whole_slots(now.since(start), parameters.slot));
                }
                radio.suspend_backoff(slots, known.1);
            } else if radio.access == Access::Fresh {
                radio.access = Access::Backoff(senders[index].draw_backoff());
            }
            *due = Time::NEVER;
            radio.begin_reception(now, station);
        }
    }

    /// Handles the event of an exchange: the end of its data frame, or that of its ACK if the next
    /// data frame is not known before.
    pub(super) fn advance_exchange(&mut self, now: Time, exchange: Exchange) {
        match exchange.progress {
            Progress::Acknowledging(ack) => self.end_exchange(exchange.station, &ack),
            _ => self.end_data(now, exchange.station),
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
                let backoff = self.draw_next_backoff(station);
                let ack = Acknowledgment { start, end, backoff };
                let progress = Progress::Acknowledging(ack);
                self.exchange = Some(Exchange { station, progress });
                return self.expect_next(station, &ack);
            }
            self.ack_fate = Some(fate);
        }
        self.end_with(now, station, spared);
        self.find_next();
    }

    /// Sets `next` to the end of the data frame after this ACK, or to an earlier time if that is
    /// not known.
    fn expect_next(&mut self, station: u16, ack: &Acknowledgment) {
        self.next = ack.end;
        let Some(waiting) = self.senders[usize::from(station)].line.next() else { return };
        let waiting = waiting.map(|packet| packet.frame.bytes);
        // The station whose backoff ends first; `NOBODY` if there are several.
        let (mut least, mut first) = (u32::MAX, NOBODY);
        for (index, radio) in (0..).zip(&self.radios) {
            let slots = match radio.access {
                _ if radio.nav() > ack.end => return,
                _ if index == station && waiting.is_some() => ack.backoff,
                _ if index == station || !radio.has_packet => continue,
                Access::Backoff(slots) => slots,
                Access::Free | Access::Fresh => return,
            };
            if slots <= least {
                first = if slots < least { index } else { NOBODY };
                least = slots;
            }
        }
        self.next = Time::NEVER;
        if least < u32::MAX {
            let start = ack.end + self.parameters.difs + self.parameters.slot * u64::from(least);
            let bytes = match first {
                NOBODY => None,
                _ if first == station => waiting,
                _ => Some(self.head(first).frame.bytes),
            };
            let end = bytes.and_then(|bytes| self.undisturbed_end(start, bytes));
            self.next = end.unwrap_or(start);
        }
    }

    /// Handles the end of the ACK. All stations have heard both frames.
    fn end_exchange(&mut self, station: u16, ack: &Acknowledgment) {
        let now = ack.end;
        let to = self.on_air[usize::from(station)].to;
        self.busy.total += now.since(ack.start);
        self.senders[usize::from(to)].counters.airtime.ack += self.times.ack;
        self.finish_and_back_off(now, station, ack.backoff);
        // The station whose backoff ends first; `NOBODY` if there are several.
        let (mut next, mut first) = (Time::NEVER, NOBODY);
        let Self { radios, dues, parameters, .. } = self;
        for (index, (radio, due)) in (0..).zip(radios.iter_mut().zip(dues)) {
            radio.be_idle_since(now);
            if index == station {
                radio.confirm_nav(ack.start);
            } else if index != to {
                // The reservation by the data frame ends with the ACK at the latest.
                radio.update_nav(now, Time::NEVER);
            }
            *due = radio.transmission_start(now, parameters);
            if *due <= next {
                first = if *due < next { index } else { NOBODY };
                next = *due;
            }
        }
        self.next = next;
        self.exchange = None;
        if first != NOBODY && next != Time::NEVER {
            self.plan_start(next, first);
        }
    }

    /// Airtime of a current ACK up to `now`.
    pub(super) fn ack_time(&self, now: Time) -> Duration {
        match self.exchange {
            Some(Exchange { progress: Progress::Acknowledging(ack), .. }) => now.since(ack.start),
            _ => Duration::ZERO,
        }
    }
}
