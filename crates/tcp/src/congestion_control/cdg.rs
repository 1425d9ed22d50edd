//! *What it does.* CDG (CAIA delay gradient) as in Linux: reduces the window at random, with a
//! probability that grows with the rise of the round-trip time. A loss after such reductions
//! reduces the window less, or not at all.
//!
//! *Reference.* Linux `net/ipv4/tcp_cdg.c` (read as of 6.x), after Hayes & Armitage 2011,
//! “Revisiting TCP congestion control using delay gradients”.
//!
//! *Equations.* RTTs in µs.
//! - *Gradient*, once per round trip. The differences of the round's least and largest RTT from
//!   those of the round before are summed over eight rounds: g_min and g_max. While only n
//!   differences exist, their sum is multiplied by 8/n. The gradient g is g_min if that is
//!   positive, otherwise g_max. An ACK of a single segment after ACKs of several counts as delayed;
//!   its RTT is used only for the least RTT.
//! - *Reduction by delay*, for g > 0, with probability 1 − e^(−42·g/10⁶). As after ECN-Echo, the
//!   window is reduced to ssthresh = max(⌊724·cwnd/1024⌋, 2). After five such reductions in
//!   succession there are no more until a sum is at most −32.
//! - *Loss and timeout:* ssthresh = max(w, cwnd/2, 2). The shadow window w grows like cwnd, is not
//!   changed by reductions by delay, and is halved by a loss.
//! - *Slow start* ends once the least RTT of a round, after eight samples, exceeds the least RTT so
//!   far by an eighth. It also ends once a train of ACKs less than 3 ms apart lasts half of the
//!   least RTT so far.
//! - *Growth* as `reno_linux`.
//!
//! *Where it differs.* From the paper: HyStart, proportional rate reduction, and a factor in place
//! of the paper's G. From Linux: the exponential is computed exactly, not by table. Selectively
//! acknowledged data are assumed to remain only during recovery and at duplicate ACKs. The module's
//! parameters are fixed at their defaults, so the states for loss tolerance are absent.

use super::ack_samples::{AckSamples, State as AckState};
use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Sent, Start, Window};
use retx_units::{Duration, RandomStream, StreamKey, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CDG as in Linux: reduces the window at random when the round-trip time rises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Rounds in the sum of gradients (`window`).
const ROUNDS: usize = 8;
/// Part of the window that remains after a reduction by delay, in 1/1024 (`backoff_beta`).
const BETA: u64 = 724;
/// Factor of the gradient in the exponent (`backoff_factor`).
const FACTOR: f64 = 42.0;
/// Number of consecutive reductions by delay that may fail to lower the delay (`use_ineff`).
const INEFFECTUAL_MOST: u32 = 5;
/// Sum of gradients, in µs, at or below which the reductions have had an effect.
const EFFECTUAL: i64 = -32;
/// Maximum number of ACKs of single segments that count as delayed ones.
const DELAYED_MOST: u32 = 5;
/// Longest time between two ACKs of a train.
const TRAIN_GAP: Duration = Duration::from_millis(3);
/// Smallest RTT growth that ends slow start in HyStart, in µs, and number of samples before it
/// compares the RTT.
const THRESHOLD_MIN: i64 = 125;
const SAMPLES: u32 = 8;

/// Least and largest RTT of a round in µs (0: none), or their gradients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct MinMax {
    min: i64,
    max: i64,
}

impl MinMax {
    const NONE: Self = Self { min: 0, max: 0 };

    const fn minus(self, other: Self) -> Self {
        Self { min: self.min - other.min, max: self.max - other.max }
    }

    const fn plus(self, other: Self) -> Self {
        Self { min: self.min + other.min, max: self.max + other.max }
    }
}

/// State that an idle restart clears (`struct cdg`).
#[derive(Debug, Clone, Default)]
struct Delay {
    rtt: MinMax,
    previous: MinMax,
    gradients: [MinMax; ROUNDS],
    sum: MinMax,
    /// True once all entries of `gradients` are in use.
    is_full: bool,
    /// Index of the entry for the next gradient.
    tail: usize,
    /// True while a reduction that was triggered by delay is in progress (`CDG_BACKOFF`).
    backs_off: bool,
    /// Number of further ACKs of single segments that count as delayed ones.
    delayed: u32,
    round_end: u64,
    /// Shadow window: the window without reductions by delay, in segments.
    shadow: u64,
    /// Number of reductions by delay since the delay last fell.
    ineffectual: u32,
    samples: u32,
    /// Least RTT measured in slow start, in µs.
    least: i64,
    /// Times of the first and the last ACK of the current train.
    train: Option<(Time, Time)>,
}

/// State of CDG.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    samples: AckSamples,
    delay: Delay,
    snd_nxt: u64,
    asks: bool,
    draws: RandomStream,
}

fn draws(identity: u64) -> RandomStream {
    StreamKey { seed: identity, replication: 0 }.stream("cdg.backoff")
}

impl Delay {
    /// Records an RTT in µs (`tcp_cdg_acked`).
    fn on_rtt(&mut self, rtt: i64, packets: u64, has_sacked: bool) {
        let rtts = &mut self.rtt;
        // After ACKs of two segments, the ACK of a single one has probably waited for the timer of
        // delayed ACKs, which would look like a queue.
        if !has_sacked {
            if packets == 1 && self.delayed > 0 {
                rtts.min = rtts.min.min(rtt);
                self.delayed -= 1;
                return;
            }
            if packets > 1 && self.delayed < DELAYED_MOST {
                self.delayed += 1;
            }
        }
        rtts.min = if rtts.min == 0 { rtt } else { rtts.min.min(rtt) };
        rtts.max = rtts.max.max(rtt);
    }

    /// True if slow start is to end (`tcp_cdg_hystart_update`).
    fn ends_slow_start(&mut self, ack: &Ack) -> bool {
        let rtt = self.rtt.min;
        self.least = if self.least == 0 || rtt != 0 && rtt < self.least { rtt } else { self.least };
        if self.least == 0 {
            return false;
        }
        match self.train {
            Some((start, last)) if ack.cwnd_limited => {
                if ack.now < last + TRAIN_GAP {
                    self.train = Some((start, ack.now));
                    let length = (self.least / 2).max(THRESHOLD_MIN);
                    if ack.now > start + Duration::from_micros(length as u64) {
                        return true;
                    }
                }
            }
            _ => self.train = Some((ack.now, ack.now)),
        }
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        rtt > (self.least + self.least / 8).max(THRESHOLD_MIN)
    }

    /// Gradient over the last eight rounds, in µs (`tcp_cdg_grad`).
    fn gradient(&mut self) -> i64 {
        let latest = self.rtt.minus(self.previous);
        self.sum = self.sum.plus(latest).minus(self.gradients[self.tail]);
        self.gradients[self.tail] = latest;
        self.tail = (self.tail + 1) % ROUNDS;
        let MinMax { min, max } = self.sum;
        // A rise of the least RTT is the more reliable sign, but the largest RTT rises earlier.
        let mut gradient = if min > 0 { min } else { max };
        if !self.is_full {
            // Until eight rounds have passed, the missing ones are assumed to have the mean
            // gradient of those that have.
            if self.tail == 0 {
                self.is_full = true;
            } else {
                gradient = gradient * ROUNDS as i64 / self.tail as i64;
            }
        }
        if min <= EFFECTUAL || max <= EFFECTUAL {
            self.ineffectual = 0;
        }
        gradient
    }

    /// Ends a round; returns its gradient, 0 for the first.
    fn end_round(&mut self, snd_nxt: u64) -> i64 {
        let gradient = if self.previous == MinMax::NONE { 0 } else { self.gradient() };
        self.round_end = snd_nxt;
        self.previous = std::mem::take(&mut self.rtt);
        (self.train, self.samples) = (None, 0);
        gradient
    }

    /// Threshold after a reduction, in segments (`tcp_cdg_ssthresh`).
    fn ssthresh(&mut self, cwnd: u64) -> u64 {
        if self.backs_off {
            return ((u128::from(cwnd) * u128::from(BETA)) >> 10) as u64;
        }
        // Reductions by delay have kept the window below its shadow. If half of the shadow is as
        // large as the window, the loss does not reduce the window.
        self.shadow = (self.shadow / 2).min(cwnd);
        self.shadow.max(cwnd / 2)
    }
}

/// Probability of a reduction by delay, for a gradient in µs.
fn probability(gradient: i64) -> f64 {
    -libm::expm1(-FACTOR * gradient as f64 / 1e6)
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            samples: AckSamples::default(),
            delay: Delay::default(),
            snd_nxt: 0,
            asks: false,
            draws: draws(0),
        }
    }

    /// Decides whether to reduce the window (`tcp_cdg_backoff`).
    fn backs_off(&mut self, gradient: i64, cwnd: u64) -> bool {
        if gradient <= 0 || self.draws.uniform() >= probability(gradient) {
            return false;
        }
        let delay = &mut self.delay;
        // Flows that respond only to losses would use the bandwidth that further reductions free.
        delay.ineffectual = delay.ineffectual.saturating_add(1);
        if delay.ineffectual > INEFFECTUAL_MOST {
            return false;
        }
        delay.shadow = delay.shadow.max(cwnd);
        delay.backs_off = true;
        true
    }

    /// Ends a reduction, by delay or loss (`CA_EVENT_COMPLETE_CWR`).
    fn end_reduction(&mut self) {
        let delay = &mut self.delay;
        // The fall of the delay during the reduction must not count as a gradient.
        delay.backs_off = false;
        delay.round_end = self.snd_nxt;
        delay.previous = std::mem::take(&mut delay.rtt);
    }
}

impl CongestionControl for State {
    fn takes_fast_paths(&self) -> bool {
        false
    }

    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        self.samples.on_connected(start);
        self.delay.shadow = segments::cwnd_segments(window);
        self.draws = draws(start.identity);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.snd_nxt = self.snd_nxt.max(sent.position + u64::from(sent.bytes));
        self.samples.on_sent(sent);
    }

    fn on_segments_acked(&mut self, _: &mut Window, _: &Ack, rtt: Option<Duration>) {
        self.samples.on_segments_acked(rtt);
    }

    fn observe(&mut self, ack: &Ack, smss: u32) {
        let sample = self.samples.evaluate(ack, smss);
        let rtt = sample.rtt.map_or(0, |rtt| (rtt.as_nanos() / 1000) as i64);
        if rtt > 0 {
            let has_sacked = ack.bytes_acked == 0 || sample.state == AckState::Reduced;
            self.delay.on_rtt(rtt, sample.packets, has_sacked);
        }
    }

    /// Ends slow start, begins reductions by delay, or grows the window (`tcp_cdg_cong_avoid`).
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if window.in_slow_start() && self.delay.ends_slow_start(ack) {
            window.ssthresh = window.cwnd;
        }
        let cwnd = segments::cwnd_segments(window);
        if ack.snd_una > self.delay.round_end && self.delay.rtt != MinMax::NONE {
            let gradient = self.delay.end_round(ack.snd_nxt);
            if self.backs_off(gradient, cwnd) {
                self.asks = true;
                return;
            }
        }
        if !ack.cwnd_limited {
            self.delay.shadow = self.delay.shadow.min(cwnd);
            return;
        }
        self.segments.grow_like_reno(window, ack);
        let increase = segments::cwnd_segments(window) - cwnd;
        self.delay.shadow = self.delay.shadow.saturating_add(increase);
    }

    fn asks_for_reduction(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = self.delay.ssthresh(segments::cwnd_segments(window));
        self.segments.reduce(window, loss, ssthresh);
        self.samples.on_reduction(loss);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let cwnd = segments::cwnd_segments(window);
        if !self.segments.on_timeout(window, loss, repeated) {
            let ssthresh = self.delay.ssthresh(cwnd).max(2);
            window.ssthresh = segments::segments_to_bytes(window, ssthresh);
        }
        self.samples.on_reduction(loss);
    }

    fn on_recovery_end(&mut self, _: &mut Window, _: Time) {
        self.end_reduction();
    }

    fn on_reduction_end(&mut self) {
        self.end_reduction();
    }

    fn on_idle_restart(&mut self, window: &Window) {
        self.delay = Delay {
            round_end: self.snd_nxt,
            shadow: segments::cwnd_segments(window),
            ..Delay::default()
        };
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
        self.samples.on_undo();
    }
}

#[cfg(test)]
mod tests;
