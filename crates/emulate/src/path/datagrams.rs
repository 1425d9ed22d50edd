//! UDP flows as observed on the path. The simulator's accounting is updated from packets.

use super::InspectedPacket;
use crate::protocol::first_hop;
use retx_record::datagrams::DatagramCounters;
use retx_sim::Transmission;
use retx_sim::datagram::{Arrival, DatagramAccounting};
use retx_sim::engine::ExternalPacket;
use retx_units::Time;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Datagram in flight.
#[derive(Debug, Clone, Copy)]
pub struct DatagramState {
    /// Index among the UDP flows.
    flow: u32,
    number: u64,
    sent: Time,
    payload_bytes: u32,
    /// True for a copy made by the network.
    is_copy: bool,
}

impl DatagramState {
    /// Copy made by the network.
    #[must_use]
    pub const fn network_copy(self) -> Self {
        Self { is_copy: true, ..self }
    }
}

/// State of all UDP flows.
#[derive(Debug, Default)]
pub struct Datagrams {
    /// Index of the first UDP flow among all flows.
    first: u32,
    flows: Vec<Flow>,
    /// Number of flows that have ended.
    pub finished_flows: usize,
}

#[derive(Debug, Default)]
struct Flow {
    accounting: DatagramAccounting,
    /// Number of packets sent so far.
    sent: u64,
    /// Number of packets passed to the receiving host.
    handed: u64,
    /// Time of the flow's most recent event.
    latest: Time,
    finish: Option<Time>,
    /// Socket on which the fates of the source's packets in the first hop are reported to the
    /// source; `None` if the source needs no reports.
    source: Option<UnixStream>,
}

/// Observations of a UDP flow.
#[derive(Debug, Clone)]
pub struct DatagramObservations {
    /// Counters of events after the warm-up.
    pub counters: DatagramCounters,
    /// Time at which the last packet of a finite flow arrived or was lost; `None` before.
    pub finish: Option<Time>,
    /// Number of packets passed to the receiving host during the whole run.
    pub packets_delivered: u64,
}

impl Datagrams {
    /// Creates the state of flows whose first index is `first`. `sources` are the sockets on which
    /// the fates of each source's packets in the first hop are reported to it.
    pub fn new(first: usize, sources: Vec<Option<OwnedFd>>) -> Self {
        let flow = |source: Option<OwnedFd>| {
            let source = source.map(UnixStream::from);
            if let Some(source) = &source {
                // A source that does not read its reports has ended, so a write must not wait for
                // it.
                source.set_nonblocking(true).expect("a socket");
            }
            Flow { source, ..Flow::default() }
        };
        let flows = sources.into_iter().map(flow).collect();
        Self { first: first as u32, flows, finished_flows: 0 }
    }

    /// Handles a packet. If one of these flows sent it, returns the packet as the engine needs it,
    /// and the state to keep until the packet leaves; otherwise `None`.
    pub fn on_sent<'s>(
        &mut self,
        now: Time,
        seen: &'s InspectedPacket,
    ) -> Option<(ExternalPacket<'s>, DatagramState)> {
        let index = seen.flow.checked_sub(self.first)?;
        let flow = self.flows.get_mut(index as usize)?;
        flow.sent += 1;
        flow.accounting.count_sent();
        let arriving = ExternalPacket {
            route: seen.route,
            flow: seen.flow,
            destination: seen.destination,
            segment: &seen.segment,
            bytes: seen.bytes,
            ecn: seen.ecn,
            position: flow.sent,
            // UDP has no sequence numbers. As in a simulation, the field contains the time of
            // sending.
            copy_number: now.as_nanos(),
            connection: 0,
            transmission: Transmission::First,
            table_row: None,
        };
        let payload_bytes = seen.segment.payload_bytes;
        let number = flow.sent;
        Some((
            arriving,
            DatagramState { flow: index, number, sent: now, payload_bytes, is_copy: false },
        ))
    }

    /// Handles a packet that has reached its host; `is_duplicate` is true if another copy has
    /// arrived before.
    pub fn on_delivered(&mut self, now: Time, packet: &DatagramState, is_duplicate: bool) {
        let DatagramState { number, sent, payload_bytes, .. } = *packet;
        let flow = &mut self.flows[packet.flow as usize];
        // The receiving program may read fewer packets. `EmulatedDatagrams::new` compares the
        // number that it reports with this one.
        flow.handed += 1;
        flow.latest = now;
        flow.accounting.count_arrived(now, Arrival { number, sent, payload_bytes, is_duplicate });
    }

    /// Handles a packet that was dropped. `lost` is true if no copy of it arrives.
    pub fn on_dropped(
        &mut self,
        now: Time,
        packet: &DatagramState,
        lost: bool,
        in_first_hop: bool,
    ) {
        let flow = &mut self.flows[packet.flow as usize];
        if lost {
            flow.latest = now;
            flow.accounting.count_lost();
        }
        if in_first_hop && !packet.is_copy {
            // A full queue drops a packet when it arrives; the channel loses a packet later, at the
            // end of its transmission.
            let refused = packet.sent == now;
            flow.report(if refused { first_hop::REFUSED } else { first_hop::LOST });
        }
    }

    /// Handles a packet that has passed the first hop.
    pub fn on_passed_first_hop(&mut self, packet: &DatagramState) {
        if !packet.is_copy {
            self.flows[packet.flow as usize].report(first_hop::PASSED);
        }
    }

    /// Determines which flows have ended. `final_packet_counts` contains the number of packets of
    /// each flow that has sent its last packet.
    pub fn mark_ended(&mut self, final_packet_counts: &BTreeMap<usize, u64>) {
        for (flow, packets) in final_packet_counts {
            let flow = &mut self.flows[*flow];
            // The worker's report may arrive before the last packets have been read from the
            // device.
            let is_over = flow.sent >= *packets && flow.accounting.all_fates_known();
            if flow.finish.is_none() && is_over {
                flow.finish = Some(flow.latest);
                self.finished_flows += 1;
            }
        }
    }

    /// Begins statistics, at the end of the warm-up.
    pub fn begin_statistics(&mut self) {
        for flow in &mut self.flows {
            flow.accounting.counters = DatagramCounters::default();
        }
    }

    /// Observations of each flow.
    pub fn into_observations(self) -> Vec<DatagramObservations> {
        let seen = |flow: Flow| DatagramObservations {
            counters: flow.accounting.counters,
            finish: flow.finish,
            packets_delivered: flow.handed,
        };
        self.flows.into_iter().map(seen).collect()
    }
}

impl Flow {
    fn report(&mut self, outcome: u8) {
        if let Some(source) = &mut self.source {
            // An error means that the source has ended, and can be ignored.
            let _ = source.write(&[outcome]);
        }
    }
}
