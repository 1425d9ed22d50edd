//! TCP flows as observed on the path.

mod flow;

use super::InspectedPacket;
use super::limits::Limiter;
use super::observed::{Acknowledgment, ObservedFlow};
use super::senders::Senders;
use flow::Flow;
use retx_record::flow::FlowCounters;
use retx_record::reason::Cause;
use retx_record::tables::Tables;
use retx_record::truth::SegmentCopy;
use retx_sim::Transmission;
use retx_sim::engine::ExternalPacket;
use retx_sim::path::mark_shared_bottlenecks;
use retx_sim::plan::Side;
use retx_units::Time;
use retx_wire::Flags;
use std::collections::BTreeMap;

/// State of a packet in flight, kept because the record of its flow needs it when the packet
/// leaves.
#[derive(Debug, Clone, Copy, Default)]
pub struct PacketState {
    /// Destination host.
    pub host: usize,
    /// TCP packet; `None` if the packet belongs to none of the scenario's TCP flows.
    packet: Option<TcpPacket>,
}

impl PacketState {
    /// State of a packet that belongs to no TCP flow.
    pub const fn without_flow(host: usize) -> Self {
        Self { host, packet: None }
    }
}

/// Packet of a TCP flow.
#[derive(Debug, Clone, Copy)]
struct TcpPacket {
    flow: u32,
    connection: u32,
    content: Content,
}

#[derive(Debug, Clone, Copy)]
enum Content {
    /// Segment that occupies sequence space of the data sender (data, SYN or FIN).
    Segment(SegmentCopy),
    /// Acknowledgment to the data sender.
    Ack(Acknowledgment),
}

/// State of all TCP flows.
#[derive(Debug, Default)]
pub struct Flows {
    flows: Vec<Flow>,
    /// Counters at the end of the warm-up.
    baseline: Vec<FlowCounters>,
    /// True if a sample is taken at each acknowledgment.
    every_ack: bool,
    /// For each pipe that is the bottleneck of several flows, the bytes that these flows have in
    /// flight.
    in_flight: Vec<u64>,
    /// Number of packets that have no destination host, or are not valid IPv4.
    pub unroutable: u64,
}

/// Tables to write, and sockets to query.
#[derive(Debug)]
pub struct Context<'a> {
    /// Recorded tables.
    pub tables: &'a mut Tables,
    /// Sockets of the senders.
    pub senders: &'a mut Senders,
}

impl Flows {
    /// Creates the state of flows over a network of `pipes`. The first argument gives each flow's
    /// opener, TCP, full segment size and limiter. With `every_ack` a sample is taken at each
    /// acknowledgment.
    pub fn new<'t>(
        flows: impl Iterator<Item = (Side, &'t retx_tcp::Config, u32, Limiter)>,
        pipes: usize,
        every_ack: bool,
    ) -> Self {
        let flow = |(index, (opener, tcp, smss, limiter))| {
            Flow::new(opener, ObservedFlow::new(index, tcp, smss), limiter)
        };
        let mut flows: Vec<Flow> = (0..).zip(flows).map(flow).collect();
        mark_shared_bottlenecks(flows.iter_mut().filter_map(|flow| flow.limiter.path_mut()), pipes);
        let in_flight = vec![0; pipes];
        let baseline = vec![FlowCounters::default(); flows.len()];
        Self { flows, baseline, every_ack, in_flight, unroutable: 0 }
    }

    /// Marks the sender of a flow as answering requests.
    pub fn mark_as_server(&mut self, flow: u32) {
        self.flows[flow as usize].observed.mark_as_server();
    }

    /// Makes each flow also record its limit over time.
    pub fn record_limit_histories(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.observed.record.record_limit_history());
    }

    /// Begins statistics, at the end of the warm-up.
    pub fn begin_statistics(&mut self, now: Time) {
        let flows = self.flows.iter_mut();
        self.baseline = flows.map(|flow| flow.observed.record.begin_statistics(now)).collect();
    }

    /// Ends the lives of the flows that have failed, at these times.
    pub fn note_failures(&mut self, failed: &BTreeMap<u32, Time>) {
        for (&index, &at) in failed {
            if let Some(flow) = self.flows.get_mut(index as usize) {
                flow.observed.record.note_failure(at);
            }
        }
    }

    /// Counters of each flow, from the end of the warm-up until now.
    pub fn counters_since_warmup(&mut self, now: Time) -> Vec<FlowCounters> {
        let flows = self.flows.iter_mut().zip(&self.baseline);
        flows
            .map(|(flow, start)| {
                flow.observed.record.counters.advance_to(now);
                flow.observed.record.counters.since(start)
            })
            .collect()
    }

    /// Records a packet that a host has sent. Returns the packet as the engine needs it, and the
    /// state to keep until it leaves.
    pub fn on_sent<'s>(
        &mut self,
        now: Time,
        seen: &'s InspectedPacket,
        context: &mut Context<'_>,
    ) -> (ExternalPacket<'s>, PacketState) {
        let mut arriving = ExternalPacket {
            route: seen.route,
            flow: seen.flow,
            destination: seen.destination,
            segment: &seen.segment,
            bytes: seen.bytes,
            ecn: seen.ecn,
            position: 0,
            copy_number: 0,
            connection: 1,
            transmission: Transmission::First,
            table_row: None,
        };
        let mut packet_state = PacketState { host: seen.host, packet: None };
        // The socket is received first, because recording the packet needs the state of the socket
        // that sent it.
        if self.may_have_been_passed(seen, context.senders) {
            self.adopt(now, context);
        }
        if let Some(flow) = self.flows.get_mut(seen.flow as usize) {
            let content = flow.on_sent((now, seen), &mut arriving, context);
            // Some limits, such as an idle application, end when a segment is sent, not when an ACK
            // arrives.
            if matches!(content, Some(Content::Segment(_)))
                && flow.limit_may_have_ended(arriving.transmission)
                && let Some(state) = context.senders.query(seen.flow)
            {
                flow.note_limit(now, &state, &mut self.in_flight);
            }
            let connection = arriving.connection;
            packet_state.packet =
                content.map(|content| TcpPacket { flow: seen.flow, connection, content });
        }
        (arriving, packet_state)
    }

    /// Flow of a packet; `None` if the packet does not belong to the flow's open connection.
    fn flow(&mut self, packet: TcpPacket) -> Option<&mut Flow> {
        let flow = &mut self.flows[packet.flow as usize];
        (flow.connection == packet.connection).then_some(flow)
    }

    /// Handles a packet that has reached its host.
    pub fn on_delivered(
        &mut self,
        now: Time,
        packet_state: &PacketState,
        context: &mut Context<'_>,
    ) {
        let Some(packet) = packet_state.packet else { return };
        let every_ack = self.every_ack;
        let flow = &mut self.flows[packet.flow as usize];
        // This is a late packet of an earlier connection.
        if flow.connection != packet.connection {
            return;
        }
        match packet.content {
            Content::Segment(copy) => flow.on_arrived(now, copy),
            Content::Ack(ack) => {
                let state = context.senders.query(packet.flow);
                let snd_max = flow.streams[Side::Sender as usize].snd_max;
                let tables = &mut *context.tables;
                // The kernel has already processed the acknowledgment, because a write to a device
                // returns only after that.
                flow.observed.on_acknowledged(now, (&ack, snd_max), state.as_ref(), tables);
                if let Some(state) = &state {
                    flow.note_limit(now, state, &mut self.in_flight);
                }
                if let (true, Some(state)) = (every_ack, state) {
                    flow.sample(now, &state, tables);
                }
            }
        }
    }

    /// Handles the drop of a packet if no copy of it has arrived or can still arrive. Appends to
    /// `necessary` the flow and number of each retransmission that turns out to be necessary.
    pub fn on_lost(
        &mut self,
        packet_state: &PacketState,
        cause: Cause,
        tables: &mut Tables,
        necessary: &mut Vec<(u32, u64)>,
    ) {
        let Some(packet) = packet_state.packet else { return };
        let Some(flow) = self.flow(packet) else { return };
        match packet.content {
            Content::Segment(copy) => {
                let found = flow.observed.record.on_dropped(copy, cause, tables);
                necessary.extend(found.into_iter().map(|number| (packet.flow, number)));
            }
            Content::Ack(ack) => flow.observed.record.on_ack_dropped(ack.cumulative),
        }
    }

    /// Queries each sender's socket, and records its state.
    pub fn sample(&mut self, time: Time, context: &mut Context<'_>) {
        for (index, flow) in (0..).zip(&mut self.flows) {
            match context.senders.query(index) {
                Some(state) if state.is_closed() => {
                    flow.on_state(time, None, &state, context.tables)
                }
                Some(state) => flow.sample(time, &state, context.tables),
                None => {}
            }
        }
    }

    /// True if the worker may have passed the sender's socket by now. It passes the socket before
    /// the first transmission.
    fn may_have_been_passed(&self, seen: &InspectedPacket, senders: &Senders) -> bool {
        let sends = (seen.flow as usize) < self.flows.len() && seen.destination == Side::Receiver;
        sends && (seen.segment.flags.contains(Flags::SYN) || !senders.has_socket(seen.flow))
    }

    /// Receives the sockets that have been passed.
    fn adopt(&mut self, now: Time, context: &mut Context<'_>) {
        while let Some(index) = context.senders.receive() {
            let state = context.senders.query(index);
            let flow = &mut self.flows[index as usize];
            // A flow has one open socket, so a new one means that the previous connection is over.
            flow.observed.end_observation(now, context.tables);
            if let Some(state) = state {
                flow.on_state(now, None, &state, context.tables);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_record::tables;
    use retx_sim::plan::{AppPlan, CopyOnWrite};
    use retx_units::SeqNr;
    use retx_wire::{Ecn, Segment};

    fn linux() -> retx_tcp::Config {
        (retx_tcp::presets::find("linux").expect("it is one").config)()
    }

    fn endless(tcp: &retx_tcp::Config) -> Limiter {
        Limiter::new(CopyOnWrite::from(AppPlan::Bulk), None, tcp)
    }

    fn seen(to: Side, seq: u32, payload: u32, flags: Flags) -> InspectedPacket {
        let segment =
            Segment { seq: SeqNr(seq), payload_bytes: payload, flags, ..Segment::default() };
        InspectedPacket {
            route: 0,
            flow: 0,
            destination: to,
            host: 1,
            segment,
            window_bytes: 0,
            bytes: segment.packet_bytes(),
            ecn: Ecn::NotEct,
            from_opener: to == Side::Receiver,
            opener_port: 40_000,
        }
    }

    fn one_flow(tcp: &retx_tcp::Config) -> Flows {
        Flows::new([(Side::Sender, tcp, 900, endless(tcp))].into_iter(), 0, false)
    }

    #[test]
    fn positions_wrap_and_retransmissions_are_known() {
        let tcp = linux();
        let mut tables = Tables::default();
        let mut flows = one_flow(&tcp);
        let senders = &mut Senders::default();
        let context = &mut Context { tables: &mut tables, senders };
        let start = u32::MAX - 1000;
        let mut position = |seq, payload, flags| {
            let seen = seen(Side::Receiver, seq, payload, flags);
            let (arriving, _) = flows.on_sent(Time::ZERO, &seen, context);
            (arriving.position, arriving.transmission, arriving.connection)
        };
        let first = start.wrapping_add(1);
        assert_eq!(position(start, 0, Flags::SYN), (0, Transmission::First, 1));
        assert_eq!(position(first, 0, Flags::ACK), (1, Transmission::First, 1));
        assert_eq!(position(first, 900, Flags::ACK), (1, Transmission::First, 1));
        let second = first.wrapping_add(900);
        assert_eq!(position(second, 900, Flags::ACK), (901, Transmission::First, 1));
        assert_eq!(position(first, 900, Flags::ACK), (1, Transmission::Unnecessary, 1));
        let third = second.wrapping_add(900);
        assert_eq!(position(third, 0, Flags::ACK.with(Flags::FIN)).0, 1801);
        assert_eq!(position(77, 0, Flags::SYN), (0, Transmission::First, 2));
        for (seq, flags) in [(5, Flags::ACK.with(Flags::SYN)), (6, Flags::ACK)] {
            let seen = seen(Side::Sender, seq, 0, flags);
            flows.on_sent(Time::ZERO, &seen, context);
        }
        let counts = flows.counters_since_warmup(Time::ZERO).remove(0);
        let expected = FlowCounters {
            frames_sent: 7,
            segments_sent: 3,
            segments_retransmitted: 1,
            retransmissions_unnecessary: 1,
            acks_sent: 1,
            limited_by: counts.limited_by.clone(),
            ..FlowCounters::default()
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn rows_are_acknowledged_by_what_has_reached_the_sender() {
        let tcp = linux();
        let mut tables = Tables {
            segments: Some(tables::Segments::default()),
            acks: Some(tables::Acks::default()),
            ..Tables::default()
        };
        let mut flows = one_flow(&tcp);
        let senders = &mut Senders::default();
        let context = &mut Context { tables: &mut tables, senders };
        let mut pass = |to, seq, payload, flags, ack| {
            let mut seen = seen(to, seq, payload, flags);
            seen.segment.ack = SeqNr(ack);
            seen.window_bytes = 4096;
            flows.on_sent(Time::ZERO, &seen, context).1
        };
        pass(Side::Receiver, 100, 0, Flags::SYN, 0);
        pass(Side::Sender, 7, 0, Flags::SYN.with(Flags::ACK), 101);
        pass(Side::Receiver, 101, 900, Flags::ACK, 8);
        pass(Side::Receiver, 1001, 900, Flags::ACK, 8);
        let ack = pass(Side::Sender, 8, 0, Flags::ACK, 1001);
        let heard = Time::from_nanos(5);
        flows.on_delivered(heard, &ack, context);
        let segments = tables.segments.expect("it is kept");
        assert_eq!([0, 1, 2].map(|row| segments.acked_at(row)), [heard, heard, Time::NEVER]);
        let numbers: Vec<u64> = segments.rows().map(|(row, _)| row.packet_number).collect();
        assert_eq!(numbers, [0, 1, 2]);
        let acks = tables.acks.expect("it is kept");
        let rows: Vec<_> = acks.rows().map(|(row, _)| (row.ack, row.window_bytes)).collect();
        assert_eq!(rows, [(1, 4096), (901, 4096)]);
    }

    /// A late FIN of the first connection, from or to its own port, belongs to that connection, and
    /// leaves the positions of the second one alone.
    #[test]
    fn late_packets_belong_to_their_own_connection() {
        let tcp = linux();
        let mut tables = Tables::default();
        let mut flows = one_flow(&tcp);
        let senders = &mut Senders::default();
        let context = &mut Context { tables: &mut tables, senders };
        let mut sent = |port, to, seq, payload, flags: Flags| {
            let seen = InspectedPacket { opener_port: port, ..seen(to, seq, payload, flags) };
            let (arriving, state) = flows.on_sent(Time::ZERO, &seen, context);
            let place = (arriving.connection, arriving.position, arriving.transmission);
            (place, state.packet.is_some())
        };
        let (first, last) = (Transmission::First, Transmission::Again);
        let (ack, fin) = (Flags::ACK, Flags::ACK.with(Flags::FIN));
        let synack = Flags::SYN.with(Flags::ACK);
        assert_eq!(sent(40_000, Side::Receiver, 100, 0, Flags::SYN), ((1, 0, first), true));
        assert_eq!(sent(40_000, Side::Sender, 7000, 0, synack).0, (1, 0, first));
        assert_eq!(sent(40_000, Side::Receiver, 101, 500, ack).0, (1, 1, first));
        assert_eq!(sent(40_001, Side::Receiver, 90_100, 0, Flags::SYN), ((2, 0, first), true));
        assert_eq!(sent(40_000, Side::Receiver, 601, 0, fin), ((1, 501, first), false));
        assert_eq!(sent(40_000, Side::Receiver, 601, 0, fin), ((1, 501, last), false));
        assert_eq!(sent(40_000, Side::Sender, 7001, 0, ack), ((1, 1, first), false));
        assert_eq!(sent(40_000, Side::Sender, 7000, 0, synack).0, (1, 0, last));
        assert_eq!(sent(40_001, Side::Receiver, 90_101, 500, ack), ((2, 1, first), true));
        // The opener may use the first port again.
        assert_eq!(sent(40_000, Side::Receiver, 50, 0, Flags::SYN), ((3, 0, first), true));
        assert_eq!(sent(40_001, Side::Receiver, 90_601, 0, fin), ((2, 501, first), false));
        assert_eq!(sent(40_000, Side::Receiver, 51, 500, ack), ((3, 1, first), true));
    }
}
