//! *What it does.* DCTCP as in Linux: estimates the fraction of marked data, and reduces the window
//! in proportion to it. Otherwise it acts as Reno. It uses ECN whatever the configuration says.
//!
//! *Reference.* RFC 8257; Linux `net/ipv4/tcp_dctcp.c` (read as of 6.x); Alizadeh et al., “Data
//! Center TCP (DCTCP)”, SIGCOMM 2010.
//!
//! *Equations.* α in 1/1024 and g = 1/16:
//! - *Once per round trip*, when the data that were in flight at the last update are acknowledged:
//!   α = min(α − ⌊α/16⌋ + ⌊64·M/D⌋, 1024). D is the number of segments delivered since that update,
//!   and M the number of those that acknowledgments with ECN-Echo delivered. α is 1024 at first;
//!   below 16 it decays to 0.
//! - *First ECN-Echo of a window:* ssthresh = max(cwnd − ⌊cwnd·α/2048⌋, 2).
//! - *Loss*, also one during a reduction by ECN-Echo, and timeout: ssthresh = max(cwnd/2, 2).
//! - *Growth* as `reno_linux`.
//!
//! *Where it differs.* From RFC 8257: segments are counted, not bytes, and a loss within a window
//! that ECN-Echo is reducing sets ssthresh again (§3.5 asks for one reduction per window). The
//! module's parameters `dctcp_shift_g` and `dctcp_alpha_on_init` are fixed at 4 and 1024. If the
//! peer does not use ECN, no acknowledgment carries ECN-Echo, and Reno remains, as in Linux.

use super::segments::{self, SegmentCounter};
use super::{Ack, CongestionControl, Loss, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// DCTCP as in Linux: reduces the window in proportion to the share of marked data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

/// 1 in the fixed point of α (`DCTCP_MAX_ALPHA`), and its binary logarithm.
const ALPHA_ONE: u64 = 1 << ALPHA_SHIFT;
const ALPHA_SHIFT: u32 = 10;
/// Binary logarithm of 1/g (`dctcp_shift_g`).
const SHIFT_G: u32 = 4;

/// State of DCTCP.
#[derive(Debug, Clone)]
pub struct State {
    segments: SegmentCounter,
    alpha: u64,
    /// Position whose acknowledgment ends the current round trip (`next_seq`).
    round_end: u64,
    /// Segments delivered since the last update, and those of them with ECN-Echo.
    delivered: u64,
    marked: u64,
}

impl State {
    /// Creates a controller.
    pub fn new(_: &Config, _: &crate::Config) -> Self {
        Self {
            segments: SegmentCounter::default(),
            alpha: ALPHA_ONE,
            round_end: 0,
            delivered: 0,
            marked: 0,
        }
    }

    /// Updates α at the end of a round trip (`dctcp_update_alpha`).
    fn update_alpha(&mut self) {
        let decay = self.alpha >> SHIFT_G;
        // A decay rounded to 0 would leave a small α for ever.
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        let marked = (self.marked << (ALPHA_SHIFT - SHIFT_G)) / self.delivered.max(1);
        self.alpha = (self.alpha + marked).min(ALPHA_ONE);
    }
}

impl CongestionControl for State {
    fn observes(&self) -> bool {
        false
    }

    fn needs_ecn(&self) -> bool {
        true
    }

    fn observe_echo(&mut self, ack: &Ack, smss: u32, echo: bool) {
        // The acknowledgment of the handshake precedes the first observation, and delivers nothing.
        if ack.delivered == 0 && ack.bytes_acked == 0 {
            return;
        }
        let delivered = ack.delivered.div_ceil(smss.into());
        self.delivered += delivered;
        if echo {
            self.marked += delivered;
        }
        // The round trip is over: the data in flight at the last update are acknowledged, so their
        // marks are known.
        if ack.snd_una >= self.round_end {
            self.update_alpha();
            self.round_end = ack.snd_nxt;
            (self.delivered, self.marked) = (0, 0);
        }
    }

    fn on_echo(&mut self, window: &mut Window, loss: &Loss) {
        let cwnd = segments::cwnd_segments(window);
        // The decrease is half of the marked share: with every packet marked, DCTCP halves the
        // window as Reno does.
        let decrease = (u128::from(cwnd) * u128::from(self.alpha)) >> (ALPHA_SHIFT + 1);
        self.segments.reduce(window, loss, cwnd - decrease as u64);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.segments.grow_like_reno(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        let half = segments::cwnd_segments(window) / 2;
        self.segments.reduce(window, loss, half);
    }

    /// `dctcp_react_to_loss`: the recovery sets its own target, from the window to which ECN-Echo
    /// has reduced cwnd so far.
    fn on_loss_during_reduction(&mut self, window: &mut Window, _: &Loss) {
        let half = (segments::cwnd_segments(window) / 2).max(2);
        window.ssthresh = segments::segments_to_bytes(window, half);
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        self.segments.halve_at_timeout(window, loss, repeated);
    }

    fn on_undo(&mut self, _: &mut Window) {
        self.segments.undo();
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SMSS, ack, at, loss, tcp, window};
    use super::*;

    fn dctcp() -> State {
        State::new(&Config {}, &tcp())
    }

    /// Observes a window of `count` segments, acknowledged one by one, the first `marked` of them
    /// with ECN-Echo; returns α after the window.
    fn observe(dctcp: &mut State, count: u64, marked: u64) -> u64 {
        let smss = u64::from(SMSS);
        let start = dctcp.round_end;
        for n in 1..=count {
            let (snd_una, snd_nxt) = (start + n * smss, start + (n + count) * smss);
            let ack = Ack { snd_una, snd_nxt, ..ack(at(0), smss) };
            // The round trip ends with the acknowledgment of the last segment of this window.
            dctcp.round_end = dctcp.round_end.max(start + count * smss);
            dctcp.observe_echo(&ack, SMSS, n <= marked);
        }
        dctcp.alpha
    }

    /// RFC 8257 §3.3, step 5: α = α·(1 − g) + g·M, here with M of 0, 1, 1/4 and 1/3.
    #[test]
    fn alpha_is_a_moving_average_of_the_marked_share() {
        let mut dctcp = dctcp();
        let mut exact = 1.0;
        for (count, marked) in [(20, 0), (20, 5), (30, 10), (8, 0), (100, 100), (1, 0), (64, 1)] {
            let alpha = observe(&mut dctcp, count, marked) as f64 / 1024.0;
            exact += (marked as f64 / count as f64 - exact) / 16.0;
            assert!((alpha - exact).abs() < 0.01, "{marked} of {count}: {alpha}, not {exact}");
        }
    }

    #[test]
    fn linux_rounds_as_it_shifts() {
        let mut dctcp = dctcp();
        assert_eq!(observe(&mut dctcp, 10, 0), 1024 - 64);
        assert_eq!(observe(&mut dctcp, 10, 3), 960 - 60 + 192 / 10);
        dctcp.alpha = 15;
        assert_eq!(observe(&mut dctcp, 10, 0), 0, "a small α ends");
        dctcp.alpha = 16;
        assert_eq!(observe(&mut dctcp, 65, 1), 15, "64/65 of g is nothing");
        dctcp.alpha = 1024;
        assert_eq!(observe(&mut dctcp, 7, 7), 1024);
    }

    #[test]
    fn the_first_acknowledgment_ends_an_observation_of_its_own() {
        let mut dctcp = dctcp();
        let handshake = Ack { delivered: 0, snd_una: 1, snd_nxt: 1, ..ack(at(0), 0) };
        dctcp.observe_echo(&handshake, SMSS, false);
        assert_eq!(dctcp.alpha, 1024);
        let first = Ack { snd_una: 1001, snd_nxt: 10_001, ..ack(at(0), 1000) };
        dctcp.observe_echo(&first, SMSS, false);
        assert_eq!((dctcp.alpha, dctcp.round_end), (960, 10_001));
        let next = Ack { snd_una: 2001, snd_nxt: 12_001, ..ack(at(0), 1000) };
        dctcp.observe_echo(&next, SMSS, true);
        assert_eq!((dctcp.alpha, dctcp.delivered, dctcp.marked), (960, 1, 1));
    }

    #[test]
    fn an_echo_reduces_by_half_of_alpha() {
        for (alpha, left) in [(1024, 20), (512, 30), (100, 39), (51, 40), (0, 40)] {
            let (mut dctcp, mut window) = (dctcp(), window(40, 99));
            dctcp.alpha = alpha;
            dctcp.on_echo(&mut window, &loss(at(0), 40));
            assert_eq!((window.cwnd, window.ssthresh), (left * 1000, left * 1000), "{alpha}");
        }
        let (mut dctcp, mut window) = (dctcp(), window(3, 99));
        dctcp.on_echo(&mut window, &loss(at(0), 3));
        assert_eq!(window.ssthresh, 2000);
    }

    #[test]
    fn losses_halve_whatever_alpha_is() {
        let (mut dctcp, mut window) = (dctcp(), window(41, 99));
        dctcp.alpha = 0;
        dctcp.on_loss(&mut window, &loss(at(0), 41));
        assert_eq!((window.cwnd, window.ssthresh), (20_000, 20_000));
        let later = Loss { snd_una: 90_000, snd_max: 99_000, ..loss(at(1), 9) };
        dctcp.on_timeout(&mut window, &later, false);
        assert_eq!((window.cwnd, window.ssthresh), (1000, 10_000));
        window.cwnd = 30_000;
        dctcp.on_loss_during_reduction(&mut window, &later);
        assert_eq!((window.cwnd, window.ssthresh), (30_000, 15_000), "the target alone");
    }
}
