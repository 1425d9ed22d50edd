//! Prefetching of the cache lines of a pipe that are needed when a packet arrives.

use super::Pipe;
use prefetch_index::prefetch_index;

impl Pipe {
    /// Prefetches the state needed when a packet arrives.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_index(std::slice::from_ref(self), 0);
    }

    /// Prefetches the state needed when several packets arrive and queue up.
    #[inline]
    pub fn prefetch_for_several(&self) {
        self.prefetch();
        self.transmitter.prefetch_waiting();
    }

    /// Prefetches the state needed when a packet leaves, and when one arrives and queues up.
    #[inline]
    pub fn prefetch_whole(&self) {
        self.prefetch_for_several();
        prefetch_index(std::slice::from_ref(&self.delay_line), 0);
    }

    /// Prefetches the slot of the packet that leaves next.
    #[inline]
    pub fn prefetch_front(&self) {
        self.delay_line.prefetch_front();
    }

    /// Id of the packet that leaves next, if it is a plain one.
    #[inline]
    pub fn front(&self) -> Option<u32> {
        self.delay_line.front()
    }

    /// Prefetches the slots of the first waiting packet, and of the next one to wait.
    #[inline]
    pub fn prefetch_waiting_slots(&self) {
        self.transmitter.prefetch_ends();
    }

    /// Prefetches the slot in which the next packet will be stored: in the queue if the pipe passes
    /// its packets to a merge queue of the engine, otherwise in the delay line.
    #[inline]
    pub fn prefetch_back(&self) {
        if self.sink().is_some() {
            self.transmitter.prefetch_back();
        } else {
            self.delay_line.prefetch_back();
        }
    }
}
