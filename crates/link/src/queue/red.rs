//! *What it does.* RED (random early detection) keeps an average of the queue length. It drops (or
//! marks) arriving packets at random, with a probability that grows with the average, and spaces
//! these drops about evenly.
//!
//! *Reference.* Floyd & Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM ToN 1(4), 1993, Fig. 2; "gentle" as in Floyd, "Recommendation on using the 'gentle'
//! variant of RED", 2000. The default thresholds and weight are those of the paper; the default
//! maximum probability is that of Floyd, "RED: Discussions of Setting Parameters", 1997, and ns-2.
//!
//! *Equations.* At each arrival avg ← (1 − w)·avg + w·q, where q is the queue length. If the link
//! has been idle for a time t, avg ← (1 − w)^(t/s)·avg instead, where s is the transmission time of
//! a packet of mean size. Between the thresholds p_b = max_p·(avg − min)/(max − min); with
//! `gentle`, between max and 2·max, p_b = max_p + (1 − max_p)·(avg − max)/max. Above that, every
//! packet is dropped.
//!
//! A packet is dropped or marked with probability p_a = p_b/(1 − count·p_b), where count is the
//! number of packets admitted since the last drop or mark. The distance between two drops is then
//! uniform in 1 … 1/p_b − 1 (Fig. 2; the paper's text says 1/p_b).
//!
//! *Where we differ.* The queue is counted in packets, without the packet in transmission; the link
//! is idle if no packet is queued or in transmission, as in ns-2. An ECN-capable packet that is
//! chosen at random is marked instead of dropped. Where every packet is dropped, ECN-capable
//! packets are dropped, too (RFC 3168 §7). Two features of ns-2 are omitted: `wait`, which spaces
//! drops further apart, and the adaptive variant.

use super::{Environment, Fifo, Occupancy, Queue, QueueActions, Waiting, codel};
use crate::checked::checked;
use retx_units::{Duration, Probability, RandomStream, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drops packets at random, with a probability that grows with the average queue length (RED, Floyd
/// & Jacobson 1993).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Config {
    /// Average queue length, in packets, below which no packet is dropped early.
    pub min_threshold: f64,
    /// Average queue length, in packets, at which the drop probability reaches `max_probability`;
    /// above it, see `gentle`.
    pub max_threshold: f64,
    /// Drop probability at the upper threshold.
    pub max_probability: Probability,
    /// Weight of the current queue length in the average; above 0.
    pub weight: f64,
    /// Let the probability grow to 1 at twice the upper threshold, instead of dropping every packet
    /// above the upper threshold.
    pub gentle: bool,
    /// Mark ECN-capable packets instead of dropping them early.
    pub ecn: bool,
    /// Mean packet size in bytes; determines how fast the average falls while the link is idle.
    pub mean_packet: u32,
    /// Limit of the queue, in packets; unlimited by default, because the average limits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
}

checked!(Config);

impl Default for Config {
    fn default() -> Self {
        Self {
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_probability: Probability::new(0.1).unwrap_or(Probability::ZERO),
            weight: 0.002,
            gentle: true,
            ecn: false,
            mean_packet: 500,
            packets: None,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), String> {
        let Self { min_threshold: min, max_threshold: max, weight, .. } = *self;
        if !(min.is_finite() && min >= 0.0) {
            let message = format!("{min} is no number of packets: write 0 or more, such as 5");
            return Err(choice::error_at("min_threshold", &message));
        }
        if !(max.is_finite() && max > min) {
            let message =
                format!("{max} is not above min_threshold, {min}; often it is 3 times that");
            return Err(choice::error_at("max_threshold", &message));
        }
        if !(weight > 0.0 && weight <= 1.0) {
            let message = format!("{weight} lies outside 0 … 1, or is 0; the paper takes 0.002");
            return Err(choice::error_at("weight", &message));
        }
        if !(1..=u32::from(u16::MAX)).contains(&self.mean_packet) {
            let message = format!("{} bytes: an IP packet has 1 to 65,535", self.mean_packet);
            return Err(choice::error_at("mean_packet", &message));
        }
        codel::check_capacity(self.packets.unwrap_or(1))
    }
}

/// Decision about an arriving packet, based on the average queue length.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Decision {
    /// Admit the packet.
    Nothing,
    /// Drop or mark the packet with this probability (p_b).
    Early(f64),
    /// Drop the packet.
    Drop,
}

/// RED queue: the waiting packets, and the average queue length.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    random_stream: RandomStream,
    /// s: transmission time of a packet of mean size.
    packet_time: Duration,
    line: Fifo,
    average: f64,
    /// Packets admitted since the last drop or mark; `None` below the lower threshold.
    count: Option<u64>,
    /// Start of the current idle period.
    idle_since: Option<Time>,
}

impl State {
    /// Creates an empty queue.
    pub fn new(config: &Config, environment: Environment) -> Self {
        let on_wire = config.mean_packet.saturating_add(environment.overhead);
        Self {
            config: *config,
            random_stream: environment.random_stream,
            packet_time: environment
                .rate
                .map_or(Duration::ZERO, |it| it.transmission_time(on_wire)),
            line: Fifo::default(),
            average: 0.0,
            count: None,
            idle_since: Some(Time::ZERO),
        }
    }

    /// Average queue, in packets.
    pub const fn average_queue(&self) -> f64 {
        self.average
    }

    /// Updates the average at an arrival; true if the link was idle.
    fn take_average(&mut self, now: Time) -> bool {
        let weight = self.config.weight;
        let idle_since = self.idle_since.take();
        if let Some(since) = idle_since {
            let packets = now.since(since).as_secs_f64() / self.packet_time.as_secs_f64();
            // `packets` could have been sent while the link was idle. Without a rate, transmissions
            // take no time, so `packets` is infinite, or 0/0 (NaN) if the idle time is 0. In the
            // latter case the average stays unchanged.
            let share = if packets.is_nan() { 1.0 } else { libm::pow(1.0 - weight, packets) };
            self.average *= share;
        } else {
            let queue = self.line.occupancy().packets as f64;
            self.average += weight * (queue - self.average);
        }
        idle_since.is_some()
    }

    fn decide(&self) -> Decision {
        let Config { min_threshold: min, max_threshold: max, max_probability, .. } = self.config;
        let most = max_probability.value();
        let average = self.average;
        if average < min {
            Decision::Nothing
        } else if average < max {
            Decision::Early(most * (average - min) / (max - min))
        } else if self.config.gentle && average < 2.0 * max {
            Decision::Early(most + (1.0 - most) * (average - max) / max)
        } else {
            Decision::Drop
        }
    }

    /// True if the arriving packet is to be dropped or marked early.
    fn is_chosen(&mut self, probability: f64) -> bool {
        let count = self.count.map_or(0, |count| count + 1);
        let left = 1.0 - count as f64 * probability;
        let chosen = left <= 0.0 || self.random_stream.uniform() < probability / left;
        self.count = Some(if chosen { 0 } else { count });
        chosen
    }

    fn admit(&mut self, packet: &Waiting, actions: &mut QueueActions) -> bool {
        let mut marked = false;
        match self.decide() {
            Decision::Nothing => self.count = None,
            Decision::Early(probability) => {
                let chosen = self.is_chosen(probability);
                marked = chosen && self.config.ecn && packet.ecn_capable;
                if chosen && !marked {
                    return false;
                }
            }
            Decision::Drop => {
                self.count = Some(0);
                return false;
            }
        }
        if self.config.packets.is_some_and(|room| self.line.occupancy().packets >= room) {
            return false;
        }
        if marked {
            actions.mark(packet.id);
        }
        self.line.push(packet);
        true
    }
}

impl Queue for State {
    fn enqueue(&mut self, now: Time, packet: &Waiting, actions: &mut QueueActions) -> bool {
        let idle = self.take_average(now);
        let admitted = self.admit(packet, actions);
        if idle && !admitted {
            // `dequeue` is not called after a drop on arrival, so the link stays idle.
            self.idle_since = Some(now);
        }
        admitted
    }

    fn dequeue(&mut self, now: Time, _: &mut QueueActions) -> Option<Waiting> {
        let packet = self.line.pop();
        if packet.is_none() {
            self.idle_since = Some(now);
        }
        packet
    }

    fn occupancy(&self) -> Occupancy {
        self.line.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_units::StreamKey;

    /// Floyd and Jacobson 1993: nothing is dropped below the lower threshold, and the count of
    /// packets between drops starts anew there. With `gentle`, the probability grows to 1 between
    /// the upper threshold and twice that threshold.
    #[test]
    fn decisions_at_the_thresholds() {
        let random_stream = StreamKey { seed: 9, replication: 0 }.stream("red");
        let config = Config { min_threshold: 4.0, max_threshold: 8.0, ..Config::default() };
        let mut state = State::new(&config, Environment { random_stream, rate: None, overhead: 0 });
        let most = config.max_probability.value();
        let mut decide = |average: f64, gentle: bool| {
            (state.average, state.config.gentle) = (average, gentle);
            state.decide()
        };
        for gentle in [true, false] {
            assert_eq!(decide(3.999, gentle), Decision::Nothing);
            assert_eq!(decide(4.0, gentle), Decision::Early(0.0));
            assert_eq!(decide(6.0, gentle), Decision::Early(0.5 * most));
        }
        assert_eq!(decide(8.0, false), Decision::Drop);
        assert_eq!(decide(8.0, true), Decision::Early(most));
        assert_eq!(decide(12.0, true), Decision::Early(0.5 + 0.5 * most));
        assert_eq!(decide(16.0, true), Decision::Drop);
    }
}
