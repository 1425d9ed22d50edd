//! Flow: two endpoints, each with an application and a connection.

use crate::app::App;
use crate::exchanges::Exchanges;
use crate::packet::{ArrivedPacket, PacketRef};
use crate::path::{BandwidthDelayProduct, FlightContribution};
use crate::plan::{AppPlan, FlowPlan, Side};
use crate::recorder::Recorder;
use crate::route_entry::RouteEntry;
use cached_limit::CachedLimit;
pub use ending::one_lasts;
use leg::Leg;
use reading::Reader;
use retx_record::flow::FlowRecord;
use retx_record::reason::EpisodeKind;
use retx_tcp::{Connection, Event, SharedConfig};
use retx_units::{SeqNr, StreamKey, Time};

mod cached_limit;
mod ending;
mod leg;
mod limits;
mod prefetch;
mod reading;
mod recording;
mod sample;
mod sending;

/// Phase of a flow's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not opened yet.
    Waiting,
    /// Opened, and not yet closed by both endpoints.
    Open,
    /// The last connection is over.
    Done,
}

/// Flow. The fields used for each segment directly follow the two connections, so that these fields
/// are in one cache line and the start of the next.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Flow {
    /// Connections of the data sender and the data receiver.
    ends: [Connection; 2],
    /// Position in the engine's routes of the first hop from each endpoint.
    first_hops: [u32; 2],
    /// Route entry of the first hop from each endpoint.
    first_route_entries: [RouteEntry; 2],
    /// Next wake-up that the engine has scheduled for each endpoint. The wake-up may be too early,
    /// because events since then may have moved the timers of the endpoint.
    woken: [Time; 2],
    /// Ranges of bytes in flight within which the limit of the flow found last still holds.
    cached_limit: CachedLimit,
    /// Contribution of this flow to the bytes in flight over its bottleneck, if other flows use it,
    /// too.
    share: FlightContribution,
    /// Number of connections opened.
    connections: u32,
    phase: Phase,
    initiator: Side,
    /// True once the sender's handshake is complete.
    connected: bool,
    /// True if the connection has closed and the engine has not handled that yet.
    has_closed: bool,
    /// Requests and responses; `None` for other applications.
    pub exchanges: Option<Box<Exchanges>>,
    /// State for a flow that is a leg of a chain with proxies; `None` for most flows.
    leg: Option<Box<Leg>>,
    /// Receiving program that reads slowly; `None` for most flows.
    reader: Option<Box<Reader>>,
    app: App,
    /// Bandwidth-delay product of the flow's path, if defined.
    path: Option<Box<BandwidthDelayProduct>>,
    /// Counters, recovery episodes and verdicts of the flow.
    pub record: FlowRecord,
    /// Time at which the next connection is opened.
    opens: Time,
    /// Bytes acknowledged on earlier connections.
    earlier_bytes: u64,
    /// Number of endpoints that have closed.
    closed: u8,
    /// True if a connection was reset before its file was read, so the flow ends unfinished.
    reset: bool,
}

// The size of a flow is limited, because a run may have a hundred thousand flows.
const _: () = assert!(size_of::<Flow>() <= 1_792);

const SENDER: usize = Side::Sender as usize;
const RECEIVER: usize = Side::Receiver as usize;

impl Flow {
    /// Creates a flow that waits for its start.
    pub fn new(index: u32, plan: &FlowPlan, tcp: &SharedConfig, first_hops: [u32; 2]) -> Self {
        let nobody = Connection::listen_as(tcp, SeqNr(0));
        Self {
            ends: [nobody.clone(), nobody],
            first_hops,
            first_route_entries: [RouteEntry::default(); 2],
            woken: [Time::NEVER; 2],
            cached_limit: CachedLimit::UNKNOWN,
            share: FlightContribution::NONE,
            connections: 0,
            phase: Phase::Waiting,
            initiator: plan.initiator,
            connected: false,
            has_closed: false,
            exchanges: None,
            leg: None,
            reader: plan.read_rate.map(|rate| Box::new(Reader::new(rate))),
            app: App::new(plan.app.clone()),
            path: None,
            record: FlowRecord::new(index),
            opens: plan.start,
            earlier_bytes: 0,
            closed: 0,
            reset: false,
        }
    }

    /// Opens the next connection. Each connection has its own random stream for initial sequence
    /// numbers, so they do not depend on the rest of the run.
    fn open(&mut self, now: Time, context: &Context<'_>) {
        let plan = &context.flows[self.record.flow() as usize];
        let key = context.key;
        let number = self.app.file_number();
        let name = ["flow.", &plan.name, ".initial_sequence.", &number.to_string()].concat();
        let mut stream = key.stream(&name);
        // Connections are constructed in place: copying one would cost more than constructing it.
        for side in [Side::Sender, Side::Receiver] {
            let initial = SeqNr(stream.next_u64() as u32);
            let tcp = [plan.tcp, plan.receiver_tcp][side as usize];
            let tcp = &context.tcps[tcp as usize];
            self.ends[side as usize] = if side == self.initiator {
                Connection::connect_as(tcp, initial)
            } else {
                Connection::listen_as(tcp, initial)
            };
        }
        self.ends.iter_mut().for_each(|end| end.set_write_size(plan.write_size.into()));
        self.phase = Phase::Open;
        self.connections += 1;
        self.connected = false;
        self.closed = 0;
        self.app.begin_file();
        if let AppPlan::Exchanges(of) = &*plan.app {
            let exchanges =
                self.exchanges.get_or_insert_with(|| Exchanges::new(of.clone(), key, &plan.name));
            exchanges.begin_connection(now, &mut self.app);
        }
        if let Some(leg) = &mut self.leg {
            leg.begin_connection();
        }
        if let Some(path) = &mut self.path {
            path.begin_connection();
        }
        if let Some(reader) = &mut self.reader {
            reader.begin_connection(&mut self.app);
        }
        self.cached_limit = CachedLimit::UNKNOWN;
        self.record.begin_connection(now);
    }

    /// Position in the engine's routes of the first hop from each endpoint.
    pub const fn first_hops(&self) -> [u32; 2] {
        self.first_hops
    }

    /// Stores the route entry of each first hop, once the routes are complete.
    pub fn set_first_route_entries(&mut self, entry_at: impl FnMut(u32) -> RouteEntry) {
        self.first_route_entries = self.first_hops.map(entry_at);
    }

    /// Route entry of the first hop from this endpoint.
    #[inline(always)]
    pub const fn first_route_entry(&self, side: Side) -> RouteEntry {
        self.first_route_entries[side as usize]
    }

    /// True if no connection is open and none will be.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// True if a connection has closed and [`Self::note_close`] has not been called yet; always
    /// true for a leg of a chain.
    #[inline]
    pub const fn needs_close_check(&self) -> bool {
        self.has_closed || self.leg.is_some()
    }

    /// True if a connection has closed and [`Self::note_close`] has not been called yet.
    pub const fn has_closed(&self) -> bool {
        self.has_closed
    }

    /// Marks the close of the connection as handled.
    pub const fn note_close(&mut self) {
        self.has_closed = false;
    }

    /// True unless the flow's data are unlimited.
    pub fn is_finite(&self) -> bool {
        self.app.plan().is_finite()
    }

    /// Next wake-up of `side`.
    #[inline]
    pub fn poll_timeout(&self, side: Side) -> Time {
        match self.phase {
            Phase::Open => {
                let end = self.ends[side as usize].poll_timeout();
                if side == Side::Sender {
                    let responds = self.exchanges.as_ref().map_or(Time::NEVER, |it| it.responds_at);
                    return end.min(responds);
                }
                let thinks = self.exchanges.as_ref().map_or(Time::NEVER, |all| all.think_until);
                let reads = self.reader.as_ref().map_or(Time::NEVER, |reader| reader.next_read());
                end.min(thinks).min(reads)
            }
            Phase::Waiting if side == self.initiator => self.opens,
            Phase::Waiting | Phase::Done => Time::NEVER,
        }
    }

    /// Next wake-up of `side` if it is earlier than the scheduled one; the caller must schedule it.
    #[inline(always)]
    pub fn poll_wake(&mut self, side: Side) -> Option<Time> {
        let time = self.poll_timeout(side);
        let woken = &mut self.woken[side as usize];
        let earlier = time < *woken;
        if earlier {
            *woken = time;
        }
        earlier.then_some(time)
    }

    /// Handles a wake-up of `side`, which may be spurious.
    pub fn handle_timeout(&mut self, now: Time, side: Side, context: &mut Context<'_>) {
        self.woken[side as usize] = Time::NEVER;
        if self.poll_timeout(side) > now {
            return;
        }
        if self.phase == Phase::Waiting {
            self.open(now, context);
            return;
        }
        if side == Side::Sender {
            self.note_pending_ack(now);
        }
        self.record.note_sender_wakes();
        self.ends[side as usize].handle_timeout(now);
        match side {
            Side::Sender => self.drive_sender_out_of_line(now, context.recorder),
            Side::Receiver => {
                self.read_next_block(now, context.recorder);
                self.drive_receiver(now, context.recorder);
            }
        }
    }

    /// Handles a packet that has arrived for `side`.
    #[inline(always)]
    pub fn handle_packet(
        &mut self,
        now: Time,
        side: Side,
        arriving: ArrivedPacket<'_>,
        recorder: &mut Recorder,
    ) {
        let packet = arriving.packet;
        if packet.connection != self.connections || self.phase != Phase::Open {
            return;
        }
        if side == Side::Receiver {
            arriving.hand_over(now, &mut self.ends[RECEIVER]);
            if packet.occupies_sequence_space() {
                self.record_arrival(now, packet, recorder);
            }
            self.read(now, recorder);
            self.drive_receiver(now, recorder);
        } else {
            self.record.note_sender_wakes();
            arriving.hand_over(now, &mut self.ends[SENDER]);
            self.drive_sender(now, recorder);
            if recorder.samples_every_ack {
                self.record_sample(now, recorder);
            }
        }
    }

    #[inline(always)]
    fn drive_receiver(&mut self, now: Time, recorder: &mut Recorder) {
        if self.ends[RECEIVER].has_events() || self.exchanges.is_some() {
            self.drive_receiver_on(now, recorder);
        }
    }

    #[inline(never)]
    fn drive_receiver_on(&mut self, now: Time, recorder: &mut Recorder) {
        while let Some(event) = self.ends[RECEIVER].poll_event() {
            self.handle_receiver_event(now, &event, recorder);
        }
        if let Some(exchanges) = &mut self.exchanges
            && self.phase == Phase::Open
        {
            exchanges.drive_client(now, &mut self.app, &mut self.ends[RECEIVER]);
        }
    }

    /// True once all data have been read.
    fn is_complete(&self) -> bool {
        self.app.is_complete() && self.exchanges.as_ref().is_none_or(|all| all.are_done())
    }

    // Inlined into the code that handles arriving acknowledgments.
    #[inline(always)]
    fn drive_sender(&mut self, now: Time, recorder: &mut Recorder) {
        if let Some(rtt) = self.ends[SENDER].poll_rtt() {
            self.record.counters.rtt.add(rtt);
        }
        while let Some(event) = self.ends[SENDER].poll_event() {
            self.handle_sender_event(now, &event, recorder);
        }
        if !self.connected {
            return;
        }
        let sender = &mut self.ends[SENDER];
        let snd_una = sender.snd_una();
        let tables = &mut recorder.tables;
        self.record.on_acknowledged(now, snd_una, || sender.open_probe(), tables);
        self.record.counters.cwnd.set(now, sender.cwnd());
        if let Some(exchanges) = &mut self.exchanges {
            exchanges.drive_server(now, &mut self.app, sender);
        }
        if self.app.write_to(now, sender) {
            self.record.set_drained(true);
        }
    }

    #[inline(never)]
    fn drive_sender_out_of_line(&mut self, now: Time, recorder: &mut Recorder) {
        self.drive_sender(now, recorder);
    }

    fn handle_sender_event(&mut self, now: Time, event: &Event, recorder: &mut Recorder) {
        match event {
            Event::Rtt(rtt) => self.record.counters.rtt.add(*rtt),
            // Samples from echoed timestamps are not recorded: an emulation cannot observe them,
            // and they may include more than a round trip.
            Event::EchoedRtt(_) => {}
            Event::LossFound(found) => {
                self.record_episode(now, (EpisodeKind::FastRetransmit, found), recorder);
            }
            Event::TimedOut(found) => {
                self.record_episode(now, (EpisodeKind::Rto, found), recorder);
            }
            Event::Undone => {
                self.record.note_undo(now);
                self.invalidate_cached_limit();
            }
            Event::Recovered { .. } => self.record.end_episode(now, &mut recorder.tables),
            Event::EchoTaken { .. } => {
                self.record.note_ecn_reduction(now);
                self.invalidate_cached_limit();
            }
            Event::Connected => self.connected = true,
            Event::Closed => self.handle_close(now, recorder),
            Event::Reset => self.handle_reset(now, Side::Sender, recorder),
            Event::PeerClosed => {
                self.note_peer_close(Side::Sender);
            }
        }
    }

    fn is_of_this_connection(&self, packet: PacketRef<'_>) -> bool {
        packet.connection == self.connections && self.phase == Phase::Open
    }
}

/// Data and tables of the run that a flow needs, for example to open a connection.
#[derive(Debug)]
pub struct Context<'a> {
    /// Plans of all flows, by index.
    pub flows: &'a [FlowPlan],
    /// Configurations of the TCPs.
    pub tcps: &'a [SharedConfig],
    /// Key of the random streams.
    pub key: StreamKey,
    /// Tables and captures.
    pub recorder: &'a mut Recorder,
}
