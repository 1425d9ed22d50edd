//! Standing queue ("bufferbloat"): most of the RTT is spent in a queue.

use crate::answer::Pattern;
use crate::flow::cause::RttSamples;

/// Minimum ratio of the median RTT to the least RTT for a standing queue.
const TIMES: f64 = 2.0;
/// Minimum difference between the median and the least RTT for a standing queue, seconds: a delay
/// that people notice (ITU-T G.114 allows 150 ms one way).
const BEYOND_S: f64 = 0.1;

/// Pattern of a standing queue, if the RTT samples show one.
pub fn find_standing_queue(rtts: &RttSamples) -> Option<Pattern> {
    let [least_s, median_s] = rtts.least_and_median_s()?;
    if median_s < TIMES * least_s || median_s - least_s < BEYOND_S {
        return None;
    }
    let evidence = format!(
        "the RTT is {:.0} ms in the median and {:.0} ms at least",
        median_s * 1e3,
        least_s * 1e3
    );
    Some(Pattern { name: "standing_queue", evidence, packets: Vec::new(), confidence: 0.9 })
}
