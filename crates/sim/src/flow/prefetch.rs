//! Prefetching of the state of a flow that the handling of a packet will need.

use super::{Flow, RECEIVER, SENDER};
use crate::plan::Side;
use prefetch_index::prefetch_index;

impl Flow {
    /// Prefetches the state needed to handle a packet that arrives at this endpoint.
    #[inline]
    pub fn prefetch(&self, side: Side) {
        self.ends[side as usize].prefetch(side == Side::Sender);
        let behind = std::slice::from_ref(&self.first_hops);
        // The fifth line has the counters of the congestion window and of RTT samples.
        for line in 0..if side == Side::Sender { 5 } else { 4 } {
            prefetch_index(behind, line * 64 / size_of_val(behind));
        }
    }

    /// Prefetches the sender's scoreboard or the receiver's data beyond a gap, and what is known
    /// about limits, losses and waits.
    #[inline]
    pub fn prefetch_board(&self, side: Side) {
        if side == Side::Sender {
            self.ends[SENDER].prefetch_board();
            prefetch_index(std::slice::from_ref(self.record.limit_ref()), 0);
        } else {
            self.ends[RECEIVER].prefetch_beyond_gap();
        }
        if let Some(truth) = self.record.unresolved_losses() {
            prefetch_index(std::slice::from_ref(truth), 0);
        }
        self.path.iter().for_each(|path| path.prefetch());
    }

    /// Prefetches the first and the last entry of the sender's scoreboard, and the first losses
    /// that are unresolved.
    #[inline]
    pub fn prefetch_records(&self, side: Side) {
        if side == Side::Sender {
            self.ends[SENDER].prefetch_records();
            let unresolved = self.record.unresolved_losses().into_iter();
            for copy in unresolved.flat_map(|truth| truth.first_exceptions()) {
                prefetch_index(std::slice::from_ref(copy), 0);
            }
        }
        self.path.iter().for_each(|path| path.prefetch_acks(side == Side::Receiver));
    }

    /// True if the record of the flow needs to know which copy of a segment arrives.
    #[inline(always)]
    pub fn has_unresolved_losses(&self) -> bool {
        self.record.unresolved_losses().is_some()
    }
}
