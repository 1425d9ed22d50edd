//! One direction of a flow: its data, and the acknowledgments for them.

use super::account::{Account, Limit};
use super::busy::BusyPeriod;
use super::delay_spike::DelaySpike;
use super::delayed_ack::{AttributedDelay, DelayedAckInterval};
use super::ecn::Ecn;
use super::growth::{FlightGrowth, FullRounds};
use super::lost_tail::LostTail;
use super::nagle::LastPartial;
use super::paced_ticks::PacedTicks;
use super::pacing::PacedBursts;
use super::packet_log::PacketLog;
use super::path::Path;
use super::patterns::{PatternDetectors, SentPacket};
use super::pushed::PushedData;
use super::record::RetransmissionRecords;
use super::relation::{IpIdentification, Relation};
use super::room::WindowRoom;
use super::scoreboard::{Scoreboard, SendOrder};
use super::self_clock::SelfClock;
use super::sender::Sender;
use super::since_data::IntervalSinceData;
use super::tentative_limit::{TentativeLimit, UndecidedTimes};
use crate::answer::{Evidence, Kind, Necessity, Proof};
use crate::packet::{ControlBits, Packet};
use std::collections::VecDeque;

/// Context of a packet: its times, and the round trips between the capture and the endpoints.
#[derive(Debug, Clone, Copy)]
pub struct PacketContext {
    /// Time since the flow's first packet.
    pub time_ns: i64,
    /// Time at which the packet would have passed the capture if it had not waited in queues before
    /// it.
    pub sent_ns: i64,
    /// Length of a tick of the sender's timestamps, from which the queueing delay before the
    /// capture is computed; 0 without timestamps.
    pub timestamp_tick_ns: i64,
    /// Timestamp that the packet echoes, if it is that of the newest packet that the sender had
    /// received; none otherwise.
    pub echo: Option<u32>,
    /// Number of the frame in the capture.
    pub packet: u64,
    /// Least time from the capture to the sender and back; none if unknown.
    pub sender_loop: Option<i64>,
    /// Least time from the capture to the receiver and back; none if unknown.
    pub receiver_loop: Option<i64>,
}

/// MSS assumed if the handshake was not captured: that of Ethernet with IPv4.
const ETHERNET_MSS: i64 = 1460;
/// Bytes of the timestamps option, which shortens the payload of every segment.
const TIMESTAMPS_BYTES: i64 = 12;
/// The capture is at the receiver's end if the round trip to the receiver is less than the RTT
/// divided by this number.
const AT_RECEIVER: i64 = 8;

impl PacketContext {
    /// True if the capture is at the receiver's end, behind the queues of the path.
    pub fn is_at_receiver(&self) -> bool {
        self.receiver_loop.zip(self.rtt()).is_some_and(|(ns, rtt)| ns < rtt / AT_RECEIVER)
    }

    /// Minimum RTT, if the least round trips from the capture to both endpoints are known.
    pub fn rtt(&self) -> Option<i64> {
        Some(self.sender_loop? + self.receiver_loop?)
    }
}

/// An episode of loss recovery.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeRecord {
    /// True if the bottleneck was the limit before the episode.
    pub was_bottleneck_limited: bool,
    /// True if a timeout started the episode.
    pub is_timeout: bool,
    /// Index of the episode's first retransmission.
    pub trigger: u32,
    /// RTT before the first retransmission.
    pub rtt_ns: i64,
    /// Fraction of the RTTs since the previous episode that are shorter than `rtt_ns`; none if
    /// there are too few samples.
    pub shorter_rtt_share: Option<f64>,
    /// Time of the first retransmission.
    pub start_ns: i64,
    /// Position whose acknowledgment ends the episode.
    pub end_position: i64,
    /// Time of the end; none while the episode lasts.
    pub end_ns: Option<i64>,
    /// True if the sender had reduced its congestion window before this episode.
    pub had_reduced: bool,
    /// True if the sender has undone the reduction of this episode.
    pub is_undone: bool,
}

/// Expiry of the sender's retransmission timer.
#[derive(Debug, Clone, Copy)]
pub struct TimeoutRecord {
    /// Index of the retransmission.
    pub index: u32,
    /// Time since the timer was set.
    pub waited_ns: i64,
    /// RTO that was predicted for this timeout.
    pub rto_ns: i64,
}

/// State of one direction of a connection.
#[derive(Default)]
pub struct Direction {
    /// Sequence number of position 0, the SYN; none before the first packet.
    pub(super) origin: Option<u32>,
    /// Ranges of the sequence space, with their state.
    pub scoreboard: Scoreboard,
    /// Model of the sender of this direction's data.
    pub sender: Sender,
    /// Retransmissions so far.
    pub records: RetransmissionRecords,
    /// Episodes so far.
    pub episodes: Vec<EpisodeRecord>,
    /// Timeouts so far.
    pub timeouts: Vec<TimeoutRecord>,
    /// Time under each limit.
    pub account: Account,
    /// Highest cumulative acknowledgment that has passed the capture.
    pub highest_ack: i64,
    /// Highest acknowledgment of a packet in the capture; none before the first one.
    pub captured_ack: Option<i64>,
    /// Lowest end of a segment that was sent only once and that the current acknowledgment covers
    /// for the first time; `i64::MAX` without such data.
    pub(super) original_end: i64,
    /// True if the receiver has reported a gap since the last cumulative acknowledgment.
    pub(super) has_gap: bool,
    /// Numbers of acknowledgments of data that were sent once: those that cover at most as many
    /// segments as a delayed ACK, and those that cover more.
    pub(super) ack_widths: [u32; 2],
    /// Bytes acknowledged that were not captured.
    pub not_captured: i64,
    /// Number of originals that arrived late.
    pub reordered: u64,
    /// True if the receiver reports duplicates (DSACK).
    pub has_dsack: bool,
    /// Window scale that the receiver announced; none if its SYN was not captured.
    pub window_scale: Option<u8>,
    pub(super) is_established: bool,
    pub(super) has_syn: bool,
    /// Range of data whose acknowledgment was captured before the data, and the time of the
    /// acknowledgment.
    pub(super) acked_before_captured: (i64, i64, i64),
    pub(super) receive_window: i64,
    /// Longest segment that the current acknowledgment covers for the first time.
    pub(super) longest_acked: i64,
    /// MSS that the receiver announced; none if its SYN was not captured.
    pub mss: Option<i64>,
    pub(super) largest_payload: i64,
    /// Transmission time of the newest data that the current acknowledgment covers.
    pub(super) newest_ns: i64,
    pub(super) last_payload_bytes: i64,
    /// True if the sender had more data to send after the newest ones: the last data written carry
    /// PSH (RFC 9293 §3.9.1.2), and these do not.
    pub(super) has_more: bool,
    /// Use of PSH by the sender.
    pub(super) pushed: PushedData,
    /// True if the last packet had new data.
    pub(super) last_had_new_data: bool,
    /// Position after the newest payload sent, without a FIN; 0 before any payload.
    pub(super) payload_end: i64,
    /// Bytes that were retransmitted and, as far as the sender knows, are not yet acknowledged.
    pub(super) retransmitted_bytes: i64,
    /// Bytes of retransmissions that the current acknowledgment covers for the first time.
    pub(super) repaired_bytes: i64,
    /// Estimates of the path.
    pub(super) path: Path,
    /// Time at which the bottleneck has transmitted all data sent so far.
    pub(super) busy_end_ns: i64,
    /// True if the capture is at the receiver's end.
    pub(super) is_at_receiver: bool,
    /// Length of a tick of the sender's timestamps; 0 if unknown.
    pub(super) timestamp_tick_ns: i64,
    /// Longest time that data have waited in queues before the capture.
    pub(super) longest_queueing_ns: i64,
    /// Current busy period of the bottleneck; only at the receiver's end, where queues are
    /// invisible.
    pub(super) busy_period: Option<BusyPeriod>,
    /// Earliest time at which the last acknowledgment took effect at the sender, and the limit
    /// before it.
    pub(super) before_ack: (i64, Limit),
    /// Cumulative acknowledgment of the last acknowledgment that took effect.
    pub(super) last_ack: i64,
    /// Intervals in which the receiver may delay its acknowledgment.
    pub(super) delayed_acks: VecDeque<DelayedAckInterval>,
    /// The last delayed acknowledgment, if the congestion window had room before it.
    pub(super) attributed_delay: Option<AttributedDelay>,
    /// Limit after the last data.
    pub(super) limit_at_data: Limit,
    /// True if the current limit began outside loss recovery.
    pub(super) was_open: bool,
    /// True if, when the current limit began, the sender had retransmitted everything after a
    /// timeout, and its window had room.
    pub(super) had_resent_all: bool,
    /// Room in the congestion window.
    pub(super) room: WindowRoom,
    /// The last partial segment.
    pub(super) last_partial: LastPartial,
    /// Last limit; with data in flight, or without.
    pub(super) limit_in_flight: Limit,
    /// Round trips in which the peer's window was full.
    pub(super) full_rounds: FullRounds,
    /// Growth of the bytes in flight.
    pub(super) growth: FlightGrowth,
    /// Limit since the last event, to be corrected at the end of the flow.
    pub(super) tentative_limit: TentativeLimit,
    /// Periods for which the limit of the flow can be decided only from the final estimate of the
    /// path.
    pub(super) undecided_times: UndecidedTimes,
    /// Intervals since data were last sent.
    pub(super) since_data: Vec<IntervalSinceData>,
    /// Intervals from the newest data until all data were acknowledged; none while data are in
    /// flight.
    pub(super) since_last_data: Option<Vec<IntervalSinceData>>,
    /// The sender as its acknowledgments clock it, at the receiver's end without timestamps.
    pub(super) self_clock: SelfClock,
    /// Evidence that the sender paces, far from it.
    pub(super) paced_bursts: PacedBursts,
    /// Evidence from timestamps that the sender paces, far from it.
    pub(super) paced_ticks: PacedTicks,
    /// The last delay spike; none if the time of its silence is attributed.
    pub(super) delay_spike: Option<Box<DelaySpike>>,
    /// Time before the last recovery that began far from the sender; none before any.
    pub(super) lost_tail: Option<Box<LostTail>>,
    /// Time of the next packet if it has other data, while a retransmission is handled that has
    /// waited for it.
    pub(super) next_data_ns: Option<i64>,
    /// Cumulative acknowledgment that had reached the sender when it sent the newest data.
    pub(super) una_at_data: i64,
    pub(super) ip_identification: IpIdentification,
    /// Evidence for the position of the current packet in the order of sending.
    pub(super) send_order: SendOrder,
    /// Evidence of known faults and habits.
    pub(super) detectors: PatternDetectors,
    /// True if a policer explains the losses.
    pub(super) is_policed: bool,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Record of all packets, if the path is measured.
    pub packet_log: Option<Box<PacketLog>>,
}

impl Direction {
    /// Position of a sequence number. Of the possible positions, this is the one nearest to the
    /// highest position sent.
    pub fn position(&mut self, seq: u32, is_syn: bool) -> i64 {
        let origin = *self.origin.get_or_insert_with(|| {
            let first = i64::from(!is_syn);
            self.scoreboard = Scoreboard::starting_at(first);
            (self.highest_ack, self.sender.snd_una) = (first, first);
            seq.wrapping_sub(first as u32)
        });
        // Sequence numbers wrap, so one number stands for many positions.
        let near = self.scoreboard.end;
        near + i64::from(seq.wrapping_sub(origin.wrapping_add(near as u32)) as i32)
    }

    /// True if a SYN opens a different connection.
    pub fn is_new(&self, syn: &Packet) -> bool {
        self.origin.is_some_and(|origin| origin != syn.seq)
    }

    /// Handles a packet of this direction.
    pub fn on_packet(&mut self, packet: &Packet, now: &PacketContext) {
        let start = self.position(packet.seq, packet.control.any(ControlBits::SYN));
        let id = self.ip_identification.on_packet(packet.ip_id, packet.payload_bytes, now);
        let end = start + i64::from(packet.seq_len());
        // Pure acknowledgments and resets carry no data.
        if start == end || packet.control.any(ControlBits::RST) {
            return;
        }
        let now = &self.with_clocked_time(packet, start, now);
        self.longest_queueing_ns = self.longest_queueing_ns.max(now.time_ns - now.sent_ns);
        self.is_at_receiver = now.is_at_receiver();
        self.advance_to_sending((start, end), now);
        let timestamp_value = packet.options.timestamps.map(|(value, _)| value);
        let stamp = SendOrder { timestamp_value, ip_id: id };
        // Whether the identification shows the order may become known later.
        self.send_order = SendOrder { ip_id: Some(packet.ip_id).filter(|id| *id != 0), ..stamp };
        self.append_hole(start, now, stamp);
        let is_first_syn = packet.control.any(ControlBits::SYN) && !self.has_syn;
        self.has_syn |= is_first_syn;
        let relation = match self.relation_to_sent((start, end), stamp, now) {
            // The response to this SYN was captured before the SYN itself.
            Relation::Again(_) if is_first_syn => Relation::Late,
            // The acknowledgment was captured before the data, so the data are not a
            // retransmission.
            Relation::Again(_) if self.was_acked_first(start, end, now) => {
                if end > self.scoreboard.end { Relation::New } else { Relation::Late }
            }
            relation => relation,
        };
        match relation {
            Relation::New => {
                self.new_data(i64::from(packet.payload_bytes), now);
            }
            Relation::Late => {
                self.reordered += 1;
                self.late_original(start, end, now);
            }
            Relation::Copied => self.add_record(packet, (start, end), Kind::NetworkDuplicate, now),
            Relation::Again(original) => {
                self.on_retransmission(packet, (start, end), original, now)
            }
        }
        self.on_arrived(packet, (start, relation), now);
        if self.ecn.detects_reduction(packet, self.sender.is_open()) {
            self.sender.on_ecn_reduction();
        }
        self.on_data(packet, (start, relation), now);
        self.mark(start, end, (now, relation));
        self.log_packet(packet, (start, end), relation, now);
        self.largest_payload = self.largest_payload.max(i64::from(packet.payload_bytes));
        if relation == Relation::New {
            self.last_payload_bytes = i64::from(packet.payload_bytes);
            self.has_more = self.has_more_after(packet, now);
        }
        if packet.payload_bytes > 0 && matches!(relation, Relation::New) {
            self.payload_end = end - i64::from(packet.control.any(ControlBits::FIN));
            self.account.on_data_after_pause();
        }
        // A late original was sent before data that are already counted, so it does not lengthen
        // the busy period.
        if relation != Relation::Late {
            self.add_transmission(now.sent_ns, end - start);
        }
        if matches!(relation, Relation::Again(_)) {
            self.delayed_acks.retain(|held| held.end <= start);
            self.retransmitted_bytes += end - start;
        }
        self.set_limit(now.sent_ns);
        self.limit_at_data = self.account.limit();
    }

    /// Evaluates data as evidence of a pattern (a known fault or habit).
    fn on_data(&mut self, packet: &Packet, at: (i64, Relation), now: &PacketContext) {
        let (start, relation) = at;
        if packet.payload_bytes > 0 && !matches!(relation, Relation::Late | Relation::Copied) {
            let sent = SentPacket {
                packet: now.packet,
                time_ns: now.sent_ns,
                start,
                payload_bytes: packet.payload_bytes.into(),
                is_retransmission: matches!(relation, Relation::Again(_)),
            };
            self.detectors.on_data(&sent, self.segment_bytes(packet), self.sender.snd_una);
        }
    }

    /// Largest payload of a segment on the path. The capture may show larger packets, merged from
    /// several segments.
    pub(super) fn segment_bytes(&self, packet: &Packet) -> i64 {
        let options = if packet.options.timestamps.is_some() { TIMESTAMPS_BYTES } else { 0 };
        self.mss.unwrap_or(ETHERNET_MSS) - options
    }

    fn new_data(&mut self, payload_bytes: i64, now: &PacketContext) {
        let was_idle = self.sender.snd_una >= self.scoreboard.end;
        let (limit, since) = (self.limit_ended_by(now), self.sender.last_activity_ns());
        let length = self.end_interval(now.sent_ns, limit);
        if payload_bytes > 0 {
            self.end_time_since_data(payload_bytes, was_idle, now);
        }
        self.stall((since, length), limit, now);
        self.sender.on_new_data(now.sent_ns, was_idle);
        self.una_at_data = self.sender.snd_una;
        let flight = self.scoreboard.end + payload_bytes - self.sender.snd_una;
        self.sender.on_flight(flight, self.largest_payload.max(payload_bytes));
    }

    /// Episode to which the time of a limit belongs. For a limit by a small congestion window this
    /// is the episode of the last reduction that was not undone.
    pub(super) fn episode_of(&self, limit: Limit) -> Option<usize> {
        match limit {
            Limit::Window => self.episodes.iter().rposition(|episode| !episode.is_undone),
            _ => self.current_episode(),
        }
    }

    pub(super) fn current_episode(&self) -> Option<usize> {
        self.episodes.len().checked_sub(1)
    }

    #[cold]
    fn late_original(&mut self, start: i64, end: i64, now: &PacketContext) {
        let mut indices: Vec<u32> =
            self.scoreboard.range(start, end).filter_map(|span| span.retransmission).collect();
        indices.extend(self.records.index_at(start));
        let proof = Proof { evidence: Evidence::LateOriginal, packet: Some(now.packet) };
        for index in indices {
            self.records.all[index as usize].add_proof(Necessity::Yes, 0.992, proof);
        }
    }
}
