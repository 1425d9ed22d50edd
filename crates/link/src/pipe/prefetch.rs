//! What a packet will need is fetched into the processor's cache before its turn.

use super::Pipe;
use prefetch_index::prefetch_index;

impl Pipe {
    /// A packet is about to arrive at the near end: lets the processor fetch what that needs.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_index(std::slice::from_ref(self), 0);
    }

    /// The same of several packets, of which the later wait for the first.
    #[inline]
    pub fn prefetch_for_several(&self) {
        self.prefetch();
        self.transmitter.prefetch_waiting();
    }

    /// Then the place where the packet will be: that of those that wait, if the pipe keeps none on
    /// its way.
    #[inline]
    pub fn prefetch_place(&self) {
        if self.feeds().is_some() {
            self.transmitter.prefetch_place();
        } else {
            self.air.prefetch_place();
        }
    }
}
