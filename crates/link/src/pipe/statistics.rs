//! What a pipe tells about itself.

use super::Pipe;
use super::repair::Repairs;
use retx_units::{Duration, History, Time};

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// Turned away or thrown out by a queue.
    pub queue: u64,
    /// Lost to errors of the medium.
    pub channel: u64,
    /// Given up by a link that had sent them again and again.
    pub retry_limit: u64,
    /// Lost because a script said so.
    pub script: u64,
}

impl Drops {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.queue + self.channel + self.retry_limit + self.script
    }
}

/// Losses in a row: counted when a frame is let in, which settles its fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bursts {
    /// Runs of frames lost in a row.
    pub count: u64,
    /// Frames lost.
    pub frames: u64,
    /// The longest run.
    pub longest: u64,
    /// Frames lost since the last that was not.
    run: u64,
}

impl Bursts {
    /// Mean length of the runs that began since `start`, an earlier state of this; 0 without any.
    pub fn mean_since(&self, start: &Self) -> f64 {
        let count = self.count - start.count;
        if count == 0 { 0.0 } else { (self.frames - start.frames) as f64 / count as f64 }
    }

    #[inline]
    pub(super) const fn lost(&mut self) {
        self.count += (self.run == 0) as u64;
        self.run += 1;
        self.frames += 1;
        if self.run > self.longest {
            self.longest = self.run;
        }
    }

    #[inline]
    pub(super) const fn survived(&mut self) {
        self.run = 0;
    }

    /// Forgets the longest run so far. One that goes on is over: the next loss begins another.
    pub(super) const fn restart_maximum(&mut self) {
        self.longest = 0;
        self.run = 0;
    }
}

/// A pipe's counters at some instant, all counted from the beginning of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that arrived at the near end.
    pub packets_in: u64,
    /// Packets that left at the far end.
    pub packets_delivered: u64,
    /// Times that the queue marked a packet (congestion experienced) instead of dropping it.
    pub packets_marked: u64,
    /// Copies that the channel made of packets.
    pub copies: u64,
    /// Packets dropped.
    pub drops: Drops,
    /// Frames lost by the channel and how they came, by the order of transmission.
    pub bursts: Bursts,
    /// Packets waiting for the transmitter.
    pub queued: u64,
    /// Packets in transmission or on their way.
    pub in_air: u64,
    /// Time that all packets together have waited, in nanoseconds. Over a time interval this gives
    /// the mean queue (Little's law).
    pub waited: u128,
    /// Time spent transmitting.
    pub busy: Duration,
    /// The longest queue, in packets.
    pub queue_max: u64,
    /// Frames that the link sent again.
    pub frames_repeated: u64,
    /// Parity frames that the link sent.
    pub frames_parity: u64,
}

impl Statistics {
    /// packets in + copies = delivered + dropped + queued + in the air.
    pub const fn is_conserved(&self) -> bool {
        let out = self.packets_delivered + self.drops.total();
        self.packets_in + self.copies == out + self.queued + self.in_air
    }
}

impl Pipe {
    /// From now on it is kept how many wait, at every instant; asked of an empty pipe.
    pub fn keep_history(&mut self) {
        match (&mut self.repairs, &mut self.line) {
            (Some(repairs), _) => repairs.history = Some(History::default()),
            (None, Some(line)) => line.keep_history(),
            (None, None) => self.transmitter.keep_history(),
        }
    }

    /// How many have waited at every instant, if that was kept; empties it.
    pub fn take_history(&mut self) -> Option<History> {
        match (&mut self.repairs, &mut self.line) {
            (Some(repairs), _) => repairs.history.take(),
            (None, Some(line)) => line.take_history(),
            (None, None) => self.transmitter.take_history(),
        }
    }

    /// Packets that wait for the transmitter at `now`: [`Statistics::queued`] alone.
    pub fn queued(&self, now: Time) -> u64 {
        match (&self.repairs, &self.line) {
            (Some(repairs), _) => repairs.waiting(),
            (None, Some(line)) => line.held(),
            (None, None) => self.transmitter.queued(now),
        }
    }

    /// What has been counted by `now`, the waiting and the busy time up to then included. Where
    /// pipes are passed ahead of time, [`super::ahead::statistics`] tells.
    pub fn statistics(&self, now: Time) -> Statistics {
        let mut all = self.counted(now);
        if self.settles() {
            assert!(all.queued <= all.in_air, "who waits has not left");
            all.in_air -= all.queued;
        }
        all
    }

    /// The same; but in a pipe that settles those that wait still count as in the air, and in one
    /// that follows another what is known to come as past.
    pub(super) fn counted(&self, now: Time) -> Statistics {
        if let Some(repairs) = &self.repairs {
            return self.statistics_with_repairs(now, repairs);
        }
        let line = self.line.as_ref();
        let exceptions = self.exceptions();
        Statistics {
            packets_in: self.counts.packets_in,
            packets_delivered: self.counts.delivered,
            packets_marked: exceptions.marked,
            copies: exceptions.copies,
            drops: exceptions.drops,
            bursts: exceptions.bursts,
            queued: self.queued(now),
            in_air: self.air.len(),
            waited: line.map_or_else(|| self.transmitter.waited(now), |line| line.waited(now)),
            busy: if self.follows() {
                self.transmitter.busy_in_all()
            } else {
                self.transmitter.busy(now)
            },
            queue_max: line.map_or_else(
                || self.transmitter.queue_max().max(self.longest_known(now)),
                |line| line.longest(),
            ),
            frames_repeated: 0,
            frames_parity: 0,
        }
    }

    fn statistics_with_repairs(&self, now: Time, repairs: &Repairs) -> Statistics {
        let exceptions = self.exceptions();
        Statistics {
            packets_in: self.counts.packets_in,
            packets_delivered: self.counts.delivered,
            drops: exceptions.drops,
            bursts: exceptions.bursts,
            queued: repairs.waiting(),
            in_air: repairs.pending() + self.air.len(),
            waited: repairs.waited(now),
            busy: self.transmitter.busy(now),
            queue_max: repairs.longest(),
            frames_repeated: repairs.repeated,
            frames_parity: repairs.parity,
            ..Statistics::default()
        }
    }
}
