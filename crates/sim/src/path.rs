//! Bandwidth-delay product of a flow's path: the bytes in flight that keep its bottleneck busy.
//!
//! *Definition.* The product is the rate of the slowest link in the direction of the data, times
//! the round-trip time of a full-sized segment and its acknowledgment with empty queues, in bytes
//! of payload. If the receiver acknowledges every second segment, one segment is added, because the
//! first segment waits for the second (with one acknowledgment for n segments, the window in
//! segments is w = RTT·rate/segment + n − 1). The product changes when rates or delays of links
//! change. It is not defined for a path over an 802.11 cell or a link whose rate follows a trace.
//!
//! *Acknowledgments.* If a link of the reverse path is too slow for the acknowledgments of data at
//! that rate, the rate of the data that this link can acknowledge is used instead. If
//! acknowledgments share a link with data of other flows, their waiting time there is added to the
//! round-trip time, because data that wait for their acknowledgment are still in flight, but no
//! longer keep the bottleneck busy.

use crate::plan::{FlowPlan, Hop, PipePlan, Plan, StagePlan};
use ack_waits::AckWaits;
use prefetch_index::prefetch_index;
use retx_link::channel::Model;
use retx_units::{Duration, Rate, Time};

mod ack_waits;

/// Length of TCP and IP headers without options, bytes.
const HEADERS: u32 = 40;
/// Length of the IP packet of an acknowledgment with timestamps, bytes.
const ACK: u32 = 52;

/// Bandwidth-delay product of a flow's path, to be compared with the bytes in flight. What each
/// acknowledgment needs is in the first cache line.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct BandwidthDelayProduct {
    /// Waiting times of acknowledgments; `None` if their path carries no data of other flows.
    acks: Option<AckWaits>,
    /// Bytes in flight that keep the bottleneck busy now: 95 % of the product.
    busy_bytes: u64,
    /// Time at which `busy_bytes` and `present` become invalid, because the product changes.
    until: Time,
    /// Product before `until`.
    present: Product,
    /// Index of the bottleneck pipe.
    pub pipe: u32,
    /// Contribution of this flow to the bytes in flight over the bottleneck, if other flows use it,
    /// too.
    pub contribution: FlightContribution,
    /// Bandwidth-delay product as a step function of time; the first step is at time 0.
    steps: Box<[Step]>,
}

const _: () = assert!(std::mem::offset_of!(BandwidthDelayProduct, pipe) <= 64);

/// Contribution of a flow to the bytes in flight over its bottleneck, if other flows use it, too.
#[derive(Debug, Clone, Copy)]
pub struct FlightContribution {
    /// Index of the bottleneck pipe; `u32::MAX` if no other flow uses it.
    pipe: u32,
    /// Bytes in flight of this flow, as included in the sum for its bottleneck.
    counted: u64,
}

impl FlightContribution {
    /// Value for a flow whose bottleneck no other flow uses.
    pub const NONE: Self = Self { pipe: u32::MAX, counted: 0 };

    /// Updates the sum of the bytes in flight over the bottleneck, of which this flow has `flight`.
    /// Returns the sum; `None` if no other flow uses the bottleneck.
    #[inline(always)]
    pub fn update_in_flight(&mut self, flight: u64, in_flight: &mut [u64]) -> Option<u64> {
        let all = in_flight.get_mut(self.pipe as usize)?;
        *all = *all + flight - std::mem::replace(&mut self.counted, flight);
        Some(*all)
    }
}

/// Bandwidth-delay product of a path from the time `from` on.
#[derive(Debug, Clone, Copy)]
struct Step {
    from: Time,
    product: Product,
}

/// Bandwidth-delay product of a path, and its factors.
#[derive(Debug, Clone, Copy, Default)]
struct Product {
    /// Bandwidth-delay product, bytes of payload.
    bytes: u64,
    /// Rate of the bottleneck, bits of payload per second.
    rate: u64,
    /// One-way time of an acknowledgment with empty queues.
    back: Duration,
}

impl BandwidthDelayProduct {
    /// Bandwidth-delay product of this flow's path, if defined. `loaded` is true for each pipe that
    /// carries data.
    pub fn for_flow(plan: &Plan, flow: &FlowPlan, loaded: &[bool]) -> Option<Box<Self>> {
        let ways = flow.routes.map(|route| pipes(plan, route));
        let [forward, reverse] = &ways;
        let (forward, reverse) = (forward.as_ref()?, reverse.as_ref()?);
        let (_, pipe) = forward
            .iter()
            .filter_map(|pipe| Some((plan.pipes[*pipe as usize].config.rate?, *pipe)))
            .min()?;
        let all = forward.iter().chain(reverse);
        let changes = all.flat_map(|pipe| &plan.pipes[*pipe as usize].config.changes);
        let mut times: Vec<Time> = changes.map(|change| change.at).collect();
        times.push(Time::ZERO);
        times.sort_unstable();
        times.dedup();
        let sizes = Sizes {
            payload: plan.tcps[flow.tcp as usize].config.mss,
            segments: plan.tcps[flow.receiver_tcp as usize].config.delayed_ack.segments,
        };
        let steps: Box<[_]> =
            times.into_iter().map(|at| sizes.step(plan, (forward, reverse), at)).collect();
        let is_bound_by_acks = steps.iter().any(|(_, by_acks)| *by_acks);
        let waits = !is_bound_by_acks && reverse.iter().any(|pipe| loaded[*pipe as usize]);
        Some(Box::new(Self {
            acks: waits.then(AckWaits::default),
            busy_bytes: 0,
            until: Time::ZERO,
            present: Product::default(),
            pipe,
            contribution: FlightContribution::NONE,
            steps: steps.into_iter().map(|(step, _)| step).collect(),
        }))
    }

    /// Begins a connection; positions start at 0 again.
    pub fn begin_connection(&mut self) {
        if let Some(acks) = &mut self.acks {
            *acks = AckWaits::default();
        }
    }

    /// Ends a connection.
    pub fn end_connection(&mut self) {
        self.until = Time::ZERO;
    }

    /// Prefetches what an acknowledgment needs.
    pub fn prefetch(&self) {
        prefetch_index(std::slice::from_ref(self), 0);
    }

    /// Prefetches the place of the next acknowledgment (`sends`), or of the first.
    pub fn prefetch_acks(&self, sends: bool) {
        self.acks.iter().for_each(|acks| acks.prefetch(sends));
    }

    /// Records that the receiver sends an acknowledgment of everything before `acked`.
    #[inline(always)]
    pub fn note_ack_sent(&mut self, now: Time, acked: u64) {
        if let Some(acks) = &mut self.acks {
            acks.on_ack_sent(now, acked);
        }
    }

    /// Records that an acknowledgment of everything before `snd_una` has reached the sender.
    #[inline(always)]
    pub fn ack_arrived(&mut self, now: Time, snd_una: impl FnOnce() -> u64) {
        if self.acks.is_some() {
            self.note_wait(now, snd_una());
        }
    }

    #[inline(never)]
    fn note_wait(&mut self, now: Time, snd_una: u64) {
        let current = if now < self.until { self.present } else { self.product_at(now) };
        let Product { bytes, rate, back } = current;
        if let Some(acks) = &mut self.acks
            && let Some(wait) = acks.on_ack_arrived(now, snd_una, back)
        {
            let meanwhile = u128::from(rate) * u128::from(wait.as_nanos()) / 8_000_000_000;
            let meanwhile = u64::try_from(meanwhile).unwrap_or(u64::MAX);
            self.busy_bytes = busy_part(bytes.saturating_add(meanwhile));
        }
    }

    /// True if `flight` bytes keep the bottleneck busy for at least 95 % of the time.
    #[inline(always)]
    pub fn is_filled(&mut self, now: Time, flight: u64) -> bool {
        if now >= self.until {
            self.step(now);
        }
        flight >= self.busy_bytes
    }

    /// Bytes in flight that keep the bottleneck busy for at least 95 % of the time; `None` if this
    /// number varies with time, or is not known yet.
    pub fn constant_busy_bytes(&self) -> Option<u64> {
        (self.acks.is_none() && self.until == Time::NEVER).then_some(self.busy_bytes)
    }

    /// True if acknowledgments wait in queues behind data of other flows.
    pub const fn is_delaying_acks(&self) -> bool {
        self.acks.is_some()
    }

    #[cold]
    fn step(&mut self, now: Time) {
        let after = self.steps.partition_point(|step| step.from <= now);
        self.until = self.steps.get(after).map_or(Time::NEVER, |step| step.from);
        self.present = self.product_at(now);
        self.busy_bytes = busy_part(self.present.bytes);
    }

    fn product_at(&self, now: Time) -> Product {
        let after = self.steps.partition_point(|step| step.from <= now);
        self.steps[after.saturating_sub(1)].product
    }
}

/// 95 % of a bandwidth-delay product. Exact to the byte, because a window of whole segments often
/// differs from the result by only a few bytes.
const fn busy_part(product: u64) -> u64 {
    product / 20 * 19 + product % 20 * 19 / 20
}

/// Sizes on which a bandwidth-delay product depends.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Payload of a full-sized segment, bytes.
    payload: u32,
    /// Number of segments per acknowledgment.
    segments: u32,
}

impl Sizes {
    /// Bandwidth-delay product of a path at the time `at`, and true if the path of the
    /// acknowledgments determines its rate.
    fn step(self, plan: &Plan, (forward, reverse): (&[u32], &[u32]), at: Time) -> (Step, bool) {
        let segment = self.payload + HEADERS;
        let payload = u64::from(self.payload);
        // Bytes in flight are counted without headers and link overhead, so rates are those of
        // payload.
        let (mut slowest, mut by_acks) = (u64::MAX, u64::MAX);
        let [mut there, mut back] = [Duration::ZERO; 2];
        for pipe in forward {
            let (rate, delay, overhead) = at_time(&plan.pipes[*pipe as usize], at);
            there = sum(there, delay);
            if let Some(rate) = rate {
                there = sum(there, rate.transmission_time(segment + overhead));
                slowest = slowest.min(part(rate, payload, segment + overhead));
            }
        }
        for pipe in reverse {
            let (rate, delay, overhead) = at_time(&plan.pipes[*pipe as usize], at);
            back = sum(back, delay);
            if let Some(rate) = rate {
                back = sum(back, rate.transmission_time(ACK + overhead));
                let acknowledged = payload * u64::from(self.segments);
                by_acks = by_acks.min(part(rate, acknowledged, ACK + overhead));
            }
        }
        let rate = slowest.min(by_acks);
        let base = there + back;
        let bytes = u128::from(rate) * u128::from(base.as_nanos()) / 8_000_000_000;
        let waiting = u64::from(self.segments - 1) * payload;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(waiting);
        (Step { from: at, product: Product { bytes, rate, back } }, by_acks < slowest)
    }
}

/// Sum of two durations, saturating at [`Duration::MAX`]: the delays of several links, each of a
/// hundred years, would overflow.
fn sum(one: Duration, other: Duration) -> Duration {
    Duration::from_nanos(one.as_nanos().saturating_add(other.as_nanos())).min(Duration::MAX)
}

/// Rate of payload in bit/s if each frame of `frame` bytes carries `payload` bytes.
fn part(rate: Rate, payload: u64, frame: u32) -> u64 {
    let rate = u128::from(rate.as_bit_s()) * u128::from(payload) / u128::from(frame);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// True for each pipe that carries data of any flow.
pub fn find_data_pipes(plan: &Plan) -> Vec<bool> {
    let mut loaded = vec![false; plan.pipes.len()];
    let flows = plan.flows.iter().map(|flow| flow.routes[0]);
    for route in flows.chain(plan.datagrams.iter().map(|flow| flow.route)) {
        for hop in &plan.routes[route as usize] {
            if let Hop::Pipe(pipe) = *hop {
                loaded[pipe as usize] = true;
            }
        }
    }
    loaded
}

/// Marks the paths that share their bottleneck with another flow.
pub fn mark_shared_bottlenecks<'a>(
    paths: impl Iterator<Item = &'a mut BandwidthDelayProduct>,
    pipes: usize,
) {
    let mut over: Vec<Option<&mut BandwidthDelayProduct>> =
        std::iter::repeat_with(|| None).take(pipes).collect();
    for path in paths {
        let place = path.pipe as usize;
        if let Some(other) = &mut over[place] {
            other.contribution.pipe = other.pipe;
            path.contribution.pipe = path.pipe;
        }
        over[place] = Some(path);
    }
}

/// Pipes of a route; `None` if it includes a cell or a pipe of unknown rate.
fn pipes(plan: &Plan, route: u32) -> Option<Vec<u32>> {
    let mut pipes = Vec::new();
    for hop in &plan.routes[route as usize] {
        match *hop {
            Hop::Pipe(pipe) => pipes.push(pipe),
            Hop::Stage(port) => {
                if matches!(plan.stages[port.stage as usize], StagePlan::Wlan(_)) {
                    return None;
                }
            }
        }
    }
    let is_known = |pipe: &u32| {
        let config = &plan.pipes[*pipe as usize].config;
        config.rate.is_some() || !config.channel.iter().any(|model| Model::rates(model).is_some())
    };
    pipes.iter().all(is_known).then_some(pipes)
}

/// Rate, delay and overhead of a pipe at the time `at`.
fn at_time(pipe: &PipePlan, at: Time) -> (Option<Rate>, Duration, u32) {
    let config = &pipe.config;
    let passed = config.changes.iter().take_while(|change| change.at <= at);
    let (rate, delay) = passed.fold((config.rate, config.delay), |(rate, delay), change| {
        (change.rate.or(rate), change.delay.unwrap_or(delay))
    });
    (rate, delay, config.overhead)
}
