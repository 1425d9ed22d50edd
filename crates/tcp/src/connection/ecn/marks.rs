//! Marks of arriving data, and the receiver's echo of them.

use super::EcnState;
use crate::connection::Connection;
use retx_units::Time;
use retx_wire::{Ecn, Flags, Segment};

impl EcnState {
    /// Evaluates the ECN field of data within the window; data outside it do not count (§6.1.5).
    /// Returns true in two cases: for the first mark to echo, unless each change is echoed; and for
    /// data that are not ECN-capable, if earlier data were.
    pub(super) const fn on_data(&mut self, flags: Flags) -> bool {
        // CWR comes first: a mark on the packet that carries it is a new one, to be echoed
        // (§6.1.3).
        if flags.contains(Flags::CWR) {
            self.echoes = false;
        }
        let unmarkable = matches!(self.arriving, Ecn::NotEct);
        let after_others = unmarkable && self.markable;
        self.markable |= !unmarkable;
        let marked = matches!(self.arriving, Ecn::Ce);
        if self.is_needed() && !unmarkable {
            self.marked = marked;
            self.echoes = marked;
        }
        after_others || marked && !std::mem::replace(&mut self.echoes, true)
    }

    /// True if each change is echoed, and the mark of the arriving data differs from that of the
    /// previous ECN-capable data.
    pub(super) const fn ce_state_changes(&self) -> bool {
        let (marked, unmarkable) =
            (matches!(self.arriving, Ecn::Ce), matches!(self.arriving, Ecn::NotEct));
        self.is_needed() && !unmarkable && marked != self.marked
    }
}

impl Connection {
    /// Evaluates the ECN field and CWR of acceptable data.
    #[inline]
    pub(in crate::connection) fn process_ecn_field(&mut self, now: Time, segment: &Segment) {
        if !self.ecn.enabled || segment.payload_bytes == 0 {
            return;
        }
        if self.ecn.ce_state_changes() {
            self.echo_change(now);
        }
        let unusual = self.ecn.on_data(segment.flags);
        let receiver = &mut self.receiver;
        if receiver.pending.is_linux() {
            // Linux sends an immediate ACK for a segment with CWR, and for data for which `on_data`
            // returns true (`tcp_ecn_accept_cwr`, `__tcp_ecn_check_ce`).
            if unusual {
                receiver.pending.on_mark(receiver.advertised_window());
            }
            receiver.ack_now |= segment.flags.contains(Flags::CWR);
        }
    }

    /// Acknowledges at once data whose marks differ from those before. If an ACK is being delayed,
    /// the data before are acknowledged first, with the echo of their own marks (RFC 8257 §3.2;
    /// Linux `dctcp_ece_ack_update`).
    #[cold]
    fn echo_change(&mut self, now: Time) {
        if self.timers.delayed_ack != Time::NEVER && self.reply.is_none() {
            let echo = if self.ecn.marked { Flags::ECE } else { Flags(0) };
            self.reply = Some(Box::new(Segment {
                seq: self.seq_at(self.sender.ack_position()),
                ack: self.rcv_nxt_seq(),
                window: self.window_field().0,
                flags: Flags::ACK.with(echo),
                options: self.options(now),
                ..Segment::default()
            }));
        }
        self.receiver.ack_now = true;
    }
}
