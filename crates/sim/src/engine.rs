//! The engine: takes the earliest event, moves packets along their routes, wakes hosts.
//!
//! A stage never calls a stage: a pipe hands its packet back, the engine takes it to the next pipe
//! of its route or to its host; a host is polled for what it sends, and the engine takes that to
//! the first pipe.

use crate::agenda::Agenda;
use crate::event_queue::{MAX_TARGETS, Target};
use crate::flow::{Context, Flow};
use crate::packet::Packets;
use crate::plan::{Plan, Sampling, Side};
use crate::recorder::{Drop, Recorder};
use crate::run::{Options, RunError};
use retx_link::Pipe;
use retx_link::pipe::{self, Departure, Entry, Statistics};
use retx_record::counters::FlowCounters;
use retx_units::{StreamKey, Time};

/// Behind the last pipe of a route.
const HOST: u32 = u32::MAX;

/// What statistics begin with, at the end of the warm-up.
#[derive(Debug, Clone, Default)]
pub struct Baseline {
    /// When it was taken.
    pub at: Time,
    /// Each flow's counters.
    pub flows: Vec<FlowCounters>,
    /// Each pipe's.
    pub pipes: Vec<Statistics>,
}

/// A run.
#[derive(Debug)]
pub struct Engine<'a> {
    plan: &'a Plan,
    key: StreamKey,
    now: Time,
    agenda: Agenda,
    packets: Packets,
    /// The pipes of all routes, each route ended by [`HOST`].
    routes: Vec<u32>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) recorder: Recorder,
    pub(crate) baseline: Baseline,
    /// Finite flows not yet done.
    unfinished: usize,
    over: bool,
    events: u64,
    counts: Counts,
}

/// Packets by how they came into the network and out of it.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    sent: u64,
    received: u64,
    dropped: u64,
}

/// Targets that are neither pipes nor hosts.
#[derive(Debug, Clone, Copy)]
enum Special {
    End,
    Warmup,
    Sample,
}

impl<'a> Engine<'a> {
    /// A run that has not begun.
    ///
    /// # Errors
    /// More links and flows than events can address; a name that no capture file can hold.
    pub fn new(plan: &'a Plan, options: &Options) -> Result<Self, RunError> {
        let key = StreamKey { seed: plan.seed, replication: options.replication };
        let targets = plan.pipes.len() as u64 + 2 * plan.flows.len() as u64 + 3;
        if targets > u64::from(MAX_TARGETS) {
            return Err(RunError::TooLarge { targets });
        }
        let mut routes = Vec::new();
        let starts: Vec<u32> = plan.routes.iter().map(|route| lay(&mut routes, route)).collect();
        let pipe = |pipe: &crate::plan::PipePlan| {
            let name = format!("link.{}.{}", pipe.link, pipe.direction);
            Pipe::new(&pipe.config, key, &name)
        };
        let flow = |(index, flow): (usize, &crate::plan::FlowPlan)| {
            let first_hops = flow.routes.map(|route| starts[route as usize]);
            Flow::new(index as u32, flow, &plan.tcps[flow.tcp as usize], first_hops)
        };
        let flows: Vec<Flow> = plan.flows.iter().enumerate().map(flow).collect();
        let mut engine = Self {
            plan,
            key,
            now: Time::ZERO,
            agenda: Agenda::new(targets as u32),
            packets: Packets::default(),
            routes,
            pipes: plan.pipes.iter().map(pipe).collect(),
            unfinished: flows.iter().filter(|flow| flow.is_finite()).count(),
            over: false,
            flows,
            recorder: Recorder::new(plan, options)?,
            baseline: Baseline::default(),
            events: 0,
            counts: Counts::default(),
        };
        engine.first_events();
        Ok(engine)
    }

    fn first_events(&mut self) {
        self.agenda.wake(self.target_of(Special::End), self.plan.end);
        if self.plan.warmup > Time::ZERO {
            self.agenda.wake(self.target_of(Special::Warmup), self.plan.warmup);
        } else {
            self.take_baseline();
        }
        if matches!(self.plan.sampling, Sampling::Every(_)) {
            self.agenda.wake(self.target_of(Special::Sample), Time::ZERO);
        }
        for index in 0..self.flows.len() {
            for side in [Side::Sender, Side::Receiver] {
                self.rearm(index as u32, side);
            }
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
        self.flows.iter().map(|flow| flow.ledger.counters.bytes_delivered).sum()
    }

    /// The events to come.
    pub const fn agenda(&self) -> &Agenda {
        &self.agenda
    }

    /// Handles the next event.
    #[inline]
    pub fn step(&mut self) {
        let (time, target) = self.agenda.take_first().expect("the end of the run is an event");
        self.now = time;
        self.events += 1;
        let pipes = self.pipes.len() as u32;
        if target < pipes {
            self.pipe_due(target);
            return;
        }
        let host = target - pipes;
        match host.checked_sub(2 * self.flows.len() as u32) {
            None if host & 1 == 0 => self.host_due(host >> 1, Side::Sender),
            None => self.host_due(host >> 1, Side::Receiver),
            Some(special) => self.special(special),
        }
    }

    /// The first packet of a pipe leaves it.
    #[inline]
    fn pipe_due(&mut self, index: u32) {
        let pipe = &mut self.pipes[index as usize];
        let departure = pipe.poll_transmit(self.now);
        // At once, into the place that the event has left in the queue.
        self.agenda.wake(index, pipe.poll_timeout());
        match departure {
            Some(Departure::Delivered { id }) => self.forward(index, id),
            Some(Departure::Lost { id, at, reason }) => {
                self.drop(id, &Drop::by_channel(at, index, reason));
            }
            None => {}
        }
    }

    /// A packet has left a pipe: on to the next, or to its host.
    #[inline]
    fn forward(&mut self, from: u32, id: u32) {
        self.recorder.left(self.now, from, id, &mut self.packets);
        let packet = self.packets.get_mut(id);
        packet.hop += 1;
        match self.routes[packet.hop as usize] {
            HOST => self.deliver(id),
            next => self.enter(next, id),
        }
    }

    #[inline]
    fn enter(&mut self, index: u32, id: u32) {
        self.recorder.entered(self.now, index, id, &mut self.packets);
        let packet = self.packets.get(id);
        let pipe = &mut self.pipes[index as usize];
        match pipe.handle_packet(self.now, &pipe::Packet { id, frame: packet.frame() }) {
            Entry::Accepted => self.agenda.wake(index, pipe.poll_timeout()),
            Entry::QueueFull => self.drop(id, &Drop::by_queue(self.now, index)),
        }
    }

    #[inline]
    fn deliver(&mut self, id: u32) {
        let packet = self.packets.get(id);
        let (index, side) = (packet.flow(), packet.side());
        self.counts.received += 1;
        self.recorder.delivered(self.now, packet);
        let flow = &mut self.flows[index as usize];
        let segment = self.packets.segment(id);
        flow.handle_packet(self.now, packet, &segment, &mut self.recorder);
        self.packets.remove(id);
        self.serve(index, side);
    }

    fn drop(&mut self, id: u32, drop: &Drop) {
        let packet = self.packets.get(id);
        self.counts.dropped += 1;
        let flow = &mut self.flows[packet.flow() as usize];
        flow.dropped(packet, drop, &mut self.recorder);
        self.packets.remove(id);
    }

    /// An end of a flow has asked to be woken, or was to be opened.
    fn host_due(&mut self, index: u32, side: Side) {
        let mut context = Context {
            flows: &self.plan.flows,
            tcps: &self.plan.tcps,
            key: self.key,
            recorder: &mut self.recorder,
        };
        self.flows[index as usize].handle_timeout(self.now, side, &mut context);
        self.serve(index, side);
    }

    /// Sends what an end wants to send, and asks when it wants to be woken.
    #[inline]
    fn serve(&mut self, index: u32, side: Side) {
        while let Some(transmit) = self.flows[index as usize].poll_transmit(self.now, side) {
            self.counts.sent += 1;
            let id = self.packets.insert(&transmit.segment);
            let packet = self.packets.get_mut(id);
            let flow = &mut self.flows[index as usize];
            flow.sent(self.now, (side, &transmit), packet, &mut self.recorder);
            let first = self.routes[packet.hop as usize];
            self.enter(first, id);
        }
        self.rearm(index, side);
        if self.flows[index as usize].has_closed() {
            self.note_close(index);
        }
    }

    #[inline]
    fn rearm(&mut self, index: u32, side: Side) {
        let target = self.pipes.len() as u32 + 2 * index + side as u32;
        self.agenda.wake(target, self.flows[index as usize].poll_timeout(side));
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
        if which == Special::End as u32 {
            self.over = true;
        } else if which == Special::Warmup as u32 {
            self.take_baseline();
        } else if let Sampling::Every(interval) = self.plan.sampling {
            for flow in &self.flows {
                flow.sample(self.now, &mut self.recorder);
            }
            self.agenda.wake(self.target_of(Special::Sample), self.now + interval);
        }
    }

    /// Statistics start now.
    fn take_baseline(&mut self) {
        let now = self.now;
        let pipe = |pipe: &mut Pipe| {
            pipe.restart_maximum(now);
            pipe.statistics(now)
        };
        self.baseline = Baseline {
            at: now,
            flows: self.flows.iter_mut().map(|flow| flow.ledger.begin_statistics(now)).collect(),
            pipes: self.pipes.iter_mut().map(pipe).collect(),
        };
    }

    /// Ends the statistics.
    ///
    /// # Errors
    /// Packets that came from nowhere or went nowhere.
    pub fn finish(&mut self) -> Result<(), RunError> {
        if self.baseline.at < self.plan.warmup {
            // The run was over before the warm-up: there is nothing to tell.
            self.take_baseline();
        }
        for flow in &mut self.flows {
            flow.ledger.counters.cwnd.settle(self.now);
        }
        self.check_conservation()
    }

    /// Packets in = delivered + dropped + queued + in the air: of each pipe, and of the network.
    fn check_conservation(&self) -> Result<(), RunError> {
        let mut inside = 0;
        for (pipe, plan) in self.pipes.iter().zip(&self.plan.pipes) {
            let statistics = pipe.statistics(self.now);
            inside += statistics.queued + statistics.in_air;
            if !statistics.is_conserved() {
                let place = format!("{}.{}", plan.link, plan.direction);
                return Err(RunError::Conservation { place, counts: format!("{statistics:?}") });
            }
        }
        let Counts { sent, received, dropped } = self.counts;
        if sent != received + dropped + inside || inside != self.packets.count() {
            let counts =
                format!("{:?}, {inside} in pipes, {} held", self.counts, self.packets.count());
            return Err(RunError::Conservation { place: "the network".into(), counts });
        }
        Ok(())
    }
}

/// Appends a route; returns where it begins.
fn lay(routes: &mut Vec<u32>, route: &[u32]) -> u32 {
    assert!(!route.is_empty(), "a route has a pipe at least");
    let start = u32::try_from(routes.len()).expect("fewer than 2^32 hops");
    routes.extend_from_slice(route);
    routes.push(HOST);
    start
}
