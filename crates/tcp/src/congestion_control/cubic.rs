//! *What it does.* Grows along a cubic function of the time since the last reduction: fast towards
//! the window of the last loss, slowly around it, then ever faster.
//!
//! *Reference.* RFC 9438; HyStart++: RFC 9406; HyStart and the variant `linux`: Linux
//! `net/ipv4/tcp_cubic.c` (read as of 6.x), Ha & Rhee 2008.
//!
//! *Equations.* In segments and seconds:
//!
//! - *Cubic function.* W_cubic(t) = C·(t − K)³ + W_max (fig. 1), with K = ∛((W_max − cwnd_epoch)/C)
//!   (fig. 2). Its target is W_cubic(t + SRTT), at least cwnd and at most 1.5·cwnd (§4.2).
//! - *Estimate of Reno's window.* W_est += α·acked/cwnd (fig. 4), with α = 3(1 − β)/(1 + β), and α
//!   = 1 once W_est ≥ cwnd_prior (§4.3).
//! - *Growth.* If W_cubic(t) < W_est, cwnd = W_est; otherwise cwnd += (target − cwnd)/cwnd per
//!   segment acknowledged. cwnd grows only while it limits the sender, and t excludes all other
//!   time (§5.8).
//! - *Loss.* ssthresh = cwnd = max(β·FlightSize, 2); W_max = cwnd, or cwnd·(1 + β)/2 if W_max was
//!   larger before (fast convergence, §4.7).
//! - *Timeout.* The same ssthresh, and cwnd = 1; the next epoch has K = 0 (§4.8).
//!
//! *Where we differ.* The RFC increases cwnd "for each received new ACK"; we do so per segment
//! acknowledged, as Linux does, so that delayed ACKs do not halve the growth. cwnd never falls to
//! W_est. The variant `linux` counts time in jiffies of 4 ms (HZ = 250). Its K is rounded down to
//! 1/1024 s, while the kernel approximates the cube root within a few thousandths (`cubic_root`).

mod curve;
mod hystart;
mod hystart_plus_plus;
mod linux;

use super::send_times::SendTimes;
use super::{Ack, CongestionControl, Fraction, Loss, Positive, Sent, Window, segments};
use crate::congestion_control;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use curve::Curve;
use hystart::Hystart;
use hystart_plus_plus::HystartPlusPlus;
use linux::LinuxCurve;

/// CUBIC (RFC 9438): a cubic function of the time since the last reduction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Arithmetic: that of RFC 9438 or of Linux.
    pub variant: Variant,
    /// Growth in slow start, and its exit.
    pub slow_start: SlowStart,
    /// C in segments/s³. RFC 9438 §5.1: 0.4.
    pub c: Positive,
    /// Part of the window that remains after a reduction. RFC 9438 §4.6: 0.7.
    pub beta: Fraction,
    /// Yield to newer flows if the window shrinks from loss to loss (RFC 9438 §4.7).
    pub fast_convergence: bool,
}

/// Arithmetic of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Arithmetic of RFC 9438.
    #[default]
    Rfc9438,
    /// Linux: windows are whole segments, reductions apply to cwnd instead of FlightSize, α is
    /// never 1, and the target lies one minimum RTT ahead. Before the first loss, the window grows
    /// by at least 5 % per round trip.
    Linux,
}

/// Growth in slow start, and its exit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlowStart {
    /// RFC 5681: at most one segment per ACK, up to `ssthresh`.
    Standard,
    /// Linux: one segment per segment acknowledged; ends when an ACK train lasts half an RTT, or
    /// when the RTT has grown by an eighth.
    Hystart,
    /// RFC 9406: at most eight segments per ACK. Once the RTT has grown, growth is a quarter as
    /// fast for five rounds, and then slow start ends. Slow starts after the first are standard.
    #[default]
    HystartPlusPlus,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            slow_start: SlowStart::default(),
            c: Positive::constant(0.4),
            beta: Fraction::constant(0.7),
            fast_convergence: true,
        }
    }
}

/// State of CUBIC.
#[derive(Debug, Clone)]
pub struct State {
    avoidance: Avoidance,
    start: Start,
    /// Transmission time of each segment; `None` if the connection samples RTTs as Linux does.
    times: Option<SendTimes>,
    /// RTT sample that `times` gave for the current acknowledgment.
    rtt: Option<Duration>,
    last_sent: Time,
}

#[derive(Debug, Clone)]
enum Avoidance {
    Rfc(Curve),
    Linux(LinuxCurve),
}

#[derive(Debug, Clone)]
enum Start {
    Standard,
    Hystart(Hystart),
    PlusPlus(HystartPlusPlus),
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            avoidance: match config.variant {
                Variant::Rfc9438 => Avoidance::Rfc(Curve::new(config)),
                Variant::Linux => Avoidance::Linux(LinuxCurve::new(config)),
            },
            start: match config.slow_start {
                SlowStart::Standard => Start::Standard,
                // The detector must allow for pacing, which stretches ACK trains.
                SlowStart::Hystart => Start::Hystart(Hystart::new(tcp.pacing)),
                SlowStart::HystartPlusPlus => Start::PlusPlus(HystartPlusPlus::default()),
            },
            times: Some(SendTimes::default()),
            rtt: None,
            last_sent: Time::ZERO,
        }
    }

    /// Grows the window in slow start. Returns the segments left over for congestion avoidance.
    fn slow_start(&mut self, window: &mut Window, ack: &Ack) -> u64 {
        let smss = u64::from(window.smss);
        match &self.start {
            Start::Hystart(_) => {
                // As in `tcp_slow_start`, the segments beyond ssthresh count for congestion
                // avoidance.
                return segments::grow_in_slow_start(
                    window,
                    segments::delivered_segments(window, ack),
                );
            }
            Start::PlusPlus(hystart) if hystart.is_active() => {
                // RFC 9406 §4.2 allows eight segments per ACK, RFC 5681 one.
                window.cwnd = window.cwnd.saturating_add(hystart.growth(ack.bytes_acked, smss));
            }
            Start::PlusPlus(_) | Start::Standard => {
                window.cwnd = window.cwnd.saturating_add(ack.bytes_acked.min(smss));
            }
        }
        0
    }

    fn sample(&mut self, rtt: Duration) {
        if let Avoidance::Linux(curve) = &mut self.avoidance {
            curve.sample(rtt);
        }
        if let Start::Hystart(hystart) = &mut self.start {
            hystart.sample(rtt);
        }
    }

    /// Checks for an early exit from slow start. `rtt` is that of this acknowledgment.
    fn look_for_exit(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>) {
        match &mut self.start {
            Start::Standard => {}
            Start::Hystart(hystart) => {
                if let Some(rtt) = rtt {
                    hystart.on_ack(window, ack, rtt);
                }
            }
            Start::PlusPlus(hystart) => hystart.on_ack(window, ack, rtt),
        }
    }
}

/// Shortcuts for the fast paths.
impl State {
    /// True if the window is computed as in Linux, and the connection samples RTTs as Linux does.
    pub(crate) fn is_as_in_linux(&self) -> bool {
        matches!(self.avoidance, Avoidance::Linux(_)) && self.times.is_none()
    }

    /// Does the same as [`CongestionControl::on_segments_acked`] and
    /// [`CongestionControl::on_ack`] in congestion avoidance [as in Linux](Self::is_as_in_linux).
    #[inline(always)]
    pub(crate) fn on_next_ack(&mut self, window: &mut Window, ack: &NextAck) {
        let Avoidance::Linux(curve) = &mut self.avoidance else { return };
        if !curve.is_in_first_second(ack.now) {
            curve.sample(ack.rtt);
            if let Start::Hystart(hystart) = &mut self.start {
                hystart.sample(ack.rtt);
            }
        }
        if ack.cwnd_limited {
            curve.grow_or_count(window, ack.now, ack.segments);
        }
    }
}

/// Acknowledgment of the first segments in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NextAck {
    pub now: Time,
    /// RTT of the last segment acknowledged.
    pub rtt: Duration,
    pub segments: u64,
    pub cwnd_limited: bool,
}

impl Avoidance {
    /// True in the first second of congestion avoidance, in which Linux ignores RTT samples.
    fn began_recently(&self, ack: &Ack) -> bool {
        matches!(self, Self::Linux(curve) if curve.is_in_first_second(ack.now))
    }
}

impl CongestionControl for State {
    fn on_connected(&mut self, _: &mut Window, start: &congestion_control::Start) {
        if start.samples_segments {
            // The samples come from `on_segments_acked`.
            self.times = None;
        }
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        // Nothing else is in flight: the pause before this transmission does not count as time of
        // the epoch (§5.8; `CA_EVENT_TX_START`).
        if sent.flight_size <= u64::from(sent.bytes) {
            match &mut self.avoidance {
                Avoidance::Rfc(curve) => curve.exclude_until(sent.now),
                Avoidance::Linux(curve) => curve.exclude_until(sent.now, self.last_sent),
            }
        }
        self.last_sent = sent.now;
        if let Some(times) = &mut self.times {
            times.on_sent(sent);
        }
    }

    /// Records the RTT, which may end slow start (Linux `cubictcp_acked`).
    #[inline]
    fn on_segments_acked(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>) {
        let Some(rtt) = rtt.filter(|_| !self.avoidance.began_recently(ack)) else { return };
        self.sample(rtt);
        if let Start::Hystart(hystart) = &mut self.start
            && window.in_slow_start()
        {
            hystart.on_ack(window, ack, rtt);
        }
    }

    #[inline]
    fn observe(&mut self, ack: &Ack, _: u32) {
        let Some(times) = &mut self.times else { return };
        self.rtt = times.on_ack(ack).filter(|_| !self.avoidance.began_recently(ack));
        if let Some(rtt) = self.rtt {
            self.sample(rtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // `observe`, which measures the RTT, is called before `on_ack` for each acknowledgment.
        let rtt = self.rtt.take();
        if window.in_slow_start() {
            self.look_for_exit(window, ack, rtt);
        }
        if !ack.cwnd_limited {
            // Linux excludes only pauses with nothing in flight; `on_sent` does this.
            if let Avoidance::Rfc(curve) = &mut self.avoidance {
                curve.exclude_until(ack.now);
            }
            return;
        }
        let mut acked = segments::delivered_segments(window, ack);
        if window.in_slow_start() {
            acked = self.slow_start(window, ack);
            if acked == 0 {
                return;
            }
        }
        match &mut self.avoidance {
            Avoidance::Rfc(curve) => curve.grow(window, ack),
            Avoidance::Linux(curve) => curve.grow(window, ack.now, acked),
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        match &mut self.avoidance {
            Avoidance::Rfc(curve) => curve.on_loss(window, loss),
            Avoidance::Linux(curve) => curve.on_loss(window, loss),
        }
        if let Start::PlusPlus(hystart) = &mut self.start {
            hystart.end();
        }
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        match &mut self.avoidance {
            Avoidance::Rfc(curve) => curve.on_timeout(window, loss, repeated),
            Avoidance::Linux(curve) => curve.on_timeout(window, loss, repeated),
        }
        match &mut self.start {
            Start::Standard => {}
            Start::Hystart(hystart) => hystart.on_timeout(loss),
            // Only the first slow start is modified (RFC 9406 §4.3).
            Start::PlusPlus(hystart) => hystart.end(),
        }
    }

    fn on_undo(&mut self, _: &mut Window) {
        match &mut self.avoidance {
            Avoidance::Rfc(curve) => curve.undo(),
            Avoidance::Linux(curve) => curve.undo(),
        }
    }
}

#[cfg(test)]
mod tests;
