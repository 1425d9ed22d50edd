//! What a cell tells about itself.

use retx_units::Duration;

/// Runs of bad things in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bursts {
    /// Runs begun.
    pub count: u64,
    /// Bad things in all of them.
    pub total: u64,
    /// The longest run.
    pub longest: u64,
    current: u64,
}

impl Bursts {
    /// The next thing in the row.
    pub fn note(&mut self, bad: bool) {
        if !bad {
            self.current = 0;
            return;
        }
        self.count += u64::from(self.current == 0);
        self.total += 1;
        self.current += 1;
        self.longest = self.longest.max(self.current);
    }

    /// The mean length of a run.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total as f64 / self.count as f64)
    }

    /// From now on: the longest so far is forgotten. A run that is going on ends here.
    pub fn restart(&mut self) {
        *self = Self { count: self.count, total: self.total, longest: 0, current: 0 };
    }

    /// What has come since `start`, a copy taken at a restart.
    #[must_use]
    pub const fn since(&self, start: &Self) -> Self {
        Self {
            count: self.count - start.count,
            total: self.total - start.total,
            longest: self.longest,
            current: self.current,
        }
    }
}

/// How often packets were tried, counted when they are done with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Packets acknowledged or given up.
    pub packets: u64,
    /// Data frames sent for them.
    pub frames: u64,
    /// The most that were sent for one.
    pub most: u64,
}

impl Attempts {
    /// A packet is done with.
    pub fn note(&mut self, frames: u32) {
        self.packets += 1;
        self.frames += u64::from(frames);
        self.most = self.most.max(frames.into());
    }

    /// Data frames for a packet.
    pub fn mean(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.frames as f64 / self.packets as f64)
    }

    const fn since(&self, start: &Self) -> Self {
        let Self { packets, frames, most } = *self;
        Self { packets: packets - start.packets, frames: frames - start.frames, most }
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.frames += other.frames;
        self.most = self.most.max(other.most);
    }
}

/// Time on the air, of frames that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Airtime {
    /// Data frames that reached their receiver whole.
    pub data: Duration,
    /// Data frames that the channel has lost.
    pub erroneous: Duration,
    /// Data frames that another transmission has spoilt.
    pub collided: Duration,
    /// Acknowledgments.
    pub ack: Duration,
    /// RTS and CTS.
    pub rts_cts: Duration,
}

impl Airtime {
    fn each(self, other: Self, of: fn(Duration, Duration) -> Duration) -> Self {
        Self {
            data: of(self.data, other.data),
            erroneous: of(self.erroneous, other.erroneous),
            collided: of(self.collided, other.collided),
            ack: of(self.ack, other.ack),
            rts_cts: of(self.rts_cts, other.rts_cts),
        }
    }

    /// All of it.
    pub fn total(&self) -> Duration {
        self.data + self.erroneous + self.collided + self.ack + self.rts_cts
    }
}

/// Counts of one station as a sender, or of a whole cell, from the beginning of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived to be sent.
    pub packets_in: u64,
    /// Packets that reached the next station.
    pub packets_delivered: u64,
    /// Packets that the queue has turned away, or dropped while they waited.
    pub dropped_by_queue: u64,
    /// Packets that the queue has marked: congestion experienced.
    pub packets_marked: u64,
    /// Packets given up at the retry limit that the next station has not got.
    pub dropped_at_retry_limit: u64,
    /// Data frames sent, retries included.
    pub frames_sent: u64,
    /// Data frames whose end has come: all but those on the air.
    pub frames_ended: u64,
    /// Data frames that did not reach their receiver whole.
    pub frames_erroneous: u64,
    /// Of these, the ones that another transmission has spoilt.
    pub frames_collided: u64,
    /// Data frames whose acknowledgment did not come back whole.
    pub acks_lost: u64,
    /// Data frames that had been sent before.
    pub retries: u64,
    /// RTS frames sent.
    pub rts_sent: u64,
    /// RTS frames that no CTS answered.
    pub rts_failed: u64,
    /// Time on the air.
    pub airtime: Airtime,
    /// How often packets were tried.
    pub attempts: Attempts,
    /// Runs of erroneous data frames.
    pub error_bursts: Bursts,
    /// Runs of packets given up.
    pub loss_bursts: Bursts,
    /// Runs of data frames that the channel has spoilt, collisions left out.
    pub channel_bursts: Bursts,
}

impl Counters {
    /// What has been counted since `start`, a copy taken at a restart.
    #[must_use]
    pub fn since(&self, start: &Self) -> Self {
        Self {
            packets_in: self.packets_in - start.packets_in,
            packets_delivered: self.packets_delivered - start.packets_delivered,
            dropped_by_queue: self.dropped_by_queue - start.dropped_by_queue,
            packets_marked: self.packets_marked - start.packets_marked,
            dropped_at_retry_limit: self.dropped_at_retry_limit - start.dropped_at_retry_limit,
            frames_sent: self.frames_sent - start.frames_sent,
            frames_ended: self.frames_ended - start.frames_ended,
            frames_erroneous: self.frames_erroneous - start.frames_erroneous,
            frames_collided: self.frames_collided - start.frames_collided,
            acks_lost: self.acks_lost - start.acks_lost,
            retries: self.retries - start.retries,
            rts_sent: self.rts_sent - start.rts_sent,
            rts_failed: self.rts_failed - start.rts_failed,
            airtime: self.airtime.each(start.airtime, |end, start| end - start),
            attempts: self.attempts.since(&start.attempts),
            error_bursts: self.error_bursts.since(&start.error_bursts),
            loss_bursts: self.loss_bursts.since(&start.loss_bursts),
            channel_bursts: self.channel_bursts.since(&start.channel_bursts),
        }
    }

    /// Adds another station's; bursts are kept, as runs of different stations do not add up.
    pub fn add(&mut self, other: &Self) {
        self.packets_in += other.packets_in;
        self.packets_delivered += other.packets_delivered;
        self.dropped_by_queue += other.dropped_by_queue;
        self.packets_marked += other.packets_marked;
        self.dropped_at_retry_limit += other.dropped_at_retry_limit;
        self.frames_sent += other.frames_sent;
        self.frames_ended += other.frames_ended;
        self.frames_erroneous += other.frames_erroneous;
        self.frames_collided += other.frames_collided;
        self.acks_lost += other.acks_lost;
        self.retries += other.retries;
        self.rts_sent += other.rts_sent;
        self.rts_failed += other.rts_failed;
        self.airtime = self.airtime.each(other.airtime, |one, other| one + other);
        self.attempts.add(&other.attempts);
    }
}

/// A station at some instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// What it has counted.
    pub counters: Counters,
    /// Packets waiting behind the one in service.
    pub queued: u64,
    /// 1 while a packet is in service that the next station has not got.
    pub in_service: u64,
    /// Packets that have come to the next station, which hands them on later.
    pub late: u64,
    /// Time that all packets together have waited, in nanoseconds.
    pub waited: u128,
    /// The longest queue, in packets.
    pub queue_max: u64,
}

impl Statistics {
    /// packets in = delivered + dropped + queued + in service + late.
    pub const fn is_conserved(&self) -> bool {
        let Counters { packets_in, packets_delivered, .. } = self.counters;
        let dropped = self.counters.dropped_by_queue + self.counters.dropped_at_retry_limit;
        packets_in == packets_delivered + dropped + self.queued + self.in_service + self.late
    }
}
