//! *What it does.* Reno as in Linux: the window grows in whole segments, by the number of segments
//! acknowledged, whatever the ACK policy; reductions are relative to cwnd, not to FlightSize.
//!
//! *Reference.* Linux `net/ipv4/tcp_cong.c` (`tcp_reno_*`, read as of 6.x); RFC 3465.
//!
//! *Equations.* In segments:
//!
//! - *Slow start.* +1 per segment acknowledged, up to ssthresh; the rest of the segments counts for
//!   congestion avoidance.
//! - *Congestion avoidance.* +1 per cwnd segments acknowledged.
//! - *Loss.* ssthresh = cwnd = max(cwnd/2, 2).
//! - *Timeout.* The same ssthresh unless the window has been reduced already, and cwnd = 1.
//!
//! The window grows only while it limits the sender.

use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reno as in Linux: whole segments, counted as they are acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// State of Reno.
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

impl CongestionControl for State {
    fn observes(&self) -> bool {
        false
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.segments.grow_like_reno(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let half = segments::cwnd_segments(window) / 2;
        self.segments.reduce(window, loss, half);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.segments.halve_at_timeout(window, loss, repeated);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at, loss, tcp, window};
    use super::*;

    #[test]
    fn grows_by_what_is_acknowledged() {
        let (mut reno, mut window) = (State::new(&Config {}, &tcp()), window(4, 8));
        for (bytes, cwnd) in [(2000, 6), (3000, 8), (6000, 8), (1000, 9), (8999, 10)] {
            reno.on_ack(&mut window, &ack(at(0), bytes));
            assert_eq!(window.cwnd, cwnd * 1000, "after {bytes}");
        }
    }

    #[test]
    fn halves_cwnd_whatever_is_in_flight() {
        let (mut reno, mut window) = (State::new(&Config {}, &tcp()), window(21, 99));
        reno.on_loss(&mut window, &loss(at(0), 5));
        assert_eq!((window.cwnd, window.ssthresh), (10_000, 10_000));
        let later = Loss { snd_una: 90_000, snd_max: 99_000, ..loss(at(1), 9) };
        reno.on_timeout(&mut window, &later, false);
        assert_eq!((window.cwnd, window.ssthresh), (1_000, 5_000));
        reno.on_timeout(&mut window, &later, true);
        assert_eq!(window.ssthresh, 5_000);
    }
}
