//! Send buffer that is counted as memory: see `send_memory.rs`.

use super::{Connection, Sender, State};
use crate::loss_detection::LossDetection;
use crate::memory;
use retx_units::{Duration, Time};

impl Sender {
    /// Number of bytes written and not sent yet.
    fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.snd_nxt.max(1))
    }

    /// Memory of the bytes written and not acknowledged (`sk_wmem_queued`).
    fn memory_taken(&self) -> u64 {
        let bytes = self.written - self.snd_una.max(1).min(self.written);
        let blocks = self.board.bursts() + self.unsent().div_ceil(self.block());
        bytes + blocks * memory::SMALLEST_PACKET
    }

    /// Bytes of new data that the windows allow.
    fn open_room(&self) -> u64 {
        let offered = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt);
        self.cwnd_room().min(offered)
    }

    /// Bytes that a write may add now, if they are sent in bursts of `burst` bytes: first the data
    /// that the windows allow at once, then the rest of the block from which those are taken, and
    /// more blocks as long as there is room.
    fn writable(&self, burst: u64) -> u64 {
        let Some(memory) = self.bursts.memory else { return 0 };
        let (block, unsent, taken) = (self.block(), self.unsent(), self.memory_taken());
        let room = memory.room(taken, block);
        let leaves = if self.pacer.is_some() { 0 } else { self.open_room() };
        if leaves <= unsent {
            return room;
        }
        if room == 0 && (unsent == 0 || unsent >= block) {
            return 0;
        }
        let leaves = leaves - unsent;
        let bursts = leaves.div_ceil(burst.max(1));
        let taken = taken + leaves + bursts * memory::SMALLEST_PACKET;
        leaves + memory.room(taken, block).max(block)
    }
}

impl Connection {
    /// Writes up to `bytes` of the application's data; returns the number of bytes that fit into
    /// the send buffer.
    pub fn write(&mut self, bytes: u64) -> u64 {
        if self.sender.fin_queued || matches!(self.state, State::Closed | State::TimeWait) {
            return 0;
        }
        self.sender.end_announcement();
        if self.sender.bursts.memory.is_some() {
            return self.write_into_memory(bytes);
        }
        self.sender.write(bytes, self.parameters.send_buffer)
    }

    /// Writes data of the application; data without room wait.
    pub(super) fn write_into_memory(&mut self, bytes: u64) -> u64 {
        let waits = self.sender.bursts.memory.is_some_and(|memory| memory.waits);
        if bytes == 0 || waits {
            return 0;
        }
        let burst = self.enough();
        let sender = &mut self.sender;
        sender.note_shortage();
        let taken = bytes.min(sender.writable(burst));
        sender.written += taken;
        if taken < bytes
            && let Some(memory) = &mut sender.bursts.memory
        {
            memory.waits = true;
        }
        taken
    }

    /// Initialises the send buffer at the end of the handshake (`tcp_init_buffer_space`).
    pub(super) fn open_send_memory(&mut self) {
        if self.sender.bursts.memory.is_some() {
            self.expand_send_memory();
        }
        if let Some(memory) = self.sender.bursts.made().and_then(|it| it.memory.as_mut()) {
            memory.waits = false;
        }
    }

    fn expand_send_memory(&mut self) {
        let sender = &mut self.sender;
        let factor = if sender.model.is_some() { 3 } else { 2 };
        let reordering =
            sender.loss_detection.reordering().unwrap_or(self.parameters.dupack_threshold);
        let window = sender.window.cwnd / u64::from(sender.window.smss);
        let mss = u64::from(sender.window.smss) + if self.timestamps { 12 } else { 0 };
        if let Some(memory) = &mut sender.bursts.memory {
            memory.expand(factor, window.max(u64::from(reordering) + 1), mss);
        }
    }

    /// Continues a waiting write after an acknowledgment if possible (`tcp_check_space`). The
    /// buffer grows if the data written do not fill the congestion window.
    pub(super) fn check_send_memory(&mut self, now: Time) {
        let sender = &self.sender;
        if !sender.bursts.memory.is_some_and(|memory| memory.waits) {
            return;
        }
        let offered = (sender.snd_una + sender.snd_wnd).saturating_sub(sender.snd_nxt);
        let leaves = sender.unsent().min(offered);
        if leaves + u64::from(sender.window.smss) <= sender.cwnd_room() {
            self.expand_send_memory();
        }
        let taken = self.sender.memory_taken();
        if let Some(memory) = &mut self.sender.bursts.memory {
            memory.wake(now, taken);
        }
    }

    /// Checks, after new data up to `right` were sent, whether only a waiting write limits the
    /// sender (`tcp_cwnd_validate`).
    pub(super) fn note_idle_window(&mut self, now: Time, right: u64) {
        let sender = &mut self.sender;
        let Some(memory) = sender.bursts.made().and_then(|it| it.memory.as_mut()) else { return };
        let open = matches!(self.state, State::Established | State::CloseWait);
        if open && right >= sender.written && !sender.validation.allows_growth(&sender.window) {
            memory.note_idle_window(now);
        }
    }

    /// Time during which the send buffer alone limited the sender; counted with `buffers = "linux"`
    /// (Linux `tcpi_sndbuf_limited`).
    pub fn send_buffer_limited(&self, now: Time) -> Duration {
        self.sender.bursts.memory.map_or(Duration::ZERO, |memory| memory.limited(now))
    }
}
