//! Detection of a bound on the bytes in flight: a send buffer, or a clamp of the congestion window.
//! A capture does not distinguish the two.
//!
//! *Rule.* A congestion window that was never reduced grows as long as the sender uses all of it.
//! In slow start it grows by the acknowledged bytes; after an early exit from slow start, by half a
//! segment per round trip or more. If the bytes in flight return to the same maximum for
//! [`ROUNDS_MIN`] rounds, and do not exceed it, something else bounds them.
//!
//! *Limitations.* After a reduction, CUBIC keeps its congestion window nearly constant for seconds,
//! and a sender that paces its segments may keep it constant permanently. In both cases the
//! congestion window remains the limit. If the size of a send buffer is not a multiple of the
//! segment size, the last segment is short. The sender then looks like one whose application has no
//! more data.

/// Number of rounds without growth after which a buffer or a clamp counts as the limit. Even the
/// slowest growth, half a segment per round trip with delayed ACKs, adds four segments in this
/// time.
const ROUNDS_MIN: u32 = 8;

/// Number of a period between two increases of the maximum number of bytes in flight.
pub type PeriodNumber = u32;

/// Growth of the maximum number of bytes in flight.
#[derive(Debug, Default)]
pub struct FlightGrowth {
    /// Maximum number of bytes in flight so far.
    largest: i64,
    /// Number of the current period, from 0.
    current_period: PeriodNumber,
    /// Position whose acknowledgment ends the current round.
    round_end: i64,
    /// Number of rounds of this period in which the flight returned to its maximum.
    rounds: u32,
    /// True if the flight has returned to its maximum in the current round.
    is_used: bool,
    /// Periods in which a buffer or a clamp was the limit.
    bound: Vec<PeriodNumber>,
}

impl FlightGrowth {
    /// Current period.
    pub const fn current_period(&self) -> PeriodNumber {
        self.current_period
    }

    /// Periods in which a buffer or a clamp was the limit, in ascending order.
    pub fn limited_periods(&self) -> &[PeriodNumber] {
        &self.bound
    }

    /// Handles a change of the bytes in flight: everything before `una` is acknowledged, everything
    /// before `end` has been sent, in segments of `segment` bytes.
    pub fn on_flight(&mut self, una: i64, end: i64, segment: i64) {
        let flight = end - una;
        if flight > self.largest + segment / 2 {
            self.largest = flight;
            self.begin_period(end);
            return;
        }
        self.largest = self.largest.max(flight);
        self.is_used |= flight + 2 * segment > self.largest;
        if una >= self.round_end {
            self.rounds = if self.is_used { self.rounds + 1 } else { 0 };
            (self.is_used, self.round_end) = (false, end);
            if self.rounds >= ROUNDS_MIN && self.bound.last() != Some(&self.current_period) {
                self.bound.push(self.current_period);
            }
        }
    }

    /// Begins a period at position `end`: the congestion window has grown, or the sender may not
    /// have used all of it.
    pub fn begin_period(&mut self, end: i64) {
        self.current_period += 1;
        (self.rounds, self.is_used, self.round_end) = (0, false, end);
    }
}

/// Round trips in which the peer's window was full.
#[derive(Debug, Default)]
pub struct FullRounds {
    /// Position whose acknowledgment ends the current round trip.
    round_end: i64,
    /// True if the window was full in the current round trip, and in the one before.
    is_full: bool,
    was_full: bool,
}

impl FullRounds {
    /// Handles a change of the bytes in flight: everything before `una` is acknowledged, everything
    /// before `end` has been sent. `is_full` is true if the window is full now.
    pub fn on_flight(&mut self, una: i64, end: i64, is_full: bool) {
        if una >= self.round_end {
            (self.was_full, self.is_full, self.round_end) = (self.is_full, false, end);
        }
        self.is_full |= is_full;
    }

    /// True if the window was full in this round trip or in the one before.
    pub const fn is_recent(&self) -> bool {
        self.is_full || self.was_full
    }
}
