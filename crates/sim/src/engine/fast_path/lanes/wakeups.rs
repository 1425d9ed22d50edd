//! Wake-ups of lanes ([`super`]), which wait outside the event queue.
//!
//! In a network with few lanes, nearly all events are arrivals of packets in lanes. Each of these
//! lanes has at most one wake-up, that of its first packet. A short sorted list of them takes about
//! half as many instructions as the event queue, into which each wake-up would have to be inserted.
//!
//! *Order.* A wake-up is taken from here only if it precedes all events in the queue and no other
//! lane is woken at the same time. If an event is due at the same time, the wake-up becomes an
//! event in the queue, which determines the order.

use crate::endpoint::Endpoint;
use crate::engine::Engine;
use retx_units::Time;
use std::cmp::Ordering;

/// Maximum number of lanes: those of four bottlenecks. With more lanes, all wake-ups are events,
/// because a long list takes longer than the event queue.
const MAX_LANES: usize = 16;

/// Wake-up of a lane.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine) struct LaneWakeup {
    pub time: Time,
    pub lane: u32,
}

/// Pending wake-ups of lanes.
#[derive(Debug, Clone)]
pub(super) struct LaneWakeups {
    /// Earliest wake-up; its time is [`Time::NEVER`] if there is none.
    first: LaneWakeup,
    /// Second wake-up. Usually only two lanes have packets, one in each direction.
    second: LaneWakeup,
    /// All later wake-ups, the latest first.
    others: Vec<LaneWakeup>,
    /// True if there are no lanes, or too many. `second` is then occupied, so that only
    /// [`Self::insert_third`] has to check it.
    is_off: bool,
}

impl LaneWakeups {
    const NONE: LaneWakeup = LaneWakeup { time: Time::NEVER, lane: u32::MAX };

    /// Creates an empty list for `lanes` lanes.
    pub fn new(lanes: usize) -> Self {
        let is_off = lanes == 0 || lanes > MAX_LANES;
        let second =
            LaneWakeup { time: if is_off { Time::ZERO } else { Time::NEVER }, ..Self::NONE };
        let (first, others) = (Self::NONE, Vec::new());
        Self { first, second, others, is_off }
    }

    /// Inserts the wake-up of a lane that has none. Returns false, without inserting it, if it must
    /// become an event: another lane is woken at the same time, or there are too many lanes.
    #[inline(always)]
    pub fn insert(&mut self, time: Time, lane: u32) -> bool {
        let wakeup = LaneWakeup { time, lane };
        // Two comparisons suffice if there is at most one other wake-up.
        if self.second.time != Time::NEVER {
            return self.insert_third(time, lane);
        }
        if time < self.first.time {
            self.second = self.first;
            self.first = wakeup;
        } else {
            if time == self.first.time {
                return false;
            }
            self.second = wakeup;
        }
        true
    }

    /// Continues [`Self::insert`] if there are two wake-ups already.
    #[inline(never)]
    fn insert_third(&mut self, time: Time, lane: u32) -> bool {
        let is_tied = |other: &LaneWakeup| other.time == time;
        // The order of targets that are woken at the same time is known to the queue only.
        let first_two = [self.first, self.second];
        if self.is_off || first_two.iter().chain(&self.others).any(is_tied) {
            return false;
        }
        let mut later = LaneWakeup { time, lane };
        // The new wake-up displaces the first later one, and that one displaces the next.
        for earlier in [&mut self.first, &mut self.second] {
            if later.time < earlier.time {
                std::mem::swap(&mut later, earlier);
            }
        }
        let place = self.others.partition_point(|other| other.time > later.time);
        self.others.insert(place, later);
        true
    }

    /// Removes and returns the earliest wake-up, which must exist.
    #[inline(always)]
    pub fn take(&mut self) -> LaneWakeup {
        debug_assert!(self.first.time != Time::NEVER, "there is one");
        // Usually there is no third one.
        let first = std::mem::replace(&mut self.first, self.second);
        if self.others.is_empty() {
            self.second.time = Time::NEVER;
        } else {
            self.second = self.take_third();
        }
        first
    }

    #[inline(never)]
    fn take_third(&mut self) -> LaneWakeup {
        self.others.pop().unwrap_or(Self::NONE)
    }

    /// True if nothing can be inserted.
    #[inline(always)]
    pub const fn is_off(&self) -> bool {
        self.is_off
    }

    /// Time of the earliest wake-up; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub const fn earliest(&self) -> Time {
        self.first.time
    }
}

impl Engine<'_> {
    /// Handles the next event, in a network with few lanes.
    #[inline(always)]
    pub(in crate::engine) fn handle_lane_or_event(&mut self) {
        let first = self.lanes.next_time();
        if self.agenda.begins_after(first) {
            // The usual case: no event is inserted or taken.
            self.now = first;
            let LaneWakeup { lane, .. } = self.lanes.take_wakeup();
            if let Some((id, to)) = self.handle_lane_wakeup(lane) {
                self.deliver(id, to);
            }
        } else {
            self.handle_event_before(first);
        }
    }

    /// Handles the first event in the queue, which precedes the wake-up of a lane at `first` or is
    /// at the same time. If all events up to `first` were superseded, handles that wake-up.
    #[inline(never)]
    fn handle_event_before(&mut self, first: Time) {
        // The code of a delivery is long. A copy of it here would take much of the instruction
        // cache.
        if let Some((id, to)) = self.begin_event_before(first) {
            self.deliver_out_of_line(id, to);
        }
    }

    #[inline(always)]
    fn begin_event_before(&mut self, first: Time) -> Option<(u32, Endpoint)> {
        let event = match self.agenda.take_only_before(first) {
            Some(event) => event,
            None => match self.agenda.next_time().cmp(&first) {
                // The event shares its slot. Wake-ups of lanes are later, and stay here.
                Ordering::Less => self.take_queued_event(),
                // All wake-ups of lanes become events, so that the queue orders them.
                Ordering::Equal => self.take_first_event(),
                Ordering::Greater => {
                    self.now = first;
                    let LaneWakeup { lane, .. } = self.lanes.take_wakeup();
                    return self.handle_lane_wakeup(lane);
                }
            },
        };
        self.begin_event(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Wake-ups are taken in order of time, and two of the same time never wait here.
        #[test]
        fn wakeups_are_taken_in_order(
            steps in prop::collection::vec((0u32..20, 0u64..50), 0..300),
        ) {
            let mut wakeups = LaneWakeups::new(MAX_LANES);
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for (lane, nanos) in steps {
                if lane as usize >= MAX_LANES {
                    expected.sort_unstable();
                    if !expected.is_empty() {
                        let LaneWakeup { time, lane } = wakeups.take();
                        prop_assert_eq!((time.as_nanos(), lane), expected.remove(0));
                    }
                } else if expected.iter().all(|(_, waiting)| *waiting != lane) {
                    let is_new = expected.iter().all(|(other, _)| *other != nanos);
                    prop_assert_eq!(wakeups.insert(Time::from_nanos(nanos), lane), is_new);
                    expected.extend(is_new.then_some((nanos, lane)));
                }
                let first = expected.iter().map(|(time, _)| *time).min();
                prop_assert_eq!(wakeups.earliest(), first.map_or(Time::NEVER, Time::from_nanos));
            }
        }
    }

    #[test]
    fn many_lanes_are_woken_by_events() {
        let mut wakeups = LaneWakeups::new(MAX_LANES + 1);
        assert!(!wakeups.insert(Time::ZERO, 0));
        assert_eq!(wakeups.earliest(), Time::NEVER);
    }
}
