//! *What it does.* Veno as in Linux: N is computed at every ACK from the minimum RTT since the
//! previous ACK, baseRTT is kept at losses, and reductions are relative to cwnd.
//!
//! *Reference.* Linux `net/ipv4/tcp_veno.c` (read as of 2.6.3x and 6.x), after Fu & Liew 2003.
//!
//! *Equations.* N and beta have one fractional bit: N = 2·cwnd − ⌊2·cwnd·baseRTT/rtt⌋, beta = 6.
//!
//! - *Congestion avoidance.* If N < beta, +1 per window acknowledged. Otherwise +1 every second
//!   time that more than a window has been acknowledged.
//! - *Duplicate ACKs and timeouts.* ssthresh = max(4/5 cwnd, 2) if N < beta, else max(cwnd/2, 2).
//! - *Reno.* The window grows as Reno's until three RTT samples have been taken, and while a loss
//!   is being repaired. It grows only while it limits the sender.
//!
//! *Where we differ.* RTTs are in ns, while Linux adds 1 to whole µs. An ACK without an RTT sample
//! keeps N. Linux computes N from an RTT of 2^31 − 1 µs in this case, which means heavy congestion.

use super::segments::{self, SegmentCounter};
use super::send_times::SendTimes;
use super::{Ack, CongestionControl, Loss, Sent, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Veno as in Linux: the backlog is computed at every ACK, from the smallest RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of queued segments at and above which the path counts as congested. Linux: 3.
    pub beta: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { beta: 3 }
    }
}

/// State of Veno.
#[derive(Debug, Clone)]
pub struct State {
    beta: u64,
    times: SendTimes,
    segments: SegmentCounter,
    base: Duration,
    /// Smallest RTT since N was last computed.
    least: Option<Duration>,
    samples: u64,
    /// Twice N.
    twice_backlog: u64,
    /// Near congestion: true if the next window of ACKs increases cwnd, false if it is skipped.
    increase: bool,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        Self {
            beta: config.beta,
            times: SendTimes::default(),
            segments: SegmentCounter::default(),
            base: Duration::MAX,
            least: None,
            samples: 0,
            twice_backlog: 0,
            increase: true,
        }
    }

    fn is_random(&self) -> bool {
        self.twice_backlog < self.beta.saturating_mul(2)
    }

    fn measure(&mut self, cwnd: u64) {
        let Some(rtt) = self.least.take() else { return };
        let twice = u128::from(cwnd) * 2;
        let (base, rtt) = (self.base.as_nanos().max(1), rtt.as_nanos().max(1));
        let target = twice * u128::from(base) / u128::from(rtt);
        self.twice_backlog = u64::try_from(twice.saturating_sub(target)).unwrap_or(u64::MAX);
    }

    fn avoid_congestion(&mut self, window: &mut Window, acked: u64) {
        let cwnd = segments::cwnd_segments(window);
        if self.is_random() {
            self.segments.grow_additively(window, cwnd, acked);
        } else if self.segments.acked_segments >= cwnd {
            if self.increase {
                window.cwnd = window.cwnd.saturating_add(window.smss.into());
            }
            self.increase = !self.increase;
            self.segments.acked_segments = 0;
        } else {
            self.segments.acked_segments = self.segments.acked_segments.saturating_add(acked);
        }
    }

    fn ssthresh(&self, window: &Window) -> u64 {
        let cwnd = segments::cwnd_segments(window);
        if self.is_random() { cwnd.saturating_mul(4) / 5 } else { cwnd / 2 }
    }
}

impl CongestionControl for State {
    fn observe(&mut self, ack: &Ack, _: u32) {
        if let Some(rtt) = self.times.on_ack(ack) {
            self.base = self.base.min(rtt);
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.flight_size <= u64::from(sent.bytes) {
            // Nothing was in flight: the path may have changed.
            self.base = Duration::MAX;
            self.least = None;
            self.increase = true;
        }
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // At least one of three samples is not that of a delayed ACK.
        if ack.in_recovery || self.samples <= 2 {
            self.segments.grow_like_reno(window, ack);
            return;
        }
        if !ack.cwnd_limited {
            return;
        }
        self.measure(segments::cwnd_segments(window));
        let mut acked = segments::delivered_segments(window, ack);
        if window.in_slow_start() {
            acked = segments::grow_in_slow_start(window, acked);
        }
        if acked > 0 {
            self.avoid_congestion(window, acked);
        }
        window.cwnd = window.cwnd.max(segments::segments_to_bytes(window, 2));
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = self.ssthresh(window);
        self.segments.reduce(window, loss, ssthresh);
        self.least = None;
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let ssthresh = self.ssthresh(window);
        self.segments.reduce_at_timeout(window, loss, repeated, ssthresh);
        self.least = None;
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
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

    #[test]
    fn backlog_is_the_standing_queue() {
        for standing in [1, 5, 12] {
            let mut veno = veno();
            let mut path = Path::new(MS, MS * 20, window(2, 2));
            path.rounds(&mut veno, 3);
            for _ in 0..120 {
                path.window.cwnd = (20 + standing) * u64::from(SMSS);
                path.step(&mut veno);
            }
            assert_eq!(veno.twice_backlog, 2 * standing);
        }
    }

    #[test]
    fn reductions() {
        for (backlog, left) in [(5, 16), (6, 10)] {
            let (mut veno, mut window) = (veno(), window(20, 99));
            veno.twice_backlog = backlog;
            veno.on_loss(&mut window, &loss(at(0), 20));
            assert_eq!(window.cwnd / 1000, left);
            // The loss of later data concerns another window.
            let later = Loss { snd_una: 50_000, snd_max: 60_000, ..loss(at(1), 9) };
            veno.on_timeout(&mut window, &later, false);
            let again = if backlog < 6 { left * 4 / 5 } else { left / 2 };
            assert_eq!((window.cwnd, window.ssthresh), (1000, again * 1000));
        }
    }

    #[test]
    fn near_congestion_every_second_window_counts() {
        let rounds = |backlog| {
            let (mut veno, mut window) = (veno(), window(10, 2));
            (veno.samples, veno.twice_backlog) = (3, backlog);
            let mut acks = vec![];
            for n in 1..=44 {
                let before = window.cwnd;
                veno.on_ack(&mut window, &ack(at(0), 1000));
                if window.cwnd > before {
                    acks.push(n);
                }
            }
            acks
        };
        assert_eq!(rounds(0), [10, 21, 33]);
        // The ACK after each window counts: ACK 11 increases the window to 11, ACK 23 has no
        // effect, and ACK 35 increases the window again.
        assert_eq!(rounds(6), [11, 35]);
        let (mut veno, mut window) = (veno(), window(10, 2));
        veno.samples = 3;
        veno.on_ack(&mut window, &Ack { cwnd_limited: false, ..ack(at(0), 10_000) });
        assert_eq!(window.cwnd, 10_000);
    }

    /// Outside the state Open, and before three RTT samples, `tcp_veno_cong_avoid` grows the window
    /// as Reno does.
    #[test]
    fn recovery_and_few_samples_are_renos() {
        for (in_recovery, samples, measures) in
            [(false, 2, false), (false, 3, true), (true, 2, false), (true, 3, false)]
        {
            let (mut veno, mut window) = (veno(), window(10, 2));
            (veno.base, veno.least, veno.samples) = (MS * 20, Some(MS * 40), samples);
            veno.on_ack(&mut window, &Ack { in_recovery, ..ack(at(0), 1000) });
            assert_eq!(veno.least.is_none(), measures, "{in_recovery} {samples}");
        }
    }

    /// Nothing is left for congestion avoidance if slow start takes all segments.
    #[test]
    fn slow_start_takes_what_it_can() {
        let (mut veno, mut window) = (veno(), window(10, 99));
        (veno.samples, veno.twice_backlog, veno.segments.acked_segments) = (3, 99, 50);
        veno.on_ack(&mut window, &ack(at(0), 1000));
        assert_eq!((window.cwnd, veno.segments.acked_segments), (11_000, 50));
    }
}
