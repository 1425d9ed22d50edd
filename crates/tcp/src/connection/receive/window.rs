//! Window to advertise.

use super::{Parameters, ReceiveMemory, Receiver};

/// Bounds a window, where the peer knows of `advertised` bytes: the right edge never moves left
/// (`tcp_select_window`), and the window field, counted in `unit`, limits the size of the window.
#[inline(always)]
fn bounded(window: u64, advertised: u64, unit: u64) -> u64 {
    // The unit is a power of two, so a bit mask rounds up.
    let least = (advertised + unit - 1) & !(unit - 1);
    window.max(least).min(65_535 * unit)
}

impl Receiver {
    /// Bytes that the peer may still send, as most recently advertised.
    pub fn advertised_window(&self) -> u64 {
        self.right_edge.saturating_sub(self.rcv_nxt)
    }

    /// Window to advertise now. The right edge never moves left, and moves right only in steps that
    /// are large enough to avoid silly windows (RFC 9293 §3.8.6.2.2).
    pub fn window(&self, parameters: &Parameters) -> u64 {
        if parameters.has_constant_window {
            return parameters.largest_window;
        }
        if let Some(memory) = &self.memory {
            return self.window_of_memory(memory);
        }
        self.worthwhile_window(parameters.receive_buffer, self.readable())
    }

    /// Window of a SYN or SYN/ACK; `answers_timestamps` is true for a SYN/ACK with timestamps.
    pub fn first_window(&self, parameters: &Parameters, answers_timestamps: bool) -> u64 {
        match &self.memory {
            Some(memory) => memory.first_window(answers_timestamps),
            None => self.window(parameters),
        }
    }

    /// Window to advertise now, and true if less than half of the buffer is free. The second result
    /// is always false for a buffer whose size limits the payload, not the memory used.
    pub fn window_and_shortage(&self, parameters: &Parameters) -> (u64, bool) {
        match &self.memory {
            Some(memory) if !parameters.has_constant_window => {
                let unit = 1 << self.rcv_wscale;
                let (window, short) = memory.window(self.buffered_bytes(), unit, &self.position());
                (bounded(window, self.advertised_window(), unit), short)
            }
            _ => (self.window(parameters), false),
        }
    }

    /// Like [`Self::window_and_shortage`] while nothing is out of order; reuses the last result.
    #[inline(always)]
    pub fn known_window(&mut self, parameters: &Parameters) -> (u64, bool) {
        let unit = 1 << self.rcv_wscale;
        let position = self.position_in_order();
        let (waiting, advertised) = (self.rcv_nxt - self.read, self.advertised_window());
        match &mut self.memory {
            Some(memory) if unit > 1 && !parameters.has_constant_window => {
                let waiting = waiting + memory.beyond_gap;
                let (window, short) = memory.known_window(waiting, unit, &position);
                (bounded(window, advertised, unit), short)
            }
            _ => self.window_and_shortage(parameters),
        }
    }

    /// Window of a buffer whose size limits the memory used.
    fn window_of_memory(&self, memory: &ReceiveMemory) -> u64 {
        let unit = 1 << self.rcv_wscale;
        let (window, _) = memory.window(self.buffered_bytes(), unit, &self.position());
        bounded(window, self.advertised_window(), unit)
    }

    /// Like [`Self::window`], if segments are simply counted: see [`Self::only_counts_segments`].
    #[inline]
    pub fn fast_path_window(&self, parameters: &Parameters) -> u64 {
        if parameters.has_constant_window {
            return parameters.largest_window;
        }
        self.worthwhile_window(parameters.receive_buffer, self.rcv_nxt - self.read)
    }

    /// Free part of a buffer that holds `waiting` bytes, if this opens the window far enough to
    /// avoid silly windows; otherwise the window already advertised.
    #[inline]
    fn worthwhile_window(&self, buffer: u64, waiting: u64) -> u64 {
        let open = buffer.saturating_sub(waiting).min(65_535 << self.rcv_wscale);
        let advertised = self.advertised_window();
        // RFC 9293 §3.8.6.2.2 with Fr = 1/2.
        let worth = u64::from(self.peer_smss).min(buffer / 2);
        if open >= advertised + worth { open } else { advertised }
    }

    /// Sends a window update at once if reading has more than doubled the window known to the peer
    /// (as in Linux); otherwise the next acknowledgment contains it.
    #[inline]
    pub fn update_window_after_read(&mut self, parameters: &Parameters) {
        let may_double = match &self.memory {
            Some(memory) => self.may_double_memory(memory),
            None => self.may_double_window(parameters),
        };
        if may_double {
            self.schedule_window_update(parameters);
        }
    }

    /// True if data were read while an acknowledgment was due.
    #[inline]
    pub fn has_read_before_ack(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.read_behind_ack > 0)
    }

    /// Completes a read during which an acknowledgment was due, once that acknowledgment has been
    /// sent. May send a window update like [`Self::update_window_after_read`].
    pub fn end_read(&mut self) {
        self.forget_advertised();
        if let Some(memory) = &mut self.memory {
            memory.read_behind_ack = 0;
        }
        let Some(memory) = &self.memory else { return };
        let known = self.advertised_window();
        if self.fin.is_none() && self.may_double_memory(memory) {
            let open = self.window_of_memory(memory);
            self.ack_now = open > known && open >= 2 * known;
        }
    }

    /// True if the window known to the peer is at most half of the largest possible one; for
    /// buffers without autotuning.
    #[inline]
    pub fn may_double_window(&self, parameters: &Parameters) -> bool {
        2 * self.advertised_window() <= parameters.largest_window
    }

    /// False if a buffer whose size limits the memory used cannot offer twice the window that the
    /// peer knows.
    #[inline]
    fn may_double_memory(&self, memory: &ReceiveMemory) -> bool {
        let (unit, known) = (1 << self.rcv_wscale, self.advertised_window());
        unit == 1 || known < unit || memory.largest_window() + unit > 2 * known
    }

    /// Sends a window update: see [`Self::update_window_after_read`].
    #[inline(never)]
    pub fn schedule_window_update(&mut self, parameters: &Parameters) {
        let known = self.advertised_window();
        let open = self.window(parameters);
        if open > known && open >= 2 * known {
            self.ack_now = true;
        }
    }

    /// Records the window field sent on a fast path.
    #[inline]
    pub const fn note_advertised_window(&mut self, field: u16) {
        self.advertised_field = field;
        self.advertised_at = self.rcv_nxt + self.read;
    }

    /// True if nothing has arrived or been read since the window was sent on a fast path.
    #[inline]
    pub const fn has_advertised_window(&self) -> bool {
        self.advertised_at == self.rcv_nxt + self.read
    }

    /// Forgets the window sent on a fast path.
    pub const fn forget_advertised(&mut self) {
        (self.advertised_field, self.advertised_at) = (0, 0);
    }
}
