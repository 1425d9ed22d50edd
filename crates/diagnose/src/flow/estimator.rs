//! RTO of the sender, computed by retx's own estimators from the captured packets.
//!
//! The sender's stack is unknown at first, so the RTO is computed for all profiles. After each
//! timeout that follows a silence, the profile with the best predictions is chosen.

use retx_tcp::congestion_control::Window;
use retx_tcp::rto::{self, Estimator as _, Limits};
use retx_units::Duration;

/// Dummy window: the estimators ignore it.
const WINDOW: Window = Window { cwnd: 1, ssthresh: 1, smss: 1 };

/// Maximum RTO in Linux (`TCP_RTO_MAX`); RFC 6298 §2.5 permits a maximum of at least 60 s.
const RTO_MAX_NS: i64 = 120_000_000_000;
/// Latest expiry of a timer of Linux, relative to its length: its timer wheel rounds the expiry up,
/// by at most an eighth (`kernel/time/timer.c`, `LVL_CLK_DIV`).
const LATEST_OF_LINUX: f64 = 1.125;
/// Relative error of a good prediction of a timeout (an arbitrary choice).
const PREDICTED: f64 = 0.02;
/// A wait below this fraction of every RTO was not for the timer (an arbitrary choice).
const SHORT: f64 = 0.25;
/// Number of doublings after which every RTO exceeds the maximum.
const BACKOFF_MAX: u32 = 16;

/// Name of a profile, least RTO in milliseconds, RTO before the first sample in milliseconds.
const PROFILES: [(&str, u64, u64); 4] = [
    ("Linux (RTTVAR at least 200 ms)", 200, 1_000),
    ("RFC 6298 (RTO at least 1 s)", 1_000, 1_000),
    ("RFC 6298 with RTO at least 200 ms", 200, 1_000),
    ("RFC 6298 with RTO at least 30 ms", 30, 1_000),
];

struct Profile {
    state: rto::State,
    limits: Limits,
    /// Sum of the errors of the predictions. An error is the absolute value of
    /// ln(measured/predicted).
    error: f64,
}

/// RTO estimators of all profiles, and the one that fits the sender best.
pub struct Estimator {
    profiles: Vec<Profile>,
    best: usize,
    samples: u64,
}

impl Default for Estimator {
    fn default() -> Self {
        let profiles = PROFILES.iter().enumerate().map(|(index, (_, min, initial))| {
            let base = (retx_tcp::presets::find("reno").expect("a preset").config)();
            let tcp = retx_tcp::Config {
                min_rto: Duration::from_millis(*min),
                initial_rto: Duration::from_millis(*initial),
                ..base
            };
            let config = if index == 0 {
                rto::Config::linux(rto::linux::Config::default())
            } else {
                rto::Config::rfc6298(rto::rfc6298::Config::default())
            };
            Profile { state: config.build(&tcp), limits: Limits::from_config(&tcp), error: 0.0 }
        });
        Self { profiles: profiles.collect(), best: 0, samples: 0 }
    }
}

impl Estimator {
    /// Handles an RTT sample; `acked` and `sent` are positions.
    pub fn on_rtt(&mut self, rtt_ns: i64, acked: i64, sent: i64) {
        // Captures resolve microseconds; an RTT of 0 would set no timer.
        let rtt = Duration::from_nanos(rtt_ns.max(1_000) as u64);
        self.samples += 1;
        for profile in &mut self.profiles {
            let (acked, sent) = (acked.max(0) as u64, sent.max(0) as u64);
            profile.state.on_rtt(rtt, acked, sent, &profile.limits);
        }
    }

    /// Compares the profiles' predictions with a timeout that came after a silence of `waited_ns`.
    /// The timeout must be the first of its series, so that there is no backoff. A timer of
    /// Linux may be late if the sender's initial window is that of Linux. If the capture may not
    /// show all that such a sender has sent (`may_miss_probe`), a tail loss probe may have
    /// restarted the timer.
    pub fn compare_with_timeout(
        &mut self,
        waited_ns: i64,
        is_window_of_linux: bool,
        may_miss_probe: bool,
    ) {
        // Before the first RTT sample the profiles cannot be distinguished.
        if self.samples == 0 || waited_ns <= 0 {
            return;
        }
        let waited = waited_ns as f64;
        // RFC 8985 §7.2: the probe is sent after two smoothed RTTs.
        let probe_ns = self.srtt_ns().filter(|_| may_miss_probe).map(|srtt_ns| 2 * srtt_ns);
        let rto = |profile: &Profile| profile.state.rto(&WINDOW).as_nanos().max(1) as f64;
        if self.profiles.iter().all(|profile| waited < SHORT * rto(profile)) {
            return;
        }
        for (index, profile) in self.profiles.iter_mut().enumerate() {
            let rto = rto(profile);
            let may_be_late = index == 0 && is_window_of_linux;
            let latest = if may_be_late { LATEST_OF_LINUX * rto } else { rto };
            // With the logarithm, a prediction of twice the true time has the same error as one of
            // half the true time.
            let error =
                |before: f64| (waited / waited.clamp(before + rto, before + latest)).ln().abs();
            let probe_ns = probe_ns.filter(|_| may_be_late);
            profile.error += probe_ns.map_or(error(0.0), |ns| error(0.0).min(error(ns as f64)));
        }
        let best = (0..self.profiles.len())
            .min_by(|a, b| self.profiles[*a].error.total_cmp(&self.profiles[*b].error));
        self.best = best.unwrap_or(0);
    }

    /// True if a profile predicts this wait for a timeout, without backoff, so well that the wait
    /// is hardly that for something else.
    pub fn predicts(&self, waited_ns: i64) -> bool {
        self.profiles.iter().any(|profile| {
            let rto_ns = profile.state.rto(&WINDOW).as_nanos() as f64;
            (waited_ns as f64 / rto_ns - 1.0).abs() < PREDICTED
        })
    }

    /// RTO after this number of consecutive timeouts. Each doubles the RTO, up to Linux's maximum.
    pub fn backed_off_rto_ns(&self, timeouts: u32) -> i64 {
        let rto_ns = self.rto_ns();
        rto_ns.saturating_mul(1 << timeouts.min(BACKOFF_MAX)).min(rto_ns.max(RTO_MAX_NS))
    }

    /// RTO without backoff.
    pub fn rto_ns(&self) -> i64 {
        self.profiles[self.best].state.rto(&WINDOW).as_nanos() as i64
    }

    /// Sum of the timeouts of a sender whose timer expired during a silence of this length: of the
    /// best profile that allows one expiry without another, and at most the silence. If the timer
    /// is known to be that of Linux, it may have expired repeatedly.
    pub fn timeouts_within(&self, silence_ns: i64, is_linux: bool) -> i64 {
        let rto = |profile: &Profile| profile.state.rto(&WINDOW).as_nanos() as i64;
        // With backoff the second expiry follows twice the RTO after the first.
        let expires_once = |rto: &i64| (*rto..3 * *rto).contains(&silence_ns);
        let rto_ns = self.rto_ns();
        if is_linux && silence_ns >= rto_ns {
            let sums = (1..BACKOFF_MAX).map(|expiries| rto_ns.saturating_mul((1 << expiries) - 1));
            return sums.take_while(|sum| *sum <= silence_ns).last().unwrap_or(rto_ns);
        }
        let best = std::iter::once(&self.profiles[self.best]);
        let found = best.chain(&self.profiles).map(rto).find(expires_once);
        found.unwrap_or_else(|| rto_ns.min(silence_ns))
    }

    /// Smoothed RTT; none before the first sample.
    pub fn srtt_ns(&self) -> Option<i64> {
        self.profiles[0].state.srtt().map(|srtt| srtt.as_nanos() as i64)
    }

    /// True if Linux's timer fits best.
    pub fn is_linux(&self) -> bool {
        self.best == 0
    }

    /// Name of the profile that fits best.
    pub fn profile(&self) -> &'static str {
        PROFILES[self.best].0
    }
}

#[cfg(test)]
mod tests {
    use super::Estimator;

    /// Estimator after a timeout that followed so long after the timer was set, with an RTO of
    /// three times the RTT by Linux's rules, and of 1 s by RFC 6298.
    fn after_timeout(waited_ms: i64, rtt_ms: i64, is_window_of_linux: bool) -> Estimator {
        let mut estimator = Estimator::default();
        estimator.on_rtt(rtt_ms * 1_000_000, 1_000, 2_000);
        assert_eq!(estimator.rto_ns(), 3 * rtt_ms * 1_000_000);
        estimator.compare_with_timeout(waited_ms * 1_000_000, is_window_of_linux, false);
        estimator
    }

    /// A probe that the capture does not show was sent after two smoothed RTTs (400 ms). The RTO is
    /// 600 ms.
    #[test]
    fn a_probe_that_was_lost_may_have_restarted_the_timer() {
        for (may_miss_probe, is_linux) in [(true, true), (false, false)] {
            let mut estimator = Estimator::default();
            estimator.on_rtt(200_000_000, 1_000, 2_000);
            estimator.compare_with_timeout(1_000_000_000, true, may_miss_probe);
            assert_eq!(estimator.is_linux(), is_linux);
        }
    }

    /// The shortest RTO of the profiles is 60 ms.
    #[test]
    fn a_wait_for_something_else_shows_no_timer() {
        for (waited_ms, is_linux) in [(1, true), (60, false)] {
            let mut estimator = Estimator::default();
            estimator.on_rtt(20_000_000, 1_000, 2_000);
            estimator.compare_with_timeout(waited_ms * 1_000_000, false, false);
            assert_eq!(estimator.is_linux(), is_linux, "{waited_ms} ms");
        }
    }

    /// The timer wheel of Linux rounds 960 ms up to a multiple of 64 ms with 1000 ticks a second
    /// and of 32 ms with 250, from any time on (`calc_wheel_index`).
    #[test]
    fn a_late_timer_may_be_that_of_linux() {
        for waited_ms in [960, 992, 1_000, 1_024] {
            assert!(after_timeout(waited_ms, 320, true).is_linux(), "{waited_ms} ms");
        }
        assert!(!after_timeout(1_000, 320, false).is_linux(), "another initial window");
        assert!(!after_timeout(1_000, 280, true).is_linux(), "later by more than an eighth");
    }
}
