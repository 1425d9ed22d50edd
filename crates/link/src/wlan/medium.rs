//! Medium that is idle and busy at the same times for all stations of a cell.
//!
//! From the first exchange of the fast path ([`super::fast_path`]) to the next that is left to the
//! general code, the radios are not updated. Instead, the idle slots are counted, and for each
//! station the count is known at which its backoff ends. No backoff need be suspended, and an
//! exchange only changes the entry of its sender. A packet that arrives at an idle medium may
//! access it at once, so that it ends the shared state, too: [`Cell::restore_radios`].

use super::access::whole_slots;
use super::station::{Access, Activity, NOBODY};
use super::{Cell, STATIONS_MAX};
use retx_units::Time;

/// State of channel access that all stations share.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedMedium {
    /// False if the radios are up to date, and this state is not.
    pub is_valid: bool,
    /// Time since which the medium has been idle; valid while it is idle.
    pub idle_since: Time,
    /// Number of idle slots before `idle_since`.
    slots: u64,
    /// Entry of each station.
    contenders: Vec<Contender>,
    /// The two least of the entries.
    first: [Contender; 2],
}

/// Number of idle slots at which the backoff of a station ends, and the station, in one number, so
/// that the least one is that of the next frame. [`NO_PACKET`] is set if the station has no packet
/// in service; its backoff may then be over.
pub(super) type Contender = u64;

const NO_PACKET: Contender = 1 << 63;

/// Bits of a [`Contender`] that hold the station.
const STATION_BITS: u32 = 10;
const _: () = assert!(STATIONS_MAX <= 1 << STATION_BITS);

const fn station_of(contender: Contender) -> u16 {
    (contender & ((1 << STATION_BITS) - 1)) as u16
}

const fn end_of(contender: Contender) -> u64 {
    (contender & !NO_PACKET) >> STATION_BITS
}

impl SharedMedium {
    pub fn new(stations: usize) -> Self {
        Self { contenders: vec![NO_PACKET; stations], ..Self::default() }
    }

    /// Sets the number of slots for which a station backs off from now on.
    #[inline]
    pub fn set(&mut self, station: u16, left: u32, has_packet: bool) -> Contender {
        let end = (self.slots + u64::from(left)) << STATION_BITS;
        let contender = end | u64::from(station) | if has_packet { 0 } else { NO_PACKET };
        self.contenders[usize::from(station)] = contender;
        contender
    }

    /// Channel access of a station.
    #[inline]
    pub fn access(&self, station: u16) -> Access {
        let contender = self.contenders[usize::from(station)];
        let left = end_of(contender).saturating_sub(self.slots);
        let is_over = left == 0 && contender >= NO_PACKET;
        if is_over { Access::Free } else { Access::Backoff(left as u32) }
    }

    fn has_packet(&self, index: usize) -> bool {
        self.contenders[index] < NO_PACKET
    }

    /// Counts the slots until the backoff of this station ends.
    #[inline]
    pub fn end_backoff(&mut self, station: u16) {
        self.slots = end_of(self.contenders[usize::from(station)]);
    }

    /// Finds the stations whose backoffs end first.
    #[inline]
    pub fn find_contenders(&mut self) {
        let [mut first, mut second] = [u64::MAX; 2];
        for contender in &self.contenders {
            second = second.min(first.max(*contender));
            first = first.min(*contender);
        }
        self.first = [first, second];
    }

    /// Compares another station with those whose backoffs end first; false if its backoff ends
    /// later.
    #[inline]
    pub fn add_contender(&mut self, contender: Contender) -> bool {
        let [first, second] = self.first;
        self.first = [first.min(contender), second.min(first.max(contender))];
        end_of(contender) <= end_of(first) || first >= NO_PACKET
    }

    /// Number of slots until the first backoff of a station with a packet ends, and this station,
    /// or [`NOBODY`] if there are several; `None` if no station has a packet.
    #[inline]
    pub fn first_contender(&self) -> Option<(u64, u16)> {
        let [first, second] = self.first;
        let is_alone = second >= NO_PACKET || end_of(first) < end_of(second);
        let station = if is_alone { station_of(first) } else { NOBODY };
        (first < NO_PACKET).then(|| (end_of(first) - self.slots, station))
    }
}

impl Cell {
    /// Takes over the state of the radios when a station begins the only frame on the air, which
    /// all others begin to receive.
    pub(super) fn share_medium(&mut self, now: Time, station: u16) {
        let Self { radios, senders, parameters, medium, .. } = self;
        // The idle slots of most stations begin at the same time, so that their number is computed
        // once.
        let mut known = (Time::NEVER, 0);
        (medium.slots, medium.is_valid) = (0, true);
        for (index, radio) in radios.iter_mut().enumerate() {
            let mut left = 0;
            if index == usize::from(station) {
                radio.access = Access::Free;
            } else if let Access::Backoff(slots) = radio.access {
                let start = radio.slots_start(parameters);
                if known.0 != start {
                    known = (start, whole_slots(now.since(start), parameters.slot));
                }
                left = slots.saturating_sub(known.1);
            } else if radio.access == Access::Fresh {
                left = senders[index].draw_backoff();
            }
            radio.confirm_nav(now);
            medium.set(index as u16, left, radio.has_packet);
        }
    }

    /// Brings the radios up to date while the medium is idle, for the general code.
    pub(super) fn restore_radios(&mut self) {
        let Self { radios, dues, parameters, medium, .. } = self;
        medium.is_valid = false;
        for (index, (radio, due)) in radios.iter_mut().zip(dues).enumerate() {
            radio.be_idle_since(medium.idle_since);
            radio.access = medium.access(index as u16);
            radio.has_packet = medium.has_packet(index);
            *due = radio.transmission_start(medium.idle_since, parameters);
        }
    }

    /// Brings the radios up to date at the end of a station's data frame, which the general code is
    /// to handle: the frame is on the air, and the other stations receive it.
    pub(super) fn restore_radios_in_frame(&mut self, now: Time, station: u16) {
        self.restore_radios();
        for (index, (radio, due)) in self.radios.iter_mut().zip(&mut self.dues).enumerate() {
            if index == usize::from(station) {
                (radio.access, radio.has_packet) = (Access::Free, true);
                radio.activity = Activity::Transmitting;
                *due = now;
            } else {
                radio.begin_reception(now, station);
                *due = Time::NEVER;
            }
        }
    }
}
