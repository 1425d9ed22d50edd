//! *What it does.* YeAH as in Linux: Scalable TCP while few segments queue, Reno otherwise, and a
//! window that shrinks before losses once more than 80 segments queue.
//!
//! *Reference.* Linux `net/ipv4/tcp_yeah.c` and `tcp_vegas.c` (read as of 6.x), after Baiocchi,
//! Castellani & Vacirca 2007, “YeAH-TCP: yet another highspeed TCP”.
//!
//! *Equations.* In segments, per round trip with more than two RTT samples, the smallest of which
//! is rtt: Q = ⌊cwnd·(rtt − baseRTT)/rtt⌋. The mode is slow for Q > 80 or rtt − baseRTT >
//! baseRTT/8, else fast.
//!
//! - Slow mode: r, the window that a competing Reno flow would have, is max(cwnd/2, 2) at first and
//!   grows by one per round. For Q > 80 and cwnd > r: ssthresh = cwnd = max(cwnd − min(Q, cwnd/2),
//!   r).
//! - Fast mode: after 51 rounds r starts anew.
//! - Congestion avoidance: +1 per cwnd segments acknowledged in the slow mode, and per min(cwnd,
//!   100) in the fast mode.
//! - Loss and timeout: ssthresh = max(cwnd − d, 2) with d = max(min(Q, cwnd/2), cwnd/8), or d =
//!   cwnd/2 after 16 rounds in a row in the slow mode. r is halved.
//!
//! *Where it differs.* From the paper: r begins at half the window. From Linux: RTTs are in ns,
//! while Linux adds 1 to whole µs.

use super::ack_samples::AckSamples;
use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Sent, Start, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// YeAH as in Linux: Scalable TCP while the queue is short, Reno otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Queue above which the window shrinks, in segments (`TCP_YEAH_ALPHA`).
const QUEUE_MOST: u64 = 80;
/// Queuing delay permitted in the fast mode: 1/8 of baseRTT (`TCP_YEAH_PHY`).
const DELAY_SHARE: u64 = 8;
/// Rounds in the slow mode after which a loss halves the window (`TCP_YEAH_RHO`).
const RENO_AFTER: u64 = 16;
/// Rounds in the fast mode after which a competing Reno flow is no longer assumed
/// (`TCP_YEAH_ZETA`).
const FORGET_AFTER: u64 = 50;
/// Maximum number of segments acknowledged per increase in the fast mode (`TCP_SCALABLE_AI_CNT`).
const PER_MOST: u64 = 100;

/// State of YeAH.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    samples: AckSamples,
    base: Duration,
    /// Smallest RTT of this round, and number of its samples.
    least: Duration,
    sample_count: u64,
    round_end: u64,
    /// True after duplicate ACKs and reductions: the return to Open begins a round.
    is_disturbed: bool,
    /// Segments in the queue at the last decision (`lastQ`).
    queue: u64,
    /// Number of consecutive rounds in the slow mode (`doing_reno_now`).
    slow_rounds: u64,
    /// Rounds in the fast mode since the last loss (`fast_count`).
    fast_rounds: u64,
    /// Window of a competing Reno flow, in segments (`reno_count`).
    reno: u64,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            samples: AckSamples::default(),
            base: Duration::MAX,
            least: Duration::MAX,
            sample_count: 0,
            round_end: 0,
            is_disturbed: false,
            queue: 0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno: 2,
        }
    }

    fn begin_round(&mut self, snd_nxt: u64) {
        self.round_end = snd_nxt;
        (self.least, self.sample_count) = (Duration::MAX, 0);
    }

    fn decide(&mut self, window: &mut Window) {
        let cwnd = segments::cwnd_segments(window);
        let (base, rtt) = (self.base.as_nanos(), self.least.as_nanos().max(1));
        let delay = rtt.saturating_sub(base);
        self.queue = (u128::from(cwnd) * u128::from(delay) / u128::from(rtt)) as u64;
        if self.queue <= QUEUE_MOST && delay <= base / DELAY_SHARE {
            self.fast_rounds += 1;
            if self.fast_rounds > FORGET_AFTER {
                (self.reno, self.fast_rounds) = (2, 0);
            }
            self.slow_rounds = 0;
            return;
        }
        // Early decongestion, but not below the window that a competing Reno flow would have: with
        // less, that flow would take the rest of the bottleneck.
        if self.queue > QUEUE_MOST && cwnd > self.reno {
            let left = (cwnd - self.queue.min(cwnd / 2)).max(self.reno);
            window.cwnd = segments::segments_to_bytes(window, left);
            window.ssthresh = window.cwnd;
        }
        // The window of a Reno flow is estimated as half of this window at first, and one segment
        // more per round.
        self.reno =
            if self.reno <= 2 { half(segments::cwnd_segments(window)) } else { self.reno + 1 };
        self.slow_rounds += 1;
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        let Some(acked) = segments::slow_start(window, ack) else { return };
        let cwnd = segments::cwnd_segments(window);
        let per = if self.slow_rounds == 0 { cwnd.min(PER_MOST) } else { cwnd };
        self.segments.grow_additively(window, per, acked);
    }

    /// Threshold after a loss, in segments (`tcp_yeah_ssthresh`).
    fn ssthresh(&mut self, cwnd: u64) -> u64 {
        // A flow without competitors has to remove only its own queue. Many rounds in a row in the
        // slow mode mean competing Reno flows, to which a small reduction would be unfair.
        let decrease = if self.slow_rounds < RENO_AFTER {
            self.queue.min(half(cwnd)).max(cwnd / 8)
        } else {
            half(cwnd)
        };
        self.fast_rounds = 0;
        self.reno = half(self.reno);
        cwnd.saturating_sub(decrease).max(2)
    }
}

fn half(segments: u64) -> u64 {
    (segments / 2).max(2)
}

impl CongestionControl for State {
    fn on_connected(&mut self, _: &mut Window, start: &Start) {
        self.samples.on_connected(start);
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.flight_size <= u64::from(sent.bytes) {
            // Nothing was in flight (`CA_EVENT_TX_START`): the path may have changed.
            self.base = Duration::MAX;
            self.begin_round(sent.position);
        }
        self.samples.on_sent(sent);
    }

    fn on_segments_acked(&mut self, _: &mut Window, _: &Ack, rtt: Option<Duration>) {
        self.samples.on_segments_acked(rtt);
    }

    fn observe(&mut self, ack: &Ack, smss: u32) {
        if let Some(rtt) = self.samples.evaluate(ack, smss).rtt {
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.sample_count += 1;
        }
        self.is_disturbed |= ack.bytes_acked == 0;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.is_disturbed && !self.samples.is_reduced() && ack.bytes_acked > 0 {
            // As in `tcp_vegas_state`, the return to Open begins a round.
            self.is_disturbed = false;
            self.begin_round(ack.snd_nxt);
        }
        if !ack.cwnd_limited {
            return;
        }
        self.grow(window, ack);
        if ack.snd_una > self.round_end {
            // At least one of three samples is not that of a delayed ACK.
            if self.sample_count > 2 {
                self.decide(window);
            }
            self.begin_round(ack.snd_nxt);
        }
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let ssthresh = self.ssthresh(segments::cwnd_segments(window));
        self.segments.reduce(window, loss, ssthresh);
        self.samples.on_reduction(loss);
        self.is_disturbed = true;
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        let cwnd = segments::cwnd_segments(window);
        if !self.segments.on_timeout(window, loss, repeated) {
            let ssthresh = self.ssthresh(cwnd);
            window.ssthresh = segments::segments_to_bytes(window, ssthresh);
        }
        self.samples.on_reduction(loss);
        self.is_disturbed = true;
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
        self.samples.on_undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Path, SMSS, ack, at, loss, tcp, window};
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn yeah() -> State {
        State::new(&Config {}, &tcp())
    }

    /// State after a decision with this window, a baseRTT of 100 ms and this RTT.
    fn decided(cwnd: u64, rtt_ms: u64, before: impl Fn(&mut State)) -> (State, Window) {
        let (mut yeah, mut window) = (yeah(), window(cwnd, 2));
        before(&mut yeah);
        (yeah.base, yeah.least) = (MS * 100, MS * rtt_ms);
        yeah.decide(&mut window);
        (yeah, window)
    }

    #[test]
    fn the_mode_follows_the_queue_and_the_delay() {
        for (cwnd, rtt, queue, slow) in [
            (100, 112, 10, false),
            (100, 113, 11, true),
            (800, 111, 79, false),
            (900, 110, 81, true),
        ] {
            let (yeah, _) = decided(cwnd, rtt, |_| ());
            assert_eq!((yeah.queue, yeah.slow_rounds > 0), (queue, slow), "{cwnd} at {rtt} ms");
        }
    }

    #[test]
    fn a_long_queue_is_removed_down_to_renos_share() {
        // cwnd·(RTT − least RTT)/RTT = 400·100/200 = 200 segments are in the queue: half of the
        // window.
        let (yeah, window) = decided(400, 200, |_| ());
        assert_eq!((window.cwnd, window.ssthresh, yeah.reno), (200_000, 200_000, 100));
        // 400·25/125 = 80 is not more than 80.
        assert_eq!(decided(400, 125, |_| ()).1.cwnd, 400_000);
        let (yeah, window) = decided(400, 200, |yeah| yeah.reno = 350);
        assert_eq!((window.cwnd, yeah.reno), (350_000, 351));
        assert_eq!(decided(400, 200, |yeah| yeah.reno = 400).1.cwnd, 400_000);
    }

    #[test]
    fn fifty_one_fast_rounds_forget_renos_share() {
        for (rounds, reno, left) in [(49, 30, 50), (50, 2, 0)] {
            let (yeah, _) = decided(50, 100, |yeah| (yeah.fast_rounds, yeah.reno) = (rounds, 30));
            assert_eq!((yeah.reno, yeah.fast_rounds), (reno, left));
        }
    }

    #[test]
    fn grows_as_scalable_tcp_or_as_reno() {
        let grown = |cwnd, slow_rounds, acks| {
            let (mut yeah, mut window) = (yeah(), window(cwnd, 2));
            yeah.slow_rounds = slow_rounds;
            for _ in 0..acks {
                yeah.on_ack(&mut window, &ack(at(0), 1000));
            }
            window.cwnd / 1000
        };
        assert_eq!([99, 100].map(|acks| grown(400, 0, acks)), [400, 401]);
        assert_eq!([399, 400].map(|acks| grown(400, 1, acks)), [400, 401]);
        assert_eq!(grown(10, 0, 10), 11);
        let (mut yeah, mut window) = (yeah(), window(8, 10));
        yeah.on_ack(&mut window, &ack(at(0), 12_000));
        assert_eq!(window.cwnd, 11_000, "two in slow start, and one for the other ten");
    }

    #[test]
    fn a_loss_removes_the_queue() {
        for (queue, slow_rounds, left) in [(0, 0, 140), (30, 15, 130), (100, 15, 80), (30, 16, 80)]
        {
            let (mut yeah, mut window) = (yeah(), window(160, 999));
            (yeah.queue, yeah.slow_rounds) = (queue, slow_rounds);
            (yeah.reno, yeah.fast_rounds) = (9, 7);
            yeah.on_loss(&mut window, &loss(at(0), 160));
            assert_eq!((window.cwnd, window.ssthresh), (left * 1000, left * 1000));
            assert_eq!((yeah.reno, yeah.fast_rounds), (4, 0));
        }
        let (mut yeah, mut small) = (yeah(), window(1, 999));
        (yeah.slow_rounds, small.cwnd) = (16, 1000);
        yeah.on_loss(&mut small, &loss(at(0), 1));
        assert_eq!(small.ssthresh, 2000);
    }

    #[test]
    fn a_timeout_reduces_once_and_begins_a_round() {
        let (mut yeah, mut window) = (yeah(), window(160, 999));
        (yeah.reno, yeah.sample_count) = (9, 5);
        yeah.on_timeout(&mut window, &loss(at(0), 10), false);
        assert_eq!((window.cwnd, window.ssthresh, yeah.reno), (1000, 140_000, 4));
        yeah.on_timeout(&mut window, &loss(at(1), 10), true);
        assert_eq!((window.ssthresh, yeah.reno), (140_000, 4));
        let repaired = Ack { snd_una: 10_001, snd_nxt: 12_001, ..ack(at(2), 1000) };
        yeah.observe(&repaired, SMSS);
        yeah.on_ack(&mut window, &repaired);
        assert_eq!((yeah.round_end, yeah.sample_count), (12_001, 0));
        yeah.on_timeout(&mut window, &loss(at(3), 30), false);
        yeah.on_undo(&mut window);
        assert!(!yeah.samples.is_reduced());
    }

    /// The path holds 200 segments: the window stays between 200 and 280 segments.
    #[test]
    fn keeps_the_queue_short() {
        let mut yeah = yeah();
        let mut path = Path::new(MS, MS * 200, window(200, 1));
        path.rounds(&mut yeah, 60);
        let cwnd = path.window.cwnd / u64::from(SMSS);
        assert!((200..=284).contains(&cwnd), "{cwnd}");
        assert!(yeah.slow_rounds > 0);
    }

    /// `tcp_vegas_state`: after duplicate ACKs, the return to Open begins a round.
    #[test]
    fn new_data_after_a_duplicate_begin_a_round() {
        for (bytes, end, disturbed) in [(0, 0, true), (1000, 9001, false)] {
            let (mut yeah, mut window) = (yeah(), window(10, 2));
            yeah.observe(&ack(at(0), 1000), SMSS);
            assert!(!yeah.is_disturbed);
            yeah.observe(&ack(at(0), 0), SMSS);
            assert!(yeah.is_disturbed);
            yeah.on_ack(&mut window, &Ack { snd_nxt: 9001, ..ack(at(0), bytes) });
            assert_eq!((yeah.round_end, yeah.is_disturbed), (end, disturbed), "{bytes}");
        }
    }

    /// `tcp_yeah_cong_avoid`: only a round with more than two RTT samples leads to a decision.
    #[test]
    fn three_samples_make_a_decision() {
        for (sample_count, fast_rounds) in [(2, 0), (3, 1)] {
            let (mut yeah, mut window) = (yeah(), window(10, 2));
            (yeah.base, yeah.least, yeah.sample_count) = (MS * 100, MS * 100, sample_count);
            yeah.on_ack(&mut window, &Ack { snd_una: 1001, snd_nxt: 9001, ..ack(at(0), 1000) });
            assert_eq!((yeah.fast_rounds, yeah.sample_count), (fast_rounds, 0), "{sample_count}");
        }
    }
}
