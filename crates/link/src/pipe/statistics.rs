//! What a pipe tells about itself.

use retx_units::Duration;

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// Turned away or thrown out by a queue.
    pub queue: u64,
    /// Lost to errors of the medium.
    pub channel: u64,
    /// Lost because a script said so.
    pub script: u64,
}

impl Drops {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.queue + self.channel + self.script
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
}

impl Statistics {
    /// packets in + copies = delivered + dropped + queued + in the air.
    pub const fn is_conserved(&self) -> bool {
        let out = self.packets_delivered + self.drops.total();
        self.packets_in + self.copies == out + self.queued + self.in_air
    }
}
