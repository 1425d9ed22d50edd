//! Room in the congestion window, which tells a wait for the window from one by Nagle's algorithm.
//!
//! *Rule.* A sender begins with the initial window of RFC 5681, or with a larger one. If it has
//! sent a number of bytes without an acknowledgment, its window has at least as many. In slow start
//! each acknowledgment adds the acknowledged bytes, at most a segment (RFC 5681 §3.1), or all of
//! them (Linux); in congestion avoidance it adds the window's share of a segment. A partial segment
//! that would have fitted was held back by Nagle's algorithm; before, the window was the limit.

/// Number of acknowledgments after a reduction from which on those that release data show the
/// window: the first one may be the end of the recovery, when other data are in flight.
const CONFIRMATIONS: u32 = 2;

/// Congestion window, as far as the data in flight show it.
#[derive(Debug, Default)]
pub struct WindowRoom {
    /// Lower bound of the congestion window in bytes; 0 if unknown.
    bytes: i64,
    /// Position after everything sent.
    end: i64,
    /// Bytes that still fit into the window; none if unknown.
    left: Option<i64>,
    /// Cumulative acknowledgment when the newest data were sent.
    una: i64,
    /// Number of acknowledgments that must still release data until the window is known.
    unconfirmed: u32,
    /// Time since which another full segment has fitted; none if none fits.
    since_ns: Option<i64>,
}

/// Growth of a window by acknowledgments.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    /// Payload of a full segment.
    pub segment: i64,
    /// True if slow start adds all acknowledged bytes.
    pub adds_all: bool,
    /// True in slow start.
    pub is_slow_start: bool,
}

/// Initial window in bytes for segments of this length (RFC 5681 §3.1).
const fn initial_window(segment: i64) -> i64 {
    match segment {
        2191.. => 2 * segment,
        1096..=2190 => 3 * segment,
        _ => 4 * segment,
    }
}

impl WindowRoom {
    /// Handles an acknowledgment of this number of bytes.
    pub fn on_ack(&mut self, acked: i64, growth: &Growth) {
        let Growth { segment, adds_all, is_slow_start } = *growth;
        if self.bytes == 0 {
            return;
        }
        let counted = if adds_all { acked } else { acked.min(segment) };
        let is_slow_start = is_slow_start || self.bytes < segment;
        self.bytes += if is_slow_start { counted } else { counted * segment / self.bytes };
    }

    /// Handles a reduction of the congestion window.
    pub fn on_reduction(&mut self) {
        (self.bytes, self.unconfirmed) = (0, CONFIRMATIONS);
    }

    /// Handles a change of the bytes in flight at this time: everything before `una` is
    /// acknowledged, everything before `end` has been sent, in segments of `segment` bytes. Loss
    /// recovery shows nothing, since the sender may have nothing but retransmissions left.
    pub fn on_flight(&mut self, now_ns: i64, (una, end): (i64, i64), segment: i64, is_open: bool) {
        let flight = end - una;
        if end > self.end && is_open {
            self.bytes = self.bytes.max(flight);
            if una <= 1 && end > 1 {
                self.bytes = self.bytes.max(initial_window(segment));
            }
            self.unconfirmed -= u32::from(una > self.una && self.unconfirmed > 0);
            (self.end, self.una, self.since_ns) = (end, una, None);
        }
        self.left = (self.bytes > 0 && self.unconfirmed == 0).then_some(self.bytes - flight);
        if self.left.is_some_and(|left| left >= segment) {
            self.since_ns.get_or_insert(now_ns);
        } else {
            self.since_ns = None;
        }
    }

    /// Bytes that still fit into the window; none if unknown.
    pub const fn left(&self) -> Option<i64> {
        self.left
    }

    /// Time since which another full segment has fitted; none if none fits, or if this is unknown.
    pub const fn since_ns(&self) -> Option<i64> {
        self.since_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgments_make_room() {
        let slow = Growth { segment: 1_000, adds_all: false, is_slow_start: true };
        let mut room = WindowRoom::default();
        assert_eq!(room.left(), None);
        room.on_flight(0, (1, 4_001), 1_000, true);
        assert_eq!((room.left(), room.since_ns()), (Some(0), None));
        // Two segments are acknowledged, and the window grows by one.
        room.on_ack(2_000, &slow);
        room.on_flight(50, (2_001, 4_001), 1_000, true);
        assert_eq!((room.left(), room.since_ns()), (Some(3_000), Some(50)));
        room.on_flight(60, (2_001, 7_001), 1_000, true);
        assert_eq!((room.left(), room.since_ns()), (Some(0), None));
        room.on_ack(2_000, &Growth { is_slow_start: false, ..slow });
        room.on_flight(70, (4_001, 7_001), 1_000, true);
        assert_eq!(room.left(), Some(2_200));
        room.on_reduction();
        room.on_flight(80, (4_001, 7_001), 1_000, true);
        assert_eq!((room.left(), room.since_ns()), (None, None));
        // Loss recovery shows no window, and the first data after it do not, either.
        room.on_flight(90, (4_001, 8_001), 1_000, false);
        room.on_flight(100, (8_001, 9_001), 1_000, true);
        assert_eq!(room.left(), None);
        room.on_flight(110, (9_001, 11_001), 1_000, true);
        assert_eq!(room.left(), Some(0));
    }
}
