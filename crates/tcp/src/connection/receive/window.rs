//! The window to advertise.

use super::{Autotuning, Parameters, Receiver};

impl Receiver {
    /// Bytes that the peer may still send, as advertised last.
    pub fn advertised(&self) -> u64 {
        self.edge.saturating_sub(self.rcv_nxt)
    }

    /// The window to advertise now. The right edge never moves left, and it moves right only by
    /// what is worth it (silly window avoidance, RFC 9293 §3.8.6.2.2).
    pub fn window(&self, parameters: &Parameters) -> u64 {
        if parameters.holds_window {
            return parameters.largest_window;
        }
        // No more than the field can tell.
        let most = 65_535 << self.rcv_wscale;
        let buffer = parameters.receive_buffer;
        let advertised = self.advertised();
        if let Some(autotuning) = &self.autotuning {
            return self.autotuned_window(autotuning).min(most).max(advertised);
        }
        self.worthwhile_window(buffer, self.readable())
    }

    /// The window of a SYN.
    pub fn first_window(&self, parameters: &Parameters) -> u64 {
        let autotuning = self.autotuning.as_deref();
        autotuning.map_or_else(|| self.window(parameters), Autotuning::first_window)
    }

    /// The same where segments are simply counted: see [`Self::is_simple`].
    #[inline]
    pub fn simple_window(&self, parameters: &Parameters) -> u64 {
        if parameters.holds_window {
            return parameters.largest_window;
        }
        self.worthwhile_window(parameters.receive_buffer, self.rcv_nxt - self.read)
    }

    /// What a buffer of that size has room for while so many bytes wait there, if that is worth it.
    #[inline]
    fn worthwhile_window(&self, buffer: u64, waiting: u64) -> u64 {
        let open = buffer.saturating_sub(waiting).min(65_535 << self.rcv_wscale);
        let advertised = self.advertised();
        let worth = u64::from(self.peer_smss).min(buffer / 2);
        if open >= advertised + worth { open } else { advertised }
    }

    /// `__tcp_select_window`: what there is, in steps of the window field, or of segments where
    /// that is exact.
    fn autotuned_window(&self, autotuning: &Autotuning) -> u64 {
        let full = autotuning.window(0);
        let smss = u64::from(self.peer_smss).min(full).max(1);
        let open = autotuning.window(self.readable());
        let advertised = self.advertised();
        if open < full / 2 && (open < full >> 4 || open < smss) {
            return 0;
        }
        if self.rcv_wscale > 0 {
            return open.next_multiple_of(1 << self.rcv_wscale);
        }
        if advertised + smss <= open || advertised > open {
            open / smss * smss
        } else if smss == full && open > advertised + full / 2 {
            open
        } else {
            advertised
        }
    }

    /// Reading has made room: tell the peer at once when the window that it knows has more than
    /// doubled by it (as Linux does); else the next acknowledgment tells.
    #[inline]
    pub fn update_window_after_read(&mut self, parameters: &Parameters) {
        if self.autotuning.is_some() || self.may_double_window(parameters) {
            self.widen_window(parameters);
        }
    }

    /// The peer knows less than half of the largest window there may be, without autotuning.
    #[inline]
    pub fn may_double_window(&self, parameters: &Parameters) -> bool {
        2 * self.advertised() <= parameters.largest_window
    }

    /// See [`Self::update_window_after_read`].
    #[inline(never)]
    pub fn widen_window(&mut self, parameters: &Parameters) {
        let known = self.advertised();
        let open = self.window(parameters);
        if open > known && open >= 2 * known {
            self.ack_now = true;
        }
    }

    /// A short way tells this window field.
    #[inline]
    pub const fn tell_window(&mut self, field: u16) {
        self.told_field = field;
        self.told_at = self.rcv_nxt + self.read;
    }

    /// Nothing has come or been read since a short way told the window.
    #[inline]
    pub const fn has_told_window(&self) -> bool {
        self.told_at == self.rcv_nxt + self.read
    }

    /// As if no short way had told a window yet.
    #[cfg(test)]
    pub const fn forget_told(&mut self) {
        (self.told_field, self.told_at) = (0, 0);
    }
}
