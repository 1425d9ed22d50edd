//! A flow of UDP: a source at one end, and at the other the books on what arrives. Nobody
//! acknowledges, nothing is repaired.

use crate::packet::{Others, PacketRef};
use crate::plan::{DatagramPlan, Limits};
use crate::source::{HEADERS, Pace, Source};
use retx_record::datagrams::DatagramCounters;
use retx_units::{Duration, StreamKey, Time};

/// A saturating source whose packet the first hop has turned away waits so long, unless another of
/// its packets leaves that hop before.
pub const RETRY: Duration = Duration::from_millis(1);

/// What a packet's `row` holds until one of its copies has arrived; there is no table of datagrams.
pub const AWAITED: u32 = 0;

/// The end that sends: a machine without a clock, for the engine and for emulations.
#[derive(Debug, Clone)]
pub struct Sender {
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
    /// Packets sent, which is the number of the last one.
    sent: u64,
    planned_start: Time,
    /// When it began.
    pub start: Option<Time>,
}

/// A packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Its number in the flow, from 1.
    pub number: u64,
    /// Behind the headers.
    pub payload_bytes: u32,
}

impl Sender {
    /// One that waits for its start.
    pub fn new(source: Source, limits: &Limits, start: Time) -> Self {
        Self {
            source,
            packets_left: limits.packets.unwrap_or(u64::MAX),
            bytes_left: limits.bytes.unwrap_or(u64::MAX),
            end: limits.end,
            finite: limits.are_any(),
            not_before: start,
            in_first_hop: 0,
            sent: 0,
            planned_start: start,
            start: None,
        }
    }

    /// False for packets without end.
    pub const fn is_finite(&self) -> bool {
        self.finite
    }

    /// Packets sent so far.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// When the next packet may be sent, as far as is known now.
    fn next(&self) -> Time {
        let time = match self.source.pace() {
            Pace::Saturating { backlog } if self.in_first_hop >= backlog => return Time::NEVER,
            Pace::Saturating { .. } => self.not_before,
            _ => self.source.next(),
        };
        if self.is_used_up() || time >= self.end { Time::NEVER } else { time }
    }

    const fn is_used_up(&self) -> bool {
        self.packets_left == 0 || self.bytes_left == 0
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
        self.in_first_hop += 1;
        Some(Datagram { number: self.sent, payload_bytes: payload as u32 })
    }

    /// A packet has left the first hop at its far end; told to saturating sources only.
    pub const fn left_first_hop(&mut self) {
        self.in_first_hop -= 1;
    }

    /// A packet was dropped in the first hop, into which it came at `sent`.
    pub fn dropped_in_first_hop(&mut self, now: Time, sent: Time) {
        self.in_first_hop -= 1;
        if sent == now {
            self.not_before = self.not_before.max(now + RETRY);
        }
    }

    /// To be called when all of an instant's doings are done: what might have been sent since long
    /// ago is sent now, or not before the end.
    pub fn settle(&mut self, now: Time) {
        self.not_before = self.not_before.max(now);
    }

    /// Nothing more will be sent, as far as is known now: a saturating source may wait for its
    /// first hop.
    pub fn is_over(&self) -> bool {
        self.finite && self.start.is_some() && self.next() == Time::NEVER
    }

    /// Nothing more will be sent, whatever becomes of what is under way.
    pub fn is_done(&self, now: Time) -> bool {
        let late = match self.source.pace() {
            Pace::Saturating { .. } => now >= self.end,
            _ => self.source.next() >= self.end,
        };
        self.finite && self.start.is_some() && (self.is_used_up() || late)
    }
}

/// What is known of the packets of a flow.
#[derive(Debug, Clone, Default)]
pub struct Books {
    /// Sent, and neither arrived nor lost.
    on_their_way: u64,
    /// The highest number that has arrived.
    latest: u64,
    /// What is counted.
    pub counters: DatagramCounters,
}

/// A packet that has reached the other end.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Its number in the flow.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// Behind the headers.
    pub payload_bytes: u32,
    /// Another of the copies that the network has made of it came before.
    pub again: bool,
}

impl Books {
    /// A packet is sent.
    pub const fn sent(&mut self) {
        self.counters.sent += 1;
        self.on_their_way += 1;
    }

    /// A packet has reached the other end.
    pub fn arrived(&mut self, now: Time, arrival: Arrival) {
        let Arrival { number, sent, payload_bytes, again } = arrival;
        if again {
            self.counters.duplicated += 1;
            return;
        }
        let late = number < self.latest;
        self.latest = self.latest.max(number);
        self.counters.arrived(now.since(sent), payload_bytes, late);
        self.on_their_way -= 1;
    }

    /// A packet was dropped of which no copy has arrived or will.
    pub const fn lost(&mut self) {
        self.counters.lost += 1;
        self.on_their_way -= 1;
    }

    /// What has become of all packets is known.
    pub const fn are_settled(&self) -> bool {
        self.on_their_way == 0
    }
}

/// A flow of UDP.
#[derive(Debug, Clone)]
pub struct DatagramFlow {
    /// Its number among all flows.
    pub number: u32,
    /// Where its way begins in the engine's routes.
    pub first_hop: u32,
    /// The end that sends.
    pub sender: Sender,
    /// What is known of its packets.
    pub books: Books,
    /// When the last packet of a flow that ends had arrived or was lost.
    pub finish: Option<Time>,
}

impl DatagramFlow {
    /// A flow that waits for its start.
    pub fn new(number: u32, plan: &DatagramPlan, first_hop: u32, key: StreamKey) -> Self {
        let source = Source::new(plan.pace, plan.sizes, plan.start, (key, &plan.name));
        let sender = Sender::new(source, &plan.limits, plan.start);
        Self { number, first_hop, sender, books: Books::default(), finish: None }
    }

    /// The next packet that is sent now, until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        let datagram = self.sender.poll_transmit(now)?;
        self.books.sent();
        Some(datagram)
    }

    /// A packet has left the first hop at its far end; told to saturating sources only.
    pub fn left_first_hop(&mut self, packet: PacketRef<'_>) {
        if !is_copy(packet) {
            self.sender.left_first_hop();
        }
    }

    /// A packet has reached the other end.
    pub fn arrived(&mut self, now: Time, packet: PacketRef<'_>) {
        let arrival = Arrival {
            number: packet.position,
            sent: sent_at(packet),
            payload_bytes: packet.payload_bytes(),
            again: packet.later(),
        };
        self.books.arrived(now, arrival);
    }

    /// A packet was dropped; what the network has made of it may arrive or have arrived.
    pub fn dropped(&mut self, now: Time, packet: PacketRef<'_>) {
        if packet.hop() == self.first_hop && !is_copy(packet) {
            self.sender.dropped_in_first_hop(now, sent_at(packet));
        }
        if packet.others() == Others::None {
            self.books.lost();
        }
    }

    /// To be called when all of an instant's doings are done. True once, when a flow that ends has
    /// come to its end.
    pub fn settle(&mut self, now: Time) -> bool {
        self.sender.settle(now);
        let over = self.finish.is_none() && self.books.are_settled() && self.sender.is_over();
        if over {
            self.finish = Some(now);
        }
        over
    }
}

/// The network has made it.
fn is_copy(packet: PacketRef<'_>) -> bool {
    packet.connection != 0
}

/// A datagram's `copy` is when it was sent.
fn sent_at(packet: PacketRef<'_>) -> Time {
    Time::from_nanos(packet.copy())
}
