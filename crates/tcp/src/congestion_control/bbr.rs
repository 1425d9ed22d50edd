//! *What it does.* Sends at the measured bandwidth of the path, with at most twice the
//! bandwidth-delay product in flight. It needs neither a loss nor a queue to find this rate.
//!
//! *Reference.* Cardwell, Cheng, Gunn, Hassas Yeganeh & Jacobson, ACM Queue 14(5), 2016: version 1
//! as in Linux `net/ipv4/tcp_bbr.c`, whose functions are named below.
//!
//! *Equations.* bw = largest delivery rate of the last 10 rounds; min_rtt = smallest RTT of the
//! last 10 s. pacing rate = 0.99·pacing_gain·bw. cwnd = cwnd_gain·bw·min_rtt, plus allowances for
//! segmentation offload (three bursts of 1 ms, with the sum rounded up to an even number) and for
//! ACK aggregation.
//!
//! | mode | pacing gain | cwnd gain | until |
//! |---|---|---|---|
//! | startup | 2885/1000 | 2885/1000 | bw has not grown by a quarter for three rounds |
//! | drain | 1000/2885 | 2885/1000 | in flight ≤ bw·min_rtt |
//! | probe bandwidth | 5/4, 3/4, 1 six times, each for min_rtt | 2 | min_rtt is 10 s old |
//! | probe RTT | 1 | four segments | 200 ms and a round |
//!
//! In the first round after a loss, only as much is sent as is delivered. Then cwnd grows by the
//! data delivered, and the end of recovery restores its value before the loss. If a policer is
//! detected, the rate is the policed one (`bbr/policer.rs`).
//!
//! *Where we differ.* Rates are in bytes per second (Linux: segments per microsecond, in units of
//! 2^-24), times in nanoseconds (Linux: jiffies). The allowance for segmentation offload is that of
//! Linux even without `tso`, when segments are sent one by one. The phase of a cycle is drawn from
//! a stream keyed by the connection's initial sequence numbers. A timeout during fast recovery does
//! not save the window.
//!
//! *Compared* with Linux 6.18 over 10 Mbit/s, 2 × 20 ms and a queue of 1000 packets, by the goodput
//! in Mbit/s over 15 s:
//!
//! | random loss | 0 % | 1 % | 5 % | 10 % | 20 % |
//! |---|---|---|---|---|---|
//! | Linux, three runs | 9.17 | 8.95 | 8.69 | 8.03 | 3.87 |
//! | `linux_bbr`, five runs | 9.25 | 9.16 | 8.73 | 7.81 | 4.51 (1.3 to 5.5) |
//!
//! The largest window in startup is 102 to 106 segments in Linux, and 102 here.

mod aggregation;
mod model;
mod policer;
mod steps;

use super::delivery_rate::DeliveryRate;
use super::segments;
use super::{Ack, CongestionControl, Delivery, Loss, Phase, Sent, Start, Window};
use aggregation::Aggregation;
use model::{Bandwidth, FullPipe, MinRtt, Rounds};
use policer::{ConnectionTotals, Policer};
use retx_units::{Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Unit of the gains: 1/256.
const UNIT: u64 = 256;
/// 2/ln 2: the smallest gain that doubles the rate every round.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Gain that drains the queue of startup within one round.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Gain of the window: twice the bandwidth-delay product tolerates delayed and stretched ACKs.
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
    least_rtt: MinRtt,
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
    /// Segments per burst at this rate.
    burst: u64,
    has_seen_rtt: bool,
    /// True if sending has restarted after the application had no data to send.
    restarted: bool,
    /// End of the minimum RTT probe; `None` until few enough data are in flight.
    probe_end: Option<Time>,
    /// True once the probe has lasted a whole round.
    probe_round: bool,
    /// Window to restore after a recovery or a minimum RTT probe, in segments.
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
            least_rtt: MinRtt::default(),
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
            burst: 0,
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

impl State {
    /// Like `on_sent`, for new data that are sent while other data are in flight.
    #[inline(always)]
    pub fn on_next_data(&mut self, sent: &Sent) {
        self.0.rate.on_next_data(sent);
    }
}

/// Estimates, and the rates and windows derived from them.
impl Bbr {
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or_else(|| self.rounds.bandwidth())
    }

    /// Sets the pacing rate to one window per RTT, or per millisecond if no RTT is known, times the
    /// gain of startup (`bbr_init_pacing_rate_from_rtt`).
    fn init_pacing_rate(&mut self, cwnd: u64, rtt: Option<Duration>) {
        self.has_seen_rtt |= rtt.is_some();
        // An RTT of 0 would make the rate infinite.
        let rtt = rtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        self.change_pacing_rate(
            Bandwidth::from_segments(cwnd, self.smss, rtt).pacing_rate(HIGH_GAIN),
        );
    }

    fn change_pacing_rate(&mut self, rate: u64) {
        self.pacing_rate = rate;
        self.burst = self.burst_at(rate);
    }

    /// Sets the pacing rate. In startup, until the path is full, it never falls
    /// (`bbr_set_pacing_rate`).
    fn set_pacing_rate(&mut self, gain: u64, window: &Window, srtt: Option<Duration>) {
        if !self.has_seen_rtt && srtt.is_some() {
            self.init_pacing_rate(segments::cwnd_segments(window), srtt);
        }
        let rate = self.bandwidth().pacing_rate(gain);
        // In startup the first samples cover only a few segments, and would slow the sender down.
        if rate > self.pacing_rate || self.full.reached && rate < self.pacing_rate {
            self.change_pacing_rate(rate);
        }
    }

    /// Segments per burst at this pacing rate (`bbr_tso_segs_goal`).
    fn burst_at(&self, pacing_rate: u64) -> u64 {
        // A burst is about a millisecond of data, so that bursts stay short on slow paths
        // (`bbr_min_tso_segs`).
        let bytes = (pacing_rate >> 10).min(LARGEST_BURST.0);
        let least = if pacing_rate < SLOW { 1 } else { 2 };
        (bytes / self.smss).max(least).min(LARGEST_BURST.1)
    }

    /// Segments in flight for a bandwidth at the minimum RTT, times a gain (`bbr_bdp`).
    fn in_flight(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        let rtt = self.least_rtt.value;
        rtt.map_or(INITIAL_WINDOW, |rtt| bandwidth.in_flight(rtt, gain, self.smss))
    }

    /// Adds allowances for segmentation offload and for probing to a window, in segments
    /// (`bbr_quantization_budget`).
    fn with_budget(&self, cwnd: u64) -> u64 {
        // The number is even, because a receiver that delays ACKs acknowledges segments in pairs.
        let even = cwnd.saturating_add(3 * self.burst).saturating_add(1) & !1;
        // Two more segments while probing for bandwidth: if the bandwidth-delay product is small,
        // the gain of 5/4 may add less than a segment.
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even.saturating_add(if probes { 2 } else { 0 })
    }

    /// Segments in flight for the largest measured bandwidth, times a gain, with the allowance for
    /// bursts (`bbr_inflight`).
    fn target(&self, gain: u64) -> u64 {
        self.with_budget(self.in_flight(self.rounds.bandwidth(), gain))
    }

    /// Segments that will be in flight when the next one may leave (`bbr_packets_in_net_at_edt`).
    fn flight_at_departure(&self, flight: u64, pacing_delay: Duration) -> u64 {
        // While the sender probes for bandwidth, the burst about to be sent is counted as well.
        let more = if self.pacing_gain > UNIT { self.burst } else { 0 };
        let delivered = self.bandwidth().segments_in(pacing_delay, self.smss);
        (flight + more).saturating_sub(delivered)
    }

    fn totals(&self) -> ConnectionTotals {
        let (at, delivered) = (self.rate.delivered_at, self.rate.delivered);
        ConnectionTotals { at, delivered, lost: self.lost_total }
    }
}

impl CongestionControl for State {
    fn models_path(&self) -> bool {
        true
    }

    /// Sets the initial pacing rate from the handshake's RTT (`bbr_init`).
    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        let bbr = &mut *self.0;
        // The MSS of the peer may be smaller than the configured one.
        bbr.smss = window.smss.into();
        bbr.identity = start.identity;
        bbr.rate.on_connected(start.now, start.rtt);
        bbr.least_rtt = MinRtt::new(start.rtt, start.now);
        bbr.aggregation.restart(start.now);
        bbr.init_pacing_rate(segments::cwnd_segments(window), start.rtt);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.0.rate.on_sent(sent);
    }

    fn on_app_limited(&mut self, flight: u64) {
        self.0.rate.on_app_limited(flight);
    }

    /// Handles the restart after a pause of the application (`bbr_cwnd_event`).
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let bbr = &mut *self.0;
        // Only a pause that the application caused is a restart; other pauses are due to the path.
        if !bbr.rate.is_app_limited() {
            return;
        }
        bbr.restarted = true;
        bbr.aggregation.restart(now);
        match bbr.mode {
            // Restarts at the estimated bandwidth, without the gain of the current phase.
            Mode::ProbeBandwidth => bbr.set_pacing_rate(UNIT, window, None),
            Mode::ProbeRtt => bbr.check_probe_end(window, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Updates the model, and sets pacing rate and window from it (`bbr_main`).
    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        let bbr = &mut *self.0;
        bbr.update(window, delivery);
        bbr.set_pacing_rate(bbr.pacing_gain, window, delivery.srtt);
        bbr.set_cwnd(window, delivery);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Ack) {}

    /// Saves the window, which the recovery will reduce (`bbr_ssthresh`).
    fn on_loss(&mut self, window: &mut Window, _: &Loss) {
        self.0.save_cwnd(window);
    }

    /// Sets the window to one segment, and restarts the measurements that losses may have
    /// invalidated (`bbr_ssthresh`, `tcp_enter_loss`, `bbr_set_state`).
    fn on_timeout(&mut self, window: &mut Window, _: &Loss, repeated: bool) {
        let bbr = &mut *self.0;
        if !repeated && bbr.losses != Phase::Recovery {
            bbr.save_cwnd(window);
        }
        window.cwnd = window.smss.into();
        bbr.losses = Phase::Loss;
        // Losses may have lowered the bandwidth: the detection of a full pipe starts anew.
        bbr.full.reset_full_bandwidth();
        // `bbr_set_state` counts a timeout as the end of a round for the policer detection.
        bbr.rounds.start = true;
        bbr.sample_policer(true, false);
    }

    /// Restarts the measurements after a recovery that proved unnecessary (`bbr_undo_cwnd`).
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
mod tests;
