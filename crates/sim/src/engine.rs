//! The engine: takes the earliest event, moves packets along their routes, wakes hosts.
//!
//! A stage never calls a stage: a pipe hands its packet back, the engine takes it to the next hop
//! of its route or to its host; a host is polled for what it sends, and the engine takes that to
//! the first hop. Hops are pipes, which are many and pass nearly all packets, or ports of other
//! stages ([`crate::stage`]).

use crate::agenda::Agenda;
use crate::datagram::DatagramFlow;
use crate::event_queue::{MAX_TARGETS, Target};
use crate::flow::Flow;
use crate::packet::{Packets, Unpacked};
use crate::plan::{Plan, Port, Sampling, Side};
use crate::proxy::Proxy;
use crate::recorder::{Drop, Recorder};
use crate::run::{Options, RunError};
use retx_link::Pipe;
use retx_link::stage::{Entry, Packet};
use retx_tcp::{Prepared, Transmit};
use retx_units::{StreamKey, Time};

mod agents;
mod ahead;
mod calendar;
mod closing;
mod datagrams;
mod funnel;
mod funnels;
mod hosts;
mod lanes;
mod layout;
mod otherwise;
mod outside;
mod relay;
mod routes;
mod sampling;
mod stages;

pub use closing::Baseline;
use funnels::Funnels;
use lanes::Lanes;
use layout::{Placed, Ways};
use outside::Outside;
pub use outside::{Arriving, Left};
pub use relay::Chain;
use routes::{Step, is_private, pipe_of};

/// A run.
#[derive(Debug)]
pub struct Engine<'a> {
    plan: &'a Plan,
    key: StreamKey,
    now: Time,
    agenda: Agenda,
    packets: Packets,
    /// The hops of all routes: a pipe's index, or the number of pipes plus the index of a port.
    /// What else a word may say: [`routes`].
    routes: Vec<u32>,
    /// Where in them each private pipe is.
    places: Vec<u32>,
    lanes: Lanes,
    funnels: Funnels,
    ports: Vec<Port>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) stages: Vec<Placed>,
    tcps: Vec<Prepared>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) proxies: Vec<Proxy>,
    pub(crate) chains: Vec<Chain>,
    pub(crate) datagrams: Vec<DatagramFlow>,
    pub(crate) recorder: Recorder,
    pub(crate) baseline: Baseline,
    /// Finite flows not yet done.
    unfinished: usize,
    over: bool,
    events: u64,
    counts: Counts,
    /// The segment that is being sent.
    transmit: Transmit,
    /// The segment that is being delivered.
    arriving: Unpacked,
    /// Where packets come from and go to when there are no flows.
    outside: Option<Box<Outside>>,
}

/// Packets by how they came into the network and out of it.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    sent: u64,
    copied: u64,
    received: u64,
    dropped: u64,
    /// Copies that relays had kept, and let go.
    forgotten: u64,
}

/// Targets that are neither pipes nor hosts; stages follow them, then flows of UDP.
#[derive(Debug, Clone, Copy)]
enum Special {
    End,
    Warmup,
    Sample,
    /// Not a target: how many there are.
    Count,
}

/// The TCPs, for connections to share.
fn prepared(plan: &Plan, options: &Options) -> Vec<Prepared> {
    let of = |tcp: &crate::plan::TcpPlan| {
        let prepared = Prepared::from(&tcp.config);
        if options.reference { prepared.without_short_ways() } else { prepared }
    };
    plan.tcps.iter().map(of).collect()
}

impl<'a> Engine<'a> {
    /// A run that has not begun.
    ///
    /// # Errors
    /// More links and flows than events can address; a name that no capture file can hold.
    pub fn new(plan: &'a Plan, options: &Options) -> Result<Self, RunError> {
        let key = StreamKey { seed: plan.seed, replication: options.replication };
        let mut ways = Ways { routes: Vec::new(), ports: Vec::new(), pipes: plan.pipes.len() };
        let starts: Vec<u32> = plan.routes.iter().map(|route| ways.lay(route)).collect();
        let tcps = prepared(plan, options);
        let flow = |(index, flow): (usize, &crate::plan::FlowPlan)| {
            let first_hops = flow.routes.map(|route| starts[route as usize]);
            Flow::new(index as u32, flow, &tcps[flow.tcp as usize], first_hops)
        };
        let mut flows: Vec<Flow> = plan.flows.iter().enumerate().map(flow).collect();
        let chains = relay::chains(plan, &mut flows);
        let datagrams = layout::datagrams(plan, key, &mut ways);
        let mut engine = Self::between(plan, options, ways, flows, datagrams)?;
        engine.chains = chains;
        engine.check_samples_to_come()?;
        Ok(engine)
    }

    /// A run over these ways, between the ends of these flows.
    fn between(
        plan: &'a Plan,
        options: &Options,
        ways: Ways,
        mut flows: Vec<Flow>,
        datagrams: Vec<DatagramFlow>,
    ) -> Result<Self, RunError> {
        let key = StreamKey { seed: plan.seed, replication: options.replication };
        let hosts = 2 * flows.len() as u64 + Special::Count as u64;
        let targets = (plan.pipes.len() + plan.stages.len() + datagrams.len()) as u64 + hosts;
        // There may be a lane behind each pipe, or a funnel before it.
        if targets + 2 * plan.pipes.len() as u64 > u64::from(MAX_TARGETS) {
            return Err(RunError::TooLarge { targets });
        }
        let pipe = |pipe: &crate::plan::PipePlan| {
            // Hardly any draws: the name is put together for those that do.
            Pipe::new(&pipe.config, key, format_args!("link.{}.{}", pipe.link, pipe.direction))
        };
        let finite = flows.iter().filter(|flow| flow.is_finite()).count()
            + datagrams.iter().filter(|flow| flow.sender.is_finite()).count();
        let recorder = Recorder::new(plan, options)?;
        let Ways { mut routes, ports, .. } = ways;
        let mut pipes: Vec<Pipe> = plan.pipes.iter().map(pipe).collect();
        // A capture sees packets at each hop, at their time.
        let hop_by_hop = options.reference || recorder.capture.is_some();
        if !hop_by_hop {
            ahead::find_followers(&mut pipes, &routes, &plan.pipes);
        }
        let mut places = routes::find_private(&mut routes, &flows, &pipes);
        let mut targets = targets as u32;
        let funnels = Funnels::new(&routes, &mut pipes, (targets, !hop_by_hop));
        if options.reference {
            routes::forget_private(&mut routes, &mut places);
        }
        flows.iter_mut().for_each(|flow| flow.set_first_words(&routes));
        targets += funnels.count();
        let lanes = Lanes::new(&pipes, targets, flows.len());
        let mut engine = Self {
            plan,
            key,
            now: Time::ZERO,
            agenda: Agenda::new(targets + lanes.count()),
            packets: Packets::default(),
            places,
            routes,
            lanes,
            funnels,
            ports,
            pipes,
            stages: layout::stages(plan, key),
            unfinished: finite,
            over: false,
            tcps: prepared(plan, options),
            flows,
            proxies: plan.proxies.iter().map(Proxy::new).collect(),
            chains: Vec::new(),
            datagrams,
            recorder,
            baseline: Baseline::default(),
            events: 0,
            counts: Counts::default(),
            transmit: Transmit::default(),
            arriving: Unpacked::default(),
            outside: None,
        };
        engine.keep_histories();
        engine.first_events();
        Ok(engine)
    }

    fn first_events(&mut self) {
        self.agenda.wake(self.target_of(Special::End), self.plan.end);
        if self.plan.warmup > Time::ZERO {
            self.agenda.wake(self.target_of(Special::Warmup), self.plan.warmup);
        } else {
            self.begin_without_baseline();
        }
        if matches!(self.plan.sampling, Sampling::Every(_)) {
            self.agenda.wake(self.target_of(Special::Sample), Time::ZERO);
        }
        for index in 0..self.flows.len() {
            for side in [Side::Sender, Side::Receiver] {
                self.rearm(index as u32, side);
            }
        }
        for index in 0..self.datagrams.len() {
            self.settle_datagrams(index as u32);
        }
    }

    /// True when the run has come to its end.
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// The simulated time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Events handled so far.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Bytes that all receiving applications have read.
    pub fn bytes_delivered(&self) -> u64 {
        let flows: u64 = self.flows.iter().map(Flow::read_bytes).sum();
        let proxies: u64 = self.proxies.iter().map(|proxy| proxy.given).sum();
        let datagrams = self.datagrams.iter().map(|flow| flow.books.counters.bytes_delivered);
        flows - proxies + datagrams.sum::<u64>()
    }

    /// The events to come.
    pub const fn agenda(&self) -> &Agenda {
        &self.agenda
    }

    /// Handles the next event.
    #[inline(always)]
    pub fn step(&mut self) {
        let (time, target) = self.agenda.take_first().expect("the end of the run is an event");
        self.now = time;
        self.events += 1;
        let pipes = self.pipes.len() as u32;
        let arrived = if let Some(lane) = self.lanes.by_target(target) {
            self.lane_due(lane)
        } else if target < pipes {
            self.pipe_due(target)
        } else {
            return self.end_due(target - pipes);
        };
        if let Some((id, to)) = arrived {
            self.deliver(id, to);
        }
    }

    /// An end of a flow is due, or something else that is no pipe.
    #[inline(never)]
    fn end_due(&mut self, host: u32) {
        match host.checked_sub(2 * self.flows.len() as u32) {
            None if host & 1 == 0 => self.host_due(host >> 1, Side::Sender),
            None => self.host_due(host >> 1, Side::Receiver),
            Some(special) => self.special(special),
        }
    }

    /// The first packet of a pipe leaves it: returns it, and the end that it has reached. It may
    /// also go on.
    #[inline(always)]
    fn pipe_due(&mut self, index: u32) -> Option<(u32, u32)> {
        let pipe = &mut self.pipes[index as usize];
        // Nearly all packets go this way.
        if let Some(parcel) = pipe.poll_plain(self.now) {
            self.agenda.wake(index, pipe.poll_timeout());
            self.recorder.left(self.now, index, parcel.id, &mut self.packets);
            return self.take(self.step_from(index, parcel));
        }
        self.pipe_due_otherwise(index);
        None
    }

    /// A packet enters the hop that this word of its route names.
    #[inline(always)]
    fn enter(&mut self, word: u32, step: Step) {
        let pipe = self.pipes.get(pipe_of(word) as usize);
        if let Some(funnel) = pipe.and_then(Pipe::fed_by) {
            self.carry_out(funnel);
        }
        self.enter_in_turn(word, step);
    }

    /// The same where no other packet comes before it.
    #[inline(always)]
    fn enter_in_turn(&mut self, word: u32, step: Step) {
        let (index, id) = (pipe_of(word), step.parcel.id);
        if self.recorder.capture.is_some() {
            self.watch_entry(index, id);
        }
        let Some(pipe) = self.pipes.get_mut(index as usize) else {
            self.write_hop(step);
            return self.enter_stage(word, id);
        };
        if pipe.leads() {
            return self.enter_leader(index, step);
        }
        let entry = if pipe.is_plain() {
            pipe.handle_plain(self.now, step.parcel)
        } else if pipe.loses() {
            pipe.handle_losing(self.now, step.parcel, &self.packets.get(id).frame())
        } else {
            let packet = self.packets.get(id);
            let (frame, ecn_capable) = (packet.frame(), packet.is_ecn_capable());
            pipe.handle_packet(self.now, &Packet { id, frame, ecn_capable })
        };
        if !is_private(word) || entry != Entry::Accepted {
            self.packets.set_hop(id, step.hop);
        }
        match entry {
            Entry::Accepted => self.agenda.wake(index, pipe.poll_timeout()),
            Entry::AcceptedTwice => self.copy(index, id),
            Entry::QueueFull => self.turn_away(index, id),
        }
    }

    fn drop(&mut self, id: u32, drop: &Drop) {
        self.prepare_drop(id, drop);
        self.packets.end(id, false);
        let packet = self.packets.get(id);
        self.counts.dropped += 1;
        let Some(flow) = self.flows.get_mut(packet.flow() as usize) else {
            return self.drop_elsewhere(id, drop);
        };
        flow.dropped(packet, drop, &mut self.recorder);
        self.packets.remove(id);
    }

    /// A flow's connection is over: another follows, or the flow is done.
    fn note_close(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.is_done() && flow.is_finite() {
            self.unfinished -= 1;
            self.over |= self.unfinished == 0 && !self.plan.to_the_end;
        }
        flow.note_close();
        self.rearm(index, Side::Sender);
        self.rearm(index, Side::Receiver);
    }

    fn target_of(&self, special: Special) -> Target {
        (self.pipes.len() + 2 * self.flows.len()) as u32 + special as u32
    }

    fn special(&mut self, which: u32) {
        if let Some(stage) = which.checked_sub(Special::Count as u32) {
            match stage.checked_sub(self.stages.len() as u32) {
                None => self.stage_due(stage),
                Some(number) => match number.checked_sub(self.datagrams.len() as u32) {
                    None => self.datagrams_due(number),
                    Some(funnel) => self.funnel_due(funnel),
                },
            }
        } else if which == Special::End as u32 {
            self.over = true;
        } else if which == Special::Warmup as u32 {
            self.take_baseline();
        } else if let Sampling::Every(interval) = self.plan.sampling {
            self.sample();
            self.over |= self.recorder.sample_rows() > self.plan.samples_max;
            self.agenda.wake(self.target_of(Special::Sample), self.now + interval);
        }
    }
}
