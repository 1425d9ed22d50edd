//! Relays on a flow's path, and their positions.

use crate::Relay;
use crate::scenario::{Flow, Hop, Link, LinkDirection, Scenario};
use crate::wlan::Wlan;

/// Relay on a flow's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelayPosition {
    /// Index into [`crate::Scenario::relays`].
    pub relay: usize,
    /// Number of hops before the relay on the path of the data.
    pub data_hops: usize,
    /// Number of hops before the relay on the path of the acknowledgments.
    pub ack_hops: usize,
    /// Side of the relay on which the data sender is; `None` if the relay has no lossy hop.
    pub side: Option<Side>,
}

/// Side of a relay on which the data sender is, as given by the direction in which the data pass
/// the lossy hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The data leave the relay over the lossy hop.
    Toward,
    /// The data reach the relay over the lossy hop.
    From,
}

/// Links and wlans by index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinksAndWlans<'a> {
    pub links: &'a [Link],
    pub wlans: &'a [Wlan],
}

impl<'a> LinksAndWlans<'a> {
    /// Node to which a hop leads.
    fn end(&self, hop: &Hop) -> &'a str {
        match *hop {
            Hop::Link { link, direction: way } => {
                let [left, right] = &self.links[link as usize].ends;
                match way {
                    LinkDirection::Forward => right,
                    LinkDirection::Reverse => left,
                }
            }
            Hop::Wlan { wlan, to, .. } => {
                &self.wlans[wlan as usize].config.stations[usize::from(to)]
            }
        }
    }

    /// Number of hops to a node on a path; `None` if the node is not an intermediate node of the
    /// path.
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

    /// Side of the relay on which the data sender is, if data and acknowledgments both pass `link`
    /// as the hop just before or just after the relay, in opposite directions; `None` otherwise.
    /// `forward` and `reverse` are the numbers of hops before the relay on the two paths.
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

    /// True if the link or wlan of this name is at the node; `None` if there is no such link or
    /// wlan.
    pub fn is_attached(&self, link: &str, node: &str) -> Option<bool> {
        let of_link = |it: &&Link| it.name == link;
        let of_wlan = |it: &&Wlan| it.name == link;
        if let Some(link) = self.links.iter().find(of_link) {
            return Some(link.ends.iter().any(|end| end == node));
        }
        let wlan = self.wlans.iter().find(of_wlan)?;
        Some(wlan.config.stations.iter().any(|station| station == node))
    }

    /// Relays that serve a flow, in the order in which its data pass them.
    pub fn relay_positions(&self, relays: &[Relay], flow: &Flow) -> Vec<RelayPosition> {
        if flow.udp().is_some() {
            // Relays do not handle datagrams.
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
            Some(RelayPosition { relay: index, data_hops: forward, ack_hops: reverse, side })
        };
        let mut passages: Vec<RelayPosition> =
            relays.iter().enumerate().filter_map(passage).collect();
        passages.sort_by_key(|passage| passage.data_hops);
        passages
    }
}

impl Scenario {
    /// Relays that serve a flow, in the order in which its data pass them.
    pub fn relay_positions(&self, flow: &Flow) -> Vec<RelayPosition> {
        LinksAndWlans { links: &self.links, wlans: &self.wlans }.relay_positions(&self.relays, flow)
    }
}
