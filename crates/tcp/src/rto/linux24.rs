//! *What it does.* Timeout of the Linux that García, Agüero & Muñoz measured: it also depends on
//! the window, most strongly on a small one. In its loss state, from a timeout until everything
//! sent before it is acknowledged, no new data are sent, even if the window permits them.
//!
//! *Reference.* García, Agüero & Muñoz, *On the unsuitability of TCP RTO estimation over bursty
//! error channels*, eq. 1 and table II; arithmetic: Linux 2.2 and 2.3 of 1999,
//! `net/ipv4/tcp_input.c` (`tcp_rtt_estimator`, `tcp_set_rto`, `tcp_bound_rto`) and
//! `include/net/tcp.h` (`tcp_snd_test`, where `retransmits == 0` is the condition for new data).
//! The paper names no version; the final 2.4 has another formula, so the name `linux24` follows the
//! paper, not the kernel.
//!
//! *Equations.* RTO = (SRTT + 4·mdev)·(1 + 1/4 + 1/2^(cwnd−1)), cwnd in segments, within \[min,
//! max\].
//!
//! - *Units.* SRTT is kept eightfold and mdev fourfold, in whole ticks of the clock
//!   (`rtt_granularity`, 10 ms in those kernels). A sample counts as at least one tick.
//! - *First sample* m. SRTT = mdev = m.
//! - *Further samples* m. e = m − SRTT, SRTT += e/8, 4·mdev += |e| − mdev; divisions are shifts.
//!
//! With one sample of 3 s, and then two of less than 20 ms, this gives the published table II to
//! the digit.
//!
//! *Where we differ.* Eq. 1 is evaluated in nanoseconds, not in ticks: 57.86 s instead of 57.6 s in
//! row 8 of the table. For large windows 1/2^(cwnd−1) is 0; the kernel's shift by more than 31 bits
//! wraps on some processors. The lower bound holds before the backoff, not after it.

use super::{Estimator, Limits};
use crate::congestion_control::Window;
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// (SRTT + 4·mdev)·(1 + 1/4 + 1/2^(cwnd−1)), in ticks of `rtt_granularity` (García et al., eq. 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Send nothing new after a timeout until everything sent before it is acknowledged.
    pub hold_new_data: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { hold_new_data: true }
    }
}

/// State of the estimator.
#[derive(Debug, Clone)]
pub struct State {
    /// One tick; a nanosecond if RTTs are measured exactly.
    tick: Duration,
    min: Duration,
    max: Duration,
    /// 8·SRTT in ticks; 0 before the first sample.
    srtt8: i64,
    mdev4: i64,
    /// Timeout before the first sample.
    initial: Duration,
    hold_new_data: bool,
}

/// Limit of samples in ticks, so that eight times a sample does not overflow.
const LONGEST: u64 = 1 << 58;

impl State {
    /// Creates an estimator without samples.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        let limits = Limits::from_config(tcp);
        Self {
            tick: tcp.rtt_granularity.max(Duration::from_nanos(1)),
            min: limits.min,
            max: limits.max,
            srtt8: 0,
            mdev4: 0,
            initial: limits.initial.min(limits.max),
            hold_new_data: config.hold_new_data,
        }
    }

    fn ticks(&self, count: i64) -> Duration {
        self.tick.saturating_mul(count as u64)
    }
}

impl Estimator for State {
    fn on_rtt(&mut self, rtt: Duration, _: u64, _: u64, _: &Limits) {
        let m = (rtt.as_nanos() / self.tick.as_nanos()).clamp(1, LONGEST) as i64;
        if self.srtt8 == 0 {
            self.srtt8 = 8 * m;
            self.mdev4 = 4 * m;
        } else {
            let error = m - (self.srtt8 >> 3);
            self.srtt8 += error;
            self.mdev4 += error.abs() - (self.mdev4 >> 2);
        }
    }

    fn on_lost_syn(&mut self, rto: Duration, _: &Limits) {
        self.initial = self.initial.max(rto).min(self.max);
    }

    fn rto(&self, window: &Window) -> Duration {
        if self.srtt8 == 0 {
            return self.initial;
        }
        let segments = (window.cwnd / u64::from(window.smss)).max(1);
        let base = self.ticks((self.srtt8 >> 3) + self.mdev4);
        let part = base.as_nanos() >> (segments - 1).min(63);
        let rto = base + base / 4 + Duration::from_nanos(part);
        rto.max(self.min).min(self.max)
    }

    fn holds_new_data(&self) -> bool {
        self.hold_new_data
    }

    fn srtt(&self) -> Option<Duration> {
        (self.srtt8 > 0).then(|| self.ticks(self.srtt8 >> 3))
    }

    fn rttvar(&self) -> Option<Duration> {
        (self.srtt8 > 0).then(|| self.ticks(self.mdev4 >> 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Limits that this estimator does not read.
    const UNUSED: Limits = Limits {
        initial: Duration::ZERO,
        min: Duration::ZERO,
        max: Duration::ZERO,
        granularity: Duration::ZERO,
    };

    fn window(segments: u64) -> Window {
        Window { cwnd: segments * 1_000 + 999, ssthresh: 1, smss: 1_000 }
    }

    fn estimator(tick_ms: u64) -> State {
        let ms = Duration::from_millis;
        let config = crate::Config {
            initial_rto: ms(3_000),
            min_rto: ms(200),
            max_rto: ms(120_000),
            rtt_granularity: ms(tick_ms),
            ..(crate::presets::find("reno").unwrap().config)()
        };
        State::new(&Config::default(), &config)
    }

    /// One sample of 1 s: SRTT + 4·mdev = 5 s; the factor is 2.25, 1.75, 1.5, … and finally 1.25.
    #[test]
    fn the_factor_of_the_window() {
        let mut state = estimator(10);
        assert_eq!(state.rto(&window(1)), Duration::from_secs(3), "no sample yet");
        state.on_rtt(Duration::from_secs(1), 0, 0, &UNUSED);
        let expected = [(0, 11_250), (1, 11_250), (2, 8_750), (3, 7_500), (4, 6_875)];
        for (segments, millis) in expected {
            assert_eq!(state.rto(&window(segments)), Duration::from_millis(millis), "{segments}");
        }
        assert_eq!(state.rto(&window(1_000_000)), Duration::from_millis(6_250));
    }

    /// Exact RTTs, m = 100 and 180 ms: e = 80, SRTT = 110, mdev = 100 + (80 − 100)/4 = 95 ms.
    #[test]
    fn two_samples_by_hand() {
        let mut state = estimator(0);
        state.on_rtt(Duration::from_millis(100), 0, 0, &UNUSED);
        state.on_rtt(Duration::from_millis(180), 0, 0, &UNUSED);
        assert_eq!(state.srtt(), Some(Duration::from_millis(110)));
        assert_eq!(state.rttvar(), Some(Duration::from_millis(95)));
        assert_eq!(state.rto(&window(2)), Duration::from_micros(857_500));
    }

    /// A sample below one tick counts as one tick, and the timeout stays within its bounds.
    #[test]
    fn ticks_and_bounds() {
        let mut state = estimator(10);
        for _ in 0..100 {
            state.on_rtt(Duration::from_micros(1), 0, 0, &UNUSED);
        }
        assert_eq!(state.srtt(), Some(Duration::from_millis(10)));
        assert_eq!(state.rto(&window(1)), Duration::from_millis(200), "the minimum");
        state.on_rtt(Duration::MAX, 0, 0, &UNUSED);
        assert_eq!(state.rto(&window(1)), Duration::from_secs(120), "the maximum");
    }

    /// The timeout of a lost SYN holds until the first sample, within the maximum.
    #[test]
    fn a_lost_syn_raises_the_first_timeout() {
        let after = |seconds| {
            let mut state = estimator(10);
            state.on_lost_syn(Duration::from_secs(seconds), &UNUSED);
            state.rto(&window(1))
        };
        assert_eq!([2, 6, 121].map(after), [3, 6, 120].map(Duration::from_secs));
    }
}
