//! Fast path: RTS and CTS before an undisturbed data frame ([`super::fast_path`]).
//!
//! The RTS reserves the medium for all stations but the two of the exchange. In the SIFS after a
//! frame, the receiver of the data may find the medium idle. A packet that arrives there then waits
//! for the interframe space, and draws a backoff when the next frame begins. The number is the same
//! as if it is drawn at the arrival, because the station draws no other number in between.
//!
//! With channel models, the end of the RTS is an event, at which the fates of the RTS and the CTS
//! are drawn. Otherwise all is made up for at the next event or arrival.

use super::Cell;
use super::exchange::{Kind, Transmission};
use super::fast_path::Progress;
use retx_units::{Duration, Time};

/// Progress of RTS and CTS.
#[derive(Debug, Clone, Copy)]
pub(super) enum Announcement {
    /// The RTS has begun at this time.
    Rts(Time),
    /// The RTS has ended at this time; the CTS follows.
    Cts(Time),
    /// The CTS has ended; the data frame begins at this time.
    Done(Time),
}

impl Cell {
    /// End of an RTS that begins at `start`.
    #[inline]
    pub(super) fn rts_end(&self, start: Time) -> Time {
        start + self.times.rts + self.parameters.propagation
    }

    /// End of a CTS after an RTS that ends at `rts_end`.
    fn cts_end(&self, rts_end: Time) -> Time {
        rts_end + self.parameters.sifs + self.times.cts + self.parameters.propagation
    }

    /// Start of a data frame after an RTS that ends at `rts_end`.
    #[inline]
    pub(super) fn data_start_after_rts(&self, rts_end: Time) -> Time {
        self.cts_end(rts_end) + self.parameters.sifs
    }

    /// Airtime of a current CTS up to `now`.
    pub(super) fn cts_time(&self, now: Time, announcement: Announcement) -> Duration {
        match announcement {
            Announcement::Cts(rts_end) => now.since(rts_end + self.parameters.sifs),
            Announcement::Rts(_) | Announcement::Done(_) => Duration::ZERO,
        }
    }

    /// Starts the RTS of an exchange.
    #[inline(never)]
    pub(super) fn start_announcement(&mut self, now: Time, station: u16) {
        self.busy.since = now;
        self.busy.transmitting = 1;
        self.senders[usize::from(station)].counters.rts_sent += 1;
        self.announce(station, Announcement::Rts(now));
    }

    fn announce(&mut self, station: u16, announcement: Announcement) {
        self.set_progress(station, Progress::Announcing(announcement));
    }

    /// Time at which this part of RTS and CTS is over.
    pub(super) fn end_of(&self, announcement: Announcement) -> Time {
        match announcement {
            Announcement::Rts(start) => self.rts_end(start),
            Announcement::Cts(rts_end) => self.cts_end(rts_end),
            Announcement::Done(start) => start,
        }
    }

    /// Makes up for what is over of RTS and CTS, and for the start of the data frame.
    #[inline(never)]
    pub(super) fn advance_announcement(
        &mut self,
        station: u16,
        mut announcement: Announcement,
        is_over: impl Fn(Time) -> bool,
    ) {
        if let Announcement::Rts(start) = announcement {
            let end = self.rts_end(start);
            if !is_over(end) {
                return;
            }
            self.count_rts_end(end, station);
            announcement = Announcement::Cts(end);
        }
        if let Announcement::Cts(rts_end) = announcement
            && is_over(self.cts_end(rts_end))
        {
            self.count_cts_end(station);
            announcement = Announcement::Done(self.data_start_after_rts(rts_end));
        }
        match announcement {
            Announcement::Done(start) if is_over(start) => self.start_data(start, station),
            _ => self.announce(station, announcement),
        }
    }

    fn count_rts_end(&mut self, now: Time, station: u16) {
        self.count_transmission_end(now);
        self.senders[usize::from(station)].counters.airtime.rts_cts += self.times.rts;
    }

    fn count_cts_end(&mut self, station: u16) {
        self.busy.total += self.times.cts + self.parameters.propagation;
        let head = self.senders[usize::from(station)].served();
        // §9.2.5.3: the RTS has succeeded.
        head.short_retries = 0;
        let to = usize::from(head.to);
        self.senders[to].counters.airtime.rts_cts += self.times.cts;
    }

    /// Handles the end of an RTS that the channel may have lost.
    pub(super) fn end_rts(&mut self, now: Time, station: u16) {
        let head = self.head(station);
        let mut frame = self.rts(&head);
        (frame.airtime, frame.rate) = (self.times.rts, self.control_rate);
        let fate = self.fate(now, station, &frame);
        if fate.is_some() {
            let mut cts = Transmission::new(station, Kind::Cts, Duration::ZERO);
            cts.rate = self.control_rate;
            if self.spares_response(self.cts_end(now), head.to, &cts) {
                self.count_rts_end(now, station);
                self.announce(station, Announcement::Cts(now));
                let data = self.data_time(head.frame.bytes) + self.parameters.propagation;
                self.next = self.data_start_after_rts(now) + data;
                return;
            }
        }
        self.yield_exchange(now, station, (frame, fate));
    }
}
