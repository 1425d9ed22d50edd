//! HyStart as in Linux: two signs that slow start has filled the path.

use super::super::{Ack, Loss, Window, segments};
use retx_units::{Duration, Time};

/// Window in segments below which HyStart is inactive.
const LOW_WINDOW: u64 = 16;
/// Largest gap between ACKs of one train.
const TRAIN: Duration = Duration::from_millis(2);
/// Number of samples that determine the smallest RTT of a round.
const SAMPLES: u32 = 8;
/// Minimum and maximum of the RTT growth that ends slow start; in between, it is an eighth of the
/// RTT.
const DELAY: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(16)];
/// Allowance for segments sent in bursts: the time that these bytes (four times 64 KiB) take at
/// Linux's pacing rate.
const BURST_BYTES: f64 = 4.0 * 65_536.0;
/// Upper bound of the allowance.
const LONGEST_BURST: Duration = Duration::from_millis(1);

/// State of the current round.
#[derive(Debug, Clone, Default)]
pub(super) struct Hystart {
    paced: bool,
    found: bool,
    least_ever: Option<Duration>,
    end: u64,
    began: Time,
    last_close: Time,
    least: Option<Duration>,
    samples: u32,
}

impl Hystart {
    /// Creates the state for a sender that is `paced` or not.
    pub fn new(paced: bool) -> Self {
        Self { paced, ..Self::default() }
    }

    /// Records a raw RTT sample, in slow start or not.
    #[inline]
    pub fn sample(&mut self, rtt: Duration) {
        self.least_ever = Some(self.least_ever.map_or(rtt, |least| least.min(rtt)));
    }

    /// Handles an acknowledgment in slow start, whose `rtt` has been passed to [`Self::sample`]
    /// before. Sets `ssthresh` to end slow start.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack, rtt: Duration) {
        if self.found {
            return;
        }
        if ack.snd_una > self.end {
            self.begin_round(ack.now, ack.snd_nxt);
        }
        if segments::cwnd_segments(window) < LOW_WINDOW {
            return;
        }
        let least_ever = self.least_ever.unwrap_or(rtt);
        if self.is_long_train(window, ack, least_ever) || self.is_delayed(rtt, least_ever) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// Handles a timeout: all measurements are reset. The round lasts until the data sent so far
    /// are acknowledged (`cubictcp_state`).
    pub fn on_timeout(&mut self, loss: &Loss) {
        *self = Self::new(self.paced);
        self.begin_round(loss.now, loss.snd_max);
    }

    fn begin_round(&mut self, now: Time, end: u64) {
        self.end = end;
        self.began = now;
        self.last_close = now;
        self.least = None;
        self.samples = 0;
    }

    /// True if a train of closely spaced ACKs has lasted for half of the smallest RTT, which means
    /// that the segments in flight fill the path. If pacing may have spread the segments, a whole
    /// RTT is required.
    fn is_long_train(&mut self, window: &Window, ack: &Ack, least_ever: Duration) -> bool {
        // A long gap leaves `last_close` unchanged, which ends the train for the rest of the round.
        if ack.now.since(self.last_close) > TRAIN {
            return false;
        }
        self.last_close = ack.now;
        let srtt = ack.srtt.unwrap_or(least_ever).as_secs_f64();
        // The allowance is computed at the rate of `tcp_update_pacing_rate`, which the kernel
        // computes for unpaced senders, too (`hystart_ack_delay`).
        let ratio = if window.cwnd < window.ssthresh / 2 { 2.0 } else { 1.2 };
        let in_use = window.cwnd.max(ack.flight_size) as f64;
        let burst = Duration::from_secs_f64(BURST_BYTES * srtt / (ratio * in_use));
        let longest = least_ever.min(Duration::MAX) + burst.min(LONGEST_BURST);
        ack.now.since(self.began) > if self.paced { longest } else { longest / 2 }
    }

    fn is_delayed(&mut self, rtt: Duration, least_ever: Duration) -> bool {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        // The first eight samples only lower the minimum; the comparison begins with the ninth.
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        least.saturating_sub(least_ever) > (least_ever / 8).clamp(DELAY[0], DELAY[1])
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{ack, at, loss, window};
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Plays a round with a window of `cwnd` segments on a path with a minimum RTT of 80 ms. ACKs
    /// arrive every `apart` ms, with these RTTs. Returns the number of the ACK that ends slow
    /// start.
    fn exit_of(
        mut hystart: Hystart,
        cwnd: u64,
        apart: u64,
        rtt: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let mut window = window(cwnd, 999);
        hystart.sample(MS * 80);
        let first = Ack { snd_una: 1, snd_nxt: 9, ..ack(at(0), 1000) };
        hystart.on_ack(&mut window, &first, MS * 80);
        for n in 0..128 {
            let ack = Ack { snd_una: 10, snd_nxt: 99, ..ack(at(80 + apart * n), 1000) };
            hystart.sample(MS * rtt(n));
            hystart.on_ack(&mut window, &ack, MS * rtt(n));
            if !window.in_slow_start() {
                return Some(n);
            }
        }
        None
    }

    fn exit(cwnd: u64, apart: u64, rtt: impl Fn(u64) -> u64) -> Option<u64> {
        exit_of(Hystart::default(), cwnd, apart, rtt)
    }

    #[test]
    fn trains() {
        // A train of ACKs 1 or 2 ms apart must exceed (80 + 1)/2 ms. ACKs 3 ms apart are no train.
        assert_eq!(exit(32, 1, |_| 80), Some(41));
        assert_eq!(exit(32, 2, |_| 80), Some(21));
        assert_eq!(exit(32, 3, |_| 80), None);
        assert_eq!(exit(15, 1, |_| 80), None, "a low window");
    }

    /// A paced train must exceed 80 + 1 ms.
    #[test]
    fn a_paced_train_is_twice_as_long() {
        assert_eq!(exit_of(Hystart::new(true), 32, 1, |_| 80), Some(82));
    }

    /// The allowance is the time of 256 KiB at the rate 2·cwnd/SRTT far below ssthresh, and at
    /// 1.2·cwnd/SRTT near it, as after a timeout.
    #[test]
    fn allowance_for_bursts() {
        let longest = |cwnd, ssthresh| {
            let (mut hystart, window) = (Hystart::default(), window(cwnd, ssthresh));
            let train = |us: &u64| {
                let now = at(1) + Duration::from_micros(*us);
                let ack = Ack { srtt: Some(MS * 2), ..ack(now, 1000) };
                hystart.begin_round(at(1), 9);
                hystart.is_long_train(&window, &ack, MS * 2)
            };
            (1000..2000).find(train).map(|us| us - 1)
        };
        // Half of 2000 us, plus half of the allowance: 262,144 bytes · 2 ms/(2 · 400,000 bytes) =
        // 655 us. With the ratio 1.2 the allowance would be 1092 us, and is limited to 1000 us.
        assert_eq!(longest(400, 999), Some(1327));
        assert_eq!(longest(400, 799), Some(1500));
    }

    #[test]
    fn delays() {
        // The RTT has to grow by an eighth of 80 ms; the ninth sample decides.
        assert_eq!(exit(32, 3, |_| 91), Some(8));
        assert_eq!(exit(32, 3, |_| 90), None);
        // The smallest RTT of the round counts.
        assert_eq!(exit(32, 3, |n| if n == 5 { 85 } else { 99 }), None);
        // The comparison uses the smallest RTT of the connection, here one measured in congestion
        // avoidance.
        let mut known = Hystart::default();
        known.sample(MS * 70);
        assert_eq!(exit_of(known, 32, 3, |_| 80), Some(8));
    }

    /// The round after a timeout ends with the acknowledgment of the data sent before the timeout.
    /// Its first sample is the smallest RTT ever; only in the next round are all nine samples far
    /// above that.
    #[test]
    fn a_timeout_begins_a_round() {
        let (mut hystart, mut window) = (Hystart::default(), window(32, 999));
        hystart.on_timeout(&Loss { snd_max: 50, ..loss(at(0), 32) });
        let left = (0..30).find(|n| {
            let rtt = if *n == 0 { MS * 80 } else { MS * 120 };
            hystart.sample(rtt);
            let ack = Ack { snd_una: 10 + 5 * n, snd_nxt: 199, ..ack(at(200 + 9 * n), 1000) };
            hystart.on_ack(&mut window, &ack, rtt);
            !window.in_slow_start()
        });
        assert_eq!(left, Some(9 + 8));
    }
}
