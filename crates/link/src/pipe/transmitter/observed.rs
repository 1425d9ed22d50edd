//! Quantities of a transmitter that statistics need: queue length, waiting time, busy time.

use super::{Kept, Transmitter};
use crate::pipe::waiting_packet::WaitingPacket;
use retx_units::{Duration, QueueLengthHistory, Time};

impl Transmitter {
    /// Starts recording the queue length over time.
    pub fn record_history(&mut self) {
        // If `queue_max` is 0, every waiting packet takes the slow path, where the queue length is
        // recorded.
        let queue_max = std::mem::take(&mut self.queue_max);
        let kept = self.kept.get_or_insert_with(|| Box::new(Kept { queue_max, ..Kept::default() }));
        kept.history = Some(QueueLengthHistory::default());
    }

    /// Removes and returns the queue length over time, if it was recorded; its last changes may lie
    /// in the future.
    pub fn take_history(&mut self) -> Option<QueueLengthHistory> {
        self.kept.as_mut()?.history.as_mut().map(std::mem::take)
    }

    /// Number of packets that wait at `now`.
    pub fn queue_length(&self, now: Time) -> u64 {
        let begun = self.waiting.partition_point(|packet| packet.start <= now);
        let here = self.waiting.partition_point(|packet| packet.arrived_before(now));
        // Packets that pass ahead of time are in `waiting` before they arrive; they are counted
        // only after their arrival.
        here.saturating_sub(begun) as u64
    }

    /// Sum of all transmission times, including the parts that lie in the future.
    pub const fn total_transmission_time(&self) -> Duration {
        self.busy
    }

    /// Total waiting time of all packets up to `now`, in packet-nanoseconds.
    pub fn total_waiting_ns(&self, now: Time) -> u128 {
        let ahead =
            |packet: &WaitingPacket| packet.start.since(now.max(packet.arrival())).as_nanos();
        let known = self.waited.0;
        // The sum includes each wait as a whole; the parts after `now` are subtracted here.
        known - self.waiting.iter().map(|packet| u128::from(ahead(packet))).sum::<u128>()
    }

    /// Time spent transmitting up to `now`. All packets that have entered are transmitted without a
    /// gap, so the remaining transmission time is that until `busy_until`.
    pub fn busy_time(&self, now: Time) -> Duration {
        self.busy - self.busy_until.since(now)
    }

    /// Maximum number of packets that waited at once.
    pub fn queue_max(&self) -> u64 {
        self.kept.as_ref().map_or(self.queue_max, |kept| kept.queue_max).into()
    }

    /// Resets the maximum queue length to the length at `now`. Returns the arrival times of packets
    /// that pass ahead of time and have not arrived yet, each with the queue length at that time.
    pub fn restart_maximum(&mut self, now: Time) -> Vec<(Time, u64)> {
        *self.most() = self.queue_length(now) as u32;
        let here = self.waiting.partition_point(|packet| packet.arrived_before(now));
        let length = |(index, packet): (usize, &WaitingPacket)| {
            let arrival = packet.arrival();
            let gone = self.waiting.partition_point(|other| other.start <= arrival);
            (arrival, (index + 1 - gone) as u64)
        };
        self.waiting.iter().enumerate().skip(here).map(length).collect()
    }
}
