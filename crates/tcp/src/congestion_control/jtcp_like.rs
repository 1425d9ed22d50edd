//! *What it does.* Reno that infers from jitter whether queues have grown: after a loss it halves
//! the window if they have, and leaves the window unchanged if not.
//!
//! *Reference.* After Wu & Chen, IEEE JSAC 22(4), 2004, "JTCP". **Reconstructed:** only the
//! abstract ("adapt sending rates to the packet losses and jitter ratios") was at hand. The formula
//! of the ratio follows from its purpose. Ours are the smoothing (none), the number of reductions
//! (one per recovery) and the branch for timeouts. Figures of this model are not JTCP's.
//!
//! *Equations.* If w segments are sent over the time t_s, and arrive over t_r > t_s, the share (t_r
//! − t_s)/t_r of them had to queue. Let S and R be the send and arrival times of the first (0) and
//! the last (n) segment acknowledged since the start of the last whole window.
//!
//! - *Jitter ratio.* Jr = ((R_n − R_0) − (S_n − S_0))/(R_n − R_0). A loss is due to congestion if
//!   Jr > k/w, that is, if more than k segments are newly queued.
//! - *Duplicate ACKs.* With congestion ssthresh = cwnd = max(FlightSize/2, 2 SMSS); otherwise
//!   ssthresh = cwnd, and cwnd stays ("immediate recovery").
//! - *Timeout.* ssthresh = max(FlightSize/2, 2 SMSS). With congestion cwnd = 1 SMSS; otherwise cwnd
//!   = min(cwnd, ssthresh).
//! - *Growth* as `reno`.
//!
//! With timestamps, R is read from the receiver's clock (TSval), whose tick of 1 ms causes an error
//! of tick/spacing segments in w·Jr. Without timestamps R is the arrival time of the ACK, and
//! includes the jitter of the return path.

use super::send_times::SendTimes;
use super::{Ack, CongestionControl, Loss, NotNegative, Sent, Window, half_of_flight, reno};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reno that attributes losses without jitter to corruption and leaves the window unchanged. A
/// reconstruction of JTCP; the timeout branch is ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Segments that may be newly queued in a window without indicating congestion.
    pub k: NotNegative,
    /// Growth in congestion avoidance.
    pub growth: reno::Growth,
}

impl Default for Config {
    fn default() -> Self {
        Self { k: NotNegative::constant(1.0), growth: reno::Growth::default() }
    }
}

/// State of the controller.
#[derive(Debug, Clone)]
pub struct State {
    k: f64,
    reno: reno::State,
    times: SendTimes,
    /// Starts of the last whole window and of the current one.
    marks: [Option<Mark>; 2],
    window_end: u64,
    last: Option<Mark>,
}

/// Send and arrival times of a segment, from its acknowledgment.
#[derive(Debug, Clone, Copy)]
struct Mark {
    sent: Duration,
    arrived: Duration,
    /// Position after the segment.
    end: u64,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, tcp: &crate::Config) -> Self {
        Self {
            k: config.k.value(),
            reno: reno::State::new(&reno::Config { growth: config.growth }, tcp),
            times: SendTimes::default(),
            marks: [None; 2],
            window_end: 0,
            last: None,
        }
    }

    /// Bytes newly queued, w·Jr; `None` if no time has passed between the first and the last
    /// arrival.
    fn newly_queued(&self) -> Option<f64> {
        // Until a whole window has been acknowledged, the measurement starts at the current window.
        let first = self.marks[0].or(self.marks[1])?;
        let last = self.last?;
        let arriving = last.arrived.saturating_sub(first.arrived).as_nanos() as f64;
        let sending = last.sent.saturating_sub(first.sent).as_nanos() as f64;
        (arriving > 0.0).then(|| (last.end - first.end) as f64 * (arriving - sending) / arriving)
    }

    /// True if a loss indicates congestion; without a measurement every loss does.
    fn is_congestion(&self, smss: u32) -> bool {
        self.newly_queued().is_none_or(|queued| queued > self.k * f64::from(smss))
    }

    fn restart(&mut self) {
        self.marks = [None; 2];
        self.last = None;
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, _: u32) {
        let Some(rtt) = self.times.on_ack(ack) else { return };
        let now = Duration::from_nanos(ack.now.as_nanos());
        // The receiver's clock leaves out the jitter on the path of the ACKs.
        let arrived = ack.receiver_time.unwrap_or(now);
        let mark = Mark { sent: now.saturating_sub(rtt), arrived, end: ack.snd_una };
        if ack.snd_una > self.window_end {
            self.window_end = ack.snd_nxt;
            self.marks = [self.marks[1], Some(mark)];
        }
        self.last = Some(mark);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        if self.is_congestion(window.smss) {
            self.reno.on_loss(window, loss);
        } else {
            window.ssthresh = window.cwnd.max(2 * u64::from(window.smss));
        }
        self.restart();
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let cwnd = window.cwnd;
        let congestion = self.is_congestion(window.smss);
        self.reno.on_timeout(window, loss, repeated);
        if !congestion {
            // The timeout has reduced the window to one segment. Without congestion it becomes half
            // of the data in flight instead, but not more than before.
            window.ssthresh = half_of_flight(window, loss);
            window.cwnd = window.ssthresh.min(cwnd);
        }
        self.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Path, SMSS, at, loss, tcp, window};
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// State in equilibrium over a path that holds 20 segments, then with `segments` added at once.
    fn after_adding(segments: u64) -> (State, Path) {
        let mut jtcp = State::new(&Config::default(), &tcp());
        let mut path = Path::new(MS, MS * 20, window(20, 1));
        for _ in 0..100 {
            path.window.cwnd = 20 * u64::from(SMSS);
            path.step(&mut jtcp);
        }
        for _ in 0..20 + segments {
            path.window.cwnd = (20 + segments) * u64::from(SMSS);
            path.step(&mut jtcp);
        }
        (jtcp, path)
    }

    #[test]
    fn counts_the_newly_queued() {
        let (steady, _) = after_adding(0);
        assert!(steady.newly_queued().unwrap().abs() < 1e-9);
        // All added segments count as newly queued.
        for added in [2, 5] {
            let (jtcp, _) = after_adding(added);
            let queued = jtcp.newly_queued().unwrap();
            assert!((queued - 1000.0 * added as f64).abs() < 1e-6, "{queued}, not {added}");
        }
    }

    #[test]
    fn a_loss_without_jitter_leaves_the_window_alone() {
        let (mut jtcp, mut path) = after_adding(1);
        path.window.cwnd = 21_000;
        jtcp.on_loss(&mut path.window, &loss(path.now, 21));
        assert_eq!((path.window.cwnd, path.window.ssthresh), (21_000, 21_000));
        let (mut jtcp, mut path) = after_adding(2);
        jtcp.on_loss(&mut path.window, &loss(path.now, 22));
        assert_eq!((path.window.cwnd, path.window.ssthresh), (11_000, 11_000));
    }

    #[test]
    fn timeouts() {
        let (mut jtcp, mut path) = after_adding(0);
        jtcp.on_timeout(&mut path.window, &loss(path.now, 20), false);
        assert_eq!((path.window.cwnd, path.window.ssthresh), (10_000, 10_000));
        // Measurements from before the first timeout do not count for the next one.
        jtcp.on_timeout(&mut path.window, &loss(path.now, 10), true);
        assert_eq!((path.window.cwnd, path.window.ssthresh), (1_000, 10_000));
        let (mut jtcp, mut path) = after_adding(4);
        jtcp.on_timeout(&mut path.window, &loss(path.now, 24), false);
        assert_eq!((path.window.cwnd, path.window.ssthresh), (1_000, 12_000));
    }

    #[test]
    fn without_evidence_congestion() {
        let mut jtcp = State::new(&Config::default(), &tcp());
        let mut window = window(20, 99);
        jtcp.on_loss(&mut window, &loss(at(0), 20));
        assert_eq!(window.cwnd, 10_000);
    }

    /// RFC 5681 eq. 4: no threshold is below two segments, even if the loss is not congestion.
    #[test]
    fn the_threshold_is_at_least_two_segments() {
        for (cwnd, ssthresh) in [(1, 2000), (2, 2000), (3, 3000)] {
            let mut jtcp = State::new(&Config::default(), &tcp());
            jtcp.marks[1] = Some(Mark { sent: Duration::ZERO, arrived: MS * 20, end: 1 });
            jtcp.last = Some(Mark { sent: MS * 10, arrived: MS * 30, end: 10_001 });
            let mut window = window(cwnd, 99);
            jtcp.on_loss(&mut window, &loss(at(30), cwnd));
            assert_eq!((window.cwnd, window.ssthresh), (cwnd * 1000, ssthresh));
        }
    }
}
