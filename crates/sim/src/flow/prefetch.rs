//! Prefetching of the flow state that a packet will need.

use super::{Flow, SENDER};
use crate::plan::Side;
use prefetch_index::prefetch_index;

impl Flow {
    /// Prefetches the state that a packet for this end will need.
    #[inline]
    pub fn prefetch(&self, side: Side) {
        self.ends[side as usize].prefetch(side == Side::Sender);
        let behind = std::slice::from_ref(&self.first_hops);
        for line in 0..2 {
            prefetch_index(behind, line * 64 / size_of_val(behind));
        }
        if side == Side::Sender {
            prefetch_index(behind, 2 * 64 / size_of_val(behind));
        }
    }

    /// Prefetches the sender's list of segments in flight. (A data receiver has hardly any.)
    #[inline]
    pub fn prefetch_board(&self, side: Side) {
        if side == Side::Sender {
            self.ends[SENDER].prefetch_board();
        }
    }

    /// Prefetches the sender's first and last records of segments in flight.
    #[inline]
    pub fn prefetch_records(&self, side: Side) {
        if side == Side::Sender {
            self.ends[SENDER].prefetch_records();
        }
    }
}
