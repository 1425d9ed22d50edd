//! Decides when the bottleneck was the limit, by the final estimate of the bandwidth-delay product.
//!
//! The estimate changes while a flow is read. Each interval is therefore stored with its bytes in
//! flight, which are compared with the final estimate.

use super::account::{Account, Limit};
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

    /// Corrects the account: the bottleneck was the limit with at least `enough` bytes in flight.
    pub fn correct(self, account: &mut Account, enough: f64) {
        for ((decision, episode), length) in self.times {
            let Decision { limit, otherwise, flight } = decision;
            let is_filled = flight as f64 >= enough;
            if is_filled && limit != Limit::Bottleneck {
                account.shift(length, (limit, episode), (Limit::Bottleneck, None));
            } else if !is_filled && limit == Limit::Bottleneck {
                account.shift(length, (Limit::Bottleneck, None), (otherwise, episode));
            }
        }
    }
}
