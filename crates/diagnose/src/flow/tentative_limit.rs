//! Decides at the end of a flow when the bottleneck was the limit, and when a send buffer or a
//! clamp of the congestion window was.
//!
//! The bottleneck was the limit if the bytes in flight reached the path's bandwidth-delay product.
//! The estimate of this product changes while a flow is read. Each interval is therefore stored
//! with its bytes in flight, which are compared with the final estimate. A buffer or a clamp is
//! detected only after several rounds, so these intervals are corrected at the end, too.

use super::account::{Account, Limit};
use super::growth::PeriodNumber;
use super::pacing::Spacing;
use super::write_space::WriterWakeups;
use rustc_hash::FxHashMap;

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
    /// True if another full segment fitted into the congestion window.
    pub has_room: bool,
    /// Number of the period between two increases of the maximum number of bytes in flight.
    pub period: PeriodNumber,
}

/// Time for which a limit is tentative, and that no data have ended yet.
#[derive(Debug, Clone, Copy)]
struct OpenInterval {
    decision: TentativeLimit,
    episode: Option<usize>,
    length_ns: i64,
}

/// Key of times that are corrected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    decision: TentativeLimit,
    episode: Option<usize>,
    /// Spacing of the data that ended the interval.
    spacing: Spacing,
    /// True if a program that had filled the send buffer may have written these data.
    is_woken: bool,
}

/// Evidence of the whole flow that decides tentative limits.
#[derive(Debug, Clone, Copy)]
pub struct FlowEvidence<'a> {
    /// Least bytes in flight with which the bottleneck was the limit, if known.
    pub enough: Option<f64>,
    /// Periods in which a send buffer or a clamp was the limit, in ascending order.
    pub bound: &'a [PeriodNumber],
    /// True if the sender paces, and only the whole flow has shown it.
    pub is_paced: bool,
}

/// Durations in nanoseconds of all intervals whose limit is still tentative, summed for each
/// tentative limit and episode.
#[derive(Debug, Default)]
pub struct UndecidedTimes {
    times: FxHashMap<Key, i64>,
    /// Intervals since the last data.
    since_data: Vec<OpenInterval>,
    /// Wake-ups of the program that writes.
    pub writer: WriterWakeups,
}

impl UndecidedTimes {
    /// Adds an interval of `length` nanoseconds with this tentative limit.
    pub fn add(&mut self, decision: TentativeLimit, episode: Option<usize>, length: i64) {
        // Only these limits depend on the bandwidth-delay product. A program may have data to
        // send that do not fit into the send buffer.
        let is_open = match decision.limit {
            Limit::Application => decision.flight > 0,
            limit => matches!(
                limit,
                Limit::Bottleneck
                    | Limit::ReceiveWindow
                    | Limit::SlowStart
                    | Limit::Window
                    | Limit::Recovery
            ),
        };
        if length > 0 && is_open {
            match self.since_data.last_mut() {
                Some(last) if (last.decision, last.episode) == (decision, episode) => {
                    last.length_ns += length;
                }
                _ => self.since_data.push(OpenInterval { decision, episode, length_ns: length }),
            }
        }
    }

    /// Discards the intervals since the previous data that `is_decided` selects by their limit,
    /// apart from the first `kept_ns` of them: the next data have shown which limit was in force.
    pub fn discard(&mut self, mut kept_ns: i64, is_decided: impl Fn(Limit) -> bool) {
        for interval in &mut self.since_data {
            if is_decided(interval.decision.limit) {
                interval.length_ns = interval.length_ns.min(kept_ns);
                kept_ns -= interval.length_ns;
            }
        }
        self.since_data.retain(|interval| interval.length_ns > 0);
    }

    /// Handles data that end the intervals since the previous data. `is_woken` is true if a program
    /// that had filled the send buffer may have written them.
    pub fn on_data(&mut self, spacing: Spacing, is_woken: bool) {
        for OpenInterval { decision, episode, length_ns } in self.since_data.drain(..) {
            let key = Key { decision, episode, spacing, is_woken };
            if self.times.len() < ENTRIES_MAX || self.times.contains_key(&key) {
                *self.times.entry(key).or_default() += length_ns;
            }
        }
    }

    /// Corrects the account by the evidence of the whole flow.
    pub fn correct(mut self, account: &mut Account, evidence: &FlowEvidence) {
        self.on_data(Spacing::Unknown, false);
        let has_full_buffer = self.writer.threshold().is_some();
        for (Key { decision, episode, spacing, is_woken }, length) in self.times {
            let TentativeLimit { limit, alternative, flight, has_room, period } = decision;
            let is_filled =
                evidence.enough.map_or(limit == Limit::Bottleneck, |it| flight as f64 >= it);
            let is_window =
                matches!(alternative, Limit::SlowStart | Limit::Window | Limit::EcnWindow);
            let is_woken = has_full_buffer && is_woken;
            if limit == Limit::Application && !is_woken {
                continue;
            }
            let is_bound = match alternative {
                Limit::Application => true,
                Limit::SlowStart => is_woken || evidence.bound.binary_search(&period).is_ok(),
                _ => is_woken && is_window,
            };
            let may_be_paced = match spacing {
                Spacing::Unknown => false,
                Spacing::Regular => is_window,
                // The window did not need the acknowledgment that came by chance just before.
                Spacing::Released => is_window && has_room,
                // A recovery in which the window had room, as no acknowledgment was needed.
                Spacing::Timed => is_window || alternative == Limit::Recovery,
            };
            let known = if is_filled {
                (Limit::Bottleneck, None)
            } else if may_be_paced && evidence.is_paced && !is_woken {
                (Limit::Pacing, None)
            } else if is_bound {
                (Limit::SendBuffer, None)
            } else {
                (alternative, episode)
            };
            let was = if limit == Limit::Bottleneck { (limit, None) } else { (limit, episode) };
            if known.0 != limit {
                account.reassign(length, was, known);
            }
        }
    }
}
