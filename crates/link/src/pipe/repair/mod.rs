//! *What it does.* A link repairs the losses of its channel: it retransmits lost frames ([`arq`]),
//! or sends parity frames from which lost frames are reconstructed ([`fec`]).
//!
//! Both schemes choose the next frame only when its transmission begins. Packets therefore wait in
//! a queue of the repair scheme, and the pipe has an event at the start of the next transmission.
//! The queue has the limits of `droptail`; a packet leaves it when its first transmission begins.
//!
//! *In order.* Packets behind a missing frame wait at the far end until it has arrived or is known
//! to be lost. Without `in_order`, each packet leaves the link when it arrives at the far end.

pub mod arq;
pub mod fec;
mod order;

use super::delay_line::DelayLine;
use super::{Entry, Packet, Pipe, later, later_by};
use crate::channel::{Frame, Reason};
use crate::queue::Occupancy;
use order::Order;
use retx_units::{Duration, QueueLengthHistory, Time};
use std::collections::VecDeque;

/// Link-layer repair of lost frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Config {
    /// Retransmission.
    Arq(arq::Config),
    /// Parity frames.
    Fec(fec::Config),
}

/// Packet whose first transmission has begun.
#[derive(Debug, Clone, Copy)]
struct Job {
    /// Number of the packet in the order of first transmissions.
    number: u64,
    packet: Packet,
}

/// Kind of the next transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// First transmission of the packet at the head of the queue.
    New,
    /// Retransmission of a lost frame.
    Again,
    /// Parity frame.
    Parity,
}

/// Next transmission that the scheme makes, and its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NextTransmission {
    /// Start of the transmission.
    at: Time,
    /// Earliest possible start if the transmitter were idle.
    ready: Time,
    kind: Kind,
}

/// Transmission whose fate is known.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Start of the transmission.
    begin: Time,
    /// End of the transmission.
    end: Time,
    /// Arrival at the far end, if the frame is not lost.
    arrival: Time,
    lost: Option<Reason>,
}

/// Far end of the link, where packets leave it.
struct Exit<'a> {
    order: &'a mut Order,
    delay_line: &'a mut DelayLine,
}

#[derive(Debug, Clone)]
enum Scheme {
    Arq(arq::State),
    Fec(fec::State),
}

/// Running state of a direction of a link that repairs losses.
#[derive(Debug, Clone)]
pub(super) struct Repairs {
    scheme: Scheme,
    line: VecDeque<(Time, Packet)>,
    line_bytes: u64,
    waited: u128,
    longest: u64,
    /// Queue length over time, if recorded.
    pub history: Option<QueueLengthHistory>,
    order: Order,
    /// Link-layer retransmissions.
    pub repeated: u64,
    /// Parity frames sent.
    pub parity: u64,
}

impl Repairs {
    pub fn new(config: &Config, delay: Duration) -> Self {
        let (scheme, in_order) = match config {
            Config::Arq(arq) => (Scheme::Arq(arq::State::new(arq, delay)), arq.in_order),
            Config::Fec(fec) => (Scheme::Fec(fec::State::new(fec)), fec.in_order),
        };
        Self {
            scheme,
            line: VecDeque::new(),
            line_bytes: 0,
            waited: 0,
            longest: 0,
            history: None,
            order: Order::new(in_order),
            repeated: 0,
            parity: 0,
        }
    }

    fn next_transmission(&self, free: Time) -> Option<NextTransmission> {
        let first = self.line.front().map(|(came, _)| *came);
        match &self.scheme {
            Scheme::Arq(arq) => arq.next_transmission(free, first),
            Scheme::Fec(fec) => fec.next_transmission(free, first),
        }
    }

    /// Start of the next transmission, if the transmitter is idle from `free` on; [`Time::NEVER`]
    /// if there is none.
    pub fn next_transmission_start(&self, free: Time) -> Time {
        self.next_transmission(free).map_or(Time::NEVER, |next| next.at)
    }

    /// Number of packets that wait for their first transmission.
    pub fn queue_length(&self) -> u64 {
        self.line.len() as u64
    }

    /// Number of packets that have been sent, but whose fate is still open or that wait at the far
    /// end for earlier packets.
    pub const fn unfinished_packets(&self) -> u64 {
        self.order.unfinished_packets()
    }

    /// Total waiting time of all packets up to `now`, in packet-nanoseconds.
    pub fn total_waiting_ns(&self, now: Time) -> u128 {
        let yet = self.line.iter().map(|(came, _)| u128::from(now.since(*came).as_nanos()));
        self.waited + yet.sum::<u128>()
    }

    /// Maximum number of packets that waited at once.
    pub const fn max_queue(&self) -> u64 {
        self.longest
    }

    pub fn restart_maximum(&mut self) {
        self.longest = self.queue_length();
    }

    /// Records in the history that the queue length changes by `more` at `at`.
    fn keep(&mut self, at: Time, more: i64) {
        let before = self.queue_length();
        let after = before.saturating_add_signed(more);
        self.history.iter_mut().for_each(|history| history.add_change(at, before, after));
    }

    fn occupancy(&self) -> Occupancy {
        Occupancy { packets: self.queue_length(), bytes: self.line_bytes }
    }

    /// Removes and returns the frame to transmit now, and its packet if it is a first transmission.
    fn take(&mut self, next: &NextTransmission) -> (Frame, Option<Job>) {
        match (next.kind, &mut self.scheme) {
            (Kind::New, _) => {
                self.keep(next.at, -1);
                let (came, packet) = self.line.pop_front().expect("the first in line is next");
                self.line_bytes -= u64::from(packet.frame.bytes);
                self.waited += u128::from(next.at.since(came).as_nanos());
                (packet.frame, Some(Job { number: self.order.assign_number(packet.id), packet }))
            }
            (Kind::Again, Scheme::Arq(arq)) => {
                self.repeated += 1;
                (arq.pop_retransmission(), None)
            }
            (Kind::Parity, Scheme::Fec(fec)) => {
                self.parity += 1;
                (fec.next_parity_frame(), None)
            }
            (Kind::Again | Kind::Parity, _) => unreachable!("of the other scheme"),
        }
    }

    fn on_sent(&mut self, job: Option<Job>, sent: &Sent, delay_line: &mut DelayLine) {
        let mut exit = Exit { order: &mut self.order, delay_line };
        match &mut self.scheme {
            Scheme::Arq(arq) => arq.on_sent(job, sent, &mut exit),
            Scheme::Fec(fec) => fec.on_sent(job, sent, &mut exit),
        }
    }
}

impl Exit<'_> {
    /// Delivers a packet that arrives at `arrival`, or can be reconstructed then.
    fn deliver(&mut self, (number, id): (u64, u32), arrival: Time) {
        self.order.on_delivered((number, id), arrival, self.delay_line);
    }

    /// Gives a packet up at `end`; the far end learns this at `known`.
    fn give_up(&mut self, (number, id): (u64, u32), (end, known): (Time, Time), why: Reason) {
        self.delay_line.insert_loss(end, id, why);
        self.order.on_given_up(number, known, self.delay_line);
    }
}

impl Pipe {
    /// Handles the arrival of a packet at a link that repairs losses.
    pub(super) fn enqueue_repaired(&mut self, now: Time, packet: &Packet) -> Entry {
        self.transmit_due(now);
        let busy = self.transmitter.busy_until();
        let Some(repairs) = &mut self.repairs else { unreachable!("the link repairs") };
        // A packet that is transmitted at once takes no space in the queue. Only the repair scheme
        // knows what is transmitted next. The packet is therefore added to the queue, and removed
        // again after the scheme has been asked.
        repairs.line.push_back((now, *packet));
        let at_once = repairs.queue_length() == 1 && repairs.next_transmission_start(busy) <= now;
        repairs.line.pop_back();
        if !at_once && !self.transmitter.limits().admits(repairs.occupancy(), packet.frame.bytes) {
            self.rare_mut().exceptions.drops.queue += 1;
            return Entry::QueueFull;
        }
        repairs.keep(now, 1);
        repairs.line.push_back((now, *packet));
        repairs.line_bytes += u64::from(packet.frame.bytes);
        if !at_once {
            repairs.longest = repairs.longest.max(repairs.queue_length());
        }
        self.transmit_due(now);
        Entry::Accepted
    }

    /// Starts every transmission due by `now`.
    pub(super) fn transmit_due(&mut self, now: Time) {
        let Some(mut repairs) = self.repairs.take() else { return };
        while let Some(next) = repairs.next_transmission(self.transmitter.busy_until())
            && next.at <= now
        {
            let (frame, job) = repairs.take(&next);
            let end =
                self.transmitter.begin_transmission(next.at, frame.bytes, next.at > next.ready);
            self.apply_changes(end);
            let fate = self.draw_fate(end, &frame);
            match fate {
                Ok(_) => self.rare_mut().exceptions.bursts.end_burst(),
                Err(_) => self.rare_mut().exceptions.bursts.add_loss(),
            }
            let extra = fate.map_or(Duration::ZERO, |journey| journey.extra);
            let arrival = later(end, later_by(self.delay, extra));
            repairs.on_sent(
                job,
                &Sent { begin: next.at, end, arrival, lost: fate.err() },
                &mut self.delay_line,
            );
        }
        self.repairs = Some(repairs);
    }
}
