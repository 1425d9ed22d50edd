//! Channels whose state changes with time have one trajectory per seed and replication, whatever
//! the traffic: two TCPs that are compared meet the same good and bad times.

use retx_link::channel::{self, Channel, Fate, Frame, Model};
use retx_units::{StreamKey, Time};
use std::collections::BTreeMap;

/// Fates of frames whose transmission ends at the given times.
fn fates(
    config: &channel::Config,
    replication: u64,
    instants: impl Iterator<Item = u64>,
) -> BTreeMap<u64, Fate> {
    let mut state = config.build();
    let mut stream = StreamKey { seed: 3, replication }.stream("channel");
    let frame = |position| Frame { bytes: 1500, flow: 0, position, payload_bytes: 1460 };
    let fate = |at: u64| (at, state.fate(Time::from_nanos(at), &frame(at), &mut stream));
    instants.map(fate).collect()
}

fn config(name: &str, text: &str) -> channel::Config {
    let mut value: serde_json::Value = serde_json::from_str(text).expect("JSON");
    value["model"] = name.into();
    serde_json::from_value(value).expect("a channel")
}

/// Channels whose state depends only on time.
fn by_time() -> Vec<channel::Config> {
    vec![
        config("gilbert_elliott_time", r#"{"mean_good":"50 ms","mean_bad":"20 ms"}"#),
        config("gilbert_elliott_time", r#"{"loss":0.3,"mean_burst":"3 ms"}"#),
        config("outage", r#"{"count":7,"within":"500 ms","duration":"10 ms"}"#),
        config("fading", r#"{"mean_snr_db":12,"doppler_hz":9,"process":"markov"}"#),
        config("fading", r#"{"mean_snr_db":12,"doppler_hz":9}"#),
    ]
}

const MILLISECOND: u64 = 1_000_000;

/// The trajectory is the same with a frame every millisecond and with long pauses between frames.
/// Under fading each frame's loss is a random draw that depends on the state, so the fates differ
/// with the number of frames; the next test compares the signal-to-noise ratio instead.
#[test]
fn the_path_does_not_depend_on_who_asks() {
    for config in by_time() {
        if matches!(config, channel::Config::fading(_)) {
            continue;
        }
        for replication in 0..20 {
            let dense = fates(&config, replication, (0..5000).map(|at| at * MILLISECOND));
            let steps = [1, 7, 1, 1, 400, 23, 1, 90];
            let mut at = 0;
            let now_and_then = std::iter::from_fn(|| {
                at += steps[at as usize % steps.len()];
                (at < 5000).then_some(at * MILLISECOND)
            });
            let sparse = fates(&config, replication, now_and_then);
            assert!(sparse.len() > 50);
            for (at, fate) in &sparse {
                assert_eq!(Some(fate), dense.get(at), "{config:?} at {at}");
            }
        }
    }
}

#[test]
fn a_fading_signal_does_not_depend_on_who_asks() {
    for config in by_time() {
        let channel::Config::fading(config) = config else { continue };
        for replication in 0..20 {
            let ratio = |instants: &[u64]| {
                let mut state = config.build();
                let mut stream = StreamKey { seed: 3, replication }.stream("channel");
                let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
                let mut last = f64::NAN;
                for at in instants {
                    let now = Time::from_nanos(at * MILLISECOND);
                    last = state.snr_db(now, &mut stream);
                    // Determining a frame's fate also draws a random number.
                    state.fate(now, &frame, &mut stream);
                }
                last.to_bits()
            };
            let dense: Vec<u64> = (0..=5000).collect();
            assert_eq!(ratio(&dense), ratio(&[0, 3, 4999, 5000]), "{config:?}");
            assert_eq!(ratio(&dense), ratio(&[5000]), "{config:?}");
        }
    }
}

/// The chain is bad at both of two times τ apart with probability π·(π + (1 − π)·exp(−(a + b)τ)),
/// where π is the share of bad time and a and b are the rates of leaving the states.
#[test]
fn the_chain_forgets_as_its_equations_say() {
    let (good, bad) = (50.0, 20.0);
    let config = config("gilbert_elliott_time", r#"{"mean_good":"50 ms","mean_bad":"20 ms"}"#);
    let share = bad / (good + bad);
    for gap in [1_u64, 5, 20, 60, 200] {
        let runs = 40_000_u32;
        let both = (0..runs).filter(|run| {
            let start = 1000 + u64::from(run % 977);
            let instants = [start, start + gap].map(|at| at * MILLISECOND);
            let met = fates(&config, u64::from(*run), instants.into_iter());
            met.values().all(|fate| matches!(fate, Fate::Lose(_)))
        });
        let found = both.count() as f64 / f64::from(runs);
        let kept = f64::exp(-(1.0 / good + 1.0 / bad) * gap as f64);
        let expected = share * (share + (1.0 - share) * kept);
        let sigma = (expected * (1.0 - expected) / f64::from(runs)).sqrt();
        assert!((found - expected).abs() < 4.0 * sigma, "{gap} ms: {found}, not {expected}");
    }
}
