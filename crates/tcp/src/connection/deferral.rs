//! Deferral: Linux sends in bursts meant for segmentation offload, even on devices without it, and
//! defers one or two segments of new data if the next acknowledgment will soon allow more.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_output.c`: `tcp_tso_should_defer` (the test),
//! `tcp_tso_autosize` (size of a burst), `tcp_write_xmit`, `tcp_cwnd_test`, `tcp_grow_skb` (a block
//! with too few bytes left is filled up from the next), `tcp_mss_split_point` (the bytes then sent
//! together), `__tcp_transmit_skb` (PSH on bursts of more than one segment: the receiver
//! acknowledges once they are read).
//!
//! *Equations.* Outside recoveries, let `limit` be the number of bytes that the windows permit. The
//! sender nevertheless waits if
//! - data were sent within the last millisecond, and
//! - the acknowledgment of the first segment in flight is due (SRTT after its transmission), or
//!   will be within min(1 ms, SRTT/2), and
//! - limit < goal = max(2 · SMSS, rate/1024 s + 64 KiB / 2^(minimum RTT / 512 µs)), and
//! - limit is less than a third of the smaller window, and
//! - limit is less than the packet to be sent (the rest of a block, filled up from the next). This
//!   condition does not apply to the last packet of the application.
//!
//! rate is that of `pacing.rs`. Data that do not wait are sent in bursts of at most goal bytes and
//! half the window, and each burst is tested anew. A burst limited by the peer's window or by the
//! end of the data may end with a short segment, but not while an earlier one is unacknowledged.
//!
//! *Where we differ.* Blocks begin at multiples of their size, as with an application that always
//! has more to write. The minimum RTT is that of the connection, not of five minutes. Pure
//! acknowledgments do not count as transmissions.

use super::linux::BLOCK_MAX;
use super::repeat::Repeat;
use super::{Connection, Sender};
use crate::lazy::LazyDefault;
use crate::loss_detection::LossDetection;
use crate::mul_div::mul_div;
use crate::rto::Estimator;
use crate::send_memory::SendMemory;
use retx_units::{Duration, Rate, Time};

const MILLISECOND: Duration = Duration::from_millis(1);

/// Pacing rate below which a congestion control that models the path sends bursts of one segment
/// (`bbr_min_tso_rate`).
const SLOW: Rate = Rate::from_bit_s(1_200_000);

/// Window of the peer from which on the size of blocks does not depend on it.
pub(super) const WINDOW_OF_LARGEST_BLOCKS: u64 = 2 * BLOCK_MAX;

/// Burst that may be sent without another check.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burst {
    at: Time,
    /// Bytes left of the burst.
    bytes: u64,
    /// Bytes of these that the fast path `trains` may send.
    train: u64,
    /// True if the segment being sent is not the first of the burst.
    continues: bool,
}

impl Burst {
    pub const NONE: Self = Self { at: Time::ZERO, bytes: 0, train: 0, continues: false };

    /// Lets a fast path send at most `most` bytes of the rest of the burst.
    #[inline(always)]
    pub fn open_train(&mut self, most: u64) {
        self.train = self.bytes.min(most);
    }

    /// True if a fast path may send `length` bytes of the burst now.
    #[inline(always)]
    pub fn has_train(&self, now: Time, length: u32) -> bool {
        self.train >= length.into() && self.at == now
    }

    /// Number of segments of `length` bytes in a train, and true if they end the burst.
    #[inline(always)]
    pub fn segments_of_train(&self, length: u32) -> (u64, bool) {
        let segments = self.train / u64::from(length);
        (segments, segments * u64::from(length) == self.bytes)
    }

    /// Deducts `bytes` of a train.
    #[inline(always)]
    pub fn take_from_train(&mut self, bytes: u64) {
        self.continues = true;
        self.bytes -= bytes;
        self.train -= bytes;
    }

    /// Deducts `bytes`, which are about to be sent, from the burst; returns true if they belong to
    /// it. A train ends, because its length holds only for the segment after which it was opened.
    #[inline(always)]
    fn take(&mut self, now: Time, bytes: u64) -> bool {
        self.continues = self.is_open(now) && bytes <= self.bytes;
        if self.continues {
            self.bytes -= bytes;
            self.train = 0;
        }
        self.continues
    }

    /// Records that the next segment does not continue the burst.
    pub const fn end_segment(&mut self) {
        self.continues = false;
    }

    /// Bytes left of an open burst; `None` if no burst is open, or if the windows allow fewer bytes
    /// (`length`) than are left.
    pub fn short_end(&self, now: Time, length: u64) -> Option<u32> {
        (self.is_open(now) && self.bytes <= length).then_some(self.bytes as u32)
    }

    /// True if part of the burst has not been sent and may be sent now.
    pub fn is_open(&self, now: Time) -> bool {
        self.bytes > 0 && self.at == now
    }

    /// True if the segment being sent is not the first of its burst.
    pub fn continues(&self, now: Time) -> bool {
        self.continues && self.at == now
    }

    /// True if the segment being sent is the last one of a burst of several.
    pub fn ends(&self, now: Time) -> bool {
        self.continues && self.bytes == 0 && self.at == now
    }
}

/// State of a sender that sends bursts or sets PSH as Linux does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bursts {
    /// Current burst of new data.
    pub burst: Burst,
    /// Current burst of retransmissions.
    pub repeat: Repeat,
    /// Position after the last segment that carried PSH.
    pub pushed: u64,
    /// Position after the last short segment (`snd_sml` in Linux).
    pub short_end: u64,
    /// Send buffer, if its size limits the memory used (`truesize`), not the payload.
    pub memory: Option<SendMemory>,
    /// True if the fast paths of module `as_linux` apply on a detailed path.
    pub takes_linux_paths: bool,
    /// Bounds within which data are still deferred, for these fast paths.
    pub deferral: KnownDeferral,
}

/// Bounds within which data are still deferred.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownDeferral {
    /// Position of these data.
    pub position: u64,
    /// Room in the congestion window from which on a new decision is needed; 0 if none is known.
    pub room_below: u64,
    /// Longest smoothed RTT.
    pub srtt: Duration,
}

impl KnownDeferral {
    pub const NONE: Self = Self { position: 0, room_below: 0, srtt: Duration::ZERO };
}

impl Bursts {
    /// Forgets what only fast paths use, after an event that they do not handle.
    pub fn forget_known(&mut self) {
        self.burst.train = 0;
        self.deferral = KnownDeferral::NONE;
        self.memory.iter_mut().for_each(|memory| memory.sufficient_for = 0);
    }
}

impl Default for Bursts {
    fn default() -> Self {
        *Self::DEFAULT
    }
}

impl LazyDefault for Bursts {
    const DEFAULT: &'static Self = &Self {
        burst: Burst::NONE,
        repeat: Repeat::NONE,
        pushed: 1,
        short_end: 0,
        takes_linux_paths: false,
        memory: None,
        deferral: KnownDeferral::NONE,
    };
}

/// Bytes of new data that the congestion window and the peer's window permit.
pub(super) struct Room {
    congestion: u64,
    offered: u64,
    /// Rest of the block that is sent next.
    pub rest: u64,
    /// Size of the packet that the kernel would pass on: the rest of the block, filled up from the
    /// next one.
    packet: u64,
    /// True if the application has written nothing after this packet.
    last: bool,
}

impl Connection {
    /// True if `length` bytes of new data, which could be sent, wait until the windows permit more.
    #[inline(always)]
    pub(super) fn defers_transmission(&mut self, now: Time, length: u32) -> bool {
        let length = u64::from(length);
        if !self.parameters.tso || self.sender.bursts.burst.take(now, length) {
            return false;
        }
        self.defers_burst(now, length)
    }

    /// Begins the next burst, unless the data wait.
    #[inline(never)]
    fn defers_burst(&mut self, now: Time, length: u64) -> bool {
        let smss = self.segment_size();
        let congestion = self.congestion_room(smss);
        let may_wait = self.may_wait_for_more(now, self.last_departure());
        // A goal has two segments or more, except for slow models. If the window permits one
        // segment, or two that do not wait, all such goals have the same effect.
        let few = congestion <= smss || !may_wait && congestion <= 2 * smss;
        let any = few && self.sender.model_inputs.is_none();
        let goal = if any { 2 * smss } else { self.tso_goal_bytes() };
        let half = (self.sender.window.cwnd / 2 / smss).max(1) * smss;
        let room = self.room(congestion, goal.min(half));
        if room.packet <= smss {
            return false;
        }
        if may_wait && self.is_too_little(&room, goal) {
            let flight_state = self.sender.flight_state(self.sender.flight_size());
            if room.congestion < room.offered {
                self.sender.validation.on_deferral(&flight_state);
                self.note_deferral(&room, 0);
            }
            return true;
        }
        let most = goal.min(half).min(room.congestion).min(room.packet);
        let end = most.min(room.offered);
        // The peer's window, or the end of the data, may cut a burst off within a segment, unless
        // Nagle's algorithm holds back that short segment (`tcp_mss_split_point`).
        let cut = room.offered < most || room.last && most == room.packet;
        let bytes = if cut && !self.holds_short() { end } else { end / smss * smss };
        let burst = &mut self.sender.bursts.burst;
        burst.at = now;
        burst.bytes = bytes.saturating_sub(length);
        self.note_deferral(&room, bytes.max(length));
        false
    }

    /// True if Nagle's algorithm holds back a short segment that is followed by more data
    /// (`tcp_nagle_check`).
    fn holds_short(&self) -> bool {
        let sender = &self.sender;
        let unacknowledged = sender.bursts.short_end > sender.snd_una;
        self.parameters.nagle && unacknowledged || sender.repair.requests.holds_back(sender.written)
    }

    /// New data that the congestion window permits, counted in whole segments as in the kernel.
    fn congestion_room(&self, smss: u64) -> u64 {
        self.sender.window.cwnd.saturating_sub(self.sender.pipe()) / smss * smss
    }

    /// New data that the windows permit, if at most `most` bytes are sent at once.
    fn room(&self, congestion: u64, most: u64) -> Room {
        let sender = &self.sender;
        let queued = sender.written.saturating_sub(sender.snd_nxt);
        let rest = self.rest_of_block(sender.snd_nxt);
        let packet = rest.max(most.min(congestion));
        Room {
            congestion,
            offered: (sender.snd_una + sender.snd_wnd).saturating_sub(sender.snd_nxt),
            rest,
            packet: packet.min(queued),
            last: queued <= packet,
        }
    }

    /// Bytes from `position` to the end of its block.
    pub(super) fn rest_of_block(&self, position: u64) -> u64 {
        let block = self.sender.block_size();
        block - position.saturating_sub(1) % block
    }

    /// Goal for the bytes of a burst (`tcp_tso_autosize`): a millisecond at the pacing rate, and
    /// more on a path with a short RTT.
    pub(super) fn tso_goal_bytes(&self) -> u64 {
        let sender = &self.sender;
        let rate = self.pacing_rate();
        let slow = sender.model_inputs.is_some() && rate.is_some_and(|rate| rate < SLOW);
        self.goal_at(rate, if slow { 1 } else { 2 })
    }

    /// Lower bound of [`Self::tso_goal_bytes`] while the smoothed RTT is at most `srtt` and the
    /// congestion window does not shrink, for a congestion control without a rate.
    pub(super) fn least_tso_goal_bytes(&self, srtt: Duration) -> u64 {
        let bit_s = mul_div(self.sender.window.cwnd, 8 * 120 * 10_000_000, srtt.as_nanos());
        self.goal_at(Some(Rate::from_bit_s(bit_s)), 2)
    }

    /// Goal at this pacing rate, at least `least` segments.
    fn goal_at(&self, rate: Option<Rate>, least: u64) -> u64 {
        let smss = self.segment_size();
        let in_time = rate.map_or(BLOCK_MAX, |rate| rate.as_bit_s() / 8 / 1024);
        // `tcp_tso_rtt_log` is 9: each 2^9 µs of the minimum RTT halves the allowance for short
        // paths.
        let near = self.sender.least_rtt.as_nanos() / 512_000;
        let nearby = if near < 32 { BLOCK_MAX >> near } else { 0 };
        ((in_time + nearby).min(BLOCK_MAX) / smss).max(least) * smss
    }

    /// Bytes of new data that the windows, pacing and deferral allow to be sent now, if that many
    /// are queued.
    pub(super) fn sendable_now(&self, now: Time) -> u64 {
        let (sender, smss, goal) = (&self.sender, self.segment_size(), self.tso_goal_bytes());
        let room = sender.usable_window() / smss * smss;
        let room = match &sender.pacer {
            None => room,
            Some(pacer) if pacer.closed_until(now).is_some() => 0,
            // Pacing delays the data after one burst.
            Some(_) => room.min(goal),
        };
        if !self.parameters.tso {
            return room;
        }
        let half = (sender.window.cwnd / 2 / smss).max(1) * smss;
        let rest = room % goal.min(half);
        let last_sent = if rest < room { now } else { self.last_departure() };
        let end = Room { congestion: rest, offered: rest, rest, packet: u64::MAX, last: false };
        let waits = self.is_too_little(&end, goal) && self.may_wait_for_more(now, last_sent);
        if waits { room - rest } else { room }
    }

    /// Departure time of the data sent last, which may lie in the future if they are paced.
    fn last_departure(&self) -> Time {
        let sender = &self.sender;
        // `tcp_wstamp_ns`, which pacing may set ahead of the clock.
        sender.pacer.as_ref().and_then(|pacer| pacer.open_time()).unwrap_or(sender.last_sent)
    }

    /// True if the windows permit so little that the data may wait for more.
    fn is_too_little(&self, room: &Room, goal: u64) -> bool {
        let sender = &self.sender;
        let limit = room.congestion.min(room.offered);
        // If the windows permit nothing, nothing can be sent anyway. If they permit a whole burst,
        // or this packet, there is no reason to wait.
        if limit == 0 || limit >= goal || !room.last && limit >= room.packet {
            return false;
        }
        // `tcp_tso_win_divisor` is 3. Data that a window limits wait for the window; other data
        // wait only if the application may write more.
        limit < sender.snd_wnd.min(sender.window.cwnd) / 3
            && (limit <= room.packet || !(room.last && sender.fin_queued))
    }

    /// True if an acknowledgment that may permit more is due soon, outside a recovery and soon
    /// after the last transmission.
    fn may_wait_for_more(&self, now: Time, last_sent: Time) -> bool {
        let sender = &self.sender;
        let recovers = sender.loss_detection.in_recovery() || sender.timeout_recovery_end > 0;
        let srtt = sender.estimator.srtt().unwrap_or(Duration::ZERO);
        !recovers && sender.is_acknowledged_soon(now, last_sent, srtt)
    }
}

impl Sender {
    /// True if an acknowledgment is due soon, and soon after the last transmission.
    #[inline(always)]
    pub fn is_acknowledged_soon(&self, now: Time, last_sent: Time, srtt: Duration) -> bool {
        if now.since(last_sent.min(now)) > MILLISECOND {
            return false;
        }
        let Some(first) = self.board.first_sent() else { return false };
        first + srtt <= now + MILLISECOND.min(srtt / 2)
    }
}

#[cfg(test)]
mod tests;
