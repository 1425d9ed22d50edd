//! Acknowledgments that the receiver delays, and the time for which they are the limit.

use super::account::Limit;
use super::acks::SEGMENTS_PER_DELAYED_ACK;
use super::direction::Direction;
use super::room::Growth;
use super::sender::{Ack, DELAYED_ACK_NS};

/// Shortest time for which a receiver delays the acknowledgment of a single segment: that of Linux
/// (`TCP_DELACK_MIN`), the shortest among common stacks.
pub(super) const DELAYED_ACK_MIN_NS: i64 = 40_000_000;

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

/// Time that was attributed to the receiver's delay of an acknowledgment, until the next data.
#[derive(Debug, Clone, Copy)]
pub struct AttributedDelay {
    /// Position after the data whose acknowledgment was delayed.
    end: i64,
    length_ns: i64,
    /// Limit and episode to which the time belonged before.
    of: (Limit, Option<usize>),
}

/// True if an acknowledgment would end this limit, so that a delayed acknowledgment may be the
/// reason for the wait.
const fn may_wait(limit: Limit) -> bool {
    matches!(limit, Limit::Window | Limit::EcnWindow | Limit::SlowStart | Limit::Recovery)
}

impl Direction {
    /// Minimum RTT of a full segment whose acknowledgment is not delayed. If the receiver may have
    /// delayed all acknowledgments of data, the handshake shows the RTT, although a SYN takes less
    /// time than a full segment.
    pub(super) fn undelayed_rtt_ns(&self) -> Option<i64> {
        let least = self.sender.rtt_min_ns?;
        let Some(loops_ns) = self.path.loops_ns.filter(|_| !self.path.has_undelayed_ack()) else {
            return Some(least);
        };
        match self.segment_ns() {
            // The rate in a damaged capture may be near zero.
            Some(segment_ns) => Some(least.min(loops_ns.saturating_add(segment_ns as i64))),
            // A slow link may be the reason, since its rate is unknown.
            None if least < loops_ns + DELAYED_ACK_MIN_NS => Some(least),
            None => Some(loops_ns),
        }
    }

    /// Records whether the receiver may be delaying the acknowledgment of all data sent, in an
    /// interval that ends now.
    pub(super) fn note_delayed_ack(&mut self, time_ns: i64, limit: Limit) {
        let (highest, duplicates) = self.sender.reported_arrivals();
        let end = self.scoreboard.end;
        let is_whole = (duplicates == 0 || self.has_resent_all()) && highest <= self.sender.snd_una;
        let is_known = self.delayed_acks.back().is_some_and(|held| held.end == end);
        if !is_whole || is_known || !may_wait(limit) {
            return;
        }
        if let Some(least) = self.undelayed_rtt_ns()
            && time_ns > self.busy_end_ns + least / 2
        {
            self.delayed_acks
                .push_back(DelayedAckInterval { end, due_ns: self.busy_end_ns + least });
            if self.delayed_acks.len() > HELD_MAX {
                self.delayed_acks.pop_front();
            }
        }
    }

    /// Handles data from the position `start`, before which nothing was captured since `end`. If
    /// the congestion window had room during a delay of an acknowledgment, the sender had sent the
    /// missing data before it. The receiver waited for these data, so it was not the limit.
    pub(super) fn take_back_delay(&mut self, start: i64, end: i64) {
        let Some(delay) = self.attributed_delay.take() else { return };
        if start > end && delay.end == end {
            self.account.reassign(delay.length_ns, (Limit::DelayedAck, None), delay.of);
        }
    }

    /// Lets the congestion window grow by an acknowledgment of so many bytes.
    fn grow_room(&mut self, acked: i64) {
        if self.sender.is_open() && acked > 0 {
            self.room.on_ack(
                acked,
                &Growth {
                    segment: self.largest_payload,
                    adds_all: self.sender.has_large_initial(),
                    is_slow_start: !self.sender.has_reduced,
                },
            );
        }
    }

    /// Determines whether the receiver has delayed this acknowledgment, and reassigns the time of
    /// the delay.
    pub(super) fn release(&mut self, ack: &Ack) {
        // Once everything is retransmitted after a timeout, duplicate ACKs answer data that had
        // arrived before, and show no gap.
        let shows_gap = (ack.is_duplicate || ack.fills_gap) && !self.had_resent_all;
        let is_gap = shows_gap || ack.sacked_from > 0;
        let least = self.undelayed_rtt_ns().unwrap_or(0);
        let limit = self.account.limit();
        // A receiver acknowledges two full segments at once (RFC 9293 §3.8.6.3).
        let acked = ack.ack - std::mem::replace(&mut self.last_ack, self.sender.snd_una);
        let had_room = self.room.left().is_none_or(|left| left >= self.largest_payload);
        self.grow_room(acked);
        let is_single = acked < SEGMENTS_PER_DELAYED_ACK * self.largest_payload;
        while let Some(held) = self.delayed_acks.front().copied().filter(|it| it.end <= ack.ack) {
            self.delayed_acks.pop_front();
            // Only the time since the current limit began can be reassigned; once the congestion
            // window has room, the limit is another one than before. An acknowledgment that
            // was sent after the limit began takes at least half a round trip to arrive.
            let start_ns = self.room.since_ns().unwrap_or(0).max(self.account.limit_start_ns());
            let from_ns = held.due_ns.max(start_ns + least / 2);
            let most_ns = ack.held_ns.unwrap_or(DELAYED_ACK_NS).min(DELAYED_ACK_NS);
            let length = (ack.effective_ns - from_ns).min(most_ns);
            // If the sender has already sent more than the data of `held`, it did not wait for this
            // acknowledgment, so the delay was not the limit.
            let is_all = held.end == self.scoreboard.end;
            let is_delayed = is_single && !is_gap && length > self.path.shortest_delay_ns();
            if is_all && is_delayed && may_wait(limit) {
                let of = (limit, self.episode_of(limit));
                let moved = self.account.reassign(length, of, (Limit::DelayedAck, None));
                self.split_time_since_data(moved, of);
                self.attributed_delay =
                    had_room.then_some(AttributedDelay { end: held.end, length_ns: moved, of });
            }
        }
        if is_gap {
            // Data were missing at the receiver, so it could not acknowledge; it did not delay the
            // ACK.
            self.delayed_acks.clear();
        }
    }
}
