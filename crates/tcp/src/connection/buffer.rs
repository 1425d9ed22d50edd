//! Writes into a send buffer whose size limits the memory used (`truesize`), not the payload, as in
//! Linux: see `send_memory.rs`.

use super::{Connection, Sender, State};
use crate::loss_detection::LossDetection;
use crate::memory;
use crate::send_memory::{self, SendMemory};
use retx_units::{Duration, Time};

impl Sender {
    /// Number of bytes written and not sent yet.
    fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.snd_nxt.max(1))
    }

    /// Memory of the bytes written and not acknowledged (`sk_wmem_queued`).
    pub fn memory_taken(&self) -> u64 {
        let bytes = self.written - self.snd_una.max(1).min(self.written);
        let blocks = self.board.bursts_in_flight() + self.unsent().div_ceil(self.block_size());
        bytes + blocks * memory::SMALLEST_PACKET
    }

    /// Bytes of new data that the windows allow.
    pub fn usable_window(&self) -> u64 {
        let offered = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt);
        self.available_cwnd().min(offered)
    }
}

/// State of the write queue while the writes of one instant are processed.
struct WriteQueue {
    /// Position after the data written.
    written: u64,
    /// Bytes that wait to be sent.
    unsent: u64,
    /// Bytes that are not acknowledged.
    bytes: u64,
    /// Number of bursts in flight.
    bursts: u64,
    /// Bytes that the windows and pacing still allow to be sent.
    room: u64,
    /// Position at which the last block begins.
    tail: u64,
    /// Position after the last byte that was pushed (`pushed_seq`).
    pushed: u64,
    holds_short: bool,
    nagle: bool,
    block: u64,
    burst: u64,
    smss: u64,
    half_window: u64,
}

impl WriteQueue {
    fn taken(&self) -> u64 {
        let blocks = self.bursts + self.unsent.div_ceil(self.block);
        self.bytes + blocks * memory::SMALLEST_PACKET
    }

    fn send(&mut self, bytes: u64) {
        self.unsent -= bytes;
        self.room -= bytes.min(self.room);
        self.bursts += bytes.div_ceil(self.burst);
    }

    /// Sends all data that may be sent (`tcp_push`). Nagle's algorithm holds back a short last
    /// segment.
    fn push(&mut self) {
        let (most, short) = (self.unsent.min(self.room), self.unsent % self.smss);
        if most < self.unsent || short == 0 {
            self.send(most / self.smss * self.smss);
        } else if self.holds_short {
            self.send(most - short);
        } else {
            self.send(most);
            self.holds_short = self.nagle;
        }
        self.pushed = self.written;
    }

    /// Free bytes in the last block, in which bytes already sent take no space; 0 if all bytes have
    /// been sent.
    fn room_of_tail(&self) -> u64 {
        let begin = self.tail.max(self.written - self.unsent);
        if self.unsent == 0 { 0 } else { self.block.saturating_sub(self.written - begin) }
    }

    /// Copies up to `bytes` of a write into blocks; returns the number of bytes that the buffer
    /// accepts.
    fn fill(&mut self, bytes: u64, memory: &SendMemory) -> u64 {
        let mut left = bytes;
        while left > 0 {
            let mut room = self.room_of_tail();
            if room == 0 {
                if memory.is_full(self.taken()) {
                    break;
                }
                (self.tail, room) = (self.written, self.block);
            }
            let taken = room.min(left);
            self.written += taken;
            self.unsent += taken;
            self.bytes += taken;
            left -= taken;
            if left > 0 && self.written > self.pushed + self.half_window {
                self.push();
            } else if left > 0 && self.tail <= self.written - self.unsent {
                // The last block is at the head of the queue: one burst of it is sent
                // (`tcp_push_one`).
                self.send(self.burst.min(self.room).min(self.unsent));
            }
        }
        self.push();
        bytes - left
    }
}

impl Connection {
    /// Writes up to `bytes` of the application's data; returns the number of bytes that fit into
    /// the send buffer.
    pub fn write(&mut self, now: Time, bytes: u64) -> u64 {
        if self.sender.fin_queued || matches!(self.state, State::Closed | State::TimeWait) {
            return 0;
        }
        self.sender.clear_msg_more();
        if self.sender.bursts.memory.is_some() {
            return self.write_into_memory(now, bytes);
        }
        self.sender.write(bytes, self.parameters.send_buffer)
    }

    /// State of the write queue after all data have been sent that the windows, pacing and deferral
    /// allow.
    fn write_queue(&self, now: Time, memory: &SendMemory) -> WriteQueue {
        let (sender, parameters) = (&self.sender, &self.parameters);
        let last_short = if parameters.minshall { sender.bursts.short_end } else { sender.snd_nxt };
        let mut queue = WriteQueue {
            written: sender.written,
            unsent: sender.unsent(),
            bytes: sender.written - sender.snd_una.max(1).min(sender.written),
            bursts: sender.board.bursts_in_flight(),
            room: self.sendable_now(now),
            tail: memory.tail,
            pushed: memory.pushed.max(sender.bursts.pushed),
            holds_short: parameters.nagle && last_short > sender.snd_una,
            nagle: parameters.nagle,
            block: sender.block_size(),
            burst: self.tso_goal_bytes(),
            smss: sender.bounded_smss(),
            half_window: sender.max_snd_wnd / 2,
        };
        queue.push();
        queue
    }

    /// Writes data of the application, `write_size` bytes at a time, until the buffer is full.
    /// Returns the number of bytes written.
    // Not inlined: inside `write`, this function would make each call save all registers.
    #[inline(never)]
    pub(super) fn write_into_memory(&mut self, now: Time, bytes: u64) -> u64 {
        let Some(mut memory) = self.sender.bursts.memory else { return 0 };
        if bytes == 0 || memory.write_blocked {
            return 0;
        }
        let mut queue = self.write_queue(now, &memory);
        let begin = queue.written;
        let mut left = bytes;
        while left > 0 && !memory.write_blocked {
            if memory.unwritten == 0 {
                self.sender.check_app_limited_at(queue.written - queue.unsent, queue.written);
                memory.unwritten = memory.write_size.min(left);
            }
            let taken = queue.fill(memory.unwritten.min(left), &memory);
            left -= taken;
            memory.unwritten -= taken;
            memory.write_blocked = left > 0 && memory.unwritten > 0;
        }
        (memory.tail, memory.pushed) = (queue.tail, queue.pushed);
        self.sender.written = queue.written;
        self.sender.bursts.memory = Some(memory);
        queue.written - begin
    }

    /// Sets the largest number of bytes that the application passes to one write.
    pub fn set_write_size(&mut self, bytes: u64) {
        if let Some(memory) = self.sender.bursts.allocated_mut().and_then(|it| it.memory.as_mut()) {
            memory.write_size = bytes;
        }
    }

    /// Initialises the send buffer at the end of the handshake (`tcp_init_buffer_space`).
    pub(super) fn open_send_memory(&mut self) {
        if self.sender.bursts.memory.is_some() {
            self.expand_send_memory();
        }
        if let Some(memory) = self.sender.bursts.allocated_mut().and_then(|it| it.memory.as_mut()) {
            memory.write_blocked = false;
        }
    }

    fn expand_send_memory(&mut self) {
        let wanted = self.wanted_send_memory();
        if let Some(memory) = &mut self.sender.bursts.memory {
            memory.expand(wanted);
        }
    }

    /// Size of the send buffer for the congestion window, in bytes of memory.
    pub(super) fn wanted_send_memory(&self) -> u64 {
        let sender = &self.sender;
        let factor = if sender.model_inputs.is_some() { 3 } else { 2 };
        let reordering =
            sender.loss_detection.reordering().unwrap_or(self.parameters.dupack_threshold);
        let window = sender.window.cwnd / u64::from(sender.window.smss);
        let mss = u64::from(sender.window.smss) + if self.timestamps { 12 } else { 0 };
        send_memory::sndbuf_target(factor, window.max(u64::from(reordering) + 1), mss)
    }

    /// Continues a waiting write after an acknowledgment if possible (`tcp_check_space`). The
    /// buffer grows if the data written do not fill the congestion window.
    #[inline]
    pub(super) fn check_send_memory(&mut self, now: Time) {
        if self.sender.bursts.memory.is_some_and(|memory| memory.write_blocked) {
            self.check_waiting_write(now);
        }
    }

    #[inline(never)]
    fn check_waiting_write(&mut self, now: Time) {
        let sender = &self.sender;
        // The wanted size is compared before the use of the congestion window, which takes more
        // work to compute.
        let grows = |memory: SendMemory| memory.would_expand(self.wanted_send_memory());
        if sender.bursts.memory.is_some_and(grows) {
            let leaves = sender.unsent().min(self.sendable_now(now));
            if leaves + u64::from(sender.window.smss) <= sender.available_cwnd() {
                self.expand_send_memory();
            }
        }
        let taken = self.sender.memory_taken();
        if let Some(memory) = &mut self.sender.bursts.memory {
            memory.wake_writer(now, taken);
        }
    }

    /// Checks, after new data up to `right` were sent, whether only a waiting write limits the
    /// sender (`tcp_cwnd_validate`).
    pub(super) fn note_idle_window(&mut self, now: Time, right: u64) {
        let sender = &mut self.sender;
        let Some(memory) = sender.bursts.allocated_mut().and_then(|it| it.memory.as_mut()) else {
            return;
        };
        let open = matches!(self.state, State::Established | State::CloseWait);
        if open && right >= sender.written && !sender.validation.allows_growth(&sender.window) {
            memory.note_idle_window(now);
        }
    }

    /// Time during which the send buffer alone limited the sender (Linux `tcpi_sndbuf_limited`). It
    /// is counted only with `buffers = "linux"`.
    pub fn send_buffer_limited(&self, now: Time) -> Duration {
        self.sender.bursts.memory.map_or(Duration::ZERO, |memory| memory.limited_time(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::testing::{config, open};
    use retx_units::SeqNr;

    /// `tcp_cwnd_validate`: the send buffer is the limit if all written data have been sent
    /// (`tcp_write_queue_empty`), a write waits (`SOCK_NOSPACE`), the congestion window is not the
    /// limit, and the connection is open (`TCPF_ESTABLISHED | TCPF_CLOSE_WAIT`).
    #[test]
    fn a_waiting_write_limits_once_everything_is_sent() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let limited_ms = |state, waits, right| {
            let config = (crate::presets::find("linux").expect("a preset").config)();
            let mut connection = Connection::connect(&config, SeqNr(0));
            let mut memory = SendMemory::growing(16_384, 4 << 20);
            memory.write_blocked = waits;
            connection.sender.bursts.memory = Some(memory);
            connection.sender.written = 5_001;
            connection.state = state;
            connection.note_idle_window(at(1), right);
            connection.send_buffer_limited(at(4)).as_nanos() / 1_000_000
        };
        assert_eq!([5_000, 5_001].map(|right| limited_ms(State::Established, true, right)), [0, 3]);
        assert_eq!([5_000, 5_001].map(|right| limited_ms(State::CloseWait, true, right)), [0, 3]);
        assert_eq!(limited_ms(State::FinWait1, true, 5_001), 0);
        assert_eq!(limited_ms(State::Established, false, 5_001), 0);
    }

    /// Queue with segments of 1000 bytes, blocks of 3000 and bursts of 2000, none of them sent.
    fn queue(unsent: u64, room: u64) -> WriteQueue {
        WriteQueue {
            written: 1 + unsent,
            unsent,
            bytes: unsent,
            bursts: 0,
            room,
            tail: 1,
            pushed: 1,
            holds_short: false,
            nagle: true,
            block: 3_000,
            burst: 2_000,
            smss: 1_000,
            half_window: 50_000,
        }
    }

    /// `tcp_push` sends all whole segments, and a short rest unless Nagle's algorithm holds it
    /// back.
    #[test]
    fn a_push_sends_whole_segments_and_one_short_end() {
        for (unsent, room, holds_short, sent, bursts, holds_after) in [
            (2_000, 9_000, false, 2_000, 1, false),
            (2_500, 9_000, false, 2_500, 2, true),
            (2_500, 2_500, false, 2_500, 2, true),
            (2_500, 2_499, false, 2_000, 1, false),
            (2_500, 1_999, false, 1_000, 1, false),
            (2_500, 9_000, true, 2_000, 1, true),
            (4_000, 9_000, true, 4_000, 2, true),
            (500, 9_000, true, 0, 0, true),
        ] {
            let mut queue = WriteQueue { holds_short, ..queue(unsent, room) };
            queue.push();
            let found = (unsent - queue.unsent, queue.bursts, queue.holds_short);
            assert_eq!(found, (sent, bursts, holds_after), "{unsent} {room}");
            assert_eq!((queue.room, queue.pushed), (room - sent, queue.written));
        }
        let mut queue = WriteQueue { nagle: false, ..queue(2_500, 9_000) };
        queue.push();
        assert!(!queue.holds_short, "without Nagle's algorithm nothing is held back");
    }

    /// Each waiting block takes the memory overhead of a packet, and so does each burst in flight.
    #[test]
    fn waiting_blocks_and_bursts_take_memory() {
        let taken = |unsent| WriteQueue { bursts: 2, ..queue(unsent, 0) }.taken();
        let packets = |count| count * memory::SMALLEST_PACKET;
        assert_eq!(taken(0), packets(2));
        assert_eq!(taken(3_000), 3_000 + packets(3));
        assert_eq!(taken(3_001), 3_001 + packets(4));
        let free = [(0, 1), (1_000, 1), (3_000, 1), (2_000, 500)]
            .map(|(unsent, tail)| WriteQueue { tail, ..queue(unsent, 0) }.room_of_tail());
        assert_eq!(free, [0, 2_000, 0, 1_499]);
    }

    /// While the write goes on, data are pushed once more than half of the largest window has been
    /// written since the last push (`forced_push`). Otherwise one burst is sent of a block that is
    /// at the head of the queue (`tcp_push_one`).
    #[test]
    fn a_long_write_is_sent_block_by_block() {
        let memory = SendMemory::fixed(1 << 20);
        let filled = |bytes, room, half_window| {
            let mut queue = WriteQueue { half_window, ..queue(0, room) };
            assert_eq!(queue.fill(bytes, &memory), bytes);
            (queue.unsent, queue.pushed, queue.bursts)
        };
        // The write fits into one block and is pushed at its end, in two bursts.
        assert_eq!(filled(3_000, 90_000, 50_000), (0, 3_001, 2));
        // Each burst of 2000 bytes leaves room in the block for as many more: three bursts.
        assert_eq!(filled(6_000, 90_000, 50_000), (0, 6_001, 3));
        // One byte more than a block: after a burst of the first block, the rest is one burst.
        assert_eq!(filled(3_001, 90_000, 50_000), (0, 3_001 + 1, 1 + 1));
        // The first block alone exceeds half of the peer's window, so it is pushed as a whole.
        assert_eq!(filled(6_000, 90_000, 2_999), (0, 6_001, 4));
        // A burst of 2000 bytes leaves room for 2000 more in the block, so that the block is full
        // again at 5001: 5000 bytes after the last push. This is more than half of the peer's
        // window in the first case, and just half in the second.
        assert_eq!(filled(6_000, 90_000, 4_999), (0, 6_001, 4));
        assert_eq!(filled(6_000, 90_000, 5_000), (0, 6_001, 3));
        // Without room nothing is sent, however much is pushed.
        assert_eq!(filled(6_000, 0, 2_999), (6_000, 6_001, 0));
    }

    #[test]
    fn a_full_buffer_ends_a_write() {
        let memory = SendMemory::fixed(1);
        let mut queue = queue(3_000, 0);
        assert_eq!(queue.fill(10, &SendMemory::fixed(1 << 20)), 10, "there is memory");
        let mut full = WriteQueue { unsent: 3_000, ..self::queue(3_000, 0) };
        let expected = if memory.is_full(full.taken()) { 0 } else { 10 };
        assert_eq!(full.fill(10, &memory), expected);
    }

    /// Room for new data: the narrower of both windows.
    #[test]
    fn both_windows_bound_new_data() {
        let mut sender = Connection::connect(&config("sack"), SeqNr(0)).sender;
        (sender.snd_una, sender.snd_nxt, sender.snd_max) = (2_001, 4_001, 4_001);
        let mut usable = |snd_wnd, cwnd| {
            (sender.snd_wnd, sender.window.cwnd) = (snd_wnd, cwnd);
            sender.usable_window()
        };
        assert_eq!((usable(7_500, 9_000), usable(7_500, 5_000)), (5_500, 3_000));
        assert_eq!((usable(1_000, 9_000), usable(9_000, 1_000)), (0, 0));
    }

    /// No data are accepted after the FIN, nor in states in which this end may not send.
    #[test]
    fn a_closed_direction_takes_no_data() {
        let taken = |state, fin_queued| {
            let mut near = open(&config("sack"))[0].clone();
            near.state = state;
            near.sender.fin_queued = fin_queued;
            near.write(Time::ZERO, 10)
        };
        assert_eq!((taken(State::Established, false), taken(State::Established, true)), (10, 0));
        assert_eq!([State::Closed, State::TimeWait].map(|state| taken(state, false)), [0, 0]);
        assert_eq!([State::CloseWait, State::SynSent].map(|state| taken(state, false)), [10, 10]);
    }
}
