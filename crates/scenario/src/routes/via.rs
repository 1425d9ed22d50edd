//! Resolution of a configured route, hop by hop.

use super::{Network, Node};
use crate::error::Problem;
use crate::scenario::{Hop, LinkDirection};
use crate::suggest::{did_you_mean, join_names};

/// Meaning of the name of a link or a wlan.
#[derive(Debug, Clone, Copy)]
pub(super) enum LinkOrWlan {
    Link(u32),
    Wlan(u32),
}

/// Remaining names of a route.
pub(super) struct Via<'a, 'n> {
    pub network: &'n Network<'a>,
    pub names: &'n [String],
    /// Node at which the route ends.
    pub to: Node,
}

type Step = Result<(Hop, Node), Problem>;

impl Via<'_, '_> {
    /// Next hop from a node; `None` at the end of the names.
    pub fn next_hop(&mut self, at: Node) -> Option<Step> {
        let (name, rest) = self.names.split_first()?;
        self.names = rest;
        let network = self.network;
        Some(match network.by_name.get(name.as_str()) {
            Some(LinkOrWlan::Link(link)) => self.pass_link(*link, at),
            Some(LinkOrWlan::Wlan(wlan)) => {
                self.after_wlan(*wlan, at).and_then(|next| self.pass_wlan(*wlan, (at, next)))
            }
            None => match network.nodes.get(name.as_str()) {
                Some(next) => self.pass_to(at, *next),
                None => refuse(format!(
                    "unknown link \"{name}\"{} (links and wlans here: {})",
                    did_you_mean(name, self.known()),
                    join_names(self.known())
                )),
            },
        })
    }

    fn known(&self) -> impl Iterator<Item = &str> {
        let links = self.network.links.iter().map(|link| link.name.as_str());
        links.chain(self.network.wlans.iter().map(|wlan| wlan.name.as_str()))
    }

    fn pass_link(&self, index: u32, at: Node) -> Step {
        let link = &self.network.links[index as usize];
        let [left, right] =
            [&link.ends[0], &link.ends[1]].map(|end| self.network.nodes[end.as_str()]);
        let (way, next) = match at {
            _ if at == left => (LinkDirection::Forward, right),
            _ if at == right => (LinkDirection::Reverse, left),
            _ => {
                let [left, right] = &link.ends;
                return refuse(format!(
                    "link \"{}\" joins \"{left}\" and \"{right}\", but the route is at \"{}\"",
                    link.name, self.network.names[at as usize]
                ));
            }
        };
        Ok((Hop::Link { link: index, direction: way }, next))
    }

    /// Station to which the hop over a wlan leads: the one named next, the one at which the next
    /// link begins, or the end of the route.
    fn after_wlan(&mut self, wlan: u32, at: Node) -> Result<Node, Problem> {
        let network = self.network;
        let Some((name, rest)) = self.names.split_first() else { return Ok(self.to) };
        let ends: &[String] = match network.by_name.get(name.as_str()) {
            Some(LinkOrWlan::Link(link)) => &network.links[*link as usize].ends,
            Some(LinkOrWlan::Wlan(next)) => &network.wlans[*next as usize].config.stations,
            None => {
                self.names = rest;
                std::slice::from_ref(name)
            }
        };
        let own = &network.wlans[wlan as usize].config.stations;
        let here = network.names[at as usize];
        let mut shared = ends.iter().filter(|end| own.contains(end) && *end != here);
        match (shared.next(), shared.next()) {
            (Some(end), None) => Ok(network.nodes[end.as_str()]),
            _ => Err(Problem::new(format!(
                "after wlan \"{}\" comes \"{name}\": name the station of the wlan to which \
                 it leads",
                network.wlans[wlan as usize].name
            ))),
        }
    }

    fn pass_wlan(&self, wlan: u32, (at, next): (Node, Node)) -> Step {
        let through = |hop: &Hop| matches!(hop, Hop::Wlan { wlan: own, .. } if *own == wlan);
        let mut ways = self.network.ways[at as usize].iter();
        if let Some(way) = ways.find(|(hop, to)| *to == next && through(hop)) {
            return Ok(*way);
        }
        let wlan = &self.network.wlans[wlan as usize];
        let names = [at, next].map(|node| self.network.names[node as usize]);
        let station = |name: &&&str| wlan.config.stations.iter().any(|own| own == **name);
        match names.iter().find(|name| !station(name)) {
            Some(name) => refuse(format!(
                "\"{name}\" is no station of wlan \"{}\" (stations: {})",
                wlan.name,
                join_names(wlan.config.stations.iter().map(String::as_str))
            )),
            None => refuse(format!(
                "\"{}\" is out of the range of \"{}\" in wlan \"{}\"",
                names[1], names[0], wlan.name
            )),
        }
    }

    /// Hop to the station `next`, over the only wlan that connects both stations.
    fn pass_to(&self, at: Node, next: Node) -> Step {
        let network = self.network;
        let mut ways = network.wlans_between(at, next);
        let names = [at, next].map(|node| network.names[node as usize]);
        match (ways.next(), ways.next()) {
            (Some((_, hop)), None) => Ok((hop, next)),
            (None, _) => refuse(format!("no wlan leads from \"{}\" to \"{}\"", names[0], names[1])),
            (Some((first, _)), Some((second, _))) => refuse(format!(
                "both \"{first}\" and \"{second}\" lead from \"{}\" to \"{}\": name one of them \
                 before the station",
                names[0], names[1]
            )),
        }
    }
}

fn refuse<T>(message: String) -> Result<T, Problem> {
    Err(Problem::new(message))
}
