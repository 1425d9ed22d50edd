//! UDP flows: a source, and a receiver that counts the packets. There are no acknowledgments and no
//! retransmissions.

use crate::packet::{OtherCopies, PacketRef};
use crate::plan::{DatagramPlan, Limits};
use crate::source::{Pace, Source, UDP_HEADERS_BYTES};
use retx_record::datagrams::DatagramCounters;
use retx_units::{Duration, StreamKey, Time};

/// Time that a saturating source waits after the first hop has dropped its packet on arrival.
pub const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// Value of the field `table_row` in a UDP packet until the packet or a copy of it has arrived.
/// (UDP packets have no row in a table, so the field is free.)
pub const ROW_NOT_ARRIVED: u32 = 0;

/// Sending endpoint: a state machine without a clock, used by the engine and by emulations.
#[derive(Debug, Clone)]
pub struct Sender {
    source: Source,
    /// Packets and payload bytes that may still be sent; [`u64::MAX`] if unlimited.
    packets_left: u64,
    bytes_left: u64,
    /// No packet is sent at or after this time.
    end: Time,
    finite: bool,
    /// No packet of a saturating source is sent before this time.
    not_before: Time,
    in_first_hop: u32,
    /// Number of packets sent, which is also the number of the last packet sent.
    packets_sent: u64,
    planned_start: Time,
    /// Start of the flow.
    pub start: Option<Time>,
}

/// Packet that is sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Number in the flow, from 1.
    pub number: u64,
    /// UDP payload, bytes.
    pub payload_bytes: u32,
}

impl Sender {
    /// Creates a sender that waits for its start.
    pub fn new(source: Source, limits: &Limits, start: Time) -> Self {
        Self {
            source,
            packets_left: limits.packets.unwrap_or(u64::MAX),
            bytes_left: limits.bytes.unwrap_or(u64::MAX),
            end: limits.end,
            finite: limits.has_limit(),
            not_before: start,
            in_first_hop: 0,
            packets_sent: 0,
            planned_start: start,
            start: None,
        }
    }

    /// True if a limit on packets, bytes or time ends the flow.
    pub const fn is_finite(&self) -> bool {
        self.finite
    }

    /// Packets sent so far.
    pub const fn packets_sent(&self) -> u64 {
        self.packets_sent
    }

    /// Earliest time at which the next packet may be sent. [`Time::NEVER`] if the flow has ended,
    /// or if a saturating source must wait until a packet leaves the first hop.
    fn next(&self) -> Time {
        let time = match self.source.pace() {
            Pace::Saturating { backlog } if self.in_first_hop >= backlog => return Time::NEVER,
            Pace::Saturating { .. } => self.not_before,
            _ => self.source.next_due(),
        };
        if self.is_used_up() || time >= self.end { Time::NEVER } else { time }
    }

    const fn is_used_up(&self) -> bool {
        self.packets_left == 0 || self.bytes_left == 0
    }

    /// Time of the next wake-up.
    pub fn poll_timeout(&self) -> Time {
        if self.start.is_none() { self.planned_start } else { self.next() }
    }

    /// Handles a wake-up, which may be spurious.
    pub fn handle_timeout(&mut self, now: Time) {
        if now >= self.planned_start {
            self.start.get_or_insert(now);
        }
    }

    /// Removes and returns the next packet to send now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        if self.poll_timeout() > now {
            return None;
        }
        let payload = u64::from(self.source.next_packet() - UDP_HEADERS_BYTES).min(self.bytes_left);
        if self.packets_left != u64::MAX {
            self.packets_left -= 1;
        }
        if self.bytes_left != u64::MAX {
            self.bytes_left -= payload;
        }
        self.packets_sent += 1;
        self.in_first_hop += 1;
        Some(Datagram { number: self.packets_sent, payload_bytes: payload as u32 })
    }

    /// Records that a packet has left the first hop at its far end; called for saturating sources
    /// only.
    pub const fn on_left_first_hop(&mut self) {
        self.in_first_hop -= 1;
    }

    /// Records that a packet sent at `sent` was dropped in the first hop.
    pub fn on_dropped_in_first_hop(&mut self, now: Time, sent: Time) {
        self.in_first_hop -= 1;
        if sent == now {
            self.not_before = self.not_before.max(now + RETRY_INTERVAL);
        }
    }

    /// Called after all events of an instant, `now`. If a saturating source was allowed to send
    /// earlier but has not, it sends its next packet at `now` at the earliest.
    pub fn finish_instant(&mut self, now: Time) {
        self.not_before = self.not_before.max(now);
    }

    /// True if no packet is scheduled; a saturating source may nevertheless send again once a
    /// packet has left its first hop.
    pub fn has_nothing_scheduled(&self) -> bool {
        self.finite && self.start.is_some() && self.next() == Time::NEVER
    }

    /// True if no further packet will be sent, independent of the packets in flight.
    pub fn is_done(&self, now: Time) -> bool {
        let late = match self.source.pace() {
            Pace::Saturating { .. } => now >= self.end,
            _ => self.source.next_due() >= self.end,
        };
        self.finite && self.start.is_some() && (self.is_used_up() || late)
    }
}

/// Accounting of a flow's packets.
#[derive(Debug, Clone, Default)]
pub struct DatagramAccounting {
    /// Number of packets sent that have neither arrived nor been lost.
    on_their_way: u64,
    /// Highest packet number that has arrived.
    latest: u64,
    /// Counters of the flow, for its results.
    pub counters: DatagramCounters,
}

/// Packet that has reached the receiver.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Number in the flow.
    pub number: u64,
    /// Time of sending.
    pub sent: Time,
    /// UDP payload, bytes.
    pub payload_bytes: u32,
    /// True if another copy of the packet, made by the network, arrived earlier.
    pub is_duplicate: bool,
}

impl DatagramAccounting {
    /// Counts a packet sent.
    pub const fn count_sent(&mut self) {
        self.counters.sent += 1;
        self.on_their_way += 1;
    }

    /// Counts a packet that has reached the receiver.
    pub fn count_arrived(&mut self, now: Time, arrival: Arrival) {
        let Arrival { number, sent, payload_bytes, is_duplicate } = arrival;
        if is_duplicate {
            self.counters.duplicated += 1;
            return;
        }
        let late = number < self.latest;
        self.latest = self.latest.max(number);
        self.counters.count_arrival(now.since(sent), payload_bytes, late);
        self.on_their_way -= 1;
    }

    /// Counts a packet as lost: it was dropped, and no copy of it has arrived or will arrive.
    pub const fn count_lost(&mut self) {
        self.counters.lost += 1;
        self.on_their_way -= 1;
    }

    /// True if the fate of all packets is known.
    pub const fn all_fates_known(&self) -> bool {
        self.on_their_way == 0
    }
}

/// UDP flow.
#[derive(Debug, Clone)]
pub struct DatagramFlow {
    /// Index among all flows.
    pub number: u32,
    /// Position of the flow's first hop in the engine's routes.
    pub first_hop: u32,
    /// Sending endpoint.
    pub sender: Sender,
    /// Accounting of the flow's packets.
    pub accounting: DatagramAccounting,
    /// Time at which the fate of the last packet of a finite flow became known.
    pub finish: Option<Time>,
}

impl DatagramFlow {
    /// Creates a flow that waits for its start.
    pub fn new(number: u32, plan: &DatagramPlan, first_hop: u32, key: StreamKey) -> Self {
        let source = Source::new(plan.pace, plan.sizes, plan.start, (key, &plan.name));
        let sender = Sender::new(source, &plan.limits, plan.start);
        Self { number, first_hop, sender, accounting: DatagramAccounting::default(), finish: None }
    }

    /// Removes and returns the next packet to send now.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        let datagram = self.sender.poll_transmit(now)?;
        self.accounting.count_sent();
        Some(datagram)
    }

    /// Records that a packet has left the first hop at its far end; called for saturating sources
    /// only.
    pub fn on_left_first_hop(&mut self, packet: PacketRef<'_>) {
        if !is_copy(packet) {
            self.sender.on_left_first_hop();
        }
    }

    /// Records that a packet has reached the receiver.
    pub fn on_arrived(&mut self, now: Time, packet: PacketRef<'_>) {
        let arrival = Arrival {
            number: packet.position,
            sent: sent_at(packet),
            payload_bytes: packet.payload_bytes(),
            is_duplicate: packet.is_later_copy(),
        };
        self.accounting.count_arrived(now, arrival);
    }

    /// Records that a packet was dropped. It is lost only if no copy made by the network has
    /// arrived or is in flight.
    pub fn on_dropped(&mut self, now: Time, packet: PacketRef<'_>) {
        if packet.hop() == self.first_hop && !is_copy(packet) {
            self.sender.on_dropped_in_first_hop(now, sent_at(packet));
        }
        if packet.other_copies() == OtherCopies::None {
            self.accounting.count_lost();
        }
    }

    /// Called after all events of an instant. Returns true exactly once, when a finite flow ends.
    pub fn finish_instant(&mut self, now: Time) -> bool {
        self.sender.finish_instant(now);
        let over = self.finish.is_none()
            && self.accounting.all_fates_known()
            && self.sender.has_nothing_scheduled();
        if over {
            self.finish = Some(now);
        }
        over
    }
}

/// True for a copy made by the network.
fn is_copy(packet: PacketRef<'_>) -> bool {
    packet.connection != 0
}

/// Time of sending; a datagram holds it in the field `copy_number`.
fn sent_at(packet: PacketRef<'_>) -> Time {
    Time::from_nanos(packet.copy_number())
}
