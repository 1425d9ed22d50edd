//! What every channel model owes: the loss rate that it states, draws that repeat with the seed,
//! and no memory of how it is asked.

use retx_link::channel::{self, Channel, Fate, Frame};
use retx_units::{StreamKey, Time};

/// Each model with parameters that lose a measurable share of frames.
fn samples(name: &str) -> Vec<channel::Config> {
    let texts: &[&str] = match name {
        "bernoulli" => &[r#"{"p":0.01}"#, r#"{"p":0.3}"#, r#"{"p":0}"#, r#"{"p":1}"#],
        "ber" => &[
            r#"{"ber":1e-5}"#,
            r#"{"ber":1e-5,"form":"linear"}"#,
            r#"{"ber":0}"#,
            r#"{"ber":0.9,"form":"linear"}"#,
        ],
        "periodic" => &[r#"{"every":7}"#, r#"{"every":1}"#, r#"{"every":100,"after":50}"#],
        "script" => &[r#"{"drop":[0,5,6,1000],"drop_seq":[1461,1461]}"#],
        other => panic!("give the new model {other} its sample parameters here"),
    };
    let read = |text: &&str| {
        let mut table: serde_json::Value = serde_json::from_str(text).expect("JSON");
        table["model"] = name.into();
        serde_json::from_value(table).expect("a model")
    };
    texts.iter().map(read).collect()
}

fn all() -> impl Iterator<Item = channel::Config> {
    channel::Config::NAMES.iter().flat_map(|name| samples(name))
}

/// The fates of `count` frames of `bytes`.
fn fates(config: &channel::Config, seed: u64, count: u32, bytes: u32) -> Vec<bool> {
    let mut state = config.build();
    let mut stream = StreamKey { seed, replication: 0 }.stream("channel");
    let mut lost = |index: u32| {
        let payload_bytes = bytes - 40;
        let position = u64::from(index) * u64::from(payload_bytes);
        let frame = Frame { bytes, flow: 0, position, payload_bytes };
        let now = Time::from_nanos(u64::from(index) * 1_000_000);
        matches!(state.fate(now, &frame, &mut stream), Fate::Lose(_))
    };
    (0..count).map(&mut lost).collect()
}

/// Four standard errors of a share of independent losses; models whose losses are not independent
/// are regular, and vary less.
#[test]
fn the_stated_loss_rate_holds() {
    for config in all() {
        for bytes in [40, 576, 1500] {
            let Some(rate) = config.loss_rate(bytes) else { continue };
            let count = 400_000;
            let lost = fates(&config, 11, count, bytes).iter().filter(|lost| **lost).count();
            let measured = lost as f64 / f64::from(count);
            let sigma = (rate * (1.0 - rate) / f64::from(count)).sqrt();
            // A model that starts late, or stops between two losses, is off by a few frames.
            let edge = 2.0 / f64::from(count);
            assert!(
                (measured - rate).abs() <= 4.0 * sigma + edge,
                "{config:?} at {bytes} bytes: {measured} instead of {rate}"
            );
        }
    }
}

/// Independent losses come in bursts of mean length 1/(1 − p), regular ones alone.
#[test]
fn the_stated_burst_length_holds() {
    for config in all() {
        let mean = match &config {
            channel::Config::bernoulli(config) => 1.0 / (1.0 - config.p.value()),
            channel::Config::ber(ber) => 1.0 / (1.0 - ber.loss_rate(1500)),
            channel::Config::periodic(config) if config.every.get() > 1 => 1.0,
            _ => continue,
        };
        let lost = fates(&config, 12, 400_000, 1500);
        let losses = lost.iter().filter(|lost| **lost).count() as f64;
        let starts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64
            + f64::from(u8::from(lost[0]));
        if starts == 0.0 || !mean.is_finite() {
            continue;
        }
        // Geometric lengths: variance p/(1 − p)², with mean 1/(1 − p).
        let p = 1.0 - 1.0 / mean;
        let sigma = (p.sqrt() * mean) / starts.sqrt();
        // The last burst may be cut off.
        assert!(
            (losses / starts - mean).abs() <= 4.0 * sigma + mean / starts,
            "{config:?}: {} instead of {mean}",
            losses / starts
        );
    }
}

#[test]
fn the_seed_decides() {
    for config in all() {
        assert_eq!(fates(&config, 5, 5000, 1500), fates(&config, 5, 5000, 1500), "{config:?}");
        let rate = config.loss_rate(1500).unwrap_or(0.0);
        let random = matches!(config, channel::Config::bernoulli(_) | channel::Config::ber(_))
            && rate > 0.001
            && rate < 1.0;
        let other = fates(&config, 6, 5000, 1500);
        assert_eq!(fates(&config, 5, 5000, 1500) != other, random, "{config:?}");
    }
}

/// Runs that differ in the loss rate alone stay paired: the frames lost at a small rate are among
/// those lost at a larger one.
#[test]
fn a_larger_rate_loses_the_same_frames_and_more() {
    let bernoulli = |p| channel::Config::bernoulli(channel::bernoulli::Config { p });
    let p = |value| retx_units::Probability::new(value).unwrap();
    let few = fates(&bernoulli(p(0.01)), 1, 50_000, 1500);
    let many = fates(&bernoulli(p(0.02)), 1, 50_000, 1500);
    assert!(few.iter().zip(&many).all(|(few, many)| !few || *many));
    assert!(few != many);
}

#[test]
fn a_script_drops_exactly_what_it_names() {
    let script = samples("script").remove(0);
    let lost = fates(&script, 1, 2000, 1500);
    let indices: Vec<usize> = (0..lost.len()).filter(|index| lost[*index]).collect();
    // Position 1461 lies in frame 1 (1460 … 2919); its second copy never comes.
    assert_eq!(indices, [0, 1, 5, 6, 1000]);
}

/// Exact: 1 − (1 − BER)^L. Linear: BER·L, held at 1 (high-ber, table 1 without its excess).
#[test]
fn packet_error_rates_of_the_closed_forms() {
    let rate = |text: &str, bytes| -> f64 {
        serde_json::from_str::<channel::Config>(text).unwrap().loss_rate(bytes).unwrap()
    };
    let linear = |ber| rate(&format!(r#"{{"model":"ber","ber":{ber},"form":"linear"}}"#), 1250);
    for (ber, per) in [("1e-1", 1.0), ("1e-5", 0.1), ("1e-6", 0.01), ("1e-9", 1e-5)] {
        assert!((linear(ber) / per - 1.0).abs() < 1e-12, "{ber}");
    }
    let exact = rate(r#"{"model":"ber","ber":1e-5}"#, 1250);
    assert!((exact - (1.0 - (1.0 - 1e-5f64).powi(10_000))).abs() < 1e-12);
}
