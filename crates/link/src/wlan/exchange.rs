//! Frames on the air, and the reactions of stations to them: IEEE 802.11-1999 §9.2.5.4 to §9.2.8.

use super::reach::StationEffect;
use super::station::{Access, Activity, Head, NOBODY};
use super::{Cell, Departure};
use crate::channel::Reason;
use retx_units::{Duration, Rate, Time};

/// Frame types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Ack,
    Rts,
    Cts,
}

/// Frame that is on the air, or about to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transmission {
    pub to: u16,
    pub kind: Kind,
    /// Duration field: time for which the medium is reserved after the frame.
    pub duration_field: Duration,
    /// Time on the air.
    pub airtime: Duration,
    /// Transmission rate.
    pub rate: Rate,
}

impl Transmission {
    pub const NONE: Self = Self::new(NOBODY, Kind::Ack, Duration::ZERO);

    pub(super) const fn new(to: u16, kind: Kind, duration_field: Duration) -> Self {
        Self { to, kind, duration_field, airtime: Duration::ZERO, rate: Rate::from_bit_s(0) }
    }
}

impl Cell {
    /// Starts the transmission of a station: a frame for its packet in service, or a response.
    pub(super) fn begin_transmission(&mut self, now: Time, station: u16) {
        let index = usize::from(station);
        if self.radios[index].activity == Activity::Contending {
            self.radios[index].access = Access::Free;
            let head = self.head(station);
            self.on_air[index] = if self.is_announced(head.frame.bytes) {
                self.rts(&head)
            } else {
                Transmission::new(head.to, Kind::Data, self.answer_time())
            };
        } else if !self.radios[index].is_occupied() {
            self.note_busy(now, index);
        }
        let airtime = self.airtime(station);
        let frame = &mut self.on_air[index];
        frame.airtime = airtime;
        frame.rate =
            if frame.kind == Kind::Data { self.parameters.rate } else { self.control_rate };
        self.count_sent(station);
        let radio = &mut self.radios[index];
        // A transmitting station cannot receive. It need no longer wait EIFS after an earlier
        // damaged frame.
        radio.receiving_from = NOBODY;
        radio.eifs = false;
        radio.activity = Activity::Transmitting;
        self.dues[index] = now + airtime + self.parameters.propagation;
        if self.busy.transmitting == 0 {
            self.busy.since = now;
        }
        self.busy.transmitting += 1;
    }

    pub(super) fn head(&self, station: u16) -> Head {
        self.senders[usize::from(station)].head.expect("a contending station has a packet")
    }

    /// True if an RTS precedes the data frame with a packet of `bytes`.
    pub(super) fn is_announced(&self, bytes: u32) -> bool {
        // The threshold is compared with the whole frame, including MAC header, LLC, SNAP and
        // checksum.
        bytes + self.parameters.mac_overhead > self.rts_threshold
    }

    pub(super) fn rts(&mut self, head: &Head) -> Transmission {
        let sifs = self.parameters.sifs;
        let data = self.data_time(head.frame.bytes);
        let duration_field = sifs + self.times.cts + sifs + data + self.answer_time();
        Transmission::new(head.to, Kind::Rts, duration_field)
    }

    /// Duration field of a data frame: a SIFS and an ACK.
    pub(super) fn answer_time(&self) -> Duration {
        self.parameters.sifs + self.times.ack
    }

    #[inline]
    pub(super) fn data_time(&mut self, bytes: u32) -> Duration {
        let [first, second] = &self.times.data;
        match bytes {
            _ if bytes == first.0 => first.1,
            _ if bytes == second.0 => second.1,
            _ => self.compute_data_time(bytes),
        }
    }

    #[inline(never)]
    fn compute_data_time(&mut self, bytes: u32) -> Duration {
        let on_air = bytes + self.parameters.mac_overhead;
        let time = self.parameters.airtime(on_air, self.parameters.rate);
        let known = &mut self.times.data;
        known.swap(0, 1);
        known[0] = (bytes, time);
        time
    }

    fn airtime(&mut self, station: u16) -> Duration {
        match self.on_air[usize::from(station)].kind {
            Kind::Data => {
                let bytes = self.head(station).frame.bytes;
                self.data_time(bytes)
            }
            Kind::Ack => self.times.ack,
            Kind::Rts => self.times.rts,
            Kind::Cts => self.times.cts,
        }
    }

    fn count_sent(&mut self, station: u16) {
        let kind = self.on_air[usize::from(station)].kind;
        let sender = &mut self.senders[usize::from(station)];
        if kind == Kind::Rts {
            sender.counters.rts_sent += 1;
        } else if kind == Kind::Data {
            sender.count_data_sent();
        }
    }

    /// Informs all stations in reach of a station that has started to transmit.
    pub(super) fn notify_start(&mut self, now: Time, station: u16) {
        let effects = self.reach.lend(station);
        for (other, effect) in &effects {
            let index = usize::from(*other);
            if effect.intersects(StationEffect::SENSES) && !self.radios[index].is_occupied() {
                self.note_busy(now, index);
            }
            let radio = &mut self.radios[index];
            let clear = radio.noise == 0 && radio.receiving_from == NOBODY;
            if effect.intersects(StationEffect::INTERFERES) {
                radio.noise += 1;
                radio.intact = false;
            }
            if effect.intersects(StationEffect::SENSES) {
                let silent = radio.sensed == 0;
                radio.sensed += 1;
                if radio.activity == Activity::Transmitting || !clear {
                    continue;
                }
                if effect.intersects(StationEffect::RECEIVES) {
                    radio.receiving_from = station;
                    radio.intact = true;
                    radio.confirm_nav(now);
                    if radio.activity == Activity::Awaiting {
                        // §9.2.8: a frame that begins before the timeout suspends the timeout. The
                        // end of the frame shows whether it was the response.
                        self.dues[index] = Time::NEVER;
                    }
                } else if silent {
                    // The frame is too weak to be received.
                    radio.receiving_from = station;
                    radio.intact = false;
                }
            }
        }
        self.reach.give_back(station, effects);
    }

    /// Handles the end of a station's frame, at the station and at all stations in reach.
    pub(super) fn end_transmission(&mut self, now: Time, station: u16) {
        let frame = self.on_air[usize::from(station)];
        let spared = self.fate(now, station, &frame);
        self.end_with(now, station, spared);
    }

    /// Handles the end of a station's frame, whose [`Self::fate`] is `spared`.
    pub(super) fn end_with(&mut self, now: Time, station: u16, spared: Option<Duration>) {
        self.count_transmission_end(now);
        let frame = self.on_air[usize::from(station)];
        let intact = spared.is_some();
        let after = spared.unwrap_or_default();
        self.await_answer(now, station, frame.kind);
        let effects = self.reach.lend(station);
        for (other, effect) in &effects {
            let other = *other;
            let index = usize::from(other);
            let radio = &mut self.radios[index];
            radio.noise -= u16::from(effect.intersects(StationEffect::INTERFERES));
            radio.sensed -= u16::from(effect.intersects(StationEffect::SENSES));
            if radio.receiving_from == station {
                radio.receiving_from = NOBODY;
                let received = radio.intact && (intact || other != frame.to);
                if self.heard(now, other, (station, &frame), received) {
                    self.arrive(now, (station, other), after);
                }
            }
            if effect.intersects(StationEffect::SENSES) && !self.radios[index].is_occupied() {
                self.note_idle(now, index);
            }
        }
        self.reach.give_back(station, effects);
        self.count_ended(station, (frame.kind, frame.airtime), intact);
        let index = usize::from(station);
        if !self.radios[index].is_occupied() {
            self.note_idle(now, index);
        }
    }

    /// Makes a station whose frame has ended wait for the response, if the frame requires one.
    fn await_answer(&mut self, now: Time, station: u16, kind: Kind) {
        let index = usize::from(station);
        (self.radios[index].activity, self.dues[index]) = if matches!(kind, Kind::Data | Kind::Rts)
        {
            (Activity::Awaiting, now + self.parameters.ack_timeout)
        } else {
            (Activity::Contending, Time::NEVER)
        };
    }

    /// Handles the end of a frame that a station has heard; `intact` is true if the frame is
    /// undamaged. Returns true if it is an undamaged data frame for this station.
    fn heard(
        &mut self,
        now: Time,
        listener: u16,
        (from, frame): (u16, &Transmission),
        intact: bool,
    ) -> bool {
        let index = usize::from(listener);
        self.radios[index].eifs = !intact;
        let awaiting = self.radios[index].activity == Activity::Awaiting;
        if awaiting && intact && frame.to == listener && self.is_answer(listener, from, frame.kind)
        {
            match frame.kind {
                Kind::Cts => self.send_announced(now, listener, from),
                _ => self.finish_packet(now, listener),
            }
            return false;
        }
        if awaiting && (intact || self.dues[index] == Time::NEVER) {
            // §9.2.8: if any frame other than the response arrives, the transmission has failed.
            self.give_up_waiting(now, listener);
        }
        if !intact {
            return false;
        }
        if frame.to != listener {
            // §9.2.5.4: the reservation by an RTS is void if no frame follows.
            let in_vain = (frame.kind == Kind::Rts).then(|| now + self.times.rts_in_vain);
            self.radios[index]
                .update_nav(now + frame.duration_field, in_vain.unwrap_or(Time::NEVER));
            return false;
        }
        match frame.kind {
            Kind::Data => {
                self.respond(now, listener, (from, Kind::Ack), Duration::ZERO);
            }
            // §9.2.5.7: a station does not answer an RTS while its NAV is set.
            Kind::Rts if self.radios[index].reserved_until() <= now => {
                let duration_field = frame.duration_field - self.parameters.sifs - self.times.cts;
                self.respond(now, listener, (from, Kind::Cts), duration_field);
            }
            Kind::Rts | Kind::Ack | Kind::Cts => {}
        }
        frame.kind == Kind::Data
    }

    fn is_answer(&self, station: u16, from: u16, kind: Kind) -> bool {
        let sent = &self.on_air[usize::from(station)];
        let expected = if sent.kind == Kind::Rts { Kind::Cts } else { Kind::Ack };
        sent.to == from && kind == expected
    }

    /// Schedules a response after SIFS, even if the medium is busy.
    fn respond(
        &mut self,
        now: Time,
        station: u16,
        (to, kind): (u16, Kind),
        duration_field: Duration,
    ) {
        let index = usize::from(station);
        self.on_air[index] = Transmission::new(to, kind, duration_field);
        self.radios[index].activity = Activity::Responding;
        self.dues[index] = now + self.parameters.sifs;
    }

    /// Sends the data frame announced by an RTS, after its CTS.
    fn send_announced(&mut self, now: Time, station: u16, to: u16) {
        // §9.2.5.3: the RTS has succeeded, so its retries are reset; the contention window is not.
        let sender = &mut self.senders[usize::from(station)];
        sender.head.as_mut().expect("a packet is in service").short_retries = 0;
        self.respond(now, station, (to, Kind::Data), self.answer_time());
    }

    /// Handles a data frame received intact. Its packet leaves the cell unless it is a duplicate.
    #[inline]
    pub(super) fn arrive(&mut self, now: Time, ends: (u16, u16), after: Duration) {
        let sender = &mut self.senders[usize::from(ends.0)];
        let head = sender.head.as_mut().expect("its packet is in service until acknowledged");
        head.arrived = true;
        if !head.delivered {
            head.delivered = true;
            let id = head.id;
            self.schedule_departure(now, ends, (id, after));
        }
    }

    /// Handles a missing response (IEEE 802.11-1999 §9.2.5.3).
    pub(super) fn give_up_waiting(&mut self, now: Time, station: u16) {
        let index = usize::from(station);
        let radio = &mut self.radios[index];
        radio.activity = Activity::Contending;
        radio.not_before = now;
        let head = self.head(station);
        let announced = self.is_announced(head.frame.bytes);
        let sender = &mut self.senders[index];
        let head = sender.head.as_mut().expect("a packet is in service");
        let rts = self.on_air[index].kind == Kind::Rts;
        sender.counters.rts_failed += u64::from(rts);
        sender.counters.acks_lost += u64::from(!rts && head.arrived);
        let (retries, limit) = if announced && !rts {
            (&mut head.long_retries, self.long_retry_limit)
        } else {
            (&mut head.short_retries, self.short_retry_limit)
        };
        *retries = retries.saturating_add(1);
        if limit.is_some_and(|limit| *retries >= limit) {
            self.finish_packet(now, station);
        } else {
            let window = self.next_window(station);
            let sender = &mut self.senders[index];
            sender.cw = window;
            self.radios[index].access = Access::Backoff(sender.draw_backoff());
        }
        self.schedule_transmission(now, index);
    }

    /// Ends the service of a packet that was acknowledged or given up. In either case the station
    /// backs off (§9.2.5.2).
    fn finish_packet(&mut self, now: Time, station: u16) {
        let backoff = self.draw_next_backoff(station);
        self.finish_and_back_off(now, station, backoff);
    }

    /// Draws the backoff after a packet that was acknowledged or given up.
    #[inline]
    pub(super) fn draw_next_backoff(&mut self, station: u16) -> u32 {
        let sender = &mut self.senders[usize::from(station)];
        sender.cw = self.parameters.cw_min;
        sender.draw_backoff()
    }

    /// Ends the service of a packet; the station then backs off for this number of slots.
    fn finish_and_back_off(&mut self, now: Time, station: u16, backoff: u32) {
        let delivered = self.head(station).delivered;
        let has_packet = self.finish_service(now, station, delivered);
        let radio = &mut self.radios[usize::from(station)];
        radio.activity = Activity::Contending;
        radio.access = Access::Backoff(backoff);
        radio.has_packet = has_packet;
    }

    /// Ends the service of a packet, which was `delivered` or not; true if the station then has
    /// another one in service.
    #[inline(always)]
    pub(super) fn finish_service(&mut self, now: Time, station: u16, delivered: bool) -> bool {
        let sender = &mut self.senders[usize::from(station)];
        let Head { id, attempts, .. } = *sender.served();
        sender.begin_next_packet(now, &mut self.actions);
        let has_packet = sender.head.is_some();
        sender.counters.dropped_at_retry_limit += u64::from(!delivered);
        sender.counters.attempts.add_packet(attempts);
        sender.counters.loss_bursts.add_outcome(!delivered);
        self.bursts[1].add_outcome(!delivered);
        if !delivered {
            let reason = Reason::RetryLimit;
            self.depart(now, station, Departure::Lost { id, at: now, reason });
        }
        self.note_exits(now, station);
        has_packet
    }
}
