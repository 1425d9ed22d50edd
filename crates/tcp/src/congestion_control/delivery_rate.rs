//! *What it does.* Samples of the rate at which the network delivers, one per acknowledgment.
//!
//! *Reference.* Cheng, Cardwell, Hassas Yeganeh & Jacobson, draft-cheng-iccrg-delivery-rate-
//! estimation; read: Linux `net/ipv4/tcp_rate.c` (`tcp_rate_skb_sent`, `tcp_rate_skb_delivered`,
//! `tcp_rate_gen`, `tcp_rate_check_app_limited`).
//!
//! *Equations.* With P the newest segment that an ACK delivers: segments = delivered −
//! P.delivered; interval = max(P.sent − P.first_sent, now − P.delivered_at). A sample is invalid
//! when its interval is shorter than the least RTT of five minutes. It is limited by the
//! application when P was sent while what had been in flight at a shortage of data was not yet
//! delivered.
//!
//! *Where we differ.* Nanoseconds, not microseconds. The RTT is that of the newest segment
//! delivered; Linux takes that of the last one acknowledged, and none when any of those was sent
//! twice.

use super::windowed::WindowedMin;
use super::{Delivery, Sent};
use crate::work;
use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// How long the least RTT counts (Linux's `tcp_min_rtt_wlen`).
const LEAST_RTT_WINDOW: Duration = Duration::from_secs(300);

/// A segment in flight: what was known when it was sent last.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    /// The position after it.
    end: u64,
    sent: Time,
    /// Segments delivered by then, …
    delivered: u64,
    /// … and when the last of them was.
    delivered_at: Time,
    /// When the segment was sent that the newest acknowledgment had delivered.
    first_sent: Time,
    is_app_limited: bool,
    /// It had been sent before.
    again: bool,
}

impl Stamp {
    /// Sent later, or at the same time and further on in the stream.
    fn is_after(&self, other: &Self) -> bool {
        (self.sent, self.end) > (other.sent, other.end)
    }
}

/// A sample of the delivery rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Segments delivered …
    pub segments: u64,
    /// … in this time, which is not zero.
    pub interval: Duration,
    /// Segments delivered before its first.
    pub prior_delivered: u64,
}

/// What an acknowledgment says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading {
    /// It has delivered a segment whose stamps are known.
    pub delivers: bool,
    /// A valid sample.
    pub sample: Option<Sample>,
    /// The sample says more about the application than about the path.
    pub is_app_limited: bool,
    /// RTT of the newest segment delivered, if it was sent once.
    pub rtt: Option<Duration>,
    /// The receiver may have held it back: it delivers a lone short segment.
    pub may_be_delayed: bool,
}

/// The sampler.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryRate {
    flying: VecDeque<Stamp>,
    /// Segments delivered, the SYN counted.
    pub delivered: u64,
    /// When the last of them was.
    pub delivered_at: Time,
    first_sent: Time,
    /// Until so many are delivered, samples are limited by the application; 0 when they are not.
    app_limited: u64,
    least_rtt: WindowedMin,
}

impl DeliveryRate {
    pub fn new() -> Self {
        Self {
            flying: VecDeque::new(),
            delivered: 1,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            app_limited: 0,
            least_rtt: WindowedMin::new(LEAST_RTT_WINDOW.as_nanos()),
        }
    }

    /// The handshake is over, and took so long.
    pub fn on_connected(&mut self, now: Time, rtt: Option<Duration>) {
        self.flying.clear();
        self.delivered_at = now;
        if let Some(rtt) = rtt {
            self.least_rtt.add(now.as_nanos(), rtt.as_nanos());
        }
    }

    /// The least RTT, if there was a sample.
    pub fn least_rtt(&self) -> Option<Duration> {
        let least = self.least_rtt.min();
        (least < u64::MAX).then(|| Duration::from_nanos(least))
    }

    /// True while samples are limited by the application.
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Nothing is left to send, with so many segments in flight.
    pub fn on_app_limited(&mut self, flight: u64) {
        self.app_limited = (self.delivered + flight).max(1);
    }

    /// Data were sent.
    pub fn on_sent(&mut self, sent: &Sent) {
        if !sent.retransmission && sent.flight_size <= u64::from(sent.bytes) {
            self.first_sent = sent.now;
            self.delivered_at = sent.now;
        }
        let end = sent.position + u64::from(sent.bytes);
        let stamp = Stamp {
            end,
            sent: sent.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_app_limited: self.app_limited > 0,
            again: sent.retransmission,
        };
        let known = self.flying.back().map_or(0, |last| last.end);
        if sent.retransmission && sent.position < known {
            let first = self.flying.partition_point(|it| it.end <= sent.position);
            for flying in self.flying.range_mut(first..) {
                work::steps(1);
                *flying = Stamp { end: flying.end, ..stamp };
                if flying.end >= end {
                    break;
                }
            }
        }
        if end > known {
            self.flying.push_back(stamp);
        }
    }

    /// An acknowledgment.
    pub fn on_ack(&mut self, ack: &Delivery) -> Reading {
        self.delivered += ack.segments;
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let newest = self.take_newest(ack);
        if ack.segments > 0 {
            self.delivered_at = ack.now;
        }
        let Some(newest) = newest else { return Reading::default() };
        self.first_sent = newest.sent;
        let rtt = (!newest.again).then(|| ack.now.since(newest.sent)).or(ack.rtt);
        if let Some(rtt) = rtt {
            self.least_rtt.add(ack.now.as_nanos(), rtt.as_nanos());
        }
        let sending = newest.sent.since(newest.first_sent);
        let interval = ack.now.since(newest.delivered_at).max(sending);
        let is_valid = !interval.is_zero() && interval.as_nanos() >= self.least_rtt_or_zero();
        let sample = Sample {
            segments: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
        };
        Reading {
            delivers: true,
            sample: is_valid.then_some(sample),
            is_app_limited: newest.is_app_limited,
            rtt,
            may_be_delayed: ack.segments == 1
                && ack.is_short
                && newest.delivered + 1 == self.delivered,
        }
    }

    fn least_rtt_or_zero(&self) -> u64 {
        self.least_rtt().map_or(0, Duration::as_nanos)
    }

    /// The stamps of the newest segment that an acknowledgment delivers; those of all that it
    /// acknowledges cumulatively are let go.
    fn take_newest(&mut self, ack: &Delivery) -> Option<Stamp> {
        let mut newest = ack.newest.and_then(|end| {
            let index = self.flying.partition_point(|it| it.end < end);
            self.flying.get(index).copied()
        });
        while let Some(stamp) = self.flying.front().filter(|it| it.end <= ack.snd_una) {
            work::steps(1);
            if !ack.is_selective && newest.is_none_or(|newest| stamp.is_after(&newest)) {
                newest = Some(*stamp);
            }
            self.flying.pop_front();
        }
        newest
    }
}
