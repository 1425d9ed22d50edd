//! *What it does.* Westwood that distinguishes error losses from congestion. After an error it
//! keeps the window, retransmits all unacknowledged data at once, and does not back off the RTO.
//!
//! *Reference.* After Yang, Wang, Sanadidi & Gerla, ICC 2003, "TCPW with Bulk Repeat".
//! **Reconstructed:** only the abstract was at hand. It names the three changes (bulk
//! retransmission, fixed RTO, intelligent window adjustment) and the discriminators (Spike and a
//! threshold on the rate gap), without their constants. Spike's constants are those of Cen, Cosman
//! & Voelker 2003. The threshold of the gap and the combination of the two are ours. Figures of
//! this model are not Bulk Repeat's.
//!
//! *Equations.* A loss is due to congestion in a spike, or if the rate gap exceeds `rate_gap`;
//! otherwise it is an error.
//!
//! - *Spike.* Begins above RTTmin + ½(RTTmax − RTTmin), and ends below RTTmin + ⅓(RTTmax − RTTmin).
//! - *Rate gap.* (flight/RTTmin − B)/(flight/RTTmin), with B as in `westwood`.
//! - *Congestion.* As `westwood`.
//! - *Error.* cwnd is unchanged. ssthresh = max(B·RTTmin, 2 SMSS) after a timeout, and is unchanged
//!   after duplicate ACKs.

use super::bandwidth::{Bandwidth, Filter, Tustin};
use super::{Ack, CongestionControl, Fraction, Loss, Window, reno, westwood};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Westwood that retransmits the whole window after error losses and leaves the window and the RTO
/// unchanged. A reconstruction from the abstract of TCPW Bulk Repeat; thresholds are ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Largest rate gap that does not indicate congestion: shortfall of the achieved rate, relative
    /// to the expected rate. The default is ours.
    pub rate_gap: Fraction,
    /// Growth in congestion avoidance.
    pub growth: reno::Growth,
}

impl Default for Config {
    fn default() -> Self {
        Self { rate_gap: Fraction::constant(0.5), growth: reno::Growth::default() }
    }
}

/// State of the controller.
#[derive(Debug, Clone)]
pub struct State {
    reno: reno::State,
    bandwidth: Bandwidth,
    rate_gap: f64,
    spike: bool,
    /// True if the next loss will be classified as an error.
    error: bool,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        let westwood::Config { tau, m, .. } = westwood::Config::default();
        Self {
            reno: reno::State::new(&reno::Config { growth: config.growth }, tcp),
            bandwidth: Bandwidth::new(Filter::Tustin(Tustin::new(tau, m))),
            rate_gap: config.rate_gap.value(),
            spike: false,
            error: false,
        }
    }

    fn judge(&mut self, ack: &Ack) {
        let Some(range) = self.bandwidth.range else { return };
        if let Some(rtt) = ack.rtt {
            let position = range.position(rtt);
            // Hysteresis as in Spike: a spike begins at a larger RTT than it ends.
            self.spike = if self.spike { position >= 1.0 / 3.0 } else { position > 0.5 };
        }
        // Both rates are multiplied by the smallest RTT, which gives bytes.
        let expected = ack.flight_size as f64;
        let achieved = self.bandwidth.bandwidth_delay_product(ack.now) as f64;
        self.error = !self.spike && expected - achieved <= self.rate_gap * expected;
    }

    fn ssthresh(&self, window: &Window, loss: &Loss) -> u64 {
        self.bandwidth.bandwidth_delay_product(loss.now).max(2 * u64::from(window.smss))
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, smss: u32) {
        self.bandwidth.observe(ack, smss);
        self.judge(ack);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        if self.error {
            window.ssthresh = window.ssthresh.max(2 * u64::from(window.smss));
            return;
        }
        self.reno.restart_growth();
        window.ssthresh = self.ssthresh(window, loss);
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, _: bool) {
        self.reno.restart_growth();
        window.ssthresh = self.ssthresh(window, loss);
        if !self.error {
            window.cwnd = window.smss.into();
        }
    }

    fn repeats_window(&self) -> bool {
        self.error
    }

    fn holds_rto(&self) -> bool {
        self.error
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss, tcp, window};
    use super::*;
    use retx_units::Duration;

    /// State at 1 MB/s over 30 ms with RTTs up to 90 ms, then with the given RTTs and data in
    /// flight.
    fn after(rtts: &[u64], flight: u64) -> State {
        let mut state = State::new(&Config::default(), &tcp());
        for n in 0..20_000 {
            let rtt = Some(Duration::from_millis(if n == 17 { 90 } else { 30 }));
            state.observe(&Ack { rtt, flight_size: 30_000, ..ack(at(n), 1000) }, SMSS);
        }
        for (n, rtt) in rtts.iter().enumerate() {
            let rtt = Some(Duration::from_millis(*rtt));
            let now = at(20_000 + n as u64);
            state.observe(&Ack { rtt, flight_size: flight * 1000, ..ack(now, 1000) }, SMSS);
        }
        state
    }

    #[test]
    fn spikes_begin_at_a_half_and_end_at_a_third() {
        let spike = |rtts: &[u64]| after(rtts, 30).spike;
        assert!(!spike(&[60]), "half of 30 … 90");
        assert!(spike(&[61]));
        assert!(spike(&[61, 50]), "a third");
        assert!(!spike(&[61, 49]));
    }

    #[test]
    fn an_error_leaves_the_window_and_the_rto_alone() {
        let mut state = after(&[40], 50);
        assert!(state.repeats_window() && state.holds_rto());
        let mut lossy = window(50, 40);
        state.on_loss(&mut lossy, &loss(at(20_001), 50));
        assert_eq!((lossy.cwnd, lossy.ssthresh), (50_000, 40_000));
        let mut small = window(2, 1);
        state.on_loss(&mut small, &loss(at(20_001), 2));
        assert_eq!((small.cwnd, small.ssthresh), (2000, 2000), "two segments at least");
        state.on_timeout(&mut lossy, &loss(at(20_001), 50), false);
        assert_eq!((lossy.cwnd, lossy.ssthresh), (50_000, 30_000));
    }

    #[test]
    fn congestion_is_westwoods() {
        // Either an RTT spike (70 ms), or a rate gap above one half: 61 segments are in flight, but
        // the measured rate fills the path with 30.
        for mut state in [after(&[70], 40), after(&[40], 61)] {
            assert!(!state.repeats_window() && !state.holds_rto());
            let mut lossy = window(50, 99);
            state.on_loss(&mut lossy, &loss(at(20_001), 50));
            assert_eq!((lossy.cwnd, lossy.ssthresh), (30_000, 30_000));
            state.on_timeout(&mut lossy, &loss(at(20_001), 50), false);
            assert_eq!(lossy.cwnd, 1000);
        }
    }
}
