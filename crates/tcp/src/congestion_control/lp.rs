//! *What it does.* TCP-LP as in Linux: uses only the bandwidth that other flows leave free, by
//! yielding as soon as the one-way delay rises.
//!
//! *Reference.* Linux `net/ipv4/tcp_lp.c` (read as of 6.x), after Kuzmanovic & Knightly 2003,
//! “TCP-LP: a distributed algorithm for low priority data transfer”.
//!
//! *Equations.* In ticks of the timestamp clock, with 32-bit arithmetic:
//! - *Clock.* The rate h of the receiver's clock is smoothed by 1/64 from ⌊1000·ΔTSval/ΔTSecr⌋.
//! - *Delay.* owd = |⌊1000/h⌋·TSval − TSecr|, and sowd = 7/8 sowd + 1/8 owd. owd_min is the least
//!   owd, and owd_max the largest but one. A fast rise of the delay, or the granularity of the
//!   clock, may raise h above 1000. Then ⌊1000/h⌋ is 0, and owd is a large number unrelated to the
//!   delay, until h has fallen.
//! - *Early congestion:* sowd ≥ owd_min + ⌊15·(owd_max − owd_min)/100⌋. Then owd_min = sowd,
//!   owd_max = 2 sowd, and cwnd = cwnd/2, or 1 if the last such decrease is less than three
//!   (echoed) round trips ago. During these three round trips the window does not grow.
//! - *Otherwise* as `reno_linux`.
//!
//! *Where it differs.* From the paper: the extremes are reset at each decrease. From Linux: the
//! clock offset (see below) is drawn for each connection, not for each pair of hosts. Without the
//! RTT samples of Linux, early congestion is detected only outside recovery.
//!
//! As in Linux, the receiver's clock has a random offset (`clock_offset`), unless
//! `net.ipv4.tcp_timestamps` is 2. This makes owd large, and sowd keeps only its lower 29 bits. In
//! seven of eight connections these are below every threshold, and TCP-LP acts as Reno. Without
//! timestamps it always does.

use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Start, Window};
use retx_units::{Duration, StreamKey};
use retx_wire::Timestamps;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TCP-LP as in Linux: low priority, meant to give way as soon as the one-way delay rises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Offset of the receiver's timestamp clock, which hides the delay in most connections.
    pub clock_offset: ClockOffset,
}

/// Offset of the receiver's timestamp clock from the sender's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockOffset {
    /// Random, as with Linux's default of 1 for `net.ipv4.tcp_timestamps`.
    #[default]
    Random,
    /// None, as if `net.ipv4.tcp_timestamps` is 2 on hosts that were started together.
    None,
}

/// Ticks per second (`TCP_TS_HZ`), and the resolution of delays (`LP_RESOL`).
const HZ: u32 = 1000;
/// Binary logarithm of the weight of the smoothed clock rate.
const RATE_SHIFT: u32 = 6;

/// Estimate of the one-way delay (`struct lp`).
#[derive(Debug, Clone)]
struct OneWayDelay {
    /// Eight times the smoothed delay.
    smoothed: u32,
    min: u32,
    max: u32,
    /// Largest delay so far; `max` is the largest one before it.
    max_reserved: u32,
    /// Ticks per second of the receiver's clock; 0 before the first estimate.
    remote_hz: u32,
    /// Timestamps of the last sample.
    reference: Timestamps,
}

/// State of TCP-LP.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    delay: OneWayDelay,
    /// Timestamps of the acknowledgment being processed, and this end's clock; 0 without
    /// timestamps.
    received: Timestamps,
    clock: u32,
    /// Time of the last decrease, in ticks; 0 before the first.
    last_drop: u32,
    /// Time after a decrease during which the window does not grow, in ticks.
    inference: u32,
    rests: bool,
    /// True if the connection calls `on_segments_acked` at all.
    is_sampled: bool,
    clock_offset: ClockOffset,
    /// Offset of the receiver's clock on this connection, in ticks.
    offset: u32,
}

impl OneWayDelay {
    const NONE: Self = Self {
        smoothed: 0,
        min: u32::MAX,
        max: 0,
        max_reserved: 0,
        remote_hz: 0,
        reference: Timestamps { value: 0, echo: 0 },
    };

    /// Updates the rate of the receiver's clock (`tcp_lp_remote_hz_estimator`).
    fn update_remote_hz(&mut self, received: Timestamps) {
        let reference = std::mem::replace(&mut self.reference, received);
        let is_known = reference.value != 0 && reference.echo != 0;
        if !is_known || received.value == reference.value || received.echo == reference.echo {
            return;
        }
        let remote = received.value.wrapping_sub(reference.value);
        let local = received.echo.wrapping_sub(reference.echo);
        let sample = i64::from(HZ.wrapping_mul(remote) / local);
        let scaled = i64::from(self.remote_hz << RATE_SHIFT);
        let scaled = if scaled > 0 {
            // The estimate is rounded down: it falls at each lower sample, and rises only at
            // samples that exceed it by 64.
            scaled + sample - (scaled >> RATE_SHIFT)
        } else {
            sample << RATE_SHIFT
        };
        self.remote_hz = (scaled >> RATE_SHIFT) as u32;
    }

    /// Evaluates the timestamps of an acknowledgment (`tcp_lp_rtt_sample`).
    fn sample(&mut self, received: Timestamps) {
        self.update_remote_hz(received);
        if self.remote_hz == 0 {
            return;
        }
        // If the estimate exceeds 1000 Hz, the factor of the receiver's clock is 0 (integer
        // division).
        let remote = received.value.wrapping_mul(HZ / self.remote_hz);
        let owd = remote.wrapping_sub(received.echo);
        if owd == 0 {
            return;
        }
        self.min = self.min.min(owd);
        // The largest delay may be an outlier, so `max` is the largest one before it.
        if owd > self.max {
            self.max = if owd <= self.max_reserved || self.max_reserved == 0 {
                owd
            } else {
                self.max_reserved
            };
            self.max_reserved = self.max_reserved.max(owd);
        }
        self.smoothed = if self.smoothed == 0 {
            owd << 3
        } else {
            self.smoothed.wrapping_add(owd).wrapping_sub(self.smoothed >> 3)
        };
    }

    /// True if the delay has risen: early congestion.
    const fn has_risen(&self) -> bool {
        let range = self.max.wrapping_sub(self.min);
        self.smoothed >> 3 >= self.min.wrapping_add(range.wrapping_mul(15) / 100)
    }

    fn forget_extremes(&mut self) {
        self.min = self.smoothed >> 3;
        self.max = self.smoothed >> 2;
        self.max_reserved = self.max;
    }
}

impl State {
    /// Creates a controller.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            delay: OneWayDelay::NONE,
            received: Timestamps { value: 0, echo: 0 },
            clock: 0,
            last_drop: 0,
            inference: 0,
            rests: false,
            is_sampled: false,
            clock_offset: config.clock_offset,
            offset: 0,
        }
    }

    /// Handles a sample, and reduces the window upon early congestion (`tcp_lp_pkts_acked`).
    fn on_sample(&mut self, window: &mut Window, rtt: Option<Duration>) {
        if rtt.is_some_and(|rtt| rtt >= Duration::from_micros(1)) {
            self.delay.sample(self.received);
        }
        let now = self.clock;
        let trip = now.wrapping_sub(self.received.echo);
        if trip as i32 > 0 {
            self.inference = trip.wrapping_mul(3);
        }
        self.rests = self.last_drop != 0 && now.wrapping_sub(self.last_drop) < self.inference;
        if !self.delay.has_risen() {
            return;
        }
        self.delay.forget_extremes();
        // Early congestion again within the inference phase means that another flow needs the link.
        let left = if self.rests { 1 } else { (segments::cwnd_segments(window) / 2).max(1) };
        window.cwnd = segments::segments_to_bytes(window, left).min(window.cwnd);
        self.last_drop = now;
    }
}

impl CongestionControl for State {
    fn observes(&self) -> bool {
        false
    }

    fn takes_fast_paths(&self) -> bool {
        false
    }

    fn on_connected(&mut self, _: &mut Window, start: &Start) {
        self.is_sampled = start.samples_segments;
        self.offset = match self.clock_offset {
            ClockOffset::Random => {
                let key = StreamKey { seed: start.identity, replication: 0 };
                key.stream("lp.offset").next_u64() as u32
            }
            ClockOffset::None => 0,
        };
    }

    fn observe_timestamps(&mut self, received: Timestamps, clock: u32) {
        let value = received.value.wrapping_add(self.offset);
        (self.received, self.clock) = (Timestamps { value, ..received }, clock);
    }

    fn on_segments_acked(&mut self, window: &mut Window, _: &Ack, rtt: Option<Duration>) {
        if self.is_sampled {
            self.on_sample(window, rtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !self.is_sampled {
            self.on_sample(window, ack.rtt);
        }
        if !self.rests {
            self.segments.grow_like_reno(window, ack);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let half = segments::cwnd_segments(window) / 2;
        self.segments.reduce(window, loss, half);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.segments.halve_at_timeout(window, loss, repeated);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
    }
}

#[cfg(test)]
mod tests;
