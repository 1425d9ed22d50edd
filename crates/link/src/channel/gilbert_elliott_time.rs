//! *What it does.* Loses frames in bursts of a certain duration: a chain of two states, good and
//! bad, moves with time, whether frames are sent or not.
//!
//! *Reference.* The continuous-time form of Gilbert 1960 and Elliott 1963.
//!
//! *Equations.* Sojourns are exponential with means T_g and T_b; a = 1/T_g, b = 1/T_b. The share of
//! bad time is π = a/(a + b). If the chain is bad at some time, it is bad a time τ later with
//! probability π + (1 − π)·exp(−(a + b)τ); if it is good, with probability π·(1 − exp(−(a + b)τ)).
//! The loss rate of frames whose send times are independent of the chain is (1 − k)(1 − π) + (1 −
//! h)π. Given the loss rate L and the mean burst T: T_b = T, T_g = T·(1 − L)/L.
//!
//! *How it is drawn.* At the instants of a Poisson process of rate a + b the chain forgets its
//! state, and is bad with probability π from then on, whatever it was before; e^(−(a+b)τ) is the
//! probability that no such instant lies in a time τ (uniformisation; Jensen 1953, Skand.
//! Aktuarietidskr. 36). Time is divided into spans, and each span has its own random stream, so the
//! state depends on time alone: two TCPs with the same seed and replication meet the same good and
//! bad times, whenever they send. When a schedule changes the parameters, the state is computed
//! anew with the new ones.
//!
//! *Where it differs from `gilbert_elliott`.* There a burst lasts for a number of *frames*, so a
//! sender that backs off finds it unchanged. Here it lasts for a *time*, so waiting helps. The
//! number of frames lost in a burst depends on the rate at which they are sent. If they are sent at
//! a fixed distance τ, with k = 1 and h = 0, the mean number of consecutive losses is 1/((1 − π)(1
//! − exp(−(a + b)τ))).

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, checked};
use retx_units::{Duration, Probability, RandomStream, StreamKey, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Losses in bursts: a two-state chain moves with time, also while the link is idle. Write either
/// mean_good and mean_bad (with k and h), or loss and mean_burst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Config {
    /// Mean time in the good state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_good: Option<Duration>,
    /// Mean time in the bad state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_bad: Option<Duration>,
    /// Probability that a frame survives the good state; 1 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<Probability>,
    /// Probability that a frame survives the bad state; 0 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub h: Option<Probability>,
    /// Share of time in the bad state. If given, the bad state loses all frames, the good one none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Mean sojourn time in the bad state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_burst: Option<Duration>,
}

checked!(Config);

/// Gilbert-Elliott chain in continuous time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain {
    /// Stationary probability of the bad state.
    pub bad_share: f64,
    /// Rate a + b at which the chain forgets its state, per second.
    pub decay_s: f64,
    /// Loss probability in the good state.
    pub good_loss: f64,
    /// Loss probability in the bad state.
    pub bad_loss: f64,
}

impl Config {
    fn check(&self) -> Result<(), String> {
        self.read().map(|_| ())
    }

    /// Derives the chain from mean_good and mean_bad (with k and h), or from loss and mean_burst.
    ///
    /// # Errors Parameters of both kinds, missing parameters, or impossible times.
    fn read(&self) -> Result<Chain, String> {
        let own = [
            ("mean_good", self.mean_good.is_some()),
            ("mean_bad", self.mean_bad.is_some()),
            ("k", self.k.is_some()),
            ("h", self.h.is_some()),
        ];
        let given = own.iter().find(|(_, given)| *given);
        match (given, self.loss, self.mean_burst) {
            (Some((key, _)), ..) if self.loss.is_some() || self.mean_burst.is_some() => {
                Err(choice::error_at(
                    key,
                    "contradicts `loss` and `mean_burst`: write one form or the other",
                ))
            }
            (None, Some(loss), Some(burst)) => from_loss(loss.value(), burst),
            (None, Some(_), None) => {
                Err("`loss` needs `mean_burst`, the mean length of a bad time".into())
            }
            (None, None, Some(_)) => Err("`mean_burst` needs `loss`, the share of bad time".into()),
            _ => self.sojourns(),
        }
    }

    fn sojourns(&self) -> Result<Chain, String> {
        let (Some(good), Some(bad)) = (self.mean_good, self.mean_bad) else {
            return Err(
                "needs mean_good and mean_bad (and may have k and h), or loss and mean_burst"
                    .into(),
            );
        };
        for (key, time) in [("mean_good", good), ("mean_bad", bad)] {
            if time.is_zero() {
                return Err(choice::error_at(key, "0 s is refused: write a duration above 0 s"));
            }
        }
        let [good, bad] = [good, bad].map(Duration::as_secs_f64);
        let loss = |survival: Option<Probability>, otherwise: f64| {
            1.0 - survival.map_or(otherwise, Probability::value)
        };
        Ok(Chain {
            bad_share: bad / (good + bad),
            decay_s: 1.0 / good + 1.0 / bad,
            good_loss: loss(self.k, 1.0),
            bad_loss: loss(self.h, 0.0),
        })
    }

    /// Chain of this configuration.
    ///
    /// # Panics
    /// If the parameters are invalid; a scenario with such parameters is refused when it is read.
    pub fn chain(&self) -> Chain {
        self.read().unwrap_or_else(|error| panic!("unchecked parameters: {error}"))
    }
}

fn from_loss(loss: f64, burst: Duration) -> Result<Chain, String> {
    if burst.is_zero() {
        return Err(choice::error_at("mean_burst", "0 s is refused: write a duration above 0 s"));
    }
    if loss >= 1.0 {
        return Err(choice::error_at("loss", "1 is refused: between bursts the channel is good"));
    }
    // The loss rate is L = a/(a + b), so a + b = b/(1 − L), with b = 1/`burst`.
    let decay_s = 1.0 / (burst.as_secs_f64() * (1.0 - loss));
    Ok(Chain { bad_share: loss, decay_s, good_loss: 0.0, bad_loss: 1.0 })
}

impl Chain {
    /// Loss rate of frames whose send times are independent of the chain.
    pub fn loss_rate(&self) -> f64 {
        (1.0 - self.bad_share) * self.good_loss + self.bad_share * self.bad_loss
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State::new(self.chain())
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        Some(self.chain().loss_rate())
    }
}

/// Mean number of instants per span at which the chain forgets its state; about one span in 3000
/// has none.
const PER_SPAN: f64 = 8.0;
/// Number of earlier spans that are searched for the last instant at which the chain forgot its
/// state. The probability that none is found is e^(−8·64).
const LOOK_BACK: u64 = 64;

/// Running channel: its chain, and the instants of the current span of time at which the chain
/// forgets its state.
#[derive(Debug, Clone)]
pub struct State {
    chain: Chain,
    /// Length of a span in nanoseconds, at least 1.
    period: u64,
    /// Seed of the streams of all spans; drawn when the first frame is sent.
    key: Option<u64>,
    /// Number of the span to which `instants` belong.
    current: Option<u64>,
    /// Instants of the span at which the chain forgets its state, each with a uniform number that
    /// determines the new state. The first entry, at time 0, represents the last instant before the
    /// span.
    instants: Vec<(u64, f64)>,
    /// Index in `instants` of the last instant that has passed.
    at: usize,
}

impl State {
    fn new(chain: Chain) -> Self {
        let period = libm::ceil(PER_SPAN / chain.decay_s * 1e9).max(1.0);
        let instants = Vec::with_capacity(4 * PER_SPAN as usize);
        Self { chain, period: period as u64, key: None, current: None, instants, at: 0 }
    }

    /// True if the chain is bad at `now`.
    fn is_bad(&mut self, now: Time, stream: &mut RandomStream) -> bool {
        let (span, within) = (now.as_nanos() / self.period, now.as_nanos() % self.period);
        if self.current != Some(span) {
            self.enter(span, stream);
        }
        while self.instants.get(self.at + 1).is_some_and(|(instant, _)| *instant <= within) {
            self.at += 1;
        }
        self.instants[self.at].1 < self.chain.bad_share
    }

    #[cold]
    fn enter(&mut self, span: u64, stream: &mut RandomStream) {
        let key = *self.key.get_or_insert_with(|| stream.next_u64());
        let mean_gap = self.period as f64 / PER_SPAN;
        // The state at the start of the span was determined at the last instant before it.
        let before = (span.saturating_sub(LOOK_BACK)..span).rev();
        let last = |earlier| Instants::of(key, earlier, mean_gap, self.period).last();
        let first = before.into_iter().find_map(last).unwrap_or_else(|| {
            (0, StreamKey { seed: key, replication: span }.stream("beginning").uniform())
        });
        self.instants.clear();
        self.instants.push((0, first.1));
        self.instants.extend(Instants::of(key, span, mean_gap, self.period));
        (self.current, self.at) = (Some(span), 0);
    }
}

/// Poisson process of the instants in a span at which the chain forgets its state.
struct Instants {
    stream: RandomStream,
    mean_gap: f64,
    period: f64,
    now: f64,
}

impl Instants {
    fn of(key: u64, span: u64, mean_gap: f64, period: u64) -> Self {
        let stream = StreamKey { seed: key, replication: span }.stream("instants");
        Self { stream, mean_gap, period: period as f64, now: 0.0 }
    }
}

impl Iterator for Instants {
    type Item = (u64, f64);

    fn next(&mut self) -> Option<(u64, f64)> {
        self.now += self.stream.exponential() * self.mean_gap;
        (self.now < self.period).then(|| (self.now as u64, self.stream.uniform()))
    }
}

impl Channel for State {
    fn fate(&mut self, now: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        let bad = self.is_bad(now, stream);
        let chain = &self.chain;
        // One draw per frame in either state, so that runs that differ in a parameter use the same
        // draws.
        let lost = stream.uniform() < if bad { chain.bad_loss } else { chain.good_loss };
        if lost { Fate::Lose(Reason::Channel) } else { DELIVER }
    }

    fn adopt(&mut self, new: Self) {
        let key = self.key;
        let same = self.period == new.period;
        self.chain = new.chain;
        if !same {
            *self = Self { key, ..new };
        }
    }
}

#[cfg(test)]
mod tests;
