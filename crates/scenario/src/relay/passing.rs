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

    /// The relays that serve a flow, in the order of its data.
    pub fn passages(&self, relays: &[Relay], flow: &Flow) -> Vec<Passage> {
        if flow.tcp().is_none() {
            return Vec::new();
        }
        let passage = |(index, relay): (usize, &Relay)| {
            if relay.flows().is_some_and(|names| !names.contains(&flow.name)) {
                return None;
            }
            let forward = self.hops_to(&flow.forward_path, relay.node())?;
            let reverse = self.hops_to(&flow.reverse_path, relay.node())?;
            Some(Passage { relay: index, forward, reverse })
        };
        let mut passages: Vec<Passage> = relays.iter().enumerate().filter_map(passage).collect();
        passages.sort_by_key(|passage| passage.forward);
        passages
    }
}
