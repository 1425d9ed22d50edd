//! Acknowledgments that the receiver delays, and the time for which they are the limit.

use super::account::Limit;
use super::acks::SEGMENTS_PER_DELAYED_ACK;
use super::direction::Direction;
use super::sender::{Ack, DELAYED_ACK_NS};

/// Shortest wait for an acknowledgment that is attributed to the receiver's delay.
pub(super) const DELAYED_MIN_NS: i64 = 500_000;

/// Maximum number of stored intervals in which the receiver may delay an acknowledgment
/// ([`DelayedAckInterval`]).
const HELD_MAX: usize = 64;

/// Interval in which all data sent may have arrived while the receiver delays the acknowledgment.
#[derive(Debug, Clone, Copy)]
pub struct DelayedAckInterval {
    /// Position after the data whose acknowledgment the receiver may be delaying.
    pub(super) end: i64,
    /// Time at which the acknowledgment would take effect without the delay.
    due_ns: i64,
}

/// True if an acknowledgment would end this limit, so that a delayed acknowledgment may be the
/// reason for the wait.
const fn may_wait(limit: Limit) -> bool {
    matches!(limit, Limit::Window | Limit::EcnWindow | Limit::SlowStart | Limit::Recovery)
}

impl Direction {
    /// Records whether the receiver may be delaying the acknowledgment of all data sent, in an
    /// interval that ends now.
    pub(super) fn note_delayed_ack(&mut self, time_ns: i64, limit: Limit) {
        let (highest, duplicates) = self.sender.reported_arrivals();
        let is_whole = duplicates == 0 && highest <= self.sender.snd_una;
        let end = self.scoreboard.end;
        let is_known = self.delayed_acks.back().is_some_and(|held| held.end == end);
        if !is_whole || is_known || !may_wait(limit) {
            return;
        }
        if let Some(least) = self.sender.rtt_min_ns
            && time_ns > self.busy_end_ns + least / 2
        {
            self.delayed_acks
                .push_back(DelayedAckInterval { end, due_ns: self.busy_end_ns + least });
            if self.delayed_acks.len() > HELD_MAX {
                self.delayed_acks.pop_front();
            }
        }
    }

    /// Determines whether the receiver has delayed this acknowledgment, and reassigns the time of
    /// the delay.
    pub(super) fn release(&mut self, ack: &Ack) {
        let is_gap = ack.is_duplicate || ack.sacked_from > 0 || ack.fills_gap;
        let least = self.sender.rtt_min_ns.unwrap_or(0);
        let limit = self.account.limit();
        // A receiver acknowledges two full segments at once (RFC 9293 §3.8.6.3).
        let acked = ack.ack - std::mem::replace(&mut self.last_ack, self.sender.snd_una);
        let is_single = acked < SEGMENTS_PER_DELAYED_ACK * self.largest_payload;
        while let Some(held) = self.delayed_acks.front().copied().filter(|it| it.end <= ack.ack) {
            self.delayed_acks.pop_front();
            // Only the time since the current limit began can be reassigned. An acknowledgment that
            // was sent after the limit began takes at least half a round trip to arrive.
            let from_ns = held.due_ns.max(self.account.limit_start_ns() + least / 2);
            let most_ns = ack.held_ns.unwrap_or(DELAYED_ACK_NS).min(DELAYED_ACK_NS);
            let length = (ack.effective_ns - from_ns).min(most_ns);
            // If the sender has already sent more than the data of `held`, it did not wait for this
            // acknowledgment, so the delay was not the limit.
            let is_all = held.end == self.scoreboard.end;
            if is_all && is_single && length > DELAYED_MIN_NS && may_wait(limit) && !is_gap {
                let of = (limit, self.episode_of(limit));
                let moved = self.account.reassign(length, of, (Limit::DelayedAck, None));
                self.shorten_time_since_data(moved, of);
            }
        }
        if is_gap {
            // Data were missing at the receiver, so it could not acknowledge; it did not delay the
            // ACK.
            self.delayed_acks.clear();
        }
    }
}
