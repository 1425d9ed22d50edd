//! Engine: takes the earliest event, moves packets along their routes, wakes hosts.
//!
//! No stage calls another: a pipe returns its packet, and the engine passes it to the next hop of
//! its route or to its host; a host is polled for packets to send, and the engine passes them to
//! the first hop. Hops are pipes, which are numerous and carry nearly all packets, or ports of
//! other stages ([`crate::stage`]).

use crate::agenda::Agenda;
use crate::datagram::DatagramFlow;
use crate::drop::PacketDrop;
use crate::endpoint::Endpoint;
use crate::event_queue::{MAX_TARGETS, Target};
use crate::flow::Flow;
use crate::options::{Options, RunError};
use crate::packet::{Packets, UnpackedSegment};
use crate::path::{self, BandwidthDelayProduct};
use crate::plan::{Plan, Port, Sampling, Side};
use crate::proxy::Proxy;
use crate::recorder::Recorder;
use crate::route_entry::RouteEntry;
use retx_link::Pipe;
use retx_tcp::{SharedConfig, Transmit};
use retx_units::{StreamKey, Time};

mod agents;
mod datagrams;
mod external;
mod fast_path;
mod hops;
mod hosts;
mod layout;
mod owners;
mod relay;
mod routes;
mod sampling;
mod stages;
mod statistics;

use external::ExternalTraffic;
pub use external::{ExternalEvent, ExternalPacket};
use fast_path::{Epochs, Funnels, Lanes};
use layout::{PlacedStage, RouteBuilder};
use owners::{Owner, TargetRanges};
pub use relay::LegChain;
pub use statistics::Baseline;

/// Run in progress.
#[derive(Debug)]
pub struct Engine<'a> {
    plan: &'a Plan,
    key: StreamKey,
    now: Time,
    agenda: Agenda,
    packets: Packets,
    owners: TargetRanges,
    /// Entries of all routes, one after another.
    routes: Vec<RouteEntry>,
    /// True if packets may take the fast paths of [`fast_path`]; otherwise each hop is an event.
    uses_fast_paths: bool,
    /// For each pipe, its position in `routes` if it is private, that is, if only one route enters
    /// it.
    places: Vec<u32>,
    lanes: Lanes,
    /// True if the events of pipes are handled on fast paths without prefetching. With fast paths,
    /// it is false if the caches cannot hold the state of the pipes that have events.
    wakes_pipes_fast: bool,
    funnels: Funnels,
    /// Calendar of arrivals, in networks that use epochs.
    epochs: Option<Box<Epochs>>,
    ports: Vec<Port>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) stages: Vec<PlacedStage>,
    /// Time and target of the last event of a stage or UDP flow; at one time, the last target.
    last_turn: (Time, Target),
    /// Stage whose event is being handled.
    waking_stage: Option<u32>,
    tcps: Vec<SharedConfig>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) chains: Vec<LegChain>,
    pub(crate) datagrams: Vec<DatagramFlow>,
    pub(crate) recorder: Recorder,
    /// Bytes in flight over each pipe that is the bottleneck of a flow.
    in_flight: Vec<u64>,
    pub(crate) baseline: Baseline,
    /// Number of finite flows that are not done yet.
    unfinished: usize,
    over: bool,
    events: u64,
    counts: Counts,
    /// Segment being sent.
    transmit: Transmit,
    /// Segment being delivered.
    arriving: UnpackedSegment,
    /// Source and sink of packets in an engine without flows.
    external: Option<Box<ExternalTraffic>>,
}

/// Counters of packets entering and leaving the network.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    sent: u64,
    copied: u64,
    received: u64,
    dropped: u64,
    /// Copies that relays have held and freed.
    forgotten: u64,
}

/// Configurations of the plan's TCPs, which connections share.
fn prepared(plan: &Plan, options: &Options) -> Vec<SharedConfig> {
    let of = |tcp: &crate::plan::TcpPlan| {
        let prepared = SharedConfig::from(&tcp.config);
        if options.is_reference_run { prepared.without_fast_paths() } else { prepared }
    };
    plan.tcps.iter().map(of).collect()
}

fn create_pipes(plan: &Plan, key: StreamKey) -> Vec<Pipe> {
    let pipe = |pipe: &crate::plan::PipePlan| {
        // `format_args!` formats lazily: only the few pipes with random draws need their names.
        Pipe::new(&pipe.config, key, format_args!("link.{}.{}", pipe.link, pipe.direction))
    };
    plan.pipes.iter().map(pipe).collect()
}

/// Number of flows that end.
fn finite_flows(flows: &[Flow], datagrams: &[DatagramFlow]) -> usize {
    flows.iter().filter(|flow| flow.is_finite()).count()
        + datagrams.iter().filter(|flow| flow.sender.is_finite()).count()
}

/// Refuses a plan that needs more event targets than `MAX_TARGETS`.
fn check_size(plan: &Plan, flows: usize, datagrams: usize) -> Result<(), RunError> {
    let pipes = plan.pipes.len() as u64;
    let targets = pipes + (plan.stages.len() + datagrams + 2 * flows) as u64 + 3;
    // Lanes behind pipes and funnels before pipes are targets, too, but are not created yet.
    if targets + 2 * pipes > u64::from(MAX_TARGETS) {
        return Err(RunError::TooLarge { targets });
    }
    Ok(())
}

impl<'a> Engine<'a> {
    /// Creates a run that has not begun.
    ///
    /// # Errors
    /// More links and flows than events can address, more samples than the plan allows, or a name
    /// that no capture file can hold.
    pub fn new(plan: &'a Plan, options: &Options) -> Result<Self, RunError> {
        let key = StreamKey { seed: plan.seed, replication: options.replication };
        let mut builder = RouteBuilder::default();
        let starts: Vec<u32> =
            plan.routes.iter().map(|route| builder.append_route(route)).collect();
        let tcps = prepared(plan, options);
        let loaded = path::find_data_pipes(plan);
        let flow = |(index, flow): (usize, &crate::plan::FlowPlan)| {
            let first_hops = flow.routes.map(|route| starts[route as usize]);
            let mut new = Flow::new(index as u32, flow, &tcps[flow.tcp as usize], first_hops);
            new.set_path(BandwidthDelayProduct::for_flow(plan, flow, &loaded));
            if plan.sampling != Sampling::Off {
                new.record.record_limit_history();
            }
            new
        };
        let mut flows: Vec<Flow> = plan.flows.iter().enumerate().map(flow).collect();
        path::mark_shared_bottlenecks(
            flows.iter_mut().filter_map(Flow::path_mut),
            plan.pipes.len(),
        );
        flows.iter_mut().for_each(Flow::note_bottleneck_sharing);
        let chains = relay::create_leg_chains(plan, &mut flows);
        // UDP flows get routes of their own, after those of the plan. They cannot share routes
        // with TCP flows, because the route of a saturating source has an additional entry.
        let datagrams = layout::create_datagram_flows(plan, key, &mut builder);
        let mut engine = Self::between(plan, options, builder, flows, datagrams)?;
        engine.chains = chains;
        engine.check_future_samples()?;
        Ok(engine)
    }

    /// Creates a run of these flows over these routes.
    fn between(
        plan: &'a Plan,
        options: &Options,
        builder: RouteBuilder,
        mut flows: Vec<Flow>,
        datagrams: Vec<DatagramFlow>,
    ) -> Result<Self, RunError> {
        let key = StreamKey { seed: plan.seed, replication: options.replication };
        check_size(plan, flows.len(), datagrams.len())?;
        let (pipes, stages) = (plan.pipes.len(), plan.stages.len());
        let mut owners = TargetRanges::new(pipes, flows.len(), stages, datagrams.len());
        let recorder = Recorder::new(plan, options, flows.iter().any(Flow::has_waiting_acks))?;
        let RouteBuilder { mut routes, ports, .. } = builder;
        let mut pipes = create_pipes(plan, key);
        // A capture must see each packet at each hop, at the time when it passes there.
        let uses_fast_paths = !options.is_reference_run && recorder.capture.is_none();
        let prepare = || fast_path::prepare_pipes(plan, &routes, &mut pipes, !flows.is_empty());
        let epochs = uses_fast_paths.then(prepare).flatten();
        let mut places = routes::mark_private(&mut routes, &flows, &pipes);
        // A reference run has funnels, too: they determine the order of packets that arrive at a
        // bottleneck in the same nanosecond.
        let funnels = Funnels::new(&routes, &mut pipes, (owners.first_funnel(), uses_fast_paths));
        if !uses_fast_paths {
            routes::unmark_private(&mut routes, &mut places);
        }
        let first_lane = owners.add_funnels(funnels.count());
        let single_links = uses_fast_paths && epochs.is_none() && !flows.is_empty();
        let lanes = Lanes::new((first_lane, flows.len()), &routes, &mut pipes, single_links);
        let first_entry = |hop| routes::entry_for_host(hop, &routes, &pipes);
        flows.iter_mut().for_each(|flow| flow.set_first_route_entries(first_entry));
        let mut engine = Self {
            plan,
            key,
            now: Time::ZERO,
            agenda: Agenda::new(first_lane + lanes.count(), owners.first()),
            owners,
            uses_fast_paths,
            packets: Packets::default(),
            wakes_pipes_fast: uses_fast_paths && !fast_path::exceed_caches(&pipes),
            places,
            routes,
            lanes,
            funnels,
            epochs,
            ports,
            pipes,
            stages: layout::create_stages(plan, key, uses_fast_paths),
            last_turn: (Time::ZERO, 0),
            waking_stage: None,
            unfinished: finite_flows(&flows, &datagrams),
            over: false,
            tcps: prepared(plan, options),
            flows,
            proxies: plan.proxies.iter().map(Proxy::new).collect(),
            chains: Vec::new(),
            datagrams,
            recorder,
            in_flight: vec![0; plan.pipes.len()],
            baseline: Baseline::default(),
            events: 0,
            counts: Counts::default(),
            transmit: Transmit::default(),
            arriving: UnpackedSegment::default(),
            external: None,
        };
        engine.first_events();
        Ok(engine)
    }

    fn first_events(&mut self) {
        self.start_queue_histories();
        self.agenda.wake(self.owners.target(Owner::End), self.plan.end);
        if self.plan.warmup > Time::ZERO {
            self.agenda.wake(self.owners.target(Owner::Warmup), self.plan.warmup);
        } else {
            self.start_statistics_at_zero();
        }
        if matches!(self.plan.sampling, Sampling::Every(_)) {
            self.agenda.wake(self.owners.target(Owner::Sample), Time::ZERO);
        }
        for index in 0..self.flows.len() {
            for side in [Side::Sender, Side::Receiver] {
                self.rearm_host(index as u32, side);
            }
        }
        for index in 0..self.datagrams.len() {
            self.rearm_datagrams(index as u32);
        }
    }

    /// True once the run has ended.
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Simulated time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Number of events handled.
    pub const fn events_handled(&self) -> u64 {
        self.events
    }

    /// Bytes read by all receiving applications.
    pub fn bytes_delivered(&self) -> u64 {
        let flows: u64 = self.flows.iter().map(Flow::read_bytes).sum();
        let proxies: u64 = self.proxies.iter().map(|proxy| proxy.bytes_forwarded).sum();
        let datagrams = self.datagrams.iter().map(|flow| flow.accounting.counters.bytes_delivered);
        // Bytes that cross a proxy are read twice, by the proxy and by the receiving application.
        flows - proxies + datagrams.sum::<u64>()
    }

    /// Pending events.
    pub const fn agenda(&self) -> &Agenda {
        &self.agenda
    }

    /// Handles the next event.
    #[inline(always)]
    pub fn step(&mut self) {
        self.events += 1;
        if !self.lanes.are_woken_by_events() {
            return self.handle_lane_or_event();
        }
        let event = self.agenda.take_only().unwrap_or_else(|| self.take_first_event());
        self.handle_event(event);
    }

    /// Handles an event that has been taken.
    #[inline(always)]
    fn handle_event(&mut self, event: (Time, Target)) {
        if let Some((id, to)) = self.begin_event(event) {
            self.deliver(id, to);
        }
    }

    /// Handles an event that has been taken, except for the delivery of a packet that reaches its
    /// destination, which is returned.
    #[inline(always)]
    fn begin_event(&mut self, (time, target): (Time, Target)) -> Option<(u32, Endpoint)> {
        self.now = time;
        match self.owners.owner(target) {
            Owner::Lane(lane) => self.handle_lane_wakeup(lane),
            Owner::Pipe(index) if self.wakes_pipes_fast => self.handle_pipe_wakeup_fast(index),
            owner => {
                self.handle_owner_wakeup(owner);
                None
            }
        }
    }

    /// Takes the first event if other events are close to it or have been superseded.
    #[inline(never)]
    fn take_first_event(&mut self) -> (Time, Target) {
        self.lanes.turn_into_events(&mut self.agenda);
        self.take_queued_event()
    }

    /// Takes the first event in the queue.
    fn take_queued_event(&mut self) -> (Time, Target) {
        let Self { agenda, owners, lanes, routes, packets, flows, .. } = self;
        let event = agenda.take_first(|target| {
            Some(lanes.last_pipe(owners.lane(target)?, (routes, packets, flows)))
        });
        event.expect("the end of the run is an event")
    }

    #[inline(never)]
    fn handle_owner_wakeup(&mut self, owner: Owner) {
        match owner {
            Owner::Pipe(index) if self.uses_fast_paths => self.wake_pipe_and_fetch(index),
            Owner::Pipe(index) => self.handle_pipe_wakeup(index),
            Owner::Host(flow, side) => self.handle_host_wakeup(flow, side),
            Owner::End => self.over = true,
            Owner::Warmup => self.start_statistics(),
            Owner::Sample => self.handle_sample_wakeup(),
            Owner::Epoch => self.handle_epoch_wakeup(),
            Owner::Stage(index) => self.handle_stage_wakeup(index),
            Owner::Datagrams(index) => self.handle_datagrams_wakeup(index),
            Owner::Funnel(index) => self.handle_funnel_wakeup(index),
            Owner::Lane(_) => unreachable!("lanes are woken by `step`"),
        }
    }

    fn drop(&mut self, id: u32, drop: &PacketDrop) {
        self.prepare_drop(id, drop);
        // `record_end` must precede `flow.record_dropped`: it notes in the packet whether another
        // copy may still arrive, and `flow.record_dropped` reads that note.
        self.packets.record_end(id, false);
        let packet = self.packets.get(id);
        self.counts.dropped += 1;
        let Some(flow) = self.flows.get_mut(packet.flow() as usize) else {
            return self.drop_non_tcp(id, drop);
        };
        flow.record_dropped(packet, drop, &mut self.recorder);
        self.packets.remove(id);
    }

    /// Handles the close of a flow's connection: another connection follows, or the flow is done.
    fn note_close(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.is_done() && flow.is_finite() {
            self.unfinished -= 1;
            self.over |= self.unfinished == 0 && !self.plan.runs_to_end;
        }
        // The flow may open its next connection, so both endpoints have new wake-up times.
        flow.note_close();
        self.rearm_host(index, Side::Sender);
        self.rearm_host(index, Side::Receiver);
    }
}
