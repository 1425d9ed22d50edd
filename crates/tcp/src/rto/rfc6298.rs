//! *What it does.* Smooths the RTT and its deviation; the timeout is the smoothed RTT plus four
//! deviations.
//!
//! *Reference.* RFC 6298 §2.
//!
//! *Equations.* First sample R: SRTT = R, RTTVAR = R/2. Then, RTTVAR before SRTT:
//! RTTVAR = (1 − β)·RTTVAR + β·|SRTT − R|, SRTT = (1 − α)·SRTT + α·R with α = 1/8, β = 1/4.
//! RTO = SRTT + max(G, 4·RTTVAR), within \[min, max\].

use super::{Estimator, Limits};
use crate::congestion_control::Window;
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// SRTT + 4·RTTVAR, within the bounds of `min_rto` and `max_rto` (RFC 6298 §2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// State of the estimator.
#[derive(Debug, Clone)]
pub struct State {
    srtt: Duration,
    rttvar: Duration,
    rto: Duration,
    sampled: bool,
}

impl State {
    /// Creates an estimator without samples.
    pub fn new(_: &Config, tcp: &crate::Config) -> Self {
        Self::within(&Limits::from_config(tcp))
    }

    fn within(limits: &Limits) -> Self {
        Self {
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            // §2.1: RTO before the first sample.
            rto: limits.initial.min(limits.max),
            sampled: false,
        }
    }
}

impl State {
    fn set_rto(&mut self, limits: &Limits) {
        let rto = self.srtt + (self.rttvar * 4).max(limits.granularity);
        // §2.4 and §2.5: bounds of the RTO.
        self.rto = rto.max(limits.min).min(limits.max);
    }
}

impl Estimator for State {
    fn on_rtt(&mut self, rtt: Duration, _: u64, _: u64, limits: &Limits) {
        if self.sampled {
            // §2.3: RTTVAR comes first, because it uses the old SRTT.
            let deviation = self.srtt.abs_diff(rtt).as_nanos();
            self.rttvar = Duration::from_nanos((3 * self.rttvar.as_nanos() + deviation) / 4);
            self.srtt = Duration::from_nanos((7 * self.srtt.as_nanos() + rtt.as_nanos()) / 8);
        } else {
            // §2.2: first sample.
            self.sampled = true;
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        }
        self.set_rto(limits);
    }

    fn restart_rtt(&mut self, rtt: Duration, least: (Duration, Duration), limits: &Limits) {
        self.srtt = least.0.max(rtt);
        self.rttvar = least.1.max(rtt / 2);
        self.set_rto(limits);
    }

    fn on_lost_syn(&mut self, rto: Duration, limits: &Limits) {
        if !self.sampled {
            self.rto = self.rto.max(rto).min(limits.max);
        }
    }

    fn rto(&self, _: &Window) -> Duration {
        self.rto
    }

    fn srtt(&self) -> Option<Duration> {
        self.sampled.then_some(self.srtt)
    }

    fn rttvar(&self) -> Option<Duration> {
        self.sampled.then_some(self.rttvar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { cwnd: 1, ssthresh: 1, smss: 1 };

    const LIMITS: Limits = Limits {
        initial: Duration::from_secs(3),
        min: Duration::from_millis(100),
        max: Duration::from_secs(64),
        granularity: Duration::from_millis(10),
    };

    fn estimator() -> State {
        State::within(&LIMITS)
    }

    /// Two samples by hand: R = 100 ms gives SRTT 100, RTTVAR 50; R = 180 ms then gives RTTVAR
    /// (3·50 + 80)/4 = 57.5 and SRTT (7·100 + 180)/8 = 110.
    #[test]
    fn two_samples_by_hand() {
        let mut state = estimator();
        assert_eq!(state.rto(&WINDOW), Duration::from_secs(3));
        state.on_rtt(Duration::from_millis(100), 0, 0, &LIMITS);
        assert_eq!(state.rto(&WINDOW), Duration::from_millis(300));
        state.on_rtt(Duration::from_millis(180), 0, 0, &LIMITS);
        assert_eq!(state.srtt(), Some(Duration::from_millis(110)));
        assert_eq!(state.rttvar(), Some(Duration::from_micros(57_500)));
        assert_eq!(state.rto(&WINDOW), Duration::from_millis(340));
    }

    /// RFC 4015 §3.2, step 9 (Eifel response): SRTT ← max(SRTT_prev, RTT-SAMPLE), RTTVAR ←
    /// max(RTTVAR_prev, RTT-SAMPLE/2), RTO ← SRTT + max(G, 4·RTTVAR).
    #[test]
    fn a_spurious_timeout_raises_the_estimates() {
        let ms = Duration::from_millis;
        let after = |rtt, srtt, rttvar| {
            let mut state = estimator();
            state.restart_rtt(ms(rtt), (ms(srtt), ms(rttvar)), &LIMITS);
            (state.srtt, state.rttvar, state.rto)
        };
        assert_eq!(after(400, 100, 50), (ms(400), ms(200), ms(1_200)));
        assert_eq!(after(80, 100, 50), (ms(100), ms(50), ms(300)));
        assert_eq!(after(120, 100, 50), (ms(120), ms(60), ms(360)));
        assert_eq!(after(120, 130, 2), (ms(130), ms(60), ms(370)));
    }

    #[test]
    fn granularity_and_bounds() {
        let mut state = estimator();
        for _ in 0..200 {
            state.on_rtt(Duration::from_millis(200), 0, 0, &LIMITS);
        }
        // The deviation has decayed: G remains.
        assert_eq!(state.rto(&WINDOW), Duration::from_millis(210));
        for _ in 0..200 {
            state.on_rtt(Duration::from_millis(1), 0, 0, &LIMITS);
        }
        assert_eq!(state.rto(&WINDOW), Duration::from_millis(100), "the minimum");
        state.on_rtt(Duration::from_secs(100), 0, 0, &LIMITS);
        assert_eq!(state.rto(&WINDOW), Duration::from_secs(64), "the maximum");
    }
}
