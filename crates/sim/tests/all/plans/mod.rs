//! Plans that tests and benchmarks share.
#![allow(dead_code)]

use retx_link::{channel, pipe, queue, relay, wlan};
use retx_sim::plan::{
    AgentPlan, AppPlan, CopyOnWrite, FlowPlan, Hop, PipePlan, Plan, Port, ProxyPlan, RelayPlan,
    Sampling, Side, StagePlan, TcpPlan, WlanPlan,
};
use retx_tcp::Size;
use retx_units::{Duration, Probability, Rate, Time};
use std::sync::Arc;

/// A link with equal rate, delay and queue in both directions; only the channels may differ.
pub struct LinkOf {
    pub name: &'static str,
    pub ends: [&'static str; 2],
    pub mbit_s: Option<u64>,
    pub delay: Duration,
    pub packets: Option<u64>,
    pub forward: Vec<channel::Config>,
    pub reverse: Vec<channel::Config>,
}

impl LinkOf {
    pub fn new(name: &'static str, ends: [&'static str; 2]) -> Self {
        Self {
            name,
            ends,
            mbit_s: Some(10),
            delay: Duration::ZERO,
            packets: None,
            forward: vec![],
            reverse: vec![],
        }
    }

    pub fn pipes(&self) -> [PipePlan; 2] {
        let [left, right] = self.ends.map(Arc::<str>::from);
        let link = Arc::<str>::from(self.name);
        let pipe = |direction, ends, channel: &[channel::Config]| PipePlan {
            link: link.clone(),
            direction,
            ends,
            config: CopyOnWrite::from(pipe::Config {
                rate: self.mbit_s.map(|mbit| Rate::from_bit_s(mbit * 1_000_000)),
                delay: self.delay,
                overhead: 38,
                queue: queue::Config::droptail(queue::droptail::Config {
                    packets: self.packets,
                    bytes: None,
                }),
                channel: channel.to_vec(),
                changes: vec![],
                repair: None,
            }),
        };
        [
            pipe("forward", [left.clone(), right.clone()], &self.forward),
            pipe("reverse", [right, left], &self.reverse),
        ]
    }
}

pub fn bernoulli(p: f64) -> channel::Config {
    channel::Config::bernoulli(channel::bernoulli::Config {
        p: Probability::new(p).expect("a probability"),
    })
}

pub fn tcp(preset: &str) -> TcpPlan {
    let config = (retx_tcp::presets::find(preset).expect("a preset's name").config)();
    TcpPlan { name: preset.to_owned(), config }
}

/// One flow over `links` in a row, from the first link's left end to the last link's right end.
pub fn one_flow(links: &[LinkOf], tcp: TcpPlan, work: AppPlan) -> Plan {
    let count = links.len() as u32;
    Plan {
        seed: 1,
        end: Time::ZERO + Duration::from_secs(2700),
        runs_to_end: false,
        warmup: Time::ZERO,
        sampling: Sampling::Off,
        samples_max: u64::MAX,
        pipes: links.iter().flat_map(LinkOf::pipes).collect(),
        stages: Vec::new(),
        routes: vec![
            (0..count).map(|link| Hop::Pipe(2 * link)).collect(),
            (0..count).rev().map(|link| Hop::Pipe(2 * link + 1)).collect(),
        ],
        tcps: vec![tcp],
        relays: vec![],
        proxies: vec![],
        flows: vec![FlowPlan {
            name: "download".to_owned(),
            tcp: 0,
            receiver_tcp: 0,
            app: work.into(),
            start: Time::ZERO,
            initiator: Side::Receiver,
            routes: [0, 1],
            nodes: [0, count],
            read_rate: None,
            write_size: 256 << 10,
        }],
        datagrams: vec![],
    }
}

/// The example of a download over a noisy channel: 10 MB over two links of 10 Mbit/s, 20 ms each
/// way. The first link loses packets of the data's direction with probability `p`.
pub fn high_ber(p: f64) -> Plan {
    let mut access = LinkOf::new("access", ["server", "cloud"]);
    access.delay = Duration::from_millis(20);
    access.forward = vec![bernoulli(p)];
    let last = LinkOf::new("last", ["cloud", "client"]);
    one_flow(&[access, last], tcp("riverbed_reno"), AppPlan::transfer(10_000_000))
}

/// `count` bulk flows over one bottleneck of 1 Gbit/s and 10 ms, each with an access link of
/// 1 Gbit/s and 1 ms at both ends.
pub fn dumbbell(count: u32, end: Duration) -> Plan {
    let mut bottleneck = LinkOf::new("bottleneck", ["left", "right"]);
    bottleneck.mbit_s = Some(1000);
    bottleneck.delay = Duration::from_millis(10);
    bottleneck.packets = Some(1000);
    let mut access = LinkOf::new("access", ["host", "router"]);
    access.mbit_s = Some(1000);
    access.delay = Duration::from_millis(1);
    let mut plan =
        Plan { end: Time::ZERO + end, ..one_flow(&[bottleneck], tcp("newreno"), AppPlan::Bulk) };
    plan.routes.clear();
    let flow = plan.flows.remove(0);
    let pipes = access.pipes();
    for index in 0..count {
        let first = 2 + 4 * index;
        plan.pipes.extend(pipes.iter().chain(&pipes).cloned());
        plan.routes.push([first, 0, first + 2].map(Hop::Pipe).to_vec());
        plan.routes.push([first + 3, 1, first + 1].map(Hop::Pipe).to_vec());
        plan.flows.push(FlowPlan {
            name: format!("bulk.{index}"),
            start: Time::ZERO + Duration::from_millis(u64::from(index)),
            routes: [2 * index, 2 * index + 1],
            nodes: [2 * index, 2 * index + 1],
            read_rate: None,
            write_size: 256 << 10,
            ..flow.clone()
        });
    }
    plan
}

/// Lets a plan's flows start one after another, at intervals of at most 1 ms, the last within a
/// second.
pub fn one_after_another(mut plan: Plan) -> Plan {
    let apart = Duration::from_nanos(1_000_000_000 / plan.flows.len() as u64);
    let apart = apart.min(Duration::from_millis(1));
    for (flow, index) in plan.flows.iter_mut().zip(0..) {
        flow.start = Time::ZERO + apart * index;
    }
    plan
}

/// `count` flows with SACK over a bottleneck whose rate and queue grow with their number, as in
/// `bench/peers`.
pub fn shared_dumbbell(count: u32, end: Duration) -> Plan {
    let mut bottleneck = LinkOf::new("bottleneck", ["left", "right"]);
    bottleneck.mbit_s = Some(10 * u64::from(count));
    bottleneck.delay = Duration::from_millis(10);
    bottleneck.packets = Some(20 * u64::from(count));
    let mut tcp = tcp("sack");
    tcp.config.window_scaling = true;
    tcp.config.receive_buffer = Size::Mss(90);
    let mut plan = one_after_another(Plan { tcps: vec![tcp], ..dumbbell(count, end) });
    plan.pipes.splice(0..2, bottleneck.pipes());
    plan
}

/// A channel that loses the packets numbered `drop`, counted as they enter, and for each entry of
/// `drop_seq` the next copy of the segment at this position.
pub fn script(drop: &[u64], drop_seq: &[u64]) -> channel::Config {
    channel::Config::script(channel::script::Config {
        drop: drop.to_vec(),
        drop_seq: drop_seq.to_vec(),
        ..Default::default()
    })
}

/// An 802.11b cell at 11 Mbit/s whose stations all hear each other.
pub fn cell(stations: usize) -> wlan::Config {
    wlan::Config {
        stations: (0..stations).map(|number| format!("s{number}")).collect(),
        parameters: wlan::Standard::B.parameters(),
        short_retry_limit: Some(7),
        long_retry_limit: Some(4),
        rts_threshold: 2347,
        geometry: None,
        queue: queue::Config::droptail(queue::droptail::Config::default()),
        channel: Vec::new(),
        channel_senders: None,
        channel_reciprocal: false,
        changes: Vec::new(),
    }
}

/// Inserts a cell into both directions of the plan's path. Packets pass it from its first station
/// to its last over all stations in between, and it comes after the first `at` hops of the data's
/// route.
pub fn insert_cell(plan: &mut Plan, at: usize, config: wlan::Config) {
    let stage = plan.stages.len() as u32;
    let hops = config.stations.len() as u16 - 1;
    let forward = (0..hops).map(|entry| Hop::Stage(Port { stage, entry, exit: entry + 1 }));
    let back = (0..hops).rev().map(|exit| Hop::Stage(Port { stage, entry: exit + 1, exit }));
    plan.routes[0].splice(at..at, forward);
    let from_the_end = plan.routes[1].len() - at;
    plan.routes[1].splice(from_the_end..from_the_end, back);
    let name = format!("cell{stage}");
    plan.stages.push(StagePlan::Wlan(WlanPlan { name, config }));
}

/// Inserts a relay agent after the first `at` hops of a data route, in front of a lossy hop, and at
/// the same place of the route of its acknowledgments; `[data, acks]` are the two routes.
pub fn insert_agent(plan: &mut Plan, [data, acks]: [u32; 2], at: usize, config: relay::Config) {
    let (relay, stage) = (plan.relays.len() as u32, plan.stages.len() as u32);
    let (name, node) = (format!("agent{relay}"), "middle".to_owned());
    plan.relays.push(RelayPlan { name: name.clone(), node: node.clone(), kind: "snoop" });
    plan.stages.push(StagePlan::Relay(AgentPlan { relay, name, node, config }));
    let port = Hop::Stage(Port { stage, entry: 0, exit: 0 });
    plan.routes[data as usize].insert(at, port);
    let from_the_end = plan.routes[acks as usize].len() - at;
    plan.routes[acks as usize].insert(from_the_end, port);
}

/// Splits every flow with more than `at` hops by a proxy after the first `at` hops of its data
/// route; the proxy's buffer holds up to `buffer` bytes. Of a flow that is split already, the last
/// leg is split.
pub fn split(plan: &mut Plan, at: usize, buffer: u64) {
    let relay = plan.relays.len() as u32;
    let (name, node) = (format!("proxy{relay}"), "middle".to_owned());
    plan.relays.push(RelayPlan { name, node, kind: "split" });
    let mut flows = Vec::new();
    let mut moved = Vec::new();
    for flow in &plan.flows {
        let is_last = plan.proxies.iter().all(|proxy| proxy.legs[0] as usize != moved.len());
        moved.push(flows.len() as u32);
        flows.push(flow.clone());
        let ways = flow.routes.map(|route| plan.routes[route as usize].len());
        if !is_last || ways.iter().any(|hops| *hops <= at) {
            continue;
        }
        let [data, acks] = flow.routes.map(|route| plan.routes[route as usize].clone());
        let (near, far) = data.split_at(at);
        let (back_far, back_near) = acks.split_at(acks.len() - at);
        let first = plan.routes.len() as u32;
        plan.routes.extend([near, back_near, far, back_far].map(<[Hop]>::to_vec));
        let second = FlowPlan {
            name: format!("{}@proxy{relay}", flow.name.split('@').next().expect("a name")),
            routes: [first + 2, first + 3],
            ..flow.clone()
        };
        let near = flows.last_mut().expect("just put there");
        (near.routes, near.read_rate) = ([first, first + 1], None);
        flows.push(second);
    }
    let mut proxies = Vec::new();
    for (old, new) in moved.iter().enumerate() {
        let legs = plan.proxies.iter().find(|proxy| proxy.legs[1] as usize == old);
        proxies.extend(legs.map(|proxy| ProxyPlan { legs: [*new - 1, *new], ..*proxy }));
        if moved.get(old + 1).map_or(flows.len() as u32, |next| *next) == new + 2 {
            proxies.push(ProxyPlan { relay, legs: [*new, new + 1], buffer_bytes: buffer });
        }
    }
    plan.flows = flows;
    plan.proxies = proxies;
}

/// A bulk flow over `hops` hops of one WLAN cell, with a window of `segments` that is too small to
/// overflow a queue.
pub fn wifi(hops: usize, segments: u64, end: Duration) -> Plan {
    let mut plan = one_flow(&[], tcp("newreno"), AppPlan::Bulk);
    plan.tcps[0].config.receive_buffer = retx_tcp::Size::Mss(segments);
    insert_cell(&mut plan, 0, cell(hops + 1));
    Plan { end: Time::ZERO + end, ..plan }
}

/// Bulk flows from `count` WLAN stations to one further station.
pub fn wifi_uploads(count: u32, end: Duration) -> Plan {
    let mut plan = wifi(1, 20, end);
    let StagePlan::Wlan(wlan) = &mut plan.stages[0] else { unreachable!("its only stage") };
    wlan.config = cell(count as usize + 1);
    let flow = plan.flows.remove(0);
    plan.routes.clear();
    let port = |entry, exit| vec![Hop::Stage(Port { stage: 0, entry, exit })];
    for index in 0..count {
        plan.routes.extend([port(index as u16, count as u16), port(count as u16, index as u16)]);
        plan.flows.push(FlowPlan {
            name: format!("upload.{index}"),
            routes: [2 * index, 2 * index + 1],
            nodes: [index, count],
            ..flow.clone()
        });
    }
    plan
}
