//! Bursts of data that the application wrote without a pause, and the pauses between them.

use crate::flow::watch::Observed;
use serde::Serialize;

/// A sender that sends nothing for RTT/`PAUSE_MIN` after an acknowledgment had no data to send.
const PAUSE_MIN: i64 = 8;
/// Lower bound of the time RTT/`PAUSE_MIN`.
const PAUSE_MIN_NS: i64 = 2_000_000;

/// Data that an application sent without a pause.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Burst {
    /// Pause before the burst, in seconds. It begins when all earlier data are acknowledged.
    pub pause_s: f64,
    /// Bytes of the burst.
    pub bytes: i64,
}

/// Bursts of the application. A burst begins with new data after a pause with nothing in flight.
pub fn bursts(observed: &Observed) -> Vec<Burst> {
    let here_ns = observed.loops_ns[0].unwrap_or(0);
    let round_trip_ns = here_ns + observed.loops_ns[1].unwrap_or(0);
    let least_ns = (round_trip_ns / PAUSE_MIN).max(PAUSE_MIN_NS);
    let acks = &observed.watch.acks;
    let mut bursts: Vec<Burst> = Vec::new();
    let (mut next, mut end) = (0, None);
    let (mut acked, mut acked_ns) = (i64::MIN, 0);
    for passed in observed.watch.sent.iter().filter(|it| it.payload_bytes > 0) {
        while let Some(it) = acks.get(next).filter(|it| it.time_ns <= passed.time_ns) {
            if it.ack > acked {
                (acked, acked_ns) = (it.ack, it.time_ns);
            }
            next += 1;
        }
        let known = end.unwrap_or(passed.start);
        let fresh = passed.end - known.max(passed.start);
        if fresh <= 0 {
            continue;
        }
        // If the capture is away from the sender, the segments that an acknowledgment releases pass
        // it one round trip (between capture and sender) after the acknowledgment.
        let pause_ns = passed.time_ns - acked_ns - here_ns;
        let is_idle = acked >= known && pause_ns >= least_ns;
        match bursts.last_mut() {
            Some(last) if !is_idle => last.bytes += fresh,
            _ => {
                let pause_s = if end.is_some() { pause_ns as f64 * 1e-9 } else { 0.0 };
                bursts.push(Burst { pause_s, bytes: fresh });
            }
        }
        end = Some(passed.end.max(known));
    }
    bursts
}
