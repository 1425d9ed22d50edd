//! Clock of an endpoint's timestamps. It gives the transmission time of a packet, however long the
//! packet waited in queues before the capture.

/// Lengths of timestamp ticks that senders use, in nanoseconds, in ascending order.
const TICKS_NS: [i64; 4] = [1_000, 1_000_000, 4_000_000, 10_000_000];
/// Largest ratio of the measured time per tick to the length of the tick. Queues lengthen the
/// measured time; the value is a convention, below the ratio of neighbouring lengths in `TICKS_NS`.
const QUEUED_MAX: f64 = 2.5;
/// Least ratio of the measured time per tick to the length of the tick. The clocks of both hosts
/// may differ, and the first packet may have waited; the value is a convention.
const DRIFT_MIN: f64 = 0.95;
/// Observation time required for an estimate of the tick.
const LEAST_NS: i64 = 15_000_000;
/// Longest queueing delay that is believed (an arbitrary choice). A longer one shows that the
/// tick is none of `TICKS_NS`.
const LONGEST_NS: i64 = 4_000_000_000;

/// Timestamp clock of one end.
#[derive(Debug, Default)]
pub struct Clock {
    first: Option<(u32, i64)>,
    /// Index of the tick in `TICKS_NS`; none if unknown.
    tick: Option<usize>,
    /// Upper bound of the tick: no packet arrives before its timestamp.
    bound_ns: Option<f64>,
    /// True if the tick is none of the usual ones.
    is_unusual: bool,
    /// True if the first packet was found to be late, and another one counts as the first.
    has_replaced_first: bool,
    /// Least difference between the capture time of a packet and its timestamp, both counted from
    /// the first packet, for each tick of `TICKS_NS`. The first list is for packets without data,
    /// which are transmitted faster, and the second for packets with data; none before any packet.
    offsets_ns: [Option<[i64; TICKS_NS.len()]>; 2],
}

impl Clock {
    /// Nanoseconds per tick, 0 if unknown.
    pub fn timestamp_tick_ns(&self) -> i64 {
        self.tick.map_or(0, |index| TICKS_NS[index])
    }

    /// Time for which a packet has waited in queues before the capture, rounded down to a tick;
    /// none if the tick is unknown.
    pub fn queueing_ns(&mut self, value: u32, time_ns: i64, has_data: bool) -> Option<i64> {
        let (first, first_ns) = *self.first.get_or_insert((value, time_ns));
        let ticks = i64::from(value.wrapping_sub(first) as i32);
        let elapsed_ns = time_ns - first_ns;
        if ticks > 1 && elapsed_ns >= LEAST_NS {
            // Both timestamps are rounded, so up to one tick less may have passed.
            let bound_ns = elapsed_ns as f64 / (ticks - 1) as f64;
            if self.bound_ns.is_none_or(|least| bound_ns < least) {
                self.bound_ns = Some(bound_ns);
                self.tick = self.usual_tick(bound_ns);
                if self.tick.is_none() && self.replace_late_first(bound_ns) {
                    return self.queueing_ns(value, time_ns, has_data);
                }
            }
        }
        // The tick may be found when packets already wait in a queue, so the offsets are measured
        // for all ticks from the first packet on.
        let of_kind = &mut self.offsets_ns[usize::from(has_data)];
        let offsets_ns = of_kind.get_or_insert([i64::MAX; TICKS_NS.len()]);
        // Times in damaged files may lie anywhere, hence the saturating subtractions.
        let since_ns = |tick_ns: i64| elapsed_ns.saturating_sub(ticks * tick_ns);
        for (offset_ns, tick_ns) in offsets_ns.iter_mut().zip(TICKS_NS) {
            *offset_ns = (*offset_ns).min(since_ns(tick_ns));
        }
        let index = self.tick?;
        let waited_ns = since_ns(TICKS_NS[index]).saturating_sub(offsets_ns[index]);
        if waited_ns > LONGEST_NS {
            // Only packets with data are evidence of the tick.
            if has_data {
                (self.tick, self.is_unusual) = (None, true);
            }
            return None;
        }
        // Two packets with the same timestamp may have been sent up to one tick apart.
        Some((waited_ns - TICKS_NS[index]).max(0))
    }

    /// Forgets the first packet if it seems to have waited for longer than the ticks after it, as a
    /// SYN/ACK does that later packets overtake. This happens once, because the tick may also be
    /// none of the usual ones.
    fn replace_late_first(&mut self, bound_ns: f64) -> bool {
        let is_late = bound_ns < DRIFT_MIN * TICKS_NS[1] as f64 && !self.has_replaced_first;
        if is_late {
            *self = Self { has_replaced_first: true, ..Self::default() };
        }
        is_late
    }

    /// Index of the longest usual tick below this bound. A queue that grows only raises the bound,
    /// so the tick is found as soon as a packet has waited for a short time.
    fn usual_tick(&self, bound_ns: f64) -> Option<usize> {
        let is_near = |tick: &i64| {
            let tick = *tick as f64;
            DRIFT_MIN * tick <= bound_ns && bound_ns <= QUEUED_MAX * tick
        };
        TICKS_NS.iter().rposition(is_near).filter(|_| !self.is_unusual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time at which a packet would have passed the capture without waiting in any queue.
    fn time_without_queueing(clock: &mut Clock, value: u32, time_ns: i64, has_data: bool) -> i64 {
        time_ns - clock.queueing_ns(value, time_ns, has_data).unwrap_or(0)
    }

    /// With a queue that grows to 1.3 s, 5,000 ticks of 1 ms seem to last 6.3 s.
    #[test]
    fn a_long_queue_does_not_change_the_tick() {
        let mut clock = Clock::default();
        for ms in 0..20_000_i64 {
            let queue_ns = ((ms - 200).max(0) * 300_000).min(1_300_000_000);
            let unqueued_ns =
                time_without_queueing(&mut clock, ms as u32, ms * 1_000_000 + queue_ns, true);
            if ms > 1_000 {
                assert!((unqueued_ns - ms * 1_000_000).abs() < 2_000_000, "{ms} ms: {unqueued_ns}");
            }
        }
    }

    /// Bursts of ten segments, sent every 36 ms, over a link that takes 10 ms for each.
    #[test]
    fn a_slow_link_does_not_hide_the_tick() {
        let mut clock = Clock::default();
        time_without_queueing(&mut clock, 0, 0, false);
        for number in 0..200 {
            let sent_ms = 36 * (1 + number / 10);
            let time_ns = (46 + 10 * number) * 1_000_000;
            let unqueued_ns = time_without_queueing(&mut clock, sent_ms as u32, time_ns, true);
            let late_ns = unqueued_ns - (sent_ms + 10) * 1_000_000;
            assert!((0..=1_000_000).contains(&late_ns), "{number}: {late_ns}");
        }
    }

    /// A clock of 1 ms lags by a second every two seconds behind ticks of 2 ms.
    #[test]
    fn an_unusual_tick_is_not_used() {
        let mut clock = Clock::default();
        let late_ns = |ms: i64| {
            let time_ns = ms * 1_000_000;
            time_ns - time_without_queueing(&mut clock, (ms / 2) as u32, time_ns, true)
        };
        let late_ns: Vec<i64> = (0..20_000).map(late_ns).collect();
        assert!(late_ns[9_000..].iter().all(|late_ns| *late_ns == 0));
    }

    /// A SYN/ACK that is overtaken for a second, and segments every 3 ms, which do not wait.
    #[test]
    fn a_late_first_packet_does_not_hide_the_tick() {
        let mut clock = Clock::default();
        time_without_queueing(&mut clock, 50, 1_050 * 1_000_000, false);
        for number in 0..200_i64 {
            let ms = 1_060 + 3 * number;
            let time_ns = ms * 1_000_000;
            assert_eq!(time_without_queueing(&mut clock, ms as u32, time_ns, true), time_ns);
        }
        assert_eq!(clock.timestamp_tick_ns(), 1_000_000);
    }
}
