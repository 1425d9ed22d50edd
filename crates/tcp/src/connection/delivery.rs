//! Delivery: the data that an acknowledgment reports as arrived.

use super::Sender;
use crate::loss_detection::LossDetection;
use crate::scoreboard::Delivered;

impl Sender {
    /// `DeliveredData` of an acknowledgment. Without SACK each duplicate ACK counts for a segment,
    /// which the next acknowledgment of new data must not count again (RFC 9937 §6).
    pub fn delivered(&mut self, bytes_acked: u64, selective: Option<&Delivered>) -> u64 {
        let smss = u64::from(self.window.smss);
        if let Some(delivered) = selective {
            // `tcp_dsack_seen`: an unnecessary retransmission has been delivered.
            let twice = delivered.dsack.filter(|_| self.loss_detection.as_linux());
            return delivered.bytes
                + twice.map_or(0, |(left, right)| smss * (right - left).div_ceil(smss));
        }
        if self.uses_scoreboard {
            return smss * self.delivered_by_count(bytes_acked);
        }
        if bytes_acked == 0 {
            self.delivered_by_dupacks += smss;
            return smss;
        }
        let counted = self.delivered_by_dupacks;
        self.delivered_by_dupacks = counted.saturating_sub(bytes_acked.saturating_sub(smss));
        bytes_acked.saturating_sub(counted).max(smss.min(bytes_acked))
    }

    /// Evaluates a DSACK. If more segments arrived twice than were retransmitted, or the range
    /// exceeds any window, the sender is not the cause (RFC 3708 §2; Linux `tcp_dsack_seen`).
    #[inline(never)]
    pub fn evaluate_dsack(&mut self, (left, right): (u64, u64), delivered: &mut Delivered) {
        if right - left > self.max_snd_wnd {
            return;
        }
        delivered.dsack_end = Some(right);
        let repair = &mut *self.repair;
        repair.dsacked_segments += (right - left).div_ceil(self.window.smss.into());
        if repair.dsacked_segments > repair.retransmissions {
            return;
        }
        delivered.dsack = Some((left, right));
        if right > self.snd_una {
            delivered.dsacked_in_flight = self.board.retransmitted_within(left, right);
        }
    }

    /// Data delivered without SACK, by the scoreboard: one segment for each duplicate ACK.
    #[inline(never)]
    fn delivered_by_count(&mut self, bytes_acked: u64) -> u64 {
        if self.board.has_advanced() {
            self.board.remove_assumed_arrivals()
        } else if bytes_acked == 0
            && self.loss_detection.counts_duplicate(self.snd_una, self.snd_max)
        {
            self.board.assume_arrival(self.window.smss)
        } else {
            0
        }
    }
}
