//! Delivery: the data that an acknowledgment reports as arrived.

use super::Sender;
use crate::loss_detection::LossDetection;
use crate::scoreboard::Delivered;

impl Sender {
    /// `DeliveredData` of an acknowledgment. Without SACK each duplicate ACK counts for a segment,
    /// which the next acknowledgment of new data must not count again (RFC 9937 §6).
    pub fn delivered_data(&mut self, bytes_acked: u64, selective: Option<&Delivered>) -> u64 {
        let smss = u64::from(self.window.smss);
        if let Some(delivered) = selective {
            return delivered.bytes + smss * self.delivered_twice(delivered);
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

    /// Number of segments that a DSACK reports, if they count as delivered: in Linux an unnecessary
    /// retransmission has been delivered, too (`tcp_dsack_seen`).
    pub fn delivered_twice(&self, delivered: &Delivered) -> u64 {
        let twice = delivered.dsack.filter(|_| self.loss_detection.as_linux());
        twice.map_or(0, |(left, right)| (right - left).div_ceil(self.window.smss.into()))
    }

    /// Evaluates a DSACK. If more segments arrived twice than were retransmitted, or the range is
    /// longer than any window of the peer, the sender is not the cause (RFC 3708 §2; Linux
    /// `tcp_dsack_seen`).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::testing::{config, open};

    /// RFC 9937 §6: without SACK, a duplicate ACK counts for a segment, which the next
    /// acknowledgment of new data does not count again. Such an acknowledgment counts for at least
    /// one segment.
    #[test]
    fn duplicate_acks_are_counted_once() {
        let mut sender = open(&config("newreno"))[0].sender.clone();
        assert_eq!([0, 0, 0].map(|acked| sender.delivered_data(acked, None)), [1_000; 3]);
        // The duplicate ACKs have counted three of the six segments that are now acknowledged.
        assert_eq!(sender.delivered_data(6_000, None), 3_000);
        assert_eq!((sender.delivered_by_dupacks, sender.delivered_data(2_000, None)), (0, 2_000));
        assert_eq!([0, 0, 0].map(|acked| sender.delivered_data(acked, None)), [1_000; 3]);
        assert_eq!(
            (sender.delivered_data(2_000, None), sender.delivered_by_dupacks),
            (1_000, 2_000)
        );
        assert_eq!((sender.delivered_data(700, None), sender.delivered_by_dupacks), (700, 2_000));
    }

    /// `tcp_dsack_seen`: in Linux the segments of a DSACK count as delivered.
    #[test]
    fn segments_that_arrived_twice_are_delivered_in_linux() {
        let delivered = |name: &str, dsack| {
            let mut sender = open(&config(name))[0].sender.clone();
            sender.window.smss = 1_000;
            sender
                .delivered_data(700, Some(&Delivered { bytes: 700, dsack, ..Delivered::default() }))
        };
        for (dsack, expected) in [
            (None, 700),
            (Some((1_001, 2_001)), 1_700),
            (Some((1_001, 2_002)), 2_700),
            (Some((1_001, 1_002)), 1_700),
        ] {
            assert_eq!((delivered("linux", dsack), delivered("sack", dsack)), (expected, 700));
        }
    }

    /// RFC 3708 §2, `tcp_dsack_seen`: a DSACK shows an unnecessary retransmission unless its range
    /// is longer than any window of the peer, or more segments arrived twice than were
    /// retransmitted.
    #[test]
    fn a_dsack_needs_retransmissions() {
        let seen = |range: (u64, u64), retransmissions| {
            let mut sender = open(&config("sack"))[0].sender.clone();
            sender.max_snd_wnd = 3_000;
            sender.repair.retransmissions = retransmissions;
            let mut delivered = Delivered::default();
            sender.evaluate_dsack(range, &mut delivered);
            (delivered.dsack_end, delivered.dsack, sender.repair.dsacked_segments)
        };
        let all = (1_001, 4_001);
        assert_eq!(seen(all, 3), (Some(4_001), Some(all), 3));
        assert_eq!(seen(all, 2), (Some(4_001), None, 3));
        assert_eq!(seen(all, 4), (Some(4_001), Some(all), 3));
        assert_eq!(seen((1_001, 4_002), 9), (None, None, 0), "beyond any window");
        assert_eq!(seen((1_001, 2_002), 2), (Some(2_002), Some((1_001, 2_002)), 2));
        assert_eq!(seen((1_001, 2_002), 1), (Some(2_002), None, 2));
    }

    /// Only duplicate ACKs count as arrivals on a scoreboard without SACK.
    #[test]
    fn only_a_duplicate_ack_counts_as_an_arrival() {
        let mut config = config("linux");
        config.sack = false;
        let mut near = open(&config)[0].clone();
        assert!(near.sender.uses_scoreboard && !near.sender.selective);
        assert_eq!(near.sender.delivered_data(700, None), 0, "nothing has advanced");
    }
}
