//! Flows that consist of several legs, and the proxies that connect the legs.

use super::Engine;
use crate::flow::{Context, Flow};
use crate::plan::{Plan, Side};
use std::ops::Range;

/// Legs of one path from a sender to a receiver, connected by proxies.
#[derive(Debug, Clone)]
pub struct LegChain {
    /// Flow index of the leg at the sender.
    pub sender_leg: u32,
    /// Flow index of the leg at the receiver.
    pub receiver_leg: u32,
    /// Indices of the proxies between the legs, from the sender to the receiver.
    proxies: Range<usize>,
}

/// Creates the chains of legs of a plan, and records in each leg the chain that it belongs to.
pub(super) fn create_leg_chains(plan: &Plan, flows: &mut [Flow]) -> Vec<LegChain> {
    let mut chains: Vec<LegChain> = Vec::new();
    for (index, proxy) in plan.proxies.iter().enumerate() {
        let [from, to] = proxy.legs;
        flows[from as usize].end_at_proxy();
        flows[to as usize].begin_at_proxy();
        match chains.last_mut() {
            Some(chain) if chain.receiver_leg == from => {
                chain.receiver_leg = to;
                chain.proxies.end = index + 1;
            }
            _ => chains.push(LegChain {
                sender_leg: from,
                receiver_leg: to,
                proxies: index..index + 1,
            }),
        }
    }
    for (index, chain) in chains.iter().enumerate() {
        for flow in std::iter::once(chain.sender_leg)
            .chain(plan.proxies[chain.proxies.clone()].iter().map(|proxy| proxy.legs[1]))
        {
            flows[flow as usize].join_chain(index as u32);
        }
    }
    chains
}

impl Engine<'_> {
    /// Handles a flow whose connection has closed, or that has a proxy as an endpoint.
    #[cold]
    pub(super) fn handle_closed_or_proxied(&mut self, index: u32) {
        if self.flows[index as usize].has_closed() {
            self.note_close(index);
        }
        if let Some(chain) = self.flows[index as usize].chain() {
            // A proxy that forwards data frees buffer space, so the proxy before it may be able to
            // forward more at the same instant. The step is repeated until nothing changes.
            while self.run_proxies(chain) {}
            self.note_undelivered(chain);
        }
    }

    /// Forwards data through the proxies of a chain; true if anything has changed.
    fn run_proxies(&mut self, chain: u32) -> bool {
        let mut changed = false;
        for proxy in self.chains[chain as usize].proxies.clone() {
            let (flows, tcps, key) = (&self.plan.flows, &self.tcps, self.key);
            let mut context = Context { flows, tcps, key, recorder: &mut self.recorder };
            let first_leg = self.proxies[proxy].plan().legs[0];
            let acked = self.flows[first_leg as usize].last_ack_sent();
            let touched = self.proxies[proxy].run(self.now, &mut self.flows, &mut context);
            let legs = self.proxies[proxy].plan().legs;
            for (number, side) in [(0, Side::Receiver), (1, Side::Sender)] {
                if touched[number] {
                    changed = true;
                    self.transmit_out_of_line(legs[number], side);
                    if side == Side::Receiver {
                        self.flows[legs[number] as usize].note_delayed_ack(self.now, acked);
                    }
                }
                if self.flows[legs[number] as usize].has_closed() {
                    changed = true;
                    self.note_close(legs[number]);
                }
            }
        }
        changed
    }

    fn note_undelivered(&mut self, chain: u32) {
        let LegChain { sender_leg, receiver_leg, .. } = self.chains[chain as usize];
        let acked = self.flows[sender_leg as usize].acked_bytes();
        let last = &self.flows[receiver_leg as usize];
        let delivered = last.read_bytes();
        let is_complete = last.record.finish().is_some();
        let undelivered = &mut self.flows[sender_leg as usize].record.counters.undelivered;
        if is_complete {
            undelivered.unset(self.now);
        } else {
            // If acknowledgments were lost, the receiver may have read more than the sender knows
            // to be acknowledged; the difference is then 0.
            undelivered.set(self.now, acked.saturating_sub(delivered));
        }
    }
}
