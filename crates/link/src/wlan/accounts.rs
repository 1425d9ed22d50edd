//! Counting of frames that have ended, and of the time that they take.

use super::Cell;
use super::exchange::Kind;
use retx_units::{Duration, Time};

/// Time during which at least one station transmits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Busy {
    pub transmitting: u32,
    pub since: Time,
    pub total: Duration,
}

impl Cell {
    /// Time during which at least one station transmitted, up to `now`.
    pub fn busy_time(&self, now: Time) -> Duration {
        let Busy { transmitting, since, total } = self.busy;
        total
            + self.response_time(now)
            + if transmitting > 0 { now.since(since) } else { Duration::ZERO }
    }

    /// Counts a transmission that ends.
    #[inline]
    pub(super) fn count_transmission_end(&mut self, now: Time) {
        self.busy.transmitting -= 1;
        if self.busy.transmitting == 0 {
            self.busy.total += now.since(self.busy.since);
        }
    }

    /// Counts a frame of a station that has ended.
    pub(super) fn count_ended(
        &mut self,
        station: u16,
        (kind, airtime): (Kind, Duration),
        intact: bool,
    ) {
        let sender = &mut self.senders[usize::from(station)];
        let on_air = &mut sender.counters.airtime;
        match kind {
            Kind::Data => self.count_data(station, airtime, intact),
            Kind::Ack => on_air.ack += airtime,
            Kind::Rts | Kind::Cts => on_air.rts_cts += airtime,
        }
    }

    #[inline]
    pub(super) fn count_data(&mut self, station: u16, airtime: Duration, intact: bool) {
        let sender = &mut self.senders[usize::from(station)];
        let arrived = sender.head.is_some_and(|head| head.arrived);
        let on_air = &mut sender.counters.airtime;
        *match (arrived, intact) {
            (true, _) => &mut on_air.data,
            (false, true) => &mut on_air.collided,
            (false, false) => &mut on_air.erroneous,
        } += airtime;
        sender.counters.frames_ended += 1;
        sender.counters.frames_erroneous += u64::from(!arrived);
        sender.counters.frames_collided += u64::from(!arrived && intact);
        sender.counters.error_bursts.add_outcome(!arrived);
        self.bursts[0].add_outcome(!arrived);
        // A frame that a collision damaged, and the channel did not, is left out of the channel's
        // bursts.
        if arrived || !intact {
            sender.counters.channel_bursts.add_outcome(!arrived);
            self.bursts[2].add_outcome(!arrived);
        }
    }
}
