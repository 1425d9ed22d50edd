//! Which relays a flow passes, and where on its way.

use super::Relay;
use crate::scenario::{Flow, Hop, Link, Way};
use crate::wlan::Wlan;

/// A relay on a flow's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Index into [`crate::Scenario::relays`].
    pub relay: usize,
    /// Hops of the way of the data before it.
    pub forward: usize,
    /// Hops of the way of the acknowledgments before it.
    pub reverse: usize,
    /// On which side of it its lossy hop is, if it has one.
    pub side: Option<Side>,
}

/// Where a flow's data go, as seen from a relay before or behind a lossy hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Over the hop.
    Toward,
    /// They come from there.
    From,
}

/// Links and wlans.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Map<'a> {
    pub links: &'a [Link],
    pub wlans: &'a [Wlan],
}

impl<'a> Map<'a> {
    /// The node to which a hop leads.
    fn end(&self, hop: &Hop) -> &'a str {
        match *hop {
            Hop::Link { link, way } => {
                let [left, right] = &self.links[link as usize].ends;
                match way {
                    Way::Forward => right,
                    Way::Reverse => left,
                }
            }
            Hop::Wlan { wlan, to, .. } => {
                &self.wlans[wlan as usize].config.stations[usize::from(to)]
            }
        }
    }

    /// How many hops lead to a node on a way; `None` where it does not lie between the ends.
    pub fn hops_to(&self, path: &[Hop], node: &str) -> Option<usize> {
        let between = path.split_last()?.1;
        between.iter().position(|hop| self.end(hop) == node).map(|before| before + 1)
    }

    fn name(&self, hop: &Hop) -> &'a str {
        match *hop {
            Hop::Link { link, .. } => &self.links[link as usize].name,
            Hop::Wlan { wlan, .. } => &self.wlans[wlan as usize].name,
        }
    }

    /// On which side of a node, so many hops from the beginning of either way, a flow passes a
    /// link in both directions; `None` where it does not.
    fn side(&self, link: &str, flow: &Flow, (forward, reverse): (usize, usize)) -> Option<Side> {
        let is = |hop: &Hop| self.name(hop) == link;
        let [data, acks] = [&flow.forward_path, &flow.reverse_path];
        if is(&data[forward]) && is(&acks[reverse - 1]) {
            Some(Side::Toward)
        } else if is(&data[forward - 1]) && is(&acks[reverse]) {
            Some(Side::From)
        } else {
            None
        }
    }

    /// True when a link or a wlan of this name is at the node.
    pub fn is_at(&self, link: &str, node: &str) -> Option<bool> {
        let of_link = |it: &&Link| it.name == link;
        let of_wlan = |it: &&Wlan| it.name == link;
        if let Some(link) = self.links.iter().find(of_link) {
            return Some(link.ends.iter().any(|end| end == node));
        }
        let wlan = self.wlans.iter().find(of_wlan)?;
        Some(wlan.config.stations.iter().any(|station| station == node))
    }

    /// The relays that serve a flow, in the order of its data.
    pub fn passages(&self, relays: &[Relay], flow: &Flow) -> Vec<Passage> {
        if flow.udp().is_some() {
            // Nothing is to be split or repeated there.
            return Vec::new();
        }
        if flow.tcp().is_none() {
            return Vec::new();
        }
        let passage = |(index, relay): (usize, &Relay)| {
            if relay.flows().is_some_and(|names| !names.contains(&flow.name)) {
                return None;
            }
            let forward = self.hops_to(&flow.forward_path, relay.node())?;
            let reverse = self.hops_to(&flow.reverse_path, relay.node())?;
            let side = match relay.link() {
                None => None,
                Some(link) => Some(self.side(link, flow, (forward, reverse))?),
            };
            Some(Passage { relay: index, forward, reverse, side })
        };
        let mut passages: Vec<Passage> = relays.iter().enumerate().filter_map(passage).collect();
        passages.sort_by_key(|passage| passage.forward);
        passages
    }
}
