//! Clocks: RTT samples, timestamps, and the grid on which timers fire.

use super::{Connection, Event};
use crate::RttSamples;
use crate::rto::{self, Estimator};
use crate::scoreboard::{Delivered, RemovedSegments};
use retx_units::{Duration, Time};
use retx_wire::{Segment, Timestamps};

/// Number of ticks covered by the first level of the timer wheel (`kernel/time/timer.c`,
/// `calc_wheel_index`).
const WHEEL_LEVEL: u64 = 63;
/// Binary logarithm of the factor by which range and step grow from level to level.
const WHEEL_SHIFT: u32 = 3;
/// Number of levels of the timer wheel.
const WHEEL_LEVELS: u32 = 9;

impl Connection {
    /// Expiry of a timer of this length that starts now, rounded up to a tick or to the timer
    /// wheel.
    pub(super) fn deadline(&self, now: Time, wait: Duration) -> Time {
        let tick = self.parameters.timer_granularity;
        if !self.parameters.timer_wheel || tick.is_zero() {
            return (now + wait).align_up(tick);
        }
        on_wheel(now, wait, tick)
    }

    /// Expiry of a delayed acknowledgment, whose timer is exact except in Linux.
    pub(super) fn ack_deadline(&self, now: Time, wait: Duration) -> Time {
        if self.parameters.timer_wheel { self.deadline(now, wait) } else { now + wait }
    }

    /// Removes and returns the next event ([`Self::poll_event`]) if it is an RTT sample.
    #[inline]
    pub fn poll_rtt(&mut self) -> Option<Duration> {
        self.events.pop_rtt()
    }

    /// Evaluates and returns the RTT sample of an acknowledgment of new data; `None` if it gives
    /// none.
    pub(super) fn sample_rtt(
        &mut self,
        now: Time,
        segment: &Segment,
        selective: Option<&Delivered>,
    ) -> Option<Duration> {
        let ack = self.sender.snd_una;
        // The sender's own clock is preferred: a tick of the timestamp clock is a millisecond or
        // more.
        let exact = match self.parameters.rtt_samples {
            RttSamples::Timed => self.rtt_of_timed(now, ack),
            RttSamples::EveryAck => self.rtt_of_segments(now, ack, selective),
        };
        if let Some(rtt) = exact {
            self.apply_rtt_sample(rtt);
            return exact;
        }
        let echo = segment.options.timestamps.filter(|_| self.timestamps)?.echo;
        let rtt = self.rtt_of_echo(now, echo)?;
        self.apply_echoed_rtt(rtt);
        Some(rtt)
    }

    /// Like [`Self::sample_rtt`], if nothing is out of order and neither end uses timestamps.
    #[inline]
    pub(super) fn rtt_in_order(
        &mut self,
        now: Time,
        ack: u64,
        taken: Option<&RemovedSegments>,
    ) -> Option<Duration> {
        let sent = match (self.parameters.rtt_samples, taken) {
            (RttSamples::Timed, _) => return self.rtt_of_timed(now, ack),
            (RttSamples::EveryAck, Some(taken)) => taken.first_sent,
            (RttSamples::EveryAck, None) => {
                self.sender.send_times.allocated_mut().and_then(|times| times.take_acked(ack))
            }
        };
        sent.map(|sent| self.measured_rtt(now, sent))
    }

    /// Sample of the timed segment: exact, and never of a retransmitted one (Karn, RFC 6298 §3).
    pub(super) fn rtt_of_timed(&mut self, now: Time, ack: u64) -> Option<Duration> {
        let timed = self.sender.timed.filter(|timed| timed.is_covered(ack))?;
        self.sender.timed = None;
        Some(self.measured_rtt(now, timed.sent))
    }

    /// Sample of the earliest segment acknowledged, if none of those acknowledged was
    /// retransmitted; otherwise of the earliest one selectively acknowledged (Linux
    /// `tcp_clean_rtx_queue`).
    fn rtt_of_segments(
        &mut self,
        now: Time,
        ack: u64,
        selective: Option<&Delivered>,
    ) -> Option<Duration> {
        let sent = match selective {
            Some(delivered) => delivered.rtt_sent(),
            None => self.sender.send_times.allocated_mut().and_then(|times| times.take_acked(ack)),
        };
        sent.map(|sent| self.measured_rtt(now, sent))
    }

    /// Evaluates the RTT sample of a duplicate ACK, if selective acknowledgments give samples.
    pub(super) fn sample_sack_rtt(&mut self, now: Time, delivered: &Delivered) {
        if self.parameters.rtt_samples == RttSamples::EveryAck
            && let Some(sent) = delivered.rtt_sent()
        {
            self.apply_rtt_sample(self.measured_rtt(now, sent));
            self.sender.pass_sample_to_backoff();
        }
    }

    /// Time since the echoed timestamp (RFC 7323 §4.1).
    pub(super) fn rtt_of_echo(&self, now: Time, echo: u32) -> Option<Duration> {
        // An echo that lies ahead of our clock, modulo 2^32, is not one of our timestamps.
        let ticks = self.timestamp(now).wrapping_sub(echo);
        (echo != 0 && (ticks as i32) >= 0)
            .then(|| Duration::from_nanos(u64::from(ticks) * self.timestamp_tick().as_nanos()))
    }

    /// Passes a raw RTT sample to all its users.
    pub(super) fn apply_rtt_sample(&mut self, rtt: Duration) {
        self.apply_rtt_sample_inline(rtt);
    }

    /// Like [`Self::apply_rtt_sample`], for a timestamp echo. If every segment is timed, echoes are
    /// used for retransmitted segments only; such a sample is then reported as a separate event,
    /// because it may exceed the RTT.
    pub(super) fn apply_echoed_rtt(&mut self, rtt: Duration) {
        self.learn_rtt(rtt);
        self.events.push_back(match self.parameters.rtt_samples {
            RttSamples::Timed => Event::Rtt(rtt),
            RttSamples::EveryAck => Event::EchoedRtt(rtt),
        });
    }

    /// Like [`Self::apply_rtt_sample`], inlined.
    #[inline(always)]
    pub(super) fn apply_rtt_sample_inline(&mut self, rtt: Duration) {
        self.learn_rtt(rtt);
        self.events.push_back(Event::Rtt(rtt));
    }

    #[inline(always)]
    fn learn_rtt(&mut self, rtt: Duration) {
        let sender = &mut self.sender;
        let limits = &self.parameters.limits;
        let (una, next) = (sender.snd_una, sender.snd_nxt);
        match &mut sender.estimator {
            // Linux's estimator is called directly, so that the call can be inlined.
            rto::State::linux(estimator) => estimator.on_rtt(rtt, una, next, limits),
            other => other.on_rtt(rtt, una, next, limits),
        }
        if sender.repair.get().is_some_and(|repair| repair.rtt_restart.is_some()) {
            sender.restart_rtt(rtt, limits);
        }
        sender.last_rtt = rtt;
        sender.least_rtt = sender.least_rtt.min(rtt);
    }

    /// Time since `sent`, on a clock of `rtt_granularity`.
    pub(super) fn measured_rtt(&self, now: Time, sent: Time) -> Duration {
        let tick = self.parameters.rtt_granularity;
        now.align_down(tick).since(sent.align_down(tick))
    }

    /// Time on the peer's timestamp clock, which is assumed to tick like ours.
    pub(super) fn receiver_time(&self, segment: &Segment) -> Option<Duration> {
        segment.options.timestamps.filter(|_| self.timestamps).map(|it| self.receiver_time_of(it))
    }

    /// Time on the peer's timestamp clock when it sent these timestamps.
    #[inline]
    pub(super) fn receiver_time_of(&self, timestamps: Timestamps) -> Duration {
        self.timestamp_tick() * u64::from(timestamps.value)
    }

    /// Tick of the timestamp clock: 1 ms, or the unit of RTT measurements if coarser (RFC 7323
    /// §5.4).
    fn timestamp_tick(&self) -> Duration {
        self.parameters.rtt_granularity.max(Duration::from_millis(1))
    }

    /// TSval at this instant; never 0, which would look like a missing echo.
    pub(super) fn timestamp(&self, now: Time) -> u32 {
        (now.as_nanos() / self.timestamp_tick().as_nanos()) as u32 + 1
    }
}

/// Expiry on the timer wheel. A wait of d ticks from tick j on ends at tick (((j + d) >> s) + 1) <<
/// s, which is never early, and late by at most one step.
fn on_wheel(now: Time, wait: Duration, tick: Duration) -> Time {
    let tick = tick.as_nanos();
    let ticks = wait.as_nanos().div_ceil(tick);
    // The first level L for which `ticks` is less than 63 · 8^L.
    let level = (ticks / WHEEL_LEVEL).checked_ilog2().map_or(0, |log| log / WHEEL_SHIFT + 1);
    let level = level.min(WHEEL_LEVELS - 1);
    let shift = WHEEL_SHIFT * level;
    let expires = (now.as_nanos() / tick).saturating_add(ticks);
    Time::from_nanos((((expires >> shift) + 1) << shift).saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timers::KnownDeadline;

    /// A recorded deadline is found for all waits that end at the same time, and for no others.
    #[test]
    fn a_known_deadline_is_that_of_the_wheel() {
        let (us, tick) = (Duration::from_micros, Duration::from_millis(4));
        let at = |micros| Time::ZERO + us(micros);
        for (begins, wait) in [(0, 0), (0, 4_000), (5_500, 4_001), (7_999, 240_000)] {
            let mut known = KnownDeadline::NONE;
            assert_eq!(known.find(at(begins), us(wait), tick), None);
            known.record(at(begins), us(wait), tick, on_wheel(at(begins), us(wait), tick));
            for begins in (0..16_000).step_by(500) {
                for wait in (0..260_000).step_by(500) {
                    if let Some(found) = known.find(at(begins), us(wait), tick) {
                        assert_eq!(found, on_wheel(at(begins), us(wait), tick), "{begins} {wait}");
                    }
                }
            }
            assert!(known.find(at(begins), us(wait), tick).is_some() || wait == 0);
        }
    }

    /// Observed on Linux 6.18 with HZ = 250: timers of 224 ms expire after 224 to 228 ms, those of
    /// 304 ms after up to 335 ms, those of 448 ms after up to 480 ms.
    #[test]
    fn the_wheel_turns_in_coarser_steps_for_longer_waits() {
        let ms = Duration::from_millis;
        let fires = |now: u64, wait: u64| {
            let at = on_wheel(Time::ZERO + ms(now), ms(wait), ms(4));
            at.since(Time::ZERO + ms(now)).as_nanos() / 1_000_000
        };
        assert_eq!((fires(0, 224), fires(3, 224), fires(3, 222)), (228, 225, 225));
        assert_eq!((fires(0, 248), fires(0, 252)), (252, 256));
        assert_eq!((fires(0, 304), fires(12, 304), fires(16, 304)), (320, 308, 304 + 32));
        assert_eq!((fires(0, 448), fires(0, 896), fires(0, 2_016)), (480, 928, 2_048));
        assert_eq!((fires(0, 120_000), fires(0, 0)), (120_832, 4));
    }
}
