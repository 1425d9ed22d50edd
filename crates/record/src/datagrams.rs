//! Counters of a UDP flow, and its summary.

use crate::distribution::{Distribution, DistributionSummary};
use retx_units::{Duration, Time};
use serde::Serialize;

/// Counters of a UDP flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DatagramCounters {
    /// Packets sent.
    pub sent: u64,
    /// Packets of which at least one copy has arrived.
    pub delivered: u64,
    /// Payload bytes of the packets delivered.
    pub bytes_delivered: u64,
    /// Packets of which no copy arrives.
    pub lost: u64,
    /// Arrivals of further copies made by the network.
    pub duplicated: u64,
    /// Packets that arrived after a packet sent later (type-P-reordered, RFC 4737 §3.3).
    pub reordered: u64,
    /// One-way delays of the packets delivered.
    pub delay: Distribution,
    jitter: Jitter,
}

/// Interarrival jitter (RFC 3550 §6.4.1): a running mean of the differences between the delays of
/// successive packets.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Jitter {
    last: Option<Duration>,
    nanos: Option<f64>,
}

impl Jitter {
    fn add(&mut self, delay: Duration) {
        if let Some(last) = self.last.replace(delay) {
            let jitter = self.nanos.get_or_insert(0.0);
            *jitter += (delay.abs_diff(last).as_nanos() as f64 - *jitter) / 16.0;
        }
    }
}

impl DatagramCounters {
    /// Counts the first arrival of a packet, after `delay`. `late` is true if a packet sent later
    /// has already arrived.
    #[inline]
    pub fn count_arrival(&mut self, delay: Duration, payload_bytes: u32, late: bool) {
        self.delivered += 1;
        self.bytes_delivered += u64::from(payload_bytes);
        self.reordered += u64::from(late);
        self.delay.add(delay);
        self.jitter.add(delay);
    }
}

/// Results of a UDP flow, from the end of the warm-up on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct DatagramSummary {
    pub name: String,
    /// Start of the flow; `None` if the run ended before it.
    pub start_s: Option<f64>,
    /// Time at which the fate of the last packet of a finite flow became known.
    pub finish_s: Option<f64>,
    /// Time from the start to the finish.
    pub response_time_s: Option<f64>,
    pub bytes_delivered: u64,
    /// Bytes delivered, divided by the time from the start (or the end of the warm-up) to the
    /// finish (or the end of the run).
    pub goodput_bit_s: Option<f64>,
    /// Packets sent.
    pub frames_sent: u64,
    pub datagrams: DatagramCounts,
    /// One-way delays.
    pub delay: DistributionSummary,
    /// Interarrival jitter (RFC 3550 §6.4.1) at the end of the run.
    pub jitter_s: Option<f64>,
}

/// Packets of a UDP flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct DatagramCounts {
    pub sent: u64,
    pub delivered: u64,
    /// Packets of which no copy arrives.
    pub lost: u64,
    /// Arrivals of further copies made by the network.
    pub duplicated: u64,
    /// Packets that arrived after a packet sent later.
    pub reordered: u64,
}

/// Inputs of a UDP flow's results in addition to its counters.
#[derive(Debug, Clone)]
pub struct DatagramInputs {
    /// Name of the flow.
    pub name: String,
    /// Start of the flow.
    pub start: Option<Time>,
    /// Time at which the fate of the last packet became known.
    pub finish: Option<Time>,
    /// Start of the statistics.
    pub from: Time,
    /// End of the statistics.
    pub to: Time,
}

impl DatagramSummary {
    /// Results of a flow; `counters` must count from `inputs.from` on.
    pub fn new(inputs: DatagramInputs, counters: &DatagramCounters) -> Self {
        let DatagramInputs { name, start, finish, from, to } = inputs;
        let begin = start.map_or(to, |start| start.max(from));
        let span = finish.unwrap_or(to).since(begin).as_secs_f64();
        let bits = counters.bytes_delivered as f64 * 8.0;
        let whole = start.zip(finish).map(|(start, finish)| finish.since(start));
        let DatagramCounters { sent, delivered, lost, duplicated, reordered, .. } = *counters;
        Self {
            name,
            start_s: start.map(Time::as_secs_f64),
            finish_s: finish.map(Time::as_secs_f64),
            response_time_s: whole.map(Duration::as_secs_f64),
            bytes_delivered: counters.bytes_delivered,
            goodput_bit_s: (span > 0.0).then(|| bits / span),
            frames_sent: sent,
            datagrams: DatagramCounts { sent, delivered, lost, duplicated, reordered },
            delay: counters.delay.summary(),
            jitter_s: counters.jitter.nanos.map(|nanos| nanos / 1e9),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With delays of 10, 12, 12 and 4 ms, the jitter J is first 2/16 ms, then reduced by 1/16 of
    /// itself, and then increased by (8 − J)/16.
    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut counters = DatagramCounters::default();
        for ms in [10, 12, 12, 4] {
            counters.count_arrival(Duration::from_millis(ms), 100, false);
        }
        let after_two = 2.0 / 16.0;
        let after_three = after_two - after_two / 16.0;
        let jitter = after_three + (8.0 - after_three) / 16.0;
        let reported = counters.jitter.nanos.expect("four packets") / 1e6;
        assert!((reported - jitter).abs() < 1e-9, "{reported} {jitter}");
    }
}
