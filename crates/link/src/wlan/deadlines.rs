//! Deadlines of stations: ends of frames, of waiting, and of backoffs.

use super::Cell;
use super::parameters::Times;
use super::station::Activity;
use retx_units::Time;

impl Cell {
    /// Handles the deadlines of all stations at `now`.
    #[inline(never)]
    pub(super) fn handle_each_deadline(&mut self, now: Time) {
        if self.delayed.is_some() {
            self.forward_due(now);
        }
        while let Some((_, rate)) = self.rates.pop_if(|(at, _)| *at <= now) {
            self.parameters.rate = rate;
            self.control_rate = self.parameters.control_rate();
            self.times = Times::new(&self.parameters);
        }
        let (mut first, mut count) = (0, 0);
        for (station, due) in self.dues.iter().enumerate().rev() {
            if *due == now {
                (first, count) = (station, count + 1);
            }
        }
        match count {
            0 => {}
            1 => self.handle_deadline(now, first as u16),
            _ => self.handle_several_deadlines(now),
        }
        self.find_next();
        assert!(self.next > now, "time goes on");
    }

    /// Handles the deadline of the only station that has one at `now`.
    #[inline]
    fn handle_deadline(&mut self, now: Time, station: u16) {
        let index = usize::from(station);
        match self.radios[index].activity {
            Activity::Transmitting => self.end_transmission(now, station),
            Activity::Awaiting => self.give_up_waiting(now, station),
            Activity::Contending | Activity::Responding => {}
        }
        if self.dues[index] == now {
            self.begin_transmission(now, station);
            self.notify_start(now, station);
        }
    }

    #[cold]
    fn handle_several_deadlines(&mut self, now: Time) {
        let mut turns = std::mem::take(&mut self.turns);
        for (station, due) in self.dues.iter().enumerate() {
            if *due == now {
                turns.push(station as u16);
            }
        }
        self.each(now, &turns, Activity::Transmitting, Self::end_transmission);
        self.each(now, &turns, Activity::Awaiting, Self::give_up_waiting);
        turns.retain(|station| self.dues[usize::from(*station)] == now);
        for station in &turns {
            self.begin_transmission(now, *station);
        }
        for station in turns.drain(..) {
            self.notify_start(now, station);
        }
        self.turns = turns;
    }

    /// Determines the next event.
    pub(super) fn find_next(&mut self) {
        let delayed = self.delayed.as_ref().map_or(Time::NEVER, |delayed| delayed.next());
        self.next = self.dues.iter().fold(delayed, |least, due| least.min(*due));
        if self.uses_fast_path {
            self.plan_exchange();
        }
    }

    fn each(&mut self, now: Time, of: &[u16], activity: Activity, act: fn(&mut Self, Time, u16)) {
        for station in of {
            let index = usize::from(*station);
            if self.dues[index] == now && self.radios[index].activity == activity {
                act(self, now, *station);
            }
        }
    }
}
