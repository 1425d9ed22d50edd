//! One flow: both directions, the place of the capture on the path, and the diagnosis.

mod account;
mod ack_wait;
mod acks;
mod burst_size;
mod busy;
mod cause;
mod certainty;
mod clock;
mod copies;
mod delay_spike;
mod delayed_ack;
mod direction;
mod ecn;
mod estimator;
mod evidence;
mod finish;
mod growing_window;
mod growth;
mod held;
mod hystart;
mod life;
mod limit;
mod lost_tail;
mod nagle;
mod needless;
mod paced_sender;
mod paced_ticks;
mod pacing;
pub mod packet_log;
mod path;
pub(crate) mod patterns;
mod pushed;
mod record;
mod recovery_spike;
mod relation;
mod release;
mod resending;
mod retransmission;
mod room;
mod scoreboard;
mod self_clock;
mod sender;
mod since_data;
pub mod table;
mod tentative_limit;
mod write_space;

use crate::packet::{ControlBits, Endpoint, Options, Packet};
use crate::time_sequence::Recorder;
use clock::Clock;
use copies::DuplicateFilter;
use direction::{Direction, PacketContext};
use patterns::Negotiation;

use std::collections::VecDeque;

/// Maximum number of timestamp values that wait for their echo.
const ECHOES_MAX: usize = 256;

/// Least time from the capture to an endpoint and back.
#[derive(Debug, Default)]
struct Loop {
    least_ns: Option<i64>,
    /// Timestamp values that this endpoint has not echoed yet, each with the time of its first
    /// packet.
    values: VecDeque<(u32, i64)>,
}

impl Loop {
    fn sample(&mut self, ns: i64) {
        if ns >= 0 {
            self.least_ns = Some(self.least_ns.map_or(ns, |least| least.min(ns)));
        }
    }

    /// Handles a packet towards this endpoint with this timestamp value.
    fn sent(&mut self, value: u32, time_ns: i64) {
        // Packets of one tick have the same value, and an echo may answer the first of them.
        if self.values.back().is_some_and(|(last, _)| *last == value) {
            return;
        }
        if self.values.len() == ECHOES_MAX {
            self.values.pop_front();
        }
        self.values.push_back((value, time_ns));
    }

    /// Handles a packet from this endpoint that echoes a timestamp value. Returns the time since
    /// the first packet with this value, if this is the first echo.
    fn echoed(&mut self, echo: u32, time_ns: i64) -> Option<i64> {
        while let Some((value, sent_ns)) = self.values.front().copied() {
            // Later values keep waiting for their own echo; earlier values will get none.
            if (value.wrapping_sub(echo) as i32) > 0 {
                return None;
            }
            self.values.pop_front();
            if value == echo {
                self.sample(time_ns - sent_ns);
                return Some(time_ns - sent_ns);
            }
        }
        None
    }
}

/// If the round trip between the capture and the sender is shorter than this, capture times are
/// more precise than timestamps with ticks of a millisecond.
const QUEUED_NS: i64 = 3_000_000;

/// Initial RTO (RFC 6298 §2). Another SYN/ACK after less than half of it was not sent by a timer
/// that the SYN/ACK before has started.
const INITIAL_RTO_NS: i64 = 1_000_000_000;

/// Longest life of a flow (208 days), which only damaged times exceed. Small multiples of it do
/// not overflow.
const LIFE_MAX_NS: i64 = 1 << 54;

/// TCP connection in a capture.
pub struct Flow {
    ends: [Endpoint; 2],
    start_ns: i64,
    last_ns: i64,
    packets: [u64; 2],
    halves: [Direction; 2],
    loops: [Loop; 2],
    clocks: [Clock; 2],
    copies: [DuplicateFilter; 2],
    /// Side that opened the connection; none without a SYN.
    opener: Option<usize>,
    /// Time at which each end's SYN passed; none if the SYN was not captured.
    syn_ns: [Option<i64>; 2],
    /// True if an end sent its SYN more than once. The answer to the SYN then shows no round trip,
    /// because it may answer any of the copies (Karn's rule).
    has_repeated_syn: [bool; 2],
    scales: [Option<u8>; 2],
    /// Options of each end's SYN; none if the SYN was not captured.
    syns: [Option<Options>; 2],
    has_stamps: bool,
    negotiation: Negotiation,
    offers_ecn: bool,
    /// Time from the capture to each host and back, as measured in the handshake; none if the
    /// handshake was not captured.
    handshake_ns: [Option<i64>; 2],
    completing_bytes: u32,
    is_over: bool,
    fins: [bool; 2],
    payload: [i64; 2],
    /// Side that sent the first payload; none before any.
    first_talker: Option<usize>,
    /// Retransmission that waits for the next data, and the acknowledgments after it.
    held: Vec<Packet>,
    /// Recorders of the time–sequence diagram, if it is requested.
    recorders: Option<Box<[Recorder; 2]>>,
}

impl Flow {
    #[cold]
    fn new(first: &Packet) -> Self {
        Self {
            ends: [first.source, first.destination],
            start_ns: first.time_ns,
            last_ns: first.time_ns,
            packets: [0; 2],
            halves: Default::default(),
            loops: Default::default(),
            clocks: Default::default(),
            copies: Default::default(),
            opener: None,
            syn_ns: [None; 2],
            has_repeated_syn: [false; 2],
            scales: [None; 2],
            syns: [None; 2],
            has_stamps: false,
            negotiation: Negotiation::default(),
            offers_ecn: false,
            handshake_ns: [None; 2],
            completing_bytes: 0,
            is_over: false,
            fins: [false; 2],
            payload: [0; 2],
            first_talker: None,
            held: Vec::new(),
            recorders: None,
        }
    }

    /// True if these are the ends of the connection.
    fn is_between(&self, one: Endpoint, other: Endpoint) -> bool {
        self.ends == [one, other] || self.ends == [other, one]
    }

    /// Makes the flow record every packet.
    fn log_packets(&mut self) {
        self.halves.iter_mut().for_each(|direction| direction.packet_log = Some(Box::default()));
    }

    /// True if this packet opens another connection between the same endpoints.
    fn is_other(&self, packet: &Packet) -> bool {
        let side = self.side(packet);
        let opens = packet.control.any(ControlBits::SYN) && !packet.control.any(ControlBits::ACK);
        // A retransmitted SYN has the initial sequence number of the first one.
        opens && self.syn_ns[side].map_or(self.is_over, |_| self.halves[side].is_new(packet))
    }

    /// Time since the flow's first packet.
    fn elapsed_ns(&self, time_ns: i64) -> i64 {
        (time_ns - self.start_ns).clamp(-LIFE_MAX_NS, LIFE_MAX_NS)
    }

    fn side(&self, packet: &Packet) -> usize {
        usize::from(packet.source != self.ends[0])
    }

    /// Handles a packet of either direction; returns false for a copy made by the capture.
    fn push(&mut self, packet: &Packet) -> bool {
        let side = self.side(packet);
        self.packets[side] += 1;
        self.last_ns = self.last_ns.max(packet.time_ns);
        let rtt_ns = self.loops[0].least_ns.zip(self.loops[1].least_ns).map(|(a, b)| a + b);
        if self.copies[side].is_copy(packet, rtt_ns) {
            return false;
        }
        self.handle_or_hold(packet, side);
        true
    }

    /// Handles a packet of this side.
    fn handle(&mut self, packet: &Packet, side: usize) {
        let time_ns = self.elapsed_ns(packet.time_ns);
        self.handshake(packet, side, time_ns);
        self.negotiation.on_packet(packet, side);
        let mut loop_ns = None;
        if let Some((value, echo)) = packet.options.timestamps {
            self.has_stamps = true;
            self.loops[1 - side].sent(value, time_ns);
            if packet.control.any(ControlBits::ACK) {
                loop_ns = self.loops[side].echoed(echo, time_ns);
            }
        }
        let mut sending = self.now(packet, side);
        let mut queueing_ns = None;
        if let Some((value, _)) = packet.options.timestamps {
            // Beyond a gap, the timestamp echoed is that of the last packet before the gap (RFC
            // 7323 §4.3).
            let missing = self.halves[1 - side].scoreboard.first_span();
            let is_newest = missing.is_none_or(|span| span.copies > 0);
            sending.echo = packet.options.timestamps.map(|(_, echo)| echo).filter(|_| is_newest);
            let has_data = packet.payload_bytes > 0;
            queueing_ns = self.clocks[side].queueing_ns(value, time_ns, has_data);
            if sending.sender_loop.is_some_and(|least| least >= QUEUED_NS) {
                sending.sent_ns = time_ns - queueing_ns.filter(|_| has_data).unwrap_or(0);
                sending.timestamp_tick_ns = self.clocks[side].timestamp_tick_ns();
                if let Some(loop_ns) = loop_ns.filter(|_| has_data) {
                    self.halves[side].note_echo(loop_ns, &sending);
                }
            }
        }
        let before = self.halves[side].scoreboard.end;
        self.halves[side].on_packet(packet, &sending);
        // SYN and FIN occupy sequence numbers.
        let control = i64::from(packet.seq_len() - packet.payload_bytes);
        if packet.payload_bytes > 0 {
            self.first_talker.get_or_insert(side);
        }
        self.payload[side] += (self.halves[side].scoreboard.end - before - control).max(0);
        self.halves[1 - side].detectors.queueing.on_packet(queueing_ns);
        let answering = self.now(packet, 1 - side);
        let sample = self.halves[1 - side].on_ack(packet, &answering);
        if let Some(ns) = sample {
            self.loops[side].sample(ns);
        }
        self.record(packet, side, time_ns);
        self.fins[side] |= packet.control.any(ControlBits::FIN);
        self.is_over |= packet.control.any(ControlBits::RST) || self.fins == [true; 2];
    }

    fn record(&mut self, packet: &Packet, side: usize, time_ns: i64) {
        let Some(recorders) = &mut self.recorders else { return };
        if packet.seq_len() > 0 {
            let start = self.halves[side].position(packet.seq, false);
            recorders[side].add_data(time_ns, start, start + i64::from(packet.seq_len()));
        }
        if packet.control.any(ControlBits::ACK) {
            let direction = &self.halves[1 - side];
            recorders[1 - side].add_ack(
                time_ns,
                direction.highest_ack,
                direction.highest_ack + direction.receive_window,
            );
        }
    }

    /// Evaluates the handshake: its times and the negotiated options.
    fn handshake(&mut self, packet: &Packet, side: usize, time_ns: i64) {
        if packet.control.any(ControlBits::SYN) {
            self.scales[side] = Some(packet.options.window_scale.unwrap_or(0));
            self.syns[side] = Some(packet.options);
            let is_first = self.syn_ns[side].is_none();
            // The times of a SYN and of its answer may be equal.
            let is_answer = packet.control.any(ControlBits::ACK);
            self.opener.get_or_insert(if is_answer { 1 - side } else { side });
            self.time_repeated_syn(packet, side, time_ns);
            self.halves[1 - side].mss = packet.options.mss.map(i64::from);
            self.offers_ecn |=
                packet.control.any(ControlBits::ECE) && packet.control.any(ControlBits::CWR);
            self.syn_ns[side] = Some(time_ns);
            self.has_repeated_syn[side] |= !is_first;
            if let Some(other) = self.syn_ns[1 - side].filter(|_| is_first) {
                // The SYN/ACK answers the SYN, which gives the round trip from the capture to this
                // endpoint.
                if !self.has_repeated_syn[1 - side] {
                    self.loops[side].sample(time_ns - other);
                    self.handshake_ns[side] = Some(time_ns - other);
                }
                let is_cut = self.syns.iter().flatten().any(|syn| syn.is_truncated);
                // Window scaling requires the option from both ends.
                let is_scaled = packet.options.window_scale.is_some();
                let scales = self.scales;
                for (direction, scale) in self.halves.iter_mut().zip([scales[1], scales[0]]) {
                    direction.window_scale =
                        if is_scaled { scale } else { Some(0) }.filter(|_| !is_cut);
                }
                self.agree_on_ecn(packet);
            }
        } else if !self.halves[0].is_established {
            if let [Some(first), Some(second)] = self.syn_ns
                && self.opener == Some(side)
                && !self.has_repeated_syn[1 - side]
            {
                // The third packet answers the SYN/ACK, which gives the round trip from the
                // capture to the opener.
                self.loops[side].sample(time_ns - first.max(second));
                self.handshake_ns[side] = Some(time_ns - first.max(second));
                self.completing_bytes = packet.payload_bytes;
                // When the SYN/ACK passed, the time that it takes to the opener was unknown. Data
                // may also have waited for the application.
                if packet.seq_len() == 0 {
                    self.halves[side].sender.delay_acks(time_ns);
                }
            }
            for direction in &mut self.halves {
                direction.is_established = true;
            }
        }
    }

    /// Takes the round trip from a repeated SYN to its answer, if no timestamps tell which SYN is
    /// answered: the newest one, unless the round trip exceeds the initial RTO. If the SYN/ACK was
    /// lost, its sender's timer may repeat it just before the repeated SYN arrives, which is
    /// answered as well (`tcp_check_req` in Linux). The last of such answers then counts.
    fn time_repeated_syn(&mut self, packet: &Packet, side: usize, time_ns: i64) {
        let is_answer = packet.control.any(ControlBits::ACK);
        let is_blind = packet.options.timestamps.is_none() && self.has_repeated_syn[1 - side];
        let Some(syn_ns) = self.syn_ns[1 - side].filter(|_| is_answer && is_blind) else { return };
        let before_ns = self.syn_ns[side].unwrap_or(time_ns);
        if time_ns - before_ns < INITIAL_RTO_NS / 2 {
            self.loops[side] = Loop::default();
            self.loops[side].sample(time_ns - syn_ns);
        }
    }

    /// Evaluates the answer to a SYN: ECE alone accepts ECN (RFC 3168 §6.1.1).
    fn agree_on_ecn(&mut self, answer: &Packet) {
        let is_agreed = answer.control.any(ControlBits::ECE)
            && !answer.control.any(ControlBits::CWR)
            && self.offers_ecn;
        for direction in &mut self.halves {
            direction.ecn.is_agreed = is_agreed;
        }
    }

    /// Context of this packet for the data that side `sender` sends.
    fn now(&self, packet: &Packet, sender: usize) -> PacketContext {
        PacketContext {
            time_ns: self.elapsed_ns(packet.time_ns),
            sent_ns: self.elapsed_ns(packet.time_ns),
            timestamp_tick_ns: 0,
            echo: None,
            packet: packet.number,
            sender_loop: self.loops[sender].least_ns,
            receiver_loop: self.loops[1 - sender].least_ns,
        }
    }
}
