//! The packets that wait at a station, and the discipline among them.
//!
//! The packet in service has left the line, as in ns-2 and ns-3: a discipline is asked for the next
//! one when the one before has been acknowledged or given up, and so counts the time in the line
//! only, without backoff and retries.

use super::parameters::Parameters;
use super::station::Head;
use crate::queue::{self, Exits, Queue, State, Surroundings, Waiting};
use crate::stage::Packet;
use retx_units::{History, Stream, Time};

/// Who waits.
#[derive(Debug, Clone)]
pub(super) struct Line {
    queue: State,
    /// A packet that finds nobody in service goes there without asking.
    passes: bool,
    /// Packets × nanoseconds up to `settled`.
    waited: u128,
    settled: Time,
    longest: u64,
    /// How many have waited at every instant, if that is kept.
    pub history: Option<History>,
}

/// What disciplines have to know of a cell. A packet costs a station more than its bytes: what DCF
/// adds counts as so many bytes at the data rate.
pub(super) fn surroundings(parameters: &Parameters, stream: Stream) -> Surroundings {
    let added = parameters.time_around_data().as_nanos();
    let bytes = u128::from(added) * u128::from(parameters.rate.as_bit_s()) / 8_000_000_000;
    let overhead = parameters.mac_overhead.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    Surroundings { stream, rate: Some(parameters.rate), overhead }
}

impl Line {
    pub fn new(config: &queue::Config, surroundings: Surroundings) -> Self {
        Self {
            passes: matches!(config, queue::Config::droptail(_)),
            queue: config.build(surroundings),
            waited: 0,
            settled: Time::ZERO,
            longest: 0,
            history: None,
        }
    }

    /// A packet arrives; true when it may wait. Where it goes is kept with it.
    pub fn enqueue(&mut self, now: Time, to: u16, packet: &Packet, exits: &mut Exits) -> bool {
        let before = self.settle(now);
        let Packet { id, frame, ecn_capable } = *packet;
        let waiting = Waiting { id, frame, ecn_capable, to, since: now };
        let admitted = self.queue.enqueue(now, &waiting, exits);
        self.keep(now, before);
        admitted
    }

    /// The one that goes into service.
    pub fn dequeue(&mut self, now: Time, exits: &mut Exits) -> Option<Head> {
        let before = self.settle(now);
        let first = self.queue.dequeue(now, exits);
        self.keep(now, before);
        first.map(|Waiting { id, to, frame, .. }| Head::new(id, to, frame))
    }

    /// True for a discipline to which a packet that does not wait means nothing.
    pub const fn lets_pass(&self) -> bool {
        self.passes
    }

    pub fn waiting(&self) -> u64 {
        self.queue.occupancy().packets
    }

    /// Counts the waiting up to `now`; returns how many do.
    fn settle(&mut self, now: Time) -> u64 {
        self.waited = self.waited(now);
        self.settled = now;
        self.waiting()
    }

    /// So many waited before, and now others may.
    fn keep(&mut self, now: Time, before: u64) {
        let waiting = self.waiting();
        self.history.iter_mut().for_each(|history| history.change(now, before, waiting));
    }

    /// The time that all packets together have waited up to `now`, in nanoseconds.
    pub fn waited(&self, now: Time) -> u128 {
        let since = u128::from(now.since(self.settled).as_nanos());
        self.waited + since * u128::from(self.waiting())
    }

    /// Who waits now does wait: none of them goes into service at this instant.
    pub fn remember_longest(&mut self) {
        self.longest = self.longest.max(self.waiting());
    }

    /// The most packets that ever waited at once.
    pub const fn longest(&self) -> u64 {
        self.longest
    }

    pub fn restart_maximum(&mut self) {
        self.longest = self.waiting();
    }
}
