//! What a packet will need of its flow is fetched into the processor's cache before its turn.

use super::{Flow, SENDER};
use crate::plan::Side;
use prefetch_index::prefetch_index;

impl Flow {
    /// A packet is about to come to this end: lets the processor fetch what it will need.
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

    /// Then what the sender knows of the segments in flight. (What data come to has hardly any.)
    #[inline]
    pub fn prefetch_board(&self, side: Side) {
        if side == Side::Sender {
            self.ends[SENDER].prefetch_board();
        }
    }

    /// Then the first and the last of them.
    #[inline]
    pub fn prefetch_records(&self, side: Side) {
        if side == Side::Sender {
            self.ends[SENDER].prefetch_records();
        }
    }
}
