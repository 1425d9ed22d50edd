//! Bandwidth-delay product of a flow's path: the bytes in flight that keep its bottleneck busy.
//!
//! *Definition.* The rate of the slowest link on the way of the data, times the round trip of a
//! full segment and its acknowledgment through empty queues, in bytes of payload. A receiver that
//! acknowledges every second segment adds one segment, as the first waits for the second
//! (w = RTT·rate/segment + n − 1 with an acknowledgment for n segments). The product changes with
//! the links. A path over a cell of stations, or over a link whose rate follows a trace, has none.

use crate::plan::{FlowPlan, Hop, PipePlan, Plan, StagePlan};
use retx_link::channel::Model;
use retx_units::{Duration, Rate, Time};

/// TCP and IP headers without options, bytes: not included in the MSS.
const HEADERS: u32 = 40;
/// Acknowledgment with timestamps, bytes.
const ACK: u32 = 52;

/// Product of a path, and the flow's share of the bytes in flight there.
#[derive(Debug, Clone)]
pub struct PathProduct {
    /// Index of the bottleneck pipe.
    pub pipe: u32,
    /// True if other flows share the bottleneck.
    pub is_shared: bool,
    /// Bytes in flight that keep it busy now: 95 % of the product.
    enough: u64,
    /// End of its validity.
    until: Time,
    /// Bytes of this flow last added to the bottleneck's sum.
    pub counted: u64,
    /// Product in bytes as a function of time, the first value at 0.
    steps: Box<[(Time, u64)]>,
}

impl PathProduct {
    /// Product of this flow's path, if defined.
    pub fn of(plan: &Plan, flow: &FlowPlan) -> Option<Box<Self>> {
        let [forward, reverse] = flow.routes.map(|route| pipes(plan, route));
        let (forward, reverse) = (forward?, reverse?);
        let segment = plan.tcps[flow.tcp as usize].config.mss + HEADERS;
        let delayed = plan.tcps[flow.receiver_tcp as usize].config.delayed_ack.segments - 1;
        let waiting = u64::from(delayed) * u64::from(segment - HEADERS);
        let first = forward
            .iter()
            .filter_map(|pipe| Some((plan.pipes[*pipe as usize].config.rate?, *pipe)))
            .min()?;
        let all = forward.iter().chain(&reverse);
        let changes = all.flat_map(|pipe| &plan.pipes[*pipe as usize].config.changes);
        let mut times: Vec<Time> = changes.map(|change| change.at).collect();
        times.push(Time::ZERO);
        times.sort_unstable();
        times.dedup();
        let product = |at: Time| {
            let mut base = Duration::ZERO;
            let mut slowest = (u64::MAX, 0);
            for (way, bytes) in [(&forward, segment), (&reverse, ACK)] {
                for pipe in way {
                    let (rate, delay) = at_time(&plan.pipes[*pipe as usize], at);
                    let overhead = plan.pipes[*pipe as usize].config.overhead;
                    base += delay;
                    if let Some(rate) = rate {
                        base += rate.duration_of(bytes + overhead);
                        if bytes == segment {
                            slowest = slowest.min((rate.as_bit_s(), overhead));
                        }
                    }
                }
            }
            // Bytes in flight are counted without headers and without what the link adds.
            let (rate, overhead) = slowest;
            let frame = u128::from(segment + overhead);
            let share = u128::from(segment - HEADERS) * 1_000_000_000 / frame;
            let bytes = u128::from(rate) * u128::from(base.as_nanos()) / 8_000_000_000;
            let bytes = bytes.saturating_mul(share) / 1_000_000_000;
            (at, u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(waiting))
        };
        let steps = times.into_iter().map(product).collect();
        let (enough, until, is_shared) = (0, Time::ZERO, false);
        Some(Box::new(Self { pipe: first.1, is_shared, enough, until, counted: 0, steps }))
    }

    /// True if `flight` bytes keep the bottleneck busy for at least 95 % of the time.
    #[inline(always)]
    pub fn is_filled(&mut self, now: Time, flight: u64) -> bool {
        if now >= self.until {
            self.step(now);
        }
        flight >= self.enough
    }

    #[cold]
    fn step(&mut self, now: Time) {
        let after = self.steps.partition_point(|(from, _)| *from <= now);
        self.until = self.steps.get(after).map_or(Time::NEVER, |(from, _)| *from);
        let product = self.steps[after.saturating_sub(1)].1;
        // 95 % to the byte: a window is a number of segments, often within bytes of it.
        self.enough = product / 20 * 19 + product % 20 * 19 / 20;
    }
}

/// Determines which flows share a bottleneck.
pub fn find_shared<'a>(paths: impl Iterator<Item = &'a mut PathProduct>, pipes: usize) {
    let mut over: Vec<Option<&mut PathProduct>> =
        std::iter::repeat_with(|| None).take(pipes).collect();
    for path in paths {
        let place = path.pipe as usize;
        if let Some(other) = &mut over[place] {
            other.is_shared = true;
            path.is_shared = true;
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

fn at_time(pipe: &PipePlan, at: Time) -> (Option<Rate>, Duration) {
    let config = &pipe.config;
    let passed = config.changes.iter().take_while(|change| change.at <= at);
    passed.fold((config.rate, config.delay), |(rate, delay), change| {
        (change.rate.or(rate), change.delay.unwrap_or(delay))
    })
}
