//! From a scenario to a plan: names become indices.

use crate::plan::{
    self, FlowPlan, PipePlan, Plan, ProxyPlan, RelayPlan, Sampling, Side, Sizes, StagePlan,
    TcpPlan, WlanPlan, Work,
};
use legs::{Leg, legs};
use retx_link::pipe;
use retx_scenario::{
    App, Change, ExpandedFlow, Files, Hop, Initiator, Link, SampleInterval, Scenario, Stop, Way,
    Wlan,
};
use retx_units::{Duration, Time};

mod legs;

/// Lays a scenario out.
pub fn plan(scenario: &Scenario) -> Plan {
    let nodes = scenario.nodes();
    let mut plan = Plan {
        seed: scenario.seed,
        end: instant(scenario.duration),
        to_the_end: scenario.stop == Stop::Duration,
        warmup: instant(scenario.warmup),
        sampling: match scenario.sample_interval {
            None => Sampling::Off,
            Some(SampleInterval::Every(interval)) => Sampling::Every(interval),
            Some(SampleInterval::EveryAck) => Sampling::EveryAck,
        },
        pipes: scenario
            .links
            .iter()
            .flat_map(|link| [pipe(link, Way::Forward), pipe(link, Way::Reverse)])
            .collect(),
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
    };
    for relay in &scenario.relays {
        let [name, node] = [relay.name(), relay.node()].map(str::to_owned);
        plan.relays.push(RelayPlan { name, node, kind: relay.kind() });
    }
    // Equal flows share their routes, their nodes and their work.
    let mut shared: Option<(Vec<Leg>, Work)> = None;
    for expanded in scenario.expanded_flows() {
        if expanded.number == 0 {
            shared = None;
        }
        let (legs, work) = shared.get_or_insert_with(|| {
            (legs(scenario, expanded.flow, (&nodes, &mut plan)), work(&expanded.flow.app))
        });
        for leg in legs {
            let flow = flow_plan(&expanded, work.clone(), leg);
            let index = plan.flows.len() as u32;
            plan.flows.push(flow);
            if let Some((relay, buffer)) = leg.proxy {
                plan.proxies.push(ProxyPlan { relay, legs: [index - 1, index], buffer });
            }
        }
    }
    plan
}

fn flow_plan(expanded: &ExpandedFlow<'_>, work: Work, leg: &Leg) -> FlowPlan {
    let [tcp, receiver_tcp] = leg.tcps;
    FlowPlan {
        name: format!("{}{}", expanded.name(), leg.suffix),
        tcp,
        receiver_tcp,
        work,
        start: instant(expanded.start),
        initiator: match expanded.flow.initiator {
            Initiator::From => Side::Sender,
            Initiator::To => Side::Receiver,
        },
        routes: leg.routes,
        nodes: leg.nodes,
    }
}

fn instant(since_the_beginning: Duration) -> Time {
    Time::ZERO + since_the_beginning
}

fn pipe(link: &Link, way: Way) -> PipePlan {
    let direction = link.direction(way);
    let [left, right] = link.ends.clone();
    PipePlan {
        link: link.name.clone(),
        direction: way.name(),
        ends: match way {
            Way::Forward => [left, right],
            Way::Reverse => [right, left],
        },
        config: pipe::Config {
            rate: direction.rate,
            delay: direction.delay,
            overhead: direction.overhead,
            queue: direction.queue.clone(),
            channel: direction.channel.clone(),
            repair: direction.repair,
            changes: direction.changes.iter().map(change).collect(),
        },
    }
}

fn cell(wlan: &Wlan) -> StagePlan {
    StagePlan::Wlan(WlanPlan { name: wlan.name.clone(), config: wlan.config.clone() })
}

/// A hop of a way.
pub fn hop(hop: &Hop) -> plan::Hop {
    match *hop {
        Hop::Link { link, way: Way::Forward } => plan::Hop::Pipe(2 * link),
        Hop::Link { link, way: Way::Reverse } => plan::Hop::Pipe(2 * link + 1),
        // Wlans are the first stages.
        Hop::Wlan { wlan, from, to } => {
            plan::Hop::Stage(plan::Port { stage: wlan, entry: from, exit: to })
        }
    }
}

fn change(change: &Change) -> pipe::Change {
    let Change { at, rate, delay, channel } = change.clone();
    pipe::Change { at: instant(at), rate, delay, channel }
}

fn work(app: &App) -> Work {
    match app {
        App::Bulk(_) => Work::Bulk,
        App::Transfer(transfer) => Work::transfer(transfer.bytes),
        App::Ftp(ftp) => Work::Files {
            sizes: match &ftp.files {
                Files::Count(count) => {
                    let bytes = ftp.bytes.expect("a number of files comes with their size");
                    Sizes::Equal { count: *count, bytes }
                }
                Files::Sizes(sizes) => Sizes::Each(sizes.as_slice().into()),
            },
            pause: ftp.pause,
        },
    }
}
