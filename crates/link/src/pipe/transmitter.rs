//! The queue's line and the rate: who waits, and when each transmission starts and ends.

use super::later;
use super::turn::Turn;
use crate::queue::{Occupancy, droptail};
use crate::rates::{Job, Rates, Service};
use crate::ring::Ring;
use prefetch_index::prefetch_index;
use retx_units::{Duration, History, Rate, Time};

/// A first-in-first-out transmitter and those that wait for it. What each packet needs comes first,
/// then what those need that wait.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Transmitter {
    busy_until: Time,
    /// All transmission times so far, whole.
    busy: Duration,
    /// How long the last packet size takes, which spares the division.
    known: Known,
    /// Those whose transmission may still lie ahead.
    waiting: Ring<Turn>,
    /// All waiting times so far, whole.
    waited: Nanoseconds,
    room: droptail::Limits,
    /// The most packets that ever waited at once, so never more than there is room for; 0 where
    /// that is [`Kept`].
    queue_max: u32,
    overhead: u32,
    /// In bits per second; without one, 0, packets take no time, or what `service` says.
    bit_s: u64,
    /// The size before the last.
    known_before: Known,
    /// For a rate that changes.
    service: Option<Box<Service>>,
    /// Of whoever has to look at each packet that waits.
    kept: Option<Box<Kept>>,
}

/// What has to be looked at whenever a packet is to wait: room that is in bytes, and when packets
/// have waited. A transmitter that keeps this leaves its own `queue_max` at 0, so that each that
/// waits seems to be one more than ever, and is noted; where nothing is kept, none has to ask.
#[derive(Debug, Clone, Default)]
struct Kept {
    queue_max: u32,
    /// Of those in the row.
    waiting_bytes: u64,
    /// For whoever wants to know.
    history: Option<History>,
}

/// How long a packet of some size takes, unless that is more than four seconds.
#[derive(Debug, Clone, Copy)]
struct Known {
    bytes: u32,
    nanoseconds: u32,
}

impl Known {
    const NONE: Self = Self { bytes: u32::MAX, nanoseconds: 0 };

    #[inline(always)]
    const fn duration(self) -> Duration {
        Duration::from_nanos(self.nanoseconds as u64)
    }
}

/// A sum that lies anywhere: alone it would take up a place for itself.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(8))]
struct Nanoseconds(u128);

/// More than these do not stay in a cache until it is their turn.
const MANY: usize = 1000;

impl Transmitter {
    /// What every packet needs: up to the size that is known.
    pub const HOT_BYTES: usize = std::mem::offset_of!(Self, waiting);
    /// What those need, too, that wait.
    pub const WARM_BYTES: usize = std::mem::offset_of!(Self, overhead);

    pub fn new(
        rate: Option<Rate>,
        rates: Option<Rates>,
        overhead: u32,
        room: droptail::Limits,
    ) -> Self {
        let service = rates.map(|rates| Box::new(Service::new(rates)));
        Self {
            bit_s: rate.filter(|_| service.is_none()).map_or(0, Rate::as_bit_s),
            service,
            kept: room.are_in_bytes().then(Box::default),
            overhead,
            known: Known::NONE,
            known_before: Known::NONE,
            room,
            busy_until: Time::ZERO,
            waiting: Ring::default(),
            waited: Nanoseconds(0),
            busy: Duration::ZERO,
            queue_max: 0,
        }
    }

    /// Keeps from now on when packets wait.
    pub fn keep_history(&mut self) {
        let queue_max = std::mem::take(&mut self.queue_max);
        let kept = self.kept.get_or_insert_with(|| Box::new(Kept { queue_max, ..Kept::default() }));
        kept.history = Some(History::default());
    }

    /// When packets have waited, as far as that is kept; some of it may lie ahead.
    pub fn take_history(&mut self) -> Option<History> {
        self.kept.as_mut()?.history.as_mut().map(std::mem::take)
    }

    /// Packets are about to come: lets the processor fetch what those need that wait.
    #[inline]
    pub fn prefetch_waiting(&self) {
        prefetch_index(std::slice::from_ref(&self.waiting), 0);
    }

    /// Then the place of the next of them.
    #[inline]
    pub fn prefetch_place(&self) {
        self.waiting.prefetch(self.waiting.len() as u32);
    }

    #[inline(always)]
    const fn rate(&self) -> Option<Rate> {
        if self.bit_s == 0 { None } else { Some(Rate::from_bit_s(self.bit_s)) }
    }

    /// A packet arrives at `now`: returns when its transmission ends, if there is room for it.
    /// `has_waited` tells whether any has since the transmitter was last seen idle.
    #[inline(always)]
    pub fn take(&mut self, now: Time, bytes: u32, has_waited: &mut bool) -> Option<Time> {
        let Some(duration) = self.duration_of(bytes) else {
            return self.take_otherwise(now, bytes);
        };
        if self.busy_until <= now {
            if *has_waited {
                self.waiting.clear();
                self.kept.iter_mut().for_each(|kept| kept.waiting_bytes = 0);
                *has_waited = false;
            }
            return Some(self.transmit(now, duration));
        }
        *has_waited = true;
        // Those whose transmission has begun count, too, unless they make a difference. Where fewer
        // wait than ever did there is room.
        if self.waiting.len() >= self.queue_max as usize {
            self.note_another(now, bytes)?;
        }
        self.wait(now, bytes);
        Some(self.transmit(self.busy_until, duration))
    }

    /// The room for those that wait.
    pub const fn room(&self) -> droptail::Limits {
        self.room
    }

    /// A packet that has come at `now` is to wait: `None` if there is no room for it.
    #[inline(never)]
    fn note_another(&mut self, now: Time, bytes: u32) -> Option<()> {
        let packets = self.settle(now);
        let waiting = Occupancy { packets, bytes: self.waiting_bytes() };
        if !self.room.admits(waiting, bytes) {
            return None;
        }
        self.keep(now, bytes);
        let most = self.most();
        *most = (*most).max(packets as u32 + 1);
        Some(())
    }

    /// A packet that comes at `at` waits until the transmitter is free: keeps that, if asked to.
    #[inline(always)]
    fn keep(&mut self, at: Time, bytes: u32) {
        if let Some(kept) = &mut self.kept {
            kept.waiting_bytes += u64::from(bytes);
            kept.history.iter_mut().for_each(|history| history.stay(at, self.busy_until));
        }
    }

    /// Bytes of those in the row, where there is room for so many.
    fn waiting_bytes(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.waiting_bytes)
    }

    /// The most packets that ever waited at once.
    fn most(&mut self) -> &mut u32 {
        self.kept.as_mut().map_or(&mut self.queue_max, |kept| &mut kept.queue_max)
    }

    /// [`Self::take`], without a constant rate.
    #[inline(never)]
    fn take_otherwise(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let waits = self.busy_until > now;
        if waits {
            self.note_another(now, bytes)?;
        }
        let Some(service) = &mut self.service else { return Some(now) };
        let start = self.busy_until.max(now);
        let on_wire = bytes + self.overhead;
        let end = service.end(&Job { start, waited: waits, bytes, on_wire });
        if waits {
            self.wait(now, bytes);
        }
        self.busy += end.since(start);
        self.busy_until = end;
        Some(end)
    }

    /// Forgets those whose transmission has begun by `now`; returns how many still wait.
    #[inline(always)]
    pub fn settle(&mut self, now: Time) -> u64 {
        if self.waiting.len() > MANY {
            self.waiting.prefetch(16);
        }
        // A packet whose transmission starts at this very instant has left the queue.
        while let Some(&Turn { start, bytes, .. }) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            if let Some(kept) = &mut self.kept {
                kept.waiting_bytes -= u64::from(bytes);
            }
        }
        self.waiting.len() as u64
    }

    /// A packet that arrives at `now` has to wait.
    #[inline(always)]
    fn wait(&mut self, now: Time, bytes: u32) {
        let start = self.busy_until;
        self.waiting.push_back(Turn { start, bytes, early: 0 });
        self.waited.0 += u128::from(start.since(now).as_nanos());
    }

    /// A transmission begins at `start`; returns when it ends.
    #[inline(always)]
    fn transmit(&mut self, start: Time, duration: Duration) -> Time {
        self.busy += duration;
        self.busy_until = later(start, duration);
        self.busy_until
    }

    /// A packet that comes at `at`, when nothing is in transmission; returns when its transmission
    /// ends. For constant rates, or none.
    #[inline(always)]
    pub fn start_idle(&mut self, at: Time, bytes: u32) -> Time {
        let Some(duration) = self.duration_of(bytes) else { return at };
        self.transmit(at, duration)
    }

    /// A packet that comes at `at`, known already `now`, and has to wait then; returns when its
    /// transmission ends. `None` if that changes what has to be told at its time: it is turned
    /// away, or the queue is longer than ever before.
    pub fn start_waiting(&mut self, (now, at): (Time, Time), bytes: u32) -> Option<Time> {
        let duration = self.duration_of(bytes)?;
        self.settle(now);
        let start = self.busy_until;
        let wait = start.since(at);
        let early = u32::try_from(wait.as_nanos()).ok()?;
        // Those that are gone by then count, too, unless they make a difference: to look for them
        // in a long queue takes its time. In bytes they always do: the more careful way.
        let mut before = self.waiting.len() as u64;
        let looks = before >= u64::from(self.queue_max);
        if looks {
            before -= self.waiting.partition_point(|turn| turn.start <= at) as u64;
        }
        let waiting = Occupancy { packets: before, bytes: self.waiting_bytes() };
        if looks && before >= self.queue_max() || !self.room.admits(waiting, bytes) {
            return None;
        }
        if looks {
            self.keep(at, bytes);
        }
        self.waiting.push_back(Turn { start, bytes, early });
        self.waited.0 += u128::from(wait.as_nanos());
        Some(self.transmit(start, duration))
    }

    /// When a packet came whose transmission starts at `start`, or some time since when it has
    /// been here.
    pub fn arrival_before(&self, start: Time) -> Time {
        let index = self.waiting.partition_point(|turn| turn.start < start);
        match self.waiting.get(index) {
            Some(turn) if turn.start == start => turn.arrival(),
            _ => start,
        }
    }

    /// How long a transmission takes; for constant rates, or none.
    pub fn takes(&self, bytes: u32) -> Duration {
        self.rate().map_or(Duration::ZERO, |rate| rate.duration_of(bytes + self.overhead))
    }

    /// All transmission times so far, whole.
    pub const fn busy_in_all(&self) -> Duration {
        self.busy
    }

    /// How long a transmission takes, at a constant rate.
    #[inline(always)]
    fn duration_of(&mut self, bytes: u32) -> Option<Duration> {
        if self.known.bytes == bytes { Some(self.known.duration()) } else { self.learn(bytes) }
    }

    /// The size before the last comes again, or another.
    #[inline(never)]
    fn learn(&mut self, bytes: u32) -> Option<Duration> {
        let rate = self.rate()?;
        std::mem::swap(&mut self.known, &mut self.known_before);
        if self.known.bytes != bytes {
            let duration = rate.duration_of(bytes + self.overhead);
            let Ok(nanoseconds) = u32::try_from(duration.as_nanos()) else {
                return Some(duration);
            };
            self.known = Known { bytes, nanoseconds };
        }
        Some(self.known.duration())
    }

    /// How many wait at `now`.
    pub fn queued(&self, now: Time) -> u64 {
        let begun = self.waiting.partition_point(|turn| turn.start <= now);
        let here = self.waiting.partition_point(|turn| turn.arrival() <= now);
        here.saturating_sub(begun) as u64
    }

    /// Begins a transmission at `now`, when none is under way; returns when it ends. The packet has
    /// waited for it, or it has just come.
    pub fn begin(&mut self, now: Time, bytes: u32, waited: bool) -> Time {
        let end = if let Some(duration) = self.duration_of(bytes) {
            later(now, duration)
        } else if let Some(service) = &mut self.service {
            service.end(&Job { start: now, waited, bytes, on_wire: bytes + self.overhead })
        } else {
            now
        };
        self.busy += end.since(now);
        self.busy_until = end;
        end
    }

    /// When the transmission under way ends.
    pub const fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// The time that all packets together have spent waiting up to `now`, in nanoseconds.
    pub fn waited(&self, now: Time) -> u128 {
        let ahead = |turn: &Turn| turn.start.since(now.max(turn.arrival())).as_nanos();
        let known = self.waited.0;
        known - self.waiting.iter().map(|turn| u128::from(ahead(turn))).sum::<u128>()
    }

    /// The time spent transmitting up to `now`. What is left to do is done without a pause, so
    /// it takes until `busy_until`.
    pub fn busy(&self, now: Time) -> Duration {
        self.busy - self.busy_until.since(now)
    }

    /// The most packets that ever waited at once.
    pub fn queue_max(&self) -> u64 {
        self.kept.as_ref().map_or(self.queue_max, |kept| kept.queue_max).into()
    }

    /// Forgets the longest queue before `now`. Returns how long it will be when those arrive that
    /// are known and not here yet, and when that is.
    pub fn restart_maximum(&mut self, now: Time) -> Vec<(Time, u64)> {
        *self.most() = self.queued(now) as u32;
        let here = self.waiting.partition_point(|turn| turn.arrival() <= now);
        let length = |(index, turn): (usize, &Turn)| {
            let arrival = turn.arrival();
            let gone = self.waiting.partition_point(|other| other.start <= arrival);
            (arrival, (index + 1 - gone) as u64)
        };
        self.waiting.iter().enumerate().skip(here).map(length).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is remembered of sizes, each takes its own time; so do those that take minutes.
    #[test]
    fn each_size_takes_its_time() {
        let slow = Rate::from_bit_s(100);
        let mut transmitter =
            Transmitter::new(Some(slow), None, 10, droptail::Config::default().limits());
        let mut now = Time::ZERO;
        for bytes in [1500, 40, 1500, 1500, 30, 40, 40, 1500, 30] {
            let end = transmitter.begin(now, bytes, false);
            assert_eq!(end.since(now), slow.duration_of(bytes + 10), "{bytes}");
            now = end;
        }
    }
}
