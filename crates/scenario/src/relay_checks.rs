//! Checks of relays.

use crate::error::Problem;
use crate::passing::LinksAndWlans;
use crate::routes::Network;
use crate::scenario::Flow;
use crate::suggest::{did_you_mean, join_names};
use crate::tcp::TcpTable;
use crate::wording::check_name;
use crate::{App, Relay, Snoop, Split};
use std::collections::{HashMap, HashSet};

/// Checks each relay, and the relays on each flow's path.
///
/// # Errors
/// The first error.
pub(crate) fn check(
    relays: &[Relay],
    flows: &[Flow],
    map: LinksAndWlans<'_>,
    (network, tcps): (&Network<'_>, &mut TcpTable),
) -> Result<(), Problem> {
    let mut names = HashMap::new();
    for (index, relay) in relays.iter().enumerate() {
        let checked = check_name(relay.name(), "relay")
            .map_err(|problem| problem.within("name"))
            .and_then(|()| match names.insert(relay.name(), index) {
                None => Ok(()),
                Some(_) => {
                    let message = format!("\"{}\" names two relays", relay.name());
                    Err(Problem::new(message).within("name"))
                }
            })
            .and_then(|()| network.check_node(relay.node(), "node"))
            .and_then(|()| check_kind(relay, map, tcps))
            .and_then(|()| check_flows(relay, flows, map));
        checked.map_err(|problem| problem.within_element("relay", index))?;
    }
    let flow_names: HashSet<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
    for (index, flow) in flows.iter().enumerate() {
        check_way(relays, flow, &flow_names, map)
            .map_err(|problem| problem.within_element("flow", index))?;
    }
    Ok(())
}

fn check_kind(relay: &Relay, map: LinksAndWlans<'_>, tcps: &mut TcpTable) -> Result<(), Problem> {
    if let Some(link) = relay.link() {
        let node = relay.node();
        let fault = match map.is_attached(link, node) {
            Some(true) => None,
            Some(false) => Some(format!("\"{link}\" does not begin or end at \"{node}\"")),
            None => {
                let links = map.links.iter().map(|link| link.name.as_str());
                let all = links.chain(map.wlans.iter().map(|wlan| wlan.name.as_str()));
                let near = did_you_mean(link, all.clone());
                Some(format!(
                    "unknown link \"{link}\"{near} (links and wlans here: {})",
                    join_names(all)
                ))
            }
        };
        if let Some(message) = fault {
            return Err(Problem::new(message).within("link"));
        }
    }
    match relay {
        Relay::Eln(_) => {}
        Relay::Snoop(Snoop { packets, dupacks, .. }) => {
            for (key, value) in [("packets", packets), ("dupacks", dupacks)] {
                if !(1..=1_000_000).contains(value) {
                    let message = format!("{value} lies outside 1 … 1000000");
                    return Err(Problem::new(message).within(key));
                }
            }
        }
        Relay::Split(Split { tcp, buffer, .. }) => {
            if let Some(tcp) = tcp {
                tcps.find(tcp).map_err(|problem| problem.within("tcp"))?;
            }
            if buffer.bytes(1) == 0 {
                let message = "0 bytes: a proxy that holds nothing passes nothing on";
                return Err(Problem::new(message).within("buffer"));
            }
        }
    }
    Ok(())
}

/// Checks that the flows that a relay names exist and pass it, and that the relay serves at least
/// one flow.
fn check_flows(relay: &Relay, flows: &[Flow], map: LinksAndWlans<'_>) -> Result<(), Problem> {
    let node = relay.node();
    for (index, name) in relay.flows().into_iter().flatten().enumerate() {
        let refuse =
            |message: String| Err(Problem::new(message).within(&index.to_string()).within("flows"));
        let known = flows.iter().map(|flow| flow.name.as_str());
        let Some(flow) = flows.iter().find(|flow| flow.name == *name) else {
            return refuse(format!(
                "no flow \"{name}\"{} (flows here: {})",
                did_you_mean(name, known.clone()),
                join_names(known)
            ));
        };
        if flow.tcp().is_none() {
            return refuse(format!("\"{name}\" goes by UDP: a proxy serves TCP"));
        }
        if map.hops_to(&flow.forward_path, node).is_none() {
            return refuse(format!(
                "\"{name}\" does not pass \"{node}\": a relay serves flows that pass its node \
                 between their ends"
            ));
        }
    }
    let one = std::slice::from_ref(relay);
    for flow in flows.iter().filter(|flow| flow.tcp().is_some()) {
        let listed = relay.flows().is_none_or(|names| names.contains(&flow.name));
        let passes = map.hops_to(&flow.forward_path, node).is_some();
        if listed && passes && matches!(flow.app, App::RequestResponse(_)) {
            return Err(Problem::new(format!(
                "\"{}\" sends requests and responses: a proxy serves flows whose data go one way; \
                 leave it out with `flows`",
                flow.name
            ))
            .within("node"));
        }
        // A relay with a lossy hop serves only flows that also pass this hop.
        let named = relay.flows().is_some() || relay.link().is_none();
        if listed && passes && named && map.relay_positions(one, flow).is_empty() {
            if let Some(link) = relay.link() {
                return Err(Problem::new(format!(
                    "\"{}\" does not pass \"{node}\" and \"{link}\" both ways, its data and their \
                     acknowledgments",
                    flow.name
                ))
                .within("link"));
            }
            return Err(Problem::new(format!(
                "the data of \"{}\" pass \"{node}\", their acknowledgments go another way: both \
                 have to pass a relay",
                flow.name
            ))
            .within("node"));
        }
    }
    if flows.iter().all(|flow| map.relay_positions(one, flow).is_empty()) {
        return Err(match relay.link() {
            None => Problem::new(format!(
                "no flow passes \"{node}\" between its ends: nothing to do there"
            ))
            .within("node"),
            Some(link) => Problem::new(format!(
                "no flow passes \"{node}\" between its ends and \"{link}\" both ways: nothing to \
                 do there"
            ))
            .within("link"),
        });
    }
    Ok(())
}

/// Checks the relays on a flow's path: at most one per node, and the acknowledgments pass the
/// relays of the data in reverse order.
fn check_way(
    relays: &[Relay],
    flow: &Flow,
    flow_names: &HashSet<&str>,
    map: LinksAndWlans<'_>,
) -> Result<(), Problem> {
    let passages = map.relay_positions(relays, flow);
    let name = |passage: &super::RelayPosition| relays[passage.relay].name();
    for pair in passages.windows(2) {
        let [first, second] = [&pair[0], &pair[1]].map(name);
        if pair[0].data_hops == pair[1].data_hops {
            return Err(Problem::new(format!(
                "passes two relays at one node, \"{first}\" and \"{second}\": say with `flows` \
                 which of them serves it"
            )));
        }
        if pair[0].ack_hops <= pair[1].ack_hops {
            return Err(Problem::new(format!(
                "passes \"{first}\" before \"{second}\", and so do its acknowledgments: they have \
                 to come back the other way round"
            )));
        }
    }
    for passage in &passages {
        let leg = format!("{}@{}", flow.name, name(passage));
        if flow_names.contains(leg.as_str()) {
            return Err(Problem::new(format!(
                "results call its part behind a relay \"{leg}\", which is another flow's name"
            ))
            .within("name"));
        }
    }
    Ok(())
}
