//! *What it does.* Computes the advertised window of a receive buffer as Linux does: from the
//! memory that packets occupy. The buffer grows with the bytes that the application reads in a
//! round trip.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_init_buffer_space`, `tcp_grow_window`,
//! `__tcp_grow_window`, `tcp_measure_rcv_mss`, `tcp_rcv_rtt_update`, `tcp_rcv_rtt_measure_ts`,
//! `tcp_rcv_rtt_measure`, `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`), `tcp_output.c`
//! (`tcp_select_initial_window`, `__tcp_select_window`), `tcp.c` (`tcp_set_window_clamp`); after
//! Fisk & Feng, *Dynamic right-sizing*, LACSI 2001.
//!
//! *Equations.*
//!
//! - *Ratio.* A buffer permits a window of buffer · ratio. The ratio is 1/2 until a full segment
//!   has arrived. Then it is the payload of the largest segment divided by the memory of its
//!   packet, in 256ths.
//! - *Window* (`rcv_ssthresh`). It starts at the window of the SYN, but at most at half of the
//!   buffer minus one MSS. A segment increases it by two MSS if its payload is at least its memory
//!   times the ratio. Other segments increase it by twice the largest segment so far, and only
//!   while it is small. The window never grows beyond the free part of the buffer.
//! - *Buffer.* At the end of each round trip, copied is the number of bytes that the application
//!   has read during it, minus the bytes that still wait to be read. The round trip ends when a
//!   read has copied its first segment; the rest of that read is still waiting then. If copied
//!   exceeds its largest earlier value, last, the buffer grows to (2·copied·(1 + 2·(copied −
//!   last)/last) + out-of-order span)/ratio. With each segment beyond a gap, it grows to (2·last +
//!   out-of-order span)/ratio. Its maximum is `receive_autotuning`; a size fixed by the application
//!   never changes.
//! - *RTT.* Samples are the timestamp echoes of full segments, if no earlier segment, such as a
//!   pure ACK, had the same echo, and the times in which a window of data arrives. A sample below
//!   the estimate replaces it. A larger echo is averaged into the estimate with weight 1/8 if no
//!   data wait to be read.
//!
//! *Where we differ.* The memory of a packet is that of a packet from a TUN device (`memory.rs`).
//! Waiting data are counted as if they had arrived in full segments. RTTs are measured in timestamp
//! ticks of 1 ms. An empty buffer never advertises a zero window; Linux may do so if the buffer is
//! smaller than a segment.

mod known;

use crate::memory;
use known::Known;
use retx_units::{Duration, Time};

/// Payload in bytes below which a segment does not increase the window (`tcp_event_data_recv`): it
/// costs too much memory.
const SMALLEST: u32 = 128;
/// Number of segments per round trip beyond which the buffer first grows (`TCP_INIT_CWND`).
const FIRST_SPACE: u64 = 10;
/// Ratio before the first full segment, in 256ths (`TCP_DEFAULT_SCALING_RATIO`).
const FIRST_RATIO: u64 = 128;
/// Minimum buffer (`SOCK_MIN_RCVBUF`), in bytes of memory.
const SMALLEST_BUFFER: u64 = 2_304;
/// Size of the timestamps option in a header, bytes.
const TIMESTAMPS: u64 = 12;

/// Receive buffer, and the resulting window. Positions are those of the peer's stream.
#[derive(Debug, Clone)]
pub(crate) struct ReceiveMemory {
    /// Size in bytes of memory (`sk_rcvbuf`).
    buffer: u64,
    /// Maximum size of a growing buffer; `None` if the application has fixed it.
    most: Option<u64>,
    /// Ratio of payload to memory, in 256ths (`scaling_ratio`).
    ratio: u64,
    /// Maximum window to advertise (`rcv_ssthresh`).
    window: u64,
    /// Upper bound of the window (`window_clamp`).
    clamp: u64,
    /// MSS of this end (`advmss`); after the handshake, reduced by the timestamps option.
    mss: u64,
    /// Headers of a packet, bytes.
    headers: u64,
    /// Out-of-order bytes beyond a gap.
    pub beyond_gap: u64,
    /// Bytes that the application has read since an acknowledgment became due. The window in that
    /// acknowledgment does not yet include the memory that they freed.
    pub read_behind_ack: u64,
    /// Largest segment so far: its payload, and the memory of its packet.
    largest: (u64, u64),
    /// Largest number of bytes read in a round trip so far, minus the bytes that still waited to be
    /// read at its end.
    space: u64,
    begun: (u64, Time),
    /// Eight times the RTT, in microseconds; 0 before the first sample.
    rtt8: u64,
    /// End position and start time of the current RTT measurement by a window of data.
    measured: Option<(u64, Time)>,
    /// Timestamp echoed by the last segment (`rcv_rtt_last_tsecr`).
    pub last_echo: u32,
    now: Time,
    known: Known,
}

/// State of the receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceiverState {
    pub rcv_nxt: u64,
    /// Position after the last byte that the application has read.
    pub read: u64,
    /// Position after the highest byte that has arrived.
    pub highest: u64,
    /// Most recently advertised window (`rcv_wnd`).
    pub rcv_wnd: u64,
    /// Largest segment so far, as delayed ACKs measure it (`rcv_mss`).
    pub rcv_mss: u32,
}

impl ReceiveMemory {
    /// Creates a buffer that grows from `buffer` to `most` bytes of memory.
    pub fn growing(buffer: u64, most: u64, mss: u32) -> Self {
        Self::new(buffer, Some(most.max(buffer)), mss)
    }

    /// Creates a buffer whose size the application has fixed by `SO_RCVBUF`: Linux doubles that
    /// size.
    pub fn fixed(bytes: u64, mss: u32) -> Self {
        Self::new((2 * bytes).max(SMALLEST_BUFFER), None, mss)
    }

    fn new(buffer: u64, most: Option<u64>, mss: u32) -> Self {
        Self {
            buffer,
            most,
            ratio: FIRST_RATIO,
            window: 0,
            clamp: 0,
            mss: mss.into(),
            headers: memory::HEADERS,
            largest: (mss.into(), memory::packet_memory(u64::from(mss) + memory::HEADERS)),
            beyond_gap: 0,
            read_behind_ack: 0,
            space: 0,
            begun: (1, Time::ZERO),
            rtt8: 0,
            measured: None,
            last_echo: 0,
            now: Time::ZERO,
            known: Known::NOTHING,
        }
    }

    /// Window for an amount of memory (`tcp_win_from_space`).
    const fn window_of(&self, memory: u64) -> u64 {
        memory * self.ratio / 256
    }

    /// Window scale (`tcp_select_initial_window`): the smallest that can express the largest
    /// buffer.
    pub fn window_scale(&self) -> u8 {
        let space = self.most.unwrap_or(self.window_of(self.buffer));
        (space.max(1).ilog2().saturating_sub(15)).min(14) as u8
    }

    /// Window of a SYN or SYN/ACK: whole segments. Only the responder knows whether timestamps will
    /// be used, which shorten the segments.
    pub fn first_window(&self, answers_timestamps: bool) -> u64 {
        let window = self.window_of(self.buffer);
        let mss = self.mss - if answers_timestamps { TIMESTAMPS.min(self.mss - 1) } else { 0 };
        let whole = if window > mss { window / mss * mss } else { window };
        whole.min(65_535)
    }

    /// Handles the end of the handshake (`tcp_init_buffer_space`).
    pub fn on_open(&mut self, now: Time, timestamps: bool, known_window: u64) {
        self.forget_known();
        if timestamps {
            self.mss = self.mss.saturating_sub(TIMESTAMPS).max(1);
            self.headers += TIMESTAMPS;
        }
        let full = self.window_of(self.buffer);
        // One segment is reserved until the buffer grows.
        let reserved = full.saturating_sub(self.mss).max(2 * self.mss);
        self.clamp = if full > 2 * self.mss { reserved } else { full };
        self.window = known_window.min(self.clamp);
        self.space = self.window.min(FIRST_SPACE * self.mss);
        self.begun = (1, now);
    }

    /// RTT; `None` before the first sample.
    pub fn rtt(&self) -> Option<Duration> {
        (self.rtt8 > 0).then(|| Duration::from_micros(self.rtt8 / 8))
    }

    /// Memory that `bytes` of payload occupy in segments as large as the largest so far.
    const fn memory_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.largest.0) * self.largest.1
    }

    /// Free window with `waiting` bytes in the buffer (`tcp_space`).
    const fn free(&self, waiting: u64) -> u64 {
        self.window_of(self.buffer.saturating_sub(self.memory_of(waiting)))
    }

    /// Window to advertise with `waiting` bytes in the buffer, including out-of-order data
    /// (`__tcp_select_window`). `unit` is the unit of the window field in bytes. The second value
    /// is true if less than half of the window is free, which ends quick ACKs.
    pub fn window(&self, waiting: u64, unit: u64, at: &ReceiverState) -> (u64, bool) {
        let waiting = waiting + self.read_behind_ack;
        let allowed = self.window_of(self.buffer);
        let full = self.clamp.min(allowed);
        let mss = u64::from(at.rcv_mss).min(full);
        let mut free = self.free(waiting);
        let short = free < full / 2;
        if short {
            // The unit is a power of two, so a bit mask rounds down.
            free &= !(unit - 1);
            if free < allowed >> 4 || free < mss {
                return (0, true);
            }
        }
        let free = free.min(self.window);
        let window = if unit > 1 {
            (free + unit - 1) & !(unit - 1)
        } else if at.rcv_wnd + mss <= free || at.rcv_wnd > free {
            free / mss.max(1) * mss
        } else if mss == full && free > at.rcv_wnd + full / 2 {
            free
        } else {
            at.rcv_wnd
        };
        // Rounding down to whole segments must not close the window of an empty buffer.
        (if window == 0 && waiting == 0 { free } else { window }, short)
    }

    /// Maximum window to advertise, before it is rounded up to the unit of its field.
    pub const fn largest_window(&self) -> u64 {
        self.window
    }

    /// Handles the RTT of a new timestamp echo in a full segment. Linux ignores an RTT of no whole
    /// tick.
    pub fn on_echo(&mut self, rtt: Duration, at: &ReceiverState) {
        if !rtt.is_zero() {
            self.sample(rtt, at.rcv_nxt == at.read);
        }
    }

    fn sample(&mut self, rtt: Duration, smooth: bool) {
        let m = rtt.as_nanos() / 1_000;
        if self.rtt8 == 0 || 8 * m < self.rtt8 {
            self.rtt8 = (8 * m).max(1);
        } else if smooth {
            self.rtt8 = self.rtt8 - self.rtt8 / 8 + m;
        }
    }

    /// Handles a segment larger than all before it: its payload and the memory of its packet
    /// determine the ratio (`tcp_measure_rcv_mss`).
    pub fn on_larger_segment(&mut self, bytes: u32, at: &ReceiverState) {
        self.forget_known();
        let payload = u64::from(bytes);
        let memory = memory::packet_memory(payload + self.headers);
        self.largest = (payload.max(1), memory);
        let ratio = (payload * 256 / memory).max(1);
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        let clamp = self.window_of(self.buffer).max(SMALLEST_BUFFER / 2);
        if clamp < self.clamp {
            self.window = self.window.min(clamp);
        } else if clamp > self.clamp {
            self.window = self.window.max(at.rcv_wnd.min(clamp));
        }
        self.clamp = clamp;
        self.space = self.space.min(clamp);
    }

    /// Handles data in order (`tcp_rcv_rtt_measure`).
    #[inline]
    pub fn on_data_in_order(&mut self, now: Time, at: &ReceiverState) {
        self.now = now;
        match self.measured {
            Some((end, _)) if at.rcv_nxt < end => {}
            before => {
                if let Some((_, since)) = before {
                    self.sample(now.since(since).max(Duration::from_micros(1)), false);
                }
                self.measured = Some((at.rcv_nxt + at.rcv_wnd, now));
            }
        }
    }

    /// Increases the window after a segment, with `waiting` bytes in the buffer
    /// (`tcp_grow_window`); true if it has grown.
    pub fn grow(&mut self, bytes: u32, waiting: u64, at: &ReceiverState) -> bool {
        // The usual case, which does not depend on the free space.
        if self.window >= self.clamp || bytes < SMALLEST {
            return false;
        }
        let room = self.free(waiting).min(self.clamp).saturating_sub(self.window);
        if room == 0 {
            return false;
        }
        let payload = u64::from(bytes);
        let memory = self.window_of(memory::packet_memory(payload + self.headers));
        let step = if memory <= payload {
            2 * self.mss
        } else {
            self.step_of_costly_segment(memory, payload, at)
        };
        if step == 0 {
            return false;
        }
        self.window += room.min(step.max(2 * payload));
        self.forget_known();
        true
    }

    /// Increase of the window for a segment that occupies much memory for its payload; 0 if the
    /// window is no longer small (`__tcp_grow_window`).
    fn step_of_costly_segment(&self, memory: u64, payload: u64, at: &ReceiverState) -> u64 {
        let mut memory = memory / 2;
        let mut window = self.window_of(self.most.unwrap_or(memory::LARGEST_RECEIVE_BUFFER)) / 2;
        while self.window <= window && window > 0 {
            if memory <= payload {
                return 2 * u64::from(at.rcv_mss);
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// True if the round trip is over, so the next read completes the count of bytes read in it.
    #[inline]
    pub fn ends_round(&self) -> bool {
        self.rtt8 > 0 && self.now.since(self.begun.1) >= Duration::from_micros(self.rtt8 / 8)
    }

    /// Handles a segment beyond a gap (`tcp_data_queue_ofo`): the buffer grows for the data between
    /// the gap and the highest segment.
    pub fn on_gap(&mut self, at: &ReceiverState) {
        self.provide(2 * self.space, at);
    }

    /// Grows the buffer, unless its size is fixed, to the memory for a window of `bytes` and the
    /// out-of-order data (`tcp_rcvbuf_grow`).
    fn provide(&mut self, bytes: u64, at: &ReceiverState) {
        let Some(most) = self.most else { return };
        let window = bytes + at.highest.saturating_sub(at.rcv_nxt);
        // The usual case, in which the division below would give no more than the buffer.
        if window.saturating_mul(256) <= self.buffer * self.ratio {
            return;
        }
        let buffer = (window * 256 / self.ratio).min(most);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = self.window_of(buffer);
            self.forget_known();
        }
    }

    /// Handles a read of `bytes` by the application (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`).
    pub fn on_read(&mut self, bytes: u64, at: &ReceiverState) {
        if !self.ends_round() {
            return;
        }
        let position = self.begun.0;
        // A read copies one packet after the other, and the first of them ends the round: all
        // others still wait then.
        let read = at.read - bytes + bytes.min(self.largest.0);
        let waiting = at.rcv_nxt.saturating_sub(read);
        let copied = read.saturating_sub(position).saturating_sub(waiting);
        if copied > self.space {
            let last = std::mem::replace(&mut self.space, copied);
            let growth =
                u128::from(4 * copied) * u128::from(copied - last) / u128::from(last.max(1));
            let most = u128::from(self.most.unwrap_or(0));
            self.provide(2 * copied + growth.min(most) as u64, at);
        }
        self.begun = (read, self.now);
    }
}

#[cfg(test)]
mod tests;
