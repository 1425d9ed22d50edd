//! Counting duplicate ACKs up to the threshold, as Tahoe, Reno and NewReno do.

use super::{Ack, Reaction};

/// Duplicate ACKs in a row, and the data that may start no further recovery.
#[derive(Debug, Clone, Default)]
pub(super) struct Dupacks {
    count: u32,
    /// Position after what had been sent at the last loss event (`recover`, RFC 6582 §3.2).
    pub recover: u64,
}

impl Dupacks {
    /// New data were acknowledged.
    pub fn reset(&mut self) {
        self.count = 0;
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, snd_max: u64) {
        self.count = 0;
        self.recover = snd_max;
    }

    /// One more duplicate. `found` is the reaction to the one that reaches the threshold, or comes
    /// when the first segment is overdue, and, with `recover_test`, acknowledges more than
    /// `recover` (RFC 6582 §3.2, step 1).
    pub fn on_duplicate(&mut self, ack: &Ack, recover_test: bool, found: Reaction) -> Reaction {
        self.count += 1;
        let beyond = !recover_test || ack.snd_una > self.recover;
        if (self.count == ack.dupack_threshold || ack.overdue) && beyond {
            self.recover = ack.snd_max;
            found
        } else if self.count < ack.dupack_threshold {
            Reaction::LimitedTransmit
        } else {
            Reaction::Nothing
        }
    }
}
