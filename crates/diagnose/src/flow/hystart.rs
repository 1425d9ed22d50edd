//! End of slow start in Linux's CUBIC: HyStart (`hystart_update` in net/ipv4/tcp_cubic.c, Ha and
//! Rhee 2008).
//!
//! *Rule.* Slow start ends when the least RTT of a round has grown by an eighth, or when a train of
//! acknowledgments has lasted for half of the minimum RTT: the segments in flight then fill the
//! path. Acknowledgments that follow each other within 2 ms belong to one train.
//!
//! *Where we differ.* The allowance that Linux makes for bursts is taken as its maximum of a
//! millisecond (`hystart_ack_delay`). It is shorter only for more than 1 Gbit/s.

/// Smallest window at which HyStart ends slow start, in segments.
const WINDOW_MIN: i64 = 16;
/// Number of RTT samples of a round that only determine its least RTT, and limits of the tolerated
/// rise of this RTT.
const SAMPLES: u32 = 8;
const RISE_NS: [i64; 2] = [4_000_000, 16_000_000];
/// Longest time between two acknowledgments of a train, and allowance for bursts.
const TRAIN_NS: i64 = 2_000_000;
const BURST_NS: i64 = 1_000_000;

/// State of HyStart.
#[derive(Debug, Default)]
pub struct Hystart {
    /// Acknowledgments beyond this position end the round.
    round_end: i64,
    /// Time of the first acknowledgment of the round, and of the last one of the train.
    began_ns: i64,
    last_ns: i64,
    samples: u32,
    least_ns: i64,
}

/// An acknowledgment that yields an RTT sample.
#[derive(Debug, Clone, Copy)]
pub struct SampledAck {
    /// Time at which the acknowledgment reaches the sender.
    pub time_ns: i64,
    /// Cumulative acknowledgment.
    pub una: i64,
    /// Position after everything sent so far.
    pub sent_to: i64,
    /// RTT sample, and minimum RTT of the flow.
    pub rtt_ns: i64,
    pub least_ns: i64,
    /// Congestion window in segments.
    pub window: i64,
}

impl Hystart {
    /// Handles an acknowledgment in slow start; returns true if slow start ends.
    pub fn on_ack(&mut self, ack: &SampledAck) -> bool {
        if ack.una > self.round_end {
            (self.round_end, self.samples, self.least_ns) = (ack.sent_to, 0, i64::MAX);
            (self.began_ns, self.last_ns) = (ack.time_ns, ack.time_ns);
        }
        if ack.window < WINDOW_MIN {
            return false;
        }
        self.is_long_train(ack) || self.is_delayed(ack)
    }

    fn is_long_train(&mut self, ack: &SampledAck) -> bool {
        // A longer gap leaves `last_ns` as it is, so the train does not go on in this round.
        if ack.time_ns - self.last_ns > TRAIN_NS {
            return false;
        }
        self.last_ns = ack.time_ns;
        ack.time_ns - self.began_ns > (ack.least_ns + BURST_NS) / 2
    }

    fn is_delayed(&mut self, ack: &SampledAck) -> bool {
        self.least_ns = self.least_ns.min(ack.rtt_ns);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let tolerated_ns = (ack.least_ns / 8).clamp(RISE_NS[0], RISE_NS[1]);
        self.least_ns - ack.least_ns > tolerated_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1_000;

    /// Number of the acknowledgment of a round that ends slow start, for acknowledgments that come
    /// after this time each, with this RTT. The minimum RTT is 40 ms.
    fn end(window: i64, each_us: i64, rtt_us: i64) -> Option<i64> {
        let mut hystart = Hystart::default();
        (1..60).find(|number| {
            hystart.on_ack(&SampledAck {
                time_ns: number * each_us * US,
                una: 1 + number,
                sent_to: 1_000,
                rtt_ns: rtt_us * US,
                least_ns: 40_000 * US,
                window,
            })
        })
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // The first acknowledgment begins the round; 20.5 ms later the train is long enough.
        assert_eq!(end(20, 1_000, 40_000), Some(22));
        assert_eq!(end(20, 2_001, 40_000), None);
        assert_eq!(end(15, 1_000, 40_000), None);
    }

    #[test]
    fn a_longer_round_trip_ends_slow_start_at_the_ninth_sample() {
        assert_eq!(end(20, 3_000, 45_001), Some(9));
        assert_eq!(end(20, 3_000, 45_000), None);
    }
}
