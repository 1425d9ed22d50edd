//! Use of the congestion window, which may grow only if it limits the sender.
//!
//! Linux 6.18, `net/ipv4/tcp_output.c` (`tcp_cwnd_validate`) and `include/net/tcp.h`
//! (`tcp_is_cwnd_limited`); RFC 7661 §4.1 and RFC 9438 §5.8 require this check. The largest use
//! within a round trip counts; in slow start it is enough that half of the window is in use.

use crate::congestion_control::Window;
use crate::lazy::LazyDefault;

/// Use of the window in the last round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// True if the window was used up.
    limited: bool,
    /// Maximum of the data in flight in the round trip, bytes.
    most: u64,
    /// Position whose acknowledgment ends the round trip.
    end: u64,
}

/// State of a sender just after a transmission, in positions and bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlightState {
    pub snd_una: u64,
    pub snd_max: u64,
    /// Data estimated to be in the network.
    pub pipe: u64,
}

impl LazyDefault for Usage {
    const DEFAULT: &'static Self = &Self { limited: false, most: 0, end: 0 };
}

impl Usage {
    /// Records the use of the window; `limited` is true if the window is too small for another
    /// segment.
    pub fn record_use(&mut self, now: &FlightState, limited: bool) {
        // `packets_out`, unlike the pipe, includes segments that are lost or selectively
        // acknowledged.
        let flight = now.snd_max - now.snd_una;
        if now.snd_una >= self.end || limited || (!self.limited && flight > self.most) {
            *self = Self { limited, most: flight, end: now.snd_max };
        }
    }

    /// True if the window limits the sender.
    pub fn is_limited(&self, window: &Window) -> bool {
        self.limited || (window.in_slow_start() && window.cwnd < 2 * self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u64, ssthresh: u64) -> Window {
        Window { cwnd: 1_000 * cwnd, ssthresh: 1_000 * ssthresh, smss: 1_000 }
    }

    fn sent(usage: &mut Usage, una: u64, max: u64, window: &Window) {
        let pipe = 1_000 * (max - una);
        let flight_state = FlightState { snd_una: 1_000 * una, snd_max: 1_000 * max, pipe };
        usage.record_use(&flight_state, pipe + 1_000 > window.cwnd);
    }

    /// In slow start, half of the window is enough: six segments in flight for a window of up to
    /// eleven.
    #[test]
    fn in_slow_start_half_is_enough() {
        let mut usage = Usage::default();
        for max in 1..=6 {
            sent(&mut usage, 0, max, &window(10, 99));
        }
        assert!(usage.is_limited(&window(11, 99)) && !usage.is_limited(&window(12, 99)));
        assert!(!usage.is_limited(&window(10, 10)), "not in congestion avoidance");
    }

    #[test]
    fn a_used_up_window_limits_for_a_round_trip() {
        let mut usage = Usage::default();
        let window = window(4, 2);
        for max in 1..=4 {
            sent(&mut usage, 0, max, &window);
        }
        sent(&mut usage, 3, 5, &window);
        assert!(usage.is_limited(&window), "until 4 is acknowledged");
        sent(&mut usage, 4, 6, &window);
        assert!(!usage.is_limited(&window));
    }
}
