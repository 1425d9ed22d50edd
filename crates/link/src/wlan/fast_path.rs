//! Fast path: one event for a data frame that nobody disturbs, and for its acknowledgment.
//!
//! *Preconditions.* All stations hear each other, and no channel model delays packets. No frame is
//! on the air or awaited, no reservation lasts, and the backoff of exactly one station ends first.
//! Then the time line of the exchange is known: from its start to the end of the ACK the medium is
//! busy or reserved for every station, so a packet that arrives meanwhile only draws a backoff. A
//! frame that the channel loses is left to the general code. RTS and CTS: [`super::announced`].
//! Collisions: [`super::collision`]. The next exchange: [`super::planning`].
//!
//! *How.* Of an exchange, only the end of the data frame has an effect outside the cell. When it
//! ends, the backoff of its sender after the ACK is drawn, and thus the end of the next data frame
//! is known, unless packets arrive before it begins. The cell is woken then. What happens in
//! between is made up for at the next event or arrival ([`Cell::advance_to`]), with its own time.
//!
//! *Why it is exact.* Each station draws from a random stream of its own, and the same numbers in
//! the same order. A test compares random cells with and without this path.

use super::announced::Announcement;
use super::exchange::{Kind, Transmission};
use super::medium::{Contender, SharedMedium};
use super::station::{Access, NOBODY};
use super::{Cell, Departure};
use retx_units::{Duration, Time};

/// Undisturbed data frame and its ACK, and the RTS and CTS before them, if any.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    /// Station that sends the data frame.
    pub station: u16,
    pub progress: Progress,
}

/// Progress of an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) enum Progress {
    /// The data frame, or its RTS, begins at this time, unless a packet arrives before.
    Planned(Time),
    /// RTS and CTS precede the data frame.
    Announcing(Announcement),
    /// The data frame is on the air for this time.
    Sending(Duration),
    /// The data frame has been received.
    Acknowledging(Acknowledgment),
}

/// ACK of an exchange.
#[derive(Debug, Clone, Copy)]
pub(super) struct Acknowledgment {
    pub start: Time,
    pub end: Time,
    /// Number of slots for which the sender of the data backs off afterwards.
    pub backoff: u32,
    /// Start of the next exchange, and its sender, if they are known.
    pub next: Option<(Time, u16)>,
}

impl Cell {
    /// Enables the fast path, if the cell permits it.
    pub fn enable_fast_path(&mut self) {
        self.uses_fast_path = self.reach.is_complete() && self.delayed.is_none();
        self.medium = SharedMedium::new(self.radios.len());
    }

    /// Brings the cell up to date with everything before `now`. `inclusive` is true if the events
    /// of the cell at `now` precede what the caller does.
    #[inline(always)]
    pub fn advance_to(&mut self, now: Time, inclusive: bool) {
        if now >= self.catch_up_at {
            self.catch_up(now, inclusive);
        }
    }

    #[inline(never)]
    fn catch_up(&mut self, now: Time, inclusive: bool) {
        let is_over = |time: Time| time < now || time == now && inclusive;
        if self.collision.is_pending {
            self.catch_up_with_collision(is_over);
        }
        if let Some(Exchange { station, progress: Progress::Acknowledging(ack) }) = self.exchange
            && is_over(ack.end)
        {
            self.end_exchange(station, &ack);
        }
        // The end of the data frame that begins now is an event of the cell.
        if let Some(Exchange { station, progress: Progress::Planned(start) }) = self.exchange
            && is_over(start)
        {
            self.start_exchange(start, station);
        }
        if let Some(Exchange { station, progress: Progress::Announcing(announcement) }) =
            self.exchange
        {
            self.advance_announcement(station, announcement, is_over);
        }
    }

    /// Sets the progress of an exchange.
    #[inline(always)]
    pub(super) fn set_progress(&mut self, station: u16, progress: Progress) {
        self.catch_up_at = match progress {
            Progress::Planned(start) => start,
            Progress::Announcing(announcement) => self.end_of(announcement),
            Progress::Sending(_) => Time::NEVER,
            Progress::Acknowledging(ack) => ack.end,
        };
        self.exchange = Some(Exchange { station, progress });
    }

    /// Start of the planned exchange; [`Time::NEVER`] if there is none.
    pub(super) fn planned_start(&self) -> Time {
        match self.exchange {
            Some(Exchange { progress: Progress::Planned(start), .. }) => start,
            _ => Time::NEVER,
        }
    }

    pub(super) fn leave_exchange(&mut self) {
        (self.exchange, self.catch_up_at) = (None, Time::NEVER);
    }

    /// Starts the contention for a packet at a station that had no packet in service.
    pub(super) fn begin_contention(&mut self, now: Time, station: u16) {
        match self.exchange.map(|exchange| (exchange.station, exchange.progress)) {
            Some((_, Progress::Announcing(_) | Progress::Sending(_))) => {
                self.contend_after_exchange(station);
            }
            Some((sender, Progress::Acknowledging(ack))) => {
                let contender = self.contend_after_exchange(station);
                if self.medium.add_contender(contender) {
                    self.plan_after(sender, ack);
                }
            }
            planned => {
                if let Some((_, Progress::Planned(start))) = planned {
                    self.next = start;
                }
                if self.medium.is_valid {
                    self.restore_radios();
                }
                self.begin_access(now, station);
                self.next = self.next.min(self.dues[usize::from(station)]);
                self.plan_exchange();
            }
        }
    }

    /// Notes that a station with a packet contends when the exchange has ended. Until then the
    /// medium is busy, so that a station without a backoff draws one.
    #[inline(always)]
    fn contend_after_exchange(&mut self, station: u16) -> Contender {
        let left = match self.medium.access(station) {
            Access::Backoff(slots) => slots,
            Access::Free | Access::Fresh => self.senders[usize::from(station)].draw_backoff(),
        };
        self.medium.set(station, left, true)
    }

    /// Starts the first frame of an exchange.
    #[inline(always)]
    fn start_exchange(&mut self, now: Time, station: u16) {
        let index = usize::from(station);
        if self.medium.is_valid {
            self.medium.end_backoff(station);
        } else {
            self.share_medium(now, station);
        }
        let bytes = self.senders[index].served().frame.bytes;
        if self.is_announced(bytes) {
            self.start_announcement(now, station);
        } else {
            self.start_data(now, station);
        }
    }

    /// Starts the data frame of an exchange.
    #[inline]
    pub(super) fn start_data(&mut self, now: Time, station: u16) {
        let Self { senders, busy, .. } = self;
        busy.since = now;
        busy.transmitting = 1;
        let bytes = senders[usize::from(station)].count_data_sent().frame.bytes;
        let airtime = self.data_time(bytes);
        self.set_progress(station, Progress::Sending(airtime));
    }

    /// Handles the event of an exchange: the end of its data frame or of an RTS that the channel
    /// may lose, or that of its ACK if the next data frame is not known before.
    #[inline]
    pub(super) fn advance_exchange(&mut self, now: Time, exchange: Exchange) {
        match exchange.progress {
            Progress::Acknowledging(ack) => self.end_exchange(exchange.station, &ack),
            Progress::Sending(airtime) => self.end_data(now, exchange.station, airtime),
            Progress::Announcing(_) => self.end_rts(now, exchange.station),
            Progress::Planned(_) => unreachable!("a planned exchange has begun before its end"),
        }
    }

    /// Handles the end of the data frame.
    #[inline(always)]
    fn end_data(&mut self, now: Time, station: u16, airtime: Duration) {
        let to = self.senders[usize::from(station)].served().to;
        let start = now + self.parameters.sifs;
        let end = start + self.times.ack + self.parameters.propagation;
        if !self.channels.are_perfect() && !self.is_spared(now, (station, to), airtime, end) {
            return;
        }
        self.count_transmission_end(now);
        let sender = &mut self.senders[usize::from(station)];
        let head = sender.served();
        head.arrived = true;
        if !std::mem::replace(&mut head.delivered, true) {
            let id = head.id;
            sender.counters.packets_delivered += 1;
            self.depart(now, station, Departure::Delivered { id });
        }
        self.count_data(station, airtime, true);
        let backoff = self.draw_next_backoff(station);
        self.expect_next(station, Acknowledgment { start, end, backoff, next: None });
    }

    /// True if the channel loses neither the data frame of an exchange nor its ACK, which ends at
    /// `end`. Otherwise the exchange is left to the general code.
    #[inline(never)]
    fn is_spared(&mut self, now: Time, ends: (u16, u16), airtime: Duration, end: Time) -> bool {
        let (station, to) = ends;
        let mut frame = Transmission::new(to, Kind::Data, self.answer_time());
        (frame.airtime, frame.rate) = (airtime, self.parameters.rate);
        let spared = self.fate(now, station, &frame);
        if spared.is_some() {
            let mut ack = Transmission::new(station, Kind::Ack, Duration::ZERO);
            ack.rate = self.control_rate;
            if self.spares_response(end, to, &ack) {
                return true;
            }
        }
        self.yield_exchange(now, station, (frame, spared));
        false
    }

    /// True if the channel does not lose the response of a station, which ends at `end`. Otherwise
    /// its fate is kept for the general code.
    pub(super) fn spares_response(
        &mut self,
        end: Time,
        from: u16,
        response: &Transmission,
    ) -> bool {
        let fate = self.fate(end, from, response);
        if fate.is_none() {
            self.response_fate = Some(fate);
        }
        fate.is_some()
    }

    /// Leaves an exchange to the general code when this frame of its sender, with this fate, ends.
    pub(super) fn yield_exchange(
        &mut self,
        now: Time,
        station: u16,
        (frame, fate): (Transmission, Option<Duration>),
    ) {
        self.leave_exchange();
        self.on_air[usize::from(station)] = frame;
        self.restore_radios_in_frame(now, station);
        self.end_with(now, station, fate);
        self.find_next();
    }

    /// Handles the end of the ACK. All stations have heard both frames.
    #[inline(always)]
    fn end_exchange(&mut self, station: u16, ack: &Acknowledgment) {
        let now = ack.end;
        self.busy.total += now.since(ack.start);
        let to = self.senders[usize::from(station)].served().to;
        self.senders[usize::from(to)].counters.airtime.ack += self.times.ack;
        let has_packet = self.finish_service(now, station, true);
        self.medium.idle_since = now;
        if let Some((start, station)) = ack.next {
            self.set_progress(station, Progress::Planned(start));
            return;
        }
        self.medium.set(station, ack.backoff, has_packet);
        self.medium.find_contenders();
        self.leave_exchange();
        self.next = Time::NEVER;
        if let Some((slots, first)) = self.medium.first_contender() {
            self.next = self.shared_start(now, slots);
            if first != NOBODY {
                self.plan_start(self.next, first);
            }
            if self.exchange.is_none() {
                self.restore_radios();
            }
        }
    }

    /// Airtime of a current ACK or CTS up to `now`.
    pub(super) fn response_time(&self, now: Time) -> Duration {
        match self.exchange.map(|exchange| exchange.progress) {
            Some(Progress::Acknowledging(ack)) => now.since(ack.start),
            Some(Progress::Announcing(announcement)) => self.cts_time(now, announcement),
            _ => Duration::ZERO,
        }
    }
}
