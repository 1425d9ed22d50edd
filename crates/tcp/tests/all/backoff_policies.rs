//! Start and end of each policy's backoff, in sequences written by hand.

use crate::rig::{self, End, Pair, preset, seconds};
use proptest::prelude::*;
use retx_tcp::backoff::{Ack, Backoff, Config, State, Timeout};
use retx_tcp::presets;
use retx_units::Duration;

fn running(config: &Config) -> State {
    config.build(&(presets::find("reno").expect("a preset").config)())
}

fn named(name: &str) -> Config {
    serde_json::from_value(name.into()).expect("every policy has defaults")
}

const TIMEOUT: Timeout = Timeout { bandwidth_delay_bytes: None, in_syn_sent: false };

/// An ACK of new data.
const fn ack(sampled: bool, loss_state_over: bool) -> Ack {
    Ack { advances: true, has_rtt_sample: sampled, loss_state_over }
}

/// Exponents after each of the `events`: a timeout, or an ACK of new data, with a valid RTT sample
/// (`S`) or without, within the loss state or at its end (`E`).
fn exponents(name: &str, events: &str) -> Vec<u32> {
    let mut state = running(&named(name));
    events
        .split_whitespace()
        .map(|event| {
            match event {
                "timeout" => state.on_timeout(&TIMEOUT),
                "ack" => state.on_ack(&ack(false, false)),
                "ackS" => state.on_ack(&ack(true, false)),
                "ackE" => state.on_ack(&ack(false, true)),
                "ackSE" => state.on_ack(&ack(true, true)),
                other => panic!("{other}"),
            }
            state.exponent()
        })
        .collect()
}

/// The first ACK after a timeout acknowledges a retransmission, which is a valid sample only with
/// timestamps.
#[test]
fn acks_that_end_the_backoff() {
    let story = "timeout timeout ack ackS timeout ackE ackSE timeout ackSE";
    for (name, expected) in [
        ("rfc6298", [1, 2, 2, 0, 1, 1, 0, 1, 0]),
        ("linux", [1, 2, 2, 0, 1, 1, 0, 1, 0]),
        ("reset_if_bdp", [1, 2, 2, 0, 1, 1, 0, 1, 0]),
        ("keep", [1, 2, 2, 2, 3, 3, 0, 1, 0]),
        ("reset_on_ack", [1, 2, 0, 0, 1, 0, 0, 1, 0]),
    ] {
        assert_eq!(exponents(name, story), expected, "{name}");
    }
}

/// Park et al.: with BDP > 25,000/2 bytes the path is not congested.
#[test]
fn much_bandwidth_ends_the_backoff_at_a_timeout() {
    let after = |config: &Config, products: &[Option<u64>]| {
        let mut state = running(config);
        for &bandwidth_delay_bytes in products {
            state.on_timeout(&Timeout { bandwidth_delay_bytes, ..TIMEOUT });
        }
        state.exponent()
    };
    let park = named("reset_if_bdp");
    assert_eq!(after(&park, &[Some(12_500); 3]), 3);
    assert_eq!(after(&park, &[Some(12_501); 3]), 0);
    assert_eq!(after(&park, &[Some(0), Some(0), Some(20_000), Some(0)]), 1);
    assert_eq!(after(&park, &[None; 3]), 3, "a congestion control that estimates nothing");
    let text = r#"{ "name": "reset_if_bdp", "cwnd_max": 65535 }"#;
    let wider: Config = serde_json::from_str(text).unwrap();
    assert_eq!(after(&wider, &[Some(32_767); 2]), 2);
    assert_eq!(after(&wider, &[Some(32_768); 2]), 0);
    for other in Config::NAMES.iter().filter(|name| **name != "reset_if_bdp") {
        assert_eq!(after(&named(other), &[Some(u64::MAX); 3]), 3, "{other}");
    }
}

/// Times in seconds at which an end sends its SYN or SYN/ACK if the first `losses` of them are
/// lost.
fn syns(backoff: &str, end: End, losses: u32) -> Vec<f64> {
    let config = retx_tcp::Config { backoff: named(backoff), ..preset("reno") };
    let mut pair = Pair::new(&config);
    pair.lose_copies(end, &(0..losses).map(|copy| (0, copy)).collect::<Vec<_>>());
    pair.drive(seconds(100.0));
    let syn = |sent: &&rig::Sent| {
        sent.from == end && sent.transmit.segment.flags.contains(retx_wire::Flags::SYN)
    };
    pair.sent.iter().filter(syn).map(|sent| sent.at.as_secs_f64()).collect()
}

/// Linux does not double the wait at the first four timeouts of the SYN; RFC 6298 doubles it from
/// the first.
#[test]
fn the_first_timeouts_of_a_syn() {
    assert_eq!(syns("rfc6298", End::Client, 4), [0.0, 1.0, 3.0, 7.0, 15.0]);
    assert_eq!(syns("linux", End::Client, 7), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 11.0]);
    let text = r#"{ "name": "linux", "syn_linear_timeouts": 0 }"#;
    let mut state = running(&serde_json::from_str(text).unwrap());
    state.on_timeout(&Timeout { in_syn_sent: true, ..TIMEOUT });
    assert_eq!(state.exponent(), 1);
}

/// Linear timeouts that the SYN has not used do not apply to data.
#[test]
fn data_double_from_the_first_timeout() {
    let config = retx_tcp::Config { backoff: named("linux"), ..preset("reno") };
    let mut pair = Pair::new(&config);
    pair.lose_copies(End::Server, &[(1, 0), (1, 1), (1, 2)]);
    pair.server.to_write = 1_000;
    pair.drive(seconds(60.0));
    let sent: Vec<f64> = pair.data_sent(End::Server).iter().map(|sent| sent.0).collect();
    assert_eq!(sent, [60.0, 1_060.0, 3_060.0, 7_060.0]);
}

proptest! {
    /// Bounds of every policy: the exponent is at most 63, and 0 after the handshake; a timeout
    /// increases it by at most one, and an ACK never increases it. The same events give the same
    /// exponents.
    #[test]
    fn every_policy_keeps_within_bounds(
        events in proptest::collection::vec(any::<(u8, bool, bool, u64)>(), 1..300)
    ) {
        for name in Config::NAMES {
            let config = named(name);
            let mut states = [running(&config), running(&config)];
            for (what, first, second, bytes) in &events {
                let before = states[0].exponent();
                for state in &mut states {
                    match what % 4 {
                        0 => state.on_ack(&ack(*first, *second)),
                        _ => state.on_timeout(&Timeout {
                            bandwidth_delay_bytes: first.then_some(*bytes),
                            in_syn_sent: *second,
                        }),
                    }
                }
                let after = states[0].exponent();
                prop_assert_eq!(after, states[1].exponent(), "{}", name);
                let most = if what % 4 == 0 { before } else { (before + 1).min(63) };
                prop_assert!(after <= most, "{}: {} to {}", name, before, after);
                Duration::from_secs(1).saturating_mul(1 << after);
            }
            states[0].reset();
            prop_assert_eq!(states[0].exponent(), 0);
        }
    }
}
