//! *What it does.* Reno whose threshold after a loss is the estimated bandwidth times the minimum
//! RTT, as in `westwood`. The bandwidth is measured over bursts of ACKs. A part of the pause after
//! a burst is added to its duration; this part grows with the congestion of the path.
//!
//! *Reference.* After Parvez & Hossain, Computer Communications 28(2), 2005, "TCP Prairie".
//! **Reconstructed:** only its abstract was at hand, and no code of it was found. The abstract
//! gives the idea ("distributing a burst of ACKs over an off period based on degree of congestion
//! and burstiness") and that the estimate sets cwnd and ssthresh after duplicate ACKs or a timeout.
//! All equations and constants below are ours; they interpolate between the rate within bursts (no
//! congestion) and the rate over bursts and pauses (full congestion). Figures of this model are not
//! Prairie's.
//!
//! *Equations.* A gap longer than max(1 ms, 4 mean spacings within bursts), or the end of a round
//! trip, ends a burst. Let n be its bytes, T_on its duration including one spacing after its last
//! ACK, and T_off the time from then to the next burst.
//!
//! - *Sample.* b = n/(T_on + φ·T_off), with φ = (RTT − RTTmin)/(RTTmax − RTTmin).
//! - *Bandwidth.* B = 0.9·B + 0.1·b.
//! - *Duplicate ACKs.* ssthresh = max(B·RTTmin, 2 SMSS), cwnd = min(cwnd, ssthresh).
//! - *Timeout.* The same ssthresh, cwnd = 1 SMSS.
//! - *Growth* as `reno`.

use super::bandwidth::{Bandwidth, Bursts, Filter};
use super::{Ack, CongestionControl, Loss, Window, reno};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reno that sets its threshold by bandwidth estimated from bursts of ACKs. A reconstruction from
/// the abstract of TCP Prairie; the equations are ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Growth in congestion avoidance.
    pub growth: reno::Growth,
}

/// State of the controller.
#[derive(Debug, Clone)]
pub struct State {
    reno: reno::State,
    bandwidth: Bandwidth,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            reno: reno::State::new(&reno::Config { growth: config.growth }, tcp),
            bandwidth: Bandwidth::new(Filter::Bursts(Bursts::default())),
        }
    }

    fn set_ssthresh(&mut self, window: &mut Window, loss: &Loss) {
        self.reno.restart_growth();
        let product = self.bandwidth.bandwidth_delay_product(loss.now);
        window.ssthresh = product.max(2 * u64::from(window.smss));
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, smss: u32) {
        self.bandwidth.observe(ack, smss);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        self.set_ssthresh(window, loss);
        window.cwnd = window.cwnd.min(window.ssthresh);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, _: bool) {
        self.set_ssthresh(window, loss);
        window.cwnd = window.smss.into();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss, tcp, window};
    use super::*;
    use retx_units::Duration;

    #[test]
    fn losses_set_the_threshold_to_the_path() {
        let mut prairie = State::new(&Config::default(), &tcp());
        for n in 0..10_000 {
            let rtt = Some(Duration::from_millis(30 + n % 7));
            prairie.observe(&Ack { rtt, ..ack(at(n), 1000) }, SMSS);
        }
        let mut lossy = window(50, 99);
        prairie.on_loss(&mut lossy, &loss(at(9999), 50));
        assert_eq!((lossy.ssthresh, lossy.cwnd), (30_000, 30_000));
        let mut small = window(8, 99);
        prairie.on_loss(&mut small, &loss(at(9999), 8));
        assert_eq!(small.cwnd, 8000);
        prairie.on_timeout(&mut small, &loss(at(10_999), 8), false);
        assert_eq!((small.ssthresh, small.cwnd), (30_000, 1000));
    }
}
