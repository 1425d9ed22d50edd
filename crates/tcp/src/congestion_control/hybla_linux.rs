//! *What it does.* Hybla as in Linux: ρ in eighths, growth in whole segments, and an initial window
//! of ρ segments.
//!
//! *Reference.* Linux `net/ipv4/tcp_hybla.c` (read in a mirror), after Caini & Firrincieli 2004.
//!
//! *Equations.* ρ = max(⌊8·SRTT/25 ms⌋, 8)/8, with the smallest SRTT.
//!
//! - *Start.* After the handshake cwnd = ⌊ρ⌋, whatever the initial window.
//! - *Slow start.* Each ACK adds 2^⌊min(ρ, 16)⌋·f − 128, in 1/128 segments, up to ssthresh; f =
//!   ⌊128·2^(fraction of ρ)⌋ comes from a table.
//! - *Congestion avoidance.* Each ACK adds ⌊128·ρ²/cwnd⌋, in 1/128 segments; if that is 0, cwnd
//!   ACKs add one segment.
//! - *Limits.* The window grows only while it limits the sender, and up to 65,535 segments. While a
//!   timeout is being repaired, it grows as Reno's.
//! - *Loss and timeout.* ssthresh = max(cwnd/2, 2).
//!
//! *Where it differs.* Linux also grows as Reno while data are selectively acknowledged and nothing
//! is lost (`TCP_CA_Disorder`). The module's parameter `rtt0` is fixed at 25 ms.

use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Start, Window};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hybla as in Linux: growth independent of the RTT, starting from ρ segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// Reference RTT (`rtt0`).
const RTT0: Duration = Duration::from_millis(25);
/// 128·2^(n/8) for n = 0 … 7 (`hybla_fraction`).
const FRACTIONS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// One segment, in the unit of growth (1/128 segment).
const SEGMENT: u64 = 128;
/// The largest exponent of slow start.
const EXPONENT_MAX: u64 = 16;
/// Largest window, in segments (`snd_cwnd_clamp`).
const CWND_MAX: u64 = 65_535;
/// Largest ρ in eighths, so that ρ² fits into 64 bits: an RTT of about 40 days.
const RHO_MAX: u64 = 1 << 30;

/// State of Hybla.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    /// Smallest SRTT.
    least: Duration,
    /// ρ in eighths.
    rho_eighths: u64,
    /// Growth below one segment, in 1/128.
    fraction: u64,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            least: Duration::MAX,
            rho_eighths: 8,
            fraction: 0,
        }
    }

    /// Records a new smallest SRTT, and recomputes ρ (`hybla_recalc_param`).
    fn take(&mut self, srtt: Duration) {
        self.least = srtt;
        let eighths = srtt.as_nanos().saturating_mul(8) / RTT0.as_nanos();
        self.rho_eighths = eighths.clamp(8, RHO_MAX);
    }

    /// Growth by an ACK, in 1/128 segments.
    fn increment(&self, window: &Window) -> u64 {
        let rho = self.rho_eighths;
        if window.in_slow_start() {
            // 2^ρ is 2^⌊ρ⌋, by the shift, times 2 to the fraction of ρ, by the table.
            return (FRACTIONS[(rho % 8) as usize] << (rho / 8).min(EXPONENT_MAX)) - SEGMENT;
        }
        // 128·ρ² for ρ in eighths: 128/64 is 2.
        2 * rho * rho / segments::cwnd_segments(window)
    }
}

impl CongestionControl for State {
    fn observes(&self) -> bool {
        false
    }

    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        self.take(start.rtt.unwrap_or_default());
        window.cwnd = segments::segments_to_bytes(window, self.rho_eighths / 8);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(srtt) = ack.srtt.filter(|srtt| *srtt < self.least) {
            self.take(srtt);
        }
        if !ack.cwnd_limited {
            return;
        }
        if ack.in_recovery {
            self.segments.grow_like_reno(window, ack);
            return;
        }
        let in_slow_start = window.in_slow_start();
        let increment = self.increment(window);
        if !in_slow_start && increment < SEGMENT {
            self.segments.acked_segments += 1;
        }
        self.fraction += increment % SEGMENT;
        let mut grown = increment / SEGMENT;
        if self.fraction >= SEGMENT {
            self.fraction -= SEGMENT;
            self.segments.acked_segments = 0;
            grown += 1;
        }
        // Increments of 0 would never add up to a segment, so ACKs are counted instead.
        if increment == 0 && self.segments.acked_segments >= segments::cwnd_segments(window) {
            self.segments.acked_segments = 0;
            grown += 1;
        }
        let mut cwnd = window.cwnd.saturating_add(segments::segments_to_bytes(window, grown));
        if in_slow_start {
            cwnd = cwnd.min(window.ssthresh);
        }
        window.cwnd =
            cwnd.min(segments::segments_to_bytes(window, CWND_MAX)).max(window.smss.into());
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let half = segments::cwnd_segments(window) / 2;
        self.segments.reduce(window, loss, half);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.segments.halve_at_timeout(window, loss, repeated);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, at, loss, tcp, window};
    use super::*;
    use retx_units::Time;

    /// Controller connected at this RTT.
    fn hybla(rtt_ms: u64) -> (State, Window) {
        let (mut state, mut window) = (State::new(&Config {}, &tcp()), window(10, 999));
        let rtt = Some(Duration::from_millis(rtt_ms));
        state.on_connected(
            &mut window,
            &Start { now: Time::ZERO, rtt, samples_segments: true, identity: 0 },
        );
        (state, window)
    }

    fn grown(rtt_ms: u64, cwnd: u64, ssthresh: u64, acks: u64) -> u64 {
        let ((mut state, _), mut window) = (hybla(rtt_ms), window(cwnd, ssthresh));
        for _ in 0..acks {
            state.on_ack(&mut window, &ack(at(0), 2000));
        }
        window.cwnd / 1000
    }

    #[test]
    fn begins_with_rho_segments() {
        // 8·40/25 = 12.8 is truncated to 12 eighths, and the window of 12/8 segments to 1.
        let [short, path, long] = [10, 40, 600].map(hybla);
        assert_eq!([short.0.rho_eighths, path.0.rho_eighths, long.0.rho_eighths], [8, 12, 192]);
        assert_eq!([short.1.cwnd, path.1.cwnd, long.1.cwnd], [1000, 1000, 24_000]);
    }

    #[test]
    fn rho_follows_the_least_srtt() {
        let (mut state, mut window) = hybla(100);
        for (srtt_ms, rho) in [(200, 32), (75, 24), (90, 24)] {
            let srtt = Some(Duration::from_millis(srtt_ms));
            state.on_ack(&mut window, &Ack { srtt, ..ack(at(0), 1000) });
            assert_eq!(state.rho_eighths, rho, "{srtt_ms}");
        }
    }

    #[test]
    fn slow_start_multiplies_by_two_to_the_rho() {
        assert_eq!(grown(100, 2, 999, 1), 17, "2^4 − 1");
        assert_eq!(grown(25, 2, 999, 2), 4, "as Reno");
        // ρ = 1.5: 2·181/128 − 1 = 1.83 per ACK.
        assert_eq!([1, 2, 6].map(|acks| grown(40, 2, 999, acks)), [3, 5, 12]);
        assert_eq!(grown(100, 2, 20, 2), 20, "up to the threshold");
        assert_eq!(grown(10_000_000, 1, 1 << 40, 1), 65_535, "the clamp");
    }

    #[test]
    fn congestion_avoidance_adds_rho_squared_per_round() {
        // ρ = 4: cwnd² grows by 2ρ² per ACK, so 100 ACKs give √(100² + 2·16·100) = 114.9.
        assert_eq!(grown(100, 100, 1, 100), 114);
        // ⌊128/100⌋ = 1 in 128 per ACK: 128 ACKs for one segment.
        assert_eq!([127, 128].map(|acks| grown(25, 100, 1, acks)), [100, 101]);
        // ⌊128/200⌋ = 0: one segment per window of ACKs.
        assert_eq!([199, 200].map(|acks| grown(25, 200, 1, acks)), [200, 201]);
    }

    #[test]
    fn halves_and_then_grows_as_reno_after_a_timeout() {
        let (mut state, _) = hybla(100);
        let mut window = window(21, 99);
        state.on_loss(&mut window, &loss(at(0), 5));
        assert_eq!((window.cwnd, window.ssthresh), (10_000, 10_000));
        let later = Loss { snd_una: 90_000, snd_max: 99_000, ..loss(at(1), 9) };
        state.on_timeout(&mut window, &later, false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 5000));
        state.on_ack(&mut window, &Ack { in_recovery: true, ..ack(at(2), 1000) });
        assert_eq!(window.cwnd, 2000);
        state.on_ack(&mut window, &Ack { cwnd_limited: false, ..ack(at(2), 1000) });
        assert_eq!(window.cwnd, 2000);
    }
}
