//! A flow of UDP: a source at one end, and at the other the books on what arrives. Nobody
//! acknowledges, nothing is repaired.

use crate::packet::{Others, Packet};
use crate::plan::DatagramPlan;
use crate::source::{HEADERS, Pace, Source};
use retx_record::datagrams::DatagramCounters;
use retx_units::{Duration, StreamKey, Time};

/// A saturating source whose packet the first hop has turned away waits so long, unless another of
/// its packets leaves that hop before.
const RETRY: Duration = Duration::from_millis(1);

/// What a packet's `row` holds until one of its copies has arrived; there is no table of datagrams.
pub const AWAITED: u32 = 0;

/// A flow of UDP.
#[derive(Debug, Clone)]
pub struct DatagramFlow {
    /// Its number among all flows.
    pub number: u32,
    /// Where its way begins in the engine's routes.
    pub first_hop: u32,
    source: Source,
    /// Packets and payload bytes that it may still send.
    packets_left: u64,
    bytes_left: u64,
    /// It sends before this.
    end: Time,
    finite: bool,
    /// A saturating source sends no earlier.
    not_before: Time,
    in_first_hop: u32,
    /// Sent, and neither arrived nor lost.
    on_their_way: u64,
    /// Packets sent, which is the number of the last one.
    sent: u64,
    /// The highest number that has arrived.
    latest: u64,
    /// When it began.
    pub start: Option<Time>,
    /// When the last packet of a flow that ends had arrived or was lost.
    pub finish: Option<Time>,
    /// What is counted.
    pub counters: DatagramCounters,
    planned_start: Time,
}

/// A packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Its number in the flow, from 1.
    pub number: u64,
    /// Behind the headers.
    pub payload_bytes: u32,
}

impl DatagramFlow {
    /// A flow that waits for its start.
    pub fn new(number: u32, plan: &DatagramPlan, first_hop: u32, key: StreamKey) -> Self {
        let limits = plan.limits;
        Self {
            number,
            first_hop,
            source: Source::new(plan.pace, plan.sizes, plan.start, (key, &plan.name)),
            packets_left: limits.packets.unwrap_or(u64::MAX),
            bytes_left: limits.bytes.unwrap_or(u64::MAX),
            end: limits.end,
            finite: limits.are_any(),
            not_before: plan.start,
            in_first_hop: 0,
            on_their_way: 0,
            sent: 0,
            latest: 0,
            start: None,
            finish: None,
            counters: DatagramCounters::default(),
            planned_start: plan.start,
        }
    }

    /// False for packets without end.
    pub const fn is_finite(&self) -> bool {
        self.finite
    }

    /// When the next packet may be sent, as far as is known now.
    fn next(&self) -> Time {
        let time = match self.source.pace() {
            Pace::Saturating { backlog } if self.in_first_hop >= backlog => return Time::NEVER,
            Pace::Saturating { .. } => self.not_before,
            _ => self.source.next(),
        };
        let over = self.packets_left == 0 || self.bytes_left == 0 || time >= self.end;
        if over { Time::NEVER } else { time }
    }

    /// When it wants to be woken.
    pub fn poll_timeout(&self) -> Time {
        if self.start.is_none() { self.planned_start } else { self.next() }
    }

    /// It has been woken; it need not have been.
    pub fn handle_timeout(&mut self, now: Time) {
        if now >= self.planned_start {
            self.start.get_or_insert(now);
        }
    }

    /// The next packet that is sent now, until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if self.poll_timeout() > now {
            return None;
        }
        let payload = u64::from(self.source.take() - HEADERS).min(self.bytes_left);
        if self.packets_left != u64::MAX {
            self.packets_left -= 1;
        }
        if self.bytes_left != u64::MAX {
            self.bytes_left -= payload;
        }
        self.sent += 1;
        self.counters.sent += 1;
        self.on_their_way += 1;
        self.in_first_hop += 1;
        Some(Datagram { number: self.sent, payload_bytes: payload as u32 })
    }

    /// A packet has left the first hop at its far end; told to saturating sources only.
    pub fn left_first_hop(&mut self, packet: &Packet) {
        if !is_copy(packet) {
            self.in_first_hop -= 1;
        }
    }

    /// A packet has reached the other end.
    pub fn arrived(&mut self, now: Time, packet: &Packet) {
        if packet.later {
            self.counters.duplicated += 1;
            return;
        }
        let late = packet.position < self.latest;
        self.latest = self.latest.max(packet.position);
        self.counters.arrived(now.since(sent_at(packet)), packet.payload_bytes, late);
        self.on_their_way -= 1;
    }

    /// A packet was dropped; what the network has made of it may arrive or have arrived.
    pub fn dropped(&mut self, now: Time, packet: &Packet) {
        if packet.hop == self.first_hop && !is_copy(packet) {
            self.in_first_hop -= 1;
            if sent_at(packet) == now {
                self.not_before = self.not_before.max(now + RETRY);
            }
        }
        if packet.others == Others::None {
            self.counters.lost += 1;
            self.on_their_way -= 1;
        }
    }

    /// To be called when all of an instant's doings are done. True once, when a flow that ends has
    /// come to its end.
    pub fn settle(&mut self, now: Time) -> bool {
        // What might have been sent since long ago is sent now, or not before the end.
        self.not_before = self.not_before.max(now);
        let over = self.finite
            && self.finish.is_none()
            && self.start.is_some()
            && self.on_their_way == 0
            && self.next() == Time::NEVER;
        if over {
            self.finish = Some(now);
        }
        over
    }
}

/// The network has made it.
const fn is_copy(packet: &Packet) -> bool {
    packet.connection != 0
}

/// A datagram's `copy` is when it was sent.
const fn sent_at(packet: &Packet) -> Time {
    Time::from_nanos(packet.copy)
}
