//! What the way between the hosts has seen of each flow of UDP: the simulator's books, kept from
//! packets.

use super::Seen;
use crate::protocol::first_hop;
use retx_record::datagrams::DatagramCounters;
use retx_sim::Transmission;
use retx_sim::datagram::{Arrival, Books};
use retx_sim::engine::Arriving;
use retx_units::Time;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// A datagram under way.
#[derive(Debug, Clone, Copy)]
pub struct UnderWay {
    /// Its flow, by its number among those of UDP.
    flow: u32,
    number: u64,
    sent: Time,
    payload_bytes: u32,
    /// The network has made it.
    is_copy: bool,
}

impl UnderWay {
    /// What the network has made of it.
    #[must_use]
    pub const fn copied(self) -> Self {
        Self { is_copy: true, ..self }
    }
}

/// What is known of all flows of UDP.
#[derive(Debug, Default)]
pub struct Datagrams {
    /// The number of the first of them among all flows.
    first: u32,
    flows: Vec<Flow>,
    /// Flows that have come to their end.
    pub finished: usize,
}

#[derive(Debug, Default)]
struct Flow {
    books: Books,
    /// Packets sent so far.
    sent: u64,
    /// Packets given to the receiving host.
    handed: u64,
    /// When something was heard of a packet last.
    latest: Time,
    finish: Option<Time>,
    /// Where the source is told of its first hop.
    source: Option<UnixStream>,
}

/// What has been seen of a flow.
#[derive(Debug, Clone)]
pub struct DatagramSight {
    /// From the end of the warm-up on.
    pub counters: DatagramCounters,
    /// When the last packet of a flow that ends had arrived or was lost.
    pub finish: Option<Time>,
    /// Packets given to the receiving host, of the whole run.
    pub handed: u64,
}

impl Datagrams {
    /// Nothing seen yet, of flows that follow so many others. `sources` are told of their first
    /// hops.
    pub fn new(first: usize, sources: Vec<Option<OwnedFd>>) -> Self {
        let flow = |source: Option<OwnedFd>| {
            let source = source.map(UnixStream::from);
            if let Some(source) = &source {
                // What a source does not take in time it does not need: it is gone.
                source.set_nonblocking(true).expect("a socket");
            }
            Flow { source, ..Flow::default() }
        };
        let flows = sources.into_iter().map(flow).collect();
        Self { first: first as u32, flows, finished: 0 }
    }

    /// A packet is sent, if it is one of these flows': returns it as the engine takes it, and what
    /// is to be known of it later.
    pub fn arriving<'s>(&mut self, now: Time, seen: &'s Seen) -> Option<(Arriving<'s>, UnderWay)> {
        let index = seen.flow.checked_sub(self.first)?;
        let flow = self.flows.get_mut(index as usize)?;
        flow.sent += 1;
        flow.books.sent();
        let arriving = Arriving {
            route: seen.route,
            flow: seen.flow,
            to: seen.to,
            segment: &seen.segment,
            bytes: seen.bytes,
            ecn: seen.ecn,
            position: flow.sent,
            copy: now.as_nanos(),
            connection: 0,
            transmission: Transmission::First,
            row: None,
        };
        let payload_bytes = seen.segment.payload_bytes;
        let number = flow.sent;
        Some((arriving, UnderWay { flow: index, number, sent: now, payload_bytes, is_copy: false }))
    }

    /// A packet has reached its host; `again` when another of its copies came before.
    pub fn delivered(&mut self, now: Time, packet: &UnderWay, again: bool) {
        let UnderWay { number, sent, payload_bytes, .. } = *packet;
        let flow = &mut self.flows[packet.flow as usize];
        flow.handed += 1;
        flow.latest = now;
        flow.books.arrived(now, Arrival { number, sent, payload_bytes, again });
    }

    /// A packet was dropped; `lost` when no copy of it arrives.
    pub fn dropped(&mut self, now: Time, packet: &UnderWay, lost: bool, in_first_hop: bool) {
        let flow = &mut self.flows[packet.flow as usize];
        if lost {
            flow.latest = now;
            flow.books.lost();
        }
        if in_first_hop && !packet.is_copy {
            let turned_away = packet.sent == now;
            flow.tell(if turned_away { first_hop::TURNED_AWAY } else { first_hop::LOST });
        }
    }

    /// A packet has come through the first hop.
    pub fn passed_first_hop(&mut self, packet: &UnderWay) {
        if !packet.is_copy {
            self.flows[packet.flow as usize].tell(first_hop::PASSED);
        }
    }

    /// Notes which flows have come to their end, of those that have sent so many packets and send
    /// no more.
    pub fn settle(&mut self, all_sent: &BTreeMap<usize, u64>) {
        for (flow, packets) in all_sent {
            let flow = &mut self.flows[*flow];
            let is_over = flow.sent >= *packets && flow.books.are_settled();
            if flow.finish.is_none() && is_over {
                flow.finish = Some(flow.latest);
                self.finished += 1;
            }
        }
    }

    /// Statistics start now.
    pub fn begin_statistics(&mut self) {
        for flow in &mut self.flows {
            flow.books.counters = DatagramCounters::default();
        }
    }

    /// What has been seen of each flow.
    pub fn seen(self) -> Vec<DatagramSight> {
        let seen = |flow: Flow| DatagramSight {
            counters: flow.books.counters,
            finish: flow.finish,
            handed: flow.handed,
        };
        self.flows.into_iter().map(seen).collect()
    }
}

impl Flow {
    fn tell(&mut self, what: u8) {
        if let Some(source) = &mut self.source {
            // A source that has gone wants to know nothing.
            let _ = source.write(&[what]);
        }
    }
}
