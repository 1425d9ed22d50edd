//! The queue's line and the rate: who waits, and when each transmission starts and ends.

use super::later;
use super::rates::{Job, Rates, Service};
use crate::queue::{Occupancy, droptail};
use crate::ring::Ring;
use retx_units::{Duration, Rate, Time};

/// A first-in-first-out transmitter and those that wait for it. What each packet needs comes first,
/// then what those need that wait.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Transmitter {
    busy_until: Time,
    /// All transmission times so far, whole.
    busy: Duration,
    /// In bits per second; without one, 0, packets take no time, or what `service` says.
    bit_s: u64,
    /// How long the last two packet sizes take, which spares the division.
    known_bytes: [u32; 2],
    known: [Duration; 2],
    waiting_bytes: u64,
    /// Start of transmission and size of each packet whose start may still lie ahead.
    waiting: Ring<(Time, u32)>,
    queue_max: u32,
    overhead: u32,
    /// For a rate that changes.
    service: Option<Box<Service>>,
    /// All waiting times so far, whole, in nanoseconds.
    waited: u128,
}

impl Transmitter {
    /// What every packet needs: up to the known sizes.
    pub const HOT_BYTES: usize = std::mem::offset_of!(Self, waiting_bytes);

    pub fn new(rate: Option<Rate>, rates: Option<Rates>, overhead: u32) -> Self {
        let service = rates.map(|rates| Box::new(Service::new(rates)));
        Self {
            bit_s: rate.filter(|_| service.is_none()).map_or(0, Rate::as_bit_s),
            service,
            overhead,
            known_bytes: [u32::MAX; 2],
            known: [Duration::ZERO; 2],
            busy_until: Time::ZERO,
            waiting: Ring::default(),
            waiting_bytes: 0,
            waited: 0,
            busy: Duration::ZERO,
            queue_max: 0,
        }
    }

    #[inline(always)]
    const fn rate(&self) -> Option<Rate> {
        if self.bit_s == 0 { None } else { Some(Rate::from_bit_s(self.bit_s)) }
    }

    /// True when a packet that arrives at `now` may wait, or need not.
    #[inline(always)]
    pub fn admits(&mut self, now: Time, queue: &droptail::Limits, bytes: u32) -> bool {
        if self.busy_until <= now {
            self.waiting.clear();
            self.waiting_bytes = 0;
            return true;
        }
        let packets = self.settle(now);
        let waiting = Occupancy { packets, bytes: self.waiting_bytes };
        queue.admits(waiting, bytes)
    }

    /// Forgets those whose transmission has begun by `now`; returns how many still wait.
    #[inline(always)]
    pub fn settle(&mut self, now: Time) -> u64 {
        // A packet whose transmission starts at this very instant has left the queue.
        while let Some(&(start, bytes)) = self.waiting.front() {
            if start > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(bytes);
        }
        self.waiting.len() as u64
    }

    /// Takes a packet that [`Self::admits`] has let in; returns when its transmission ends.
    #[inline(always)]
    pub fn start(&mut self, now: Time, bytes: u32) -> Time {
        let Some(rate) = self.rate() else { return self.start_otherwise(now, bytes) };
        let start = self.turn(now, bytes);
        let duration = self.duration_of(rate, bytes);
        self.busy += duration;
        self.busy_until = later(start, duration);
        self.busy_until
    }

    /// A packet that comes at `at`, when nothing is in transmission; returns when its transmission
    /// ends. For constant rates, or none.
    #[inline(always)]
    pub fn start_idle(&mut self, at: Time, bytes: u32) -> Time {
        let Some(rate) = self.rate() else { return at };
        let duration = self.duration_of(rate, bytes);
        self.busy += duration;
        self.busy_until = later(at, duration);
        self.busy_until
    }

    /// How long a transmission takes; for constant rates, or none.
    pub fn takes(&self, bytes: u32) -> Duration {
        self.rate().map_or(Duration::ZERO, |rate| rate.duration_of(bytes + self.overhead))
    }

    /// All transmission times so far, whole.
    pub const fn busy_in_all(&self) -> Duration {
        self.busy
    }

    /// Without a constant rate.
    fn start_otherwise(&mut self, now: Time, bytes: u32) -> Time {
        if self.service.is_none() {
            return now;
        }
        let start = self.turn(now, bytes);
        let on_wire = bytes + self.overhead;
        let Some(service) = &mut self.service else { return now };
        let end = service.end(&Job { start, waited: start > now, bytes, on_wire });
        self.busy += end.since(start);
        self.busy_until = end;
        end
    }

    /// When the transmission of a packet begins that arrives at `now`.
    #[inline(always)]
    fn turn(&mut self, now: Time, bytes: u32) -> Time {
        let start = self.busy_until.max(now);
        if start > now {
            self.waiting.push_back((start, bytes));
            self.waiting_bytes += u64::from(bytes);
            self.waited += u128::from(start.since(now).as_nanos());
            self.queue_max = self.queue_max.max(self.waiting.len() as u32);
        }
        start
    }

    #[inline(always)]
    fn duration_of(&mut self, rate: Rate, bytes: u32) -> Duration {
        if self.known_bytes[0] != bytes {
            self.learn(rate, bytes);
        }
        self.known[0]
    }

    /// The size before the last comes again, or another.
    #[inline(never)]
    fn learn(&mut self, rate: Rate, bytes: u32) {
        self.known_bytes.swap(0, 1);
        self.known.swap(0, 1);
        if self.known_bytes[0] != bytes {
            self.known_bytes[0] = bytes;
            self.known[0] = rate.duration_of(bytes + self.overhead);
        }
    }

    /// How many wait at `now`.
    pub fn queued(&self, now: Time) -> u64 {
        (self.waiting.len() - self.waiting.partition_point(|(start, _)| *start <= now)) as u64
    }

    /// Who waits at `now`.
    pub fn waiting(&self, now: Time) -> Occupancy {
        let ahead = self.waiting.iter().filter(|(start, _)| *start > now);
        ahead.fold(Occupancy::default(), |sum, (_, bytes)| Occupancy {
            packets: sum.packets + 1,
            bytes: sum.bytes + u64::from(*bytes),
        })
    }

    /// Begins a transmission at `now`, when none is under way; returns when it ends. The packet has
    /// waited for it, or it has just come.
    pub fn begin(&mut self, now: Time, bytes: u32, waited: bool) -> Time {
        let end = if let Some(rate) = self.rate() {
            later(now, self.duration_of(rate, bytes))
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
        let ahead = self.waiting.iter().map(|(start, _)| u128::from(start.since(now).as_nanos()));
        self.waited - ahead.sum::<u128>()
    }

    /// The time spent transmitting up to `now`. What is left to do is done without a pause, so
    /// it takes until `busy_until`.
    pub fn busy(&self, now: Time) -> Duration {
        self.busy - self.busy_until.since(now)
    }

    /// The most packets that ever waited at once.
    pub const fn queue_max(&self) -> u64 {
        self.queue_max as u64
    }

    pub fn restart_maximum(&mut self, now: Time) {
        self.queue_max = self.waiting(now).packets as u32;
    }
}
