//! Legs of a flow: the first one, and one more after each proxy.

use super::{Nodes, plan_hop};
use crate::plan::{self, AgentPlan, Plan, Port, TcpPlan};
use retx_link::relay;
use retx_scenario::{Flow, Relay, RelayPosition, Scenario, Side, Split};
use retx_tcp::Size;
use std::ops::Range;

/// Part of a flow's path with a connection of its own.
#[derive(Debug, Clone)]
pub(super) struct Leg {
    /// Suffix that is appended to the flow's name to form the name of the leg.
    pub suffix: String,
    /// TCP configurations of the data sender and the data receiver, as indices into the plan's
    /// `tcps`.
    pub tcps: [u32; 2],
    /// Routes of the data and of the acknowledgments, as indices into the plan's routes.
    pub routes: [u32; 2],
    /// First and last node of the leg, as indices.
    pub nodes: [u32; 2],
    /// Index of the relay whose proxy sends on this leg, and its buffer size in bytes; `None` for
    /// the first leg.
    pub proxy: Option<(u32, u64)>,
}

/// Proxy at which the path of a flow is cut into two legs.
struct Cut<'a> {
    relay: u32,
    split: &'a Split,
    forward: usize,
    reverse: usize,
}

/// Legs of a flow, from its sender to its receiver. Adds their routes to the plan, and the TCP
/// configurations that proxies need.
pub(super) fn plan_legs(
    scenario: &Scenario,
    (flow, tcp): (&Flow, usize),
    (nodes, plan): (&Nodes<'_>, &mut Plan),
) -> Vec<Leg> {
    let node = |name: &str| nodes.index(name);
    let passages = scenario.relay_positions(flow);
    let cuts: Vec<Cut<'_>> = passages
        .iter()
        .filter_map(|passage| {
            let Relay::Split(split) = &scenario.relays[passage.relay] else { return None };
            Some(Cut {
                relay: passage.relay as u32,
                split,
                forward: passage.data_hops,
                reverse: passage.ack_hops,
            })
        })
        .collect();
    let mut legs = Vec::with_capacity(cuts.len() + 1);
    for number in 0..=cuts.len() {
        let before = number.checked_sub(1).map(|before| &cuts[before]);
        let after = cuts.get(number);
        let forward = before.map_or(0, |cut| cut.forward)
            ..after.map_or(flow.forward_path.len(), |cut| cut.forward);
        let reverse = after.map_or(0, |cut| cut.reverse)
            ..before.map_or(flow.reverse_path.len(), |cut| cut.reverse);
        let first = plan.routes.len() as u32;
        let agents = |before: fn(&RelayPosition) -> usize| -> Vec<(usize, Port)> {
            passages.iter().filter_map(|it| Some((before(it), port(scenario, it)?))).collect()
        };
        plan.routes.push(path(&flow.forward_path, forward, &agents(|it| it.data_hops)));
        plan.routes.push(path(&flow.reverse_path, reverse, &agents(|it| it.ack_hops)));
        let sender_tcp = before.and_then(|cut| cut.split.tcp.as_deref()).map_or(tcp, |name| {
            let index = scenario.tcps.iter().position(|tcp| tcp.name == name);
            index.expect("a relay's TCP has been found")
        });
        let receiver_tcp = match after {
            Some(_) => with_closing_window(tcp as u32, &mut plan.tcps),
            None => tcp as u32,
        };
        let mss = plan.tcps[sender_tcp].config.mss;
        legs.push(Leg {
            suffix: before.map_or(String::new(), |cut| format!("@{}", cut.split.name)),
            tcps: [sender_tcp as u32, receiver_tcp],
            routes: [first, first + 1],
            nodes: [
                node(before.map_or(&flow.from, |cut| &cut.split.node)),
                node(after.map_or(&flow.to, |cut| &cut.split.node)),
            ],
            proxy: before.map(|cut| (cut.relay, cut.split.buffer.bytes(mss))),
        });
    }
    legs
}

/// Stage for a relay that inspects segments; `None` for other relays.
pub(super) fn plan_agent(index: u32, relay: &Relay) -> Option<AgentPlan> {
    let config = match relay {
        Relay::Split(_) => return None,
        Relay::Snoop(snoop) => relay::Config::Snoop(snoop.config()),
        Relay::Eln(_) => relay::Config::Eln,
    };
    let [name, node] = [relay.name(), relay.node()].map(str::to_owned);
    Some(AgentPlan { relay: index, name, node, config })
}

/// Port (stage, entry and exit) by which a flow passes a relay that is a stage; `None` for other
/// relays. The stages of relays are numbered after those of wlans.
fn port(scenario: &Scenario, passage: &RelayPosition) -> Option<Port> {
    let exit = match passage.side? {
        Side::Toward => 0,
        Side::From => 1,
    };
    let before = scenario.relays[..passage.relay].iter().filter(|it| it.link().is_some());
    let stage = (scenario.wlans.len() + before.count()) as u32;
    Some(Port { stage, entry: 0, exit })
}

/// Hops of a part of a path, including the ports of relays inside it.
fn path(
    hops: &[retx_scenario::Hop],
    part: Range<usize>,
    agents: &[(usize, Port)],
) -> Vec<plan::Hop> {
    let mut path = Vec::with_capacity(part.len());
    for (before, next) in hops[part.clone()].iter().enumerate() {
        let here = agents.iter().filter(|(at, _)| *at == part.start + before);
        path.extend(here.map(|(_, port)| plan::Hop::Stage(*port)));
        path.push(plan_hop(next));
    }
    path
}

/// TCP configuration for the receiving side of a proxy, whose advertised window must close when the
/// proxy's buffer is full. A fixed advertised window never closes, so its size becomes that of the
/// receive buffer instead.
fn with_closing_window(tcp: u32, tcps: &mut Vec<TcpPlan>) -> u32 {
    let TcpPlan { name, config } = &tcps[tcp as usize];
    let Some(window) = config.advertised_window else { return tcp };
    let closing = retx_tcp::Config {
        advertised_window: None,
        receive_buffer: Size::Bytes(window.bytes(config.mss)),
        ..config.clone()
    };
    let closing = TcpPlan { name: name.clone(), config: closing };
    tcps.push(closing);
    tcps.len() as u32 - 1
}
