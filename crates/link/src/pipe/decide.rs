//! Pipes that determine a packet's fate when its transmission begins or later, because their queue
//! discipline decides at dequeue ([`super::line`]) or because they repair losses
//! ([`super::repair`]).

use super::line::Event;
use super::{Departure, Entry, Packet, Pipe};
use crate::queue::{QueueAction, Waiting};
use retx_units::Time;

impl Pipe {
    /// Start of the next transmission, in a pipe with `line` or `repairs`.
    #[cold]
    pub(super) fn next_begin(&self) -> Time {
        let free = self.transmitter.busy_until();
        let line = self.line.as_ref().map_or(Time::NEVER, |line| line.next_due(free));
        line.min(
            self.repairs
                .as_ref()
                .map_or(Time::NEVER, |repairs| repairs.next_transmission_start(free)),
        )
    }

    /// Handles the arrival of a packet at a pipe with `line` or `repairs`.
    #[cold]
    pub(super) fn enqueue(&mut self, now: Time, packet: &Packet) -> Entry {
        if self.repairs.is_some() {
            self.enqueue_repaired(now, packet)
        } else {
            self.enqueue_unrepaired(now, packet)
        }
    }

    /// Starts the transmissions due by `now`, up to the first event that the caller must handle.
    #[cold]
    pub(super) fn start_due_transmission(&mut self, now: Time) -> Option<Departure> {
        if self.repairs.is_some() {
            self.transmit_due(now);
            return None;
        }
        self.poll_line(now)
    }

    /// Enqueues a packet, and starts the transmissions due by `now`.
    fn enqueue_unrepaired(&mut self, now: Time, packet: &Packet) -> Entry {
        self.begin_transmissions(now);
        let Some(line) = &mut self.line else { unreachable!("only with a line") };
        let Packet { id, frame, ecn_capable } = *packet;
        if !line.enqueue(&Waiting { id, frame, ecn_capable, to: 0, since: now }) {
            self.count_queue_drop();
            return Entry::QueueFull;
        }
        self.begin_transmissions(now);
        // A packet that is transmitted at once has not waited, so the maximum queue length is
        // updated only after transmissions have been started.
        self.line.iter_mut().for_each(|line| line.update_max_queue());
        Entry::Accepted
    }

    /// Starts every transmission due by `now`.
    fn begin_transmissions(&mut self, now: Time) {
        let Some(mut line) = self.line.take() else { return };
        while let Some((start, waiting)) = line.next_start(now, self.transmitter.busy_until()) {
            let Waiting { id, frame, ecn_capable, since, .. } = waiting;
            let end = self.transmitter.begin_transmission(start, frame.bytes, since < start);
            // If the channel duplicates the packet, no further transmission starts until the copy
            // has an id, because ids must be allocated in the order of transmission.
            if self.go(end, &Packet { id, frame, ecn_capable }) == Entry::AcceptedTwice
                && let Some(twin) = self.rare_mut().copy.take()
            {
                line.record_duplicate(start, id, twin);
            }
        }
        self.line = Some(line);
    }

    /// Next event of the queue that is due by `now`, unless a packet leaves the pipe earlier.
    fn poll_line(&mut self, now: Time) -> Option<Departure> {
        loop {
            let busy_until = self.transmitter.busy_until();
            let line = self.line.as_mut()?;
            let due = line.next_due(busy_until);
            // A packet that leaves the pipe before the queue's event must be handled first.
            if due > now || due == Time::NEVER || self.delay_line.next() < due {
                return None;
            }
            match line.pop_event() {
                Some((at, Event::Action(QueueAction::Dropped(id)))) => {
                    self.count_queue_drop();
                    return Some(Departure::Dropped { id, at });
                }
                Some((_, Event::Action(QueueAction::Marked(id)))) => {
                    self.rare_mut().exceptions.marked += 1;
                    return Some(Departure::Marked { id });
                }
                Some((_, Event::Copied { id, duplicate: twin })) => {
                    self.rare_mut().copy = Some(twin);
                    return Some(Departure::Copied { id });
                }
                None => self.begin_transmissions(due),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Rates, line::Line, transmitter::Transmitter};
    use super::*;
    use crate::channel::{self, Frame};
    use crate::queue;
    use proptest::prelude::*;
    use retx_units::{Duration, Probability, Rate, StreamKey};

    const KEY: StreamKey = StreamKey { seed: 5, replication: 0 };

    /// Feeds arrivals to a pipe; returns all departures, and the statistics at each arrival.
    fn run(mut pipe: Pipe, arrivals: &[(u64, u32)]) -> (Vec<String>, Vec<String>) {
        let (mut out, mut states) = (Vec::new(), Vec::new());
        let mut drain = |pipe: &mut Pipe, until: u64| {
            while pipe.poll_timeout() <= Time::from_nanos(until) {
                let now = pipe.poll_timeout();
                if let Some(departure) = pipe.poll_transmit(now) {
                    if let Departure::Copied { id } = departure {
                        pipe.add_copy(1000 + id);
                        continue;
                    }
                    out.push(format!("{now:?} {departure:?}"));
                }
            }
        };
        for (id, &(at, bytes)) in (0u32..).zip(arrivals) {
            drain(&mut pipe, at);
            let frame = Frame { bytes, ..Frame::default() };
            let packet = Packet { id, frame, ecn_capable: false };
            let entry = pipe.handle_packet(Time::from_nanos(at), &packet);
            if entry == Entry::AcceptedTwice {
                pipe.add_copy(1000 + id);
            }
            let full = entry == Entry::QueueFull;
            let statistics = pipe.statistics(Time::from_nanos(at));
            // These counters are not compared. They differ between the two pipes, because one
            // determines fates at arrival, the other at dequeue.
            let statistics = super::super::Statistics {
                copies: 0,
                in_transit: 0,
                bursts: Default::default(),
                busy: Duration::ZERO,
                ..statistics
            };
            states.push(format!("{full} {statistics:?}"));
        }
        drain(&mut pipe, u64::MAX - 1);
        (out, states)
    }

    proptest! {
        /// A pipe whose droptail queue holds its packets and decides at dequeue behaves like a pipe
        /// that computes everything at arrival: the same packets leave at the same times, after the
        /// same waiting times.
        #[test]
        fn deciding_late_changes_nothing_for_droptail(
            gaps in prop::collection::vec((0u64..40_000, 40u32..1500), 1..150),
            packets in 1u64..12,
            loss in 0.0f64..0.3,
            changes in any::<bool>(),
            trace in any::<bool>(),
        ) {
            let mut now = 0;
            let arrivals: Vec<(u64, u32)> =
                gaps.iter().map(|&(gap, bytes)| { now += gap; (now, bytes) }).collect();
            let droptail = queue::droptail::Config { packets: Some(packets), bytes: None };
            let rate = |at: u64, rate: u64| super::super::Change {
                at: Time::from_nanos(at),
                rate: Some(Rate::from_bit_s(rate)),
                delay: None,
                channel: None,
            };
            let config = Config {
                rate: Some(Rate::from_bit_s(2_000_000_000)),
                delay: Duration::from_nanos(70_000),
                overhead: 38,
                queue: queue::Config::droptail(droptail),
                channel: vec![
                    serde_json::from_str(r#"{"model": "duplicate", "p": 0.1}"#).expect("a model"),
                    channel::Config::bernoulli(channel::bernoulli::Config {
                        p: Probability::new(loss).expect("a probability"),
                    }),
                ],
                repair: None,
                changes: if changes {
                    vec![rate(200_000, 500_000_000), rate(400_000, 3_000_000_000)]
                } else {
                    vec![]
                },
            };
            let mut settled = Pipe::new(&config, KEY, "link");
            if trace {
                let at = [3, 7, 7, 12].map(Duration::from_micros).to_vec();
                let rates = Rates::Opportunities { at, bytes: 1000 };
                settled.transmitter =
                    Transmitter::new(None, Some(rates), config.overhead, droptail.limits());
            }
            let mut held = settled.clone();
            let environment = queue::Environment {
                random_stream: KEY.stream("queue"),
                rate: config.rate,
                overhead: config.overhead,
            };
            held.kind = super::super::Kind::DecidesAtDeparture;
            held.line = Some(Box::new(Line::new(config.queue.build(environment))));
            let (settled, held) = (run(settled, &arrivals), run(held, &arrivals));
            prop_assert_eq!(settled.0, held.0);
            prop_assert_eq!(settled.1, held.1);
        }
    }
}
