//! Routes: the links and wlans of a flow's path.

use crate::error::Problem;
use crate::scenario::{Flow, Hop, Link, LinkDirection, Route, Scenario};
use crate::suggest::{did_you_mean, join_names};
use crate::wlan::Wlan;
use std::collections::{HashMap, HashSet};
use via::{LinkOrWlan, Via};

mod via;

/// Maximum number of hops of a path, because a packet counts them in a byte.
const HOPS_MAX: usize = u8::MAX as usize;

type Node = u32;

/// Network of nodes and hops, and the configured routes.
pub struct Network<'a> {
    links: &'a [Link],
    wlans: &'a [Wlan],
    names: Vec<&'a str>,
    nodes: HashMap<&'a str, Node>,
    /// Links and wlans by name.
    by_name: HashMap<&'a str, LinkOrWlan>,
    /// Outgoing hops of each node, in the order of definition: links, then wlans.
    ways: Vec<Vec<(Hop, Node)>>,
    written: HashMap<(Node, Node), Vec<Hop>>,
}

impl<'a> Network<'a> {
    /// Builds the network and resolves the configured routes.
    ///
    /// # Errors
    /// A route over unknown or disconnected links or nodes, or a duplicate route.
    pub fn new(links: &'a [Link], wlans: &'a [Wlan], routes: &[Route]) -> Result<Self, Problem> {
        let mut network = Self {
            links,
            wlans,
            names: Vec::new(),
            nodes: HashMap::new(),
            by_name: HashMap::new(),
            ways: Vec::new(),
            written: HashMap::new(),
        };
        for (index, link) in links.iter().enumerate() {
            network.by_name.insert(&link.name, LinkOrWlan::Link(index as u32));
            let [from, to] = [&link.ends[0], &link.ends[1]].map(|end| network.add(end));
            let hop = |way| Hop::Link { link: index as u32, direction: way };
            network.ways[from as usize].push((hop(LinkDirection::Forward), to));
            network.ways[to as usize].push((hop(LinkDirection::Reverse), from));
        }
        for (index, wlan) in wlans.iter().enumerate() {
            network.by_name.insert(&wlan.name, LinkOrWlan::Wlan(index as u32));
            network.join_stations(index as u32, wlan);
        }
        for (index, route) in routes.iter().enumerate() {
            let laid = network.lay_written(route);
            let (ends, path) = laid.map_err(|problem| problem.within_element("route", index))?;
            if network.written.insert(ends, path).is_some() {
                let message = format!("a second route from \"{}\" to \"{}\"", route.from, route.to);
                return Err(Problem::new(message).within_element("route", index));
            }
        }
        Ok(network)
    }

    fn join_stations(&mut self, index: u32, wlan: &'a Wlan) {
        let stations: Vec<Node> =
            wlan.config.stations.iter().map(|station| self.add(station)).collect();
        for (from, node) in stations.iter().enumerate() {
            for (to, other) in stations.iter().enumerate() {
                if wlan.can_receive(from, to) {
                    let hop = Hop::Wlan { wlan: index, from: from as u16, to: to as u16 };
                    self.ways[*node as usize].push((hop, *other));
                }
            }
        }
    }

    fn add(&mut self, name: &'a str) -> Node {
        *self.nodes.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.ways.push(Vec::new());
            self.names.len() as Node - 1
        })
    }

    /// Refuses the name of a node that does not exist.
    ///
    /// # Errors
    /// No node has that name; the error is at `key`.
    pub fn check_node(&self, name: &str, key: &str) -> Result<(), Problem> {
        self.node(name, key).map(|_| ())
    }

    fn node(&self, name: &str, key: &str) -> Result<Node, Problem> {
        self.nodes.get(name).copied().ok_or_else(|| {
            Problem::new(format!(
                "unknown node \"{name}\"{} (nodes are the ends of links and the \
                 stations of wlans: {})",
                did_you_mean(name, self.names.iter().copied()),
                join_names(self.names.iter().copied())
            ))
            .within(key)
        })
    }

    fn ends(&self, from: &str, to: &str) -> Result<(Node, Node), Problem> {
        let ends = (self.node(from, "from")?, self.node(to, "to")?);
        if ends.0 == ends.1 {
            let message = format!("leads from \"{from}\" to itself: name two different nodes");
            return Err(Problem::new(message).within("to"));
        }
        Ok(ends)
    }

    fn lay_written(&self, route: &Route) -> Result<((Node, Node), Vec<Hop>), Problem> {
        let ends = self.ends(&route.from, &route.to)?;
        let refuse = |message: String| Err(Problem::new(message).within("via"));
        let mut at = ends.0;
        let mut passed = HashSet::from([at]);
        let mut path = Vec::with_capacity(route.via.len());
        let mut via = Via { network: self, names: &route.via, to: ends.1 };
        while let Some(step) = via.next_hop(at) {
            let (hop, next) = step.map_err(|problem| problem.within("via"))?;
            path.push(hop);
            at = next;
            if !passed.insert(at) {
                return refuse(format!("passes \"{}\" twice", self.names[at as usize]));
            }
        }
        if at != ends.1 {
            let end = self.names[at as usize];
            return refuse(format!("ends at \"{end}\", not at \"{}\"", route.to));
        }
        if path.len() > HOPS_MAX {
            return Err(too_long(path.len()).within("via"));
        }
        Ok((ends, path))
    }

    /// Computes both paths of every flow.
    ///
    /// # Errors
    /// Unknown or disconnected nodes, and paths of too many hops.
    pub fn compute_paths(&self, flows: &mut [Flow]) -> Result<(), Problem> {
        let mut ends = Vec::with_capacity(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            let found = self.ends(&flow.from, &flow.to);
            ends.push(found.map_err(|problem| problem.within_element("flow", index))?);
        }
        // Flows that start from the same hub are computed together and share one search, so that
        // the number of searches does not grow with the number of flows.
        let mut order: Vec<usize> = (0..flows.len()).collect();
        order.sort_by_key(|index| self.hub(ends[*index].0).0);
        let mut search = Search::new(self);
        let mut refused: Option<usize> = None;
        for index in order {
            let (from, to) = ends[index];
            match self.path(from, to, &mut search) {
                Some(path) if path.len() <= HOPS_MAX => {
                    self.check_choice(&path)
                        .map_err(|problem| problem.within_element("flow", index))?;
                    let back = self.written.get(&(to, from)).cloned();
                    flows[index].reverse_path = back.unwrap_or_else(|| reversed(&path));
                    flows[index].forward_path = path;
                }
                _ => refused = Some(refused.map_or(index, |first| first.min(index))),
            }
        }
        let Some(index) = refused else { return Ok(()) };
        let (from, to) = ends[index];
        Err(self.refusal(from, to).within("to").within_element("flow", index))
    }

    /// Refuses a path over a wlan if another wlan connects the same two stations, since the choice
    /// is ambiguous. A configured route resolves the ambiguity.
    fn check_choice(&self, path: &[Hop]) -> Result<(), Problem> {
        if self.wlans.len() < 2 || self.written.values().any(|written| written == path) {
            return Ok(());
        }
        for hop in path {
            let Hop::Wlan { wlan, from, to } = *hop else { continue };
            let stations = &self.wlans[wlan as usize].config.stations;
            let [from, to] = [from, to].map(|station| &stations[usize::from(station)]);
            let [from_node, to_node] = [from, to].map(|name| self.nodes[name.as_str()]);
            let others: Vec<&str> =
                self.wlans_between(from_node, to_node).map(|(name, _)| name).collect();
            if others.len() > 1 {
                return Err(Problem::new(format!(
                    "both \"{from}\" and \"{to}\" are stations of {}: say with a [[route]] which \
                     of them packets pass",
                    join_names(others.iter().copied())
                )));
            }
        }
        Ok(())
    }

    /// Hops of all wlans from one node to another.
    fn wlans_between(&self, from: Node, to: Node) -> impl Iterator<Item = (&'a str, Hop)> {
        self.ways[from as usize].iter().filter(move |(_, next)| *next == to).filter_map(
            |(hop, _)| match hop {
                Hop::Wlan { wlan, .. } => Some((self.wlans[*wlan as usize].name.as_str(), *hop)),
                Hop::Link { .. } => None,
            },
        )
    }

    fn path(&self, from: Node, to: Node, search: &mut Search) -> Option<Vec<Hop>> {
        if let Some(path) = self.written.get(&(from, to)) {
            return Some(path.clone());
        }
        let (hub, first) = self.hub(from);
        search.start(hub);
        let mut path = search.path(to)?;
        path.extend(first);
        path.reverse();
        Some(path)
    }

    /// Path from one node to another, as a flow's data would take it; `None` if there is none, it
    /// has too many hops, or a name is unknown.
    pub fn path_between(&self, from: &str, to: &str) -> Option<Vec<Hop>> {
        let (from, to) = self.ends(from, to).ok()?;
        let path = self.path(from, to, &mut Search::new(self))?;
        (path.len() <= HOPS_MAX).then_some(path)
    }

    /// Error for two nodes that cannot be joined.
    fn refusal(&self, from: Node, to: Node) -> Problem {
        let mut search = Search::new(self);
        if let Some(path) = self.path(from, to, &mut search) {
            return too_long(path.len());
        }
        let reached: Vec<&Node> = search.reached.iter().filter(|node| **node != from).collect();
        let leads = if reached.is_empty() {
            "no link and no wlan leads away from there".to_owned()
        } else {
            let names = join_names(reached.iter().map(|node| self.names[**node as usize]));
            format!("links and wlans lead from there to {names} only")
        };
        let [from, to] = [from, to].map(|node| self.names[node as usize]);
        Problem::new(format!("no way from \"{from}\" to \"{to}\": {leads}"))
    }

    /// Node at which the search for paths from a node starts. A node with a single link uses the
    /// search of its neighbour, the hub, because all its paths lead over that neighbour.
    fn hub(&self, node: Node) -> (Node, Option<Hop>) {
        match self.ways[node as usize].as_slice() {
            [(hop, next)] => (*next, Some(*hop)),
            _ => (node, None),
        }
    }
}

/// Breadth-first search for the paths of fewest hops from a root. Of several paths with the same
/// number of hops, the one whose hops are defined first in the file is taken; paths are compared
/// hop by hop from the root. The search is resumed when the path to a further node is requested.
struct Search<'a> {
    network: &'a Network<'a>,
    root: Node,
    /// For each reached node except the root, the last hop of its path, and the node at which this
    /// hop begins.
    tree: Vec<Option<(Hop, Node)>>,
    /// Nodes in the order in which the search reached them; those before `next` have been expanded.
    reached: Vec<Node>,
    next: usize,
}

impl<'a> Search<'a> {
    fn new(network: &'a Network<'a>) -> Self {
        let tree = vec![None; network.names.len()];
        Self { network, root: Node::MAX, tree, reached: Vec::new(), next: 0 }
    }

    fn start(&mut self, root: Node) {
        if self.root == root {
            return;
        }
        for node in self.reached.drain(..) {
            self.tree[node as usize] = None;
        }
        self.root = root;
        self.reached.push(root);
        self.next = 0;
    }

    /// Hops to a node, the last one first; `None` if the node is not reachable.
    fn path(&mut self, to: Node) -> Option<Vec<Hop>> {
        while to != self.root && self.tree[to as usize].is_none() {
            let at = *self.reached.get(self.next)?;
            self.next += 1;
            for (hop, next) in &self.network.ways[at as usize] {
                if *next != self.root && self.tree[*next as usize].is_none() {
                    self.tree[*next as usize] = Some((*hop, at));
                    self.reached.push(*next);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while let Some((hop, before)) = self.tree[at as usize] {
            path.push(hop);
            at = before;
        }
        Some(path)
    }
}

fn reversed(path: &[Hop]) -> Vec<Hop> {
    path.iter().rev().map(|hop| hop.reversed()).collect()
}

fn too_long(hops: usize) -> Problem {
    Problem::new(format!("{hops} hops: at most {HOPS_MAX} can be counted"))
}

impl Scenario {
    /// Default path of packets from one node to another; `None` if there is no path, or if both
    /// nodes are the same.
    pub fn path_between(&self, from: &str, to: &str) -> Option<Vec<Hop>> {
        let network = Network::new(&self.links, &self.wlans, &self.routes);
        network.expect("the routes have been checked before").path_between(from, to)
    }
}
