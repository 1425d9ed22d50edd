use super::super::testing::{at, loss, tcp, window};
use super::*;

const SMSS: u64 = 1000;

/// Path with 1 ms per segment and an RTT of 20 ms, where each segment is acknowledged.
struct Path {
    state: State,
    window: Window,
    now: u64,
    sent: u64,
    acked: u64,
    flying: std::collections::VecDeque<u64>,
    /// Segments that pacing allows, in units of 2^-20.
    credit: u64,
}

impl Path {
    fn new() -> Self {
        let mut state = State::new(&Config {}, &tcp());
        let mut window = window(10, 1 << 40);
        let rtt = Some(Duration::from_millis(20));
        state.on_connected(
            &mut window,
            &Start { now: at(0), rtt, samples_segments: true, identity: 7 },
        );
        let flying = std::collections::VecDeque::new();
        Self { state, window, now: 20, sent: 0, acked: 0, flying, credit: 0 }
    }

    /// Advances by 1 ms: a segment is acknowledged, and the segments allowed by pacing and the
    /// window are sent.
    fn step(&mut self, lost: u64, phase: Phase) {
        let before = self.flying.len() as u64;
        let left = self.flying.front().is_some_and(|left| *left <= self.now);
        self.now += 1;
        if left {
            self.flying.pop_front();
            self.flying.truncate((before - 1 - lost) as usize);
            self.acked += 1;
            let delivery = Delivery {
                now: at(self.now),
                snd_una: 1 + self.acked * SMSS,
                delivered_segments: 1,
                is_selective: false,
                newest: None,
                is_short: false,
                lost,
                lost_total: lost,
                flight_before: before,
                flight: before - 1 - lost,
                phase,
                rtt: None,
                srtt: Some(Duration::from_millis(20)),
                pacing_delay: Duration::ZERO,
            };
            self.state.on_delivery(&mut self.window, &delivery);
        }
        // Credit for 1 ms at the rate; unused credit is lost, except for one segment.
        self.credit = self.credit.min(1 << 20) + (self.state.0.pacing_rate << 20) / 1_000_000;
        while (self.flying.len() as u64) < self.window.cwnd / SMSS && self.credit >= 1 << 20 {
            self.credit -= 1 << 20;
            let served = self.flying.back().map_or(0, |last| last + 1).max(self.now + 19);
            self.flying.push_back(served);
            self.sent += 1;
            self.state.on_sent(&Sent {
                now: at(self.now),
                position: 1 + (self.sent - 1) * SMSS,
                bytes: 1000,
                flight_size: self.flying.len() as u64 * SMSS,
                retransmission: false,
            });
        }
    }

    fn run(&mut self, steps: u64) {
        (0..steps).for_each(|_| self.step(0, Phase::Open));
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd / SMSS
    }
}

/// On a path of 20 ms and one segment per ms the bandwidth is found. The window is twice the path's
/// capacity, plus six segments for segmentation offload, two in the probing phase, and one for
/// aggregation.
#[test]
fn the_model_of_a_known_path() {
    let mut path = Path::new();
    path.run(2_000);
    let bbr = &path.state.0;
    assert_eq!(bbr.mode, Mode::ProbeBandwidth);
    assert_eq!(bbr.bandwidth(), Bandwidth(1_000_000));
    assert_eq!(bbr.least_rtt.value, Some(Duration::from_millis(20)));
    assert!((46..=50).contains(&path.cwnd()), "{}", path.cwnd());
    assert_eq!(path.state.bandwidth_delay_bytes(), Some(20_000));
}

/// In the first round of a recovery as much is sent as is delivered; at its end the window is
/// restored.
#[test]
fn a_recovery_conserves_packets_and_gives_the_window_back() {
    let mut path = Path::new();
    path.run(2_000);
    let (before, flight) = (path.cwnd(), path.flying.len() as u64);
    path.state.on_loss(&mut path.window, &loss(at(path.now), flight));
    path.step(3, Phase::Recovery);
    assert_eq!(path.cwnd(), flight - 3);
    for _ in 0..15 {
        path.step(0, Phase::Recovery);
        assert_eq!(path.cwnd(), flight - 3);
    }
    path.step(0, Phase::Open);
    assert!(path.cwnd() >= before - 2, "{}", path.cwnd());
}

/// A timeout leaves one segment; the window grows by the data delivered, and is restored when
/// all losses are repaired.
#[test]
fn a_timeout_leaves_one_segment() {
    let mut path = Path::new();
    path.run(2_000);
    let before = path.cwnd();
    path.state.on_timeout(&mut path.window, &loss(at(path.now), before), false);
    assert_eq!(path.cwnd(), 1);
    path.step(0, Phase::Loss);
    assert_eq!(path.cwnd(), 4, "what keeps it going");
    path.step(0, Phase::Loss);
    assert_eq!(path.cwnd(), 5);
    path.step(0, Phase::Open);
    assert!(path.cwnd() >= before - 2, "{}", path.cwnd());
}

/// If the RTT probe begins with a small window, the larger window that was saved before remains the
/// one to restore.
#[test]
fn an_rtt_probe_forgets_no_better_window() {
    let mut path = Path::new();
    path.run(9_900);
    let before = path.cwnd();
    path.state.0.prior_cwnd = before;
    while path.state.0.mode != Mode::ProbeRtt {
        path.window.cwnd = 8 * SMSS;
        path.step(0, Phase::Open);
    }
    assert!((9_900..10_100).contains(&path.now), "after 10 s: {}", path.now);
    assert_eq!(path.state.0.prior_cwnd, before);
}

/// The window grows below its target before the pipe is full, and always until ten segments have
/// been delivered.
#[test]
fn the_window_grows_below_its_target_and_at_the_start() {
    let path = Path::new();
    assert_eq!(path.state.0.grow(1_000_000, 1), 1_000_001);
    let mut path = Path::new();
    path.run(45);
    let bbr = &path.state.0;
    assert!(!bbr.full.reached && bbr.rate.delivered > INITIAL_WINDOW);
    assert_eq!([bbr.grow(1, 1), bbr.grow(1_000_000, 1)], [2, 1_000_000]);
}

/// `bbr_cwnd_event`: sending restarts only after a pause in which the application had no data.
#[test]
fn a_pause_restarts_only_without_data() {
    let mut path = Path::new();
    path.run(100);
    let now = at(path.now);
    path.state.on_restart(&mut path.window, now);
    assert!(!path.state.0.restarted);
    path.state.on_app_limited(1);
    path.state.on_restart(&mut path.window, now);
    assert!(path.state.0.restarted);
}

/// Flows that differ only in their sequence numbers begin their cycles in different phases.
#[test]
fn cycles_begin_anywhere_but_at_the_drain() {
    let begins: Vec<usize> = (0..100)
        .map(|identity| {
            let mut state = State::new(&Config {}, &tcp());
            state.0.identity = identity;
            state.0.begin_cycle();
            state.0.phase
        })
        .collect();
    assert!((0..CYCLE.len()).all(|phase| begins.contains(&phase) != (phase == 1)), "{begins:?}");
}

/// `bbr_is_next_cycle_phase`: a phase with gain 1 ends when more than the minimum RTT (20 ms) has
/// passed since its start, here with the acknowledgment 21 ms later.
#[test]
fn the_phases_of_a_cycle_follow_each_other() {
    let mut path = Path::new();
    path.run(2_000);
    let mut begins: Vec<(usize, u64)> = Vec::new();
    for _ in 0..400 {
        let phase = path.state.0.phase;
        path.step(0, Phase::Open);
        if path.state.0.phase != phase {
            begins.push((path.state.0.phase, path.now));
        }
    }
    assert!(begins.len() > 16, "two cycles: {begins:?}");
    for pair in begins.windows(2) {
        let ((phase, from), (next, to)) = (pair[0], pair[1]);
        assert_eq!(next, (phase + 1) % 8);
        if phase >= 2 {
            assert_eq!(to - from, 21, "phase {phase}");
        }
    }
}

/// `bbr_min_tso_segs`: below 1.2 Mbit/s a burst is one segment, from there on two.
#[test]
fn bursts_on_slow_paths_are_single_segments() {
    let mut bbr = Path::new().state.0;
    for (rate, burst) in [(SLOW - 1, 1), (SLOW, 2), (1_024_000, 2), (10 * 1_024_000, 10)] {
        bbr.change_pacing_rate(rate);
        assert_eq!(bbr.burst, burst, "{rate}");
    }
}

/// `bbr_quantization_budget` adds three bursts, rounds up to an even number, and adds two segments
/// in the probing phase.
#[test]
fn only_the_probing_phase_has_two_segments_more() {
    let mut bbr = Path::new().state.0;
    bbr.change_pacing_rate(0);
    for (mode, phase, window) in [
        (Mode::Startup, 0, 14),
        (Mode::Drain, 0, 14),
        (Mode::ProbeRtt, 0, 14),
        (Mode::ProbeBandwidth, 0, 16),
        (Mode::ProbeBandwidth, 1, 14),
        (Mode::ProbeBandwidth, 2, 14),
    ] {
        (bbr.mode, bbr.phase) = (mode, phase);
        assert_eq!([bbr.with_budget(10), bbr.with_budget(11)], [window; 2], "{mode:?} {phase}");
    }
}

/// `bbr_set_pacing_rate`: without an RTT from the handshake, the first SRTT gives the rate.
#[test]
fn the_first_rtt_sets_the_rate() {
    let of_rtt = |ms| {
        let rtt = Duration::from_millis(ms);
        Bandwidth::from_segments(10, SMSS, rtt).pacing_rate(HIGH_GAIN)
    };
    let (mut state, mut window) = (State::new(&Config {}, &tcp()), window(10, 99));
    state.on_connected(
        &mut window,
        &Start { now: at(0), rtt: None, samples_segments: true, identity: 7 },
    );
    assert!(!state.0.has_seen_rtt);
    assert_eq!(state.0.pacing_rate, of_rtt(1));
    for ms in [20, 40] {
        state.0.set_pacing_rate(UNIT, &window, Some(Duration::from_millis(ms)));
        assert!(state.0.has_seen_rtt);
        assert_eq!(state.0.pacing_rate, of_rtt(20), "after {ms}");
    }
    let rate = Some(Rate::from_bit_s(8 * of_rtt(20)));
    assert_eq!(state.pacing_rate(&window, None), rate);
    // The RTT of the handshake sets the rate as well.
    let mut path = Path::new();
    assert!(path.state.0.has_seen_rtt);
    path.state.0.set_pacing_rate(UNIT, &window, Some(Duration::from_millis(40)));
    assert_eq!(path.state.0.pacing_rate, of_rtt(20));
}
