//! Receiving half: reassembly, and the timing of acknowledgments.

mod held;
mod linux;
mod reading;
mod timestamps;
mod window;

use super::{Connection, Parameters, State};
use crate::delayed_ack::{AckTiming, PendingAck};
use crate::reassembly::Reassembly;
use crate::receive_memory::{ReceiveMemory, ReceiverState};
use crate::sack_compression::SackCompression;
use crate::timers::Timers;
use crate::{Buffers, Config, lazy::Lazy};
use retx_units::{SeqNr, Time};
use retx_wire::{Flags, SackBlock, SackBlocks};
use std::num::NonZeroU64;

/// Receiving half of a connection. The fields that each segment needs come last.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Receiver {
    pub out_of_order: Lazy<Reassembly>,
    /// Range that arrived twice and has not been reported (DSACK, RFC 2883).
    duplicate: Option<(NonZeroU64, u64)>,
    /// Position of the peer's FIN; `None` until it has arrived.
    pub fin: Option<NonZeroU64>,
    /// Receive buffer, if its size limits the memory used (`truesize`), not the payload.
    pub memory: Option<Box<ReceiveMemory>>,
    /// State of duplicate ACKs that are held back to be merged into one.
    compression: Lazy<SackCompression>,
    /// `TS.Recent` (RFC 7323 §4.3).
    pub ts_recent: u32,
    /// True if the application will read no more data.
    pub detached: bool,
    /// True if both ends offered window scaling.
    pub scaling: bool,
    /// True if both ends offered SACK.
    pub sack: bool,

    /// Next position expected.
    pub rcv_nxt: u64,
    /// Position after the last byte read by the application.
    read: u64,
    /// Right edge of the most recently advertised window.
    pub right_edge: u64,
    /// `Last.ACK.sent` (RFC 7323 §4.3).
    pub last_ack_sent: u64,
    /// Sum of `RCV.NXT` and the read position at the time at which `advertised_field` was computed.
    advertised_at: u64,
    /// Data received in order and not yet acknowledged.
    pub pending: PendingAck,
    /// Initial sequence number of the peer, its position 0.
    pub irs: SeqNr,
    /// Window field most recently sent on a fast path.
    pub advertised_field: u16,
    /// True if an acknowledgment is due now.
    pub ack_now: bool,
    /// True if the timestamp of the last segment is echoed again when this segment is repeated.
    echoes_last_again: bool,
    /// Shift of our window field.
    pub rcv_wscale: u8,
    /// Largest payload of the peer's segments.
    pub peer_smss: u32,
}

/// Payload and FIN of a segment that has arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentData {
    /// Position in the peer's stream, which may precede its beginning.
    pub position: i64,
    pub payload_bytes: u32,
    pub flags: Flags,
}

impl Receiver {
    pub fn new(config: &Config) -> Self {
        let buffer = config.receive_buffer.bytes(config.mss);
        let held_window = config.advertised_window.map(|size| size.bytes(config.mss));
        let memory = match config.receive_autotuning {
            _ if held_window.is_some() => None,
            Some(most) => Some(ReceiveMemory::growing(buffer, most.bytes(config.mss), config.mss)),
            None => {
                let counts = config.buffers == Buffers::Linux;
                counts.then(|| ReceiveMemory::fixed(buffer, config.mss))
            }
        };
        // RFC 7323 §2.3: the smallest shift that can express the whole buffer, at most 14.
        let shift =
            (0..14).find(|shift| held_window.unwrap_or(buffer) >> shift <= 65_535).unwrap_or(14);
        Self {
            irs: SeqNr(0),
            rcv_nxt: 0,
            // Position 0 is that of the SYN.
            read: 1,
            out_of_order: Lazy::NONE,
            duplicate: None,
            fin: None,
            detached: false,
            right_edge: 0,
            rcv_wscale: memory.as_ref().map_or(shift, ReceiveMemory::window_scale),
            memory: memory.map(Box::new),
            peer_smss: config.mss,
            pending: PendingAck::new(&config.delayed_ack),
            compression: Lazy::NONE,
            ack_now: false,
            echoes_last_again: timestamps::echoes_last_again(config),
            scaling: false,
            sack: false,
            ts_recent: 0,
            last_ack_sent: 0,
            advertised_at: 0,
            advertised_field: 0,
        }
    }

    /// True if a due acknowledgment precedes data.
    pub fn ack_goes_first(&self) -> bool {
        self.ack_now && self.pending.goes_first()
    }

    /// Bytes received in order and not read yet. A FIN occupies a position, but is not a byte to
    /// read.
    pub fn readable(&self) -> u64 {
        self.data_end().saturating_sub(self.read)
    }

    /// Bytes that occupy the buffer: those in order and not read yet, and those beyond a gap.
    pub fn buffered_bytes(&self) -> u64 {
        let beyond = self.memory.as_ref().map_or(0, |memory| memory.beyond_gap);
        self.readable() + beyond
    }

    /// Stores data beyond a gap, or data that fill a gap.
    fn take_with_gap(&mut self, left: u64, right: u64) {
        let old_nxt = self.rcv_nxt;
        // Data above all data received so far neither repeat any nor fill a gap.
        let is_above = left > old_nxt && self.out_of_order.end().is_none_or(|end| left >= end);
        let mut again = 0;
        if is_above {
            self.out_of_order.insert(left, right);
        } else {
            // RFC 2883 §4: the first contiguous part that has arrived before is reported.
            if let Some((left, right)) = self.out_of_order.first_overlap(left, right) {
                again = right - left;
                self.note_duplicate(left, right);
            }
            self.rcv_nxt = self.out_of_order.insert_and_advance(old_nxt, left, right);
        }
        let has_gap = self.has_gap();
        if let Some(memory) = &mut self.memory {
            let came = memory.beyond_gap + (right - left - again);
            let gone = self.rcv_nxt - old_nxt;
            memory.beyond_gap = if has_gap { came.saturating_sub(gone) } else { 0 };
        }
    }

    /// True if data directly before `left` wait beyond a gap.
    fn joins_data_beyond_gap(&self, left: u64) -> bool {
        match self.out_of_order.end() {
            Some(end) if end <= left => end == left,
            _ => self.out_of_order.contains(left - 1, left),
        }
    }

    /// True if all data received so far lie below this position, beyond a gap. False for a buffer
    /// whose size limits the memory used under another ACK policy than that of Linux.
    #[inline]
    pub fn has_all_data_below(&self, position: u64) -> bool {
        let is_above = position > self.rcv_nxt;
        is_above
            && (self.pending.is_linux() || self.memory.is_none())
            && self.out_of_order.end().is_some_and(|it| it <= position)
    }

    fn data_end(&self) -> u64 {
        self.fin.map_or(self.rcv_nxt, |fin| fin.get().min(self.rcv_nxt))
    }

    pub fn has_received(&self, from: u64, to: u64) -> bool {
        to <= self.rcv_nxt || self.out_of_order.contains(from.max(self.rcv_nxt), to)
    }

    fn position(&self) -> ReceiverState {
        let highest = self.out_of_order.end().unwrap_or(self.rcv_nxt);
        ReceiverState { highest, ..self.position_in_order() }
    }

    /// Like [`Self::position`] while nothing is out of order.
    #[inline(always)]
    pub fn position_in_order(&self) -> ReceiverState {
        ReceiverState {
            rcv_nxt: self.rcv_nxt,
            read: self.read,
            highest: self.rcv_nxt,
            // The position of the SYN precedes the window.
            rcv_wnd: self.right_edge.saturating_sub(self.last_ack_sent.max(1)),
            rcv_mss: self.pending.mss(),
        }
    }

    /// SACK blocks to report: first the range that arrived twice (RFC 2883 §4), then the ranges
    /// beyond a gap.
    pub fn sack_blocks(&self, limit: usize) -> SackBlocks {
        let wire = |position: u64| self.irs.add(position as u32);
        let Some((left, right)) = self.duplicate else {
            return self.out_of_order.sack_blocks(limit, wire);
        };
        let mut blocks = SackBlocks::default();
        blocks.push(SackBlock { left: wire(left.get()), right: wire(right) });
        for block in self.out_of_order.sack_blocks(limit - 1, wire).as_slice() {
            blocks.push(*block);
        }
        blocks
    }

    /// True if there is something to report selectively.
    pub fn has_sack_blocks(&self) -> bool {
        self.has_gap() || self.duplicate.is_some()
    }

    /// Records that positions `left` … `right` − 1 of a segment had arrived before. The ACK of that
    /// segment reports it (RFC 2883 §4, rule 1), so it must not be delayed.
    pub fn note_duplicate(&mut self, left: u64, right: u64) {
        if self.sack
            && left < right
            && let Some(left) = NonZeroU64::new(left)
        {
            self.duplicate = Some((left, right));
            self.ack_now = true;
        }
    }

    /// True if segments that arrive in order only have to be counted, and segments out of order
    /// only stored: arrival times do not matter, and the application will read the data.
    #[inline]
    pub fn only_counts_segments(&self) -> bool {
        let watched = self.memory.is_some() || self.pending.is_linux();
        self.fin.is_none() && !self.detached && !watched
    }

    pub fn has_gap(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Records that everything received has been acknowledged.
    #[inline(always)]
    pub fn on_ack_sent(&mut self, timers: &mut Timers, edge: u64) {
        self.ack_now = false;
        self.duplicate = None;
        self.last_ack_sent = self.rcv_nxt;
        self.right_edge = self.right_edge.max(edge);
        if self.has_read_before_ack() {
            self.end_read();
        }
        timers.delayed_ack = Time::NEVER;
        if let Some(compression) = self.compression.allocated_mut() {
            compression.on_ack_sent();
        }
        timers.set(|rare| &mut rare.compressed_ack, Time::NEVER);
    }
}

impl Connection {
    /// Bytes received in order and not read yet.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Processes the payload and FIN of an acceptable segment (RFC 9293 §3.10.7.4, seventh and
    /// eighth step). Data beyond the receive window are cut off.
    pub(super) fn process_data_and_fin(&mut self, now: Time, segment: &SegmentData) {
        let position = segment.position;
        let receiver = &mut self.receiver;
        let start = position.max(0) as u64;
        let limit = receiver.right_edge.max(receiver.rcv_nxt);
        let data_right = (position + i64::from(segment.payload_bytes)).max(0) as u64;
        let fin = segment.flags.contains(Flags::FIN) && data_right <= limit;
        if fin {
            receiver.fin = receiver.fin.or(NonZeroU64::new(data_right));
        }
        let left = start.max(receiver.rcv_nxt);
        let right = data_right.min(limit) + u64::from(fin);
        let old_nxt = receiver.rcv_nxt;
        let in_order = left == old_nxt && left < right && !receiver.has_gap();
        if in_order {
            receiver.rcv_nxt = right;
        } else if left < right {
            // Linux merges a segment with waiting data that directly precede it. The memory of a
            // segment that is not merged does not count yet when the receive window grows.
            let joins = receiver.joins_data_beyond_gap(left);
            let released = receiver.block_that_ends_compression(left, right);
            if let Some(index) = released {
                self.send_held_ack(now, index, (left, right));
            }
            let receiver = &mut self.receiver;
            receiver.take_with_gap(left, right);
            if receiver.pending.is_linux() && left != old_nxt {
                let payload_bytes = segment.payload_bytes;
                self.grow_window(payload_bytes, false, if joins { 0 } else { right - left }, now);
            }
            match released {
                Some(_) => self.receiver.pending.on_gap(),
                None => self.acknowledge_gap(now, old_nxt),
            }
        }
        let receiver = &mut self.receiver;
        receiver.note_duplicate(start.max(1), old_nxt.min(data_right));
        // Data beyond the receive window are acknowledged at once. So is a FIN, except in Linux,
        // where its ACK may wait for this end's own FIN.
        let answered = self.state == State::Established && receiver.pending.may_delay_ack_of_fin();
        receiver.ack_now |= data_right > limit || fin && !answered;
        if receiver.fin.is_some_and(|fin| (old_nxt..receiver.rcv_nxt).contains(&fin.get())) {
            self.on_fin(now);
        }
        if !self.receiver.pending.is_linux() {
            self.grow_window(segment.payload_bytes, left == old_nxt && left < right, 0, now);
            if in_order {
                self.schedule_counted_ack(now);
            }
        } else if left == old_nxt && left < right {
            self.receive_as_linux(now, segment.payload_bytes, segment.flags, in_order);
        }
    }

    /// Passes the RTT of a segment with a new timestamp echo to the receive buffer, before the
    /// segment is processed. As in `tcp_rcv_rtt_measure_ts`, each echo counts once: a segment that
    /// is not full, such as a pure ACK, uses up its echo without giving a sample.
    pub(super) fn update_receive_rtt(&mut self, now: Time, seq_len: u32, echo: Option<u32>) {
        let (Some(memory), Some(echo)) = (&mut self.receiver.memory, echo) else { return };
        let is_new = std::mem::replace(&mut memory.last_echo, echo) != echo;
        if !is_new || seq_len < self.receiver.pending.mss() {
            return;
        }
        let rtt = self.rtt_of_echo(now, echo);
        let position = self.receiver.position();
        if let (Some(memory), Some(rtt)) = (&mut self.receiver.memory, rtt) {
            memory.on_echo(rtt, &position);
        }
    }

    /// Grows the receive window after new data, if the size of the buffer limits the memory used
    /// (`tcp_event_data_recv`, `tcp_data_queue_ofo`). Of the waiting bytes, `uncounted` take no
    /// memory yet.
    pub(super) fn grow_window(
        &mut self,
        payload_bytes: u32,
        continues: bool,
        uncounted: u64,
        now: Time,
    ) {
        if self.receiver.memory.is_none() || payload_bytes == 0 {
            return;
        }
        let position = self.receiver.position();
        let waiting = self.receiver.buffered_bytes().saturating_sub(uncounted);
        let Some(memory) = &mut self.receiver.memory else { return };
        if continues {
            memory.on_data_in_order(now, &position);
        }
        if (continues || self.receiver.sack) && memory.grow(payload_bytes, waiting, &position) {
            self.receiver.pending.on_window_growth();
        }
        if !continues {
            memory.on_gap(&position);
        }
    }

    /// Schedules an ACK for every second segment, and within a bounded time (RFC 5681 §4.2). Except
    /// in Linux's policy, segments count whatever their size, as in ns-2 and ns-3.
    pub(super) fn schedule_counted_ack(&mut self, now: Time) {
        let verdict = self.receiver.pending.count_simple(&self.parameters.delayed_ack);
        self.schedule_ack(now, verdict);
    }

    /// Schedules an acknowledgment now or later, unless one is due now already.
    #[inline]
    pub(super) fn schedule_ack(&mut self, now: Time, verdict: AckTiming) {
        match verdict {
            _ if self.receiver.ack_now => {}
            AckTiming::Now => self.receiver.ack_now = true,
            AckTiming::Within(wait) => {
                let deadline = self.ack_deadline(now, wait);
                self.timers.delayed_ack = self.timers.delayed_ack.min(deadline);
            }
        }
    }
}
