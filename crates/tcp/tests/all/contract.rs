//! Properties of every registered algorithm in a connection, in any combination.

use crate::rig::{End, Pair, seconds};
use retx_tcp::{Config, CwndValidation, Event, Size, congestion_control, loss_detection, presets};
use retx_units::{Duration, SeqNr, StreamKey, Time};

const SMSS: u64 = 1460;

fn with(control: &str, detection: &str) -> Config {
    let mut config = (presets::find("sack").expect("a preset").config)();
    config.congestion_control = serde_json::from_value(control.into()).expect("a registered name");
    config.loss_detection = serde_json::from_value(detection.into()).expect("a registered name");
    config
}

fn pair(config: &Config) -> Pair {
    Pair::with(config, config, [SeqNr(7), SeqNr(u32::MAX - 9_000)])
}

/// Time and payload of each segment sent in a download over a wire that loses a twentieth of all
/// segments. The window is checked every 5 ms.
fn lossy_download(control: &str, detection: &str) -> Vec<(Time, u64)> {
    let mut config = with(control, detection);
    config.max_cwnd = Some(Size::Mss(20));
    let mut pair = pair(&config);
    let mut stream = StreamKey { seed: 1, replication: 0 }.stream("wire");
    pair.channel = Box::new(move |_| {
        let copies = usize::from(stream.uniform() >= 0.05);
        vec![Duration::ZERO; copies]
    });
    pair.server.to_write = 300_000;
    for step in 1..2_000 {
        pair.drive(Time::ZERO + Duration::from_millis(5) * step);
        let sender = &pair.server.connection;
        let cwnd = sender.cwnd();
        assert!(cwnd >= SMSS, "{control} on {detection}: {cwnd} bytes are less than a segment");
        // During fast recovery cwnd counts what has left the network as well (RFC 5681 §3.2).
        let over = cwnd > 20 * SMSS && !sender.in_recovery();
        assert!(!over, "{control} on {detection}: {cwnd} bytes, over max_cwnd");
    }
    assert!(pair.client.bytes_read > 0);
    pair.sent.iter().map(|sent| (sent.at, sent.transmit.position)).collect()
}

#[test]
fn windows_keep_their_bounds_and_runs_repeat() {
    for control in congestion_control::Config::BUILT_IN {
        for detection in loss_detection::Config::NAMES {
            let [first, second] = [(); 2].map(|()| lossy_download(control, detection));
            assert_eq!(first, second, "{control} on {detection}");
        }
    }
}

/// `cwnd` in bytes of a sender that starts with 10 segments of it, and sends one segment every 100
/// ms: after 1 s, when round trips have been measured, and after 8 s.
fn after_using_little(control: &str, validation: CwndValidation) -> (u64, u64) {
    let mut config = with(control, "newreno");
    config.cwnd_validation = validation;
    config.initial_window = Size::Mss(10).into();
    let mut pair = pair(&config);
    pair.drive(seconds(0.1));
    let mut early = 0;
    for round in 2..80 {
        pair.server.to_write = SMSS;
        pair.drive(Time::ZERO + Duration::from_millis(100) * round);
        if round == 10 {
            early = pair.server.connection.cwnd();
        }
    }
    assert_eq!(pair.client.bytes_read, 78 * SMSS, "{control}");
    (early, pair.server.connection.cwnd())
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for control in congestion_control::Config::BUILT_IN {
        for validation in [CwndValidation::Rfc7661, CwndValidation::Linux] {
            let (early, late) = after_using_little(control, validation);
            assert!(late <= early, "{control}, {validation:?}: {early}, then {late}");
        }
    }
    // RFC 5681 alone lets it grow, by at least a segment for each of some 35 delayed ACKs: the test
    // detects a lack of validation.
    let (early, late) = after_using_little("reno", CwndValidation::None);
    assert!(late > early + 35 * SMSS, "{early}, then {late}");
}

#[test]
fn a_window_with_three_losses_is_reduced_once() {
    for control in congestion_control::Config::BUILT_IN {
        for detection in ["newreno", "sack", "rack"] {
            let mut config = with(control, detection);
            config.initial_window = Size::Mss(20).into();
            let mut pair = pair(&config);
            if *control == "hybla_linux" {
                // Hybla's initial window has RTT/25 ms segments, whatever the configured one.
                pair.delay = Duration::from_millis(250);
            }
            let lost = [4, 8, 12].map(|segment| (1 + segment * SMSS, 0));
            pair.lose_copies(End::Server, &lost);
            pair.server.to_write = 60 * SMSS;
            pair.drive(seconds(30.0));
            let name = format!("{control} on {detection}");
            assert_eq!(pair.client.bytes_read, 60 * SMSS, "{name}");
            let mut reductions = Vec::new();
            for (_, event) in &pair.server.events {
                match event {
                    Event::LossFound(episode) => reductions.push(*episode),
                    Event::TimedOut(episode) => panic!("{name}: a timeout, {episode:?}"),
                    _ => {}
                }
            }
            assert_eq!(reductions.len(), 1, "{name}: {reductions:?}");
            assert!(reductions[0].cwnd_after <= reductions[0].cwnd_before, "{name}");
        }
    }
}
