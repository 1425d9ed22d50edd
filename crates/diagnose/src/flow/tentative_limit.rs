//! Decides at the end of a flow when the bottleneck was the limit, and when a send buffer or a
//! clamp of the congestion window was.
//!
//! The bottleneck was the limit if the bytes in flight reached the path's bandwidth-delay product.
//! The estimate of this product changes while a flow is read. Each interval is therefore stored
//! with its bytes in flight, which are compared with the final estimate. A buffer or a clamp is
//! detected only after several rounds, so these intervals are corrected at the end, too.

use super::account::{Account, Limit};
use super::growth::PeriodNumber;
use std::collections::HashMap;

/// Maximum number of entries. The limits of intervals beyond this number are not corrected.
const ENTRIES_MAX: usize = 1 << 16;

/// Two possible limits of an interval, and the bytes in flight that decide between them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TentativeLimit {
    /// Limit according to the estimate of the bandwidth-delay product during the interval.
    pub limit: Limit,
    /// Limit if the bottleneck was not busy all the time.
    pub alternative: Limit,
    /// Bytes in flight.
    pub flight: i64,
    /// Number of the period between two increases of the maximum number of bytes in flight.
    pub period: PeriodNumber,
}

/// Durations in nanoseconds of all intervals whose limit is still tentative, summed for each
/// tentative limit and episode.
#[derive(Debug, Default)]
pub struct UndecidedTimes {
    times: HashMap<(TentativeLimit, Option<usize>), i64>,
}

impl UndecidedTimes {
    /// Adds an interval of `length` nanoseconds with this tentative limit.
    pub fn add(&mut self, decision: TentativeLimit, episode: Option<usize>, length: i64) {
        // Only these limits depend on the bandwidth-delay product.
        let is_open = matches!(
            decision.limit,
            Limit::Bottleneck
                | Limit::ReceiveWindow
                | Limit::SlowStart
                | Limit::Window
                | Limit::Recovery
        );
        if length > 0 && is_open && self.times.len() < ENTRIES_MAX {
            *self.times.entry((decision, episode)).or_default() += length;
        }
    }

    /// Corrects the account. The bottleneck was the limit with at least `enough` bytes in flight,
    /// if this value is known. Otherwise a send buffer or a clamp was the limit in the periods
    /// `bound`, which are in ascending order.
    pub fn correct(self, account: &mut Account, enough: Option<f64>, bound: &[PeriodNumber]) {
        for ((decision, episode), length) in self.times {
            let TentativeLimit { limit, alternative, flight, period } = decision;
            let is_filled = enough.map_or(limit == Limit::Bottleneck, |it| flight as f64 >= it);
            let is_bound = alternative == Limit::SlowStart && bound.binary_search(&period).is_ok();
            let known = match (is_filled, is_bound) {
                (true, _) => (Limit::Bottleneck, None),
                (false, true) => (Limit::SendBuffer, None),
                (false, false) => (alternative, episode),
            };
            let was = if limit == Limit::Bottleneck { (limit, None) } else { (limit, episode) };
            if known.0 != limit {
                account.reassign(length, was, known);
            }
        }
    }
}
