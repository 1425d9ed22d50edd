//! HyStart as Linux has it: two signs that slow start has filled the path.

use super::super::{Ack, Window, segments};
use retx_units::{Duration, Time};

/// Smaller windows are left alone, in segments.
const LOW_WINDOW: u64 = 16;
/// ACKs at most so far apart are of one train.
const TRAIN: Duration = Duration::from_millis(2);
/// So many samples of a round give its least RTT.
const SAMPLES: u32 = 8;
/// The RTT must have grown by an eighth, and by so much at least and at most.
const DELAY: [Duration; 2] = [Duration::from_millis(4), Duration::from_millis(16)];
/// Allowance for segments sent in bursts: four times 64 KB at twice the rate of the window, …
const BURST_BYTES: f64 = 4.0 * 65_536.0;
/// … at most so long.
const LONGEST_BURST: Duration = Duration::from_millis(1);

/// What has been seen of the round.
#[derive(Debug, Clone, Default)]
pub(super) struct Hystart {
    found: bool,
    least_ever: Option<Duration>,
    end: u64,
    began: Time,
    last_close: Time,
    least: Option<Duration>,
    samples: u32,
}

impl Hystart {
    /// An acknowledgment in slow start with its RTT; sets `ssthresh` when it is time to leave.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack, rtt: Duration) {
        let least_ever = self.least_ever.map_or(rtt, |least| least.min(rtt));
        self.least_ever = Some(least_ever);
        if self.found {
            return;
        }
        if ack.snd_una > self.end {
            self.end = ack.snd_nxt;
            self.began = ack.now;
            self.last_close = ack.now;
            self.least = None;
            self.samples = 0;
        }
        if segments::cwnd(window) < LOW_WINDOW {
            return;
        }
        if self.is_long_train(window, ack, least_ever) || self.is_delayed(rtt, least_ever) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// ACKs have come in close succession for half of the least RTT: as many segments are on the
    /// way.
    fn is_long_train(&mut self, window: &Window, ack: &Ack, least_ever: Duration) -> bool {
        if ack.now.since(self.last_close) > TRAIN {
            return false;
        }
        self.last_close = ack.now;
        let srtt = ack.srtt.unwrap_or(least_ever).as_secs_f64();
        let burst = Duration::from_secs_f64(BURST_BYTES * srtt / (2.0 * window.cwnd as f64));
        let longest = least_ever.min(Duration::MAX) + burst.min(LONGEST_BURST);
        ack.now.since(self.began) > longest / 2
    }

    fn is_delayed(&mut self, rtt: Duration, least_ever: Duration) -> bool {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        least.saturating_sub(least_ever) > (least_ever / 8).clamp(DELAY[0], DELAY[1])
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{ack, at, window};
    use super::*;

    /// A round of 32 segments over 80 ms with these RTTs, `apart` ms from ACK to ACK; the ACK that
    /// ends slow start.
    fn exit(cwnd: u64, apart: u64, rtt: impl Fn(u64) -> u64) -> Option<u64> {
        let (mut hystart, mut window) = (Hystart::default(), window(cwnd, 999));
        let ms = Duration::from_millis;
        hystart.on_ack(&mut window, &Ack { snd_una: 1, snd_nxt: 9, ..ack(at(0), 1000) }, ms(80));
        for n in 0..64 {
            let ack = Ack { snd_una: 10, snd_nxt: 99, ..ack(at(80 + apart * n), 1000) };
            hystart.on_ack(&mut window, &ack, ms(rtt(n)));
            if !window.in_slow_start() {
                return Some(n);
            }
        }
        None
    }

    #[test]
    fn trains() {
        // Longer than (80 + 1)/2 ms in steps of 1 and 2 ms; steps of 3 ms are no train.
        assert_eq!(exit(32, 1, |_| 80), Some(41));
        assert_eq!(exit(32, 2, |_| 80), Some(21));
        assert_eq!(exit(32, 3, |_| 80), None);
        assert_eq!(exit(15, 1, |_| 80), None, "a low window");
    }

    #[test]
    fn delays() {
        // An eighth of 80 ms; the ninth sample decides.
        assert_eq!(exit(32, 3, |_| 91), Some(8));
        assert_eq!(exit(32, 3, |_| 90), None);
        // The least of the round counts.
        assert_eq!(exit(32, 3, |n| if n == 5 { 85 } else { 99 }), None);
    }
}
