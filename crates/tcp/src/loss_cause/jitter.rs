//! *What it does.* JTCP's test alone: attributes a loss to congestion if segments left the network
//! more slowly than they entered it, because their queue grew.
//!
//! *Reference.* Wu & Chen, IEEE JSAC 22(4), 2004. **Reconstructed:** only the abstract was at hand;
//! see congestion control `jtcp_like`, which has the same test with JTCP's own reactions.
//!
//! *Equations.* Let S and R be the send and arrival times of the first (0) and the last (n) segment
//! acknowledged since the start of the last whole window, w segments apart. Then Jr = ((R_n − R_0)
//! − (S_n − S_0))/(R_n − R_0). The cause is congestion if Jr > k/w, that is, if more than k
//! segments are newly queued; k = 1.
//!
//! *Where we differ.* With timestamps R is read on the receiver's clock. Its tick of 1 ms causes an
//! error of tick/spacing segments in w·Jr, so k has to be larger above about 10 Mbit/s. Without
//! timestamps R is the arrival time of the ACK, and includes the jitter of the return path. JTCP
//! halves the window at a wireless timeout; here the window is kept.

use super::{Cause, Loss, LossCause};
use crate::congestion_control::send_times::SendTimes;
use crate::congestion_control::{Ack, NotNegative, Sent, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Corruption while hardly any segment was newly queued in the last window (after JTCP, Wu & Chen).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Number of newly queued segments up to which a loss is not due to congestion.
    pub k: NotNegative,
    /// Apply the rule to timeouts, too; otherwise they count as congestion.
    #[serde(rename = "timeouts")]
    pub applies_to_timeouts: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { k: NotNegative::constant(1.0), applies_to_timeouts: true }
    }
}

/// State of the rule: the rates of transmission and of arrival.
#[derive(Debug, Clone)]
pub struct State {
    config: Config,
    times: SendTimes,
    /// Starts of the last whole window and of the current one.
    first: [Option<Passage>; 2],
    last: Option<Passage>,
    /// End of the current window.
    window_end: u64,
}

/// Transmission and arrival of a segment, in nanoseconds of the clocks at both ends.
#[derive(Debug, Clone, Copy)]
struct Passage {
    sent: u64,
    arrived: u64,
    /// Position after the segment.
    end: u64,
}

impl State {
    /// Creates a rule without samples.
    pub fn new(config: &Config, _: &crate::Config) -> Self {
        let times = SendTimes::default();
        Self { config: *config, times, first: [None; 2], last: None, window_end: 0 }
    }

    /// w·Jr: segments newly queued; `None` without two arrivals to compare.
    fn newly_queued(&self, smss: u32) -> Option<f64> {
        let first = self.first[0].or(self.first[1])?;
        let last = self.last?;
        let segments = last.end.saturating_sub(first.end) as f64 / f64::from(smss);
        let arriving = last.arrived.checked_sub(first.arrived).filter(|it| *it > 0)? as f64;
        let sending = last.sent.saturating_sub(first.sent) as f64;
        Some(segments * (arriving - sending) / arriving)
    }
}

impl LossCause for State {
    fn on_sent(&mut self, sent: &Sent) {
        self.times.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack, _: &Window) {
        let Some(rtt) = self.times.on_ack(ack).or(ack.rtt) else { return };
        let now = ack.now.as_nanos();
        let passage = Passage {
            sent: now.saturating_sub(rtt.as_nanos()),
            arrived: ack.receiver_time.map_or(now, |time| time.as_nanos()),
            end: ack.snd_una,
        };
        if ack.snd_una > self.window_end {
            self.window_end = ack.snd_nxt;
            self.first = [self.first[1], Some(passage)];
        }
        self.last = Some(passage);
    }

    fn cause(&mut self, loss: &Loss) -> Cause {
        let judged = self.config.applies_to_timeouts || !loss.by_timeout;
        let queued = self.newly_queued(loss.window.smss);
        let few = queued.is_some_and(|queued| queued <= self.config.k.value());
        Cause::from_is_corruption(judged && few)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WINDOW, acked, found, tcp, timed_out};
    use super::*;
    use Cause::{Congestion, Corruption};
    use retx_units::Duration;

    /// Windows of ten segments sent 1 ms apart, which arrive `spacing` microseconds apart, the
    /// first after 50 ms. ACK number n arrives at 50 ms + n·spacing and has an RTT of 50 ms +
    /// n·(spacing − 1 ms).
    fn after(config: Config, acks: u64, spacing: u64) -> State {
        let mut state = State::new(&config, &tcp());
        for n in 0..acks {
            let rtt = Duration::from_micros(50_000 + n * (spacing - 1_000));
            let now = 50_000 + n * spacing;
            let una = 1 + 1_000 * (n + 1);
            let ack = Ack { snd_una: una, snd_nxt: una + 10_000, ..acked(now, rtt) };
            state.on_ack(&ack, &WINDOW);
        }
        state
    }

    /// ACKs 0 … 10 belong to the first window; the second begins with the twelfth ACK. With a
    /// spacing of 1.1 ms, R is 11 ms, S 10 ms and w·Jr = 10/11; with 1.2 ms, R is 12 ms and w·Jr =
    /// 20/12 > 1.
    #[test]
    fn more_than_k_newly_queued_is_congestion() {
        for (spacing, queued, said) in
            [(1_100, 10.0 / 11.0, Corruption), (1_200, 10.0 / 6.0, Congestion)]
        {
            let mut state = after(Config::default(), 11, spacing);
            let measured = state.newly_queued(1000).unwrap();
            assert!((measured - queued).abs() < 1e-12, "{measured}");
            assert_eq!(state.cause(&found(1)), said);
            assert_eq!(state.cause(&timed_out()), said);
        }
        let mut tolerant =
            after(Config { k: NotNegative::constant(2.0), applies_to_timeouts: false }, 11, 1_200);
        assert_eq!(tolerant.cause(&found(1)), Corruption);
        assert_eq!(tolerant.cause(&timed_out()), Congestion);
    }

    /// ACK 11 begins the second window and ACK 22 the third, at which the first is forgotten.
    #[test]
    fn one_whole_window_and_the_current_one_count() {
        for (acks, segments) in [(22, 21.0), (23, 11.0)] {
            let measured = after(Config::default(), acks, 2_000).newly_queued(1000).unwrap();
            assert!((measured - segments / 2.0).abs() < 1e-12, "{acks}: {measured}");
        }
    }

    /// The receiver's clock excludes the reverse path: ACKs delayed together by a second do not
    /// matter.
    #[test]
    fn the_receivers_clock_comes_first() {
        let mut state = State::new(&Config::default(), &tcp());
        for n in 0..11_u64 {
            let una = 1 + 1_000 * (n + 1);
            let rtt = Duration::from_micros(50_000 + n * n * 10_000);
            let receiver_time = Some(Duration::from_millis(900 + n));
            let ack = Ack { snd_una: una, snd_nxt: una + 10_000, receiver_time, ..acked(0, rtt) };
            let now = retx_units::Time::from_nanos(n * 1_000_000) + rtt;
            state.on_ack(&Ack { now, ..ack }, &WINDOW);
        }
        assert!(state.newly_queued(1000).unwrap().abs() < 1e-12);
        assert_eq!(state.cause(&found(1)), Corruption);
    }

    #[test]
    fn one_arrival_says_nothing() {
        assert_eq!(after(Config::default(), 0, 1_000).cause(&found(1)), Congestion);
        assert_eq!(after(Config::default(), 1, 1_000).cause(&found(1)), Congestion);
        assert_eq!(after(Config::default(), 2, 1_000).cause(&found(1)), Corruption);
    }

    /// Arrivals at one instant have no rate to compare.
    #[test]
    fn arrivals_at_one_instant_say_nothing() {
        let mut state = State::new(&Config::default(), &tcp());
        for (rtt, una) in [(50, 1001), (40, 2001)] {
            let ack = acked(50_000, Duration::from_millis(rtt));
            state.on_ack(&Ack { snd_una: una, snd_nxt: 9001, ..ack }, &WINDOW);
        }
        assert_eq!(state.newly_queued(1000), None);
        assert_eq!(state.cause(&found(1)), Congestion);
    }

    /// The rule times segments itself if the connection gives no RTT.
    #[test]
    fn segments_are_timed() {
        use super::super::testing::unsampled;
        let mut state = State::new(&Config::default(), &tcp());
        for n in 0..2 {
            state.on_sent(&Sent {
                now: retx_units::Time::from_nanos(n * 1_000_000),
                position: 1 + 1000 * n,
                bytes: 1000,
                flight_size: 1000 + 1000 * n,
                retransmission: false,
            });
        }
        for n in 0..2 {
            let ack = unsampled(50_000 + 2_000 * n);
            state.on_ack(&Ack { snd_una: 1001 + 1000 * n, snd_nxt: 9001, ..ack }, &WINDOW);
        }
        // Sent 1 ms apart, arrived 2 ms apart: half of a segment was queued.
        let queued = state.newly_queued(1000).expect("two arrivals");
        assert!((queued - 0.5).abs() < 1e-9, "{queued}");
    }
}
