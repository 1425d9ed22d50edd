//! Properties of every registered congestion control, under any events.

use crate::rig::{Pair, seconds};
use proptest::prelude::*;
use retx_tcp::congestion_control::{
    Ack, Config, CongestionControl, Delivery, Loss, NotNegative, Phase, Sent, Start, State, Window,
};
use retx_tcp::{loss_detection, presets};
use retx_units::{Duration, SeqNr, StreamKey, Time};

/// Algorithms whose sources set cwnd at a timeout from the estimated bandwidth, even above its
/// previous value.
const RAISE_AT_A_TIMEOUT: [&str; 1] = ["dynamic"];

/// Event of a sender, and the time since the previous event.
#[derive(Debug, Clone)]
struct Step {
    after: Duration,
    event: SenderEvent,
}

#[derive(Debug, Clone)]
enum SenderEvent {
    /// New data are acknowledged: a share of the data in flight.
    Ack {
        share: u8,
        rtt: Option<Duration>,
        limited: bool,
        in_recovery: bool,
    },
    Duplicate {
        delivered: u64,
    },
    Send {
        bytes: u32,
    },
    Resend,
    Loss,
    /// Marked data are acknowledged, and the window is reduced for it.
    Echo,
    LossDuringReduction,
    Timeout {
        repeated: bool,
    },
    RecoveryEnd,
    Undo,
}

/// Durations: zero, the shortest, usual ones, and hours.
fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        2 => Just(Duration::ZERO),
        1 => Just(Duration::from_nanos(1)),
        8 => (1..500_000_u64).prop_map(Duration::from_micros),
        2 => (1..120_u64).prop_map(Duration::from_secs),
        1 => (1..50_u64).prop_map(|hours| Duration::from_secs(3600 * hours)),
    ]
}

fn event() -> impl Strategy<Value = SenderEvent> {
    let ack = (any::<u8>(), proptest::option::of(duration()), any::<bool>(), any::<bool>());
    prop_oneof![
        8 => ack.prop_map(|(share, rtt, limited, in_recovery)| SenderEvent::Ack {
            share, rtt, limited, in_recovery
        }),
        3 => (0..100_000_u64).prop_map(|delivered| SenderEvent::Duplicate { delivered }),
        8 => (1..1461_u32).prop_map(|bytes| SenderEvent::Send { bytes }),
        2 => Just(SenderEvent::Resend),
        2 => Just(SenderEvent::Loss),
        1 => Just(SenderEvent::Echo),
        1 => Just(SenderEvent::LossDuringReduction),
        1 => any::<bool>().prop_map(|repeated| SenderEvent::Timeout { repeated }),
        1 => Just(SenderEvent::RecoveryEnd),
        1 => Just(SenderEvent::Undo),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (duration(), event()).prop_map(|(after, event)| Step { after, event });
    proptest::collection::vec(step, 1..300)
}

/// Windows from one segment to far more than any link holds, with thresholds of two segments and
/// more.
fn window() -> impl Strategy<Value = Window> {
    let size = || prop_oneof![4 => 1..200_u64, 1 => 1..(1_u64 << 40), 1 => Just(1 << 45)];
    (size(), size(), prop_oneof![Just(536), Just(1460), Just(65_495), Just(1)]).prop_map(
        |(cwnd, ssthresh, smss)| Window {
            cwnd: cwnd * u64::from(smss),
            ssthresh: (ssthresh + 1) * u64::from(smss),
            smss,
        },
    )
}

/// A sender without a network, with consistent positions and times.
struct Sender {
    name: &'static str,
    control: State,
    window: Window,
    now: Time,
    snd_una: u64,
    snd_nxt: u64,
    lost: u64,
}

impl Sender {
    fn new(name: &'static str, config: &Config, window: Window) -> Self {
        let mut tcp = (presets::find("reno").expect("a preset").config)();
        tcp.mss = window.smss;
        let mut control = config.build(&tcp);
        let mut window = window;
        control.on_connected(
            &mut window,
            &Start { now: Time::ZERO, rtt: None, samples_segments: false, identity: 1 },
        );
        Self { name, control, window, now: Time::ZERO, snd_una: 1, snd_nxt: 1, lost: 0 }
    }

    /// Passes the delivery to algorithms that model the path, which set the window last.
    fn deliver(&mut self, ack: &Ack, lost: u64) {
        let segments = |bytes: u64| bytes.div_ceil(self.window.smss.into());
        let short = ack.bytes_acked < u64::from(self.window.smss);
        self.lost += lost;
        let delivery = Delivery {
            now: self.now,
            snd_una: self.snd_una,
            delivered_segments: segments(ack.delivered),
            is_selective: ack.bytes_acked == 0 && short,
            newest: (ack.bytes_acked == 0).then_some(self.snd_nxt),
            is_short: short,
            lost,
            lost_total: self.lost,
            flight_before: segments(ack.flight_size),
            flight: segments(self.flight()),
            phase: if ack.in_recovery { Phase::Recovery } else { Phase::Open },
            rtt: ack.rtt,
            srtt: ack.srtt,
            pacing_delay: Duration::ZERO,
        };
        self.control.on_delivery(&mut self.window, &delivery);
    }

    fn flight(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    fn ack(&self) -> Ack {
        Ack {
            now: self.now,
            bytes_acked: 0,
            delivered: 0,
            flight_size: self.flight(),
            rtt: None,
            srtt: None,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            cwnd_limited: true,
            in_recovery: false,
            receiver_time: None,
        }
    }

    fn loss(&self) -> Loss {
        Loss {
            now: self.now,
            flight_size: self.flight(),
            snd_una: self.snd_una,
            snd_max: self.snd_nxt,
            srtt: None,
        }
    }

    fn send(&mut self, position: u64, bytes: u32, retransmission: bool) {
        self.snd_nxt = self.snd_nxt.max(position + u64::from(bytes));
        let flight_size = self.flight();
        let now = self.now;
        self.control.on_sent(&Sent { now, position, bytes, flight_size, retransmission });
    }

    fn take(&mut self, step: &Step) {
        self.now += step.after;
        let smss = self.window.smss;
        match step.event {
            SenderEvent::Ack { share, rtt, limited, in_recovery } => {
                let before = self.ack();
                let bytes_acked = (self.flight() * u64::from(share)).div_ceil(255);
                if bytes_acked == 0 {
                    return;
                }
                self.snd_una += bytes_acked;
                let ack = Ack {
                    bytes_acked,
                    delivered: bytes_acked,
                    snd_una: self.snd_una,
                    rtt,
                    srtt: rtt,
                    cwnd_limited: limited,
                    in_recovery,
                    receiver_time: rtt,
                    ..before
                };
                self.control.observe_echo(&ack, smss, false);
                self.control.observe(&ack, smss);
                self.control.on_ack(&mut self.window, &ack);
                self.deliver(&ack, 0);
            }
            SenderEvent::Duplicate { delivered } => {
                let ack = Ack { delivered, ..self.ack() };
                self.control.observe(&ack, smss);
                self.deliver(&ack, delivered % 3);
            }
            SenderEvent::Send { bytes } => {
                if self.flight() == 0 {
                    self.control.on_app_limited(0);
                    self.control.on_restart(&mut self.window, self.now);
                }
                self.send(self.snd_nxt, bytes.min(smss), false);
            }
            SenderEvent::Resend => {
                let bytes = u64::from(smss).min(self.flight()) as u32;
                if bytes > 0 {
                    self.send(self.snd_una, bytes, true);
                }
            }
            SenderEvent::Loss => self.lose(None),
            SenderEvent::Echo => {
                let ack = Ack { delivered: smss.into(), ..self.ack() };
                self.control.observe_echo(&ack, smss, true);
                self.control.observe(&ack, smss);
                let loss = self.loss();
                self.control.on_echo(&mut self.window, &loss);
                let Window { ssthresh, smss, .. } = self.window;
                assert!(ssthresh >= 2 * u64::from(smss), "{}: {ssthresh}", self.name);
            }
            SenderEvent::LossDuringReduction => {
                let loss = self.loss();
                self.control.on_loss_during_reduction(&mut self.window, &loss);
            }
            SenderEvent::Timeout { repeated } => self.lose(Some(repeated)),
            SenderEvent::RecoveryEnd => self.control.on_recovery_end(&mut self.window, self.now),
            SenderEvent::Undo => self.control.on_undo(&mut self.window),
        }
        self.check();
    }

    fn lose(&mut self, timeout_repeated: Option<bool>) {
        let (loss, before) = (self.loss(), self.window);
        let smss = u64::from(before.smss);
        if let Some(repeated) = timeout_repeated {
            self.control.on_timeout(&mut self.window, &loss, repeated);
            assert!(
                self.window.cwnd <= before.cwnd || RAISE_AT_A_TIMEOUT.contains(&self.name),
                "{}: a timeout raises cwnd: {before:?} → {:?}",
                self.name,
                self.window
            );
        } else {
            self.control.on_loss(&mut self.window, &loss);
        }
        // A timeout after a reduction keeps ssthresh. CDG's end of slow start may have set it to a
        // window of one segment.
        let ssthresh = self.window.ssthresh;
        let is_kept = timeout_repeated.is_some() && ssthresh == before.ssthresh;
        if timeout_repeated != Some(true) && !is_kept {
            assert!(ssthresh >= 2 * smss, "{}: ssthresh {ssthresh} after a loss", self.name);
        }
    }

    fn check(&self) {
        let Window { cwnd, smss, .. } = self.window;
        assert!(cwnd >= u64::from(smss), "{}: cwnd {cwnd} below a segment", self.name);
        // No query may panic.
        let _ = self.control.pacing_rate(&self.window, None);
        let _ = self.control.bandwidth_delay_bytes();
        let _ = self.control.is_overdue(self.now);
        let _ = (self.control.repeats_window(), self.control.holds_rto());
    }
}

fn run(name: &'static str, config: &Config, window: Window, steps: &[Step]) -> Vec<Window> {
    let mut sender = Sender::new(name, config, window);
    let after = |step| {
        sender.take(step);
        sender.window
    };
    steps.iter().map(after).collect()
}

fn named(name: &str) -> Config {
    serde_json::from_value(name.into()).expect("a name of the registry")
}

/// Each congestion control with its defaults, and some with other parameters.
fn variants() -> Vec<(&'static str, Config)> {
    let mut all: Vec<_> = Config::BUILT_IN.iter().map(|name| (*name, named(name))).collect();
    for text in [
        r#"{ "name": "vegas", "alpha": 5, "beta": 1, "gamma": 0, "fine_retransmission": false }"#,
        r#"{ "name": "vegas_linux", "alpha": 18446744073709551615, "beta": 0 }"#,
        r#"{ "name": "veno", "beta": 0, "growth": "bytes_acked" }"#,
        r#"{ "name": "veno_linux", "beta": 18446744073709551615 }"#,
        r#"{ "name": "westwood", "tau": "1 ns", "m": 4294967295, "reduction_factor": true }"#,
        r#"{ "name": "westwood_plus", "smoothing": "cascade", "renew_least_rtt": true }"#,
        r#"{ "name": "jtcp_like", "k": 0 }"#,
        r#"{ "name": "dynamic", "alpha": 1e-300, "beta": 1, "estimator": "westwood" }"#,
        r#"{ "name": "dynamic", "cwnd_max": 1, "estimator": "westwood_plus", "abw": "least_rtt" }"#,
        r#"{ "name": "lp", "clock_offset": "none" }"#,
        r#"{ "name": "hybla", "rtt0": "1 ns" }"#,
        r#"{ "name": "cubic", "slow_start": "standard", "c": 1e300, "beta": 0.999999 }"#,
        r#"{ "name": "cubic", "slow_start": "hystart", "c": 1e-300, "beta": 1e-300 }"#,
        r#"{ "name": "cubic", "variant": "linux", "slow_start": "hystart" }"#,
        r#"{ "name": "cubic", "variant": "linux", "c": 1e300, "beta": 0.999999 }"#,
        r#"{ "name": "cubic", "variant": "linux", "c": 1e-300, "fast_convergence": false }"#,
    ] {
        let config: Config = serde_json::from_str(text).expect(text);
        all.push((config.name(), config));
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// cwnd is at least one segment, and ssthresh two after a loss; no timeout raises cwnd; the
    /// same events give the same windows.
    #[test]
    fn windows_stay_sane(window in window(), steps in steps()) {
        for (name, config) in variants() {
            let [first, second] = [(); 2].map(|()| run(name, &config, window, &steps));
            prop_assert_eq!(first, second, "{} is not repeatable", name);
        }
    }
}

/// A hundred thousand segments in flight are acknowledged at once, or one by one.
#[test]
fn windows_of_a_hundred_thousand_segments() {
    let window = Window { cwnd: 1460 << 20, ssthresh: 1460 << 10, smss: 1460 };
    let ack = |share| SenderEvent::Ack {
        share,
        rtt: Some(Duration::from_millis(50)),
        limited: true,
        in_recovery: false,
    };
    let step = |event| Step { after: Duration::from_micros(1), event };
    for (name, config) in variants() {
        let mut sender = Sender::new(name, &config, window);
        for _ in 0..100_000 {
            sender.take(&step(SenderEvent::Send { bytes: 1460 }));
        }
        sender.take(&step(SenderEvent::Loss));
        sender.take(&step(SenderEvent::Resend));
        for _ in 0..1000 {
            sender.take(&step(ack(1)));
        }
        sender.take(&step(ack(255)));
        assert_eq!(sender.flight(), 0, "{name}");
    }
}

/// A transfer over a wire that for 30 s loses a fifth of the segments, doubles a fifth and delays a
/// fifth.
fn everything_arrives(name: &str, detection: &str, seed: u64) {
    let mut config = (presets::find("sack").expect("a preset").config)();
    config.congestion_control = named(name);
    config.loss_detection = serde_json::from_value(detection.into()).expect("a registered name");
    config.timestamps = seed.is_multiple_of(2);
    config.max_rto = Duration::from_secs(8);
    let mut pair = Pair::with(&config, &config, [SeqNr(0), SeqNr(u32::MAX - 9000)]);
    let mut stream = StreamKey { seed, replication: 0 }.stream("wire");
    pair.channel = Box::new(move |sent| {
        let clean = sent.at >= seconds(30.0);
        let [late, lost, doubled] = [(); 3].map(|()| stream.uniform() < 0.2 && !clean);
        let copies = if lost { 0 } else { 1 + usize::from(doubled) };
        vec![Duration::from_millis(if late { 90 } else { 0 }); copies]
    });
    pair.server.to_write = 200_000;
    pair.server.close_when_written = true;
    pair.drive(seconds(3_600.0));
    assert_eq!(pair.client.bytes_read, 200_000, "{name} on {detection}, seed {seed}");
}

#[test]
fn everything_arrives_whatever_recovers() {
    for name in Config::BUILT_IN {
        for detection in loss_detection::Config::NAMES {
            (0..4).for_each(|seed| everything_arrives(name, detection, seed));
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let error = |text: &str| serde_json::from_str::<Config>(text).unwrap_err().to_string();
    for (text, what) in [
        (r#"{ "name": "vegas", "alpha": -1 }"#, "-1 is refused: write 0 or a number above it"),
        (r#"{ "name": "cubic", "beta": 1 }"#, "1 is refused: write a number above 0 and below 1"),
        (r#"{ "name": "cubic", "c": 0 }"#, "0 is refused: write a number above 0"),
        (r#"{ "name": "dynamic", "alpha": 0 }"#, "0 is refused: write a number above 0"),
        (r#"{ "name": "hybla", "rtt0": "0 s" }"#, "0 s is refused: write a duration above 0 s"),
        (r#"{ "name": "westwood", "tau": "0 s" }"#, "0 s is refused: write a duration above 0 s"),
        (r#"{ "name": "westwood", "m": 0 }"#, "nonzero"),
        (r#"{ "name": "cubic", "slow_start": "hystart++" }"#, "hystart_plus_plus"),
    ] {
        let error = error(text);
        assert!(error.contains(what), "{text}: {error}");
    }
    assert!(NotNegative::new(f64::NAN).is_none());
}
