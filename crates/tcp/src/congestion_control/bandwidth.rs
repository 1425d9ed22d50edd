//! Bandwidth estimation from returning acknowledgments, shared by Westwood and its relatives.

mod bursts;
mod sampled;
mod tustin;

use super::Ack;
use retx_units::{Duration, Time};

pub(crate) use bursts::Bursts;
pub(crate) use sampled::SampledFilter;
pub use sampled::Smoothing;
pub(crate) use tustin::Tustin;

/// Low-pass filter over the rate of acknowledged bytes.
#[derive(Debug, Clone)]
pub(crate) enum Filter {
    Tustin(Tustin),
    Sampled(SampledFilter),
    Bursts(Bursts),
}

/// An acknowledgment as a filter sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckObservation {
    pub now: Time,
    /// Bytes that this acknowledgment newly reports as delivered.
    pub bytes: u64,
    /// Most recent raw RTT.
    pub rtt: Option<Duration>,
    /// Range of the raw RTT samples; `None` before the first.
    pub range: Option<RttRange>,
}

/// Smallest and largest raw RTT sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RttRange {
    pub least: Duration,
    pub largest: Duration,
}

impl RttRange {
    /// Relative position of a sample: 0 for the smallest RTT, 1 for the largest; 0 if the two are
    /// equal.
    pub fn position(&self, rtt: Duration) -> f64 {
        let width = self.largest.saturating_sub(self.least);
        if width.is_zero() {
            return 0.0;
        }
        rtt.saturating_sub(self.least).as_secs_f64() / width.as_secs_f64()
    }
}

/// Bandwidth estimate, and the RTTs that turn it into a window.
#[derive(Debug, Clone)]
pub(crate) struct Bandwidth {
    filter: Filter,
    /// Bytes credited to duplicate ACKs, and not covered by a cumulative ACK yet.
    by_duplicates: u64,
    /// Most recent raw RTT; `None` before the first sample.
    pub rtt: Option<Duration>,
    pub range: Option<RttRange>,
}

impl Bandwidth {
    pub fn new(filter: Filter) -> Self {
        Self { filter, by_duplicates: 0, rtt: None, range: None }
    }

    /// Handles any acknowledgment, duplicate ACKs included.
    pub fn observe(&mut self, ack: &Ack, smss: u32) {
        if let Some(rtt) = ack.rtt {
            self.rtt = Some(rtt);
            let (least, largest) = self
                .range
                .map_or((rtt, rtt), |range| (range.least.min(rtt), range.largest.max(rtt)));
            self.range = Some(RttRange { least, largest });
        }
        let bytes = self.credit(ack, smss.into());
        if bytes > 0 {
            let observation =
                AckObservation { now: ack.now, bytes, rtt: self.rtt, range: self.range };
            match &mut self.filter {
                Filter::Tustin(filter) => filter.on_ack(&observation),
                Filter::Sampled(filter) => filter.on_ack(&observation),
                Filter::Bursts(filter) => filter.on_ack(&observation),
            }
        }
    }

    /// Bytes credited to an acknowledgment. A duplicate ACK is credited with the data that have
    /// left the network. A cumulative ACK of more than one segment is credited with its bytes,
    /// minus those already credited to duplicate ACKs; if nothing remains, with one segment.
    fn credit(&mut self, ack: &Ack, smss: u64) -> u64 {
        if ack.bytes_acked == 0 {
            self.by_duplicates = self.by_duplicates.saturating_add(ack.delivered);
            return ack.delivered;
        }
        // The ACK covers only the missing segment, which caused no duplicate ACK and so has not
        // been credited.
        if ack.bytes_acked <= smss {
            return ack.bytes_acked;
        }
        // Duplicate ACKs have been credited with all segments but the missing one.
        if self.by_duplicates >= ack.bytes_acked {
            self.by_duplicates -= ack.bytes_acked;
            return smss;
        }
        ack.bytes_acked - std::mem::take(&mut self.by_duplicates)
    }

    /// Bandwidth in bytes per second.
    pub fn rate(&self, now: Time) -> f64 {
        match &self.filter {
            Filter::Tustin(filter) => filter.rate(now),
            Filter::Sampled(filter) => filter.rate(),
            Filter::Bursts(filter) => filter.rate(),
        }
    }

    /// Window that fills the path without a queue: bandwidth × smallest RTT, in bytes.
    pub fn bandwidth_delay_product(&self, now: Time) -> u64 {
        self.range.map_or(0, |range| self.bytes_in(now, range.least))
    }

    /// Bytes transmitted at this bandwidth within `time`.
    pub fn bytes_in(&self, now: Time, time: Duration) -> u64 {
        libm::round(self.rate(now) * time.as_secs_f64()) as u64
    }

    /// Resets the range of RTTs, because the smallest RTT may be that of a former path.
    pub fn forget_range(&mut self) {
        self.range = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at};
    use super::*;

    fn credits(acks: &[(u64, u64)]) -> Vec<u64> {
        let mut bandwidth = Bandwidth::new(Filter::Bursts(Bursts::default()));
        acks.iter()
            .map(|(bytes_acked, delivered)| {
                let ack = Ack { delivered: *delivered, ..ack(at(0), *bytes_acked) };
                bandwidth.credit(&ack, SMSS.into())
            })
            .collect()
    }

    #[test]
    fn each_byte_is_credited_once() {
        assert_eq!(credits(&[(1000, 1000), (2000, 2000), (1, 1)]), [1000, 2000, 1]);
        // Three duplicate ACKs, then the ACK of the hole and of the data beyond it.
        let hole = [(0, 1000), (0, 1000), (0, 1000), (4000, 4000)];
        assert_eq!(credits(&hole), [1000, 1000, 1000, 1000]);
        // A partial ACK covers fewer bytes than were credited to the duplicate ACKs.
        let partial = [(0, 2000), (0, 2000), (2000, 0), (4000, 0)];
        assert_eq!(credits(&partial), [2000, 2000, 1000, 2000]);
    }

    #[test]
    fn position_in_the_range() {
        let ms = Duration::from_millis;
        let range = RttRange { least: ms(10), largest: ms(50) };
        assert!((range.position(ms(20)) - 0.25).abs() < 1e-12);
        assert!(RttRange { least: ms(10), largest: ms(10) }.position(ms(10)).abs() < 1e-12);
    }

    /// An acknowledgment that delivers nothing is no sample, so no interval begins with it.
    #[test]
    fn nothing_delivered_is_no_sample() {
        let filter = || {
            let half = Duration::from_millis(500);
            Bandwidth::new(Filter::Tustin(Tustin::new(half, std::num::NonZeroU32::new(2).unwrap())))
        };
        let (mut plain, mut with_empty) = (filter(), filter());
        with_empty.observe(&Ack { delivered: 0, ..ack(at(0), 0) }, SMSS);
        for ms in [100, 200] {
            plain.observe(&ack(at(ms), 1000), SMSS);
            with_empty.observe(&ack(at(ms), 1000), SMSS);
        }
        assert!(plain.rate(at(200)) > 0.0);
        assert_eq!(plain.rate(at(200)).to_bits(), with_empty.rate(at(200)).to_bits());
    }
}
