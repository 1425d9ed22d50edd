//! *What it does.* Drops frames above a rate, like a traffic policer: a token bucket without a
//! queue.
//!
//! *Reference.* The single-rate meter of RFC 2697 without an excess bucket; `tc … police rate …
//! burst … drop`; Flach et al. 2016, "An Internet-Wide Analysis of Traffic Policing".
//!
//! *Equations.* Tokens, counted in bytes, flow into the bucket at `rate`, up to `bucket_bytes`; at
//! the start the bucket is full. A frame takes as many tokens as it has bytes. If the bucket holds
//! fewer, the frame is dropped and takes none. In the long run frames pass at `rate` at most.
//!
//! *Where we differ.* A frame reaches the policer when its transmission on the link ends. The size
//! of a frame is that of its IP packet. Drops by a policer are attributed to congestion, because
//! the sender exceeded the rate.

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, checked};
use retx_units::{RandomStream, Rate, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Token bucket without a queue: frames that exceed a rate are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Config {
    /// Token rate.
    pub rate: Rate,
    /// Size of the bucket, in bytes; frames that are longer never pass.
    pub bucket_bytes: u32,
}

checked!(Config);

impl Config {
    fn check(&self) -> Result<(), String> {
        if self.bucket_bytes == 0 {
            return Err(choice::error_at("bucket_bytes", "0 is refused: nothing would ever pass"));
        }
        Ok(())
    }
}

/// Token units per byte. One unit is the amount of tokens that arrives in a nanosecond at a rate of
/// 1 bit/s.
const PER_BYTE: u128 = 8_000_000_000;

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        let full = u128::from(self.bucket_bytes) * PER_BYTE;
        State { rate: self.rate.as_bit_s(), full, tokens: full, at: Time::from_nanos(0) }
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        None
    }
}

/// Running policer: its parameters, and the tokens in the bucket at the time `at`.
#[derive(Debug, Clone)]
pub struct State {
    rate: u64,
    full: u128,
    tokens: u128,
    at: Time,
}

impl Channel for State {
    fn fate(&mut self, now: Time, frame: &Frame, _: &mut RandomStream) -> Fate {
        let passed = now.as_nanos() - self.at.as_nanos();
        self.at = now;
        self.tokens = self.full.min(self.tokens + u128::from(self.rate) * u128::from(passed));
        let needed = u128::from(frame.bytes) * PER_BYTE;
        if needed > self.tokens {
            return Fate::Lose(Reason::Policer);
        }
        self.tokens -= needed;
        DELIVER
    }

    /// Takes over the parameters of `new`, and keeps the tokens that fit into the new bucket.
    fn adopt(&mut self, new: Self) {
        let tokens = self.tokens.min(new.full);
        *self = Self { tokens, at: self.at, ..new };
    }
}
