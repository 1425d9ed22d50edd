//! *What it does.* After every loss, sets the threshold to the available bandwidth. The window
//! becomes half of the threshold, or the window that the loss rate allows if this is smaller.
//!
//! *Reference.* Park, Chung & Ahn, EURASIP JWCN 2012:304 ("dynamic responding").
//!
//! *Equations.* At each loss, that is, fast retransmit or timeout:
//!
//! - *Loss rate.* L = 100/(data segments sent since the previous loss), in percent (eq. 2). It is
//!   smoothed to S = S·(1 − θ) + L·θ (eq. 3), with θ = interval since the previous loss/longest
//!   interval (eq. 4).
//! - *Window by loss rate.* y(x) = (β − cwnd_max)/α·x + cwnd_max for x < α, and y(x) = β for x ≥ α
//!   (eq. 5).
//! - *Reduction.* ssthresh = ABW; cwnd = ssthresh/2, and at most max(y(S), β) if S > 0.
//!
//! Growth is that of `reno`. Once S > 0, `ceiling` limits it: to cwnd_max with `cwnd_max`, to
//! max(y(S), β) with `loss_rate`, and not at all with `none`. With the backoff `reset_if_bdp` a
//! timeout resets the backoff when bandwidth × RTT > cwnd_max/2.
//!
//! *Where the paper is incomplete.*
//!
//! - *ABW* is the estimate of Prairie, of which only an abstract is known (`prairie_like`). The
//!   paper uses this bandwidth, in bytes per second, as a window in bytes: its figure 7 shows
//!   ssthresh = 132,811 bytes. The path of that figure, of 2 Mbit/s and 22 ms, holds only 5,500
//!   bytes. `abw = "second"` does the same; `abw = "least_rtt"` multiplies the bandwidth by the
//!   minimum RTT, as Westwood does.
//! - *Growth.* With `second` the threshold is far above the capacity of the path, and the window
//!   grows exponentially until a loss. The paper limits it to 50 packets, and so does the preset
//!   (`max_cwnd`).
//! - *Bound.* The paper is contradictory on whether eq. 5 bounds the growth between losses. Its
//!   algorithm runs at losses and lets cwnd "increase exponentially until it reaches ssthresh". But
//!   "if the loss rate is higher than zero, cwnd cannot be higher than 25000", and in figure 7b the
//!   window returns from 11,024 to 10,000 bytes. The inflation of fast recovery is not bounded
//!   here.
//! - *Small windows.* A small cwnd may rise at a loss, because the algorithm does not compare the
//!   new value with the old one.
//! - *Counts.* Retransmissions count as data segments sent. The first interval begins with the
//!   first segment.

use super::bandwidth::{Bandwidth, Bursts, Filter, SampledFilter, Smoothing, Tustin};
use super::{Ack, CongestionControl, Loss, Positive, Sent, Window, reno, westwood};
use crate::Size;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Park's dynamic responding: threshold by available bandwidth, window by smoothed loss rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Loss rate, in per cent, at and above which the window is `beta`. Paper: 0.5.
    pub alpha: Positive,
    /// Smallest window that the loss rate allows. Paper: 10,000 bytes.
    pub beta: Size,
    /// Window that a loss rate near 0 allows. Paper: 25,000 bytes.
    pub cwnd_max: Size,
    /// Estimator of the available bandwidth. Paper: Prairie.
    pub estimator: Estimator,
    /// Conversion of the bandwidth to a window.
    pub abw: Abw,
    /// Bound on the growth between losses.
    pub ceiling: Ceiling,
    /// Growth in congestion avoidance.
    pub growth: reno::Growth,
}

/// Estimators of the available bandwidth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// Bursts of ACKs, as in `prairie_like`.
    #[default]
    PrairieLike,
    /// One sample per ACK, as in `westwood`.
    Westwood,
    /// One sample per round trip, as in `westwood_plus`.
    WestwoodPlus,
}

/// Conversions of an available bandwidth to a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Abw {
    /// Bytes transmitted in a second, as in the paper's figures.
    #[default]
    Second,
    /// Bytes transmitted in the minimum RTT.
    LeastRtt,
}

/// Bounds on the growth between losses, once the loss rate is above zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ceiling {
    /// No bound: the loss rate limits the window at losses only.
    #[default]
    None,
    /// `cwnd_max`, whatever the loss rate.
    CwndMax,
    /// The window that the loss rate allows (equation 5).
    LossRate,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            alpha: Positive::constant(0.5),
            beta: Size::Bytes(10_000),
            cwnd_max: Size::Bytes(25_000),
            estimator: Estimator::default(),
            abw: Abw::default(),
            ceiling: Ceiling::default(),
            growth: reno::Growth::default(),
        }
    }
}

/// State of the congestion control.
#[derive(Debug, Clone)]
pub struct State {
    reno: reno::State,
    bandwidth: Bandwidth,
    abw: Abw,
    ceiling: Ceiling,
    srtt: Option<Duration>,
    /// Arrival time of the last acknowledgment.
    heard: Time,
    reduction: Reduction,
    loss_rate: LossRate,
}

/// Window that a loss rate allows (eq. 5).
#[derive(Debug, Clone, Copy)]
struct Reduction {
    alpha: f64,
    beta: u64,
    cwnd_max: u64,
}

impl Reduction {
    /// Window for a loss rate in percent.
    fn window(&self, loss_rate: f64) -> u64 {
        if loss_rate >= self.alpha {
            return self.beta;
        }
        let (beta, cwnd_max) = (self.beta as f64, self.cwnd_max as f64);
        let reduced = (beta - cwnd_max) / self.alpha * loss_rate + cwnd_max;
        (libm::round(reduced) as u64).max(self.beta)
    }
}

/// Smoothed loss rate (eqs. 2 to 4).
#[derive(Debug, Clone, Copy, Default)]
struct LossRate {
    sent: u64,
    since: Option<Time>,
    longest: Duration,
    smoothed: f64,
}

impl LossRate {
    fn on_loss(&mut self, now: Time) {
        let interval = self.since.map_or(Duration::ZERO, |since| now.since(since));
        self.longest = self.longest.max(interval);
        // Before the first interval is known, the smoothed loss rate is set to that of this loss.
        let theta = if self.longest.is_zero() {
            1.0
        } else {
            interval.as_secs_f64() / self.longest.as_secs_f64()
        };
        let rate = 100.0 / self.sent.max(1) as f64;
        self.smoothed = self.smoothed * (1.0 - theta) + rate * theta;
        self.sent = 0;
        self.since = Some(now);
    }
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        let filter = match config.estimator {
            Estimator::PrairieLike => Filter::Bursts(Bursts::default()),
            Estimator::Westwood => {
                let westwood::Config { tau, m, .. } = westwood::Config::default();
                Filter::Tustin(Tustin::new(tau, m))
            }
            Estimator::WestwoodPlus => Filter::Sampled(SampledFilter::new(Smoothing::default())),
        };
        Self {
            reno: reno::State::new(&reno::Config { growth: config.growth }, tcp),
            bandwidth: Bandwidth::new(filter),
            abw: config.abw,
            ceiling: config.ceiling,
            srtt: None,
            heard: Time::ZERO,
            reduction: Reduction {
                alpha: config.alpha.value(),
                beta: config.beta.bytes(tcp.mss),
                cwnd_max: config.cwnd_max.bytes(tcp.mss),
            },
            loss_rate: LossRate::default(),
        }
    }

    fn respond(&mut self, window: &mut Window, now: Time) {
        self.reno.restart_growth();
        self.loss_rate.on_loss(now);
        let smss = u64::from(window.smss);
        let abw = match self.abw {
            Abw::Second => self.bandwidth.bytes_in(now, Duration::from_secs(1)),
            Abw::LeastRtt => self.bandwidth.bandwidth_delay_product(now),
        };
        window.ssthresh = abw.max(2 * smss);
        let mut cwnd = window.ssthresh / 2;
        if self.loss_rate.smoothed > 0.0 {
            cwnd = cwnd.min(self.reduction.window(self.loss_rate.smoothed));
        }
        window.cwnd = cwnd.max(smss);
    }

    /// Maximum of the window's growth; `None` if growth is not bounded.
    fn bound(&self) -> Option<u64> {
        if self.loss_rate.smoothed <= 0.0 {
            return None;
        }
        match self.ceiling {
            Ceiling::None => None,
            Ceiling::CwndMax => Some(self.reduction.cwnd_max),
            Ceiling::LossRate => Some(self.reduction.window(self.loss_rate.smoothed)),
        }
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, smss: u32) {
        self.bandwidth.observe(ack, smss);
        self.srtt = ack.srtt.or(self.srtt);
        self.heard = ack.now;
    }

    fn on_sent(&mut self, sent: &Sent) {
        // The SYN carries no data, so it does not count.
        if sent.position > 0 {
            self.loss_rate.sent += 1;
            self.loss_rate.since.get_or_insert(sent.now);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
        if let Some(bound) = self.bound() {
            window.cwnd = window.cwnd.min(bound.max(window.smss.into()));
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        self.respond(window, loss.now);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, _: bool) {
        self.respond(window, loss.now);
    }

    fn bandwidth_delay_bytes(&self) -> Option<u64> {
        let srtt = self.srtt?;
        Some(self.bandwidth.bytes_in(self.heard, srtt))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss, tcp, window};
    use super::*;

    /// Eq. 5 is the line through (0 %, 25,000) and (0.5 %, 10,000).
    #[test]
    fn anchors_of_the_reduction() {
        let y = |x| Reduction { alpha: 0.5, beta: 10_000, cwnd_max: 25_000 }.window(x);
        assert_eq!([0.0, 0.1, 0.25, 0.4].map(y), [25_000, 22_000, 17_500, 13_000]);
        assert_eq!([0.5, 5.0, 100.0].map(y), [10_000, 10_000, 10_000]);
        let upside_down = Reduction { alpha: 0.5, beta: 30_000, cwnd_max: 25_000 };
        assert_eq!(upside_down.window(0.0), 30_000);
    }

    #[test]
    fn loss_rates_are_smoothed_by_their_intervals() {
        let mut rate = LossRate { since: Some(at(0)), sent: 200, ..LossRate::default() };
        rate.on_loss(at(1000));
        assert!((rate.smoothed - 0.5).abs() < 1e-12, "θ = 1 at first");
        rate.sent = 50;
        rate.on_loss(at(1250));
        // θ = 250/1000: 0.75·0.5 + 0.25·2.
        assert!((rate.smoothed - 0.875).abs() < 1e-12, "{}", rate.smoothed);
        rate.sent = 1000;
        rate.on_loss(at(3250));
        assert!((rate.smoothed - 0.1).abs() < 1e-12, "the longest interval so far");
        rate.on_loss(at(3250));
        assert!((rate.smoothed - 0.1).abs() < 1e-12, "no time, no weight");
    }

    /// State at 0.1 MB/s over 40 ms, after `sent` segments.
    fn settled(config: &Config, sent: u64) -> State {
        let mut state = State::new(config, &tcp());
        for n in 0..2_000 {
            let rtt = Some(Duration::from_millis(40 + n % 5));
            let srtt = Some(Duration::from_millis(50));
            state.observe(&Ack { rtt, srtt, ..ack(at(10 * n), 1000) }, SMSS);
        }
        for position in 0..=sent {
            let now = at(0);
            let (bytes, flight_size) = (SMSS, 0);
            state.on_sent(&Sent { now, position, bytes, flight_size, retransmission: false });
        }
        state
    }

    #[test]
    fn responds_to_bandwidth_and_loss_rate() {
        let after = |config: &Config, sent| {
            let mut window = window(30, 99);
            settled(config, sent).on_loss(&mut window, &loss(at(20_000), 30));
            (window.cwnd, window.ssthresh)
        };
        let second = Config::default();
        // ABW is the bytes of a second, 100,000. One loss in 1000 segments is 0.1 %; one in 100 is
        // 1 %.
        assert_eq!(after(&second, 1000), (22_000, 100_000));
        assert_eq!(after(&second, 100), (10_000, 100_000));
        // ABW is 0.1 MB/s × 40 ms = 4,000 bytes.
        let least_rtt = Config { abw: Abw::LeastRtt, ..second };
        assert_eq!(after(&least_rtt, 1000), (2_000, 4_000));
        for estimator in [Estimator::Westwood, Estimator::WestwoodPlus] {
            let (cwnd, ssthresh) = after(&Config { estimator, ..second }, 1000);
            assert_eq!((cwnd, ssthresh), (22_000, 100_000), "{estimator:?}");
        }
    }

    /// Growth after a loss, ACK by ACK, below a threshold of 100,000 bytes.
    #[test]
    fn growth_stops_at_the_ceiling() {
        let after = |ceiling, sent, acks: u64| {
            let mut state = settled(&Config { ceiling, ..Config::default() }, sent);
            let mut window = window(30, 99);
            state.on_loss(&mut window, &loss(at(20_000), 30));
            for n in 0..acks {
                state.on_ack(&mut window, &ack(at(20_000 + n), 1000));
            }
            window.cwnd
        };
        // 1 loss in 100 segments is 1 %: β, 10,000 bytes.
        assert_eq!(after(Ceiling::None, 100, 90), 100_000);
        assert_eq!(after(Ceiling::CwndMax, 100, 14), 24_000);
        assert_eq!(after(Ceiling::CwndMax, 100, 90), 25_000);
        assert_eq!(after(Ceiling::LossRate, 100, 90), 10_000);
        // 1 in 1000 is 0.1 %: (10,000 − 25,000)/0.5·0.1 + 25,000 = 22,000 bytes.
        assert_eq!(after(Ceiling::LossRate, 1000, 90), 22_000);
    }

    #[test]
    fn without_losses_there_is_no_ceiling() {
        for ceiling in [Ceiling::CwndMax, Ceiling::LossRate] {
            let mut state = settled(&Config { ceiling, ..Config::default() }, 100);
            let mut window = window(30, 99);
            state.on_ack(&mut window, &ack(at(20_000), 1000));
            assert_eq!(window.cwnd, 31_000, "{ceiling:?}");
        }
    }

    #[test]
    fn a_timeout_is_answered_in_the_same_way() {
        let mut state = settled(&Config::default(), 1000);
        let mut window = window(30, 99);
        state.on_timeout(&mut window, &loss(at(20_000), 30), false);
        assert_eq!(window.cwnd, 22_000);
        // A second timeout occurs at the same time. The interval since the first timeout is 0, so
        // the second timeout has the weight 0 in the smoothed loss rate.
        state.on_timeout(&mut window, &loss(at(20_000), 1), true);
        assert_eq!(window.cwnd, 22_000);
    }

    #[test]
    fn bandwidth_delay_product() {
        assert_eq!(State::new(&Config::default(), &tcp()).bandwidth_delay_bytes(), None);
        // 0.1 MB/s × 50 ms.
        let bytes = settled(&Config::default(), 9).bandwidth_delay_bytes().unwrap();
        assert!((4_999..=5_000).contains(&bytes), "{bytes}");
    }

    /// Without an estimate the threshold is two segments, and the window one.
    #[test]
    fn a_loss_without_an_estimate_leaves_the_least_window() {
        let (mut state, mut window) = (State::new(&Config::default(), &tcp()), window(10, 99));
        state.on_loss(&mut window, &loss(at(0), 10));
        assert_eq!((window.cwnd, window.ssthresh), (u64::from(SMSS), 2 * u64::from(SMSS)));
    }
}
