//! Data that were lost before the capture, after which the sender had no more.
//!
//! *Rule.* If the last data before a recovery are lost before the capture, their first copies in
//! the capture are retransmissions, and nothing shows when they were first sent. But a sender that
//! has not reduced its window sends at least as many bytes as are acknowledged, until a loss shows.
//! If more were acknowledged between the newest captured data and the loss than the flow still had
//! to send, the sender had sent everything, and had no more data for the rest of this time.
//!
//! Nagle's algorithm holds a partial segment back until all data sent are acknowledged; only Linux
//! sends a single one at once. If the last data are such a segment, Nagle's algorithm was the limit
//! as soon as the sender had sent everything before it.

use super::account::Limit;
use super::delay_spike::is_provisional;
use super::direction::{Direction, PacketContext};
use super::release::is_far;
use super::since_data::IntervalSinceData;

/// Time from the newest captured data to a recovery.
#[derive(Debug)]
pub struct LostTail {
    /// Position after the newest captured data.
    end: i64,
    /// Bytes acknowledged since these data were sent.
    acked: i64,
    /// Time from then until the sender learned of the loss.
    length_ns: i64,
    /// Parts of the time until the retransmission.
    parts: Vec<IntervalSinceData>,
}

impl Direction {
    /// Notes the first retransmission of the first recovery.
    pub(super) fn note_lost_tail(&mut self, now: &PacketContext) {
        if !is_far(now) {
            return;
        }
        let parts = self.since_data.clone();
        let whole_ns: i64 = parts.iter().map(|part| part.length_ns).sum();
        self.lost_tail = Some(Box::new(LostTail {
            end: self.payload_end,
            acked: self.sender.snd_una - self.una_at_data,
            length_ns: whole_ns - self.sender.queue_ns,
            parts,
        }));
    }

    /// Data that the sender still had to send after the position `end`, and its limit after them;
    /// none if this is unknown.
    fn unseen_after(&self, end: i64) -> Option<(i64, Limit)> {
        if self.sender.is_linux() {
            return Some((self.highest_ack - end, Limit::Application));
        }
        self.last_partial.held_from.map(|start| (start - end, Limit::Nagle))
    }

    /// Attributes the time after the last data to the application or to Nagle's algorithm, at the
    /// end of the flow.
    pub(super) fn attribute_lost_tail(&mut self) {
        let Some(tail) = self.lost_tail.take() else { return };
        let Some((unseen, limit)) = self.unseen_after(tail.end) else { return };
        if unseen <= 0 || unseen >= tail.acked {
            return;
        }
        // Acknowledgments come at an even rate while the bottleneck is busy.
        let sending_ns = tail.length_ns / tail.acked * unseen;
        let mut at_ns = 0;
        for part in tail.parts {
            let from_ns = sending_ns.max(at_ns);
            at_ns += part.length_ns;
            let length_ns = at_ns.min(tail.length_ns) - from_ns;
            if length_ns > 0 && is_provisional(part.limit) {
                let of = (part.limit, part.episode);
                self.account.reassign(length_ns, of, (limit, None));
            }
        }
    }
}
