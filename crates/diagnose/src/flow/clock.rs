//! Clock of an endpoint's timestamps. It gives the transmission time of a packet, however long the
//! packet waited in queues before the capture.

/// Lengths of timestamp ticks that senders use, in nanoseconds.
const TICKS_NS: [i64; 4] = [1_000_000, 1_000, 4_000_000, 10_000_000];
/// Relative tolerances within which a measured tick counts as one of `TICKS_NS`: for the first
/// estimate, and for the second.
const TOLERANCES: [f64; 2] = [0.25, 0.05];
/// Observation times required for the first and for the second estimate of the tick.
const LEAST_NS: [i64; 2] = [15_000_000, 5_000_000_000];
/// Observation time after which the error of rounding to whole ticks is small.
const ROUNDED_NS: i64 = 100_000_000;

/// Timestamp clock of one end.
#[derive(Debug, Default)]
pub struct Clock {
    first: Option<(u32, i64)>,
    timestamp_tick_ns: Option<i64>,
    /// Least measured time per tick so far. The minimum is used because a growing queue lengthens
    /// the measured time.
    each_ns: Option<f64>,
    /// Least difference between the capture time of a packet and its timestamp, both counted from
    /// the first packet.
    offset_ns: i64,
}

impl Clock {
    /// Nanoseconds per tick, 0 if unknown.
    pub fn timestamp_tick_ns(&self) -> i64 {
        self.timestamp_tick_ns.unwrap_or(0)
    }

    /// Time at which a packet would have passed the capture without waiting in any queue.
    pub fn time_without_queueing(&mut self, value: u32, time_ns: i64) -> i64 {
        let (first, first_ns) = *self.first.get_or_insert((value, time_ns));
        let ticks = i64::from(value.wrapping_sub(first) as i32);
        let elapsed = time_ns - first_ns;
        let is_long = elapsed >= LEAST_NS[1];
        let now_ns = elapsed as f64 / ticks.max(1) as f64;
        if ticks > 0 && elapsed >= ROUNDED_NS {
            self.each_ns = Some(self.each_ns.map_or(now_ns, |least| least.min(now_ns)));
        }
        if ticks > 0 && elapsed >= LEAST_NS[0] && (self.timestamp_tick_ns.is_none() || is_long) {
            let each = self.each_ns.filter(|_| is_long).unwrap_or(now_ns);
            let tolerance = TOLERANCES[usize::from(is_long)];
            let is_near = |tick: &&i64| (each / **tick as f64 - 1.0).abs() < tolerance;
            let found = TICKS_NS.iter().find(is_near).copied();
            if found != self.timestamp_tick_ns {
                // The offset was measured with another tick, and is no longer valid.
                (self.timestamp_tick_ns, self.offset_ns) = (found, i64::MAX);
            }
        }
        let Some(timestamp_tick_ns) = self.timestamp_tick_ns else { return time_ns };
        let ideal = first_ns + ticks * timestamp_tick_ns;
        self.offset_ns = self.offset_ns.min(time_ns - ideal);
        // Two packets with the same timestamp may have been sent up to one tick apart.
        time_ns.min(ideal + self.offset_ns + timestamp_tick_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a queue that grows to 1.3 s, 5,000 ticks of 1 ms seem to last 6.3 s.
    #[test]
    fn a_long_queue_does_not_change_the_tick() {
        let mut clock = Clock::default();
        for ms in 0..20_000_i64 {
            let queue_ns = ((ms - 200).max(0) * 300_000).min(1_300_000_000);
            let unqueued_ns = clock.time_without_queueing(ms as u32, ms * 1_000_000 + queue_ns);
            if ms > 1_000 {
                assert!((unqueued_ns - ms * 1_000_000).abs() < 2_000_000, "{ms} ms: {unqueued_ns}");
            }
        }
    }
}
