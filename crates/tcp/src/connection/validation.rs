//! Congestion window validation: the window may grow only while the sender makes use of it.
//!
//! *Reference.* RFC 7661 §3 (cwnd-limited), §4.2 (pipeACK), §4.3 and §4.4.1 (the two phases); for
//! Linux see `usage.rs`.
//!
//! *Equations.* pipeACK = the largest number of bytes acknowledged in a round trip during the last
//! max(3·SRTT, 1 s); undefined before the first round trip, and after a recovery. The window is
//! validated while pipeACK is undefined or at least cwnd/2.
//!
//! *Where we differ.* Only the growth follows RFC 7661. `slow_start_after_idle` handles pauses, and
//! the congestion control handles losses (not §4.4.2 and §4.4.3).

use super::usage::{FlightState, Usage};
use crate::congestion_control::{Ack, Window};
use crate::lazy::{Lazy, LazyDefault};
use crate::work;
use retx_units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Conditions under which an acknowledgment may grow the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CwndValidation {
    /// Always: RFC 5681 requires only that new data are acknowledged.
    None,
    /// While the window is full, or at least half of it was acknowledged in one of the last round
    /// trips (RFC 7661 §4.4.1).
    Rfc7661,
    /// While the window was full in the last round trip; in slow start while more than half of it
    /// was in flight (Linux `tcp_is_cwnd_limited`).
    Linux,
}

/// Recent use of the window.
#[derive(Debug, Clone)]
pub(crate) struct Validation {
    policy: CwndValidation,
    /// True if the window was full at some time since the last ACK of new data.
    full: bool,
    /// For `rfc7661`: true if there is more than one sample, so that the oldest may be out of date.
    several: bool,
    /// Bytes acknowledged in this round trip: at most two windows, hence below 2^31.
    round_bytes: u32,
    /// Position whose acknowledgment ends the round trip; 0 while none is counted.
    round_end: u64,
    past: Lazy<Past>,
}

/// Samples of the window's use in earlier round trips.
#[derive(Debug, Clone, Default)]
struct Past {
    /// For `rfc7661`: bytes acknowledged per round trip, in descending order, oldest first.
    samples: VecDeque<(Time, u64)>,
    /// For `linux`: use of the window.
    usage: Usage,
}

impl LazyDefault for Past {
    const DEFAULT: &'static Self = &Self { samples: VecDeque::new(), usage: *Usage::DEFAULT };
}

impl Validation {
    pub const fn new(policy: CwndValidation) -> Self {
        Self { policy, full: false, several: false, round_bytes: 0, round_end: 0, past: Lazy::NONE }
    }

    /// True for the policy of Linux.
    pub fn is_linux(&self) -> bool {
        self.policy == CwndValidation::Linux
    }

    /// Records the use of the window just after a transmission or an ACK. A window that is too
    /// small for another segment counts as full.
    #[inline(always)]
    pub fn on_flight(&mut self, flight_state: &FlightState, window: &Window, sent: bool) {
        if self.policy == CwndValidation::None {
            return;
        }
        let full = flight_state.pipe + u64::from(window.smss) > window.cwnd;
        match self.policy {
            CwndValidation::None => {}
            CwndValidation::Rfc7661 => self.full |= full,
            // `tcp_write_xmit` evaluates the window if it has sent something, or if the window is
            // full.
            CwndValidation::Linux if full || sent => self.past.usage.record_use(flight_state, full),
            CwndValidation::Linux => {}
        }
    }

    /// Records a deferral: the window is too small for a burst, and counts as full.
    pub fn on_deferral(&mut self, flight_state: &FlightState) {
        self.past.usage.record_use(flight_state, true);
    }

    /// Handles an acknowledgment of new data.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack) {
        if self.policy != CwndValidation::Rfc7661 {
            return;
        }
        if ack.in_recovery {
            return self.forget_rounds();
        }
        if ack.snd_una < self.round_end && !self.several {
            self.round_bytes += ack.bytes_acked as u32;
        } else {
            self.count(ack);
        }
    }

    /// Discards earlier samples: data delivered by a recovery show no use of the window (§4.2).
    fn forget_rounds(&mut self) {
        self.round_end = 0;
        self.several = false;
        if let Some(past) = self.past.allocated_mut() {
            past.samples.clear();
        }
    }

    /// True if an ACK of new data may grow the window.
    #[inline(always)]
    pub fn allows_growth(&self, window: &Window) -> bool {
        match self.policy {
            CwndValidation::None => true,
            CwndValidation::Linux => self.past.usage.is_limited(window),
            CwndValidation::Rfc7661 => {
                let pipe_ack = || self.past.samples.front().map(|sample| sample.1);
                self.full || pipe_ack().is_none_or(|bytes| bytes >= window.cwnd.div_ceil(2))
            }
        }
    }

    /// Called after an ACK of new data has been handled.
    pub fn end_ack(&mut self) {
        self.full = false;
    }

    /// Counts acknowledged data; begins or ends a round trip, and discards samples that are out of
    /// date.
    #[inline(never)]
    fn count(&mut self, ack: &Ack) {
        if self.round_end == 0 {
            (self.round_end, self.round_bytes) = (ack.snd_nxt, 0);
            return;
        }
        self.round_bytes += ack.bytes_acked as u32;
        if ack.snd_una >= self.round_end {
            self.past.add(ack.now, u64::from(self.round_bytes));
            (self.round_end, self.round_bytes) = (ack.snd_nxt, 0);
        }
        if self.past.samples.len() > 1 {
            self.past.drop_old(ack);
        }
        self.several = self.past.samples.len() > 1;
    }
}

impl Past {
    fn add(&mut self, now: Time, bytes: u64) {
        // An older and smaller sample cannot become the maximum any more. After its removal the
        // front of the queue is the maximum.
        while self.samples.back().is_some_and(|sample| sample.1 <= bytes) {
            work::steps(1);
            self.samples.pop_back();
        }
        if self.samples.capacity() == 0 {
            // Usually there is only one sample, because earlier ones are smaller or out of date.
            self.samples.reserve_exact(1);
        }
        self.samples.push_back((now, bytes));
    }

    fn drop_old(&mut self, ack: &Ack) {
        let period = ack.srtt.map_or(Duration::ZERO, |srtt| srtt.saturating_mul(3));
        let period = period.max(Duration::from_secs(1));
        // The newest sample stays until there is a newer one, even if it is out of date.
        while self.samples.len() > 1
            && self.samples.front().is_some_and(|sample| sample.0 + period < ack.now)
        {
            work::steps(1);
            self.samples.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { cwnd: 10_000, ssthresh: 5_000, smss: 1_000 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn ack(now: Time, bytes_acked: u64, snd_una: u64, snd_nxt: u64) -> Ack {
        Ack {
            now,
            bytes_acked,
            delivered: bytes_acked,
            flight_size: 0,
            rtt: None,
            srtt: None,
            snd_una,
            snd_nxt,
            cwnd_limited: false,
            in_recovery: false,
            receiver_time: None,
        }
    }

    fn samples(validation: &Validation) -> Vec<u64> {
        validation.past.samples.iter().map(|sample| sample.1).collect()
    }

    /// A window is full if it has no room for another segment.
    #[test]
    fn a_window_without_room_for_a_segment_is_full() {
        let full = |pipe| {
            let mut validation = Validation::new(CwndValidation::Rfc7661);
            validation.past.add(at(0), 1);
            let flight = FlightState { snd_una: 1, snd_max: 1 + pipe, pipe };
            validation.on_flight(&flight, &WINDOW, true);
            let full = validation.allows_growth(&WINDOW);
            validation.end_ack();
            assert!(!validation.allows_growth(&WINDOW), "until the next acknowledgment");
            full
        };
        assert_eq!([9_000, 9_001, 10_000].map(full), [false, true, true]);
    }

    /// `tcp_write_xmit` evaluates the window after a transmission, or if it is full.
    #[test]
    fn linux_evaluates_the_window_when_it_sends() {
        let allowed = |pipe, sent| {
            let mut validation = Validation::new(CwndValidation::Linux);
            let flight = FlightState { snd_una: 1, snd_max: 1 + pipe, pipe };
            let window = Window { ssthresh: u64::MAX, ..WINDOW };
            validation.on_flight(&flight, &window, sent);
            validation.allows_growth(&window)
        };
        assert_eq!(
            [(5_000, true), (5_001, true), (5_001, false)].map(|it| allowed(it.0, it.1)),
            [false, true, false]
        );
        assert!(allowed(9_001, false), "full");
    }

    /// RFC 7661 §4.2: pipeACK is what a round trip acknowledged. The window may grow while it is at
    /// least half of cwnd.
    #[test]
    fn a_round_trip_is_counted_to_its_end() {
        let mut validation = Validation::new(CwndValidation::Rfc7661);
        assert!(validation.allows_growth(&WINDOW), "undefined");
        validation.on_ack(&ack(at(0), 500, 1_001, 5_001));
        validation.on_ack(&ack(at(1), 2_000, 3_001, 9_001));
        assert!(samples(&validation).is_empty(), "the round trip ends at 5001");
        validation.on_ack(&ack(at(2), 2_000, 5_001, 9_001));
        assert_eq!(samples(&validation), [4_000], "the first ACK only begins the round trip");
        assert!(!validation.allows_growth(&WINDOW));
        for (cwnd, expected) in [(8_001, false), (8_000, true), (7_999, true)] {
            assert_eq!(validation.allows_growth(&Window { cwnd, ..WINDOW }), expected, "{cwnd}");
        }
        validation.on_ack(&ack(at(3), 3_000, 8_001, 12_001));
        assert_eq!(samples(&validation), [4_000]);
        validation.on_ack(&ack(at(4), 999, 9_001, 12_001));
        assert_eq!(samples(&validation), [4_000, 3_999], "a smaller sample replaces nothing");
        let recovering = Ack { in_recovery: true, ..ack(at(5), 1, 12_001, 12_001) };
        validation.on_ack(&recovering);
        assert!(samples(&validation).is_empty(), "a recovery shows no use");
        assert!(validation.round_end == 0 && !validation.several);
    }

    /// Only the largest sample of the last max(3·SRTT, 1 s) counts; the newest sample stays in any
    /// case.
    #[test]
    fn old_samples_expire() {
        let left = |srtt_ms: Option<u64>, now: u64| {
            let mut past = Past::default();
            past.add(at(0), 3_000);
            past.add(at(100), 2_000);
            past.add(at(200), 1_000);
            let srtt = srtt_ms.map(Duration::from_millis);
            past.drop_old(&Ack { srtt, ..ack(at(now), 1, 1, 1) });
            past.samples.iter().map(|sample| sample.1).collect::<Vec<_>>()
        };
        assert_eq!(left(None, 1_000), [3_000, 2_000, 1_000]);
        assert_eq!(left(None, 1_001), [2_000, 1_000]);
        assert_eq!(left(Some(300), 1_001), [2_000, 1_000], "at least a second");
        assert_eq!(left(Some(500), 1_500), [3_000, 2_000, 1_000]);
        assert_eq!(left(Some(500), 1_501), [2_000, 1_000]);
        assert_eq!(left(None, 9_000), [1_000], "the newest");
        let mut validation = Validation::new(CwndValidation::Rfc7661);
        (validation.round_end, validation.several) = (9_001, true);
        validation.past.add(at(0), 3_000);
        validation.past.add(at(100), 2_000);
        validation.on_ack(&ack(at(1_001), 1, 8_001, 12_001));
        assert_eq!((samples(&validation), validation.several), (vec![2_000], false));
    }

    /// The samples descend: a larger or equal one removes those before it.
    #[test]
    fn a_larger_sample_replaces_smaller_ones() {
        let mut past = Past::default();
        for (ms, bytes) in [(0, 3_000), (1, 1_000), (2, 2_000), (3, 2_000), (4, 1_999)] {
            past.add(at(ms), bytes);
        }
        assert_eq!(past.samples, [(at(0), 3_000), (at(3), 2_000), (at(4), 1_999)]);
    }
}
