//! The clock of an end's timestamps: tells when a packet was sent, however long queues before the
//! capture held it.

/// Nanoseconds per tick that are in use.
const TICKS_NS: [i64; 4] = [1_000_000, 1_000, 4_000_000, 10_000_000];
/// A tick that differs by a larger part from those is not known.
const TOLERANCE: f64 = 0.05;
/// Time that must have passed before the tick is known.
const LEAST_NS: i64 = 300_000_000;

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
        if self.tick_ns.is_none() && elapsed >= LEAST_NS && ticks > 0 {
            let each = elapsed as f64 / ticks as f64;
            let known = TICKS_NS.iter().find(|tick| {
                (each / **tick as f64 - 1.0).abs() < TOLERANCE
            });
            self.tick_ns = known.copied();
        }
        let Some(tick_ns) = self.tick_ns else { return time_ns };
        let ideal = first_ns + ticks * tick_ns;
        self.offset_ns = self.offset_ns.min(time_ns - ideal);
        // Packets of one tick are up to a tick apart.
        time_ns.min(ideal + self.offset_ns + tick_ns)
    }
}
