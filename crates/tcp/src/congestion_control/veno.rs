//! *What it does.* Reno that estimates the backlog N of the bottleneck as Vegas does. With few
//! segments queued a loss is considered random, and reduces the window by only a fifth; with many,
//! the window grows half as fast.
//!
//! *Reference.* Fu & Liew, JSAC 21(2), 2003.
//!
//! *Equations.* N = cwnd·(RTT − baseRTT)/RTT. baseRTT begins anew with every loss.
//!
//! - *Congestion avoidance.* +SMSS²/cwnd for every new ACK if N < beta, and for every other one if
//!   N ≥ beta.
//! - *Duplicate ACKs.* ssthresh = 4/5 of FlightSize if N < beta, and 1/2 if N ≥ beta.
//! - *Slow start and timeouts* as Reno.
//!
//! *Where we differ.* Only the abstract of the paper was available; the rule for baseRTT and "every
//! other ACK" are taken from papers that cite it (Linux does neither: `veno_linux`). RTT is the
//! mean of the raw samples of a round trip; N is computed once per round trip, and at a loss from
//! the samples since the last computation. Reductions are relative to FlightSize, not cwnd (RFC
//! 5681 §3.1).

use super::send_times::SendTimes;
use super::{Ack, CongestionControl, Loss, NotNegative, Sent, Window, reno};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reno with Vegas's backlog: mild reduction after losses that look random, slow growth near
/// congestion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of queued segments at and above which the path counts as congested. Paper: 3.
    pub beta: NotNegative,
    /// Growth in congestion avoidance.
    pub growth: reno::Growth,
}

impl Default for Config {
    fn default() -> Self {
        Self { beta: NotNegative::constant(3.0), growth: reno::Growth::default() }
    }
}

/// State of Veno.
#[derive(Debug, Clone)]
pub struct State {
    beta: f64,
    reno: reno::State,
    times: SendTimes,
    base: Option<Duration>,
    round_end: u64,
    sum: Duration,
    samples: u64,
    /// baseRTT/RTT as last computed; N = cwnd·(1 − ratio).
    ratio: f64,
    /// True if the last ACK of new data was skipped, because N ≥ beta.
    skipped: bool,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            beta: config.beta.value(),
            reno: reno::State::new(&reno::Config { growth: config.growth }, tcp),
            times: SendTimes::default(),
            base: None,
            round_end: 0,
            sum: Duration::ZERO,
            samples: 0,
            ratio: 1.0,
            skipped: false,
        }
    }

    /// Computes `ratio` from the samples of the round, or of its part so far.
    fn measure(&mut self) {
        if let Some(base) = self.base
            && self.samples > 0
        {
            let mean = self.sum / self.samples;
            self.ratio = if mean.is_zero() { 1.0 } else { base.as_secs_f64() / mean.as_secs_f64() };
        }
        self.sum = Duration::ZERO;
        self.samples = 0;
    }

    /// Backlog N, in segments.
    fn backlog(&self, window: &Window) -> f64 {
        window.cwnd as f64 / f64::from(window.smss) * (1.0 - self.ratio)
    }

    fn forget_base(&mut self) {
        self.base = None;
        self.sum = Duration::ZERO;
        self.samples = 0;
        self.ratio = 1.0;
        self.skipped = false;
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, _: u32) {
        if let Some(rtt) = self.times.on_ack(ack) {
            let rtt = rtt.min(Duration::MAX);
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.sum = (self.sum + rtt).min(Duration::MAX);
            self.samples += 1;
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.snd_una > self.round_end {
            self.round_end = ack.snd_nxt;
            self.measure();
        }
        if !window.in_slow_start() && self.backlog(window) >= self.beta {
            // Only every other ACK counts: near congestion the window grows by half a segment per
            // round trip.
            self.skipped = !self.skipped;
            if self.skipped {
                return;
            }
        }
        self.reno.grow(window, ack.bytes_acked);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        self.measure();
        // The samples since the last round are the newest before the loss.
        let random = self.backlog(window) < self.beta;
        let used = loss.flight_size;
        let kept = if random { used / 5 * 4 } else { used / 2 };
        window.ssthresh = kept.max(2 * u64::from(window.smss));
        window.cwnd = window.ssthresh.min(window.cwnd);
        self.reno.restart_growth();
        self.forget_base();
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.reno.on_timeout(window, loss, repeated);
        self.forget_base();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Path, SMSS, ack, at, loss, tcp, window};
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn veno() -> State {
        State::new(&Config::default(), &tcp())
    }

    /// A window of W segments over a path that holds 20 leaves N = W − 20 in the queue.
    #[test]
    fn backlog_is_the_standing_queue() {
        for standing in [1, 5, 12] {
            let mut veno = veno();
            let mut path = Path::new(MS, MS * 20, window(1, 1));
            path.rounds(&mut veno, 2);
            path.window = window(20 + standing, 1);
            for _ in 0..120 {
                path.window.cwnd = (20 + standing) * u64::from(SMSS);
                path.step(&mut veno);
            }
            let backlog = veno.backlog(&window(20 + standing, 1));
            assert!((backlog - standing as f64).abs() < 1e-6, "{backlog} for {standing}");
        }
    }

    #[test]
    fn random_loss_costs_a_fifth_and_congestive_loss_half() {
        for (standing, left) in [(2, 17_600), (4, 12_000)] {
            let mut veno = veno();
            veno.base = Some(MS * 20);
            let cwnd = 20 + standing;
            (veno.sum, veno.samples) = (MS * cwnd * 3, 3);
            let mut window = window(cwnd, 1);
            veno.on_loss(&mut window, &loss(at(0), cwnd));
            assert_eq!((window.cwnd, window.ssthresh), (left, left), "{standing} queued");
            assert_eq!(veno.base, None);
        }
    }

    #[test]
    fn grows_half_as_fast_beyond_beta() {
        let growth = |ratio| {
            let (mut veno, mut window) = (veno(), window(20, 1));
            veno.ratio = ratio;
            for _ in 0..40 {
                veno.on_ack(&mut window, &ack(at(0), 1000));
            }
            window.cwnd - 20_000
        };
        // Each ACK that counts adds SMSS²/cwnd.
        let reno = |acks: u32| (0..acks).fold(20_000.0, |cwnd, _| cwnd + 1e6 / cwnd) - 20_000.0;
        assert!((growth(0.9) as f64 - reno(40)).abs() < 1.0, "{}", growth(0.9));
        assert!((growth(0.8) as f64 - reno(20)).abs() < 1.0, "{}", growth(0.8));
    }

    /// A round ends with the acknowledgment of data sent after its begin, that is, beyond
    /// `round_end`.
    #[test]
    fn a_round_ends_beyond_its_data() {
        for (snd_una, end) in [(9000, 9001), (9001, 9001), (9002, 30_001)] {
            let (mut veno, mut window) = (veno(), window(10, 2));
            veno.round_end = 9001;
            let ack = Ack { snd_una, snd_nxt: 30_001, ..ack(at(0), 1000) };
            veno.on_ack(&mut window, &ack);
            assert_eq!(veno.round_end, end, "{snd_una}");
        }
    }

    /// RFC 5681 eq. 4: at least two segments remain. Without samples the loss counts as random.
    #[test]
    fn a_loss_leaves_two_segments() {
        for (flight, ssthresh) in [(1, 2000), (2, 2000), (5, 4000), (10, 8000)] {
            let (mut veno, mut window) = (veno(), window(flight, 99));
            veno.on_loss(&mut window, &loss(at(0), flight));
            assert_eq!(window.ssthresh, ssthresh, "{flight}");
        }
    }
}
