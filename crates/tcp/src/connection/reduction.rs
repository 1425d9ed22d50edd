//! Proportional rate reduction: number of bytes that each ACK of a recovery allows to be sent.
//!
//! *Reference.* RFC 9937 §6 (which replaces RFC 6937).
//!
//! *Equations.* At each ACK, cwnd = pipe + sndcnt; at the end of recovery, cwnd = ssthresh.
//!
//! - *pipe > ssthresh.* sndcnt = ⌈prr_delivered·ssthresh/RecoverFS⌉ − prr_out.
//! - *pipe ≤ ssthresh.* sndcnt = max(prr_delivered − prr_out, DeliveredData), plus one SMSS if the
//!   ACK shows progress and no further loss (SafeACK), but at most ssthresh − pipe.
//! - If nothing has been sent and sndcnt is 0, it becomes one SMSS.
//!
//! Linux 6.18 (`tcp_cwnd_reduction`) counts in segments, rounds the proportion up to whole ones,
//! and uses the window before the recovery as RecoverFS.
//!
//! RecoverFS = SND.NXT − SND.UNA − selectively acknowledged data + DeliveredData of the ACK that
//! began the recovery, because data selectively acknowledged before are not delivered during it.

/// State of a recovery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduction {
    /// `RecoverFS`: data outstanding at the start that recovery can deliver.
    recover_fs: u64,
    /// Unit of transmissions in bytes while pipe is above ssthresh.
    unit: u64,
    delivered: u64,
    /// `prr_out`: bytes sent during recovery.
    pub prr_out: u64,
}

/// Acknowledgment during recovery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecoveryAck {
    /// `DeliveredData`.
    pub delivered: u64,
    /// Data in flight, bytes.
    pub pipe: u64,
    pub ssthresh: u64,
    pub smss: u64,
    /// True if SND.UNA advanced, and nothing was newly marked lost.
    pub safe_ack: bool,
}

impl Reduction {
    /// Begins a recovery with this `RecoverFS`.
    pub const fn new(recover_fs: u64) -> Self {
        Self { recover_fs, unit: 1, delivered: 0, prr_out: 0 }
    }

    /// Begins a recovery as in Linux, with this window, in units of segments of `smss` bytes.
    pub const fn whole_segments(cwnd: u64, smss: u32) -> Self {
        Self { recover_fs: cwnd, unit: smss as u64, delivered: 0, prr_out: 0 }
    }

    /// Window after an acknowledgment.
    pub fn cwnd(&mut self, ack: &RecoveryAck) -> u64 {
        self.delivered += ack.delivered;
        let mut count = if ack.pipe > ack.ssthresh {
            let product = u128::from(self.delivered) * u128::from(ack.ssthresh);
            let sent_by_now = product.div_ceil(u128::from(self.recover_fs.max(1)));
            (sent_by_now as u64).next_multiple_of(self.unit).saturating_sub(self.prr_out)
        } else {
            // Packets are conserved. One segment more (slow start up to ssthresh) is allowed only
            // if the ACK advances and shows no further loss.
            let limit = self.delivered.saturating_sub(self.prr_out).max(ack.delivered)
                + if ack.safe_ack { ack.smss } else { 0 };
            limit.min(ack.ssthresh - ack.pipe)
        };
        if self.prr_out == 0 && count == 0 {
            // PRR may allow nothing yet, but the fast retransmit must be sent (RFC 9937 §6).
            count = ack.smss;
        }
        ack.pipe + count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With twenty segments of 1000 bytes in flight, one lost and ssthresh at 10 segments, every
    /// second of the nineteen ACKs allows a segment, and the window ends at ssthresh.
    #[test]
    fn half_the_window_is_halved_evenly() {
        let mut reduction = Reduction::new(20_000);
        let mut pipe = 19_000_u64;
        let mut sent = Vec::new();
        for _ in 0..19 {
            pipe -= 1_000;
            let progress = RecoveryAck {
                delivered: 1_000,
                pipe,
                ssthresh: 10_000,
                smss: 1_000,
                safe_ack: false,
            };
            let cwnd = reduction.cwnd(&progress);
            // The fast retransmit is sent at once.
            let count = if sent.is_empty() { 1 } else { (cwnd - pipe) / 1_000 };
            pipe += 1_000 * count;
            reduction.prr_out += 1_000 * count;
            sent.push(count);
        }
        assert!(sent.iter().all(|count| *count <= 1), "{sent:?}");
        assert_eq!(sent.iter().sum::<u64>(), 10);
        assert_eq!(pipe, 10_000);
    }

    /// Below ssthresh the window grows as in slow start, by at most one segment more than was
    /// delivered.
    #[test]
    fn below_ssthresh_it_slow_starts_while_acks_are_safe() {
        let mut reduction = Reduction::new(10_000);
        let progress = |safe| RecoveryAck {
            delivered: 1_000,
            pipe: 2_000,
            ssthresh: 5_000,
            smss: 1_000,
            safe_ack: safe,
        };
        reduction.prr_out = 1;
        assert_eq!(reduction.cwnd(&progress(false)), 3_000);
        assert_eq!(reduction.cwnd(&progress(true)), 2_000 + 1_999 + 1_000);
    }

    /// Ten segments of 1000 bytes are to become seven: the first ACK allows 700 bytes, or in Linux
    /// one whole segment. From nine to three, 333⅓ bytes are rounded up.
    #[test]
    fn the_proportion_is_rounded_up() {
        let ack = RecoveryAck {
            delivered: 1_000,
            pipe: 9_000,
            ssthresh: 7_000,
            smss: 1_000,
            safe_ack: false,
        };
        assert_eq!(Reduction::new(10_000).cwnd(&ack), 9_700);
        assert_eq!(Reduction::whole_segments(10_000, 1_000).cwnd(&ack), 10_000);
        let third = RecoveryAck { ssthresh: 3_000, ..ack };
        assert_eq!(Reduction::new(9_000).cwnd(&third), 9_334);
    }
}
