//! Access to the medium: backoff and interframe spaces of IEEE 802.11-1999 §9.2.5.

use super::Cell;
use super::parameters::Parameters;
use super::station::{Access, Activity, Radio};
use retx_units::{Duration, Time};

impl Cell {
    /// Starts the contention for a packet at a station that had no packet in service.
    pub(super) fn begin_access(&mut self, now: Time, station: u16) {
        let index = usize::from(station);
        let slot = self.parameters.slot;
        let start = self.slots_start(index);
        let radio = &mut self.radios[index];
        radio.has_packet = true;
        let idle = !radio.is_occupied();
        if idle && let Access::Backoff(slots) = radio.access {
            // The backoff after the previous packet may be over by now.
            if slots <= whole_slots(now.since(start), slot) {
                radio.access = Access::Free;
            }
        }
        if radio.access == Access::Free {
            let busy =
                !idle || radio.reserved_until() > now || radio.activity != Activity::Contending;
            // §9.2.5.1: a station that finds the medium idle may transmit without backoff.
            radio.access = if busy {
                Access::Backoff(self.senders[index].draw_backoff())
            } else {
                Access::Fresh
            };
        }
        self.schedule_transmission(now, index);
    }

    /// Suspends the backoff of a station when the medium becomes busy for it.
    #[inline]
    pub(super) fn note_busy(&mut self, now: Time, index: usize) {
        match self.radios[index].access {
            Access::Free => {}
            Access::Fresh => {
                self.radios[index].access = Access::Backoff(self.senders[index].draw_backoff());
            }
            Access::Backoff(slots) => {
                let passed = self.slots_passed(now, index);
                self.radios[index].suspend_backoff(slots, passed);
            }
        }
        if self.radios[index].activity == Activity::Contending {
            self.dues[index] = Time::NEVER;
        }
    }

    /// Number of whole slots for which the medium has been idle for a station.
    #[inline]
    fn slots_passed(&mut self, now: Time, index: usize) -> u32 {
        let passed = now.since(self.slots_start(index));
        if passed < self.parameters.slot {
            return 0;
        }
        if self.slots_known.0 != passed.as_nanos() {
            let slots = whole_slots(passed, self.parameters.slot);
            self.slots_known = (passed.as_nanos(), slots);
        }
        self.slots_known.1
    }

    /// Handles the moment at which the medium becomes idle for a station.
    #[inline]
    pub(super) fn note_idle(&mut self, now: Time, index: usize) {
        self.radios[index].idle_since = now;
        self.schedule_transmission(now, index);
    }

    /// Computes when a station may transmit if the medium stays idle.
    #[inline]
    pub(super) fn schedule_transmission(&mut self, now: Time, index: usize) {
        let radio = &self.radios[index];
        if radio.activity == Activity::Contending {
            self.dues[index] = if radio.is_occupied() {
                Time::NEVER
            } else {
                radio.transmission_start(now, &self.parameters)
            };
        }
    }

    /// Time from which idle slots reduce a station's backoff.
    #[inline]
    fn slots_start(&self, index: usize) -> Time {
        self.radios[index].slots_start(&self.parameters)
    }
}

impl Radio {
    /// Time at which a contending station transmits if the medium is idle and stays so;
    /// [`Time::NEVER`] without a packet.
    #[inline]
    pub fn transmission_start(&self, now: Time, parameters: &Parameters) -> Time {
        if !self.has_packet {
            return Time::NEVER;
        }
        let start = self.slots_start(parameters);
        match self.access {
            Access::Backoff(slots) => start + parameters.slot * u64::from(slots),
            Access::Fresh | Access::Free => start.max(now),
        }
    }

    /// Time from which idle slots reduce the backoff.
    #[inline]
    pub fn slots_start(&self, parameters: &Parameters) -> Time {
        let Self { idle_since, not_before, eifs, .. } = *self;
        let nav = self.reserved_until();
        let space = if eifs { parameters.eifs } else { parameters.difs };
        // §9.2.3.4: EIFS disregards the virtual carrier sense.
        let physical = idle_since + space;
        let reserved = if nav > idle_since { nav + parameters.difs } else { Time::ZERO };
        physical.max(reserved).max(not_before)
    }
}

/// Number of whole slots in `passed`.
pub(super) fn whole_slots(passed: Duration, slot: Duration) -> u32 {
    u32::try_from(passed.as_nanos() / slot.as_nanos()).unwrap_or(u32::MAX)
}
