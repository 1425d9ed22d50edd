//! The legs of a flow: one, and another behind each proxy.

use super::{hop, index_of};
use crate::plan::{self, Plan, TcpPlan};
use retx_scenario::{Flow, Relay, Scenario, Split};
use retx_tcp::Size;

/// A part of a flow's way with a connection of its own.
#[derive(Debug, Clone)]
pub(super) struct Leg {
    /// What its name has behind that of the flow.
    pub suffix: String,
    /// The TCPs of its data sender and of its data receiver.
    pub tcps: [u32; 2],
    /// The ways of its data and of their acknowledgments.
    pub routes: [u32; 2],
    /// Where it begins and ends.
    pub nodes: [u32; 2],
    /// The relay that sends it, and the most that this holds; none for the first.
    pub proxy: Option<(u32, u64)>,
}

/// A proxy on the way.
struct Cut<'a> {
    relay: u32,
    split: &'a Split,
    forward: usize,
    reverse: usize,
}

/// The legs of a flow in the order of its data. Adds their routes to the plan, and TCPs that
/// proxies need.
pub(super) fn legs(
    scenario: &Scenario,
    (flow, tcp): (&Flow, usize),
    (nodes, plan): (&[&str], &mut Plan),
) -> Vec<Leg> {
    let node = |name: &str| index_of(nodes, name);
    let passages = scenario.passages(flow);
    let cuts: Vec<Cut<'_>> = passages
        .iter()
        .map(|passage| {
            let Relay::Split(split) = &scenario.relays[passage.relay];
            Cut {
                relay: passage.relay as u32,
                split,
                forward: passage.forward,
                reverse: passage.reverse,
            }
        })
        .collect();
    let path = |path: &[retx_scenario::Hop]| path.iter().map(hop).collect::<Vec<plan::Hop>>();
    let mut legs = Vec::with_capacity(cuts.len() + 1);
    for number in 0..=cuts.len() {
        let before = number.checked_sub(1).map(|before| &cuts[before]);
        let after = cuts.get(number);
        let forward = before.map_or(0, |cut| cut.forward)
            ..after.map_or(flow.forward_path.len(), |cut| cut.forward);
        let reverse = after.map_or(0, |cut| cut.reverse)
            ..before.map_or(flow.reverse_path.len(), |cut| cut.reverse);
        let first = plan.routes.len() as u32;
        plan.routes.push(path(&flow.forward_path[forward]));
        plan.routes.push(path(&flow.reverse_path[reverse]));
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

/// A proxy's window closes when it cannot take more: one that is held at a value is the size of
/// its buffer instead.
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
