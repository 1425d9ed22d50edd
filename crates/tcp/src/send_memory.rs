//! *What it does.* Limits how much unacknowledged data an application may write, as Linux does. The
//! limit is on the memory of these data, and grows with the congestion window.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp_input.c` (`tcp_sndbuf_expand`,
//! `tcp_should_expand_sndbuf`, `tcp_check_space`), `net/ipv4/tcp.c` (`tcp_sendmsg_locked`),
//! `net/core/stream.c` (`sk_stream_write_space`, `sk_stream_wait_memory`), `include/net/sock.h`
//! (`sk_stream_is_writeable`), `tcp_output.c` (`tcp_event_new_data_sent`, which calls
//! `tcp_check_space` after each burst; `tcp_cwnd_validate`, for the time that counts as limited by
//! the buffer).
//!
//! *Equations.*
//!
//! - *Memory.* Unacknowledged data occupy their number of bytes, and 832 bytes more for each burst
//!   in flight and each unsent block.
//! - *Writing.* A write compares this memory with the buffer only when it begins a new block. The
//!   last block is refilled after a part of it has been sent. If no other block waits, a burst of
//!   the last block is sent each time it is full. A large write thus fills the congestion window
//!   and the peer's window even if they exceed the buffer.
//! - *Pushing.* At the end of a write, and each time more than half of the peer's largest window
//!   has been written, all data that the windows permit are sent. Nagle's algorithm may hold back a
//!   short last segment; the next write may then fill up its block.
//! - *Waiting.* A write that finds the buffer full waits until a third of it is free, and then
//!   continues. Only a new write may mark samples of the delivery rate as application-limited, not
//!   one that continues.
//! - *Buffer.* Each time a burst has left, and after each acknowledgment, the buffer grows if a
//!   write waits and the congestion window is not full: to 2 (BBR: 3) · max(10, cwnd,
//!   reordering + 1) segments. An acknowledgment that permits two bursts thus lets it grow after
//!   the first. With an MSS of 1460 bytes, a segment counts as 2304 bytes. The maximum is
//!   `send_autotuning`; a size fixed by the application never changes.
//!
//! *Where we differ.* Writes take no time: several of them may follow each other while a short
//! segment is held back. In the kernel, a program is often still copying when the acknowledgment
//! arrives that releases this segment.

use crate::memory;
use retx_units::{Duration, Time};

/// Minimum buffer (`SOCK_MIN_SNDBUF`), in bytes of memory.
const SMALLEST_BUFFER: u64 = 4_608;
/// Minimum size of a buffer that grows, in segments (`TCP_INIT_CWND`).
const FEWEST_SEGMENTS: u64 = 10;

/// Size of a send buffer for `factor` windows of `segments` segments, in bytes of memory
/// (`tcp_sndbuf_expand`).
pub(crate) fn sndbuf_target(factor: u64, segments: u64, mss: u64) -> u64 {
    factor * segments.max(FEWEST_SEGMENTS) * memory::sent_segment_memory(mss)
}

/// Send buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendMemory {
    /// Size in bytes of memory (`sk_sndbuf`).
    buffer: u64,
    /// Maximum size of a growing buffer; `None` if the application has fixed it.
    most: Option<u64>,
    /// True if a write waits for free space (`SOCK_NOSPACE`).
    pub write_blocked: bool,
    /// Largest number of bytes that the application passes to one write.
    pub write_size: u64,
    /// Bytes of the current write that are not in the buffer yet.
    pub unwritten: u64,
    /// Position at which the last block begins.
    pub tail: u64,
    /// Position after the last byte that was pushed (`pushed_seq`).
    pub pushed: u64,
    /// Congestion window for which the buffer is known to be large enough; 0 if none is known. Only
    /// for the fast paths, which change no other value on which the target depends.
    pub sufficient_for: u64,
    /// Start of the current period in which a waiting write is the sender's only limit.
    limits_since: Option<Time>,
    /// Total duration of earlier periods in which a waiting write was the only limit.
    limited: Duration,
}

impl SendMemory {
    /// Creates a buffer that grows from `buffer` to `most` bytes of memory.
    pub fn growing(buffer: u64, most: u64) -> Self {
        Self::new(buffer, Some(most.max(buffer)))
    }

    /// Creates a buffer whose size the application has fixed by `SO_SNDBUF`: Linux doubles that
    /// size.
    pub fn fixed(bytes: u64) -> Self {
        Self::new((2 * bytes).max(SMALLEST_BUFFER), None)
    }

    const fn new(buffer: u64, most: Option<u64>) -> Self {
        Self {
            buffer,
            most,
            write_blocked: false,
            write_size: u64::MAX,
            unwritten: 0,
            tail: 1,
            pushed: 1,
            sufficient_for: 0,
            limits_since: None,
            limited: Duration::ZERO,
        }
    }

    /// Expands the buffer to the [target](sndbuf_target) size, if it may grow that far.
    pub fn expand(&mut self, wanted: u64) {
        if let Some(most) = self.most {
            self.buffer = self.buffer.max(wanted.min(most));
        }
    }

    /// True if [`Self::expand`] would change the buffer.
    pub fn would_expand(&self, wanted: u64) -> bool {
        self.most.is_some_and(|most| wanted.min(most) > self.buffer)
    }

    /// True if no new block may be opened when `taken` bytes of memory are in use.
    pub const fn is_full(&self, taken: u64) -> bool {
        taken >= self.buffer
    }

    /// True if less than a third of the buffer is free when `taken` bytes of memory are in use. If
    /// so, then also when more is in use.
    #[inline(always)]
    pub const fn is_crowded(&self, taken: u64) -> bool {
        taken >= self.buffer || self.buffer - taken < taken / 2
    }

    /// Lets a waiting write continue when a third of the buffer is free.
    pub fn wake_writer(&mut self, now: Time, taken: u64) {
        if !self.is_crowded(taken) {
            self.write_blocked = false;
            if let Some(since) = self.limits_since.take() {
                self.limited += now.since(since);
            }
        }
    }

    /// Records that all written data have been sent, while the windows would permit more.
    pub fn note_idle_window(&mut self, now: Time) {
        if self.write_blocked {
            self.limits_since.get_or_insert(now);
        }
    }

    /// Duration for which the buffer was the sender's only limit (`tcpi_sndbuf_limited`), up to
    /// `now`.
    pub fn limited_time(&self, now: Time) -> Duration {
        let running = self.limits_since.map_or(Duration::ZERO, |since| now.since(since));
        self.limited + running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The buffer is as `ss -tm` shows it: 46,080 bytes with ten segments, later twice the window,
    /// at most 4 MiB.
    #[test]
    fn grows_with_the_window() {
        let mut memory = SendMemory::growing(16_384, 4 << 20);
        let mut buffers =
            [(2, 10), (2, 40), (2, 20), (3, 40), (2, 5_000)].map(|(factor, segments)| {
                memory.expand(sndbuf_target(factor, segments, 1_460));
                memory.buffer
            });
        assert_eq!(buffers, [46_080, 184_320, 184_320, 276_480, 4 << 20]);
        let mut fixed = SendMemory::fixed(60_000);
        buffers = [1, 100, 1_000, 10_000, 100_000].map(|segments| {
            fixed.expand(sndbuf_target(2, segments, 1_460));
            fixed.buffer
        });
        assert_eq!(buffers, [120_000; 5]);
        assert_eq!(SendMemory::fixed(1).buffer, 4_608);
    }

    #[test]
    fn a_block_is_opened_while_anything_is_free() {
        let memory = SendMemory::fixed(50_000);
        assert!(!memory.is_full(99_999));
        assert!(memory.is_full(100_000));
    }

    #[test]
    fn a_write_that_waits_goes_on_when_a_third_is_free() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut memory = SendMemory { write_blocked: true, ..SendMemory::fixed(45_000) };
        memory.wake_writer(at(1), 60_002);
        assert!(memory.write_blocked);
        memory.note_idle_window(at(2));
        memory.note_idle_window(at(3));
        assert_eq!(memory.limited_time(at(5)), Duration::from_millis(3));
        memory.wake_writer(at(6), 60_000);
        assert!(!memory.write_blocked);
        memory.note_idle_window(at(7));
        assert_eq!(memory.limited_time(at(9)), Duration::from_millis(4));
    }

    /// `tcp_sndbuf_expand` changes a growing buffer, below its maximum, to a larger target.
    #[test]
    fn only_a_larger_target_would_expand_the_buffer() {
        let wanted = [16_384, 16_385, 5 << 20];
        let growing = SendMemory::growing(16_384, 4 << 20);
        assert_eq!(wanted.map(|target| growing.would_expand(target)), [false, true, true]);
        let full = SendMemory::growing(4 << 20, 4 << 20);
        assert_eq!(wanted.map(|target| full.would_expand(target)), [false; 3]);
        assert_eq!(wanted.map(|target| SendMemory::fixed(1).would_expand(target)), [false; 3]);
    }
}
