//! Statistics of a pipe: packets, drops, bursts of losses, delays and queue lengths.

use super::Pipe;
use super::repair::Repairs;
use retx_units::{Duration, QueueLengthHistory, Time};

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// Packets dropped by a queue, at enqueue or later.
    pub queue: u64,
    /// Packets lost to errors of the medium, or dropped by a policer.
    pub channel: u64,
    /// Packets given up by the link after the last retry.
    pub retry_limit: u64,
    /// Packets dropped because a script lists them.
    pub script: u64,
}

impl Drops {
    /// Sum over all reasons.
    pub const fn total(&self) -> u64 {
        self.queue + self.channel + self.retry_limit + self.script
    }
}

/// Bursts of consecutive losses. A loss is counted as soon as it is determined, which may be when
/// the frame enters the pipe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bursts {
    /// Number of bursts.
    pub count: u64,
    /// Frames lost.
    pub frames: u64,
    /// Length of the longest burst.
    pub longest: u64,
    /// Length of the current burst so far; 0 if the last frame was not lost.
    run: u64,
}

impl Bursts {
    /// Mean length of the bursts that began after the snapshot `start`; 0 if there were none.
    pub fn mean_since(&self, start: &Self) -> f64 {
        let count = self.count - start.count;
        if count == 0 { 0.0 } else { (self.frames - start.frames) as f64 / count as f64 }
    }

    #[inline]
    pub(super) const fn add_loss(&mut self) {
        self.count += (self.run == 0) as u64;
        self.run += 1;
        self.frames += 1;
        if self.run > self.longest {
            self.longest = self.run;
        }
    }

    /// Ends the current burst, because a packet was not lost.
    #[inline]
    pub(super) const fn end_burst(&mut self) {
        self.run = 0;
    }

    /// Resets the maximum and ends the current burst, so that the next loss begins a new burst.
    pub(super) const fn restart_maximum(&mut self) {
        self.longest = 0;
        self.run = 0;
    }
}

/// Delays that the channels add to frames. A frame is counted if a channel delays it, or if it
/// waits for an earlier frame because order is kept. Links with `arq` or `fec` count no delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delays {
    /// Number of frames that were delayed.
    frames: u64,
    /// Sum of the delays that the channels add to the counted frames, in nanoseconds.
    drawn_ns: u128,
    /// Sum of the waits of the counted frames for earlier frames, in nanoseconds.
    waited_ns: u128,
}

impl Delays {
    /// Mean delay that the channels add, and mean wait for earlier frames, since the snapshot
    /// `start`; `None` if no frame was delayed.
    pub fn means_since(&self, start: &Self) -> Option<(f64, f64)> {
        let frames = self.frames - start.frames;
        let mean = |total_ns: u128| total_ns as f64 / 1e9 / frames as f64;
        let totals = (self.drawn_ns - start.drawn_ns, self.waited_ns - start.waited_ns);
        (frames > 0).then(|| (mean(totals.0), mean(totals.1)))
    }

    /// Counts a frame with the delay that the channels add to it, and its wait for earlier frames.
    #[inline]
    pub(super) fn add_frame(&mut self, drawn: Duration, waited: Duration) {
        let [drawn, waited] = [drawn, waited].map(|it| u128::from(it.as_nanos()));
        self.frames += u64::from(drawn + waited > 0);
        self.drawn_ns += drawn;
        self.waited_ns += waited;
    }
}

/// Snapshot of a pipe's counters, counted from the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that arrived at the near end.
    pub packets_in: u64,
    /// Packets that left at the far end.
    pub packets_delivered: u64,
    /// Number of packets that the queue marked (congestion experienced) instead of dropping them.
    pub packets_marked: u64,
    /// Copies made by the channel.
    pub copies: u64,
    /// Packets dropped.
    pub drops: Drops,
    /// Losses on the channel and their bursts, in the order of transmission.
    pub bursts: Bursts,
    /// Delays that the channels add to frames.
    pub delays: Delays,
    /// Packets waiting for the transmitter.
    pub queued: u64,
    /// Packets in transmission or propagation.
    pub in_transit: u64,
    /// Total waiting time of all packets, in packet-nanoseconds. Its increase over an interval,
    /// divided by the length of the interval, is the mean queue length (Little's law).
    pub waited: u128,
    /// Time spent transmitting.
    pub busy: Duration,
    /// Maximum queue length, in packets.
    pub queue_max: u64,
    /// Link-layer retransmissions.
    pub frames_repeated: u64,
    /// Parity frames sent.
    pub frames_parity: u64,
}

impl Statistics {
    /// True if packets in + copies = delivered + dropped + queued + in transit.
    pub const fn is_conserved(&self) -> bool {
        let out = self.packets_delivered + self.drops.total();
        self.packets_in + self.copies == out + self.queued + self.in_transit
    }
}

impl Pipe {
    /// Starts recording the queue length over time; the pipe must be empty.
    pub fn record_history(&mut self) {
        match (&mut self.repairs, &mut self.line) {
            (Some(repairs), _) => repairs.history = Some(QueueLengthHistory::default()),
            (None, Some(line)) => line.record_history(),
            (None, None) => self.transmitter.record_history(),
        }
    }

    /// Ends the recording; returns the queue length over time, if it was recorded.
    pub fn take_history(&mut self) -> Option<QueueLengthHistory> {
        match (&mut self.repairs, &mut self.line) {
            (Some(repairs), _) => repairs.history.take(),
            (None, Some(line)) => line.take_history(),
            (None, None) => self.transmitter.take_history(),
        }
    }

    /// Number of packets that wait for the transmitter at `now`, as in [`Statistics::queued`].
    pub fn queue_length(&self, now: Time) -> u64 {
        match (&self.repairs, &self.line) {
            (Some(repairs), _) => repairs.queue_length(),
            (None, Some(line)) => line.undelivered_packets(),
            (None, None) => self.transmitter.queue_length(now),
        }
    }

    /// Statistics at `now`, including waiting and busy time up to then. If packets pass pipes ahead
    /// of time, [`super::ahead::statistics`] must be used instead.
    pub fn statistics(&self, now: Time) -> Statistics {
        let mut all = self.uncorrected_statistics(now);
        if self.decides_at_arrival() {
            assert!(all.queued <= all.in_transit, "who waits has not left");
            // Packets are put into the delay line when they arrive, although some of them still
            // wait for the transmitter.
            all.in_transit -= all.queued;
        }
        all
    }

    /// Statistics without corrections. In a pipe that determines fates at arrival, waiting packets
    /// are counted as in transit. In a follower, packets are counted before they have reached it.
    pub(super) fn uncorrected_statistics(&self, now: Time) -> Statistics {
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
            delays: exceptions.delays,
            queued: self.queue_length(now),
            in_transit: self.delay_line.len(),
            waited: line.map_or_else(
                || self.transmitter.total_waiting_ns(now),
                |line| line.total_waiting_ns(now),
            ),
            // The busy time of a follower is corrected by `ahead::statistics`, which knows when
            // each packet arrives.
            busy: if self.follows() {
                self.transmitter.total_transmission_time()
            } else {
                self.transmitter.busy_time(now)
            },
            queue_max: line.map_or_else(
                || self.transmitter.queue_max().max(self.max_queue_until(now)),
                |line| line.max_queue(),
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
            queued: repairs.queue_length(),
            in_transit: repairs.unfinished_packets() + self.delay_line.len(),
            waited: repairs.total_waiting_ns(now),
            busy: self.transmitter.busy_time(now),
            queue_max: repairs.max_queue(),
            frames_repeated: repairs.repeated,
            frames_parity: repairs.parity,
            ..Statistics::default()
        }
    }
}
