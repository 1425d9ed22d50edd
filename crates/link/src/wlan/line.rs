//! Queue of a station, with its discipline.
//!
//! As in ns-2 and ns-3, the packet in service has left the queue. The discipline chooses the next
//! packet when the previous one has been acknowledged or given up. The queueing delay therefore
//! does not include backoff and retries.

use super::parameters::Parameters;
use super::station::Head;
use crate::queue::{self, Environment, Queue, QueueActions, State, Waiting};
use crate::stage::Packet;
use retx_units::{QueueLengthHistory, RandomStream, Time};

/// Queue of a station.
#[derive(Debug, Clone)]
pub(super) struct Line {
    queue: State,
    /// Number of waiting packets.
    length: u64,
    /// True if a packet that arrives at an idle station bypasses the queue.
    passes: bool,
    /// Sum of the waiting times of all packets up to the time `settled`, in packet-nanoseconds.
    waited: u128,
    settled: Time,
    longest: u64,
    /// Queue length over time, if recorded.
    pub history: Option<QueueLengthHistory>,
}

/// Environment of the discipline of a station's queue. The time that DCF takes in addition to a
/// packet's transmission is expressed as additional bytes at the data rate.
pub(super) fn environment(parameters: &Parameters, random_stream: RandomStream) -> Environment {
    let added = parameters.time_around_data().as_nanos();
    let bytes = u128::from(added) * u128::from(parameters.rate.as_bit_s()) / 8_000_000_000;
    let overhead = parameters.mac_overhead.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    Environment { random_stream, rate: Some(parameters.rate), overhead }
}

impl Line {
    pub fn new(config: &queue::Config, environment: Environment) -> Self {
        Self {
            passes: matches!(config, queue::Config::droptail(_)),
            queue: config.build(environment),
            length: 0,
            waited: 0,
            settled: Time::ZERO,
            longest: 0,
            history: None,
        }
    }

    /// Enqueues a packet with its destination; true if it is admitted.
    pub fn enqueue(
        &mut self,
        now: Time,
        to: u16,
        packet: &Packet,
        actions: &mut QueueActions,
    ) -> bool {
        let before = self.advance_to(now);
        let Packet { id, frame, ecn_capable } = *packet;
        let waiting = Waiting { id, frame, ecn_capable, to, since: now };
        let admitted = if let State::droptail(queue) = &mut self.queue {
            queue.enqueue(now, &waiting, actions)
        } else {
            self.queue.enqueue(now, &waiting, actions)
        };
        self.keep(now, before);
        admitted
    }

    /// Removes and returns the next packet to serve.
    #[inline]
    pub fn dequeue(&mut self, now: Time, actions: &mut QueueActions) -> Option<Head> {
        // The state of droptail, unlike that of other disciplines, does not change then.
        if self.passes && self.length == 0 {
            return None;
        }
        let before = self.advance_to(now);
        let first = if let State::droptail(queue) = &mut self.queue {
            queue.dequeue(now, actions)
        } else {
            self.queue.dequeue(now, actions)
        };
        self.keep(now, before);
        first.map(|Waiting { id, to, frame, .. }| Head::new(id, to, frame))
    }

    /// True if a packet may bypass an empty queue, because the state of the discipline would not
    /// depend on that packet.
    pub const fn may_be_bypassed(&self) -> bool {
        self.passes
    }

    /// Packet that will be removed next; `None` if the discipline decides that only then.
    pub fn next(&self) -> Option<Option<&Waiting>> {
        if let State::droptail(queue) = &self.queue { Some(queue.first()) } else { None }
    }

    pub const fn queue_length(&self) -> u64 {
        self.length
    }

    /// Advances the sum of waiting times to `now`; returns the number of waiting packets.
    fn advance_to(&mut self, now: Time) -> u64 {
        self.waited = self.total_waiting_ns(now);
        self.settled = now;
        self.length
    }

    /// Takes over the queue length, and records in the history that it has changed from `before`.
    fn keep(&mut self, now: Time, before: u64) {
        self.length = self.queue.occupancy().packets;
        self.history.iter_mut().for_each(|history| history.add_change(now, before, self.length));
    }

    /// Total waiting time of all packets up to `now`, in packet-nanoseconds.
    pub fn total_waiting_ns(&self, now: Time) -> u128 {
        let since = u128::from(now.since(self.settled).as_nanos());
        self.waited + since * u128::from(self.queue_length())
    }

    /// Updates the maximum queue length; called after packets have entered service at this instant.
    pub fn update_max_queue(&mut self) {
        self.longest = self.longest.max(self.queue_length());
    }

    /// Maximum number of packets that waited at once.
    pub const fn max_queue(&self) -> u64 {
        self.longest
    }

    pub fn restart_maximum(&mut self) {
        self.longest = self.queue_length();
    }
}
