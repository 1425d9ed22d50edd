//! Properties of every rule that distinguishes corruption from congestion.

use proptest::prelude::*;
use retx_tcp::congestion_control::{Ack, Sent, Window};
use retx_tcp::loss_cause::{Cause, Config, Loss, LossCause, State};
use retx_tcp::presets;
use retx_units::{Duration, Time};

const WINDOW: Window = Window { cwnd: 10_000, ssthresh: 1, smss: 1_000 };

fn default_of(name: &str) -> Config {
    serde_json::from_value(name.into()).expect("every rule has defaults")
}

fn running(name: &str) -> State {
    default_of(name).build(&(presets::find("reno").expect("a preset").config)())
}

fn ack(now: u64, rtt: Option<u64>) -> Ack {
    Ack {
        now: Time::from_nanos(now),
        bytes_acked: 1_000,
        delivered: 1_000,
        flight_size: 10_000,
        rtt: rtt.map(Duration::from_nanos),
        srtt: None,
        snd_una: 1,
        snd_nxt: 1,
        cwnd_limited: true,
        in_recovery: false,
        receiver_time: None,
    }
}

fn loss(by_timeout: bool, lost_segments: u64) -> Loss {
    Loss {
        now: Time::ZERO,
        by_timeout,
        srtt: None,
        last_rtt: None,
        window: WINDOW,
        flight_size: 10_000,
        lost_segments,
        notified: false,
    }
}

#[test]
fn defaults_are_sound_and_survive_text() {
    for name in Config::BUILT_IN {
        let config = default_of(name);
        config.check().unwrap();
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), config, "{text}");
    }
}

#[test]
fn contradictions_are_refused_by_name() {
    for (text, field) in [
        (r#"{ "name": "spike", "start": 0.3, "end": 0.4 }"#, "loss_cause.end"),
        (r#"{ "name": "zigzag", "gain": 0.6 }"#, "loss_cause.gain"),
        (r#"{ "name": "zbs", "limits": [1, 3, 2] }"#, "loss_cause.limits"),
        (r#"{ "name": "zbs", "spike": { "start": 0.1 } }"#, "loss_cause.spike.end"),
        (r#"{ "name": "zbs", "zigzag": { "gain": 0.6 } }"#, "loss_cause.zigzag.gain"),
    ] {
        let config: Config = serde_json::from_str(text).unwrap();
        assert_eq!(config.check().unwrap_err().field, field, "{text}");
        let tcp = presets::find("reno").unwrap().config;
        let tcp = retx_tcp::Config { loss_cause: config, ..tcp() };
        assert_eq!(tcp.check().unwrap_err().field, field, "{text}");
    }
    for text in [
        r#"{ "name": "veno_n", "beta": -1 }"#,
        r#"{ "name": "trend", "gain": 2 }"#,
        r#"{ "name": "threshold", "origin": "rtt" }"#,
        r#"{ "name": "jitter", "tick": "1 ms" }"#,
    ] {
        assert!(serde_json::from_str::<Config>(text).is_err(), "{text}");
    }
}

/// Without evidence no loss is attributed to corruption. Only `mbiaz` needs no RTT: it uses the
/// spacing of ACKs, and until there is one, it has no evidence.
#[test]
fn without_an_rtt_every_loss_is_congestion() {
    for name in Config::BUILT_IN {
        let mut state = running(name);
        for by_timeout in [true, false] {
            assert_eq!(state.cause(&loss(by_timeout, 1)), Cause::Congestion, "{name}, no ACK");
        }
        for millis in 0..50 {
            state.on_ack(&ack(millis * 1_000_000, None), &WINDOW);
        }
        let gap = Ack { bytes_acked: 0, ..ack(51_000_000, None) };
        state.on_ack(&gap, &WINDOW);
        let said = state.cause(&loss(false, 1));
        let expected = if *name == "mbiaz" { Cause::Corruption } else { Cause::Congestion };
        assert_eq!(said, expected, "{name}, no RTT");
    }
}

/// After a single loss on a path without queues, each rule but `none` decides for corruption (for
/// `zigzag` the RTT has been a little higher until shortly before). When the queue grows from empty
/// to the length of the path, and overflows, each decides for congestion.
#[test]
fn an_idle_path_and_an_overflowing_queue() {
    let said = |name: &str, rtt: &dyn Fn(u64) -> u64, gap: u64| {
        let mut state = running(name);
        let mut now = 0;
        for n in 0..200 {
            now = n * 1_000_000 + rtt(n);
            let una = 1 + 1_000 * (n + 1);
            let ack = Ack { snd_una: una, snd_nxt: una + 50_000, ..ack(now, Some(rtt(n))) };
            state.on_ack(&ack, &Window { cwnd: 50_000, ..WINDOW });
        }
        let una = 200_001;
        let duplicate =
            Ack { bytes_acked: 0, snd_una: una, snd_nxt: una + 50_000, ..ack(now + gap, None) };
        state.on_ack(&duplicate, &WINDOW);
        state.cause(&loss(false, 1))
    };
    let idle = |n: u64| 50_000_000 + if n < 195 { 100_000 } else { 0 };
    // Segments that are sent every millisecond leave the queue every 1.25 ms.
    let growing = |n: u64| 50_000_000 + n * 250_000;
    for name in Config::BUILT_IN {
        // No relay has informed `eln`.
        let random =
            if matches!(*name, "none" | "eln") { Cause::Congestion } else { Cause::Corruption };
        assert_eq!(said(name, &idle, 2_000_000), random, "{name}, idle");
        assert_eq!(said(name, &growing, 1_250_000), Cause::Congestion, "{name}, overflow");
    }
}

/// Call of a rule.
#[derive(Debug, Clone)]
enum Step {
    Sent(Sent),
    Ack(Ack, Window),
    Loss(Loss),
}

fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        1u64..100_000_000,
        Just(Duration::MAX.as_nanos()),
        Just(u64::MAX / 2),
        any::<u64>(),
    ]
}

fn window() -> impl Strategy<Value = Window> {
    (extreme(), extreme(), prop_oneof![Just(1u32), 1u32..3_000, Just(u32::MAX)])
        .prop_map(|(cwnd, ssthresh, smss)| Window { cwnd, ssthresh, smss })
}

fn step() -> impl Strategy<Value = Step> {
    let rtt = || proptest::option::of(extreme().prop_map(Duration::from_nanos));
    let sent = (extreme(), extreme(), any::<u32>(), any::<bool>()).prop_map(
        |(now, position, bytes, retransmission)| {
            let (now, position) = (Time::from_nanos(now), position >> 1);
            Step::Sent(Sent { now, position, bytes, flight_size: 0, retransmission })
        },
    );
    let ack = (
        (extreme(), extreme(), extreme(), rtt(), rtt()),
        (extreme(), extreme(), any::<bool>(), any::<bool>()),
        window(),
    )
        .prop_map(|(a, b, window)| {
            let ack = Ack {
                now: Time::from_nanos(a.0),
                bytes_acked: a.1,
                delivered: a.2,
                flight_size: 0,
                rtt: a.3,
                srtt: a.3,
                snd_una: b.0 >> 1,
                snd_nxt: b.1,
                cwnd_limited: b.2,
                in_recovery: b.3,
                receiver_time: a.4,
            };
            Step::Ack(ack, window)
        });
    let loss = (any::<bool>(), extreme(), rtt(), window()).prop_map(
        |(by_timeout, lost_segments, rtt, window)| {
            let loss = loss(by_timeout, lost_segments);
            Step::Loss(Loss { srtt: rtt, last_rtt: rtt, window, ..loss })
        },
    );
    prop_oneof![1 => sent, 4 => ack, 1 => loss]
}

fn verdicts(state: &mut State, steps: &[Step]) -> Vec<Cause> {
    let mut said = vec![];
    for step in steps {
        match step {
            Step::Sent(sent) => state.on_sent(sent),
            Step::Ack(ack, window) => state.on_ack(ack, window),
            Step::Loss(loss) => said.push(state.cause(loss)),
        }
    }
    said
}

proptest! {
    /// No input makes a rule panic, and the same input gives the same verdicts.
    #[test]
    fn any_input_is_judged_and_the_same_input_alike(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        for name in Config::BUILT_IN {
            let said = verdicts(&mut running(name), &steps);
            prop_assert_eq!(&said, &verdicts(&mut running(name), &steps), "{}", name);
            let mut copy = running(name);
            let middle = steps.len() / 2;
            let mut halves = verdicts(&mut copy, &steps[..middle]);
            halves.extend(verdicts(&mut copy.clone(), &steps[middle..]));
            prop_assert_eq!(&said, &halves, "{}", name);
        }
    }
}
