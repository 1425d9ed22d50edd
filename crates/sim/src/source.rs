//! Sources of datagrams: times and sizes of packets.

use retx_units::{Duration, Law, RandomStream, Rate, StreamKey, Time};

/// Pace of a flow's packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Keeps a number of packets in the first hop.
    Saturating {
        /// Number of packets that are kept in the first hop.
        backlog: u32,
    },
    /// Constant rate, in bits of IP packets.
    Constant(Rate),
    /// Poisson process of packets with this mean rate.
    Poisson(Rate),
    /// Constant rate during on-times.
    OnOff {
        /// Rate during on-times.
        rate: Rate,
        /// Distribution of on-times, seconds.
        on: Law,
        /// Distribution of off-times, seconds.
        off: Law,
    },
}

/// Sizes of IP packets, in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacketSizes {
    /// Distribution of the sizes.
    pub distribution: Law,
    /// Largest packet size, to which drawn sizes are limited.
    pub max_bytes: u32,
}

/// IPv4 and UDP headers, bytes.
pub const UDP_HEADERS_BYTES: u32 = retx_wire::IPV4_HEADER_BYTES + retx_wire::UDP_HEADER_BYTES;

impl PacketSizes {
    /// Mean of the packet sizes, after they are limited to at least the headers and at most
    /// `max_bytes`.
    fn mean(&self) -> f64 {
        self.distribution.mean_within(f64::from(UDP_HEADERS_BYTES), f64::from(self.max_bytes))
    }
}

/// Packets of a source, in order.
#[derive(Debug, Clone)]
pub struct Source {
    pace: Pace,
    sizes: PacketSizes,
    /// Due time of the next packet; for a saturating source the start, because it is not paced by
    /// time.
    next: Time,
    /// Bits that the rate permits between `origin` and the due time of the next packet; fewer than
    /// the bits of one second.
    bits: u64,
    /// Time from which `bits` are counted, so that rounding does not accumulate.
    origin: Time,
    /// End of the current on-time.
    off_at: Time,
    intervals: RandomStream,
    packets: RandomStream,
}

impl Source {
    /// Creates a source that begins at `start`. Intervals and sizes have separate random streams,
    /// so a change of one law leaves the draws of the other unchanged.
    pub fn new(
        pace: Pace,
        sizes: PacketSizes,
        start: Time,
        (key, name): (StreamKey, &str),
    ) -> Self {
        let mut source = Self {
            pace,
            sizes,
            next: start,
            bits: 0,
            origin: start,
            off_at: Time::NEVER,
            intervals: key.stream(&format!("flow.{name}.intervals")),
            packets: key.stream(&format!("flow.{name}.packets")),
        };
        match pace {
            Pace::Saturating { .. } | Pace::Constant(_) => {}
            Pace::Poisson(rate) => source.next = later(start, source.interval(rate)),
            Pace::OnOff { on, .. } => source.off_at = later(start, source.spell(on)),
        }
        source
    }

    /// Due time of the next packet; for a saturating source, its start.
    #[inline]
    pub const fn next_due(&self) -> Time {
        self.next
    }

    /// Pace of the packets.
    pub const fn pace(&self) -> Pace {
        self.pace
    }

    /// Takes the next packet, schedules the one after it, and returns its size.
    #[inline]
    pub fn next_packet(&mut self) -> u32 {
        let bytes = self.sizes.distribution.draw(&mut self.packets).round();
        let bytes =
            bytes.clamp(f64::from(UDP_HEADERS_BYTES), f64::from(self.sizes.max_bytes)) as u32;
        match self.pace {
            Pace::Saturating { .. } => {}
            Pace::Constant(rate) => self.next = self.after(rate, bytes),
            Pace::Poisson(rate) => self.next = later(self.next, self.interval(rate)),
            Pace::OnOff { rate, on, off } => {
                let next = self.after(rate, bytes);
                self.next = self.skip_off_times(next, on, off);
            }
        }
        bytes
    }

    /// Due time of the next packet at a constant rate, after a packet of `bytes`.
    fn after(&mut self, rate: Rate, bytes: u32) -> Time {
        let rate = rate.as_bit_s();
        self.bits += 8 * u64::from(bytes);
        self.origin = later(self.origin, Duration::from_secs(self.bits / rate));
        self.bits %= rate;
        let nanos = u128::from(self.bits) * 1_000_000_000 / u128::from(rate);
        later(self.origin, Duration::from_nanos(nanos as u64))
    }

    /// Adds to `next` the off-times that begin before it, because packet intervals count only
    /// on-time.
    fn skip_off_times(&mut self, mut next: Time, on: Law, off: Law) -> Time {
        while next >= self.off_at && self.off_at < Time::NEVER {
            let pause = self.spell(off);
            next = later(next, pause);
            self.origin = later(self.origin, pause);
            self.off_at = later(later(self.off_at, pause), self.spell(on));
        }
        next
    }

    fn interval(&mut self, rate: Rate) -> Duration {
        let mean = 8.0 * self.sizes.mean() / rate.as_bit_s() as f64;
        Duration::from_secs_f64(mean * self.intervals.exponential())
    }

    fn spell(&mut self, law: Law) -> Duration {
        Duration::from_secs_f64(law.draw(&mut self.intervals))
    }
}

/// `time + by`, but [`Time::NEVER`] at most.
fn later(time: Time, by: Duration) -> Time {
    let nanos = time.as_nanos().saturating_add(by.as_nanos());
    Time::from_nanos(nanos.min(Time::NEVER.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: StreamKey = StreamKey { seed: 5, replication: 0 };

    fn source(pace: Pace, law: Law) -> Source {
        Source::new(
            pace,
            PacketSizes { distribution: law, max_bytes: 1500 },
            Time::ZERO,
            (KEY, "f"),
        )
    }

    fn times(source: &mut Source, count: usize) -> Vec<Time> {
        let mut packet = || {
            let time = source.next_due();
            source.next_packet();
            time
        };
        (0..count).map(|_| packet()).collect()
    }

    /// A constant rate does not drift: packets of 1000 bytes at 3 Mbit/s are due every 8/3 ms, and
    /// the 3,000,001st at exactly 8000 s.
    #[test]
    fn a_constant_rate_does_not_drift() {
        let rate = Rate::from_bit_s(3_000_000);
        let times = times(&mut source(Pace::Constant(rate), Law::Constant(1000.0)), 3_000_001);
        assert_eq!(times[1], Time::from_nanos(2_666_666));
        assert_eq!(times[3_000_000], Time::ZERO + Duration::from_secs(8000));
    }

    /// Intervals continue across off-times. With 25 ms on, 100 ms off and a packet every 10 ms,
    /// packets are due at 0, 10 and 20 ms. When the on-time ends at 25 ms, 5 ms of the interval
    /// have passed; the other 5 ms follow after the off-time, so the next packets are due at 130
    /// and 140 ms. At 150 ms the next off-time begins.
    #[test]
    fn an_interval_goes_on_after_an_off_time() {
        let [on, off] = [0.025, 0.1].map(Law::Constant);
        let pace = Pace::OnOff { rate: Rate::from_bit_s(800_000), on, off };
        let times = times(&mut source(pace, Law::Constant(1000.0)), 8);
        let expected = [0, 10, 20, 130, 140, 250, 260, 270];
        assert_eq!(times, expected.map(|ms| Time::ZERO + Duration::from_millis(ms)));
    }

    /// The mean rate of an on/off source is the on-rate times the share q of on-time, for all
    /// distributions. The number of packets up to a distant time t agrees with the mean and the
    /// deviation of the renewal process (Cox, Renewal Theory §7: the variance of the on-time is t ·
    /// Var(X_on(1−q) − X_off·q)/E(X_on + X_off)).
    #[test]
    fn the_mean_rate_is_the_share_of_on_times() {
        let laws = [
            (Law::Constant(0.3), Law::Exponential(0.7), (0.0, 0.49)),
            (Law::Exponential(0.4), Law::Exponential(0.6), (0.16, 0.36)),
            (Law::Pareto(0.2, 3.0), Law::Uniform(0.0, 1.0), (0.03, 1.0 / 12.0)),
        ];
        for (on, off, (var_on, var_off)) in laws {
            let pace = Pace::OnOff { rate: Rate::from_bit_s(800_000), on, off };
            let mut source = source(pace, Law::Constant(1000.0));
            let seconds = 20_000.0;
            let mut count = 0.0;
            while source.next_due() < Time::ZERO + Duration::from_secs(20_000) {
                source.next_packet();
                count += 1.0;
            }
            let cycle = on.mean() + off.mean();
            let share = on.mean() / cycle;
            let variance = var_on * (1.0 - share).powi(2) + var_off * share * share;
            let sigma = 100.0 * (seconds * variance / cycle).sqrt();
            assert!(
                (count - 100.0 * seconds * share).abs() < 4.0 * sigma + 100.0,
                "{on:?} {off:?}: {count} of {}",
                100.0 * seconds * share
            );
        }
    }

    /// The intervals of a Poisson source have the mean of the exponential distribution, and the
    /// share of intervals that exceed t is that of the distribution, each within four standard
    /// deviations.
    #[test]
    fn poisson_intervals_are_exponential() {
        let rate = Rate::from_bit_s(8_000_000);
        let times = times(&mut source(Pace::Poisson(rate), Law::Constant(1000.0)), 200_001);
        let gaps: Vec<f64> =
            times.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        assert!((mean / 1e-3 - 1.0).abs() < 4.0 / count.sqrt(), "{mean}");
        for ms in [0.5, 1.0, 3.0, 6.0] {
            let p = f64::exp(-ms);
            let above = gaps.iter().filter(|gap| **gap > ms / 1e3).count() as f64;
            assert!((above - count * p).abs() < 4.0 * (count * p * (1.0 - p)).sqrt(), "{ms}");
        }
    }

    /// The mean rate of a Poisson source is the configured one, even if packet sizes are limited,
    /// within four standard deviations of a compound Poisson process.
    #[test]
    fn a_poisson_sources_rate_is_that_of_what_it_sends() {
        let laws = [
            Law::Constant(1000.0),
            Law::Constant(9000.0),
            Law::Exponential(30.0),
            Law::Exponential(1400.0),
            Law::Uniform(100.0, 3000.0),
            Law::Pareto(133.0, 1.5),
        ];
        for law in laws {
            let mut source = source(Pace::Poisson(Rate::from_bit_s(8_000_000)), law);
            let (mut bytes, mut squares) = (0.0, 0.0);
            while source.next_due() < Time::ZERO + Duration::from_secs(200) {
                let size = f64::from(source.next_packet());
                bytes += size;
                squares += size * size;
            }
            assert!((bytes - 2e8).abs() < 4.0 * f64::sqrt(squares), "{law:?}: {bytes}");
        }
    }

    #[test]
    fn sizes_are_cut_to_what_can_be_carried() {
        let mut source = source(Pace::Saturating { backlog: 1 }, Law::Exponential(1000.0));
        let sizes: Vec<u32> = (0..10_000).map(|_| source.next_packet()).collect();
        assert_eq!(sizes.iter().min(), Some(&28));
        assert_eq!(sizes.iter().max(), Some(&1500));
        // Sizes are rounded to whole bytes: the share that becomes 1500 is exp(-1.4995) = 0.223.
        let cut = sizes.iter().filter(|size| **size == 1500).count() as f64;
        let p = f64::exp(-1.4995);
        assert!((cut - 1e4 * p).abs() < 4.0 * (1e4 * p * (1.0 - p)).sqrt(), "{cut}");
    }
}
