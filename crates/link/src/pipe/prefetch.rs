//! What a packet will need is fetched into the processor's cache before its turn.

use super::Pipe;
use prefetch_index::prefetch_index;

impl Pipe {
    /// A packet is about to arrive at the near end: lets the processor fetch what that needs.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_index(std::slice::from_ref(self), 0);
    }

    /// Then the place where the packet will be.
    #[inline]
    pub fn prefetch_place(&self) {
        self.air.prefetch_place();
    }
}
