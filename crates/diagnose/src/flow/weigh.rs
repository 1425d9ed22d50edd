//! Decides when the bottleneck was the limit, by the final estimate of the bandwidth-delay product,
//! and when a bound of the window was.
//!
//! The estimate changes while a flow is read. Each interval is therefore stored with its bytes in
//! flight, which are compared with the final estimate. That the window was bound is known only
//! after several rounds.

use super::account::{Account, Limit};
use super::bound::Period;
use std::collections::HashMap;

/// Maximum number of entries. Further intervals keep the limit of their first decision.
const ENTRIES_MAX: usize = 1 << 16;

/// Two possible limits of an interval, and the bytes in flight that decide between them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Decision {
    /// Limit according to the estimate at that time.
    pub limit: Limit,
    /// Limit if the bottleneck was not filled.
    pub otherwise: Limit,
    /// Bytes in flight.
    pub flight: i64,
    /// Period between two growths of the bytes in flight.
    pub period: Period,
}

/// Nanoseconds by decision and episode.
#[derive(Debug, Default)]
pub struct UndecidedTimes {
    times: HashMap<(Decision, Option<usize>), i64>,
}

impl UndecidedTimes {
    /// Adds an interval.
    pub fn add(&mut self, decision: Decision, episode: Option<usize>, length: i64) {
        // Only these limits depend on the bandwidth-delay product.
        let is_open = matches!(
            decision.limit,
            Limit::Bottleneck | Limit::SlowStart | Limit::Window | Limit::Recovery
        );
        if length > 0 && is_open && self.times.len() < ENTRIES_MAX {
            *self.times.entry((decision, episode)).or_default() += length;
        }
    }

    /// Corrects the account. The bottleneck was the limit with at least `enough` bytes in flight,
    /// if this value is known. Otherwise a bound of the window was the limit in the periods
    /// `bound`, which are in order.
    pub fn correct(self, account: &mut Account, enough: Option<f64>, bound: &[Period]) {
        for ((decision, episode), length) in self.times {
            let Decision { limit, otherwise, flight, period } = decision;
            let is_filled = enough.map_or(limit == Limit::Bottleneck, |it| flight as f64 >= it);
            let is_bound = otherwise == Limit::SlowStart && bound.binary_search(&period).is_ok();
            let known = match (is_filled, is_bound) {
                (true, _) => (Limit::Bottleneck, None),
                (false, true) => (Limit::SendBuffer, None),
                (false, false) => (otherwise, episode),
            };
            let was = if limit == Limit::Bottleneck { (limit, None) } else { (limit, episode) };
            if known.0 != limit {
                account.shift(length, was, known);
            }
        }
    }
}
