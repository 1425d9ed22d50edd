//! Fast path: one event for a collision, in cells whose stations all hear each other.
//!
//! *Preconditions.* Several backoffs end at the same time, no channel model loses frames, no frame
//! needs an RTS, and no packet reaches its retry limit. Then all that follows is known at the start
//! of the frames, unless a packet arrives before the last station has waited for its ACK in vain:
//! the ends of the frames, the new backoffs, and the next frame.
//!
//! *How.* At the start, the radios get the state that they have when the last station has given up
//! waiting. Frames and retries are counted later, at the next event or arrival. If that comes
//! before the collision is over, the earlier state of the radios is restored, and the general code
//! handles the collision from its start. It then uses the backoffs that have been drawn.
//!
//! *Gain.* Without this path, a flow over four hops takes 10.7 % more instructions, and the uploads
//! of ten stations 11.6 % (`benches/engine.rs` of `retx_sim`, under callgrind).

use super::Cell;
use super::station::{Access, Activity, Radio};
use retx_units::{Duration, Time};

/// Collision whose outcome is known.
#[derive(Debug, Clone, Default)]
pub(super) struct Collision {
    /// True until the frames of the collision are counted.
    pub is_pending: bool,
    start: Time,
    /// End of the last frame.
    end: Time,
    /// Time at which the last station has given up waiting for an ACK.
    over: Time,
    /// Stations that collide, with the airtimes of their frames.
    senders: Vec<(u16, Duration)>,
    /// Backoffs drawn, with the stations.
    draws: Vec<(u16, u32)>,
    /// State before the collision.
    radios: Vec<Radio>,
    dues: Vec<Time>,
}

impl Cell {
    /// Determines the outcome of the collision that begins at `now`; false if there is none, or if
    /// it is to be left to the general code.
    pub(super) fn begin_collision(&mut self, now: Time) -> bool {
        if !self.uses_fast_path || !self.channels.are_perfect() || !self.rates.is_empty() {
            return false;
        }
        if !self.find_colliders(now) {
            return false;
        }
        let Self { collision, radios, dues, .. } = self;
        collision.radios.clone_from(radios);
        collision.dues.clone_from(dues);
        let end = self.collide(now);
        let over = end + self.parameters.ack_timeout;
        let Self { radios, dues, parameters, .. } = self;
        let mut next = Time::NEVER;
        for (radio, due) in radios.iter_mut().zip(dues) {
            radio.idle_since = end;
            *due = radio.transmission_start(end, parameters);
            next = next.min(*due);
        }
        if next <= over {
            // A frame begins while a station still waits.
            self.restore_before_collision();
            return false;
        }
        self.next = next;
        self.plan_exchange();
        let Self { collision, .. } = self;
        (collision.start, collision.end, collision.over) = (now, end, over);
        collision.is_pending = true;
        self.catch_up_at = now;
        true
    }

    /// Lists the stations that start to transmit at `now`; false if there are fewer than two, or if
    /// the general code is to handle them.
    fn find_colliders(&mut self, now: Time) -> bool {
        let mut colliders = std::mem::take(&mut self.collision.senders);
        colliders.clear();
        let is_idle = |radio: &Radio| {
            radio.activity == Activity::Contending && !radio.is_occupied() && radio.nav() <= now
        };
        if self.radios.iter().all(is_idle) {
            let due = self.dues.iter().enumerate().filter(|(_, due)| **due == now);
            colliders.extend(due.map(|(index, _)| (index as u16, Duration::ZERO)));
        }
        let mut known = colliders.len() > 1;
        for (station, airtime) in &mut colliders {
            let head = self.head(*station);
            let retries = head.short_retries.saturating_add(1);
            known &= !self.is_announced(head.frame.bytes)
                && self.short_retry_limit.is_none_or(|limit| retries < limit);
            *airtime = self.data_time(head.frame.bytes);
        }
        self.collision.senders = colliders;
        known
    }

    /// Sets the access of each station after the collision; returns the end of the last frame.
    fn collide(&mut self, now: Time) -> Time {
        let mut end = now;
        self.collision.draws.clear();
        let colliders = std::mem::take(&mut self.collision.senders);
        let mut senders = colliders.iter().peekable();
        for index in 0..self.radios.len() {
            let station = index as u16;
            if let Some((_, airtime)) = senders.next_if(|(sender, _)| *sender == station) {
                let frame_end = now + *airtime + self.parameters.propagation;
                end = end.max(frame_end);
                let window = self.next_window(station);
                let backoff = self.senders[index].draw_backoff_from(window);
                self.collision.draws.push((station, backoff));
                let radio = &mut self.radios[index];
                radio.access = Access::Backoff(backoff);
                radio.not_before = frame_end + self.parameters.ack_timeout;
                radio.eifs = false;
            } else {
                if self.radios[index].access == Access::Fresh {
                    let backoff = self.senders[index].draw_backoff();
                    self.collision.draws.push((station, backoff));
                    self.radios[index].access = Access::Backoff(backoff);
                } else {
                    self.note_busy(now, index);
                }
                self.radios[index].eifs = true;
            }
        }
        self.collision.senders = colliders;
        end
    }

    /// Contention window of a station after a failed attempt.
    #[inline]
    pub(super) fn next_window(&self, station: u16) -> u32 {
        (2 * self.senders[usize::from(station)].cw + 1).min(self.parameters.cw_max)
    }

    /// Brings the cell up to date if a collision is pending.
    #[inline(never)]
    pub(super) fn catch_up_with_collision(&mut self, is_over: impl Fn(Time) -> bool) {
        self.collision.is_pending = false;
        if is_over(self.collision.over) {
            self.count_collision();
            self.catch_up_at = self.planned_start();
            return;
        }
        let start = self.collision.start;
        self.restore_before_collision();
        self.leave_exchange();
        self.handle_each_deadline(start);
        while is_over(self.next) {
            self.handle_each_deadline(self.next);
        }
    }

    /// Restores the state before the collision. The backoffs drawn are kept for the general code.
    fn restore_before_collision(&mut self) {
        let Self { collision, radios, dues, senders, .. } = self;
        radios.clone_from(&collision.radios);
        dues.clone_from(&collision.dues);
        for (station, backoff) in &collision.draws {
            senders[usize::from(*station)].drawn = Some(*backoff);
        }
    }

    /// Counts the frames of a collision, and the failed attempts.
    fn count_collision(&mut self) {
        self.busy.total += self.collision.end.since(self.collision.start);
        let colliders = std::mem::take(&mut self.collision.senders);
        for (station, airtime) in &colliders {
            let window = self.next_window(*station);
            let sender = &mut self.senders[usize::from(*station)];
            sender.cw = window;
            sender.count_data_sent();
            sender.served().short_retries += 1;
            self.count_data(*station, *airtime, true);
        }
        self.collision.senders = colliders;
    }
}
