//! *What it does.* Samples the rate at which the network delivers data, once per acknowledgment.
//!
//! *Reference.* Cheng, Cardwell, Hassas Yeganeh & Jacobson, draft-cheng-iccrg-delivery-rate-
//! estimation; read: Linux `net/ipv4/tcp_rate.c` (`tcp_rate_skb_sent`, `tcp_rate_skb_delivered`,
//! `tcp_rate_gen`, `tcp_rate_check_app_limited`).
//!
//! *Equations.* P is the newest segment that an ACK delivers, and P.sent its transmission time. At
//! that time, P.delivered is the number of segments delivered, P.delivered_at the time of the last
//! delivery, and P.first_sent the transmission time of the segment delivered last.
//!
//! - segments = delivered − P.delivered
//! - interval = max(P.sent − P.first_sent, now − P.delivered_at)
//!
//! A sample is invalid if its interval is shorter than the minimum RTT of the last five minutes.
//! When the application runs out of data, samples are application-limited for all segments P that
//! are sent before the data then in flight have been delivered.
//!
//! *Where we differ.* Times are in nanoseconds, not microseconds. The RTT is that of the newest
//! segment delivered. Linux uses that of the last segment acknowledged, and has none if one of the
//! acknowledged segments was retransmitted.

use super::windowed_filter::WindowedMin;
use super::{Delivery, Sent};
use crate::ring::Ring;
use crate::work;
use retx_units::{Duration, Time};

/// Length of the minimum RTT filter (Linux's `tcp_min_rtt_wlen`).
const LEAST_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Segment in flight, with the state at its most recent transmission.
#[derive(Debug, Clone, Copy, Default)]
struct Stamp {
    /// Position after the segment.
    end: u64,
    sent: Time,
    /// Number of segments delivered before this transmission.
    delivered: u64,
    /// Time of the most recent delivery before this transmission.
    delivered_at: Time,
    /// Transmission time of the segment that was delivered last before this transmission.
    first_sent: Time,
    is_app_limited: bool,
    /// True if the segment is a retransmission.
    again: bool,
}

impl Stamp {
    /// True if this segment was sent later than `other`, or at the same time and lies further on in
    /// the stream.
    fn is_after(&self, other: &Self) -> bool {
        (self.sent, self.end) > (other.sent, other.end)
    }
}

/// A sample of the delivery rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Number of segments delivered.
    pub segments: u64,
    /// Time that the delivery of the sampled segments took; above zero.
    pub interval: Duration,
    /// Number of segments delivered before the newest segment of this sample was sent.
    pub prior_delivered: u64,
}

/// Evaluation of an acknowledgment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckEvaluation {
    /// True if the acknowledgment delivers a segment whose stamps are known.
    pub delivers: bool,
    /// Valid sample, if any.
    pub sample: Option<Sample>,
    /// True if the sample is limited by the application rather than the path.
    pub is_app_limited: bool,
    /// RTT of the newest segment delivered, if it was sent once.
    pub rtt: Option<Duration>,
    /// True if the receiver may have delayed the acknowledgment, which delivers a single short
    /// segment.
    pub may_be_delayed: bool,
}

/// Estimator of the delivery rate.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryRate {
    flying: Ring<Stamp>,
    /// Number of segments delivered, SYN included.
    pub delivered: u64,
    /// Time of the most recent delivery.
    pub delivered_at: Time,
    first_sent: Time,
    /// Number of delivered segments up to which samples are limited by the application; 0 if they
    /// are not.
    app_limited: u64,
    least_rtt: WindowedMin,
}

impl DeliveryRate {
    pub fn new() -> Self {
        Self {
            flying: Ring::EMPTY,
            delivered: 1,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            app_limited: 0,
            least_rtt: WindowedMin::new(LEAST_RTT_WINDOW.as_nanos()),
        }
    }

    /// Handles the end of the handshake with its RTT.
    pub fn on_connected(&mut self, now: Time, rtt: Option<Duration>) {
        self.flying = Ring::EMPTY;
        self.delivered_at = now;
        if let Some(rtt) = rtt {
            self.least_rtt.add(now.as_nanos(), rtt.as_nanos());
        }
    }

    /// Minimum RTT; `None` without a sample.
    pub fn least_rtt(&self) -> Option<Duration> {
        let least = self.least_rtt.min();
        (least < u64::MAX).then(|| Duration::from_nanos(least))
    }

    /// True while samples are limited by the application.
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Records that no data are left to send, with `flight` segments in flight.
    pub fn on_app_limited(&mut self, flight: u64) {
        // The value is at least 1, since 0 means that the application is not the limit.
        self.app_limited = (self.delivered + flight).max(1);
    }

    /// Handles data that are sent.
    pub fn on_sent(&mut self, sent: &Sent) {
        // `tcp_rate_skb_sent`: with nothing in flight a new interval begins, which leaves out the
        // pause.
        if !sent.retransmission && sent.flight_size <= u64::from(sent.bytes) {
            self.first_sent = sent.now;
            self.delivered_at = sent.now;
        }
        let stamp = self.stamp(sent);
        let end = stamp.end;
        let known = self.flying.back().map_or(0, |last| last.end);
        if sent.retransmission && sent.position < known {
            // A retransmission may cover several segments, each of which keeps its own end.
            let mut index = self.first_ending_at(sent.position + 1);
            while let Some(flying) = self.flying.get_mut(index) {
                work::steps(1);
                *flying = Stamp { end: flying.end, ..stamp };
                if flying.end >= end {
                    break;
                }
                index += 1;
            }
        }
        if end > known {
            self.flying.push_back(stamp);
        }
    }

    /// Like [`Self::on_sent`], for new data that are sent while other data are in flight.
    #[inline(always)]
    pub fn on_next_data(&mut self, sent: &Sent) {
        self.flying.push_back(self.stamp(sent));
    }

    #[inline(always)]
    fn stamp(&self, sent: &Sent) -> Stamp {
        Stamp {
            end: sent.position + u64::from(sent.bytes),
            sent: sent.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_app_limited: self.app_limited > 0,
            again: sent.retransmission,
        }
    }

    /// Evaluates an acknowledgment.
    pub fn on_ack(&mut self, ack: &Delivery) -> AckEvaluation {
        self.delivered += ack.delivered_segments;
        // All data in flight at the shortage have been delivered.
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let newest = self.take_newest(ack);
        if ack.delivered_segments > 0 {
            self.delivered_at = ack.now;
        }
        let Some(newest) = newest else { return AckEvaluation::default() };
        // The sending interval of later samples begins here.
        self.first_sent = newest.sent;
        let rtt = (!newest.again).then(|| ack.now.since(newest.sent)).or(ack.rtt);
        if let Some(rtt) = rtt {
            self.least_rtt.add(ack.now.as_nanos(), rtt.as_nanos());
        }
        let sending = newest.sent.since(newest.first_sent);
        // The longer of the sending and the acknowledging interval counts: with compressed ACKs,
        // the acknowledging interval alone would give a rate above that of the path.
        let interval = ack.now.since(newest.delivered_at).max(sending);
        // An unnecessary retransmission may shorten the interval to less than the minimum RTT, and
        // so raise the rate.
        let is_valid = !interval.is_zero() && interval.as_nanos() >= self.least_rtt_or_zero();
        let sample = Sample {
            segments: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
        };
        AckEvaluation {
            delivers: true,
            sample: is_valid.then_some(sample),
            is_app_limited: newest.is_app_limited,
            rtt,
            // `FLAG_ACK_MAYBE_DELAYED`: the segment is short, and no other was delivered during its
            // round trip.
            may_be_delayed: ack.delivered_segments == 1
                && ack.is_short
                && newest.delivered + 1 == self.delivered,
        }
    }

    /// Index of the first segment that ends at `position` or after it.
    fn first_ending_at(&self, position: u64) -> usize {
        // Most segments have equal lengths, so the index can usually be computed.
        if let (Some(front), Some(back)) = (self.flying.front(), self.flying.back()) {
            let (before, all) = (position.saturating_sub(front.end), back.end - front.end);
            let steps = self.flying.len() as u64 - 1;
            let index = (before * steps).div_ceil(all.max(1)) as usize;
            let reaches =
                |index: usize| self.flying.get(index).is_some_and(|it| it.end >= position);
            if reaches(index) && (index == 0 || !reaches(index - 1)) {
                return index;
            }
        }
        self.flying.partition_point(|it| it.end < position)
    }

    fn least_rtt_or_zero(&self) -> u64 {
        self.least_rtt().map_or(0, Duration::as_nanos)
    }

    /// Returns the stamps of the newest segment delivered by an acknowledgment, and removes those
    /// of all cumulatively acknowledged segments.
    fn take_newest(&mut self, ack: &Delivery) -> Option<Stamp> {
        let mut newest = ack.newest.and_then(|end| {
            let index = self.first_ending_at(end);
            self.flying.get(index).copied()
        });
        while let Some(stamp) = self.flying.front().filter(|it| it.end <= ack.snd_una) {
            work::steps(1);
            // Without SACK the newest of the acknowledged segments is the one that was sent last.
            if !ack.is_selective && newest.is_none_or(|newest| stamp.is_after(&newest)) {
                newest = Some(*stamp);
            }
            self.flying.pop_front();
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::at;
    use super::*;
    use crate::congestion_control::Phase;

    const MS: Duration = Duration::from_millis(1);

    fn sent(ms: u64, position: u64, retransmission: bool) -> Sent {
        let flight_size = if position == 1 && !retransmission { 1000 } else { 9000 };
        Sent { now: at(ms), position, bytes: 1000, flight_size, retransmission }
    }

    fn acked(ms: u64, snd_una: u64, segments: u64) -> Delivery {
        Delivery {
            now: at(ms),
            snd_una,
            delivered_segments: segments,
            is_selective: false,
            newest: None,
            is_short: false,
            lost: 0,
            lost_total: 0,
            flight_before: 0,
            flight: 0,
            phase: Phase::Open,
            rtt: None,
            srtt: None,
            pacing_delay: Duration::ZERO,
        }
    }

    /// Two segments sent at 0 and 1 ms.
    fn two() -> DeliveryRate {
        let mut rate = DeliveryRate::new();
        rate.on_sent(&sent(0, 1, false));
        rate.on_sent(&sent(1, 1001, false));
        rate
    }

    /// `tcp_rate_skb_delivered`: without SACK the segment sent last counts, however the segments
    /// lie in the stream; with SACK the caller names it.
    #[test]
    fn the_newest_segment_is_the_one_sent_last() {
        assert_eq!(two().on_ack(&acked(100, 2001, 2)).rtt, Some(MS * 99));
        let mut rate = two();
        rate.on_sent(&sent(50, 1, true));
        assert_eq!(rate.on_ack(&acked(100, 2001, 2)).rtt, None, "sent twice");
        assert_eq!(rate.first_sent, at(50));
        let named = Delivery { is_selective: true, newest: Some(1001), ..acked(100, 2001, 2) };
        assert_eq!(two().on_ack(&named).rtt, Some(MS * 100));
        let unnamed = Delivery { is_selective: true, ..acked(100, 2001, 2) };
        assert!(!two().on_ack(&unnamed).delivers);
    }

    /// Only a retransmission replaces the stamps of data in flight.
    #[test]
    fn new_data_leave_the_stamps_alone() {
        let mut rate = two();
        rate.on_sent(&sent(5, 1001, false));
        assert_eq!(rate.flying.iter().map(|it| it.sent).collect::<Vec<_>>(), [at(0), at(1)]);
        rate.on_sent(&sent(5, 1001, true));
        assert_eq!(rate.flying.iter().map(|it| it.sent).collect::<Vec<_>>(), [at(0), at(5)]);
    }

    #[test]
    fn the_least_rtt_is_that_of_the_handshake_or_less() {
        let mut rate = DeliveryRate::new();
        assert_eq!(rate.least_rtt(), None);
        rate.on_connected(at(0), Some(MS * 20));
        assert_eq!(rate.least_rtt(), Some(MS * 20));
        rate.on_sent(&sent(0, 1, false));
        rate.on_ack(&acked(15, 1001, 1));
        assert_eq!(rate.least_rtt(), Some(MS * 15));
    }

    /// `tcp_rate_check_app_limited` sets `app_limited` to delivered + in flight. `tcp_rate_gen`
    /// clears it once more than that has been delivered.
    #[test]
    fn a_shortage_ends_when_more_than_the_data_in_flight_are_delivered() {
        let mut rate = DeliveryRate::new();
        assert!(!rate.is_app_limited());
        rate.on_app_limited(3);
        assert_eq!(rate.app_limited, 4, "with the SYN");
        for (segments, limited) in [(0, true), (3, true), (1, false)] {
            rate.on_ack(&acked(1, 1, segments));
            assert_eq!(rate.is_app_limited(), limited, "{}", rate.delivered);
        }
    }

    /// `tcp_rate_gen`: a sample over less than the minimum RTT comes from an unnecessary
    /// retransmission. Here both segments are repeated and acknowledged 1 ms later.
    #[test]
    fn a_sample_over_less_than_the_minimum_rtt_is_invalid() {
        for (least, is_valid) in [(None, true), (Some(2), true), (Some(3), false)] {
            let mut rate = DeliveryRate::new();
            rate.on_connected(at(0), least.map(|ms| MS * ms));
            rate.on_sent(&sent(0, 1, false));
            rate.on_sent(&sent(0, 1001, false));
            rate.on_sent(&sent(24, 1, true));
            rate.on_ack(&acked(25, 1001, 1));
            rate.on_sent(&sent(26, 1001, true));
            let evaluation = rate.on_ack(&acked(27, 2001, 1));
            let valid = Sample { segments: 1, interval: MS * 2, prior_delivered: 2 };
            assert_eq!(evaluation.sample, is_valid.then_some(valid), "{least:?}");
        }
    }

    /// `FLAG_ACK_MAYBE_DELAYED`: the ACK of a single short segment, alone in its round trip, may
    /// have been delayed.
    #[test]
    fn the_acknowledgment_of_a_lone_short_segment_may_be_delayed() {
        for (segments, is_short, before, delayed) in [
            (1, true, 0, true),
            (1, false, 0, false),
            (2, true, 0, false),
            (2, false, 0, false),
            (1, true, 1, false),
            (1, false, 1, false),
        ] {
            let mut rate = DeliveryRate::new();
            rate.on_sent(&sent(0, 1, false));
            rate.delivered += before;
            let delivery = Delivery { is_short, ..acked(9, 1001, segments) };
            let seen = rate.on_ack(&delivery).may_be_delayed;
            assert_eq!(seen, delayed, "{segments} {is_short} {before}");
        }
    }
}
