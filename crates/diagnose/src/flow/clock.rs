//! The clock of an end's timestamps: tells when a packet was sent, however long queues before the
//! capture held it.

/// Nanoseconds per tick that are in use.
const TICKS_NS: [i64; 4] = [1_000_000, 1_000, 4_000_000, 10_000_000];
/// Relative tolerance for a known tick, at first and later.
const TOLERANCES: [f64; 2] = [0.25, 0.05];
/// Time that must have passed for the first, and for the second.
const LEAST_NS: [i64; 2] = [15_000_000, 5_000_000_000];

/// Timestamp clock of one end.
#[derive(Debug, Default)]
pub struct Clock {
    first: Option<(u32, i64)>,
    tick_ns: Option<i64>,
    /// Least time from tick to capture, relative to the first packet.
    offset_ns: i64,
}

impl Clock {
    /// Time at which a packet would have passed the capture without waiting in any queue.
    pub fn unqueued(&mut self, value: u32, time_ns: i64) -> i64 {
        let (first, first_ns) = *self.first.get_or_insert((value, time_ns));
        let ticks = i64::from(value.wrapping_sub(first) as i32);
        let elapsed = time_ns - first_ns;
        let is_long = elapsed >= LEAST_NS[1];
        if ticks > 0 && elapsed >= LEAST_NS[0] && (self.tick_ns.is_none() || is_long) {
            let each = elapsed as f64 / ticks as f64;
            let tolerance = TOLERANCES[usize::from(is_long)];
            let is_near = |tick: &&i64| (each / **tick as f64 - 1.0).abs() < tolerance;
            let found = TICKS_NS.iter().find(is_near).copied();
            if found != self.tick_ns {
                // The minimum for another tick carries no information.
                (self.tick_ns, self.offset_ns) = (found, i64::MAX);
            }
        }
        let Some(tick_ns) = self.tick_ns else { return time_ns };
        let ideal = first_ns + ticks * tick_ns;
        self.offset_ns = self.offset_ns.min(time_ns - ideal);
        // Packets of one tick are up to a tick apart.
        time_ns.min(ideal + self.offset_ns + tick_ns)
    }
}
