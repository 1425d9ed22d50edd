//! Fast check of a flow's limit, part of the engine's fast paths
//! ([`crate::engine`]'s module `fast_path`).
//!
//! Most acknowledgments do not change the limit. When [`Flow::note_limit`] has determined the
//! limit, the range of bytes in flight within which it holds is stored. After later
//! acknowledgments, a few comparisons with that range suffice. Debug builds check the result each
//! time.

use super::{Flow, SENDER};
use crate::path::BandwidthDelayProduct;
use retx_record::flow::FlowLimit;
use retx_units::Time;

/// Ranges of bytes in flight within which the limit found last still holds. They refer to the data
/// of all flows over the bottleneck, except that `peer_window_below` refers to this flow's data.
#[derive(Debug, Clone, Copy)]
pub struct CachedLimit {
    /// Smallest number of bytes in flight for which the bottleneck is the limit; `u64::MAX` if
    /// another limit was found.
    bottleneck_from: u64,
    /// Bytes in flight below which the congestion window is the limit; 0 if another limit was
    /// found.
    cwnd_below: u64,
    /// Bytes in flight below which the peer's window is the limit; 0 if another limit was found.
    peer_window_below: u64,
}

impl CachedLimit {
    /// Value if no limit is known to hold.
    pub const UNKNOWN: Self =
        Self { bottleneck_from: u64::MAX, cwnd_below: 0, peer_window_below: 0 };

    fn new(limit: FlowLimit, path: &BandwidthDelayProduct) -> Self {
        let Some(busy) = path.constant_busy_bytes() else { return Self::UNKNOWN };
        match limit {
            FlowLimit::Bottleneck => Self { bottleneck_from: busy, ..Self::UNKNOWN },
            FlowLimit::SlowStart | FlowLimit::Window(_) => {
                Self { cwnd_below: busy, ..Self::UNKNOWN }
            }
            FlowLimit::ReceiveWindow => Self { peer_window_below: busy, ..Self::UNKNOWN },
            _ => Self::UNKNOWN,
        }
    }
}

impl Flow {
    /// Does the same as [`Self::note_limit`], faster.
    #[inline(always)]
    pub fn note_limit_fast(&mut self, now: Time, in_flight: &mut [u64]) {
        if self.limit_stands(in_flight) {
            debug_assert_eq!(self.record.limit(), self.limit_at(now, in_flight));
        } else {
            self.renew_limit(now, in_flight);
        }
    }

    /// Invalidates the stored ranges after a reduction of the congestion window, or the undo of
    /// one, because the flow's record may have changed the limit when it recorded that event.
    pub(super) fn invalidate_cached_limit(&mut self) {
        self.cached_limit = CachedLimit::UNKNOWN;
    }

    /// True if the limit found last still holds, and nothing is to be retransmitted.
    #[inline(always)]
    fn limit_stands(&mut self, in_flight: &mut [u64]) -> bool {
        let sender = &self.ends[SENDER];
        if !sender.sends_new_data() || !sender.has_full_segment() {
            return false;
        }
        let flight = sender.flight_size();
        let standing = &self.cached_limit;
        let all = if let Some(all) = self.share.update_in_flight(flight, in_flight) {
            if sender.fits_peer_window(flight) && all >= standing.bottleneck_from {
                return true;
            }
            all
        } else if flight >= standing.bottleneck_from {
            return true;
        } else {
            flight
        };
        if sender.fits_peer_window(flight) {
            all < standing.cwnd_below && !sender.fits_cwnd(flight)
        } else {
            flight < standing.peer_window_below
        }
    }

    /// Continues [`Self::note_limit_fast`] if the first comparisons do not suffice.
    #[inline(never)]
    fn renew_limit(&mut self, now: Time, in_flight: &mut [u64]) {
        if self.limit_stands_in_recovery(in_flight) || self.queue_stands() {
            debug_assert_eq!(self.record.limit(), self.limit_at(now, in_flight));
        } else {
            self.renew_limit_in_full(now, in_flight);
        }
    }

    /// Like [`Self::limit_stands`], but also valid while lost segments are retransmitted.
    #[inline(always)]
    fn limit_stands_in_recovery(&mut self, in_flight: &mut [u64]) -> bool {
        let sender = &self.ends[SENDER];
        if !sender.is_established() || !sender.has_full_segment() {
            return false;
        }
        let pipe = sender.pipe();
        let standing = &self.cached_limit;
        let all = self.share.update_in_flight(pipe, in_flight).unwrap_or(pipe);
        // If this flow's data alone fill the bottleneck, the peer's window does not matter.
        if !sender.fits_peer_window(sender.flight_size()) {
            return pipe >= standing.bottleneck_from;
        }
        if all >= standing.bottleneck_from {
            return true;
        }
        match self.record.limit() {
            FlowLimit::Recovery(_) => {
                let busy = self.path.as_ref().and_then(|path| path.constant_busy_bytes());
                busy.is_some_and(|busy| all < busy) && sender.is_in_unpaced_recovery()
            }
            _ => all < standing.cwnd_below && sender.waits_for_cwnd(),
        }
    }

    /// True if the bottleneck is still the limit, on a path without a bandwidth-delay product.
    #[inline(always)]
    fn queue_stands(&self) -> bool {
        let sender = &self.ends[SENDER];
        self.path.is_none()
            && self.record.limit() == FlowLimit::Bottleneck
            && sender.is_established()
            && sender.has_full_segment()
            && sender.waits_in_queues()
    }

    /// Determines the limit in full, and stores the ranges within which it holds.
    #[inline(never)]
    fn renew_limit_in_full(&mut self, now: Time, in_flight: &mut [u64]) {
        self.note_limit(now, in_flight);
        self.cached_limit = self
            .path
            .as_deref()
            .map_or(CachedLimit::UNKNOWN, |path| CachedLimit::new(self.record.limit(), path));
    }

    fn limit_at(&mut self, now: Time, in_flight: &mut [u64]) -> FlowLimit {
        let load = self.load(now, in_flight);
        self.limit(now, load)
    }
}
