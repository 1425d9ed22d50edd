//! Conversion of a scenario to a plan: names become indices.

use crate::plan::{
    self, Amounts, AppPlan, CopyOnWrite, DatagramPlan, ExchangePlan, FileSizes, FlowPlan, Limits,
    Pace, PacketSizes, PipePlan, Plan, ProxyPlan, RelayPlan, Sampling, Side, StagePlan, TcpPlan,
    WlanPlan,
};
use legs::{Leg, plan_legs};
use retx_link::{pipe, wlan};
use retx_scenario::{
    Amount, App, Change, Direction, ExpandedFlow, Files, Flow, Hop, Initiator, Link, LinkDirection,
    OnOff, Reuse, SampleInterval, Scenario, Stop, Transport, Udp, Wlan,
};
use retx_units::{Duration, Time};
use std::collections::HashMap;
use std::sync::Arc;

mod legs;

/// Maximum number of rows of `samples` and `link_samples` together. A row takes about 8 bytes of
/// memory during the run, and 20 to 80 bytes in a data frame: several gigabytes at this limit.
const SAMPLES_MAX: u64 = 100_000_000;

/// Converts a scenario to a plan.
pub fn plan_from_scenario(scenario: &Scenario) -> Plan {
    let nodes = Nodes::of(scenario);
    let mut last = None;
    let mut plan = Plan {
        seed: scenario.seed,
        end: instant(scenario.duration),
        runs_to_end: scenario.stop == Stop::Duration,
        warmup: instant(scenario.warmup),
        sampling: match scenario.sample_interval {
            None => Sampling::Off,
            Some(SampleInterval::Every(interval)) => Sampling::Every(interval),
            Some(SampleInterval::EveryAck) => Sampling::EveryAck,
        },
        samples_max: SAMPLES_MAX,
        pipes: scenario.links.iter().flat_map(|link| pipes(link, &nodes, &mut last)).collect(),
        stages: scenario.wlans.iter().map(cell).collect(),
        routes: Vec::new(),
        tcps: scenario
            .tcps
            .iter()
            .map(|tcp| TcpPlan { name: tcp.name.clone(), config: tcp.config.clone() })
            .collect(),
        flows: Vec::with_capacity(scenario.flow_count() as usize),
        relays: Vec::new(),
        proxies: Vec::new(),
        datagrams: Vec::new(),
    };
    for (index, relay) in scenario.relays.iter().enumerate() {
        let [name, node] = [relay.name(), relay.node()].map(str::to_owned);
        plan.relays.push(RelayPlan { name, node, kind: relay.kind() });
        plan.stages.extend(legs::plan_agent(index as u32, relay).map(StagePlan::Relay));
    }
    for flow in &scenario.flows {
        match flow.transport {
            Transport::Tcp { tcp, initiator, .. } => {
                // Flows expanded from one entry of the scenario share their routes, nodes and data
                // to send.
                let legs = plan_legs(scenario, (flow, tcp), (&nodes, &mut plan));
                let work = CopyOnWrite::from(app_plan(&flow.app));
                flow.expanded().for_each(|one| {
                    add_flow(&mut plan, &one, (initiator, &work), &legs);
                });
            }
            Transport::Udp(udp) => {
                let route = plan.routes.len() as u32;
                plan.routes.push(flow.forward_path.iter().map(plan_hop).collect());
                let largest = largest_packet(flow, &scenario.links);
                let ends = [&flow.from, &flow.to].map(|name| nodes.index(name));
                let after = plan.flows.len() as u32;
                let one = |one| datagram_plan(&one, (&udp, largest), (route, ends), after);
                plan.datagrams.extend(flow.expanded().map(one));
            }
        }
    }
    plan
}

/// Adds a TCP flow: one flow of the plan, with its own connection, for each leg.
fn add_flow(
    plan: &mut Plan,
    expanded: &ExpandedFlow<'_>,
    (initiator, work): (Initiator, &CopyOnWrite<AppPlan>),
    legs: &[Leg],
) {
    for (place, leg) in legs.iter().enumerate() {
        let is_last = place + 1 == legs.len();
        let [tcp, receiver_tcp] = leg.tcps;
        let index = plan.flows.len() as u32;
        plan.flows.push(FlowPlan {
            name: format!("{}{}", expanded.name(), leg.suffix),
            tcp,
            receiver_tcp,
            app: work.clone(),
            start: instant(expanded.start),
            initiator: match initiator {
                Initiator::From => Side::Sender,
                Initiator::To => Side::Receiver,
            },
            routes: leg.routes,
            nodes: leg.nodes,
            read_rate: expanded.flow.read_rate().filter(|_| is_last),
            write_size: if place == 0 {
                expanded.flow.app.write_size()
            } else {
                crate::plan::PROXY_BLOCK
            },
        });
        if let Some((relay, buffer)) = leg.proxy {
            plan.proxies.push(ProxyPlan { relay, legs: [index - 1, index], buffer_bytes: buffer });
        }
    }
}

/// Index of each node, and its name as a shared string; the key is the name.
struct Nodes<'a>(HashMap<&'a str, (u32, Arc<str>)>);

impl<'a> Nodes<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        let nodes = scenario.nodes().into_iter().zip(0..);
        Self(nodes.map(|(name, index)| (name, (index, name.into()))).collect())
    }

    fn find(&self, name: &str) -> &(u32, Arc<str>) {
        self.0.get(name).expect("a flow's nodes are ends of links")
    }

    fn index(&self, name: &str) -> u32 {
        self.find(name).0
    }

    fn name(&self, name: &str) -> Arc<str> {
        self.find(name).1.clone()
    }
}

fn datagram_plan(
    expanded: &ExpandedFlow<'_>,
    (udp, largest): (&Udp, u32),
    (route, nodes): (u32, [u32; 2]),
    after: u32,
) -> DatagramPlan {
    let start = instant(expanded.start);
    DatagramPlan {
        name: expanded.name(),
        pace: pace(&expanded.flow.app, udp),
        sizes: PacketSizes { distribution: udp.packet.law(), max_bytes: largest },
        limits: Limits {
            packets: udp.packets,
            bytes: udp.bytes,
            end: udp.duration.map_or(Time::NEVER, |duration| start + duration),
        },
        start,
        route,
        nodes,
        flows_before: after,
    }
}

/// Largest packet that the links of a flow's path can carry, bytes.
fn largest_packet(flow: &Flow, links: &[Link]) -> u32 {
    let mtu = |hop: &Hop| match hop {
        Hop::Link { link, direction: way } => links[*link as usize].direction(*way).mtu,
        Hop::Wlan { .. } => wlan::parameters::MTU,
    };
    flow.forward_path.iter().map(mtu).min().expect("a path has a hop at least")
}

fn pace(app: &App, udp: &Udp) -> Pace {
    let rate = || udp.rate.expect("what is paced has a rate");
    match app {
        App::Bulk(_) => Pace::Saturating { backlog: udp.backlog.expect("settled with the way") },
        App::Cbr(_) => Pace::Constant(rate()),
        App::Poisson(_) => Pace::Poisson(rate()),
        App::OnOff(OnOff { on, off }) => Pace::OnOff { rate: rate(), on: on.law(), off: off.law() },
        App::Transfer(_) | App::Ftp(_) | App::RequestResponse(_) => {
            unreachable!("{} has been refused over UDP", app.name())
        }
    }
}

fn instant(since_the_beginning: Duration) -> Time {
    Time::ZERO + since_the_beginning
}

/// Both directions of a link. Successive equal links share their configuration.
fn pipes(
    link: &Link,
    nodes: &Nodes<'_>,
    last: &mut Option<CopyOnWrite<pipe::Config>>,
) -> [PipePlan; 2] {
    let name: Arc<str> = link.name.as_str().into();
    let [left, right] = link.ends.each_ref().map(|end| nodes.name(end));
    [LinkDirection::Forward, LinkDirection::Reverse].map(|way| {
        let config = pipe_config(link.direction(way));
        let shared = last.take().filter(|last| **last == config).unwrap_or_else(|| config.into());
        PipePlan {
            link: name.clone(),
            direction: way.name(),
            ends: match way {
                LinkDirection::Forward => [left.clone(), right.clone()],
                LinkDirection::Reverse => [right.clone(), left.clone()],
            },
            config: last.insert(shared).clone(),
        }
    })
}

fn pipe_config(direction: &Direction) -> pipe::Config {
    pipe::Config {
        rate: direction.rate,
        delay: direction.delay,
        overhead: direction.overhead,
        queue: direction.queue.clone(),
        channel: direction.channel.clone(),
        repair: direction.repair,
        changes: direction.changes.iter().map(change).collect(),
    }
}

fn cell(wlan: &Wlan) -> StagePlan {
    StagePlan::Wlan(WlanPlan { name: wlan.name.clone(), config: wlan.config.clone() })
}

/// Converts a hop of a path.
pub fn plan_hop(hop: &Hop) -> plan::Hop {
    match *hop {
        Hop::Link { link, direction: LinkDirection::Forward } => plan::Hop::Pipe(2 * link),
        Hop::Link { link, direction: LinkDirection::Reverse } => plan::Hop::Pipe(2 * link + 1),
        // Wlans are the first stages, so the index of a wlan is also that of its stage.
        Hop::Wlan { wlan, from, to } => {
            plan::Hop::Stage(plan::Port { stage: wlan, entry: from, exit: to })
        }
    }
}

fn change(change: &Change) -> pipe::Change {
    let Change { at, rate, delay, channel } = change.clone();
    pipe::Change { at: instant(at), rate, delay, channel }
}

fn amounts<T: Amount>(of: &retx_scenario::Amounts<T>) -> Amounts {
    match of {
        retx_scenario::Amounts::Same(spread) => Amounts::Drawn(spread.law()),
        retx_scenario::Amounts::Listed(listed) => {
            Amounts::Listed(listed.iter().map(|it| it.value()).collect())
        }
    }
}

fn app_plan(app: &App) -> AppPlan {
    match app {
        App::Bulk(_) => AppPlan::Bulk,
        App::Transfer(transfer) => AppPlan::transfer(transfer.bytes),
        App::Ftp(ftp) => AppPlan::Files {
            sizes: match &ftp.files {
                Files::Count(count) => {
                    let bytes = ftp.bytes.expect("a number of files comes with their size");
                    FileSizes::Equal { count: *count, bytes }
                }
                Files::Sizes(sizes) => FileSizes::Each(sizes.as_slice().into()),
            },
            pause: ftp.pause,
        },
        App::RequestResponse(of) => AppPlan::Exchanges(ExchangePlan {
            request_bytes: of.request.law(),
            response_bytes: amounts(&of.response),
            service_time: amounts(&of.service),
            think_time: of.think.law(),
            count: of.exchanges,
            connection_per_exchange: of.connection == Reuse::Each,
        }),
        App::Cbr(_) | App::Poisson(_) | App::OnOff(_) => {
            unreachable!("{} has been refused over TCP", app.name())
        }
    }
}
