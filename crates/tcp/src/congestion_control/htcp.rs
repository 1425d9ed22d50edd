//! *What it does.* H-TCP as in Linux: the longer ago the last congestion, the faster the growth; a
//! reduction leaves a window that keeps the bottleneck busy while its queue drains.
//!
//! *Reference.* Linux `net/ipv4/tcp_htcp.c` (read as of 6.x), after Leith & Shorten 2004, “H-TCP:
//! TCP for high-speed and long-distance networks”.
//!
//! *Equations.* Times are in ticks of 4 ms, α and β in 1/128; Δ is the time since the end of the
//! last recovery.
//!
//! - α = 2·f·(1 − β), with f = 1 for Δ ≤ 1 s, and f = ⌊1 + 10·(Δ − 1 s) + ((Δ − 1 s)/2)²⌋ for
//!   longer Δ (paper, eq. 4). f is divided by 100 ms/RTTmin, a ratio limited to 0.5 … 10.
//! - Congestion avoidance: +1 when α times the segments acknowledged since the last increase
//!   exceeds cwnd.
//! - Loss and timeout: ssthresh = max(β·cwnd, 2). Normally β = RTTmin/RTTmax, limited to 0.5 … 0.8.
//!   β is ½ if RTTmin ≤ 10 ms, if the largest throughput differs by more than a fifth from that
//!   before the previous loss, and at the first loss after such a change.
//! - RTTmax grows by at most 20 ms at a time. Each reduction lowers its excess over RTTmin by 5 %.
//! - Throughput is measured in each round trip, in segments per second. In the first three RTTmin
//!   after a loss, the average is the newest value; later the newest value has the weight 1/4.
//!
//! *Where it differs.* From the paper: the RTT scaling and the steps of whole segments. From Linux:
//! a duplicate ACK does not end the measurement of a throughput. The module's parameters
//! `use_rtt_scaling` and `use_bandwidth_switch` are fixed at 1.

use super::ack_samples::{self, AckSamples};
use super::jiffies::{self, HZ};
use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Sent, Start, Window};
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// H-TCP as in Linux: growth by the time since the last loss, reduction by RTTmin/RTTmax.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Fixed-point representation of 1 for α and β.
const ONE: u64 = 128;
/// `BETA_MIN` and `BETA_MAX`: 0.5 and 0.8.
const BETA_MIN: u64 = 64;
const BETA_MAX: u64 = 102;
/// Largest step of RTTmax, in ticks of 4 ms: 20 ms.
const MAX_RTT_STEP: u64 = 5;
/// RTTmin above which β is adapted, in ticks: 10 ms, rounded up.
const ADAPTED_ABOVE: u64 = 3;

/// State of H-TCP.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    samples: AckSamples,
    /// α in 1/128 segments, β in 1/128.
    alpha: u64,
    beta: u64,
    /// True once a loss has left β at its minimum: the next loss may adapt β (`modeswitch`).
    adapts: bool,
    /// Segments acknowledged by the last ACK in the state Open that are not yet counted towards an
    /// increase.
    acked: u64,
    /// RTTs in ticks; 0 before the first.
    min_rtt: u64,
    max_rtt: u64,
    /// Start of the current congestion event, or end of the last one, in ticks.
    last_congestion: u64,
    undo: Option<Undo>,
    throughput: Throughput,
}

/// Values that the undo of a reduction restores.
#[derive(Debug, Clone, Copy)]
struct Undo {
    last_congestion: u64,
    max_rtt: u64,
    previous_max: u64,
}

/// Throughput in segments per second.
#[derive(Debug, Clone, Default)]
struct Throughput {
    /// Segments acknowledged since `began`.
    packets: u64,
    /// Start of the interval in ticks; `None` for the first interval, which in Linux begins at
    /// boot.
    began: Option<u64>,
    average: u64,
    max: u64,
    /// Largest throughput before the previous reduction.
    previous_max: u64,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            samples: AckSamples::default(),
            alpha: ONE,
            beta: BETA_MIN,
            adapts: false,
            acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: 0,
            undo: None,
            throughput: Throughput::default(),
        }
    }

    /// Updates the minimum and maximum RTT (`measure_rtt`).
    fn measure_rtt(&mut self, rtt: u64, is_open: bool) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        // RTTs of a recovery include the wait for the retransmission, not only the wait in the
        // queue.
        if is_open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            // A larger increase is an outlier, such as a delay spike, and not a queue.
            if rtt <= self.max_rtt + MAX_RTT_STEP {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    /// Measures the throughput of an interval that is over (`measure_achieved_throughput`).
    fn measure_throughput(&mut self, now: u64, cwnd: u64) {
        let Throughput { packets, began, .. } = self.throughput;
        // The kernel subtracts unsigned numbers: if the growth exceeds the window, nothing is
        // measured.
        let Some(least) = cwnd.checked_sub((self.alpha / ONE).max(1)) else { return };
        let length = began.map(|began| now - began);
        let is_long = length.is_none_or(|length| length >= self.min_rtt);
        if packets < least || self.min_rtt == 0 || !is_long {
            return;
        }
        // In the first interval the kernel divides by the time since boot, which gives about 0.
        let current = length.map_or(0, |length| packets * HZ / length);
        let throughput = &mut self.throughput;
        // Rounds just after a loss use the reduced window; an average with earlier rounds would not
        // describe that window.
        if (now - self.last_congestion) / self.min_rtt <= 3 {
            (throughput.average, throughput.max) = (current, current);
        } else {
            throughput.average = (3 * throughput.average + current) / 4;
            throughput.max = throughput.max.max(throughput.average);
        }
        (throughput.packets, throughput.began) = (0, Some(now));
    }

    /// Updates β (`htcp_beta_update`).
    fn update_beta(&mut self) {
        let Throughput { max, previous_max, .. } = self.throughput;
        self.throughput.previous_max = max;
        self.beta = BETA_MIN;
        // If the throughput differs from that before the last loss, other flows have come or gone.
        // The RTTs then do not show which part of the window keeps the bottleneck busy.
        if !(4 * previous_max..=6 * previous_max).contains(&(5 * max)) {
            self.adapts = false;
        } else if self.adapts && self.min_rtt > ADAPTED_ABOVE && self.max_rtt > 0 {
            self.beta = (self.min_rtt * ONE / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.adapts = true;
        }
    }

    /// Updates α (`htcp_alpha_update`).
    fn update_alpha(&mut self, now: u64) {
        let since = now.saturating_sub(self.last_congestion);
        let mut factor = 1;
        if since > HZ {
            let late = since - HZ;
            // The kernel squares a 32-bit number, which overflows about nine minutes after the
            // congestion.
            let half = (late / 2) as u32;
            let square = u64::from(half.wrapping_mul(half));
            factor = 1 + (10 * late + square / HZ) / HZ;
        }
        // Without this scaling the window would grow more often per second on a path with a short
        // RTT.
        if self.min_rtt > 0 {
            let scale = (8 * HZ / (10 * self.min_rtt)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        // 2·(1 − β): after a smaller reduction the window grows more slowly, so that flows with
        // different β share a bottleneck equally.
        self.alpha = 2 * factor * (ONE - self.beta);
    }

    /// Updates the parameters at a congestion event; returns the threshold, in segments
    /// (`htcp_recalc_ssthresh`).
    fn ssthresh(&mut self, now: Time, cwnd: u64) -> u64 {
        self.update_beta();
        self.update_alpha(jiffies::from_time(now));
        // The maximum is lowered at each reduction, since the route may change to a shorter one.
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        (u128::from(cwnd) * u128::from(self.beta) / u128::from(ONE)) as u64
    }

    /// Records the start of a congestion event (`htcp_reset`).
    fn begin_congestion(&mut self, loss: &Loss) {
        self.samples.on_reduction(loss);
        self.undo = Some(Undo {
            last_congestion: self.last_congestion,
            max_rtt: self.max_rtt,
            previous_max: self.throughput.previous_max,
        });
        self.last_congestion = jiffies::from_time(loss.now);
    }

    fn avoid_congestion(&mut self, window: &mut Window, now: u64) {
        if self.segments.acked_segments.saturating_mul(self.alpha) / ONE
            >= segments::cwnd_segments(window)
        {
            window.cwnd = window.cwnd.saturating_add(window.smss.into());
            self.segments.acked_segments = 0;
            self.update_alpha(now);
        } else {
            self.segments.acked_segments = self.segments.acked_segments.saturating_add(self.acked);
        }
        // Outside of the state Open no ACK sets `acked`; each ACK then counts as one segment.
        self.acked = 1;
    }
}

impl CongestionControl for State {
    fn on_connected(&mut self, _: &mut Window, start: &Start) {
        self.samples.on_connected(start);
        self.last_congestion = jiffies::from_time(start.now);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.samples.on_sent(sent);
    }

    fn on_segments_acked(&mut self, _: &mut Window, _: &Ack, rtt: Option<Duration>) {
        self.samples.on_segments_acked(rtt);
    }

    fn observe(&mut self, ack: &Ack, smss: u32) {
        let sample = self.samples.evaluate(ack, smss);
        let is_open = sample.state == ack_samples::State::Open;
        if is_open {
            self.acked = sample.packets;
        }
        if let Some(rtt) = sample.rtt.filter(|rtt| !rtt.is_zero()) {
            self.measure_rtt(jiffies::from_duration(rtt), is_open);
        }
        let throughput = &mut self.throughput;
        if sample.state == ack_samples::State::Reduced {
            (throughput.packets, throughput.began) = (0, Some(jiffies::from_time(ack.now)));
        } else {
            throughput.packets = throughput.packets.saturating_add(sample.packets);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let now = jiffies::from_time(ack.now);
        self.measure_throughput(now, segments::cwnd_segments(window));
        // `htcp_state`: Δ counts from the return to Open.
        if !self.samples.is_reduced() && self.undo.take().is_some() {
            self.last_congestion = now;
        }
        if !ack.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            segments::grow_in_slow_start(window, segments::delivered_segments(window, ack));
        } else {
            self.avoid_congestion(window, now);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = self.ssthresh(loss.now, segments::cwnd_segments(window));
        self.segments.reduce(window, loss, ssthresh);
        self.begin_congestion(loss);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let cwnd = segments::cwnd_segments(window);
        if !self.segments.on_timeout(window, loss, repeated) {
            let ssthresh = self.ssthresh(loss.now, cwnd).max(2);
            window.ssthresh = segments::segments_to_bytes(window, ssthresh);
        }
        self.begin_congestion(loss);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
        self.samples.on_undo();
        if let Some(undo) = self.undo.take() {
            self.last_congestion = undo.last_congestion;
            self.max_rtt = undo.max_rtt;
            self.throughput.previous_max = undo.previous_max;
        }
    }
}

#[cfg(test)]
mod tests;
