//! The loop: hands packets of the hosts' devices to the engine, and writes those that have passed
//! it when their time has come.
//!
//! It runs in one thread, which sleeps until shortly before the next event and spins for the rest.
//! A packet's bytes lie in a slab under the packet's number in the engine. A kernel takes a packet
//! that is written to its device before the call returns, so that a sender's socket, looked at
//! right after, tells what became of each acknowledgment.

mod datagrams;
mod device;
mod flows;
mod inspect;
mod observed;
mod rewrite;
mod senders;
mod watch;

pub use datagrams::{DatagramSight, Datagrams};
pub use device::Devices;
pub use flows::{Around, Flows, Passage};
pub use inspect::{Inspector, Seen};
pub use senders::Senders;

use crate::clock::Clock;
use crate::lateness::Lateness;
use crate::launch::Progress;
use datagrams::UnderWay;
use retx_record::flow::FlowCounters;
use retx_record::reason::Cause;
use retx_sim::engine::{Engine, Left};
use retx_sim::{Control, RunError};
use retx_units::{Duration, Time};

/// From here on the loop spins, as a sleep would end too late.
const SPIN: Duration = Duration::from_micros(150);
/// One part in so many of its time the loop sleeps, where it can. A thread of real-time priority
/// that never sleeps is stopped by the kernel for 50 ms in each second in which others wait for its
/// processor (`sched_rt_runtime_us`; the fair server of `kernel/sched/deadline.c`).
const REST: u64 = 10;
/// So much sleep is kept in hand from quiet times.
const REST_IN_HAND: Duration = Duration::from_millis(20);
/// The longest sleep: so often the loop looks whether the run is over.
const NAP: Duration = Duration::from_millis(5);
/// Packets of one device taken in a row, so that none waits long for the others.
const BURST: usize = 32;

/// The largest packet of IPv4, and a link's header before it.
const PACKET_MAX: usize = 65_535 + 14;

/// When a run is over, besides at its end and when it is cancelled.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// Finite flows over TCP and of UDP; `None` when the run goes on without them.
    pub flows: Option<usize>,
    /// Programs.
    pub programs: usize,
}

impl Goal {
    fn is_reached(self, progress: &Progress, datagrams: &Datagrams) -> bool {
        let done = progress.flows_done() + datagrams.finished;
        let flows = self.flows.is_some_and(|flows| done >= flows);
        flows && progress.programs_done() >= self.programs
    }
}

/// What has been seen on the way.
#[derive(Debug)]
pub struct Sights {
    /// Of each flow over TCP.
    pub counts: Vec<FlowCounters>,
    /// Of each flow of UDP.
    pub datagrams: Vec<DatagramSight>,
    /// What conversations beside the flows are called.
    pub names: Vec<String>,
    /// How late packets left.
    pub lateness: Lateness,
    /// Packets to no host, or no sound ones.
    pub unroutable: u64,
    /// Packets that a device did not take.
    pub refused: u64,
    /// Connections whose senders could not be looked at.
    pub unwatched: u64,
}

/// The way between the hosts.
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
    /// Packets under way.
    packets: Vec<Kept>,
    buffer: Vec<u8>,
    /// The end of the warm-up, as long as it is to come.
    warmup: Option<Time>,
    /// When senders are to be looked at next, and how long after that again.
    sampling: Option<(Time, Duration)>,
    rest: Rest,
    /// Retransmissions that have just turned out to be necessary; empty between events.
    necessary: Vec<(u32, u64)>,
}

/// What is kept of a packet under way.
#[derive(Debug, Clone, Default)]
struct Kept {
    bytes: Vec<u8>,
    passage: Passage,
    /// For one of the flows of UDP.
    datagram: Option<UnderWay>,
}

/// How much the loop has slept, beside what it has to.
#[derive(Debug, Clone, Copy, Default)]
struct Rest {
    /// The end of the last sleep.
    woken: Time,
    in_hand: Duration,
}

impl Rest {
    /// True when it can do without sleep.
    fn is_enough(&self, now: Time) -> bool {
        now.since(self.woken).as_nanos() / REST <= self.in_hand.as_nanos()
    }

    fn slept(&mut self, from: Time, to: Time) {
        let due = Duration::from_nanos(from.since(self.woken).as_nanos() / REST);
        let had = self.in_hand.saturating_sub(due) + to.since(from);
        *self = Self { woken: to, in_hand: had.min(REST_IN_HAND) };
    }
}

impl<'a, 'p> Path<'a, 'p> {
    /// A way on which nothing has come yet.
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
            rest: Rest::default(),
            necessary: Vec::new(),
        }
    }

    /// Statistics start at `time`.
    pub const fn warm_up_until(&mut self, time: Time) {
        self.warmup = Some(time);
    }

    /// Senders are looked at every so often.
    pub const fn sample_every(&mut self, interval: Duration) {
        self.sampling = Some((Time::ZERO, interval));
    }

    /// What has been seen; the way is at its end.
    pub fn seen(mut self) -> Sights {
        Sights {
            counts: self.flows.counts(self.engine.now()),
            datagrams: self.datagrams.seen(),
            names: self.inspector.names().to_vec(),
            lateness: self.lateness,
            unroutable: self.flows.unroutable,
            refused: self.devices.refused,
            unwatched: self.senders.lost,
        }
    }

    /// Moves packets until the run is over.
    ///
    /// # Errors
    /// It has been cancelled, or the worker has gone.
    pub fn run(
        &mut self,
        goal: Goal,
        progress: &Progress,
        control: &Control,
    ) -> Result<(), RunError> {
        let mut told = Time::ZERO;
        while !self.engine.is_over() {
            self.deliver(self.clock.now());
            self.note_warmup(self.engine.now());
            self.sample();
            let busy = self.take_in();
            let now = self.engine.now();
            if now.since(told) >= NAP {
                control.add_simulated(now.since(told));
                told = now;
                if control.is_cancelled() || progress.is_lost() {
                    return Err(RunError::Cancelled);
                }
                self.datagrams.settle(&progress.all_sent());
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

    /// Takes in what waits at the devices; false when nothing did.
    fn take_in(&mut self) -> bool {
        let mut any = false;
        for host in 0..self.devices.count() {
            for _ in 0..BURST {
                let Some(packet) = self.devices.read(host, &mut self.buffer) else { break };
                any = true;
                let now = self.clock.now();
                let at = packet.stamp.map_or(now, |real| self.clock.of_real_time(real)).min(now);
                self.enter((at, now), host, packet.bytes);
            }
        }
        any
    }

    /// A packet of `buffer` enters, which came at `at`; none does once the run is over.
    fn enter(&mut self, (at, now): (Time, Time), host: usize, bytes: std::ops::Range<usize>) {
        self.note_warmup(at);
        self.deliver(at);
        if self.engine.is_over() {
            return;
        }
        let packet = &mut self.buffer[bytes];
        let Some(seen) = self.inspector.inspect(host, packet) else {
            self.flows.unroutable += 1;
            return;
        };
        // No sooner than what has left the engine before.
        let at = at.max(self.engine.now());
        let (id, passage, datagram) =
            if let Some((arriving, datagram)) = self.datagrams.arriving(at, &seen) {
                let passage = Passage::of_none(seen.host);
                (self.engine.arrive(at, &arriving), passage, Some(datagram))
            } else {
                let senders = &mut self.senders;
                let around = &mut Around { tables: self.engine.tables(), senders };
                let (arriving, passage) = self.flows.arriving(at, &seen, around);
                (self.engine.arrive(at, &arriving), passage, None)
            };
        let id = id as usize;
        if id >= self.packets.len() {
            self.packets.resize_with(id + 1, Kept::default);
        }
        let kept = &mut self.packets[id];
        kept.bytes.clear();
        kept.bytes.extend_from_slice(packet);
        (kept.passage, kept.datagram) = (passage, datagram);
        self.deliver(now);
    }

    fn note_warmup(&mut self, now: Time) {
        if self.warmup.is_some_and(|warmup| warmup <= now) {
            self.warmup = None;
            self.flows.begin_statistics(now);
            self.datagrams.begin_statistics();
        }
    }

    /// Looks at the senders when it is time.
    fn sample(&mut self) {
        while let Some((next, interval)) = self.sampling
            && next <= self.engine.now()
        {
            let senders = &mut self.senders;
            let around = &mut Around { tables: self.engine.tables(), senders };
            self.flows.sample(next, around);
            self.sampling = Some((next + interval, interval));
        }
    }

    /// Writes what leaves the engine by `now`.
    fn deliver(&mut self, now: Time) {
        while let Some(left) = self.engine.advance(now) {
            match left {
                Left::Delivered { id, at, ecn, again, loss_notice } => {
                    let kept = &mut self.packets[id as usize];
                    rewrite::set_ecn(&mut kept.bytes, ecn);
                    if loss_notice {
                        rewrite::set_loss_notice(&mut kept.bytes);
                    }
                    self.lateness.record(self.clock.now().since(at));
                    self.devices.write(kept.passage.host, &kept.bytes);
                    let senders = &mut self.senders;
                    let around = &mut Around { tables: self.engine.tables(), senders };
                    self.flows.delivered(at, &kept.passage, around);
                    if let Some(datagram) = &kept.datagram {
                        self.datagrams.delivered(at, datagram, again);
                    }
                }
                Left::Copied { from, to } => self.copy(from as usize, to as usize),
                Left::Dropped { id, drop, lost, in_first_hop } => {
                    if let Some(datagram) = &self.packets[id as usize].datagram {
                        self.datagrams.dropped(drop.at, datagram, lost, in_first_hop);
                    } else if lost {
                        self.lose(id, drop.cause);
                    }
                }
                Left::GivenUp { id, drop } => self.lose(id, drop.cause),
                Left::PassedFirstHop { id } => {
                    if let Some(datagram) = &self.packets[id as usize].datagram {
                        self.datagrams.passed_first_hop(datagram);
                    }
                }
            }
        }
    }

    /// The network has made a packet of another.
    fn copy(&mut self, from: usize, to: usize) {
        let mut copy = self.packets[from].clone();
        copy.datagram = copy.datagram.map(UnderWay::copied);
        if to >= self.packets.len() {
            self.packets.resize_with(to + 1, Kept::default);
        }
        self.packets[to] = copy;
    }

    /// A packet of a flow over TCP is lost, whatever the network has made of it.
    fn lose(&mut self, id: u32, cause: Cause) {
        let passage = &self.packets[id as usize].passage;
        let (tables, necessary) = (self.engine.tables(), &mut self.necessary);
        self.flows.lost(passage, cause, tables, necessary);
        for (flow, number) in self.necessary.drain(..) {
            self.engine.was_necessary(flow, number);
        }
    }

    /// Waits for a packet or for the next event.
    fn wait(&mut self) {
        let next = self.engine.next_time();
        loop {
            let now = self.clock.now();
            let left = if next > now { next.since(now) } else { return };
            let spin = if self.rest.is_enough(now) { SPIN } else { Duration::ZERO };
            let sleep = left.saturating_sub(spin).min(NAP);
            let ready = self.devices.wait(sleep);
            if !sleep.is_zero() {
                self.rest.slept(now, self.clock.now());
                return;
            }
            if ready {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    #[test]
    fn a_tenth_of_the_time_is_slept() {
        let mut rest = Rest::default();
        assert!(!rest.is_enough(at(100)));
        rest.slept(at(100), at(200));
        // 100 µs slept, of which the first 100 µs awake took 10, though there was nothing in hand.
        assert!(rest.is_enough(at(1200)));
        assert!(!rest.is_enough(at(1220)));
        rest.slept(at(1200), at(1300));
        assert!(rest.is_enough(at(2300)));
        // A long sleep does not last for ever.
        rest.slept(at(2300), at(10_000_000));
        assert!(rest.is_enough(at(10_200_000)));
        assert!(!rest.is_enough(at(10_200_020)));
    }
}
