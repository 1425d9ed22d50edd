//! Passing a pipe ahead of time: a packet's arrival at the far end is computed before the packet
//! reaches the pipe.
//!
//! *Which pipes.* A pipe in which nothing happens except waiting, transmission and a constant delay
//! ([`Pipe::is_plain`]) can be passed ahead of time if all its packets come from one other pipe,
//! its *leader*, which delivers them in order. The pipe *follows* the leader. When a packet enters
//! the leader, its arrival at the near end of the follower is known, and that determines its
//! arrival at the far end, without an event in between.
//!
//! *Which packets.* All packets but those that the queue would drop, or that would make the queue
//! longer than ever before. These effects must not show before the packet arrives, so it does not
//! pass ahead of time: it enters the follower in an event at the time of its arrival. Until it has
//! entered, later packets enter in such events as well; otherwise they would overtake it.
//!
//! *Counters* must describe the present, but a packet is counted in a follower before it gets
//! there. When counters are read, [`statistics`] therefore computes, from the arrivals at the far
//! ends, which packets have not yet reached the pipes that count them. A packet that arrives at the
//! very instant of reading has not arrived, since samples and the ends of warm-up and run precede
//! all other events at the same time.

use super::statistics::Statistics;
use super::{Config, Packet, Pipe, PlainPacket, later, later_by};
use crate::channel::{Frame, Model};
use crate::queue;
use retx_units::{Duration, Time};
use std::collections::BTreeMap;

/// Outcome of entering a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum LeaderEntry {
    /// The packet arrives at the far end at this time. It is in no pipe yet: the caller must call
    /// [`Pipe::insert`] or [`Pipe::traverse_ahead`] next.
    Arrives(Time),
    /// The channel loses the packet; [`Pipe::poll_transmit`] returns the loss when it occurs.
    Lost,
    /// The queue drops the packet.
    QueueFull,
}

impl Config {
    /// True if other pipes may follow a pipe of this configuration: a packet's fate is known when
    /// it enters, and packets arrive in order.
    pub fn can_lead(&self) -> bool {
        let later = self.changes.iter().filter_map(|change| change.channel.as_ref());
        matches!(self.queue, queue::Config::droptail(_))
            && self.repair.is_none()
            && later.chain([&self.channel]).flatten().all(Model::keeps_order)
    }
}

impl Pipe {
    /// Marks this pipe as a leader: from now on packets enter by [`Self::enter_leader`].
    pub const fn make_leader(&mut self) {
        self.leads = true;
    }

    /// True if other pipes follow this one.
    #[inline]
    pub const fn leads(&self) -> bool {
        self.leads
    }

    /// Enters a packet into a pipe whose channel may lose it ([`Self::is_plain_but_lossy`]).
    #[inline(always)]
    pub fn enter_losing(&mut self, now: Time, id: u32, frame: &Frame) -> LeaderEntry {
        let Some(end) = self.admit(now, frame.bytes) else { return LeaderEntry::QueueFull };
        match self.draw_loss(end, frame) {
            None => LeaderEntry::Arrives(later(end, self.delay)),
            Some(reason) => {
                self.delay_line.insert_loss(end, id, reason);
                LeaderEntry::Lost
            }
        }
    }

    /// Enters a packet of `bytes` into a plain leader.
    #[inline(always)]
    pub fn enter_plain(&mut self, now: Time, bytes: u32) -> LeaderEntry {
        let end = self.admit(now, bytes);
        end.map_or(LeaderEntry::QueueFull, |end| LeaderEntry::Arrives(later(end, self.delay)))
    }

    /// Enters a packet into a leader.
    #[inline(never)]
    pub fn enter_leader(&mut self, now: Time, packet: &Packet) -> LeaderEntry {
        if self.is_plain() {
            return self.enter_plain(now, packet.frame.bytes);
        }
        if self.is_plain_but_lossy() {
            return self.enter_losing(now, packet.id, &packet.frame);
        }
        let Some(end) = self.admit(now, packet.frame.bytes) else { return LeaderEntry::QueueFull };
        self.apply_changes(end);
        match self.draw_fate(end, &packet.frame) {
            Ok(journey) => {
                self.rare_mut().exceptions.bursts.end_burst();
                let own = later(end, later_by(self.delay, journey.extra));
                // Frames arrive in order even if their delays differ: a frame does not arrive
                // before the previous one.
                let arrival = self.delay_line.in_order_arrival(own);
                self.rare_mut().exceptions.delays.add_frame(journey.extra, arrival.since(own));
                LeaderEntry::Arrives(arrival)
            }
            Err(reason) => {
                self.rare_mut().exceptions.bursts.add_loss();
                self.delay_line.insert_loss(end, packet.id, reason);
                LeaderEntry::Lost
            }
        }
    }

    /// Lets a packet pass this pipe ahead of time. At the present time `now` it is known that the
    /// packet will reach this pipe at `at`. Returns its arrival at the far end, or `None` if the
    /// packet cannot pass ahead of time and must enter in an event at `at`.
    #[inline(always)]
    pub fn traverse_ahead(&mut self, (now, at): (Time, Time), bytes: u32) -> Option<Time> {
        // Usually the transmitter is idle at `at`, so the packet need not wait.
        if self.awaits || self.transmitter.busy_until() > at {
            return self.traverse_ahead_waiting((now, at), bytes);
        }
        self.counts.passed += 1;
        Some(later(self.transmitter.transmit_when_idle(at, bytes), self.delay))
    }

    /// General case of [`Self::traverse_ahead`]: the transmitter is busy at `at`, or an earlier
    /// packet has yet to enter in an event at its arrival.
    #[inline(never)]
    fn traverse_ahead_waiting(&mut self, (now, at): (Time, Time), bytes: u32) -> Option<Time> {
        // An earlier packet whose event is due at `now` may not have entered yet.
        self.awaits &= self.by_event >= now;
        let end = if self.awaits {
            None
        } else if self.transmitter.busy_until() <= at {
            Some(self.transmitter.transmit_when_idle(at, bytes))
        } else {
            self.transmitter.transmit_after_waiting((now, at), bytes)
        };
        // If this packet must enter in an event at `at`, later packets must not pass ahead of time
        // until it has entered; otherwise they would overtake it.
        let Some(end) = end else {
            (self.awaits, self.by_event) = (true, at);
            return None;
        };
        self.counts.passed += 1;
        Some(later(end, self.delay))
    }

    /// Appends to the delay line a packet that has passed this pipe ahead of time; it arrives at
    /// the far end at `arrival`.
    #[inline(always)]
    pub fn append(&mut self, arrival: Time, plain: PlainPacket) {
        self.delay_line.append(arrival, plain);
    }

    /// Records that the engine takes over a packet that has passed this pipe ahead of time. The
    /// engine holds the packet until it arrives, and reports it as [`HeldPacket`].
    #[inline(always)]
    pub const fn hand_over(&mut self) {
        self.counts.delivered += 1;
    }

    /// Adds to the delay line a packet for which [`Self::enter_leader`] or [`Self::traverse_ahead`]
    /// has returned this `arrival`.
    #[inline(always)]
    pub fn insert(&mut self, arrival: Time, plain: PlainPacket) {
        if self.is_plain() {
            self.delay_line.append(arrival, plain);
        } else {
            let _ = self.delay_line.insert_in_order(arrival, plain.id);
        }
    }

    /// Returns the packets that this pipe has counted but that do not reach its near end before
    /// `now`, each as its arrival there and its length. Also returns the part of the counted
    /// transmission time that lies in the future. `all` lists packets that later pipes have counted
    /// or that the engine holds, each as its arrival at the far end of this pipe and its length;
    /// the packets in the delay line are added to the list.
    fn pending_arrivals(
        &self,
        now: Time,
        mut all: Vec<(Time, u32)>,
        bytes: impl Fn(u32) -> u32,
    ) -> (Vec<(Time, u32)>, Duration) {
        all.extend(self.delay_line.arrivals().map(|(time, id)| (time, bytes(id))));
        let mut busy = Duration::ZERO;
        for (time, bytes) in &mut all {
            let before = |time: Time, by: Duration| {
                Time::from_nanos(time.as_nanos().saturating_sub(by.as_nanos()))
            };
            // The start of the transmission is computed backwards from the arrival at the far end.
            let end = before(*time, self.delay);
            let start = before(end, self.transmitter.transmission_time(*bytes));
            busy += end.since(now.max(start));
            *time = self.transmitter.arrival_before(start);
        }
        // Packets that have reached the near end before are counted correctly.
        all.retain(|(arrival, _)| *arrival >= now);
        (all, busy)
    }
}

/// Packet that the engine holds instead of a pipe ([`Pipe::hand_over`]).
#[derive(Debug, Clone, Copy)]
pub struct HeldPacket {
    /// Index of the pipe at whose far end the packet arrives.
    pub pipe: u32,
    /// Time at which the packet arrives at the far end of that pipe.
    pub arrival: Time,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
}

/// Corrections to a pipe's counters for packets that were passed ahead of time.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    packets_in: u64,
    delivered: u64,
    /// Packets counted as delivered whose arrival at the far end lies in the future.
    not_yet_delivered: u64,
    /// Part of the counted transmission time that lies in the future.
    busy: Duration,
    /// Packets counted in this pipe that are still in the previous pipe.
    not_yet_here: u32,
    /// Packets counted in later pipes, or held by the engine, that are still in this pipe.
    still_here: u32,
}

impl Share {
    fn add_to(&self, counted: Statistics) -> Statistics {
        let in_transit =
            counted.in_transit + u64::from(self.still_here) - u64::from(self.not_yet_here);
        Statistics {
            packets_in: counted.packets_in + self.packets_in,
            packets_delivered: counted.packets_delivered + self.delivered - self.not_yet_delivered,
            in_transit,
            busy: counted.busy - self.busy,
            ..counted
        }
    }
}

/// Statistics of all pipes at `now`, corrected for packets that have passed pipes ahead of time.
/// `held` are the packets that the engine holds; `bytes` returns the length of a packet by its id.
pub fn statistics(
    pipes: &[Pipe],
    now: Time,
    held: impl Iterator<Item = HeldPacket>,
    bytes: impl Fn(u32) -> u32,
) -> impl Iterator<Item = Statistics> {
    let shares = shares(pipes, now, held, bytes);
    pipes.iter().zip(shares).map(move |(pipe, share)| {
        let mut all = share.add_to(pipe.uncorrected_statistics(now));
        if pipe.decides_at_arrival() {
            // A pipe that determines fates at arrival puts every packet into its delay line at
            // once, even if the packet still waits in the queue.
            assert!(all.queued <= all.in_transit, "who waits has not left {pipe:?}");
            all.in_transit -= all.queued;
        }
        all
    })
}

fn shares(
    pipes: &[Pipe],
    now: Time,
    held: impl Iterator<Item = HeldPacket>,
    bytes: impl Fn(u32) -> u32,
) -> Vec<Share> {
    let mut shares = vec![Share::default(); pipes.len()];
    // For each pipe, the packets that are already counted in later pipes or held by the engine, but
    // have not yet reached the far end of this pipe.
    let mut further: BTreeMap<usize, Vec<(Time, u32)>> = BTreeMap::new();
    for HeldPacket { pipe, arrival, bytes } in held {
        let share = &mut shares[pipe as usize];
        share.not_yet_delivered += 1;
        share.still_here += 1;
        further.entry(pipe as usize).or_default().push((arrival, bytes));
    }
    // A packet that has not yet arrived at a follower has not reached the far end of its leader
    // either, and is added to the leader's packets in `further`. Pending arrivals of followers are
    // therefore computed before those of their leaders.
    for index in followers_first(pipes) {
        let pipe = &pipes[index];
        let Some(leader) = pipe.leader() else { continue };
        let known = further.remove(&index).unwrap_or_default();
        let (pending_arrivals, busy) = pipe.pending_arrivals(now, known, &bytes);
        let count = pending_arrivals.len() as u32;
        let here = pipe.counts.passed - u64::from(count);
        let share = &mut shares[index];
        share.packets_in += here;
        share.not_yet_here += count;
        share.busy = busy;
        shares[leader].delivered += here;
        shares[leader].still_here += count;
        if count > 0 {
            further.entry(leader).or_default().extend(pending_arrivals);
        }
    }
    shares
}

/// Indices of the pipes that follow others, followers before their leaders.
fn followers_first(pipes: &[Pipe]) -> impl Iterator<Item = usize> {
    let next = |index: &u32| pipes[*index as usize].leader().map(|leader| leader as u32);
    let depth = |index: u32| std::iter::successors(Some(index), next).count() as u32;
    let followers = (0u32..).zip(pipes).filter(|(_, pipe)| pipe.follows());
    let mut order: Vec<(u32, u32)> = followers.map(|(index, _)| (depth(index), index)).collect();
    // Pipes with the longest chain of leaders come first; ties are ordered by index.
    order.sort_unstable_by_key(|(depth, index)| (std::cmp::Reverse(*depth), *index));
    order.into_iter().map(|(_, index)| index as usize)
}
