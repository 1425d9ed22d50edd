//! Rates that change with time, and the duration of transmissions at such rates.

use retx_units::{Duration, Rate, Time};

/// Rate as a function of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rates {
    /// Piecewise constant rate, which may be 0 for a while. A frame in transmission continues at
    /// the new rate.
    Steps {
        /// Instants in ascending order, the first at 0.
        steps: Vec<(Duration, Rate)>,
        /// Period after which the steps repeat; it ends after the last instant, and the rate is
        /// above 0 at some time in it. `None` if the last rate holds for ever.
        period: Option<Duration>,
    },
    /// Instants at which a number of bytes of IP packets may leave, as in Mahimahi's traces. If no
    /// packet waits, the opportunity is lost. A packet that does not fit uses the rest of the
    /// opportunity, and continues in the next one.
    Opportunities {
        /// Instants in ascending order. They repeat with a period equal to the last one, which is
        /// above 0.
        at: Vec<Duration>,
        /// Bytes per opportunity.
        bytes: u32,
    },
}

impl Rates {
    /// Approximate rate: the first rate above 0, or the mean rate of all opportunities.
    pub fn mean(&self) -> Option<Rate> {
        match self {
            Self::Steps { steps, .. } => {
                steps.iter().map(|(_, rate)| *rate).find(|rate| rate.as_bit_s() > 0)
            }
            Self::Opportunities { at, bytes } => {
                let round = u128::from(at.last()?.as_nanos());
                let bits = u128::from(*bytes) * 8 * at.len() as u128;
                let rate = u64::try_from(bits * 1_000_000_000 / round).ok()?;
                (rate > 0).then(|| Rate::from_bit_s(rate))
            }
        }
    }
}

/// Packet whose transmission time is to be computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    /// Start of its transmission.
    pub start: Time,
    /// True if the packet had to wait for another one.
    pub waited: bool,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// Length of the frame, bytes.
    pub on_wire: u32,
}

/// Transmitter with a changing rate.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    rates: Rates,
    /// Start of the current period of opportunities, in nanoseconds.
    round: u64,
    /// Index of the next opportunity in the period.
    next: usize,
    /// Remaining bytes of the most recently used opportunity.
    left: u32,
}

impl Service {
    pub const fn new(rates: Rates) -> Self {
        Self { rates, round: 0, next: 0, left: 0 }
    }

    /// End of the transmission; [`Time::NEVER`] if the rate stays 0 for ever.
    pub fn transmission_end(&mut self, job: &Job) -> Time {
        let start = job.start.as_nanos();
        Time::from_nanos(match &self.rates {
            Rates::Steps { steps, period } => {
                let period = period.map_or(u64::MAX, Duration::as_nanos);
                end_by_steps(steps, period, start, u64::from(job.on_wire) * 8)
            }
            Rates::Opportunities { .. } => self.end_by_opportunities(start, job),
        })
    }

    fn end_by_opportunities(&mut self, start: u64, job: &Job) -> u64 {
        let Rates::Opportunities { at, bytes } = &self.rates else { return start };
        let period = at.last().map_or(u64::MAX, |last| last.as_nanos());
        if !job.waited {
            self.left = 0;
            // An opportunity at the instant of the arrival is already lost, as in mm-link.
            if self.round.saturating_add(at[self.next].as_nanos()) <= start {
                self.round = start / period * period;
                let passed = |time: &Duration| self.round.saturating_add(time.as_nanos()) <= start;
                self.next = at.partition_point(passed);
            }
        }
        let mut need = job.bytes;
        let mut now = start;
        loop {
            let taken = need.min(self.left);
            self.left -= taken;
            need -= taken;
            if need == 0 || now == u64::MAX {
                return now;
            }
            if self.next == at.len() {
                self.round = self.round.saturating_add(period);
                self.next = 0;
            }
            now = self.round.saturating_add(at[self.next].as_nanos());
            self.next += 1;
            self.left = *bytes;
            if self.next == at.len() {
                self.round = self.round.saturating_add(period);
                self.next = 0;
            }
        }
    }
}

/// End of the transmission of `bits` that begins at `start`.
fn end_by_steps(steps: &[(Duration, Rate)], period: u64, start: u64, bits: u64) -> u64 {
    // Work is counted in bits × 10⁹, the product of a rate in bit/s and nanoseconds.
    let mut work = u128::from(bits) * 1_000_000_000;
    let mut round = start / period * period;
    let mut index = steps.partition_point(|(at, _)| round.saturating_add(at.as_nanos()) <= start);
    assert!(index > 0, "rates begin at 0");
    index -= 1;
    let mut now = start;
    loop {
        let rate = u128::from(steps[index].1.as_bit_s());
        let end = steps.get(index + 1).map_or(period, |(at, _)| at.as_nanos());
        let end = round.saturating_add(end);
        let room = u128::from(end - now) * rate;
        if rate > 0 && (work <= room || end == u64::MAX) {
            return u64::try_from((work + rate / 2) / rate)
                .map_or(u64::MAX, |nanos| now.saturating_add(nanos));
        }
        if end == u64::MAX {
            return u64::MAX;
        }
        work -= room;
        now = end;
        index += 1;
        if index == steps.len() {
            index = 0;
            // All whole periods until the end of the transmission are handled in one step.
            let each = work_of_round(steps, period);
            let rounds = u64::try_from((work - 1) / each).unwrap_or(u64::MAX);
            work -= u128::from(rounds) * each;
            round = end.saturating_add(rounds.saturating_mul(period));
            now = round;
        }
    }
}

/// Bits transmitted in one period, times 10⁹.
fn work_of_round(steps: &[(Duration, Rate)], period: u64) -> u128 {
    let ends = steps.iter().skip(1).map(|(at, _)| at.as_nanos()).chain([period]);
    let each = steps
        .iter()
        .zip(ends)
        .map(|((at, rate), end)| u128::from(end - at.as_nanos()) * u128::from(rate.as_bit_s()));
    let sum = each.sum();
    assert!(sum > 0, "rates that come again are not all 0");
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(start: u64, bytes: u32) -> Job {
        Job { start: Time::from_nanos(start), waited: false, bytes, on_wire: bytes }
    }

    proptest! {
        /// The end of a transmission agrees with a transmitter that advances by single nanoseconds.
        #[test]
        fn the_integral_over_the_steps(
            gaps in prop::collection::vec((1u64..40, 0u64..4), 1..6),
            last in 1u64..40,
            start in 0u64..300,
            bytes in 1u32..30,
            repeats in any::<bool>(),
        ) {
            // Rates in whole bits per nanosecond make the reference exact.
            let mut at = 0;
            let steps: Vec<(Duration, Rate)> = gaps.iter().map(|&(gap, rate)| {
                let step = (Duration::from_nanos(at), Rate::from_bit_s(rate * 1_000_000_000));
                at += gap;
                step
            }).collect();
            let period = at + last;
            let rate_at = |time: u64| {
                let time = if repeats { time % period } else { time };
                steps.iter().rev().find(|(at, _)| at.as_nanos() <= time).unwrap().1.as_bit_s()
            };
            let ends = repeats && steps.iter().any(|step| step.1.as_bit_s() > 0)
                || !repeats && steps.last().unwrap().1.as_bit_s() > 0;
            prop_assume!(ends);
            let mut left = i64::from(bytes) * 8;
            let mut now = start;
            let mut last_rate = 1;
            while left > 0 {
                last_rate = (rate_at(now) / 1_000_000_000) as i64;
                left -= last_rate;
                now += 1;
            }
            // The reference rounds up to a whole nanosecond; the integral rounds to the nearest.
            let early = u64::from(2 * -left > last_rate);
            let rates = Rates::Steps {
                steps: steps.clone(),
                period: repeats.then_some(Duration::from_nanos(period)),
            };
            let end = Service::new(rates).transmission_end(&job(start, bytes)).as_nanos();
            prop_assert_eq!(end, now - early);
        }
    }

    #[test]
    fn a_rate_that_stays_at_nothing_never_ends() {
        let steps = vec![
            (Duration::ZERO, Rate::from_bit_s(8_000_000)),
            (Duration::from_millis(1), Rate::from_bit_s(0)),
        ];
        let mut service = Service::new(Rates::Steps { steps, period: None });
        assert_eq!(service.transmission_end(&job(0, 1000)), Time::from_nanos(1_000_000));
        assert_eq!(service.transmission_end(&job(1, 1000)), Time::NEVER);
        assert_eq!(
            service.transmission_end(&Job { start: Time::NEVER, ..job(0, 1000) }),
            Time::NEVER
        );
    }

    /// Packets of 600 bytes share opportunities of 1500 bytes; opportunities without a waiting
    /// packet are lost.
    #[test]
    fn opportunities_are_shared_and_lost() {
        let ms = Duration::from_millis;
        let rates = Rates::Opportunities { at: vec![ms(2), ms(2), ms(5)], bytes: 1500 };
        let mut service = Service::new(rates);
        let at = |ms: u64| ms * 1_000_000;
        let mut send = |start: u64, waited: bool, bytes: u32| {
            service.transmission_end(&Job { waited, ..job(at(start), bytes) }).as_nanos()
                / 1_000_000
        };
        assert_eq!(send(0, false, 600), 2);
        // This packet uses the rest of the first opportunity, and 300 bytes of the second.
        assert_eq!(send(2, true, 1200), 2);
        // The next packet has not waited, so the unused bytes of the opportunities at 2 ms are
        // lost.
        assert_eq!(send(2, false, 100), 5);
        assert_eq!(send(5, false, 1500), 7);
        assert_eq!(send(7, true, 1501), 10);
        // The opportunities up to 20 ms are lost; the next one, in the fifth period of 5 ms, is at
        // 22 ms.
        assert_eq!(send(21, false, 1500), 22);
        assert_eq!(send(22, true, 4500), 27);
    }
}
