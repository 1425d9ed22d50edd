//! *What it does.* Scalable TCP as in Linux: the window grows by a constant percentage per round
//! trip. The time from one loss to the next thus does not depend on the size of the window.
//!
//! *Reference.* Linux `net/ipv4/tcp_scalable.c` (read as of 6.x), after Kelly 2003, “Scalable TCP:
//! improving performance in highspeed wide area networks”.
//!
//! *Equations.* Congestion avoidance: +1 per min(cwnd, 100) segments acknowledged, which is 1 % per
//! round trip (the paper's a = 0.01). Loss and timeout: ssthresh = max(cwnd − ⌊cwnd/8⌋, 2) (b =
//! 0.125). Slow start as `reno_linux`.
//!
//! *Where it differs.* From the paper: up to 100 segments the window grows as Reno's, but a loss
//! always leaves 7/8 of it.

use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Scalable TCP as in Linux: growth by 1 % per round trip, reduction by an eighth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Maximum number of segments acknowledged per increase (`TCP_SCALABLE_AI_CNT`).
const PER_MOST: u64 = 100;

/// State of Scalable TCP.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self { segments: SegmentCounter::default() }
    }
}

fn ssthresh(window: &Window) -> u64 {
    let cwnd = segments::cwnd_segments(window);
    cwnd - cwnd / 8
}

impl CongestionControl for State {
    fn observes(&self) -> bool {
        false
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let Some(acked) = segments::slow_start(window, ack) else { return };
        // A large window grows by one segment per hundred acknowledged, a small one like Reno's.
        self.segments.grow_additively(window, segments::cwnd_segments(window).min(PER_MOST), acked);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = ssthresh(window);
        self.segments.reduce(window, loss, ssthresh);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let ssthresh = ssthresh(window);
        self.segments.reduce_at_timeout(window, loss, repeated, ssthresh);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at, loss, tcp, window};
    use super::*;

    fn scalable() -> State {
        State::new(&Config {}, &tcp())
    }

    /// Window after this many ACKs of a segment each.
    fn grown(from: u64, ssthresh: u64, acks: u64) -> u64 {
        let (mut scalable, mut window) = (scalable(), window(from, ssthresh));
        for _ in 0..acks {
            scalable.on_ack(&mut window, &ack(at(0), 1000));
        }
        window.cwnd / 1000
    }

    #[test]
    fn grows_by_one_percent_per_round() {
        assert_eq!(grown(4, 8, 4), 8, "slow start");
        assert_eq!([9, 10].map(|acks| grown(10, 2, acks)), [10, 11], "as Reno");
        assert_eq!([99, 100, 1000].map(|acks| grown(1000, 2, acks)), [1000, 1001, 1010]);
        let (mut scalable, mut window) = (scalable(), window(8, 10));
        scalable.on_ack(&mut window, &ack(at(0), 12_000));
        assert_eq!(window.cwnd, 11_000, "two in slow start, and one for the other ten");
        scalable.on_ack(&mut window, &Ack { cwnd_limited: false, ..ack(at(0), 99_000) });
        assert_eq!(window.cwnd, 11_000);
    }

    /// Kelly's recovery time: ln(1 − b)/ln(1 + a) = 13.4 round trips, whatever the window.
    #[test]
    fn a_loss_is_made_good_in_thirteen_and_a_half_rounds() {
        for cwnd in [1000, 8000] {
            let (mut scalable, mut window) = (scalable(), window(cwnd, 2));
            scalable.on_loss(&mut window, &loss(at(0), cwnd));
            assert_eq!(window.cwnd, cwnd * 875);
            let mut rounds = 0.0;
            while window.cwnd < cwnd * 1000 {
                rounds += 1000.0 / window.cwnd as f64;
                scalable.on_ack(&mut window, &ack(at(0), 1000));
            }
            assert!((rounds - 13.4_f64).abs() < 0.1, "{rounds} at {cwnd}");
        }
    }

    #[test]
    fn keeps_seven_eighths_and_two_segments() {
        for (before, after) in [(100, 88), (8, 7), (7, 7), (2, 2)] {
            let (mut scalable, mut window) = (scalable(), window(before, 999));
            scalable.on_loss(&mut window, &loss(at(0), before));
            assert_eq!((window.cwnd / 1000, window.ssthresh / 1000), (after, after));
        }
    }

    #[test]
    fn a_timeout_reduces_once_and_again_after_an_undo() {
        let (mut scalable, mut window) = (scalable(), window(80, 999));
        scalable.on_timeout(&mut window, &loss(at(0), 80), false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 70_000));
        window.cwnd = 40_000;
        scalable.on_timeout(&mut window, &loss(at(1), 80), false);
        assert_eq!(window.ssthresh, 70_000, "the same window");
        window.cwnd = 40_000;
        scalable.on_undo(&mut window);
        scalable.on_timeout(&mut window, &loss(at(2), 80), false);
        assert_eq!(window.ssthresh, 35_000);
    }
}
