//! *What it does.* PIE (Proportional Integral controller Enhanced) drops or marks arriving packets
//! at random. At regular intervals it adjusts the drop probability to the queueing delay and to the
//! change of this delay.
//!
//! *Reference.* Pan, Natarajan, Baker & White, RFC 8033 §4 and §5; compared with `sch_pie.c` in
//! Linux.
//!
//! *Equations.* An update adds a·(d − target) + b·(d − d_old) to the probability p, where d is the
//! delay and d_old that of the previous update, in seconds. The weights a and b are alpha and beta
//! times a factor: 1/2048 for p below 10⁻⁶, 1/512 below 10⁻⁵, 1/128, 1/32, 1/8, 1/2 below 0.1, and
//! 1 above (§4.2). From p = 0.1 on, an update adds at most 0.02. If d = d_old = 0, p is multiplied
//! by 0.98.
//!
//! No packet is dropped during the burst allowance, while d_old is below half of the target and p <
//! 0.2, or while at most two packets of mean size wait. After a drop, no packet is dropped until
//! the probabilities of the arriving packets add up to 0.85. When they add up to 8.5, a packet is
//! dropped in any case (§5.4).
//!
//! *Where we differ.* The delay d is the delay of the packet that left last, or 0 if the queue is
//! empty, as in Linux; the RFC allows this or an estimate from the departure rate (§5.2). The burst
//! allowance decreases with each update, as in the RFC; in Linux it decreases with each packet.
//! Linux adds 0.02 to p when d exceeds 250 ms; the RFC does not.

use super::{Environment, Fifo, Occupancy, Queue, QueueActions, Waiting, codel};
use crate::checked::checked;
use retx_units::{Duration, Probability, RandomStream, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drops packets with a probability that a controller derives from the delay (PIE, RFC 8033).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Config {
    /// Queueing delay at which the controller aims.
    pub target: Duration,
    /// Interval between updates of the drop probability.
    pub update_interval: Duration,
    /// Weight of the deviation from the target, per second.
    pub alpha: f64,
    /// Weight of the change of the delay, per second.
    pub beta: f64,
    /// Length of bursts that pass without early drops.
    pub burst_allowance: Duration,
    /// Mark ECN-capable packets instead of dropping them, up to `ecn_threshold`.
    pub ecn: bool,
    /// Drop probability up to which packets are marked.
    pub ecn_threshold: Probability,
    /// Mean packet size in bytes. Packets are not dropped early while the queue holds at most twice
    /// as many bytes.
    pub mean_packet: u32,
    /// Limit of the queue, in packets.
    pub packets: u64,
}

checked!(Config);

impl Default for Config {
    /// RFC 8033 §4 and §5.1; limit and packet size as in Linux.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst_allowance: Duration::from_millis(150),
            ecn: false,
            ecn_threshold: Probability::new(0.1).unwrap_or(Probability::ZERO),
            mean_packet: 1500,
            packets: 1000,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), String> {
        if self.target.is_zero() {
            return Err(choice::error_at(
                "target",
                "0 s: any queue is too long; RFC 8033 takes 15 ms",
            ));
        }
        if self.update_interval < Duration::from_micros(1) {
            let message = format!("{} is too short; RFC 8033 takes 15 ms", self.update_interval);
            return Err(choice::error_at("update_interval", &message));
        }
        codel::check_capacity(self.packets)?;
        for (key, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(value.is_finite() && value >= 0.0) {
                let message = format!("{value} is no weight: write 0 or more");
                return Err(choice::error_at(key, &message));
            }
        }
        Ok(())
    }
}

/// Controller, which derives the drop probability from the delays at its updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Controller {
    /// Drop probability.
    pub probability: f64,
    /// d_old: the delay at the last update.
    pub old_delay: Duration,
    /// Remaining burst allowance.
    pub burst: Duration,
}

impl Controller {
    /// Controller before the first update.
    pub const fn new(config: &Config) -> Self {
        Self { probability: 0.0, old_delay: Duration::ZERO, burst: config.burst_allowance }
    }

    /// Updates the probability by the current delay (RFC 8033 §4.2).
    pub fn update_probability(&mut self, config: &Config, delay: Duration) {
        let seconds = Duration::as_secs_f64;
        let [now, before] = [delay, self.old_delay].map(seconds);
        let change = config.alpha * (now - seconds(config.target)) + config.beta * (now - before);
        let mut step = change * scale(self.probability);
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if delay.is_zero() && self.old_delay.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst = self.burst.saturating_sub(config.update_interval);
        let low = |delay: Duration| delay.saturating_mul(2) < config.target;
        if self.probability == 0.0 && low(delay) && low(self.old_delay) {
            self.burst = config.burst_allowance;
        }
        self.old_delay = delay;
    }
}

/// Scale factor of the weights at a probability (RFC 8033 §4.2).
fn scale(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] = [
        (1e-6, 1.0 / 2048.0),
        (1e-5, 1.0 / 512.0),
        (1e-4, 1.0 / 128.0),
        (1e-3, 1.0 / 32.0),
        (1e-2, 1.0 / 8.0),
        (1e-1, 1.0 / 2.0),
    ];
    STEPS.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, scale)| *scale)
}

/// PIE queue: the waiting packets, and the controller.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    random_stream: RandomStream,
    line: Fifo,
    controller: Controller,
    /// Delay of the last packet that left; zero once the queue is empty.
    delay: Duration,
    next_update: Time,
    /// Sum of probabilities since the last drop (`accu_prob_`).
    accumulated: f64,
}

impl State {
    /// Creates an empty queue.
    pub fn new(config: &Config, environment: Environment) -> Self {
        Self {
            config: *config,
            random_stream: environment.random_stream,
            line: Fifo::default(),
            controller: Controller::new(config),
            delay: Duration::ZERO,
            next_update: Time::ZERO + config.update_interval,
            accumulated: 0.0,
        }
    }

    /// Current drop probability.
    pub const fn drop_probability(&self) -> f64 {
        self.controller.probability
    }

    /// Performs the updates due by `now`. The delay does not change between two packets, so updates
    /// need no timer.
    fn catch_up(&mut self, now: Time) {
        let interval = self.config.update_interval;
        while self.next_update <= now {
            let before = self.controller;
            self.controller.update_probability(&self.config, self.delay);
            self.next_update += interval;
            if self.controller == before && self.next_update <= now {
                // The controller does not change any more, so further updates are skipped.
                self.next_update = now.align_down(interval) + interval;
            }
        }
    }

    /// True if a packet is admitted whatever the probability is (RFC 8033 §4.1).
    fn is_safe(&self) -> bool {
        let controller = &self.controller;
        let quiet = controller.old_delay.saturating_mul(2) < self.config.target
            && controller.probability < 0.2;
        let short = self.line.occupancy().bytes <= 2 * u64::from(self.config.mean_packet);
        !controller.burst.is_zero() || quiet || short
    }

    /// Decides whether a packet is dropped or marked, with limits on the distance between two drops
    /// (derandomisation, RFC 8033 §5.4).
    fn is_chosen(&mut self) -> bool {
        let probability = self.controller.probability;
        if probability == 0.0 {
            self.accumulated = 0.0;
            return false;
        }
        self.accumulated += probability;
        if self.accumulated < 0.85 {
            return false;
        }
        let chosen = self.accumulated >= 8.5 || self.random_stream.uniform() < probability;
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }
}

impl Queue for State {
    fn enqueue(&mut self, now: Time, packet: &Waiting, actions: &mut QueueActions) -> bool {
        self.catch_up(now);
        if self.line.occupancy().packets >= self.config.packets {
            self.accumulated = 0.0;
            return false;
        }
        if !self.is_safe() && self.is_chosen() {
            let marks = self.config.ecn
                && packet.ecn_capable
                && self.controller.probability <= self.config.ecn_threshold.value();
            if !marks {
                return false;
            }
            actions.mark(packet.id);
        }
        self.line.push(packet);
        true
    }

    fn dequeue(&mut self, now: Time, _: &mut QueueActions) -> Option<Waiting> {
        self.catch_up(now);
        let packet = self.line.pop()?;
        let empty = self.line.occupancy().packets == 0;
        self.delay = if empty { Duration::ZERO } else { now.since(packet.since) };
        Some(packet)
    }

    fn occupancy(&self) -> Occupancy {
        self.line.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::queue::QueueAction;
    use retx_units::StreamKey;

    /// At a constant probability p, no packet is dropped until the probabilities add up to 0.85.
    /// From then on each packet is dropped with probability p, and in any case when they add up to
    /// 8.5 (RFC 8033 §5.4).
    #[test]
    fn drops_keep_their_distance() {
        let random_stream = StreamKey { seed: 9, replication: 0 }.stream("pie");
        let config = Config::default();
        let mut state = State::new(&config, Environment { random_stream, rate: None, overhead: 0 });
        let gaps = |state: &mut State, p: f64| -> Vec<u32> {
            state.controller.probability = p;
            let mut gap = |_| (1..).find(|_| state.is_chosen()).expect("sooner or later");
            (0..100_000).map(&mut gap).collect()
        };
        // Multiples of 1/32 are exact in binary; they reach 0.85 at the 28th packet and 8.5 at the
        // 272nd.
        let p = 1.0 / 32.0;
        let found = gaps(&mut state, p);
        let n = found.len() as f64;
        assert_eq!(found.iter().min(), Some(&28));
        assert_eq!(found.iter().max(), Some(&272));
        assert_eq!(gaps(&mut state, 0.85).iter().min(), Some(&1), "a sum of 0.85 is enough");
        let at_the_latest = found.iter().filter(|gap| **gap == 272).count() as f64;
        // A gap of 272 means that none of the 244 draws for packets 28 to 271 chose a drop.
        let share = (1.0 - p).powi(244);
        assert!((at_the_latest - n * share).abs() < 4.0 * (n * share).sqrt());
        // Expected gap: 27 plus the mean of a geometric variable that is truncated at 245.
        let mean = 27.0 + (1.0 - (1.0 - p).powi(245)) / p;
        let measured = found.iter().map(|gap| f64::from(*gap)).sum::<f64>() / n;
        assert!((measured - mean).abs() < 4.0 * (1.0 / p) / n.sqrt(), "{measured} for {mean}");
    }

    /// RFC 8033 §4.1: no drop within the burst allowance, none while the delay was below half of
    /// its target and the probability below 20 %, and none with at most two mean packets waiting.
    #[test]
    fn packets_that_are_safe() {
        let random_stream = StreamKey { seed: 9, replication: 0 }.stream("pie");
        let config = Config { mean_packet: 1000, ..Config::default() };
        let environment = Environment { random_stream, rate: None, overhead: 0 };
        let safe = |bytes: u32, set: &dyn Fn(&mut Controller)| {
            let mut state = State::new(&config, environment.clone());
            state.controller.burst = Duration::ZERO;
            state.controller.old_delay = config.target;
            state.controller.probability = 0.1;
            set(&mut state.controller);
            let frame = Frame { bytes, ..Frame::default() };
            let packet = Waiting { id: 0, frame, ecn_capable: false, to: 0, since: Time::ZERO };
            state.line.push(&packet);
            state.is_safe()
        };
        assert!(safe(2000, &|_| ()) && !safe(2001, &|_| ()));
        assert!(safe(2001, &|it| it.burst = Duration::from_nanos(1)));
        let half = Duration::from_nanos(config.target.as_nanos() / 2);
        let just_below = Duration::from_nanos(half.as_nanos() - 1);
        assert!(safe(2001, &|it| it.old_delay = just_below));
        assert!(!safe(2001, &|it| it.old_delay = half));
        assert!(!safe(2001, &|it| (it.old_delay, it.probability) = (just_below, 0.2)));
    }

    /// After a pause without packets, all updates that were due are made, with the same result as
    /// if each had been made in time.
    #[test]
    fn no_update_is_left_out() {
        let random_stream = StreamKey { seed: 9, replication: 0 }.stream("pie");
        let config = Config::default();
        let mut state = State::new(&config, Environment { random_stream, rate: None, overhead: 0 });
        state.delay = config.target * 3;
        let mut expected = Controller::new(&config);
        (0..40).for_each(|_| expected.update_probability(&config, state.delay));
        state.catch_up(Time::ZERO + config.update_interval * 40);
        assert_eq!(state.controller, expected);
        assert_eq!(state.next_update, Time::ZERO + config.update_interval * 41);
    }

    /// A packet chosen for a drop is marked and admitted instead if ECN is configured, the packet
    /// can be marked, and the probability is at most the threshold (RFC 8033 §5.1; `sch_pie.c`:
    /// `vars.prob <= MAX_PROB / 10`). Otherwise it is dropped.
    #[test]
    fn marks_replace_drops_under_three_conditions() {
        let outcome = |ecn: bool, ecn_capable: bool, probability: f64| {
            let random_stream = StreamKey { seed: 9, replication: 0 }.stream("pie");
            let config = Config { mean_packet: 1000, ecn, ..Config::default() };
            let mut state =
                State::new(&config, Environment { random_stream, rate: None, overhead: 0 });
            let frame = Frame { bytes: 3000, ..Frame::default() };
            let packet = Waiting { id: 7, frame, ecn_capable, to: 0, since: Time::ZERO };
            state.line.push(&packet);
            state.controller =
                Controller { probability, old_delay: config.target, burst: Duration::ZERO };
            // A sum of 8.5 means that the next packet is chosen in any case.
            state.accumulated = 8.5;
            let mut actions = QueueActions::default();
            let admitted = state.enqueue(Time::ZERO, &packet, &mut actions);
            assert_eq!(state.occupancy().packets, 1 + u64::from(admitted));
            (admitted, actions.pop())
        };
        let (marked, dropped) = ((true, Some(QueueAction::Marked(7))), (false, None));
        assert_eq!(outcome(true, true, 0.05), marked);
        assert_eq!(outcome(true, true, 0.1), marked);
        assert_eq!(outcome(true, true, 0.101), dropped);
        for (ecn, ecn_capable) in [(true, false), (false, true), (false, false)] {
            for probability in [0.05, 0.101] {
                assert_eq!(outcome(ecn, ecn_capable, probability), dropped);
            }
        }
    }
}
