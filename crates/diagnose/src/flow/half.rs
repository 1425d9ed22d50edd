//! One direction of a flow: its data, and the acknowledgments for them.

use super::account::{Account, Limit};
use super::board::{Board, Span, Stamp};
use super::limit::{Held, Tail};
use super::path::Path;
use super::record::{Record, Records};
use super::relation::{Identification, Relation};
use super::sender::{Attempt, Sender};
use super::watch::Watch;
use crate::answer::{Evidence, Kind, Needless, Proof};
use crate::packet::{Control, Packet};
use std::collections::VecDeque;

/// Time and place of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Time since the flow's first packet.
    pub time_ns: i64,
    /// Time at which the packet would have passed without queues before the capture.
    pub sent_ns: i64,
    /// Frame.
    pub packet: u64,
    /// Least time from the capture to the sender and back.
    pub sender_loop: Option<i64>,
    /// Least time from the capture to the receiver and back.
    pub receiver_loop: Option<i64>,
}

impl Now {
    /// Minimum RTT, if both parts are known.
    pub fn rtt(&self) -> Option<i64> {
        Some(self.sender_loop? + self.receiver_loop?)
    }
}

/// An episode of loss recovery.
#[derive(Debug, Clone, Copy)]
pub struct EpisodeRecord {
    /// The bottleneck was the limit before.
    pub is_filled: bool,
    /// True if a timeout started it.
    pub is_timeout: bool,
    /// Index of its first retransmission.
    pub trigger: u32,
    /// RTT before that.
    pub rtt_ns: i64,
    /// Time of that.
    pub start_ns: i64,
    /// Position whose acknowledgment ends it.
    pub until: i64,
    /// Time of the end.
    pub end_ns: Option<i64>,
}

/// A timeout: index of the retransmission, time waited, RTO predicted.
#[derive(Debug, Clone, Copy)]
pub struct TimeoutRecord {
    /// Retransmission.
    pub index: u32,
    /// Time since the timer was set.
    pub waited_ns: i64,
    /// RTO predicted.
    pub rto_ns: i64,
}

/// State of one direction of a connection.
#[derive(Default)]
pub struct Half {
    /// Sequence number of position 0, the SYN.
    origin: Option<u32>,
    /// Sequence space.
    pub board: Board,
    /// Model of the sender.
    pub sender: Sender,
    /// Retransmissions.
    pub records: Records,
    /// Episodes so far.
    pub episodes: Vec<EpisodeRecord>,
    /// Timeouts so far.
    pub timeouts: Vec<TimeoutRecord>,
    /// Account of time.
    pub account: Account,
    /// Cumulative acknowledgment that has passed the capture.
    pub passed_ack: i64,
    /// Acknowledgments of data sent once: those of what a receiver delays, and of more.
    pub(super) ack_widths: [u32; 2],
    /// Bytes acknowledged that were not captured.
    pub not_captured: i64,
    /// Number of originals that arrived late.
    pub reordered: u64,
    /// The receiver reports duplicates.
    pub has_dsack: bool,
    /// Queues before the capture are invisible: the receiver's end without timestamps.
    pub(super) is_blind: bool,
    /// Window scale that the receiver announced; none without its SYN.
    pub scale: Option<u8>,
    pub(super) is_established: bool,
    has_syn: bool,
    /// Data that were acknowledged before they were captured, and when.
    pub(super) skipped: (i64, i64, i64),
    pub(super) window: i64,
    pub(super) largest: i64,
    /// Transmission time of the newest data that the current acknowledgment covers.
    pub(super) newest_ns: i64,
    pub(super) last_length: i64,
    /// The last packet had new data.
    pub(super) was_new: bool,
    /// Position after the payload.
    pub(super) payload_end: i64,
    /// Retransmitted bytes that are not acknowledged.
    pub(super) resent_bytes: i64,
    /// Estimates of the path.
    pub(super) path: Path,
    /// Time at which the last data have passed the bottleneck.
    pub(super) busy_ns: i64,
    /// Time at which the last acknowledgment took effect at the earliest, and the limit until then.
    pub(super) before_ack: (i64, Limit),
    /// Intervals in which the receiver may hold its acknowledgment.
    pub(super) held: VecDeque<Held>,
    /// Time since data were last sent.
    pub(super) tail: Vec<Tail>,
    pub(super) ids: Identification,
    /// Place of the current packet in the order of sending.
    stamp: Stamp,
    /// All packets, if the path is measured.
    pub watch: Option<Box<Watch>>,
}

impl Half {
    /// Position of a sequence number, near what was sent last.
    pub fn position(&mut self, seq: u32, is_syn: bool) -> i64 {
        let origin = *self.origin.get_or_insert_with(|| {
            let first = i64::from(!is_syn);
            self.board = Board::at(first);
            (self.passed_ack, self.sender.una) = (first, first);
            seq.wrapping_sub(first as u32)
        });
        let near = self.board.end;
        near + i64::from(seq.wrapping_sub(origin.wrapping_add(near as u32)) as i32)
    }

    /// True if a SYN opens a different connection.
    pub fn is_new(&self, syn: &Packet) -> bool {
        self.origin.is_some_and(|origin| origin != syn.seq)
    }

    /// A packet of this direction passes.
    pub fn on_packet(&mut self, packet: &Packet, now: &Now) {
        let start = self.position(packet.seq, packet.control.any(Control::SYN));
        let id = self.ids.next(packet.ip_id, packet.payload_bytes, now);
        let end = start + i64::from(packet.seq_len());
        if start == end || packet.control.any(Control::RST) {
            return;
        }
        self.advance_to(now.sent_ns);
        let value = packet.options.timestamps.map(|(value, _)| value);
        let stamp = Stamp { value, ip_id: id };
        self.stamp = stamp;
        self.hidden(start, now, stamp);
        let is_first_syn = packet.control.any(Control::SYN) && !self.has_syn;
        self.has_syn |= is_first_syn;
        let relation = match self.relation((start, end), stamp, now) {
            // The answer was captured before it.
            Relation::Again(_) if is_first_syn => Relation::Late,
            Relation::Again(_) if self.was_skipped(start, end, now) => {
                if end > self.board.end {
                    Relation::New
                } else {
                    Relation::Late
                }
            }
            relation => relation,
        };
        match relation {
            Relation::New => {
                self.arrived(packet, now);
                self.new_data(i64::from(packet.payload_bytes), now);
            }
            Relation::Late => {
                self.reordered += 1;
                self.late_original(start, end, now);
            }
            Relation::Copied => self.note(packet, (start, end), Kind::NetworkDuplicate, now),
            Relation::Again(original) => self.again(packet, (start, end), original, now),
        }
        self.mark(start, end, stamp, (now, relation));
        self.watch(packet, (start, end), relation, now);
        self.largest = self.largest.max(i64::from(packet.payload_bytes));
        if relation == Relation::New {
            self.last_length = i64::from(packet.payload_bytes);
        }
        if packet.payload_bytes > 0 && matches!(relation, Relation::New) {
            self.payload_end = end - i64::from(packet.control.any(Control::FIN));
            self.account.resume();
        }
        if relation != Relation::Late {
            self.occupy(now.sent_ns, end - start);
        }
        if matches!(relation, Relation::Again(_)) {
            self.held.retain(|held| held.end <= start);
            self.resent_bytes += end - start;
        }
        self.account.set(self.limit());
    }

    fn new_data(&mut self, payload_bytes: i64, now: &Now) {
        let was_idle = self.sender.una >= self.board.end;
        let (limit, since) = (self.limit_until(now), self.sender.active_ns());
        let length = self.pass(now.sent_ns, limit);
        if was_idle && self.is_pause(now.sent_ns) {
            self.tail_was(Limit::Application);
        } else if was_idle && payload_bytes < self.largest {
            // Less than a segment remains until everything is acknowledged.
            self.tail_was(Limit::Nagle);
        } else if !was_idle && self.is_paced(now) {
            self.tail_was(Limit::Pacing);
        }
        self.tail.clear();
        self.stall((since, length), limit, now);
        self.sender.on_new(now.sent_ns, was_idle);
    }

    pub(super) fn episode_now(&self) -> Option<usize> {
        self.episodes.len().checked_sub(1)
    }

    fn stall(&mut self, (since, length): (i64, i64), limit: Limit, now: &Now) {
        let Some(srtt) = self.sender.estimator.srtt_ns() else { return };
        if length > (2 * srtt).min(self.sender.estimator.rto_ns()).max(10_000_000) {
            self.account.stall(since, length, limit, now.packet);
        }
    }

    fn late_original(&mut self, start: i64, end: i64, now: &Now) {
        let mut indices: Vec<u32> =
            self.board.range(start, end).filter_map(|span| span.retransmission).collect();
        indices.extend(self.records.index_at(start));
        let proof = Proof { evidence: Evidence::LateOriginal, packet: Some(now.packet) };
        for index in indices {
            self.records.all[index as usize].prove(Needless::Yes, 0.992, proof);
        }
    }

    /// A retransmission passes.
    fn again(&mut self, packet: &Packet, at: (i64, i64), original: Option<u64>, now: &Now) {
        let (start, end) = at;
        let has_data = packet.payload_bytes > 0;
        let kind = if packet.control.any(Control::SYN) {
            Kind::Syn
        } else if !has_data {
            Kind::Fin
        } else if packet.payload_bytes == 1 && end <= self.passed_ack {
            Kind::KeepAlive
        } else if self.is_established && self.sender.window == 0 && start <= self.sender.una {
            Kind::WindowProbe
        } else {
            return self.recover(packet, at, original, now);
        };
        let limit = if kind == Kind::Syn { Limit::Handshake } else { self.account.limit() };
        self.pass(now.sent_ns, limit);
        self.sender.on_new(now.sent_ns, true);
        self.note(packet, at, kind, now);
        if let Some(last) = self.records.all.last_mut() {
            last.original = original;
        }
    }

    fn recover(&mut self, packet: &Packet, at: (i64, i64), original: Option<u64>, now: &Now) {
        let (start, end) = at;
        let previous = self.board.range(start, end).map(|span| span.sent_ns).max();
        let attempt = Attempt {
            time_ns: now.sent_ns,
            start,
            end,
            previous_ns: previous.unwrap_or(0),
            is_remote: now.sender_loop.is_some_and(|it| it > now.receiver_loop.unwrap_or(0))
                && now.sent_ns == now.time_ns,
            sent_to: self.board.end,
        };
        let since = self.sender.active_ns();
        let verdict = self.sender.on_retransmission(&attempt);
        let index = self.records.all.len() as u32;
        let is_timeout = verdict.kind == Kind::Timeout;
        if verdict.begins && verdict.kind != Kind::TailLossProbe {
            let continues = is_timeout && verdict.number > 1;
            if !continues {
                let (trigger, start_ns, until) = (index, now.sent_ns, self.board.end);
                let (rtt_ns, end_ns) = (self.sender.rtts.now_ns(), None);
                let is_filled = self.account.limit() == Limit::Bottleneck;
                let episode = EpisodeRecord {
                    is_timeout,
                    is_filled,
                    trigger,
                    rtt_ns,
                    start_ns,
                    until,
                    end_ns,
                };
                self.episodes.push(episode);
            }
        }
        let limit = if is_timeout && verdict.begins {
            let (waited_ns, rto_ns) = (verdict.waited_ns, verdict.rto_ns);
            self.timeouts.push(TimeoutRecord { index, waited_ns, rto_ns });
            // Earlier retransmissions are lost with everything else.
            self.resent_bytes = 0;
            Limit::Timeout
        } else {
            self.account.limit()
        };
        let length = self.pass(now.sent_ns, limit);
        self.stall((since, length), limit, now);
        self.note(packet, at, verdict.kind, now);
        let episode = self.episode_now();
        if let Some(record) = self.records.all.last_mut() {
            record.original = original;
            record.number = if is_timeout { verdict.number } else { 0 };
            record.kind_confidence = verdict.confidence;
            record.episode = episode.filter(|_| verdict.kind != Kind::TailLossProbe);
        }
    }

    /// Adds a retransmission, with the evidence available at once.
    fn note(&mut self, packet: &Packet, (start, end): (i64, i64), kind: Kind, now: &Now) {
        let stamp = self.stamp;
        let value = packet.options.timestamps.map(|(value, _)| value);
        let previous = self.board.range(start, end).find_map(|span| span.stamp.value);
        let all_sacked = {
            let mut spans = self.board.range(start, end).peekable();
            spans.peek().is_some() && spans.all(|span| span.sacked)
        };
        let mut record = Record {
            packet: packet.number,
            time_ns: now.time_ns,
            start,
            end,
            length_bytes: packet.payload_bytes,
            value,
            stamp,
            previous_value: previous,
            kind,
            number: 0,
            kind_confidence: 0.98,
            original: None,
            needless: Needless::Unknown,
            confidence: 0.5,
            proof: Proof { evidence: Evidence::None, packet: None },
            episode: None,
            has_dsack: false,
            is_acked: end <= self.passed_ack,
            before: self.board.range(start, end).find_map(|span| span.retransmission),
        };
        let sure = |evidence| Proof { evidence, packet: None };
        if kind == Kind::NetworkDuplicate || end <= self.passed_ack {
            record.prove(Needless::Yes, 0.999, sure(Evidence::AcknowledgedBefore));
        } else if all_sacked {
            record.prove(Needless::Yes, 0.99, sure(Evidence::SackedBefore));
        }
        self.records.push(record);
    }

    /// Brings the board up to date.
    fn mark(&mut self, start: i64, end: i64, stamp: Stamp, (now, as_what): (&Now, Relation)) {
        let index = self.records.all.len().checked_sub(1).map(|index| index as u32);
        let retransmission = matches!(as_what, Relation::Again(_)).then_some(index).flatten();
        let (time, old_end) = (now.time_ns, self.board.end);
        if start < old_end {
            for span in self.board.range_mut(start, end.min(old_end)) {
                if span.copies == 0 {
                    (span.first_ns, span.packet) = (time, now.packet);
                    (span.last_ns, span.sent_ns, span.stamp) = (time, now.sent_ns, stamp);
                } else if as_what != Relation::Late {
                    (span.last_ns, span.sent_ns, span.stamp) = (time, now.sent_ns, stamp);
                }
                span.copies += 1;
                span.retransmission = retransmission.or(span.retransmission);
            }
        }
        let blank = Span {
            start: old_end,
            end: start,
            first_ns: time,
            last_ns: time,
            sent_ns: now.sent_ns,
            copies: 0,
            packet: now.packet,
            stamp,
            sacked: false,
            retransmission: None,
        };
        if start > old_end {
            self.board.append(blank);
        }
        if end > old_end {
            let start = start.max(old_end);
            self.board.append(Span { start, end, copies: 1, retransmission, ..blank });
        }
    }
}
