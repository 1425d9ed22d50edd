//! *What it does.* Westwood with one bandwidth sample per round trip, which is robust against
//! compressed ACKs.
//!
//! *Reference.* Grieco & Mascolo, CCR 34(2), 2004. Read: Linux `net/ipv4/tcp_westwood.c`, ns-3
//! `tcp-westwood-plus.cc`.
//!
//! *Equations.* Over each interval longer than max(RTT, 50 ms), b = credited bytes/interval.
//!
//! - *Bandwidth.* `single`: B = 0.9·B + 0.1·b; `cascade`: B' = (7·B' + b)/8, B = (7·B + B')/8. The
//!   first sample is taken as it is (newer Linux).
//! - *Credit* as in `westwood`.
//! - *Duplicate ACKs.* ssthresh = cwnd = max(B·RTTmin, 2 SMSS).
//! - *Timeout.* The same ssthresh, cwnd = 1 SMSS.
//! - *Growth* as `reno`.
//!
//! *Where we differ.* Bandwidths are floating-point numbers; Linux counts whole bytes per tick.
//! Linux reduces the window as Reno during recovery and sets cwnd at its end; here cwnd is set at
//! once, for the time after recovery.

use super::bandwidth::{Bandwidth, Filter, SampledFilter};
use super::{Ack, CongestionControl, Loss, Window, reno};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::bandwidth::Smoothing;

/// Reno that sets its window to the estimated bandwidth times the smallest RTT, one sample per
/// round trip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Smoothing of the samples.
    pub smoothing: Smoothing,
    /// Measure the minimum RTT anew after a timeout, as newer versions of Linux do.
    pub renew_least_rtt: bool,
    /// Growth in congestion avoidance.
    pub growth: reno::Growth,
}

/// State of Westwood+.
#[derive(Debug, Clone)]
pub struct State {
    reno: reno::State,
    bandwidth: Bandwidth,
    renew_least_rtt: bool,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            reno: reno::State::new(&reno::Config { growth: config.growth }, tcp),
            bandwidth: Bandwidth::new(Filter::Sampled(SampledFilter::new(config.smoothing))),
            renew_least_rtt: config.renew_least_rtt,
        }
    }

    fn set_ssthresh(&self, window: &mut Window, loss: &Loss) {
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
        self.reno.restart_growth();
        self.set_ssthresh(window, loss);
        // As in the paper, this may exceed the window before the loss.
        window.cwnd = window.ssthresh;
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, _: bool) {
        self.reno.restart_growth();
        self.set_ssthresh(window, loss);
        window.cwnd = window.smss.into();
        if self.renew_least_rtt {
            self.bandwidth.forget_range();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss, tcp, window};
    use super::*;
    use retx_units::Duration;

    /// 1 MB/s, with ACKs compressed into one burst every 20 ms: B·RTTmin = 30,000 bytes.
    #[test]
    fn compressed_acks_do_not_mislead() {
        for smoothing in [Smoothing::Single, Smoothing::Cascade] {
            for renew_least_rtt in [false, true] {
                let config = Config { smoothing, renew_least_rtt, ..Config::default() };
                let mut state = State::new(&config, &tcp());
                for n in 0..10_000_u64 {
                    let rtt = Some(Duration::from_millis(50 - n % 20));
                    let late = at(n.next_multiple_of(20));
                    state.observe(&Ack { rtt, ..ack(late, 1000) }, SMSS);
                }
                let mut window = window(50, 99);
                state.on_loss(&mut window, &loss(at(10_000), 50));
                assert_eq!(window.cwnd, window.ssthresh);
                // Each interval begins and ends at a burst of 20 ACKs, so it may hold up to one
                // burst too many.
                assert!((30_000..=32_000).contains(&window.cwnd), "{}", window.cwnd);
                state.on_timeout(&mut window, &loss(at(10_000), 50), false);
                assert_eq!(window.cwnd, 1000);
                state.observe(
                    &Ack { rtt: Some(Duration::from_millis(90)), ..ack(at(10_001), 1000) },
                    SMSS,
                );
                state.on_timeout(&mut window, &loss(at(10_001), 1), false);
                assert_eq!(window.ssthresh > 60_000, renew_least_rtt, "{}", window.ssthresh);
            }
        }
    }
}
