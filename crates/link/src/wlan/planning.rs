//! Plans of the next exchange ([`super::fast_path`]).

use super::Cell;
use super::fast_path::{Acknowledgment, Exchange, Progress};
use super::station::{Activity, NOBODY};
use retx_units::Time;

impl Cell {
    /// Plans the next exchange, if nothing can disturb it; called when nothing happens before
    /// `next`, the earliest deadline.
    pub(super) fn plan_exchange(&mut self) {
        self.leave_exchange();
        if !self.uses_fast_path || self.next == Time::NEVER {
            return;
        }
        let start = self.next;
        let mut starting = None;
        for (station, (due, radio)) in self.dues.iter().zip(&self.radios).enumerate() {
            if radio.activity != Activity::Contending || radio.nav() > start {
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

    /// Plans the exchange that a station begins at `start`, if nothing can disturb it.
    #[inline]
    pub(super) fn plan_start(&mut self, start: Time, station: u16) {
        let bytes = self.senders[usize::from(station)].served().frame.bytes;
        if let Some(next) = self.next_in_exchange(start, bytes) {
            self.set_progress(station, Progress::Planned(start));
            self.next = next;
        }
    }

    /// Next event of an exchange that begins at `start` for a packet of `bytes`: the end of the
    /// data frame, or of an RTS that the channel may lose. `None` if the rate changes before the
    /// ACK.
    #[inline]
    pub(super) fn next_in_exchange(&mut self, start: Time, bytes: u32) -> Option<Time> {
        let mut start_of_data = start;
        let announced = self.is_announced(bytes);
        if announced {
            start_of_data = self.data_start_after_rts(self.rts_end(start));
        }
        let end = start_of_data + self.data_time(bytes) + self.parameters.propagation;
        if self.rates.last().is_some_and(|(at, _)| *at <= end + self.parameters.sifs) {
            return None;
        }
        Some(if announced && !self.channels.are_perfect() { self.rts_end(start) } else { end })
    }

    /// Plans again after a packet has arrived at a station that has another one in service.
    #[inline]
    pub(super) fn note_waiting(&mut self, station: u16) {
        // Only the first packet that waits behind the one that is being acknowledged changes the
        // plan.
        if let Some(Exchange { station: sender, progress: Progress::Acknowledging(ack) }) =
            self.exchange
            && sender == station
            && self.senders[usize::from(station)].line.queue_length() == 1
        {
            self.expect_next(sender, ack);
        }
    }

    /// Waits for the end of this ACK, and plans the next exchange.
    #[inline(always)]
    pub(super) fn expect_next(&mut self, station: u16, ack: Acknowledgment) {
        // Other disciplines than droptail choose the next packet at the end of the ACK.
        if let Some(waiting) = self.senders[usize::from(station)].line.next() {
            let has_packet = waiting.is_some();
            self.medium.set(station, ack.backoff, has_packet);
            self.medium.find_contenders();
        }
        self.plan_after(station, ack);
    }

    /// Plans the exchange after this ACK. Sets `next` to the end of its data frame, or to an
    /// earlier time if that is not known.
    #[inline(always)]
    pub(super) fn plan_after(&mut self, station: u16, mut ack: Acknowledgment) {
        (self.next, ack.next) = self.next_exchange(station, &ack);
        self.set_progress(station, Progress::Acknowledging(ack));
    }

    /// Time of the next event after the data frame with this ACK; if it is the end of the next data
    /// frame, also the start and the sender of that frame.
    #[inline]
    pub(super) fn next_exchange(
        &mut self,
        station: u16,
        ack: &Acknowledgment,
    ) -> (Time, Option<(Time, u16)>) {
        let Some(waiting) = self.senders[usize::from(station)].line.next() else {
            return (ack.end, None);
        };
        let Some((slots, first)) = self.medium.first_contender() else {
            return (Time::NEVER, None);
        };
        let start = self.shared_start(ack.end, slots);
        let bytes = match first {
            NOBODY => return (start, None),
            _ if first == station => waiting.expect("it contends for a packet").frame.bytes,
            _ => self.senders[usize::from(first)].served().frame.bytes,
        };
        match self.next_in_exchange(start, bytes) {
            Some(next) => (next, Some((start, first))),
            None => (start, None),
        }
    }

    /// Time at which a frame begins after this number of slots, if the medium is idle from
    /// `idle_since` on.
    #[inline]
    pub(super) fn shared_start(&self, idle_since: Time, slots: u64) -> Time {
        idle_since + self.parameters.difs + self.parameters.slot * slots
    }
}
