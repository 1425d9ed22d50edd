//! Prefetching of the state of a flow that the handling of a packet will need.

use super::{Flow, SENDER};
use crate::plan::Side;
use prefetch_index::prefetch_index;

impl Flow {
    /// Prefetches the state needed to handle a packet that arrives at this endpoint.
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

    /// Prefetches the sender's scoreboard. A data receiver's is nearly always empty.
    #[inline]
    pub fn prefetch_board(&self, side: Side) {
        if side == Side::Sender {
            self.ends[SENDER].prefetch_board();
        }
        self.path.iter().for_each(|path| path.prefetch());
    }

    /// Prefetches the first and the last entry of the sender's scoreboard.
    #[inline]
    pub fn prefetch_records(&self, side: Side) {
        if side == Side::Sender {
            self.ends[SENDER].prefetch_records();
        }
        self.path.iter().for_each(|path| path.prefetch_acks(side == Side::Receiver));
    }
}
