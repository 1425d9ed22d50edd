//! *What it does.* Compares the rate that the window should yield with the actual rate. The
//! difference is the backlog in queues, which Vegas keeps between `alpha` and `beta` segments.
//!
//! *Reference.* Brakmo & Peterson, JSAC 13(8), 1995. Read: ns-2.35 `tcp/tcp-vegas.cc`. The code of
//! INET agrees, except for its defaults (2, 4, 1).
//!
//! *Equations.* In segments, once per round trip, with rtt the mean of its samples: expected =
//! window/baseRTT, actual = window/rtt, diff = (expected − actual)·baseRTT.
//!
//! - *Congestion avoidance.* +1 over the next round if diff < alpha; −1, not below 2, if diff >
//!   beta.
//! - *Slow start* doubles the window in every other round. In the rounds between, diff > gamma
//!   reduces the window by 1/8 and ends slow start.
//! - *Fine-grained timeout.* (SRTT + 2·mdev)·17/16; until the next sample, a segment's first
//!   retransmission adds 1/8 to it, and each further one doubles it.
//! - *Loss* of a segment sent after the last reduction: −1/4, or −1/2 if it had been retransmitted.
//! - *Timeout.* 2 segments.
//!
//! *Where we differ.* The window is the data in flight just before the ACK, in both rates. Paper
//! and ns-2 use the segments sent in the round for the actual rate. The result is equal except with
//! delayed ACKs: then that count is wrong by up to two segments, the difference between alpha and
//! beta. (ns-2 also uses the window just after the ACK, which is one segment smaller, and rounds
//! diff.)
//!
//! A loss or timeout begins a new round, because a round that spans a recovery measures the
//! recovery. The window grows by one segment per round under any ACK policy. A repeated timeout
//! keeps `ssthresh` (RFC 5681 §3.1). As in ns-2, the window grows only if at most two segments of
//! it were unused. In ns-2, ACKs after a retransmission by the fine-grained timeout count as
//! duplicates that inflate the window; here the recovery has then ended.

mod fine_timer;

use super::send_times::SendTimes;
use super::{Ack, CongestionControl, Loss, NotNegative, Sent, Window, half_of_flight};
use fine_timer::FineTimer;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Vegas as in its paper: keeps `alpha` to `beta` segments queued, decides once per round trip,
/// retransmits by fine-grained timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of queued segments below which the window grows. Paper and ns-2: 1 (Linux, INET: 2).
    pub alpha: NotNegative,
    /// Number of queued segments above which the window shrinks. Paper and ns-2: 3 (Linux, INET:
    /// 4).
    pub beta: NotNegative,
    /// Number of queued segments above which slow start ends. Paper, ns-2, Linux and INET: 1.
    pub gamma: NotNegative,
    /// Retransmit by the fine-grained timeout (Linux and ns-3 lack it).
    pub fine_retransmission: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            alpha: NotNegative::constant(1.0),
            beta: NotNegative::constant(3.0),
            gamma: NotNegative::constant(1.0),
            fine_retransmission: true,
        }
    }
}

/// State of Vegas.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    times: SendTimes,
    base: Option<Duration>,
    round: Option<Round>,
    growth: Growth,
    /// Remainder of the growth that is less than a byte, in units of 1/cwnd bytes.
    credit: u64,
    timer: Option<FineTimer>,
    last_cut: Option<Time>,
}

/// Round trip being measured.
#[derive(Debug, Clone, Copy)]
struct Round {
    /// Start of the segment whose acknowledgment ends the round.
    tag: u64,
    began: Time,
    sum: Duration,
    samples: u64,
}

/// Growth of the window until the next decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    Hold,
    /// One segment in the round.
    Linear,
    /// One segment per ACK.
    Exponential,
}

/// Queued segments: (expected − actual)·baseRTT.
fn backlog(in_flight: u64, base_over_rtt: f64, smss: u32) -> f64 {
    in_flight as f64 / f64::from(smss) * (1.0 - base_over_rtt)
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self {
            config: *config,
            times: SendTimes::default(),
            base: None,
            round: None,
            growth: Growth::Hold,
            credit: 0,
            timer: None,
            last_cut: None,
        }
    }

    /// Fine-grained timeout; `None` before the first sample.
    fn fine_timeout(&self) -> Option<Duration> {
        self.timer.map(|timer| Duration::from_nanos(timer.timeout as u64))
    }

    /// Handles the acknowledgment of the tagged segment: decides how the window grows until the
    /// next decision, and tags the next segment to be sent.
    fn end_round(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(round) = self.round
            && let Some(base) = self.base
        {
            let rtt = match round.samples {
                // All samples were ambiguous (Karn), but the round itself lasted a round trip.
                0 => ack.now.since(round.began),
                samples => round.sum / samples,
            };
            if ack.flight_size <= u64::from(window.smss) && !rtt.is_zero() {
                // A segment alone in flight meets no queue of its own flow.
                self.base = Some(rtt);
            }
            let base = self.base.unwrap_or(base);
            // An RTT of 0 is below the resolution of the clock: the queue counts as empty.
            let ratio = if rtt.is_zero() { 1.0 } else { base.as_secs_f64() / rtt.as_secs_f64() };
            self.decide(window, backlog(ack.flight_size, ratio, window.smss));
        }
        self.round =
            Some(Round { tag: ack.snd_nxt, began: ack.now, sum: Duration::ZERO, samples: 0 });
    }

    fn decide(&mut self, window: &mut Window, diff: f64) {
        let smss = u64::from(window.smss);
        // A decrease must not raise a window that is below two segments after a timeout.
        let floor = window.cwnd.min(2 * smss);
        // Slow start grows in every other round: the rounds between measure a constant window.
        self.growth = if window.in_slow_start() {
            if self.growth == Growth::Exponential {
                Growth::Hold
            } else if diff > self.config.gamma.value() {
                window.ssthresh = 2 * smss;
                window.cwnd = (window.cwnd - window.cwnd / 8).max(floor);
                Growth::Hold
            } else {
                Growth::Exponential
            }
        } else if diff > self.config.beta.value() {
            window.cwnd = window.cwnd.saturating_sub(smss).max(floor);
            Growth::Hold
        } else if diff < self.config.alpha.value() {
            Growth::Linear
        } else {
            Growth::Hold
        };
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        let smss = u64::from(window.smss);
        if self.growth == Growth::Exponential && !window.in_slow_start() {
            self.growth = Growth::Hold;
        }
        if window.cwnd.saturating_sub(ack.flight_size) > 2 * smss {
            return;
        }
        match self.growth {
            Growth::Hold => {}
            Growth::Linear => {
                // SMSS·acked/cwnd bytes: one SMSS per round trip; the remainder is kept.
                self.credit = self.credit.saturating_add(ack.bytes_acked.saturating_mul(smss));
                window.cwnd = window.cwnd.saturating_add(self.credit / window.cwnd);
                self.credit %= window.cwnd;
            }
            Growth::Exponential => {
                window.cwnd = window.cwnd.saturating_add(ack.bytes_acked.min(smss));
            }
        }
    }

    /// Discards the measurements of the current round, which span the loss.
    fn restart(&mut self) {
        self.round = None;
        self.growth = Growth::Hold;
        self.credit = 0;
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, _: u32) {
        let Some(rtt) = self.times.on_ack(ack) else { return };
        let rtt = rtt.min(Duration::MAX);
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        if let Some(round) = &mut self.round {
            round.sum = (round.sum + rtt).min(Duration::MAX);
            round.samples += 1;
        }
        let nanos = rtt.as_nanos() as i64;
        match &mut self.timer {
            Some(timer) => timer.sample(nanos),
            None => self.timer = Some(FineTimer::new(nanos)),
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.round.is_none_or(|round| ack.snd_una > round.tag) {
            self.end_round(window, ack);
        }
        self.grow(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let smss = u64::from(window.smss);
        let first = self.times.oldest();
        let copies = first.map_or(1, |segment| segment.copies);
        let sent_since_cut =
            self.last_cut.is_none_or(|cut| first.is_none_or(|segment| segment.sent > cut));
        if sent_since_cut {
            let used = loss.flight_size;
            let kept = if copies > 1 { used / 2 } else { used - used / 4 };
            window.cwnd = kept.max(2 * smss).min(window.cwnd);
            self.last_cut = Some(loss.now);
        }
        // ssthresh matters only in slow start, which is over.
        window.ssthresh = 2 * smss;
        if let Some(timer) = &mut self.timer {
            timer.back_off(copies);
        }
        self.restart();
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        if !repeated {
            window.ssthresh = half_of_flight(window, loss);
        }
        // The window becomes at most two segments. PRR may have left less than one, so it is at
        // least one.
        let smss = u64::from(window.smss);
        window.cwnd = window.cwnd.clamp(smss, 2 * smss);
        self.last_cut = Some(loss.now);
        self.restart();
    }

    fn is_overdue(&self, now: Time) -> bool {
        let age = self.times.oldest().map(|first| now.since(first.sent));
        self.config.fine_retransmission
            && age.zip(self.fine_timeout()).is_some_and(|(age, timeout)| age >= timeout)
    }
}

#[cfg(test)]
mod tests;
