//! The receiving half: reassembly, when to acknowledge, and the window to advertise.

use super::Connection;
use crate::Config;
use crate::reassembly::Reassembly;
use crate::timers::Timers;
use retx_units::{SeqNr, Time};
use retx_wire::{Flags, SackBlock, SackBlocks, Segment};

/// The receiving half of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Receiver {
    /// The peer's initial sequence number: its position 0.
    pub irs: SeqNr,
    /// Next position expected.
    pub rcv_nxt: u64,
    /// Position after the last byte that the application has read.
    read: u64,
    out_of_order: Reassembly,
    /// What arrived twice and has not been reported (DSACK, RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Position of the peer's FIN, once seen.
    pub fin: Option<u64>,
    /// Right edge of the window advertised last.
    pub edge: u64,
    buffer: u64,
    /// The window to advertise, if it is held at a value.
    held_window: Option<u64>,
    /// The shift of our window field.
    pub rcv_wscale: u8,
    /// Largest payload that the peer sends in one segment.
    pub peer_smss: u32,
    /// Segments received in order and not yet acknowledged.
    unacknowledged: u32,
    /// An acknowledgment is due now.
    pub ack_now: bool,
    /// Both ends offered window scaling.
    pub scaling: bool,
    /// Both ends offered SACK.
    pub sack: bool,
    /// `TS.Recent` (RFC 7323 §4.3).
    pub ts_recent: u32,
    /// `Last.ACK.sent` (RFC 7323 §4.3).
    pub last_ack_sent: u64,
}

impl Receiver {
    pub fn new(config: &Config) -> Self {
        let buffer = config.receive_buffer.bytes(config.mss);
        let held_window = config.advertised_window.map(|size| size.bytes(config.mss));
        Self {
            irs: SeqNr(0),
            rcv_nxt: 0,
            read: 1,
            out_of_order: Reassembly::default(),
            duplicate: None,
            fin: None,
            edge: 0,
            buffer,
            held_window,
            // RFC 7323 §2.3: the smallest shift that can express the whole buffer, at most 14.
            rcv_wscale: (0..14)
                .find(|shift| held_window.unwrap_or(buffer) >> shift <= 65_535)
                .unwrap_or(14),
            peer_smss: config.mss,
            unacknowledged: 0,
            ack_now: false,
            scaling: false,
            sack: false,
            ts_recent: 0,
            last_ack_sent: 0,
        }
    }

    /// Bytes in order and not yet read. A FIN takes a position, but is no byte to read.
    pub fn readable(&self) -> u64 {
        self.data_end().saturating_sub(self.read)
    }

    fn data_end(&self) -> u64 {
        self.fin.map_or(self.rcv_nxt, |fin| fin.min(self.rcv_nxt))
    }

    pub fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.readable());
        self.read += taken;
        taken
    }

    pub fn has_received(&self, from: u64, to: u64) -> bool {
        to <= self.rcv_nxt || self.out_of_order.contains(from.max(self.rcv_nxt), to)
    }

    /// Bytes that the peer may still send, as advertised last.
    fn advertised(&self) -> u64 {
        self.edge.saturating_sub(self.rcv_nxt)
    }

    /// The window to advertise now. The right edge never moves left, and it moves right only by
    /// what is worth it (silly window avoidance, RFC 9293 §3.8.6.2.2).
    pub fn window(&self) -> u64 {
        if let Some(held) = self.held_window {
            return held;
        }
        // No more than the field can tell.
        let most = 65_535 << self.rcv_wscale;
        let open = self.buffer.saturating_sub(self.readable()).min(most);
        let advertised = self.advertised();
        let worth = u64::from(self.peer_smss).min(self.buffer / 2);
        if open >= advertised + worth { open } else { advertised }
    }

    /// Reading has made room: tell the peer at once when the window that it knows has more than
    /// doubled by it (as Linux does); else the next acknowledgment tells.
    pub fn update_window_after_read(&mut self) {
        let (known, open) = (self.advertised(), self.window());
        if open > known && open >= 2 * known {
            self.ack_now = true;
        }
    }

    /// The blocks to report: what arrived twice first (RFC 2883 §4), then what lies beyond a gap.
    pub fn sack_blocks(&self, limit: usize) -> SackBlocks {
        let wire = |position: u64| self.irs.add(position as u32);
        let Some((left, right)) = self.duplicate else {
            return self.out_of_order.sack_blocks(limit, wire);
        };
        let mut blocks = SackBlocks::default();
        blocks.push(SackBlock { left: wire(left), right: wire(right) });
        for block in self.out_of_order.sack_blocks(limit - 1, wire).as_slice() {
            blocks.push(*block);
        }
        blocks
    }

    /// There is something to report selectively.
    pub fn has_news(&self) -> bool {
        self.has_gap() || self.duplicate.is_some()
    }

    /// A segment arrived of which the positions `left` … `right` − 1 had arrived before. The ACK of
    /// that segment says so (RFC 2883 §4, rule 1), so that none may wait for others.
    pub fn note_duplicate(&mut self, left: u64, right: u64) {
        if self.sack && left < right {
            self.duplicate = Some((left, right));
            self.ack_now = true;
        }
    }

    pub fn has_gap(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Everything received has been acknowledged.
    pub fn acknowledged(&mut self, timers: &mut Timers, edge: u64) {
        self.ack_now = false;
        self.unacknowledged = 0;
        self.duplicate = None;
        self.last_ack_sent = self.rcv_nxt;
        self.edge = self.edge.max(edge);
        timers.delayed_ack = Time::NEVER;
    }
}

impl Connection {
    /// Takes the payload and FIN of an acceptable segment that begins at `position` (RFC 9293
    /// §3.10.7.4, seventh and eighth step). What lies beyond the window is cut off.
    pub(super) fn receive(&mut self, now: Time, segment: &Segment, position: i64) {
        let receiver = &mut self.receiver;
        let start = position.max(0) as u64;
        let limit = receiver.edge.max(receiver.rcv_nxt);
        let data_right = (position + i64::from(segment.payload_bytes)).max(0) as u64;
        let fin = segment.flags.contains(Flags::FIN) && data_right <= limit;
        if fin {
            receiver.fin.get_or_insert(data_right);
        }
        let left = start.max(receiver.rcv_nxt);
        let right = data_right.min(limit) + u64::from(fin);
        let old_nxt = receiver.rcv_nxt;
        if left == old_nxt && left < right && !receiver.has_gap() {
            receiver.unacknowledged += 1;
            receiver.rcv_nxt = right;
        } else if left < right {
            // RFC 2883 §4: of what waits here already, the first contiguous part.
            if let Some((left, right)) = receiver.out_of_order.first_overlap(left, right) {
                receiver.note_duplicate(left, right);
            }
            // RFC 5681 §4.2: out of order, or it fills a gap: at once.
            receiver.out_of_order.insert(left, right);
            receiver.rcv_nxt = receiver.out_of_order.take_in_order(receiver.rcv_nxt);
            receiver.ack_now = true;
        }
        receiver.note_duplicate(start.max(1), old_nxt.min(data_right));
        // Data beyond the window and the end of the stream are acknowledged at once, too.
        receiver.ack_now |= data_right > limit || fin;
        if receiver.fin.is_some_and(|fin| (old_nxt..receiver.rcv_nxt).contains(&fin)) {
            self.on_fin(now);
        }
        self.schedule_ack(now);
    }

    /// RFC 5681 §4.2: an ACK for every second segment, and within a bounded time. Segments count
    /// whatever their size, as in ns-2 and ns-3.
    fn schedule_ack(&mut self, now: Time) {
        let policy = self.parameters.delayed_ack;
        let receiver = &mut self.receiver;
        if receiver.unacknowledged == 0 || receiver.ack_now {
            return;
        }
        if receiver.unacknowledged >= policy.segments {
            receiver.ack_now = true;
        } else if self.timers.delayed_ack == Time::NEVER {
            self.timers.delayed_ack = now + policy.timeout;
        }
    }
}
