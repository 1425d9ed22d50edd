//! Transmitter and its queue: which packets wait, and when each transmission starts and ends.

mod observed;

use super::waiting_packet::WaitingPacket;
use super::{later, later_by};
use crate::queue::{Occupancy, droptail};
use crate::rates::{Job, Rates, Service};
use crate::ring::Ring;
use prefetch_index::prefetch_index;
use retx_units::{Duration, QueueLengthHistory, Rate, Time};

/// FIFO transmitter and the packets that wait for it. Fields that every packet needs come first,
/// followed by those that only waiting packets need.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Transmitter {
    busy_until: Time,
    /// Sum of all transmission times, including the parts that lie in the future.
    busy: Duration,
    /// Transmission time of the most recent packet size, cached to avoid a division.
    known: Known,
    /// Packets whose transmission has not begun. Packets whose transmission has begun are not
    /// removed at once.
    waiting: Ring<WaitingPacket>,
    /// Sum of all waiting times, including the parts that lie in the future.
    waited: Nanoseconds,
    room: droptail::Limits,
    /// Maximum number of packets that waited at once; the queue has space for at least this number.
    /// 0 if [`Kept`] holds the maximum.
    queue_max: u32,
    /// Transmission time of the packet size before the most recent one.
    known_before: Known,
    overhead: u32,
    /// Rate in bit/s; 0 if it is not constant (see `service`) or transmissions take no time.
    bit_s: u64,
    /// Transmission times at a changing rate; `None` for a constant rate.
    service: Option<Box<Service>>,
    /// State for limits in bytes and for recording the queue length.
    kept: Option<Box<Kept>>,
}

/// State that must be updated for every waiting packet, if the queue is limited in bytes or its
/// length is recorded. The transmitter's own `queue_max` is then 0, so every waiting packet exceeds
/// it and takes the slow path. Transmitters without this state have no additional check.
#[derive(Debug, Clone, Default)]
struct Kept {
    queue_max: u32,
    /// Bytes of the packets in the queue.
    waiting_bytes: u64,
    /// Queue length over time.
    history: Option<QueueLengthHistory>,
}

/// Transmission time of packets of one size; times above four seconds are not cached.
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

/// Sum in nanoseconds, aligned to 8 bytes to avoid the padding that a u128 would need.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, packed(8))]
struct Nanoseconds(u128);

/// Number of waiting packets above which slots are prefetched, because such a long queue is assumed
/// not to stay in the cache.
const MANY: usize = 1000;

impl Transmitter {
    /// Leading bytes of this struct that every packet uses.
    pub const HOT_BYTES: usize = std::mem::offset_of!(Self, waiting);
    /// Leading bytes of this struct that waiting packets use; they include [`Self::HOT_BYTES`].
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

    /// Prefetches the state needed by packets that will wait.
    #[inline]
    pub fn prefetch_waiting(&self) {
        prefetch_index(std::slice::from_ref(&self.waiting), 0);
    }

    /// Prefetches the slot that the next packet to wait will take.
    #[inline]
    pub fn prefetch_back(&self) {
        self.waiting.prefetch(self.waiting.len() as u32);
    }

    /// Prefetches the slots of the first waiting packet, and of the next one to wait.
    #[inline]
    pub fn prefetch_ends(&self) {
        self.waiting.prefetch(0);
        self.prefetch_back();
    }

    #[inline(always)]
    const fn rate(&self) -> Option<Rate> {
        if self.bit_s == 0 { None } else { Some(Rate::from_bit_s(self.bit_s)) }
    }

    /// Admits a packet at `now`; returns the end of its transmission, or `None` if the queue is
    /// full. `has_waited` is true if any packet has waited since the transmitter was last idle.
    #[inline(always)]
    pub fn admit(&mut self, now: Time, bytes: u32, has_waited: &mut bool) -> Option<Time> {
        let Some(duration) = self.fixed_transmission_time(bytes) else {
            return self.take_at_varying_rate(now, bytes);
        };
        if self.busy_until <= now {
            // The transmitter is idle, so the transmissions of all packets in `waiting` are over.
            if *has_waited {
                self.waiting.clear();
                if let Some(kept) = self.kept_mut() {
                    kept.waiting_bytes = 0;
                }
                *has_waited = false;
            }
            return Some(self.transmit(now, duration));
        }
        *has_waited = true;
        // `waiting` may still contain packets whose transmission has begun. They are removed only
        // if the queue, including them, is as long as the longest queue so far. A shorter queue
        // certainly has space, because the longest one was within the limit.
        if self.waiting.len() >= self.queue_max as usize {
            self.note_another(now, bytes)?;
        }
        self.wait(now, bytes);
        Some(self.transmit(self.busy_until, duration))
    }

    /// Limits of the queue.
    pub const fn limits(&self) -> droptail::Limits {
        self.room
    }

    /// Updates the maximum queue length for a packet that has to wait at `now`; `None` if the queue
    /// is full.
    #[inline(never)]
    fn note_another(&mut self, now: Time, bytes: u32) -> Option<()> {
        let packets = self.advance_to(now);
        let waiting = Occupancy { packets, bytes: self.waiting_bytes() };
        if !self.room.admits(waiting, bytes) {
            return None;
        }
        self.keep(now, bytes);
        let most = self.most();
        *most = (*most).max(packets as u32 + 1);
        Some(())
    }

    /// Records in `kept`, if it is present, that a packet waits from `at` until the transmitter is
    /// idle.
    #[inline(always)]
    fn keep(&mut self, at: Time, bytes: u32) {
        let busy_until = self.busy_until;
        if let Some(kept) = self.kept_mut() {
            kept.waiting_bytes += u64::from(bytes);
            kept.history.iter_mut().for_each(|history| history.add_packet(at, busy_until));
        }
    }

    /// Bytes of the packets in the queue; 0 if they are not counted, because the queue has no limit
    /// in bytes.
    fn waiting_bytes(&self) -> u64 {
        let kept = if self.queue_max > 0 { None } else { self.kept.as_ref() };
        kept.map_or(0, |kept| kept.waiting_bytes)
    }

    /// [`Kept`], if it is present. Usually `queue_max` shows that it is not, without a read of
    /// further memory.
    #[inline(always)]
    fn kept_mut(&mut self) -> Option<&mut Kept> {
        if self.queue_max > 0 { None } else { self.kept.as_deref_mut() }
    }

    /// Maximum number of packets that waited at once; stored in `kept` if that is present,
    /// otherwise in this struct.
    fn most(&mut self) -> &mut u32 {
        if self.queue_max > 0 {
            return &mut self.queue_max;
        }
        self.kept.as_mut().map_or(&mut self.queue_max, |kept| &mut kept.queue_max)
    }

    /// [`Self::admit`] for a rate that is not constant.
    #[inline(never)]
    fn take_at_varying_rate(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let waits = self.busy_until > now;
        if waits {
            self.note_another(now, bytes)?;
        }
        let Some(service) = &mut self.service else { return Some(now) };
        let start = self.busy_until.max(now);
        let on_wire = bytes + self.overhead;
        let end = service.transmission_end(&Job { start, waited: waits, bytes, on_wire });
        if waits {
            self.wait(now, bytes);
        }
        self.busy += end.since(start);
        self.busy_until = end;
        Some(end)
    }

    /// Removes the packets whose transmission has begun by `now`; returns the number still waiting.
    #[inline(always)]
    pub fn advance_to(&mut self, now: Time) -> u64 {
        if self.waiting.len() > MANY {
            self.waiting.prefetch(16);
        }
        // A packet whose transmission starts at `now` has left the queue.
        let leaves = |packet: &WaitingPacket| packet.start <= now;
        if self.queue_max == 0 && self.kept.is_some() {
            let mut bytes = 0;
            self.waiting.drop_while(|packet| {
                bytes += if leaves(packet) { u64::from(packet.bytes) } else { 0 };
                leaves(packet)
            });
            self.kept_mut().into_iter().for_each(|kept| kept.waiting_bytes -= bytes);
        } else {
            self.waiting.drop_while(leaves);
        }
        self.waiting.len() as u64
    }

    /// Enqueues a packet that arrives at `now`.
    #[inline(always)]
    fn wait(&mut self, now: Time, bytes: u32) {
        let start = self.busy_until;
        self.waiting.push_back(WaitingPacket { start, bytes, ahead_wait_ns: 0 });
        self.waited.0 += u128::from(start.since(now).as_nanos());
    }

    /// Starts a transmission at `start`; returns its end.
    #[inline(always)]
    fn transmit(&mut self, start: Time, duration: Duration) -> Time {
        self.busy = later_by(self.busy, duration);
        self.busy_until = later(start, duration);
        self.busy_until
    }

    /// Transmits a packet that arrives at `at`, when the transmitter is idle; returns the end of
    /// its transmission. Valid only for a constant rate, or without a rate.
    #[inline(always)]
    pub fn transmit_when_idle(&mut self, at: Time, bytes: u32) -> Time {
        let Some(duration) = self.fixed_transmission_time(bytes) else { return at };
        self.transmit(at, duration)
    }

    /// Enqueues a packet that is known at `now` to arrive at `at`; returns the end of its
    /// transmission. `None` if its arrival would have an effect that can be observed at that time:
    /// a drop, or a new maximum of the queue length.
    pub fn transmit_after_waiting(&mut self, (now, at): (Time, Time), bytes: u32) -> Option<Time> {
        let duration = self.fixed_transmission_time(bytes)?;
        // A packet whose transmission starts now is kept: its arrival may still be read at this
        // time, when it has not yet passed ahead of the others.
        self.advance_to(Time::from_nanos(now.as_nanos().saturating_sub(1)));
        let start = self.busy_until;
        let wait = start.since(at);
        // The arrival time is stored as the time from arrival to transmission, in nanoseconds, in
        // 32 bits. A packet that waits longer than 4 s is therefore refused here; it is enqueued
        // when it arrives.
        let ahead_wait_ns = u32::try_from(wait.as_nanos()).ok()?;
        // `waiting` may contain packets that will have left the queue by `at`. Searching a long
        // queue for them is slow. It is done only if the queue, including them, is as long as the
        // longest queue so far; with a limit in bytes, it is always done.
        let mut before = self.waiting.len() as u64;
        let looks = before >= u64::from(self.queue_max);
        if looks {
            before -= self.waiting.partition_point(|packet| packet.start <= at) as u64;
        }
        let waiting = Occupancy { packets: before, bytes: self.waiting_bytes() };
        if looks && before >= self.queue_max() || !self.room.admits(waiting, bytes) {
            return None;
        }
        if looks {
            self.keep(at, bytes);
        }
        self.waiting.push_back(WaitingPacket { start, bytes, ahead_wait_ns });
        self.waited.0 += u128::from(wait.as_nanos());
        Some(self.transmit(start, duration))
    }

    /// Arrival of the packet whose transmission starts at `start`; if unknown, a time at which the
    /// packet has certainly arrived.
    pub fn arrival_before(&self, start: Time) -> Time {
        let index = self.waiting.partition_point(|packet| packet.start < start);
        match self.waiting.get(index) {
            Some(packet) if packet.start == start => packet.arrival(),
            _ => start,
        }
    }

    /// Transmission time of a packet of `bytes`; 0 unless the rate is constant.
    pub fn transmission_time(&self, bytes: u32) -> Duration {
        self.rate().map_or(Duration::ZERO, |rate| rate.transmission_time(bytes + self.overhead))
    }

    /// Transmission time at a constant rate; `None` for any other transmitter.
    #[inline(always)]
    fn fixed_transmission_time(&mut self, bytes: u32) -> Option<Duration> {
        if self.known.bytes == bytes {
            Some(self.known.duration())
        } else {
            self.update_known_times(bytes)
        }
    }

    /// Transmission time of a packet size that differs from the most recent one: cached if it is
    /// the size before that one, otherwise computed.
    #[inline(never)]
    fn update_known_times(&mut self, bytes: u32) -> Option<Duration> {
        // Two sizes suffice for most links: full-sized segments, and a last segment or ACKs.
        std::mem::swap(&mut self.known, &mut self.known_before);
        if self.known.bytes != bytes {
            // The rate is in another cache line, which is read only here.
            let rate = self.rate()?;
            let duration = rate.transmission_time(bytes + self.overhead);
            // A time above four seconds does not fit into the cache, and is too rare to matter.
            let Ok(nanoseconds) = u32::try_from(duration.as_nanos()) else {
                return Some(duration);
            };
            self.known = Known { bytes, nanoseconds };
        }
        Some(self.known.duration())
    }

    /// Starts a transmission at `now`, when the transmitter is idle; returns its end. `waited` is
    /// true if the packet was queued.
    pub fn begin_transmission(&mut self, now: Time, bytes: u32, waited: bool) -> Time {
        let end = if let Some(duration) = self.fixed_transmission_time(bytes) {
            later(now, duration)
        } else if let Some(service) = &mut self.service {
            service.transmission_end(&Job {
                start: now,
                waited,
                bytes,
                on_wire: bytes + self.overhead,
            })
        } else {
            now
        };
        self.busy += end.since(now);
        self.busy_until = end;
        end
    }

    /// End of the current transmission.
    pub const fn busy_until(&self) -> Time {
        self.busy_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caching never changes a transmission time, including times of minutes.
    #[test]
    fn each_size_takes_its_time() {
        let slow = Rate::from_bit_s(100);
        let mut transmitter =
            Transmitter::new(Some(slow), None, 10, droptail::Config::default().limits());
        let mut now = Time::ZERO;
        for bytes in [1500, 40, 1500, 1500, 30, 40, 40, 1500, 30] {
            let end = transmitter.begin_transmission(now, bytes, false);
            assert_eq!(end.since(now), slow.transmission_time(bytes + 10), "{bytes}");
            now = end;
        }
    }
}
