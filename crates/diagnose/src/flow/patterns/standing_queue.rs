//! Standing queue ("bufferbloat"): most of the RTT is spent in a queue.
//!
//! An RTT does not show whether the data or their acknowledgments wait. The timestamps of the
//! acknowledgments do: they state when the receiver has sent each of them. The remainder of the
//! RTT's excess is the wait of the data.

use crate::answer::{Pattern, Waiting};
use crate::between::CaptureComparison;
use crate::flow::ack_wait::AckWait;
use crate::flow::cause::RttSamples;

/// Minimum ratio of the median RTT to the least RTT for a standing queue.
const TIMES: f64 = 2.0;
/// Minimum difference between the median and the least RTT for a standing queue, seconds: a delay
/// that people notice (ITU-T G.114 allows 150 ms one way).
const BEYOND_S: f64 = 0.1;
/// The data or the acknowledgments alone are named if at least this fraction of the waiting time is
/// theirs (an arbitrary choice: a remedy for the other queue then gains little).
const ALONE: f64 = 0.75;
/// Fraction of [`BEYOND_S`] that packets must wait between two captures, so that the queue lies
/// between the captures.
const BETWEEN: f64 = 0.5;
/// Maximum skew between the clocks of the receiver and of the capture, which lets acknowledgments
/// seem to wait longer and longer.
const SKEW_MAX: f64 = 200e-6;

/// Sums of the RTTs and of the times for which acknowledgments have waited before the capture.
#[derive(Debug, Default)]
pub struct AckQueueing {
    /// Time for which the current packet has waited in queues before the capture; none if its
    /// timestamp does not show this time.
    waited_ns: Option<i64>,
    /// Number of samples, and sum of their RTTs, in nanoseconds.
    samples: f64,
    rtts_ns: f64,
    least_rtt_ns: Option<i64>,
    /// Number of these samples whose acknowledgment shows for how long it has waited, and sum of
    /// these times.
    known: f64,
    waits_ns: f64,
    last_ns: i64,
    /// Waits of all acknowledgments.
    pub acks: AckWait,
}

/// Packets that wait, by the fraction of the waiting time that is the acknowledgments'.
fn waiting(of_acks: f64) -> Waiting {
    match of_acks {
        part if part >= ALONE => Waiting::Acknowledgments,
        part if part <= 1.0 - ALONE => Waiting::Data,
        _ => Waiting::Both,
    }
}

impl AckQueueing {
    /// Handles an acknowledgment that has waited for so long before the capture.
    pub fn on_packet(&mut self, waited_ns: Option<i64>) {
        self.waited_ns = waited_ns;
        waited_ns.into_iter().for_each(|ns| self.acks.add_before(ns));
    }

    /// Handles the RTT sample of an acknowledgment.
    pub fn on_sample(&mut self, rtt_ns: i64, time_ns: i64) {
        self.samples += 1.0;
        self.rtts_ns += rtt_ns as f64;
        self.least_rtt_ns = Some(self.least_rtt_ns.map_or(rtt_ns, |least| least.min(rtt_ns)));
        self.last_ns = time_ns;
        if let Some(waited_ns) = self.waited_ns {
            self.known += 1.0;
            self.waits_ns += waited_ns as f64;
        }
    }

    /// True if acknowledgments wait for a considerable part of the round trip.
    pub fn acks_wait(&self) -> bool {
        self.samples > 0.0 && self.acks.is_long(self.rtts_ns / self.samples)
    }

    /// Packets that wait, and the mean wait of the acknowledgments in seconds.
    fn judge(&self) -> (Waiting, f64) {
        let excess_ns = self.rtts_ns / self.samples - self.least_rtt_ns.unwrap_or(0) as f64;
        // Without a tick of the timestamps at the start of the flow, few waits are missing.
        if self.known < 0.9 * self.samples || excess_ns <= 0.0 {
            return (Waiting::Unknown, 0.0);
        }
        let waited_ns = self.waits_ns / self.known;
        // Only the part of the skew that accumulates up to the mean sample changes the mean wait.
        let error_ns = SKEW_MAX * self.last_ns as f64 / 2.0;
        let bounds = [waited_ns - error_ns, waited_ns + error_ns].map(|ns| waiting(ns / excess_ns));
        let found = if bounds[0] == bounds[1] { bounds[0] } else { Waiting::Unknown };
        (found, waited_ns * 1e-9)
    }

    /// Pattern of a standing queue, if the RTT samples show one.
    pub fn find_standing_queue(&self, rtts: &RttSamples) -> Option<Pattern> {
        let [least_s, median_s] = rtts.least_and_median_s()?;
        if median_s < TIMES * least_s || median_s - least_s < BEYOND_S {
            return None;
        }
        let mut evidence = format!(
            "the RTT is {:.0} ms in the median and {:.0} ms at least",
            median_s * 1e3,
            least_s * 1e3
        );
        let (waiting, acks_s) = self.judge();
        if waiting != Waiting::Unknown {
            let ms = acks_s * 1e3;
            evidence += &format!("; by their timestamps, the ACKs wait for {ms:.0} ms on average");
        }
        let (packets, waiting) = (Vec::new(), Some(waiting));
        Some(Pattern { name: "standing_queue", evidence, packets, confidence: 0.9, waiting })
    }
}

/// Corrects the pattern of a standing queue by the delays between two captures, which show both
/// directions.
pub fn compare_directions(patterns: &mut [Pattern], between: Option<&CaptureComparison>) {
    let Some(between) = between else { return };
    let [data_s, acks_s] =
        [&between.forward, &between.backward].map(|direction| direction.queueing_median_s);
    // The queue may lie outside of the part of the path between the captures.
    if data_s + acks_s < BETWEEN * BEYOND_S {
        return;
    }
    for pattern in patterns.iter_mut().filter(|it| it.name == "standing_queue") {
        pattern.waiting = Some(waiting(acks_s / (data_s + acks_s)));
        let rtt = pattern.evidence.split("; by their timestamps").next().unwrap_or_default();
        pattern.evidence = format!(
            "{rtt}; between the captures, the data wait for {:.0} ms and the ACKs for {:.0} ms in \
             the median",
            data_s * 1e3,
            acks_s * 1e3
        );
    }
}
