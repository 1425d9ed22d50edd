//! Counting of duplicate ACKs up to the threshold, for Tahoe, Reno and NewReno.

use super::{Ack, Reaction};

/// Count of consecutive duplicate ACKs, and the recovery point of the last loss event.
#[derive(Debug, Clone, Default)]
pub(super) struct Dupacks {
    count: u32,
    /// Position after everything sent at the last loss event (`recover`, RFC 6582 §3.2).
    pub recover: u64,
}

impl Dupacks {
    /// Resets the count at an acknowledgment of new data.
    pub fn reset(&mut self) {
        self.count = 0;
    }

    /// True if no duplicate ACK has arrived since the last acknowledgment of new data.
    pub fn has_no_dupacks(&self) -> bool {
        self.count == 0
    }

    /// Handles the expiry of the retransmission timer.
    pub fn on_timeout(&mut self, snd_max: u64) {
        self.count = 0;
        self.recover = snd_max;
    }

    /// Counts a duplicate ACK. Returns `found` at the threshold, or when the first segment is
    /// overdue (Vegas). With `recover_test`, it does so only if the ACK acknowledges more than
    /// `recover` (RFC 6582 §3.2, step 1).
    pub fn on_duplicate(&mut self, ack: &Ack, recover_test: bool, found: Reaction) -> Reaction {
        self.count += 1;
        let beyond = !recover_test || ack.snd_una > self.recover;
        // Only the ACK that reaches the threshold counts: later ones report the same loss event.
        if (self.count == ack.dupack_threshold || ack.overdue) && beyond {
            // Until all data in flight now are acknowledged, duplicate ACKs may still be due to
            // this loss event (RFC 6582 §3.2).
            self.recover = ack.snd_max;
            found
        } else if self.count < ack.dupack_threshold {
            Reaction::LimitedTransmit
        } else {
            Reaction::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ack, LossDetection, Reaction, newreno, reno, testing};
    use crate::scoreboard::Scoreboard;

    const fn ack(bytes_acked: u64, snd_una: u64) -> Ack<'static> {
        testing::ack(bytes_acked, snd_una, 20_000)
    }

    /// RFC 6582 §3.2 step 1: duplicate ACKs for data sent before a timeout do not start a recovery.
    fn starts_no_recovery_for_data_sent_before_a_timeout(mut state: impl LossDetection) {
        let board = &mut Scoreboard::default();
        state.on_timeout(10_000);
        for _ in 0..5 {
            assert_ne!(state.on_ack(&ack(0, 5_000), board), Reaction::FastRetransmit);
        }
        assert!(!state.in_recovery());
        state.on_ack(&ack(7_000, 12_000), board);
        let reactions = [(); 4].map(|()| state.on_ack(&ack(0, 12_000), board));
        use Reaction::{FastRetransmit, Inflate, LimitedTransmit};
        assert_eq!(reactions, [LimitedTransmit, LimitedTransmit, FastRetransmit, Inflate]);
    }

    #[test]
    fn no_recovery_for_data_sent_before_a_timeout() {
        let of = (crate::presets::find("reno").expect("a preset").config)();
        let reno = reno::State::new(&reno::Config::default(), &of);
        starts_no_recovery_for_data_sent_before_a_timeout(reno);
        let newreno = newreno::State::new(&newreno::Config::default(), &of);
        starts_no_recovery_for_data_sent_before_a_timeout(newreno);
    }
}
