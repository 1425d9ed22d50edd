//! External packets: real programs send them, and receive them after they have passed the simulated
//! network. An engine for external packets has no flows. Its clock is advanced by the caller that
//! hands packets in.
//!
//! Packets that leave the engine are queued in the order of departure. The id of a packet may be
//! reused once it has left, so the caller must empty the queue before the next packet enters.

use super::{Engine, RouteBuilder};
use crate::drop::PacketDrop;
use crate::endpoint::Endpoint;
use crate::options::{Options, RunError};
use crate::packet::{NONE, OtherCopies, Transmission};
use crate::plan::{Plan, Side};
use crate::source::Pace;
use retx_record::capture::DropReason;
use retx_record::tables::Tables;
use retx_units::Time;
use retx_wire::{Ecn, Segment};
use std::collections::VecDeque;

/// State of an engine for external packets.
#[derive(Debug, Default)]
pub(super) struct ExternalTraffic {
    /// Position of the first hop of each of the plan's routes in the engine's routes.
    starts: Vec<u32>,
    /// Payload of a full-sized segment of each TCP flow of the plan, bytes.
    smss: Vec<u32>,
    /// Number of UDP flows of the plan; their indices follow those of the TCP flows.
    datagrams: usize,
    events: VecDeque<ExternalEvent>,
}

/// Packet of a real program that enters the simulated network.
#[derive(Debug, Clone, Copy)]
pub struct ExternalPacket<'a> {
    /// Route: an index into [`Plan::routes`].
    pub route: u32,
    /// Flow: an index into [`Plan::flows`], followed by the indices of UDP flows; larger values
    /// mark packets that belong to no flow of the plan.
    pub flow: u32,
    /// Destination endpoint of the flow.
    pub destination: Side,
    /// TCP segment; for packets of other protocols only its payload length is used.
    pub segment: &'a Segment,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Position of the segment's first byte: SYN 0, first byte of data 1. For a datagram, its
    /// number.
    pub position: u64,
    /// Number of the packet in the order in which the flow's data sender has sent packets. For a
    /// datagram, its time of sending in nanoseconds.
    pub copy_number: u64,
    /// Number of the flow's connection, from 1.
    pub connection: u32,
    /// First transmission or retransmission.
    pub transmission: Transmission,
    /// Index of the packet's row in the table `segments` or `acks`.
    pub table_row: Option<u32>,
}

/// Event in the life of an external packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalEvent {
    /// The packet has reached the end of its route.
    Delivered {
        /// Id of the packet.
        id: u32,
        /// Time on the engine's clock.
        at: Time,
        /// Current ECN field.
        ecn: Ecn,
        /// True if another copy of the packet, made by the network, has arrived before.
        duplicate: bool,
        /// True if a relay has marked this acknowledgment, because the segment that it asks for
        /// was corrupted on a lossy link.
        loss_notice: bool,
    },
    /// The packet was dropped.
    Dropped {
        /// Id of the packet.
        id: u32,
        /// Place and reason.
        drop: PacketDrop,
        /// True if no copy of the packet, made by the network, has arrived or is in flight.
        lost: bool,
        /// True if it was dropped in the first hop of its route.
        in_first_hop: bool,
    },
    /// A relay has freed the last copy of a packet, so the packet is lost.
    GivenUp {
        /// Id of the packet.
        id: u32,
        /// Place and reason of the drop of the last other copy.
        drop: PacketDrop,
    },
    /// The packet has left the first hop of its route and is still in the network. Reported only
    /// for sources that keep a number of packets in that hop.
    PassedFirstHop {
        /// Id of the packet.
        id: u32,
    },
    /// The network has duplicated the packet; the original is still in the network.
    Copied {
        /// Id of the original.
        from: u32,
        /// Id of the copy.
        to: u32,
    },
}

impl<'a> Engine<'a> {
    /// Creates a run for external packets; the plan's flows are used only for recording.
    ///
    /// # Errors
    /// As for [`Engine::new`].
    pub fn for_external_packets(plan: &'a Plan, options: &Options) -> Result<Self, RunError> {
        let mut builder = RouteBuilder::default();
        let filled = |route: usize| {
            let saturates = |pace| matches!(pace, Pace::Saturating { .. });
            plan.datagrams.iter().any(|flow| flow.route as usize == route && saturates(flow.pace))
        };
        let routes = plan.routes.iter().enumerate();
        let starts =
            routes.map(|(index, hops)| builder.append_flow_route(hops, filled(index))).collect();
        let smss = |flow: &crate::plan::FlowPlan| {
            let tcp = &plan.tcps[flow.tcp as usize].config;
            // The timestamps option reduces the payload of each segment.
            tcp.mss - if tcp.timestamps { TIMESTAMP_BYTES.min(tcp.mss - 1) } else { 0 }
        };
        let smss = plan.flows.iter().map(smss).collect();
        let mut engine = Self::between(plan, options, builder, Vec::new(), Vec::new())?;
        engine.external = Some(Box::new(ExternalTraffic {
            starts,
            smss,
            datagrams: plan.datagrams.len(),
            events: VecDeque::new(),
        }));
        Ok(engine)
    }

    /// Enters an external packet, at `now` or at the time of the last event if that is later.
    /// Returns the packet's id, which is valid until the packet has left.
    ///
    /// # Panics
    /// If the engine is not for external packets, if [`Self::advance`] has not returned `None`, or
    /// if the run is over.
    pub fn enter_external(&mut self, now: Time, arriving: &ExternalPacket<'_>) -> u32 {
        assert!(!self.over, "the run is over");
        self.now = self.now.max(now);
        assert!(self.next_time() >= self.now, "events come before what arrives after them");
        let external = self.external.as_ref().expect("an engine for external packets");
        assert!(external.events.is_empty(), "events are fetched first");
        let first = external.starts[arriving.route as usize];
        self.counts.sent += 1;
        let (id, mut packet) = self.packets.insert(arriving.segment, arriving.ecn);
        packet.position = arriving.position;
        packet.set_copy_number(arriving.copy_number);
        packet.set_hop(first);
        packet.destination = Endpoint::new(arriving.flow, arriving.destination);
        packet.set_bytes(arriving.bytes);
        packet.connection = arriving.connection;
        packet.set_transmission(arriving.transmission);
        packet.set_table_row(arriving.table_row.unwrap_or(NONE));
        self.enter_first_hop(self.entering_stored(id));
        id
    }

    fn poll_event(&mut self) -> Option<ExternalEvent> {
        self.external.as_mut()?.events.pop_front()
    }

    /// Handles events up to `now`. Returns the first event that concerns an external packet; `None`
    /// once all events have been handled, or if the run is over.
    pub fn advance(&mut self, now: Time) -> Option<ExternalEvent> {
        loop {
            if let Some(event) = self.poll_event() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            if self.next_time() > now {
                break;
            }
            self.step();
        }
        self.now = self.now.max(now);
        None
    }

    /// Time of the next event.
    pub fn next_time(&mut self) -> Time {
        self.agenda.next_time().min(self.lanes.next_time())
    }

    /// Tables of the run, to which the caller adds values that only the endpoints know.
    pub const fn tables(&mut self) -> &mut Tables {
        &mut self.recorder.tables
    }

    /// Payload of a full-sized segment of a flow of the plan, bytes.
    ///
    /// # Panics
    /// If the engine is not for external packets.
    pub fn full_segment(&self, flow: u32) -> u32 {
        self.external.as_ref().expect("an engine for external packets").smss[flow as usize]
    }

    /// Records in the capture that the retransmission `copy` of a flow was necessary.
    pub fn was_necessary(&mut self, flow: u32, copy: u64) {
        if let Some(capture) = &mut self.recorder.capture {
            capture.mark_necessary(flow, copy);
        }
    }

    /// Handles a packet that has reached the end of its route.
    #[cold]
    fn leave(&mut self, id: u32) {
        let packet = self.packets.get(id);
        let (ecn, duplicate, loss_notice) =
            (packet.ecn(), packet.is_later_copy(), packet.has_loss_notice());
        self.packets.remove(id);
        let external = self.external.as_mut().expect("a packet that belongs to no flow");
        external.events.push_back(ExternalEvent::Delivered {
            id,
            at: self.now,
            ecn,
            duplicate,
            loss_notice,
        });
    }

    /// Handles the drop of an external packet.
    #[cold]
    pub(super) fn drop_external(&mut self, id: u32, drop: &PacketDrop) {
        let packet = self.packets.get(id);
        let external = self.external.as_mut().expect("a packet that belongs to no flow");
        let flow = packet.flow() as usize;
        if (external.smss.len()..external.smss.len() + external.datagrams).contains(&flow) {
            self.recorder.on_datagram_dropped(packet, drop);
        } else {
            let smss = external.smss.get(flow).copied().unwrap_or(u32::MAX);
            self.recorder.on_dropped(packet, smss, drop);
        }
        // A packet absorbed by a relay is not lost.
        let lost =
            packet.other_copies() == OtherCopies::None && drop.reason != DropReason::Suppressed;
        // Routes are stored one after another, so `starts` is sorted.
        let in_first_hop = external.starts.binary_search(&packet.hop()).is_ok();
        external.events.push_back(ExternalEvent::Dropped { id, drop: *drop, lost, in_first_hop });
        self.packets.remove(id);
    }

    /// Reports an external packet as lost: a relay has freed the last copy of it.
    #[cold]
    pub(super) fn report_external_loss(&mut self, id: u32, drop: &PacketDrop) {
        let Some(external) = self.external.as_mut() else { return };
        self.recorder.record_loss(self.packets.get(id), drop);
        external.events.push_back(ExternalEvent::GivenUp { id, drop: *drop });
    }

    /// Reports that an external packet has left its first hop. Returns false for any other
    /// packet, without a report.
    pub(super) fn report_first_hop(&mut self, id: u32) -> bool {
        let Some(external) = self.external.as_mut() else { return false };
        external.events.push_back(ExternalEvent::PassedFirstHop { id });
        true
    }

    /// Reports a copy that the network has made of a packet.
    pub(super) fn report_copy(&mut self, from: u32, to: u32) {
        if let Some(external) = &mut self.external {
            external.events.push_back(ExternalEvent::Copied { from, to });
        } else if self.packets.get(from).flow() as usize >= self.flows.len() {
            self.note_copy_of_datagram(to);
        }
    }

    /// Delivers a packet that belongs to no TCP flow.
    #[inline(never)]
    pub(super) fn deliver_non_tcp(&mut self, id: u32) {
        self.packets.record_end(id, true);
        if self.external.is_some() {
            self.recorder.on_delivered(self.now, self.packets.get(id));
            self.leave(id);
        } else {
            self.deliver_datagram(id);
        }
    }

    /// Handles the drop of a packet that belongs to no TCP flow.
    #[inline(never)]
    pub(super) fn drop_non_tcp(&mut self, id: u32, drop: &PacketDrop) {
        if self.external.is_some() {
            self.drop_external(id, drop);
        } else {
            self.drop_datagram(id, drop);
        }
    }
}

/// Length of the timestamps option, bytes: ten, and two of padding (RFC 7323 §3.2).
const TIMESTAMP_BYTES: u32 = 12;
