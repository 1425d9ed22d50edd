//! Ahead of time: a packet passes a pipe before it gets there.
//!
//! *Which pipes.* One that is fed by a single other pipe, which delivers in order, and in which
//! nothing happens but waiting, transmission and a constant delay ([`Pipe::is_plain`]): it
//! *follows* the one that feeds it. What comes next to it is known when the packet enters the pipe
//! before; that packet's arrival at the near end then settles its arrival at the far end, without
//! an event between.
//!
//! *Which packets.* Those about which nothing has to be told at its time. One that would be turned
//! away goes by an event, and one that would make the queue longer than it ever was, and so do all
//! behind it that come before it has gone in: packets keep their order.
//!
//! *Counts* belong to the past. Nothing is noted about a packet on its way: when somebody asks,
//! [`statistics`] finds from the arrivals at the far ends which packets have not yet got to where
//! they have been counted. What arrives at the very instant of the question has arrived.

use super::statistics::Statistics;
use super::{Config, Packet, Parcel, Pipe, later, later_by};
use crate::channel::Model;
use crate::queue;
use retx_units::{Duration, Time};
use std::collections::BTreeMap;

/// Of a pipe that is fed by something: this, and the number of that.
const FED: u32 = 1 << 30;

/// Of a pipe that feeds something: this, and the number of what it feeds.
const FEEDS: u32 = 1 << 31;

/// Of a pipe that follows no other, feeds nothing, and is fed by nothing.
pub(super) const NEITHER: u32 = u32::MAX;

/// What becomes of a packet that enters a pipe which others follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Crossing {
    /// It arrives then. It is in no pipe: [`Pipe::put`] has to follow, or [`Pipe::foresee`].
    Arrives(Time),
    /// The channel loses it; the pipe tells at its time.
    Lost,
    /// The queue turned it away.
    QueueFull,
}

impl Config {
    /// True when others may follow such a pipe: what becomes of a packet is settled as it enters,
    /// and packets arrive in order.
    pub fn can_lead(&self) -> bool {
        let later = self.changes.iter().filter_map(|change| change.channel.as_ref());
        matches!(self.queue, queue::Config::droptail(_))
            && self.repair.is_none()
            && later.chain([&self.channel]).flatten().all(Model::keeps_order)
    }
}

impl Pipe {
    /// This plain pipe is fed by the pipe with the index `leader` alone, which can lead
    /// ([`Config::can_lead`]).
    ///
    /// # Panics
    /// When it is not plain.
    pub fn follow(&mut self, leader: u32) {
        assert!(self.is_plain(), "only plain pipes are passed ahead of time");
        self.relation = leader;
    }

    /// Others follow this pipe: its packets come by [`Self::cross`].
    pub const fn lead(&mut self) {
        self.leads = true;
    }

    /// True when others follow this pipe.
    #[inline]
    pub const fn leads(&self) -> bool {
        self.leads
    }

    /// True when it follows another.
    #[inline]
    pub const fn follows(&self) -> bool {
        self.relation < FED
    }

    /// The pipe that it follows.
    pub fn leader(&self) -> Option<usize> {
        self.follows().then_some(self.relation as usize)
    }

    /// What leaves this plain pipe, which follows no other, is taken on by who drives it, as
    /// `number` tells: its packets come by [`Self::cross_plain`].
    ///
    /// # Panics
    /// When it is not plain.
    pub fn feed(&mut self, number: u32) {
        assert!(self.is_plain() && number < FED, "only plain pipes are passed ahead of time");
        self.relation = FEEDS | number;
    }

    /// What enters this pipe, which follows no other, comes from who drives it, as `number` tells.
    ///
    /// # Panics
    /// When it follows another.
    pub fn be_fed(&mut self, number: u32) {
        assert!(self.relation == NEITHER && number < FED, "fed by that alone");
        self.relation = FED | number;
    }

    /// By what it is fed.
    #[inline(always)]
    pub const fn fed_by(&self) -> Option<u32> {
        if self.relation & (FEEDS | FED) == FED { Some(self.relation ^ FED) } else { None }
    }

    /// What it feeds.
    #[inline(always)]
    pub const fn feeds(&self) -> Option<u32> {
        if self.relation & (FEEDS | FED) == FEEDS { Some(self.relation ^ FEEDS) } else { None }
    }

    /// A packet of `bytes` arrives at a plain pipe that others follow.
    #[inline(always)]
    pub fn cross_plain(&mut self, now: Time, bytes: u32) -> Crossing {
        let end = self.admit(now, bytes);
        end.map_or(Crossing::QueueFull, |end| Crossing::Arrives(later(end, self.delay)))
    }

    /// A packet arrives at a pipe that others follow.
    #[inline(never)]
    pub fn cross(&mut self, now: Time, packet: &Packet) -> Crossing {
        if self.is_plain() {
            return self.cross_plain(now, packet.frame.bytes);
        }
        let Some(end) = self.admit(now, packet.frame.bytes) else { return Crossing::QueueFull };
        self.settle_changes(end);
        match self.fate(end, &packet.frame) {
            Ok(journey) => {
                self.rare().exceptions.bursts.survived();
                let own = later(end, later_by(self.delay, journey.extra));
                Crossing::Arrives(self.air.line_up(own))
            }
            Err(reason) => {
                self.rare().exceptions.bursts.lost();
                self.air.lose(end, packet.id, reason);
                Crossing::Lost
            }
        }
    }

    /// A packet comes to this pipe at `at`, known already `now`: when it arrives at the far end.
    /// `None` when it has to come by an event.
    #[inline(always)]
    pub fn foresee(&mut self, (now, at): (Time, Time), bytes: u32) -> Option<Time> {
        if self.awaits || self.transmitter.busy_until() > at {
            return self.foresee_waiting((now, at), bytes);
        }
        self.counts.passed += 1;
        Some(later(self.transmitter.start_idle(at, bytes), self.delay))
    }

    /// The same, of those that do not find the transmitter idle, or come behind one by an event.
    #[inline(never)]
    fn foresee_waiting(&mut self, (now, at): (Time, Time), bytes: u32) -> Option<Time> {
        // An event at this instant may not yet have been.
        self.awaits &= self.by_event >= now;
        let end = if self.awaits {
            None
        } else if self.transmitter.busy_until() <= at {
            Some(self.transmitter.start_idle(at, bytes))
        } else {
            self.transmitter.start_waiting((now, at), bytes)
        };
        let Some(end) = end else {
            (self.awaits, self.by_event) = (true, at);
            return None;
        };
        self.counts.passed += 1;
        Some(later(end, self.delay))
    }

    /// A packet that has passed this pipe ahead of time arrives at `arrival`.
    #[inline(always)]
    pub fn append(&mut self, arrival: Time, parcel: Parcel) {
        self.air.append(arrival, parcel);
    }

    /// Who drives keeps a packet that has passed this pipe ahead of time, and sees to it that it
    /// arrives: it is one of [`Kept`] until then.
    #[inline(always)]
    pub const fn let_go(&mut self) {
        self.counts.delivered += 1;
    }

    /// A packet that has crossed this pipe, or passed it ahead of time, arrives at `arrival`.
    #[inline(always)]
    pub fn put(&mut self, arrival: Time, parcel: Parcel) {
        if self.is_plain() {
            self.air.append(arrival, parcel);
        } else {
            let _ = self.air.send(arrival, parcel.id);
        }
    }

    /// The packets that have been counted and come later than `now`: when, and how long they are.
    /// `further` are arrivals at the far end, which have not yet been, of those that have gone on.
    /// Also how much of its transmission time is yet to come.
    fn to_come(
        &self,
        now: Time,
        mut all: Vec<(Time, u32)>,
        bytes: impl Fn(u32) -> u32,
    ) -> (Vec<(Time, u32)>, Duration) {
        all.extend(self.air.arriving().map(|(time, id)| (time, bytes(id))));
        let mut busy = Duration::ZERO;
        for (time, bytes) in &mut all {
            let before = |time: Time, by: Duration| {
                Time::from_nanos(time.as_nanos().saturating_sub(by.as_nanos()))
            };
            let end = before(*time, self.delay);
            let start = before(end, self.transmitter.takes(*bytes));
            busy += end.since(now.max(start));
            *time = self.transmitter.arrival_before(start);
        }
        all.retain(|(arrival, _)| *arrival > now);
        (all, busy)
    }
}

/// A packet that no pipe holds, as who drives keeps it until it arrives ([`Pipe::let_go`]).
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// The index of the pipe at whose far end it arrives.
    pub pipe: u32,
    /// When.
    pub arrival: Time,
    /// How long it is.
    pub bytes: u32,
}

/// What a pipe has to add to its own counts, and to take off, where some are passed ahead of time.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    packets_in: u64,
    delivered: u64,
    /// Packets that have been counted as delivered, and will be.
    not_yet_delivered: u64,
    /// Transmission time yet to come.
    busy: Duration,
    /// Packets that have been counted here and are yet in the pipe before, …
    not_yet_here: u32,
    /// … and those of pipes that follow which are here.
    still_here: u32,
}

impl Share {
    fn add_to(&self, counted: Statistics) -> Statistics {
        let in_air = counted.in_air + u64::from(self.still_here) - u64::from(self.not_yet_here);
        Statistics {
            packets_in: counted.packets_in + self.packets_in,
            packets_delivered: counted.packets_delivered + self.delivered - self.not_yet_delivered,
            in_air,
            busy: counted.busy - self.busy,
            ..counted
        }
    }
}

/// What has been counted by `now` in pipes of which some follow others, pipe by pipe; `kept` are
/// those that no pipe holds, and `bytes` tells how long a packet is.
pub fn statistics(
    pipes: &[Pipe],
    now: Time,
    kept: impl Iterator<Item = Kept>,
    bytes: impl Fn(u32) -> u32,
) -> impl Iterator<Item = Statistics> {
    let shares = shares(pipes, now, kept, bytes);
    pipes.iter().zip(shares).map(move |(pipe, share)| {
        let mut all = share.add_to(pipe.counted(now));
        if pipe.settles() {
            assert!(all.queued <= all.in_air, "who waits has not left {pipe:?}");
            all.in_air -= all.queued;
        }
        all
    })
}

fn shares(
    pipes: &[Pipe],
    now: Time,
    kept: impl Iterator<Item = Kept>,
    bytes: impl Fn(u32) -> u32,
) -> Vec<Share> {
    let mut shares = vec![Share::default(); pipes.len()];
    let mut further: BTreeMap<usize, Vec<(Time, u32)>> = BTreeMap::new();
    for Kept { pipe, arrival, bytes } in kept {
        let share = &mut shares[pipe as usize];
        share.not_yet_delivered += 1;
        share.still_here += 1;
        further.entry(pipe as usize).or_default().push((arrival, bytes));
    }
    for index in followers_first(pipes) {
        let pipe = &pipes[index];
        let Some(leader) = pipe.leader() else { continue };
        let known = further.remove(&index).unwrap_or_default();
        let (to_come, busy) = pipe.to_come(now, known, &bytes);
        let count = to_come.len() as u32;
        let here = pipe.counts.passed - u64::from(count);
        let share = &mut shares[index];
        share.packets_in += here;
        share.not_yet_here += count;
        share.busy = busy;
        shares[leader].delivered += here;
        shares[leader].still_here += count;
        if count > 0 {
            further.entry(leader).or_default().extend(to_come);
        }
    }
    shares
}

/// The pipes that follow others, each before the one that it follows.
fn followers_first(pipes: &[Pipe]) -> impl Iterator<Item = usize> {
    let next = |index: &u32| pipes[*index as usize].leader().map(|leader| leader as u32);
    let depth = |index: u32| std::iter::successors(Some(index), next).count() as u32;
    let followers = (0u32..).zip(pipes).filter(|(_, pipe)| pipe.follows());
    let mut order: Vec<(u32, u32)> = followers.map(|(index, _)| (depth(index), index)).collect();
    // The deepest first, and at the same depth by index.
    order.sort_unstable_by_key(|(depth, index)| (std::cmp::Reverse(*depth), *index));
    order.into_iter().map(|(_, index)| index as usize)
}
