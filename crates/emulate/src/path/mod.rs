//! Main loop: passes packets from the hosts' devices to the engine, and writes packets that leave
//! the engine to the devices when they are due.
//!
//! The loop runs in one thread, which sleeps until shortly before the next event and spins for the
//! rest. The bytes of a packet are in a slab, under the packet's id in the engine. When a packet is
//! written to a device, the kernel processes it before the call returns. If a sender's socket is
//! queried immediately afterwards, it shows the effect of the acknowledgment.

mod datagrams;
mod device;
mod flows;
mod inspect;
mod limits;
mod observed;
mod rewrite;
mod senders;
mod sleep_budget;
mod transitions;

pub use datagrams::{DatagramObservations, Datagrams};
pub use device::Devices;
pub use flows::{Context, Flows, PacketState};
pub use inspect::{InspectedPacket, Inspector};
pub use limits::Limiter;
pub use senders::Senders;

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::progress::Progress;
use datagrams::DatagramState;
use retx_record::flow::FlowCounters;
use retx_record::reason::Cause;
use retx_sim::engine::{Engine, ExternalEvent};
use retx_sim::{Control, RunError};
use retx_units::{Duration, Time};
use sleep_budget::SleepBudget;

/// For this time before an event the loop spins, because a sleep could end too late.
const SPIN: Duration = Duration::from_micros(150);
/// Longest sleep. It bounds the delay with which the loop detects the end of the run.
const NAP: Duration = Duration::from_millis(5);
/// Maximum number of consecutive packets read from one device, so that other devices do not wait
/// long.
const BURST: usize = 32;

/// Bytes of the largest IPv4 packet with a link header.
const PACKET_MAX: usize = 65_535 + 14;

/// Condition that ends a run before its end time.
#[derive(Debug, Clone, Copy)]
pub struct EndCondition {
    /// Number of finite TCP and UDP flows that must complete; `None` if the end of flows does not
    /// end the run.
    pub flows: Option<usize>,
    /// Number of programs that must end.
    pub programs: usize,
}

impl EndCondition {
    fn is_reached(self, progress: &Progress, datagrams: &Datagrams) -> bool {
        let done = progress.flows_done() + datagrams.finished_flows;
        let flows = self.flows.is_some_and(|flows| done >= flows);
        flows && progress.programs_done() >= self.programs
    }
}

/// Observations on the path.
#[derive(Debug)]
pub struct Observations {
    /// Counters of each TCP flow.
    pub counters: Vec<FlowCounters>,
    /// Observations of each UDP flow.
    pub datagrams: Vec<DatagramObservations>,
    /// Names of conversations besides the flows.
    pub conversation_names: Vec<String>,
    /// Lateness of packets.
    pub lateness: Lateness,
    /// Number of packets that have no destination host, or are invalid.
    pub unroutable: u64,
    /// Packets that a device refused.
    pub failed_writes: u64,
    /// Number of connections whose senders could not be queried.
    pub unqueried_senders: u64,
}

/// Path between the hosts.
#[derive(Debug)]
pub struct Path<'a, 'p> {
    engine: &'a mut Engine<'p>,
    clock: Clock,
    devices: Devices,
    inspector: Inspector,
    flows: Flows,
    senders: Senders,
    datagrams: Datagrams,
    lateness: Lateness,
    /// Packets in flight, by their id in the engine.
    packets: Vec<PathPacket>,
    buffer: Vec<u8>,
    /// End of the warm-up; `None` once it has passed.
    warmup: Option<Time>,
    /// Time of the next sample of the senders, and interval between samples; `None` without
    /// sampling.
    sampling: Option<(Time, Duration)>,
    rest: SleepBudget,
    /// Retransmissions that the current event has shown to be necessary; empty between events.
    necessary: Vec<(u32, u64)>,
}

/// State of a packet in flight.
#[derive(Debug, Clone, Default)]
struct PathPacket {
    bytes: Vec<u8>,
    packet_state: PacketState,
    /// State of a packet of a UDP flow; `None` for other packets.
    datagram: Option<DatagramState>,
}

impl<'a, 'p> Path<'a, 'p> {
    /// Creates a path without packets.
    pub fn new(
        engine: &'a mut Engine<'p>,
        clock: Clock,
        devices: Devices,
        inspector: Inspector,
        (flows, senders, datagrams): (Flows, Senders, Datagrams),
    ) -> Self {
        Self {
            engine,
            clock,
            devices,
            inspector,
            flows,
            senders,
            datagrams,
            lateness: Lateness::default(),
            packets: Vec::new(),
            buffer: vec![0; PACKET_MAX],
            warmup: None,
            sampling: None,
            rest: SleepBudget::default(),
            necessary: Vec::new(),
        }
    }

    /// Sets the start of statistics.
    pub const fn set_warmup_end(&mut self, time: Time) {
        self.warmup = Some(time);
    }

    /// Sets the interval at which senders are sampled.
    pub const fn set_sample_interval(&mut self, interval: Duration) {
        self.sampling = Some((Time::ZERO, interval));
    }

    /// Observations at the end of the run.
    pub fn into_observations(mut self) -> Observations {
        Observations {
            counters: self.flows.counters_since_warmup(self.engine.now()),
            datagrams: self.datagrams.into_observations(),
            conversation_names: self.inspector.conversation_names().to_vec(),
            lateness: self.lateness,
            unroutable: self.flows.unroutable,
            failed_writes: self.devices.failed_writes,
            unqueried_senders: self.senders.receive_failures,
        }
    }

    /// Moves packets until the run is over.
    ///
    /// # Errors
    /// The run was cancelled, or the worker has ended.
    pub fn run(
        &mut self,
        goal: EndCondition,
        progress: &Progress,
        control: &Control,
    ) -> Result<(), RunError> {
        let mut reported_until = Time::ZERO;
        while !self.engine.is_over() {
            // Packets that are due are written before devices are read, because reading takes time
            // and would make them late.
            self.deliver(self.clock.now());
            self.note_warmup(self.engine.now());
            self.sample();
            // The devices are read before the loop sleeps, because packets that wait there would
            // become late.
            let busy = self.read_packets();
            let now = self.engine.now();
            if now.since(reported_until) >= NAP {
                control.add_simulated_time(now.since(reported_until));
                reported_until = now;
                if control.is_cancelled() || progress.has_ended() {
                    return Err(RunError::Cancelled);
                }
                self.flows.note_failures(&progress.failed_flows());
                self.datagrams.mark_ended(&progress.final_packet_counts());
                if goal.is_reached(progress, &self.datagrams) {
                    return Ok(());
                }
            }
            if !busy {
                self.wait();
            }
        }
        Ok(())
    }

    /// Reads the packets that wait at the devices; returns false if there were none.
    fn read_packets(&mut self) -> bool {
        let mut any = false;
        for host in 0..self.devices.count() {
            for _ in 0..BURST {
                let Some(packet) = self.devices.read(host, &mut self.buffer) else { break };
                any = true;
                let now = self.clock.now();
                // The time is limited to `now`, because the conversion between the clocks may yield
                // a time in the future.
                let at =
                    packet.timestamp.map_or(now, |real| self.clock.from_real_time(real)).min(now);
                self.enter((at, now), host, packet.bytes);
            }
        }
        any
    }

    /// Passes a packet that arrived at `at` to the engine; the packet is in the range `bytes` of
    /// the buffer. After the end of the run it is ignored.
    fn enter(&mut self, (at, now): (Time, Time), host: usize, bytes: std::ops::Range<usize>) {
        self.note_warmup(at);
        // The engine's time never decreases, so packets that leave before this arrival must be
        // delivered first.
        self.deliver(at);
        if self.engine.is_over() {
            return;
        }
        let packet = &mut self.buffer[bytes];
        let Some(seen) = self.inspector.inspect(host, packet) else {
            self.flows.unroutable += 1;
            return;
        };
        // The engine accepts no packet before the time of its last departure.
        let at = at.max(self.engine.now());
        let (id, packet_state, datagram) =
            if let Some((arriving, datagram)) = self.datagrams.on_sent(at, &seen) {
                let packet_state = PacketState::without_flow(seen.host);
                (self.engine.enter_external(at, &arriving), packet_state, Some(datagram))
            } else {
                let senders = &mut self.senders;
                let context = &mut Context { tables: self.engine.tables(), senders };
                let (arriving, packet_state) = self.flows.on_sent(at, &seen, context);
                (self.engine.enter_external(at, &arriving), packet_state, None)
            };
        let id = id as usize;
        if id >= self.packets.len() {
            self.packets.resize_with(id + 1, PathPacket::default);
        }
        let kept = &mut self.packets[id];
        // The buffer of an earlier packet with the same id is reused.
        kept.bytes.clear();
        kept.bytes.extend_from_slice(packet);
        (kept.packet_state, kept.datagram) = (packet_state, datagram);
        self.deliver(now);
    }

    fn note_warmup(&mut self, now: Time) {
        if self.warmup.is_some_and(|warmup| warmup <= now) {
            self.warmup = None;
            self.flows.begin_statistics(now);
            self.datagrams.begin_statistics();
        }
    }

    /// Queries the senders when a sample is due.
    fn sample(&mut self) {
        while let Some((next, interval)) = self.sampling
            && next <= self.engine.now()
        {
            let senders = &mut self.senders;
            let context = &mut Context { tables: self.engine.tables(), senders };
            self.flows.sample(next, context);
            self.sampling = Some((next + interval, interval));
        }
    }

    /// Writes the packets that leave the engine by `now`.
    fn deliver(&mut self, now: Time) {
        while let Some(left) = self.engine.advance(now) {
            match left {
                ExternalEvent::Delivered { id, at, ecn, duplicate, loss_notice } => {
                    let kept = &mut self.packets[id as usize];
                    rewrite::set_ecn(&mut kept.bytes, ecn);
                    if loss_notice {
                        rewrite::set_loss_notice(&mut kept.bytes);
                    }
                    self.lateness.record(self.clock.now().since(at));
                    self.devices.write(kept.packet_state.host, &kept.bytes);
                    let senders = &mut self.senders;
                    let context = &mut Context { tables: self.engine.tables(), senders };
                    self.flows.on_delivered(at, &kept.packet_state, context);
                    if let Some(datagram) = &kept.datagram {
                        self.datagrams.on_delivered(at, datagram, duplicate);
                    }
                }
                ExternalEvent::Copied { from, to } => self.copy(from as usize, to as usize),
                ExternalEvent::Dropped { id, drop, lost, in_first_hop } => {
                    if let Some(datagram) = &self.packets[id as usize].datagram {
                        self.datagrams.on_dropped(drop.at, datagram, lost, in_first_hop);
                    } else if lost {
                        self.lose(id, drop.cause);
                    }
                }
                ExternalEvent::GivenUp { id, drop } => self.lose(id, drop.cause),
                ExternalEvent::PassedFirstHop { id } => {
                    if let Some(datagram) = &self.packets[id as usize].datagram {
                        self.datagrams.on_passed_first_hop(datagram);
                    }
                }
            }
        }
    }

    /// Handles a copy of a packet made by the network.
    fn copy(&mut self, from: usize, to: usize) {
        // A duplicated datagram is marked as a copy, because its source gets reports only on the
        // original.
        let mut copy = self.packets[from].clone();
        copy.datagram = copy.datagram.map(DatagramState::network_copy);
        if to >= self.packets.len() {
            self.packets.resize_with(to + 1, PathPacket::default);
        }
        self.packets[to] = copy;
    }

    /// Handles the loss of a packet of a TCP flow, with all its copies.
    fn lose(&mut self, id: u32, cause: Cause) {
        let packet_state = &self.packets[id as usize].packet_state;
        let (tables, necessary) = (self.engine.tables(), &mut self.necessary);
        self.flows.on_lost(packet_state, cause, tables, necessary);
        for (flow, number) in self.necessary.drain(..) {
            self.engine.was_necessary(flow, number);
        }
    }

    /// Waits for a packet or for the next event.
    fn wait(&mut self) {
        let next = self.engine.next_time();
        loop {
            let now = self.clock.now();
            // The sleep ends some time before the next event, because a sleep may end late. The
            // loop spins for the rest.
            let left = if next > now { next.since(now) } else { return };
            let spin = if self.rest.may_stay_awake(now) { SPIN } else { Duration::ZERO };
            let sleep = left.saturating_sub(spin).min(NAP);
            let ready = self.devices.wait_for_packet(sleep);
            // This function either sleeps or spins. After a sleep the caller reads the devices and
            // the clock again.
            if !sleep.is_zero() {
                self.rest.record_sleep(now, self.clock.now());
                return;
            }
            if ready {
                return;
            }
        }
    }
}
