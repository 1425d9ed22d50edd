//! The flows of a capture.

use super::Flow;
use super::packet_log::{Observed, WatchedFlows};
use crate::answer;
use crate::packet::{Endpoint, Packet};
use std::collections::HashMap;

/// Number of flows that are found without a look-up by their endpoints.
const RECENT: usize = 32;

/// Flows, found by their endpoints.
#[derive(Default)]
pub struct Flows {
    index: HashMap<(Endpoint, Endpoint), usize>,
    flows: Vec<Flow>,
    /// Indices of the last packets' flows, by their ports. The next packet often belongs to one of
    /// them, and need not be looked up then.
    recent: [usize; RECENT],
    /// Number of the flow whose time–sequence diagram is requested, if any.
    pub diagram_of: Option<usize>,
    /// Flows whose paths are measured.
    pub watched: WatchedFlows,
}

impl Flows {
    /// Handles a segment of any flow. Returns the index of the flow; none if the capture itself
    /// duplicated the segment.
    pub fn handle_packet(&mut self, packet: &Packet) -> Option<usize> {
        let (one, other) = (packet.source, packet.destination);
        // Both directions of a connection have the same key.
        let key = || if one <= other { (one, other) } else { (other, one) };
        let count = self.flows.len();
        let recent = &mut self.recent[usize::from(one.port ^ other.port) % RECENT];
        let mut index = *recent;
        if !self.flows.get(index).is_some_and(|flow| flow.is_between(one, other)) {
            index = *self.index.entry(key()).or_insert(count);
        }
        // The endpoints have opened another connection, to which later packets belong.
        if index < count && self.flows[index].is_other(packet) {
            self.index.insert(key(), count);
            index = count;
        }
        if index == count {
            self.flows.push(Flow::new(packet));
            if self.diagram_of == Some(count + 1) {
                self.flows[index].recorders = Some(Box::default());
            }
            if matches!(self.watched, WatchedFlows::All)
                || self.watched == WatchedFlows::Flow(count + 1)
            {
                self.flows[index].log_packets();
            }
        }
        *recent = index;
        self.flows[index].push(packet).then_some(index)
    }

    /// Diagnoses in the order of the flows' first packets, and the packets of watched flows by the
    /// index of the flow.
    pub fn finish(self) -> (Vec<answer::Flow>, HashMap<usize, Observed>) {
        let mut watched = HashMap::new();
        let one = |(index, mut flow): (usize, Flow)| {
            flow.handle_held(None);
            let (answer, observed) = flow.finish(index + 1);
            watched.extend(observed.map(|observed| (index, observed)));
            answer
        };
        let answers = self.flows.into_iter().enumerate().map(one).collect();
        (answers, watched)
    }
}
