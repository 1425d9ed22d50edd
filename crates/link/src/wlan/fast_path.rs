//! Fast path: one event for a data frame that nobody disturbs, and for its acknowledgment.
//!
//! *Preconditions.* All stations hear each other, and no channel model delays packets. No frame is
//! on the air or awaited, no reservation lasts, and the backoff of exactly one station ends first.
//! Then the time line of the exchange is known: from its start to the end of the ACK the medium is
//! busy or reserved for every station, so a packet that arrives meanwhile only draws a backoff. A
//! collision and a frame that the channel loses are left to the general code. RTS and CTS:
//! [`super::announced`].
//!
//! *How.* Of an exchange, only the end of the data frame has an effect outside the cell. When it
//! ends, the backoff of its sender after the ACK is drawn, and thus the end of the next data frame
//! is known, unless packets arrive before it begins. The cell is woken then. What happens in
//! between is made up for at the next event or arrival ([`Cell::advance_to`]), with its own time.
//!
//! *Why it is exact.* Each station draws from a random stream of its own, and the same numbers in
//! the same order. A test compares random cells with and without this path.

use super::Cell;
use super::announced::Announcement;
use super::exchange::{Kind, Transmission};
use super::medium::{Contender, SharedMedium};
use super::station::{Access, Activity, NOBODY};
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
    start: Time,
    end: Time,
    /// Number of slots for which the sender of the data backs off afterwards.
    backoff: u32,
    /// Start of the next exchange, and its sender, if they are known.
    next: Option<(Time, u16)>,
}

impl Cell {
    /// Enables the fast path, if the cell permits it.
    pub fn enable_fast_path(&mut self) {
        self.uses_fast_path = self.reach.is_complete() && self.delayed.is_none();
        self.medium = SharedMedium::new(self.radios.len());
    }

    /// Brings the cell up to date with everything before `now`. `inclusive` is true if the events
    /// of the cell at `now` precede what the caller does.
    #[inline]
    pub fn advance_to(&mut self, now: Time, inclusive: bool) {
        let is_over = |time: Time| time < now || time == now && inclusive;
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
    fn plan_start(&mut self, start: Time, station: u16) {
        let bytes = self.senders[usize::from(station)].served().frame.bytes;
        if let Some(next) = self.next_in_exchange(start, bytes) {
            self.exchange = Some(Exchange { station, progress: Progress::Planned(start) });
            self.next = next;
        }
    }

    /// Next event of an exchange that begins at `start` for a packet of `bytes`: the end of the
    /// data frame, or of an RTS that the channel may lose. `None` if the rate changes before the
    /// ACK.
    #[inline]
    fn next_in_exchange(&mut self, start: Time, bytes: u32) -> Option<Time> {
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
    fn contend_after_exchange(&mut self, station: u16) -> Contender {
        let left = match self.medium.access(station) {
            Access::Backoff(slots) => slots,
            Access::Free | Access::Fresh => self.senders[usize::from(station)].draw_backoff(),
        };
        self.medium.set(station, left, true)
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

    /// Starts the first frame of an exchange.
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
        let progress = Progress::Sending(self.data_time(bytes));
        self.exchange = Some(Exchange { station, progress });
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
    fn end_data(&mut self, now: Time, station: u16, airtime: Duration) {
        let to = self.senders[usize::from(station)].served().to;
        let start = now + self.parameters.sifs;
        let end = start + self.times.ack + self.parameters.propagation;
        if !self.channels.are_perfect() && !self.is_spared(now, (station, to), airtime, end) {
            return;
        }
        self.count_transmission_end(now);
        self.arrive(now, (station, to), Duration::ZERO);
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
        self.leave_exchange(now, station, (frame, spared));
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
    pub(super) fn leave_exchange(
        &mut self,
        now: Time,
        station: u16,
        (frame, fate): (Transmission, Option<Duration>),
    ) {
        self.exchange = None;
        self.on_air[usize::from(station)] = frame;
        self.restore_radios_in_frame(now, station);
        self.end_with(now, station, fate);
        self.find_next();
    }

    /// Waits for the end of this ACK, and plans the next exchange.
    fn expect_next(&mut self, station: u16, ack: Acknowledgment) {
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
    fn plan_after(&mut self, station: u16, mut ack: Acknowledgment) {
        (self.next, ack.next) = self.next_exchange(station, &ack);
        self.exchange = Some(Exchange { station, progress: Progress::Acknowledging(ack) });
    }

    /// Time of the next event after the data frame with this ACK; if it is the end of the next data
    /// frame, also the start and the sender of that frame.
    #[inline]
    fn next_exchange(&mut self, station: u16, ack: &Acknowledgment) -> (Time, Option<(Time, u16)>) {
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
    fn shared_start(&self, idle_since: Time, slots: u64) -> Time {
        idle_since + self.parameters.difs + self.parameters.slot * slots
    }

    /// Handles the end of the ACK. All stations have heard both frames.
    fn end_exchange(&mut self, station: u16, ack: &Acknowledgment) {
        let now = ack.end;
        self.busy.total += now.since(ack.start);
        let to = self.senders[usize::from(station)].served().to;
        self.senders[usize::from(to)].counters.airtime.ack += self.times.ack;
        let has_packet = self.finish_service(now, station);
        self.medium.idle_since = now;
        if let Some((start, station)) = ack.next {
            self.exchange = Some(Exchange { station, progress: Progress::Planned(start) });
            return;
        }
        self.medium.set(station, ack.backoff, has_packet);
        self.medium.find_contenders();
        (self.exchange, self.next) = (None, Time::NEVER);
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
