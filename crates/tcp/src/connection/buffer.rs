//! Writes into a send buffer whose size limits the memory used (`truesize`), not the payload, as in
//! Linux: see `send_memory.rs`.

use super::fast_path::Sending;
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
        self.memory_taken_after(0)
    }

    /// Memory of the bytes written and not acknowledged once a burst of `burst` bytes has left,
    /// which is not less than before.
    fn memory_taken_after(&self, burst: u64) -> u64 {
        let bytes = self.written - self.snd_una.max(1).min(self.written);
        let bursts = self.board.bursts_in_flight() + u64::from(burst > 0);
        let blocks = bursts + (self.unsent() - burst).div_ceil(self.block_size());
        bytes + blocks * memory::SMALLEST_PACKET
    }

    /// Forgets what only fast paths know of bursts and the send buffer, after an event that may
    /// change it.
    pub fn forget_known_bursts(&mut self) {
        if let Some(bursts) = self.bursts.allocated_mut() {
            bursts.forget_known();
        }
    }

    /// Writes as much as fits into the send buffer; returns the number of bytes written.
    pub fn write(&mut self, bytes: u64, buffer: u64) -> u64 {
        if bytes > 0 {
            self.check_app_limited();
        }
        self.write_within(bytes, buffer)
    }

    /// Like [`Self::write`] without a model of the path.
    #[inline(always)]
    pub fn write_within(&mut self, bytes: u64, buffer: u64) -> u64 {
        // SYN and FIN occupy positions, but no space in the buffer.
        let held = self.written - self.snd_una.max(1).min(self.written);
        let taken = bytes.min(buffer.saturating_sub(held));
        self.written += taken;
        taken
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
    /// Bytes that the congestion window still allows.
    cwnd_room: u64,
    /// True if the first burst of the last push left room in the congestion window.
    leaves_room: bool,
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
        self.cwnd_room -= bytes.min(self.cwnd_room);
        self.bursts += bytes.div_ceil(self.burst);
    }

    /// Sends all data that may be sent (`tcp_push`). Nagle's algorithm holds back a short last
    /// segment.
    fn push(&mut self) {
        let (unsent, cwnd_room) = (self.unsent, self.cwnd_room);
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
        let first = (unsent - self.unsent).min(self.burst);
        self.leaves_room = first > 0 && first + self.smss <= cwnd_room;
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
    #[inline]
    pub fn write(&mut self, now: Time, bytes: u64) -> u64 {
        // On these paths there is no FIN or request of the application, and on the plain path no
        // model.
        if self.fast_paths.sending.sends_new_data() && !self.receiver.ack_now {
            match &self.sender.bursts.memory {
                None if self.fast_paths.sending == Sending::Plain => {
                    return self.sender.write_within(bytes, self.parameters.send_buffer);
                }
                // Most calls follow an acknowledgment while an earlier write still waits.
                Some(memory) if memory.write_blocked => return 0,
                _ => {}
            }
        }
        self.write_general(now, bytes)
    }

    #[inline(never)]
    fn write_general(&mut self, now: Time, bytes: u64) -> u64 {
        if let Some(taken) = self.write_in_detail(bytes) {
            return taken;
        }
        if self.sender.fin_queued || matches!(self.state, State::Closed | State::TimeWait) {
            return 0;
        }
        self.sender.clear_msg_more();
        if bytes > 0 && self.receiver.ack_now {
            self.send_ack_first();
        }
        if let Some(memory) = &self.sender.bursts.memory {
            return if memory.write_blocked { 0 } else { self.write_into_memory(now, bytes) };
        }
        self.sender.write(bytes, self.parameters.send_buffer)
    }

    /// Called before the application writes or closes. In Linux a due acknowledgment has been sent
    /// before the application runs (`__tcp_ack_snd_check`), with unsent data if there were any.
    #[cold]
    pub(super) fn send_ack_first(&mut self) {
        let receiver = &self.receiver;
        if !receiver.ack_now || !receiver.pending.is_linux() {
            return;
        }
        if self.sender.snd_nxt == self.sender.write_seq() {
            self.receiver.pending.send_first();
            self.recompute_fast_paths();
        }
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
            cwnd_room: sender.available_cwnd(),
            leaves_room: false,
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
        if bytes == 0 {
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
            // The push of a write that is about to wait lets the buffer grow, too.
            if memory.write_blocked && queue.leaves_room {
                memory.expand(self.wanted_send_memory());
                memory.write_blocked = memory.is_full(queue.taken());
            }
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

    /// True if the first burst that can be sent now leaves room in the congestion window, so that
    /// Linux lets an autotuned send buffer grow for a write that waits.
    pub fn lets_send_buffer_grow(&self, now: Time) -> bool {
        let sender = &self.sender;
        self.first_burst(now) + u64::from(sender.window.smss) <= sender.available_cwnd()
    }

    /// Size of an autotuned send buffer for the congestion window, in bytes of memory
    /// (`tcp_sndbuf_expand`).
    pub fn wanted_send_memory(&self) -> u64 {
        let sender = &self.sender;
        let factor = if sender.model_inputs.is_some() { 3 } else { 2 };
        let reordering =
            sender.loss_detection.reordering().unwrap_or(self.parameters.dupack_threshold);
        let window = sender.window.cwnd / u64::from(sender.window.smss);
        let mss = u64::from(sender.window.smss) + if self.timestamps { 12 } else { 0 };
        send_memory::sndbuf_target(factor, window.max(u64::from(reordering) + 1), mss)
    }

    /// Continues a waiting write after an acknowledgment if possible (`tcp_check_space`). The
    /// buffer grows if the first burst that is sent does not fill the congestion window.
    #[inline]
    pub(super) fn check_send_memory(&mut self, now: Time) {
        if self.sender.bursts.memory.as_ref().is_some_and(|memory| memory.write_blocked) {
            self.check_waiting_write(now);
        }
    }

    /// Like [`Self::check_send_memory`] after an acknowledgment on a fast path, by which the write
    /// usually cannot continue.
    #[inline(always)]
    pub(super) fn check_send_memory_next(&mut self, now: Time) {
        let sender = &self.sender;
        let Some(memory) = &sender.bursts.memory else { return };
        if !memory.write_blocked {
            return;
        }
        // The blocks that wait to be sent are left out: counting them is costly, and they only add
        // to the memory taken.
        let bursts = sender.board.bursts_in_flight();
        let least = sender.written - sender.snd_una + bursts * memory::SMALLEST_PACKET;
        if sender.window.cwnd > memory.sufficient_for || !memory.is_crowded(least) {
            self.check_waiting_write(now);
        }
    }

    /// Number of bytes in the first burst that can be sent now.
    fn first_burst(&self, now: Time) -> u64 {
        let burst = if self.parameters.tso { self.tso_goal_bytes() } else { self.segment_size() };
        self.sender.unsent().min(self.sendable_now(now)).min(burst)
    }

    #[inline(never)]
    fn check_waiting_write(&mut self, now: Time) {
        let sender = &self.sender;
        // The wanted size is compared before the use of the congestion window, which takes more
        // work to compute.
        let grows = |memory: SendMemory| memory.would_expand(self.wanted_send_memory());
        if !sender.bursts.memory.is_some_and(grows) {
            let cwnd = sender.window.cwnd;
            if let Some(memory) = &mut self.sender.bursts.memory {
                memory.sufficient_for = cwnd;
            }
        } else if self.lets_send_buffer_grow(now) {
            self.expand_send_memory();
        }
        // The first burst is counted only where the write may continue without it.
        let before = self.sender.memory_taken();
        if self.sender.bursts.memory.is_some_and(|memory| !memory.is_crowded(before)) {
            let taken = self.sender.memory_taken_after(self.first_burst(now));
            if let Some(memory) = &mut self.sender.bursts.memory {
                memory.wake_writer(now, taken);
            }
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

    /// Memory of the data written and not acknowledged (`sk_wmem_queued`), bytes. Bursts count only
    /// with `buffers = "linux"`.
    pub fn send_memory_taken(&self) -> u64 {
        self.sender.memory_taken()
    }

    /// Time during which the send buffer alone limited the sender (Linux `tcpi_sndbuf_limited`). It
    /// is counted only with `buffers = "linux"`.
    pub fn send_buffer_limited(&self, now: Time) -> Duration {
        self.sender.bursts.memory.map_or(Duration::ZERO, |memory| memory.limited_time(now))
    }
}

#[cfg(test)]
mod tests;
