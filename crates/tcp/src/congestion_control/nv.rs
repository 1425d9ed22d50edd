//! *What it does.* TCP-NV as in Linux: once per round trip compares the window with the one that
//! the measured rate needs at the minimum RTT, and keeps about ten segments queued.
//!
//! *Reference.* Linux `net/ipv4/tcp_nv.c` (read as of 6.x), by Brakmo, after Vegas.
//!
//! *Equations.* RTTs are in µs, and each is averaged with the previous average. The rate of a
//! sample is the number of segments delivered since the acknowledged one was sent, divided by this
//! average. Once per round trip, w = ⌊r·m⌋ + 10. Here r is the largest rate since the last
//! decision, and m the minimum RTT of a random period, the last 3.75 to 6.25 s:
//! - *cwnd > w*, with at least 60 samples (30 in the first slow start) in at least two round trips
//!   since the last decision: ssthresh = w, and cwnd falls by max(⌊38·(cwnd − w)/128⌋, 2), or to w
//!   if it exceeds w by two or less. The window does not grow until the next decision.
//! - *cwnd ≤ w − 2*, with at least 20 samples: the window may grow.
//! - *Growth* as `reno_linux`, but by at most one segment per four acknowledged. Each timeout
//!   increases f by one, and nine decisions without congestion decrease it by one. While f > 0, the
//!   window grows by one segment per 2^f·cwnd acknowledged.
//! - *Loss and timeout:* ssthresh = max(⌊819·cwnd/1024⌋, 2), and no growth until the next decision.
//!
//! A queue that lasts longer than the period of m becomes a part of m, and the window slowly grows.
//!
//! *Where it differs.* From Linux: duplicate ACKs give no sample, and a retransmitted segment
//! counts from its first transmission. The module's parameters are fixed at their defaults, and
//! there is no RTT set by BPF. Without the RTT samples of Linux, decisions are made only outside
//! recovery.

use super::ack_samples::{AckSamples, State as AckState};
use super::jiffies;
use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Sent, Start, Window};
use crate::work;
use retx_units::{Duration, RandomStream, StreamKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// TCP-NV as in Linux: keeps about ten segments queued, by the rate measured in each round trip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Number of segments that may queue (`nv_pad`).
const PAD: u64 = 10;
/// Growth stops this many segments below the window at which [`PAD`] segments queue
/// (`nv_pad_buffer`).
const PAD_BUFFER: u64 = 2;
/// Part of the excess by which the window falls, in 1/128 (`nv_cong_dec_mult`).
const DECREASE: u64 = 38;
/// Part of the window that remains after a loss, in 1/1024 (`nv_loss_dec_factor`).
const LOSS_LEAVES: u64 = 819;
/// Samples needed to reduce the window, to reduce it in the first slow start, and to let it grow.
const SAMPLES_TO_FALL: u32 = 60;
const SAMPLES_TO_END_SLOW_START: u32 = 30;
const SAMPLES_TO_GROW: u32 = 20;
/// Number of round trips since the last decision that a reduction requires, and number up to which
/// the window may still grow while there are too few samples for a reduction.
const ROUNDS_TO_FALL: u32 = 2;
const ROUNDS_TO_STOP: u32 = 10;
/// Number of decisions without congestion that must be exceeded before `slowness` falls, and
/// maximum of `slowness`.
const DECISIONS_TO_RECOVER: u64 = 8;
const SLOWEST: u32 = 8;
/// Mean period after which the minimum RTT is replaced, in s (`nv_reset_period`).
const RESET_PERIOD: u64 = 5;
/// Smallest window to which a decision reduces, in segments.
const CWND_MIN: u64 = 2;
/// Smallest and largest value of `burst`, and its increment, in segments (`NV_MIN_CWND`,
/// `NV_TSO_CWND_BOUND`).
const BURST_MIN: u64 = 4;
const BURST_MOST: u64 = 81;
const BURST_STEP: u64 = 2;
/// A byte per µs in units of 100 bit/s.
const BITS: u64 = 80_000;
/// Slow start thresholds above this count as infinite: no congestion has been seen yet.
const INFINITE: u64 = u64::MAX / 2;

/// Measurements since the last reset (`tcpnv_reset`).
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// Number of consecutive decisions without congestion.
    calm: u64,
    /// Number of round trips and of samples since the last decision.
    rounds: u32,
    samples: u32,
    /// Mean RTT in µs; 0 before the first.
    rtt: u64,
    /// Largest rate, in 100 bit/s.
    rate: u64,
    /// Position beyond which an acknowledgment ends the round trip.
    end: u64,
    snd_una: u64,
}

/// State of TCP-NV.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    samples: AckSamples,
    round: Round,
    /// End of each segment in flight, and number of segments delivered when it was sent.
    flying: VecDeque<(u64, u64)>,
    delivered: u64,
    /// Minimum RTT in force, and the one that will replace it, in µs; time of the replacement, in
    /// ticks.
    least: u64,
    next_least: u64,
    renewal: u64,
    /// Largest window, in segments, that counts as a single burst with one ACK per round trip
    /// (`nv_min_cwnd`).
    burst: u64,
    /// Growth is 2 to this power times slower than Reno's.
    slowness: u32,
    may_grow: bool,
    /// True from a reduction until the state is Open again.
    resets: bool,
    /// True if the connection calls `on_segments_acked` at all; otherwise `observe` stores the
    /// sample of an ACK in `latest`, for `on_ack`.
    is_sampled: bool,
    latest: Option<(u64, u64)>,
    draws: RandomStream,
}

fn draws(identity: u64) -> RandomStream {
    StreamKey { seed: identity, replication: 0 }.stream("nv.renewal")
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            samples: AckSamples::default(),
            round: Round::default(),
            flying: VecDeque::new(),
            delivered: 0,
            least: u64::MAX,
            next_least: u64::MAX,
            renewal: 0,
            burst: BURST_MIN,
            slowness: 0,
            may_grow: true,
            resets: false,
            is_sampled: false,
            latest: None,
            draws: draws(0),
        }
    }

    /// Number of segments delivered since the last segment below `snd_una` was sent; `None` if no
    /// segment is newly acknowledged.
    fn delivered_since_sent(&mut self, snd_una: u64) -> Option<u64> {
        let mut before = None;
        while let Some((_, delivered)) = self.flying.front().filter(|(end, _)| *end <= snd_una) {
            work::steps(1);
            before = Some(*delivered);
            self.flying.pop_front();
        }
        Some(self.delivered - before?)
    }

    /// Returns the sample of an acknowledgment: RTT in µs, and bytes delivered since the
    /// acknowledged segment was sent. `None` while a loss is being repaired.
    fn take(&mut self, ack: &Ack, smss: u32) -> Option<(u64, u64)> {
        self.delivered += ack.delivered.div_ceil(smss.into());
        let sample = self.samples.evaluate(ack, smss);
        let flight = self.delivered_since_sent(ack.snd_una);
        if self.resets && !self.samples.is_reduced() {
            // The state is Open again (`tcpnv_state`).
            self.resets = false;
            self.round = Round { end: ack.snd_una, snd_una: ack.snd_una, ..Round::default() };
        }
        let rtt = sample.rtt.filter(|_| sample.state != AckState::Reduced)?;
        Some(((rtt.as_nanos() / 1000).max(1), flight? * u64::from(smss)))
    }

    /// Handles a sample: RTT in µs, and bytes delivered since the segment was sent (`tcpnv_acked`).
    fn on_sample(&mut self, window: &mut Window, ack: &Ack, (rtt, flight): (u64, u64)) {
        let bytes_acked = ack.snd_una - self.round.snd_una;
        self.round.snd_una = ack.snd_una;
        self.measure(rtt, flight);
        self.renew_least(jiffies::from_time(ack.now));
        if self.round.end < ack.snd_una {
            self.end_round(window, ack, bytes_acked);
        }
    }

    fn measure(&mut self, rtt: u64, flight: u64) {
        // The RTT is averaged over two samples, because offloading and coalesced interrupts delay
        // single ACKs.
        let round = &mut self.round;
        if round.rtt > 0 {
            round.rtt = (rtt + round.rtt) / 2;
        } else {
            round.rtt = rtt;
            self.least = 2 * rtt;
        }
        round.rate = round.rate.max(flight.saturating_mul(BITS) / round.rtt);
        round.samples += 1;
        self.least = self.least.min(round.rtt);
        self.next_least = self.next_least.min(round.rtt);
    }

    /// Replaces the minimum RTT by that of the current period, if the period is over.
    fn renew_least(&mut self, now: u64) {
        if now < self.renewal {
            return;
        }
        self.least = self.next_least;
        self.next_least = u64::MAX;
        // The length of the next period is random, so that flows that share a path do not renew
        // their minima at the same time.
        self.renewal = now + (RESET_PERIOD * (384 + self.draws.below(256)) * jiffies::HZ) / 512;
        self.burst = (self.burst / 2).max(BURST_MIN);
    }

    fn end_round(&mut self, window: &mut Window, ack: &Ack, bytes_acked: u64) {
        let round = &mut self.round;
        round.end = ack.snd_nxt;
        round.rounds += 1;
        // A single ACK in a round trip means that the window is as small as one burst.
        let burst = segments::segments_to_bytes(window, self.burst - 1);
        if round.samples == 1 && bytes_acked >= burst && self.burst < BURST_MOST {
            self.burst = (self.burst + BURST_STEP).min(BURST_MOST);
            round.end = ack.snd_nxt.saturating_add(segments::segments_to_bytes(window, self.burst));
            round.samples = 0;
            self.may_grow = true;
            return;
        }
        let needed = u128::from(round.rate) * u128::from(self.least)
            / (u128::from(BITS) * u128::from(window.smss));
        let most = u64::try_from(needed).unwrap_or(u64::MAX).saturating_add(PAD);
        if self.decides(window, most) {
            (self.round.samples, self.round.rounds, self.round.rate) = (0, 0, 0);
        }
    }

    /// Reduces the window or permits its growth, if there are enough samples for such a decision.
    /// Returns true if a decision was made.
    fn decides(&mut self, window: &mut Window, most: u64) -> bool {
        let cwnd = segments::cwnd_segments(window);
        let Round { rounds, samples, .. } = self.round;
        if cwnd > most {
            let is_first = window.ssthresh > INFINITE;
            let needed = if is_first { SAMPLES_TO_END_SLOW_START } else { SAMPLES_TO_FALL };
            if samples < needed {
                self.may_grow &= is_first || rounds <= ROUNDS_TO_STOP;
            }
            if rounds < ROUNDS_TO_FALL || samples < needed {
                return false;
            }
            self.may_grow = false;
            window.ssthresh = segments::segments_to_bytes(window, most);
            // Only a part of the excess is removed: all flows see the same queue, and would
            // together remove more than the queue contains.
            let excess = cwnd - most;
            let decrease = if excess > 2 { (excess * DECREASE / 128).max(2) } else { excess };
            window.cwnd = segments::segments_to_bytes(window, (cwnd - decrease).max(CWND_MIN))
                .min(window.cwnd);
            self.round.calm = 0;
            return true;
        }
        if cwnd > most - PAD_BUFFER || samples < SAMPLES_TO_GROW {
            return false;
        }
        self.may_grow = true;
        self.round.calm += 1;
        if self.slowness > 0 && self.round.calm > DECISIONS_TO_RECOVER {
            self.slowness -= 1;
            self.round.calm = 0;
        }
        true
    }

    fn ssthresh(cwnd: u64) -> u64 {
        ((u128::from(cwnd) * u128::from(LOSS_LEAVES)) >> 10) as u64
    }

    fn stop_growth(&mut self, loss: &Loss) {
        self.samples.on_reduction(loss);
        (self.resets, self.may_grow) = (true, false);
    }
}

impl CongestionControl for State {
    fn on_connected(&mut self, _: &mut Window, start: &Start) {
        self.samples.on_connected(start);
        self.is_sampled = start.samples_segments;
        self.round = Round { end: 1, snd_una: 1, ..Round::default() };
        self.renewal = jiffies::from_time(start.now) + 2 * jiffies::HZ;
        self.draws = draws(start.identity);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.samples.on_sent(sent);
        let end = sent.position + u64::from(sent.bytes);
        if self.flying.back().is_none_or(|(last, _)| end > *last) {
            self.flying.push_back((end, self.delivered));
        }
    }

    fn on_segments_acked(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>) {
        if self.is_sampled {
            self.samples.on_segments_acked(rtt);
            if let Some(sample) = self.take(ack, window.smss) {
                self.on_sample(window, ack, sample);
            }
        }
    }

    fn observe(&mut self, ack: &Ack, smss: u32) {
        if !self.is_sampled {
            self.latest = self.take(ack, smss);
        }
    }

    /// Handles an acknowledgment, and grows the window unless NV's last decision or a later loss
    /// forbids growth (`tcpnv_cong_avoid`).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(sample) = self.latest.take() {
            self.on_sample(window, ack, sample);
        }
        if !self.may_grow {
            return;
        }
        let Some(acked) = segments::slow_start(window, ack) else { return };
        let cwnd = segments::cwnd_segments(window);
        let per = if self.slowness > 0 { cwnd << self.slowness } else { cwnd.max(4) };
        self.segments.grow_additively(window, per, acked);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = Self::ssthresh(segments::cwnd_segments(window));
        self.segments.reduce(window, loss, ssthresh);
        self.stop_growth(loss);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let ssthresh = Self::ssthresh(segments::cwnd_segments(window));
        self.segments.reduce_at_timeout(window, loss, repeated, ssthresh);
        self.stop_growth(loss);
        self.slowness = (self.slowness + 1).min(SLOWEST);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
        self.samples.on_undo();
    }
}

#[cfg(test)]
mod tests;
