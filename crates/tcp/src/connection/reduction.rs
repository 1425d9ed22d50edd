//! Proportional rate reduction: how much each ACK of a recovery lets go.
//!
//! *Reference.* RFC 9937 §6 (which replaces RFC 6937).
//!
//! *Equations.* Above ssthresh: sndcnt = ⌈prr_delivered·ssthresh/RecoverFS⌉ − prr_out. At or below:
//! sndcnt = max(prr_delivered − prr_out, DeliveredData), one SMSS more when the ACK shows progress
//! and no further loss (SafeACK), at most ssthresh − pipe. cwnd = pipe + sndcnt.

/// The state of a recovery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduction {
    /// `RecoverFS`: data in flight as recovery began.
    recover_fs: u64,
    delivered: u64,
    /// `prr_out`: bytes sent during recovery.
    pub out: u64,
}

/// An acknowledgment during recovery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// `DeliveredData`.
    pub delivered: u64,
    /// Data taken to be in flight.
    pub pipe: u64,
    pub ssthresh: u64,
    pub smss: u64,
    /// SND.UNA advanced, and nothing was newly taken for lost.
    pub safe: bool,
}

impl Reduction {
    /// Recovery begins with so much in flight.
    pub const fn new(recover_fs: u64) -> Self {
        Self { recover_fs, delivered: 0, out: 0 }
    }

    /// The window after an acknowledgment.
    pub fn cwnd(&mut self, progress: &Progress) -> u64 {
        self.delivered += progress.delivered;
        let mut count = if progress.pipe > progress.ssthresh {
            (self.delivered * progress.ssthresh)
                .div_ceil(self.recover_fs.max(1))
                .saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(progress.delivered)
                + if progress.safe { progress.smss } else { 0 };
            limit.min(progress.ssthresh - progress.pipe)
        };
        if self.out == 0 {
            // The fast retransmit goes out whatever the proportion.
            count = count.max(progress.smss);
        }
        progress.pipe + count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty segments of 1000 in flight, one lost, ssthresh 10 segments: the nineteen ACKs let go
    /// every second time, and the window ends at ssthresh.
    #[test]
    fn half_the_window_is_halved_evenly() {
        let mut reduction = Reduction::new(20_000);
        let mut pipe = 19_000_u64;
        let mut sent = Vec::new();
        for _ in 0..19 {
            pipe -= 1_000;
            let progress =
                Progress { delivered: 1_000, pipe, ssthresh: 10_000, smss: 1_000, safe: false };
            let cwnd = reduction.cwnd(&progress);
            let count = (cwnd - pipe) / 1_000;
            pipe += 1_000 * count;
            reduction.out += 1_000 * count;
            sent.push(count);
        }
        assert_eq!(sent[0], 1);
        assert!(sent.iter().all(|count| *count <= 1), "{sent:?}");
        assert_eq!(sent.iter().sum::<u64>(), 10);
        assert_eq!(pipe, 10_000);
    }

    /// Below ssthresh it grows back as slow start would, at most one more than was delivered.
    #[test]
    fn below_ssthresh_it_slow_starts_while_acks_are_safe() {
        let mut reduction = Reduction::new(10_000);
        let progress =
            |safe| Progress { delivered: 1_000, pipe: 2_000, ssthresh: 5_000, smss: 1_000, safe };
        reduction.out = 1;
        assert_eq!(reduction.cwnd(&progress(false)), 3_000);
        assert_eq!(reduction.cwnd(&progress(true)), 2_000 + 1_999 + 1_000);
    }
}
