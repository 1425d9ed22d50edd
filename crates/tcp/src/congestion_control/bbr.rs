//! *What it does.* Sends at the bandwidth that the path is measured to have, with twice its
//! bandwidth-delay product in flight at most: no loss and no queue is needed to find the rate.
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
//! *Where we differ.* Bytes a second, where Linux counts segments in 2^-24 per microsecond; times in
//! nanoseconds, not in jiffies. The budget for offloads is Linux's, though each segment leaves by
//! itself. The phase of a cycle is drawn from a stream keyed by the connection's initial sequence
//! numbers. A timeout within fast recovery saves no window.

mod aggregation;
mod model;
mod policer;

use super::delivery_rate::{DeliveryRate, Reading};
use super::segments;
use super::{Ack, CongestionControl, Delivery, Loss, Phase, Sent, Start, Window};
use aggregation::{Acked, Aggregation};
use model::{Bandwidth, FullPipe, LeastRtt, Rounds};
use policer::{Outcome, Policer, Progress, Total};
use retx_units::{Duration, Rate, StreamKey, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Gains are in 1/256.
const UNIT: u64 = 256;
/// 2/ln 2: the least that doubles the rate every round.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// What drains in a round what startup has queued.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Twice the bandwidth-delay product bears delayed and stretched ACKs.
const CWND_GAIN: u64 = 2 * UNIT;
/// One phase in eight probes for more, the next gives back what that has queued.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Segments: what keeps a sender going whose peer acknowledges every other.
const LEAST_CWND: u64 = 4;
/// Segments in flight while nothing is known (RFC 6928).
const INITIAL_WINDOW: u64 = 10;
/// How long the queue is let drain to see the least RTT.
const PROBE_RTT: Duration = Duration::from_millis(200);
/// Below this rate, in bytes a second, a burst is one segment.
const SLOW: u64 = 1_200_000 / 8;
/// The largest burst: what a segmentation offload takes, in bytes and in segments.
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

/// A running BBR.
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
    /// Phase of the cycle, and when it began.
    phase: usize,
    phase_start: Time,
    identity: u64,
    cycles: u64,
    /// Bytes a second.
    pacing_rate: u64,
    has_seen_rtt: bool,
    /// Sending has begun anew after a shortage of data.
    restarted: bool,
    /// End of the RTT probe, once little enough is in flight, and whether a round has passed.
    probe_end: Option<Time>,
    probe_round: bool,
    /// cwnd to return to, in segments.
    prior_cwnd: u64,
    losses: Phase,
    conserves: bool,
    lost_total: u64,
    smss: u64,
}

impl State {
    /// A controller with these parameters.
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

/// What is believed, and what follows from it.
impl Bbr {
    fn bandwidth(&self) -> Bandwidth {
        self.policer.bandwidth().unwrap_or_else(|| self.rounds.bandwidth())
    }

    /// `bbr_init_pacing_rate_from_rtt`: a window per RTT, or per nominal millisecond.
    fn init_pacing_rate(&mut self, cwnd: u64, rtt: Option<Duration>) {
        self.has_seen_rtt |= rtt.is_some();
        let rtt = rtt.unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        self.pacing_rate = Bandwidth::of(cwnd, self.smss, rtt).pacing_rate(HIGH_GAIN);
    }

    /// `bbr_set_pacing_rate`: before the pipe is full the rate only rises.
    fn set_pacing_rate(&mut self, gain: u64, cwnd: u64, srtt: Option<Duration>) {
        if !self.has_seen_rtt && srtt.is_some() {
            self.init_pacing_rate(cwnd, srtt);
        }
        let rate = self.bandwidth().pacing_rate(gain);
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_tso_segs_goal`: segments of a burst.
    fn burst(&self) -> u64 {
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
        let even = cwnd.saturating_add(3 * self.burst()).saturating_add(1) & !1;
        let probes = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        even.saturating_add(if probes { 2 } else { 0 })
    }

    /// `bbr_inflight`.
    fn target(&self, gain: u64) -> u64 {
        self.with_budget(self.in_flight(self.rounds.bandwidth(), gain))
    }

    /// `bbr_packets_in_net_at_edt`: what will be in flight when the next segment may leave.
    fn flight_at_departure(&self, flight: u64, pacing_delay: Duration) -> u64 {
        let more = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        let delivered = self.bandwidth().segments_in(pacing_delay, self.smss);
        (flight + more).saturating_sub(delivered)
    }

    fn totals(&self) -> Total {
        let (at, delivered) = (self.rate.delivered_at, self.rate.delivered);
        Total { at, delivered, lost: self.lost_total }
    }
}

/// The steps of an acknowledgment, in Linux's order (`bbr_update_model`).
impl Bbr {
    fn update(&mut self, window: &mut Window, delivery: &Delivery) {
        self.lost_total = delivery.lost_total;
        let reading = self.rate.on_ack(delivery);
        self.update_bandwidth(&reading, delivery);
        self.update_aggregation(&reading, delivery, segments::cwnd(window));
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(delivery) {
            self.advance_phase();
        }
        if self.rounds.start && !reading.is_app_limited {
            self.full.on_round(self.rounds.bandwidth());
        }
        self.check_drain(window, delivery);
        self.update_least_rtt(window, &reading, delivery);
        self.update_gains();
    }

    /// `bbr_update_bw`.
    fn update_bandwidth(&mut self, reading: &Reading, delivery: &Delivery) {
        self.rounds.start = false;
        let Some(sample) = reading.sample else { return };
        if self.rounds.on_sample(sample.prior_delivered, self.rate.delivered) {
            self.conserves = false;
        }
        self.watch_for_policer(delivery.lost > 0, reading.is_app_limited);
        let bandwidth = Bandwidth::of(sample.segments, self.smss, sample.interval);
        // A sample that the application limits counts only if it shows more.
        if !reading.is_app_limited || bandwidth >= self.rounds.bandwidth() {
            self.rounds.add(bandwidth);
        }
    }

    fn watch_for_policer(&mut self, lossy: bool, is_app_limited: bool) {
        let progress = Progress {
            round_start: self.rounds.start,
            lossy,
            is_app_limited,
            cruising: self.mode == Mode::ProbeBandwidth,
            total: self.totals(),
        };
        match self.policer.sample(&progress, self.smss) {
            Outcome::Nothing => {}
            Outcome::Found => self.pacing_gain = UNIT,
            Outcome::Over => self.begin_cycle(),
        }
    }

    fn update_aggregation(&mut self, reading: &Reading, delivery: &Delivery, cwnd: u64) {
        if delivery.segments == 0 || reading.sample.is_none() {
            return;
        }
        self.aggregation.on_ack(&Acked {
            at: self.rate.delivered_at,
            segments: delivery.segments,
            round_start: self.rounds.start,
            bandwidth: self.bandwidth(),
            cwnd,
            smss: self.smss,
        });
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, delivery: &Delivery) -> bool {
        let elapsed = self.rate.delivered_at.since(self.phase_start);
        let is_full = self.least_rtt.value.is_some_and(|rtt| elapsed > rtt);
        if self.pacing_gain == UNIT {
            return is_full;
        }
        let flight = self.flight_at_departure(delivery.flight_before, delivery.pacing_delay);
        if self.pacing_gain > UNIT {
            // Until there is as much in flight as the gain asks for; a small buffer may not hold it.
            return is_full && (delivery.lost > 0 || flight >= self.target(self.pacing_gain));
        }
        // Until the queue is gone.
        is_full || flight <= self.target(UNIT)
    }

    fn advance_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_start = self.rate.delivered_at;
    }

    /// `bbr_reset_probe_bw_mode`: flows that share a path begin anywhere but where the queue is
    /// drained.
    fn begin_cycle(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.cycles += 1;
        let key = StreamKey { seed: self.identity, replication: self.cycles };
        self.phase = CYCLE.len() - 1 - key.stream("bbr.cycle").below(7) as usize;
        self.advance_phase();
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, window: &mut Window, delivery: &Delivery) {
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            window.ssthresh = segments::bytes(window, self.target(UNIT));
        }
        if self.mode == Mode::Drain
            && self.flight_at_departure(delivery.flight, delivery.pacing_delay) <= self.target(UNIT)
        {
            self.begin_cycle();
        }
    }

    /// `bbr_update_min_rtt`.
    fn update_least_rtt(&mut self, window: &mut Window, reading: &Reading, delivery: &Delivery) {
        let now = delivery.now;
        let expired = self.least_rtt.update(now, reading.rtt, reading.may_be_delayed);
        if expired && !self.restarted && self.mode != Mode::ProbeRtt {
            self.save_cwnd(window);
            self.mode = Mode::ProbeRtt;
            self.probe_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            // Samples of this time say nothing about the path.
            self.rate.on_app_limited(delivery.flight);
            if self.probe_end.is_some() {
                self.probe_round |= self.rounds.start;
                if self.probe_round {
                    self.check_probe_end(window, now);
                }
            } else if delivery.flight <= LEAST_CWND {
                self.probe_end = Some(now + PROBE_RTT);
                self.probe_round = false;
                self.rounds.begin_at(self.rate.delivered);
            }
        }
        if reading.delivers {
            self.restarted = false;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    fn check_probe_end(&mut self, window: &mut Window, now: Time) {
        if self.probe_end.is_none_or(|end| now <= end) {
            return;
        }
        self.least_rtt.renew(now);
        window.cwnd = window.cwnd.max(segments::bytes(window, self.prior_cwnd));
        if self.full.reached {
            self.begin_cycle();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.policer.bandwidth().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

/// The window.
impl Bbr {
    /// `bbr_save_cwnd`: before a recovery or an RTT probe cuts it.
    fn save_cwnd(&mut self, window: &Window) {
        let cwnd = segments::cwnd(window);
        let good = self.losses == Phase::Open && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, window: &mut Window, delivery: &Delivery) {
        let mut cwnd = segments::cwnd(window);
        if delivery.segments > 0 {
            cwnd = self.recover_or_restore(cwnd, delivery);
            if !self.conserves {
                cwnd = self.grow(cwnd, delivery.segments).max(LEAST_CWND);
            }
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(LEAST_CWND);
        }
        window.cwnd = segments::bytes(window, cwnd);
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: for the first round of a recovery as much leaves as is
    /// delivered.
    fn recover_or_restore(&mut self, mut cwnd: u64, delivery: &Delivery) -> u64 {
        if delivery.lost > 0 {
            cwnd = cwnd.saturating_sub(delivery.lost).max(1);
        }
        let conserved = delivery.flight + delivery.segments;
        if delivery.phase == Phase::Recovery && self.losses != Phase::Recovery {
            self.conserves = true;
            self.rounds.begin_at(self.rate.delivered);
            cwnd = conserved;
        } else if self.losses != Phase::Open && delivery.phase == Phase::Open {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.losses = delivery.phase;
        if self.conserves { cwnd.max(conserved) } else { cwnd }
    }

    /// Towards the target; down to it only when the pipe has been full.
    fn grow(&self, cwnd: u64, acked: u64) -> u64 {
        let bandwidth = self.bandwidth();
        let mut target = self.in_flight(bandwidth, self.cwnd_gain);
        if self.full.reached {
            target = target.saturating_add(self.aggregation.allowance(bandwidth, self.smss));
        }
        let target = self.with_budget(target);
        if self.full.reached {
            cwnd.saturating_add(acked).min(target)
        } else if cwnd < target || self.rate.delivered < INITIAL_WINDOW {
            cwnd.saturating_add(acked)
        } else {
            cwnd
        }
    }
}

impl CongestionControl for State {
    fn models_path(&self) -> bool {
        true
    }

    /// `bbr_init`.
    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        let bbr = &mut *self.0;
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
        if !bbr.rate.is_app_limited() {
            return;
        }
        bbr.restarted = true;
        bbr.aggregation.restart(now);
        match bbr.mode {
            // No faster than the path is known to be.
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

    /// `bbr_ssthresh`: the window is saved, and cut by what follows.
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
        bbr.full.forget_best();
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
