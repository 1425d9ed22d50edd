//! *What it does.* Sends at the bandwidth that the path is measured to have, with at most twice its
//! bandwidth-delay product in flight: it needs neither a loss nor a queue to find the rate.
//!
//! *Reference.* Cardwell, Cheng, Gunn, Hassas Yeganeh & Jacobson, ACM Queue 14(5), 2016: version 1
//! as in Linux `net/ipv4/tcp_bbr.c`, whose functions are named below.
//!
//! *Equations.* bw = largest delivery rate of 10 rounds; min_rtt = least RTT of 10 s.
//! pacing rate = 0.99·pacing_gain·bw; cwnd = cwnd_gain·bw·min_rtt, and what aggregation and
//! segmentation offload need (three bursts of 1 ms, then the next even number).
//!
//! | mode | pacing gain | cwnd gain | until |
//! |---|---|---|---|
//! | startup | 2885/1000 | 2885/1000 | three rounds without a quarter more bandwidth |
//! | drain | 1000/2885 | 2885/1000 | in flight ≤ bw·min_rtt |
//! | probe bandwidth | 5/4, 3/4, 1 six times, each for min_rtt | 2 | min_rtt is 10 s old |
//! | probe RTT | 1 | four segments | 200 ms and a round |
//!
//! On loss: cwnd follows what is delivered for a round, then grows by that, and returns when
//! recovery ends. A path that is policed is sent at its policed rate (`bbr/policer.rs`).
//!
//! *Where we differ.* Bytes a second, where Linux counts segments in 2^-24 per microsecond; times
//! in nanoseconds, not in jiffies. The budget for offloads is Linux's, although without `tso`
//! segments are sent one by one. The phase of a cycle is drawn from a stream keyed by the
//! connection's initial sequence numbers. A timeout within fast recovery saves no window.
//!
//! *Compared* with Linux 6.18 over 10 Mbit/s, 2 × 20 ms and a queue of 1000 packets, three runs of
//! 15 s each (`linux_bbr`, five runs): goodput at 0, 1, 5, 10 and 20 % random loss 9.17, 8.95,
//! 8.69, 8.03 and 3.87 Mbit/s (9.25, 9.16, 8.73, 7.81 and 4.51, from 1.3 to 5.5); the window tops
//! startup at 102 to 106 segments (102).

mod aggregation;
mod model;
mod policer;
mod steps;

use super::delivery_rate::DeliveryRate;
use super::segments;
use super::{Ack, CongestionControl, Delivery, Loss, Phase, Sent, Start, Window};
use aggregation::Aggregation;
use model::{Bandwidth, FullPipe, LeastRtt, Rounds};
use policer::{Policer, Total};
use retx_units::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Unit of the gains: 1/256.
const UNIT: u64 = 256;
/// 2/ln 2: the smallest gain that doubles the rate every round.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Gain that drains within a round the queue built up in startup.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Twice the bandwidth-delay product tolerates delayed and stretched ACKs.
const CWND_GAIN: u64 = 2 * UNIT;
/// Gains of the phases of a cycle: one in eight probes for more bandwidth, the next drains the
/// resulting queue.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Smallest window, in segments: enough for a peer that acknowledges every other segment.
const LEAST_CWND: u64 = 4;
/// Segments in flight before the first estimate (RFC 6928).
const INITIAL_WINDOW: u64 = 10;
/// Time for which the queue is drained to measure the minimum RTT.
const PROBE_RTT: Duration = Duration::from_millis(200);
/// Rate in bytes per second below which a burst is one segment.
const SLOW: u64 = 1_200_000 / 8;
/// Largest burst, limited by segmentation offload: bytes and segments.
const LARGEST_BURST: (u64, u64) = (65_536 - 1 - 320, 127);

/// BBR version 1, as in Linux.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// State of BBR.
#[derive(Debug, Clone)]
pub struct State(Box<Bbr>);

#[derive(Debug, Clone)]
struct Bbr {
    rate: DeliveryRate,
    rounds: Rounds,
    least_rtt: LeastRtt,
    full: FullPipe,
    policer: Policer,
    aggregation: Aggregation,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Phase of the cycle, and its start.
    phase: usize,
    phase_start: Time,
    identity: u64,
    cycles: u64,
    /// Pacing rate in bytes per second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    /// True if sending has restarted after a shortage of data.
    restarted: bool,
    /// End of the minimum RTT probe, known once the data in flight are few enough, and whether a
    /// round has passed.
    probe_end: Option<Time>,
    probe_round: bool,
    /// Window to return to, in segments.
    prior_cwnd: u64,
    losses: Phase,
    conserves: bool,
    lost_total: u64,
    smss: u64,
}

impl State {
    /// Creates a controller with these parameters.
    pub fn new(_: &Config, tcp: &crate::Config) -> Self {
        let smss = u64::from(tcp.mss);
        let cwnd = tcp.initial_window.bytes(tcp.mss) / smss;
        let mut bbr = Bbr {
            rate: DeliveryRate::new(),
            rounds: Rounds::new(),
            least_rtt: LeastRtt::default(),
            full: FullPipe::default(),
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            phase: 0,
            phase_start: Time::ZERO,
            identity: 0,
            cycles: 0,
            pacing_rate: 0,
            has_seen_rtt: false,
            restarted: false,
            probe_end: None,
            probe_round: false,
            prior_cwnd: 0,
            losses: Phase::Open,
            conserves: false,
            lost_total: 0,
            smss,
        };
        bbr.init_pacing_rate(cwnd, None);
        Self(Box::new(bbr))
    }
}

/// Estimates, and the rates and windows derived from them.
impl Bbr {
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or_else(|| self.rounds.bandwidth())
    }

    /// `bbr_init_pacing_rate_from_rtt`: a window per RTT, or per nominal millisecond.
    fn init_pacing_rate(&mut self, cwnd: u64, rtt: Option<Duration>) {
        self.has_seen_rtt |= rtt.is_some();
        // No RTT is 0: the rate would be infinite.
        let rtt = rtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        self.pacing_rate = Bandwidth::of(cwnd, self.smss, rtt).pacing_rate(HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`: until the pipe is full the rate never falls.
    fn set_pacing_rate(&mut self, gain: u64, cwnd: u64, srtt: Option<Duration>) {
        if !self.has_seen_rtt && srtt.is_some() {
            self.init_pacing_rate(cwnd, srtt);
        }
        let rate = self.bandwidth().pacing_rate(gain);
        // In startup the first samples are of a few segments only, and would slow the sender down.
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_tso_segs_goal`: segments per burst.
    fn burst(&self) -> u64 {
        // About a millisecond of data, so that bursts stay short on slow paths
        // (`bbr_min_tso_segs`).
        let bytes = (self.pacing_rate >> 10).min(LARGEST_BURST.0);
        let least = if self.pacing_rate < SLOW { 1 } else { 2 };
        (bytes / self.smss).max(least).min(LARGEST_BURST.1)
    }

    /// `bbr_bdp`.
    fn in_flight(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        let rtt = self.least_rtt.value;
        rtt.map_or(INITIAL_WINDOW, |rtt| bandwidth.in_flight(rtt, gain, self.smss))
    }

    /// `bbr_quantization_budget`.
    fn with_budget(&self, cwnd: u64) -> u64 {
        // An even number, because a receiver that delays ACKs acknowledges segments in pairs.
        let even = cwnd.saturating_add(3 * self.burst()).saturating_add(1) & !1;
        // Rounding must not keep the probing phase from sending more than before.
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even.saturating_add(if probes { 2 } else { 0 })
    }

    /// `bbr_inflight`.
    fn target(&self, gain: u64) -> u64 {
        self.with_budget(self.in_flight(self.rounds.bandwidth(), gain))
    }

    /// `bbr_packets_in_net_at_edt`: segments in flight when the next one may leave.
    fn flight_at_departure(&self, flight: u64, pacing_delay: Duration) -> u64 {
        // While it probes, the burst about to be sent is counted as well.
        let more = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        let delivered = self.bandwidth().segments_in(pacing_delay, self.smss);
        (flight + more).saturating_sub(delivered)
    }

    fn totals(&self) -> Total {
        let (at, delivered) = (self.rate.delivered_at, self.rate.delivered);
        Total { at, delivered, lost: self.lost_total }
    }
}

impl CongestionControl for State {
    fn models_path(&self) -> bool {
        true
    }

    /// `bbr_init`.
    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        let bbr = &mut *self.0;
        // The handshake may have lowered the MSS.
        bbr.smss = window.smss.into();
        bbr.identity = start.identity;
        bbr.rate.on_connected(start.now, start.rtt);
        bbr.least_rtt = LeastRtt::new(start.rtt, start.now);
        bbr.aggregation.restart(start.now);
        bbr.init_pacing_rate(segments::cwnd(window), start.rtt);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.0.rate.on_sent(sent);
    }

    fn on_app_limited(&mut self, flight: u64) {
        self.0.rate.on_app_limited(flight);
    }

    /// `bbr_cwnd_event`.
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let bbr = &mut *self.0;
        // Only a pause that the application caused is a restart; other pauses belong to the path.
        if !bbr.rate.is_app_limited() {
            return;
        }
        bbr.restarted = true;
        bbr.aggregation.restart(now);
        match bbr.mode {
            // Not faster than the estimated bandwidth.
            Mode::ProbeBandwidth => bbr.set_pacing_rate(UNIT, segments::cwnd(window), None),
            Mode::ProbeRtt => bbr.check_probe_end(window, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_main`.
    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        let bbr = &mut *self.0;
        bbr.update(window, delivery);
        bbr.set_pacing_rate(bbr.pacing_gain, segments::cwnd(window), delivery.srtt);
        bbr.set_cwnd(window, delivery);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack) {}

    /// `bbr_ssthresh`: saves the window, which the recovery will reduce.
    fn on_loss(&mut self, window: &mut Window, _: &Loss) {
        self.0.save_cwnd(window);
    }

    /// `bbr_ssthresh`, `tcp_enter_loss`, `bbr_set_state`.
    fn on_timeout(&mut self, window: &mut Window, _: &Loss, repeated: bool) {
        let bbr = &mut *self.0;
        if !repeated && bbr.losses != Phase::Recovery {
            bbr.save_cwnd(window);
        }
        window.cwnd = window.smss.into();
        bbr.losses = Phase::Loss;
        // Losses may have lowered the bandwidth: the comparison begins anew.
        bbr.full.forget_best();
        // `bbr_set_state` counts a timeout as the end of a round for the policer detection.
        bbr.rounds.start = true;
        bbr.watch_for_policer(true, false);
    }

    /// `bbr_undo_cwnd`.
    fn on_undo(&mut self, _: &mut Window) {
        self.0.full.restart();
        self.0.policer.reset();
    }

    fn pacing_rate(&self, _: &Window, _: Option<Duration>) -> Option<Rate> {
        Some(Rate::from_bit_s(self.0.pacing_rate.saturating_mul(8)))
    }

    fn bandwidth_delay_bytes(&self) -> Option<u64> {
        let bbr = &self.0;
        let rtt = bbr.least_rtt.value?;
        Some(bbr.bandwidth().in_flight(rtt, UNIT, bbr.smss).saturating_mul(bbr.smss))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{at, loss, tcp, window};
    use super::*;

    const SMSS: u64 = 1000;

    /// Path with 1 ms per segment and an RTT of 20 ms, where each segment is acknowledged.
    struct Path {
        state: State,
        window: Window,
        now: u64,
        sent: u64,
        acked: u64,
        flying: std::collections::VecDeque<u64>,
        /// Segments that pacing allows, in units of 2^-20.
        credit: u64,
    }

    impl Path {
        fn new() -> Self {
            let mut state = State::new(&Config {}, &tcp());
            let mut window = window(10, 1 << 40);
            let rtt = Some(Duration::from_millis(20));
            state.on_connected(
                &mut window,
                &Start { now: at(0), rtt, samples_segments: true, identity: 7 },
            );
            let flying = std::collections::VecDeque::new();
            Self { state, window, now: 20, sent: 0, acked: 0, flying, credit: 0 }
        }

        /// Advances by 1 ms: a segment is acknowledged, and the segments allowed by pacing and the
        /// window are sent.
        fn step(&mut self, lost: u64, phase: Phase) {
            let before = self.flying.len() as u64;
            let left = self.flying.front().is_some_and(|left| *left <= self.now);
            self.now += 1;
            if left {
                self.flying.pop_front();
                self.flying.truncate((before - 1 - lost) as usize);
                self.acked += 1;
                let delivery = Delivery {
                    now: at(self.now),
                    snd_una: 1 + self.acked * SMSS,
                    segments: 1,
                    is_selective: false,
                    newest: None,
                    is_short: false,
                    lost,
                    lost_total: lost,
                    flight_before: before,
                    flight: before - 1 - lost,
                    phase,
                    rtt: None,
                    srtt: Some(Duration::from_millis(20)),
                    pacing_delay: Duration::ZERO,
                };
                self.state.on_delivery(&mut self.window, &delivery);
            }
            // Credit for 1 ms at the rate; unused credit is lost, except for one segment.
            self.credit = self.credit.min(1 << 20) + (self.state.0.pacing_rate << 20) / 1_000_000;
            while (self.flying.len() as u64) < self.window.cwnd / SMSS && self.credit >= 1 << 20 {
                self.credit -= 1 << 20;
                let served = self.flying.back().map_or(0, |last| last + 1).max(self.now + 19);
                self.flying.push_back(served);
                self.sent += 1;
                self.state.on_sent(&Sent {
                    now: at(self.now),
                    position: 1 + (self.sent - 1) * SMSS,
                    bytes: 1000,
                    flight_size: self.flying.len() as u64 * SMSS,
                    retransmission: false,
                });
            }
        }

        fn run(&mut self, steps: u64) {
            (0..steps).for_each(|_| self.step(0, Phase::Open));
        }

        fn cwnd(&self) -> u64 {
            self.window.cwnd / SMSS
        }
    }

    /// With 20 ms at a segment per ms the bandwidth is found, and the window is twice the path's
    /// capacity plus six for the budget and two in the probing phase; aggregation adds one segment.
    #[test]
    fn the_model_of_a_known_path() {
        let mut path = Path::new();
        path.run(2_000);
        let bbr = &path.state.0;
        assert_eq!(bbr.mode, Mode::ProbeBandwidth);
        assert_eq!(bbr.bandwidth(), Bandwidth(1_000_000));
        assert_eq!(bbr.least_rtt.value, Some(Duration::from_millis(20)));
        assert!((46..=50).contains(&path.cwnd()), "{}", path.cwnd());
        assert_eq!(path.state.bandwidth_delay_bytes(), Some(20_000));
    }

    /// In the first round of a recovery as much is sent as is delivered; at its end the window is
    /// restored.
    #[test]
    fn a_recovery_conserves_packets_and_gives_the_window_back() {
        let mut path = Path::new();
        path.run(2_000);
        let (before, flight) = (path.cwnd(), path.flying.len() as u64);
        path.state.on_loss(&mut path.window, &loss(at(path.now), flight));
        path.step(3, Phase::Recovery);
        assert_eq!(path.cwnd(), flight - 3);
        for _ in 0..15 {
            path.step(0, Phase::Recovery);
            assert_eq!(path.cwnd(), flight - 3);
        }
        path.step(0, Phase::Open);
        assert!(path.cwnd() >= before - 2, "{}", path.cwnd());
    }

    /// A timeout leaves one segment; the window grows by the data delivered, and is restored when
    /// all losses are repaired.
    #[test]
    fn a_timeout_leaves_one_segment() {
        let mut path = Path::new();
        path.run(2_000);
        let before = path.cwnd();
        path.state.on_timeout(&mut path.window, &loss(at(path.now), before), false);
        assert_eq!(path.cwnd(), 1);
        path.step(0, Phase::Loss);
        assert_eq!(path.cwnd(), 4, "what keeps it going");
        path.step(0, Phase::Loss);
        assert_eq!(path.cwnd(), 5);
        path.step(0, Phase::Open);
        assert!(path.cwnd() >= before - 2, "{}", path.cwnd());
    }

    /// If the RTT probe begins while the window is being restored, it returns to the larger window
    /// saved before.
    #[test]
    fn an_rtt_probe_forgets_no_better_window() {
        let mut path = Path::new();
        path.run(9_900);
        let before = path.cwnd();
        path.state.0.prior_cwnd = before;
        while path.state.0.mode != Mode::ProbeRtt {
            path.window.cwnd = 8 * SMSS;
            path.step(0, Phase::Open);
        }
        assert!((9_900..10_100).contains(&path.now), "after 10 s: {}", path.now);
        assert_eq!(path.state.0.prior_cwnd, before);
    }

    /// Flows that differ only in their sequence numbers begin their cycles in different phases.
    #[test]
    fn cycles_begin_anywhere_but_at_the_drain() {
        let begins: Vec<usize> = (0..100)
            .map(|identity| {
                let mut state = State::new(&Config {}, &tcp());
                state.0.identity = identity;
                state.0.begin_cycle();
                state.0.phase
            })
            .collect();
        assert!(
            (0..CYCLE.len()).all(|phase| begins.contains(&phase) != (phase == 1)),
            "{begins:?}"
        );
    }
}
