//! Statistics of a cell.

use retx_units::Duration;

/// Bursts of consecutive failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bursts {
    /// Number of bursts.
    pub count: u64,
    /// Number of failures.
    pub total: u64,
    /// Length of the longest burst.
    pub longest: u64,
    current: u64,
}

impl Bursts {
    /// Counts the next frame or packet; `bad` is true if it failed.
    pub fn add_outcome(&mut self, bad: bool) {
        if !bad {
            self.current = 0;
            return;
        }
        self.count += u64::from(self.current == 0);
        self.total += 1;
        self.current += 1;
        self.longest = self.longest.max(self.current);
    }

    /// Mean length of a burst; `None` if there were none.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total as f64 / self.count as f64)
    }

    /// Resets the maximum and ends the current burst.
    pub fn restart(&mut self) {
        *self = Self { count: self.count, total: self.total, longest: 0, current: 0 };
    }

    /// Bursts since the snapshot `start`, which was taken when maxima were reset.
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

/// Transmission attempts per packet; a packet is counted when its service ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Packets acknowledged or given up.
    pub packets: u64,
    /// Data frames sent for the packets counted.
    pub frames: u64,
    /// Largest number of data frames for one packet.
    pub max_frames: u64,
}

impl Attempts {
    /// Counts a finished packet.
    pub fn add_packet(&mut self, frames: u32) {
        self.packets += 1;
        self.frames += u64::from(frames);
        self.max_frames = self.max_frames.max(frames.into());
    }

    /// Mean number of data frames per packet; `None` without packets.
    pub fn mean(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.frames as f64 / self.packets as f64)
    }

    const fn since(&self, start: &Self) -> Self {
        let Self { packets, frames, max_frames } = *self;
        Self { packets: packets - start.packets, frames: frames - start.frames, max_frames }
    }

    fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.frames += other.frames;
        self.max_frames = self.max_frames.max(other.max_frames);
    }
}

/// Airtime of frames that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Airtime {
    /// Airtime of data frames that were received intact.
    pub data: Duration,
    /// Airtime of data frames that the channel lost.
    pub erroneous: Duration,
    /// Airtime of data frames that were lost in collisions.
    pub collided: Duration,
    /// Airtime of acknowledgments.
    pub ack: Duration,
    /// Airtime of RTS and CTS frames.
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

    /// Sum of all airtimes.
    pub fn total(&self) -> Duration {
        self.data + self.erroneous + self.collided + self.ack + self.rts_cts
    }
}

/// Counters of one station as a sender, or of a whole cell, from the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived at the station to be sent.
    pub packets_in: u64,
    /// Packets that reached the next station.
    pub packets_delivered: u64,
    /// Packets dropped by the queue, on arrival or later.
    pub dropped_by_queue: u64,
    /// Packets marked by the queue with congestion experienced.
    pub packets_marked: u64,
    /// Packets given up at the retry limit without having reached the next station.
    pub dropped_at_retry_limit: u64,
    /// Data frames sent, retries included.
    pub frames_sent: u64,
    /// Data frames that have ended.
    pub frames_ended: u64,
    /// Data frames that were not received intact.
    pub frames_erroneous: u64,
    /// Data frames that were not received intact because another transmission damaged them.
    pub frames_collided: u64,
    /// Data frames that were received intact, but whose acknowledgment was lost.
    pub acks_lost: u64,
    /// Retransmitted data frames.
    pub retries: u64,
    /// RTS frames sent.
    pub rts_sent: u64,
    /// RTS frames without a CTS.
    pub rts_failed: u64,
    /// Airtime of the frames that have ended.
    pub airtime: Airtime,
    /// Attempts per packet.
    pub attempts: Attempts,
    /// Bursts of erroneous data frames.
    pub error_bursts: Bursts,
    /// Bursts of packets given up.
    pub loss_bursts: Bursts,
    /// Bursts of data frames lost by the channel; frames damaged only by collisions are left out of
    /// the sequence.
    pub channel_bursts: Bursts,
}

impl Counters {
    /// Counters since the snapshot `start`, which was taken when maxima were reset.
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

    /// Adds another station's counters, except bursts, because bursts of different stations do not
    /// add up.
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

/// Snapshot of a station.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Counters at this time.
    pub counters: Counters,
    /// Number of packets in the queue.
    pub queued: u64,
    /// 1 while a packet is in service that has not reached the next station; otherwise 0.
    pub in_service: u64,
    /// Packets that the next station has received, and that a channel model still delays there.
    pub delayed: u64,
    /// Total waiting time of all packets, in packet-nanoseconds.
    pub waited: u128,
    /// Maximum queue length, in packets.
    pub queue_max: u64,
}

impl Statistics {
    /// True if packets in = delivered + dropped + queued + in service + delayed.
    pub const fn is_conserved(&self) -> bool {
        let Counters { packets_in, packets_delivered, .. } = self.counters;
        let dropped = self.counters.dropped_by_queue + self.counters.dropped_at_retry_limit;
        packets_in == packets_delivered + dropped + self.queued + self.in_service + self.delayed
    }
}
