//! HyStart++ (RFC 9406): exits slow start when the RTT grows, by way of a slower phase that
//! distinguishes queues from jitter.

use super::super::{Ack, Window};
use retx_units::Duration;

// Constants of RFC 9406 §4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// Largest growth per ACK for unpaced senders, in segments.
const L: u64 = 8;

/// State of the first slow start.
#[derive(Debug, Clone, Default)]
pub(super) struct HystartPlusPlus {
    over: bool,
    window_end: u64,
    last_round: Option<Duration>,
    this_round: Option<Duration>,
    samples: u32,
    css: Option<ConservativeSlowStart>,
}

#[derive(Debug, Clone, Copy)]
struct ConservativeSlowStart {
    baseline: Duration,
    rounds: u32,
}

impl HystartPlusPlus {
    /// True in the first slow start, the only one that is modified (§4.3).
    pub fn is_active(&self) -> bool {
        !self.over
    }

    /// Switches HyStart++ off: at a loss, or when slow start has ended otherwise.
    pub fn end(&mut self) {
        self.over = true;
    }

    /// Growth of the window by an acknowledgment (§4.2).
    pub fn growth(&self, bytes_acked: u64, smss: u64) -> u64 {
        let growth = bytes_acked.min(L * smss);
        if self.css.is_some() { growth / CSS_GROWTH_DIVISOR } else { growth }
    }

    /// Handles an acknowledgment in slow start; sets `ssthresh` to end slow start.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>) {
        if self.over {
            return;
        }
        if let Some(rtt) = rtt {
            self.this_round = Some(self.this_round.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        // Fewer samples may all be raised by jitter.
        if self.samples >= N_RTT_SAMPLE {
            self.judge();
        }
        if ack.snd_una > self.window_end {
            self.window_end = ack.snd_nxt;
            self.end_round(window);
        }
    }

    fn judge(&mut self) {
        let Some(current) = self.this_round else { return };
        match self.css {
            // The RTT has fallen again: the increase was jitter.
            Some(css) if current < css.baseline => self.css = None,
            Some(_) => {}
            None => {
                let Some(last) = self.last_round else { return };
                let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if current.saturating_sub(last) >= threshold {
                    self.css = Some(ConservativeSlowStart { baseline: current, rounds: 0 });
                }
            }
        }
    }

    /// Ends a round. The round in which conservative slow start began counts as the first round of
    /// this phase.
    fn end_round(&mut self, window: &mut Window) {
        self.last_round = self.this_round.take();
        self.samples = 0;
        if let Some(css) = &mut self.css {
            css.rounds += 1;
            if css.rounds >= CSS_ROUNDS {
                window.ssthresh = window.cwnd;
                self.over = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{ack, at, window};
    use super::*;

    /// Plays rounds of ten ACKs with these RTTs in ms; for each round returns whether conservative
    /// slow start is in progress, and whether slow start is over.
    fn play(rtts: &[u64]) -> Vec<(bool, bool)> {
        let (mut hystart, mut window) = (HystartPlusPlus::default(), window(50, 999));
        rtts.iter()
            .enumerate()
            .map(|(round, rtt)| {
                for n in 0..10 {
                    let snd_una = 1 + 10 * round as u64 + n;
                    let ack = Ack { snd_una, snd_nxt: snd_una + 9, ..ack(at(0), 1000) };
                    let rtt = Duration::from_millis(*rtt);
                    hystart.on_ack(&mut window, &ack, Some(rtt));
                }
                (hystart.css.is_some(), !window.in_slow_start())
            })
            .collect()
    }

    #[test]
    fn five_rounds_of_conservative_slow_start() {
        let (no, css, over) = ((false, false), (true, false), (true, true));
        assert_eq!(play(&[80, 80, 89, 89, 89]), [no; 5], "less than an eighth");
        // The first ACK ends a round, so a round of ten ends with the first of the next ten.
        assert_eq!(
            play(&[80, 80, 90, 95, 95, 95, 95, 95]),
            [no, no, css, css, css, css, css, over]
        );
    }

    #[test]
    fn jitter_resumes_slow_start() {
        let flags: Vec<bool> =
            play(&[80, 80, 95, 90, 80, 80, 80, 80]).iter().map(|it| it.0).collect();
        assert_eq!(flags, [false, false, true, false, false, false, false, false]);
    }

    #[test]
    fn growth() {
        let mut hystart = HystartPlusPlus::default();
        assert_eq!(hystart.growth(3_000, 1_000), 3_000);
        assert_eq!(hystart.growth(30_000, 1_000), 8_000);
        hystart.css = Some(ConservativeSlowStart { baseline: Duration::ZERO, rounds: 0 });
        assert_eq!(hystart.growth(30_000, 1_000), 2_000);
    }

    /// RFC 9406 §4.2: N_RTT_SAMPLE is 8.
    #[test]
    fn eight_samples_begin_conservative_slow_start() {
        let ms = Duration::from_millis;
        let last_round = Some(ms(100));
        let mut hystart = HystartPlusPlus { last_round, ..HystartPlusPlus::default() };
        let mut window = window(50, 999);
        for n in 1..=8 {
            hystart.on_ack(&mut window, &ack(at(0), 1000), Some(ms(150)));
            assert_eq!(hystart.css.is_some(), n == 8, "{n}");
        }
    }
}
