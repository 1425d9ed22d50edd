//! Contract of every channel model: its losses have the rate and the mean burst that it states,
//! they repeat with the seed, and a scheduled change to the same parameters does not affect them.

use retx_link::channel::{self, Channel, DELIVER, Fate, Frame, Model};
use retx_units::{StreamKey, Time};

/// Parameters for each model that lose a measurable share of frames; a leading `!` marks those with
/// which nothing is random.
fn texts(name: &str) -> &'static [&'static str] {
    match name {
        "bernoulli" => &[r#"{"p":0.01}"#, r#"{"p":0.3}"#, r#"!{"p":0}"#, r#"!{"p":1}"#],
        "ber" => &[
            r#"{"ber":1e-5}"#,
            r#"{"ber":1e-5,"form":"linear"}"#,
            r#"!{"ber":0}"#,
            r#"!{"ber":0.9,"form":"linear"}"#,
        ],
        "periodic" => &[r#"!{"every":7}"#, r#"!{"every":1}"#, r#"!{"every":100,"after":50}"#],
        "script" => &[r#"!{"drop":[0,5,6,1000],"drop_seq":[1461,1461]}"#],
        "gilbert_elliott" => &[
            r#"{"p":0.01,"r":0.2,"k":0.99,"h":0.3}"#,
            r#"{"p":0.5,"r":0.7,"k":0.2,"h":0.9}"#,
            r#"{"p":0.9,"r":0.9}"#,
            r#"{"loss":0.01,"mean_burst":3}"#,
            r#"{"loss":0.05,"mean_burst":5}"#,
            r#"{"loss":0.5,"mean_burst":1}"#,
            r#"!{"loss":0,"mean_burst":1}"#,
        ],
        "gilbert_elliott_time" => &[
            r#"{"mean_good":"50 ms","mean_bad":"10 ms"}"#,
            r#"{"mean_good":"0.1 ms","mean_bad":"0.3 ms","k":0.9,"h":0.4}"#,
            r#"{"loss":0.05,"mean_burst":"20 ms"}"#,
        ],
        "outage" => &[
            r#"{"count":7,"within":"500 ms","duration":"10 ms"}"#,
            r#"{"count":3,"within":"400 ms","duration":"7.3 ms"}"#,
            r#"!{"count":4,"within":"100 ms","duration":"25 ms"}"#,
            r#"!{"count":0,"within":"100 ms","duration":"25 ms"}"#,
            r#"!{"times":[{"start":"3 ms","duration":"20 ms"}],"every":"200 ms"}"#,
        ],
        "random_delay" => &[
            r#"{"share":0.1,"delay":"2 s"}"#,
            r#"{"shares":[0.1,0.9],"every":"1 s","law":"pareto","min":"1 ms","shape":1.5}"#,
            r#"!{"share":1,"law":"constant","delay":"20 ms","reorder":true}"#,
        ],
        "jitter" => {
            &[r#"{"max":"10 ms"}"#, r#"{"law":"exponential","delay":"1 ms","reorder":true}"#]
        }
        "duplicate" => &[r#"{"p":0.1}"#, r#"!{"p":1,"after":"10 ms"}"#],
        "reorder" => &[r#"{"p":0.1,"packets":3}"#, r#"{"p":0.5,"delay":"1 ms"}"#],
        "fading" => &[
            r#"{"mean_snr_db":14,"doppler_hz":20}"#,
            r#"{"mean_snr_db":5,"doppler_hz":200,"rate":"2 Mbit/s"}"#,
            r#"{"mean_snr_db":14,"doppler_hz":20,"process":"markov"}"#,
            r#"{"mean_snr_db":10,"doppler_hz":5,"rate":"5.5 Mbit/s","process":"markov"}"#,
            r#"{"mean_snr_db":12,"doppler_hz":50,"rician_k":3}"#,
        ],
        "trace" => &[
            r#"{"points":[{"at":"0 s","loss":0.02},{"at":"20 ms","loss":0.3}],"every":"50 ms"}"#,
            r#"{"points":[{"at":"0 s","loss":0.1}]}"#,
            r#"!{"points":[{"at":"0 s","delay":"1 ms"},{"at":"1 s","delay":"2 ms"}]}"#,
            r#"!{"opportunities_ms":[0,1,1,5]}"#,
            r#"!{"points":[{"at":"0 s","rate":"1 Mbit/s"}]}"#,
        ],
        "markov" => &[
            r#"{"transitions":[[0.98,0.02],[0.3,0.7]],"loss":[0.001,0.6]}"#,
            r#"{"transitions":[[0.99,0,0.01],[0,0.8,0.2],[0.2,0.4,0.4]],"loss":[0,0,1]}"#,
            r#"!{"transitions":[[1]],"loss":[0]}"#,
        ],
        "policer" => &[
            r#"!{"rate":"8 Mbit/s","bucket_bytes":15000}"#,
            r#"!{"rate":"100 kbit/s","bucket_bytes":1500}"#,
        ],
        other => panic!("give the new model {other} its sample parameters here"),
    }
}

fn read(name: &str, text: &str) -> channel::Config {
    let mut table: serde_json::Value = serde_json::from_str(text).expect("JSON");
    table["model"] = name.into();
    serde_json::from_value(table).unwrap_or_else(|error| panic!("{name} {text}: {error}"))
}

/// Every model with each of its parameter sets, and true if its losses are random.
fn samples() -> impl Iterator<Item = (channel::Config, bool)> {
    channel::Config::NAMES.iter().flat_map(|name| {
        texts(name).iter().map(|text| {
            let certain = text.strip_prefix('!');
            (read(name, certain.unwrap_or(text)), certain.is_none())
        })
    })
}

fn all() -> impl Iterator<Item = channel::Config> {
    samples().map(|(config, _)| config)
}

/// Fates of `count` frames of `bytes`, one per millisecond.
fn all_fates(config: &channel::Config, seed: u64, count: u32, bytes: u32) -> Vec<Fate> {
    let mut state = config.build();
    let mut stream = StreamKey { seed, replication: 0 }.stream("channel");
    let mut fate = |index: u32| {
        let payload_bytes = bytes - 40;
        let position = u64::from(index) * u64::from(payload_bytes);
        let frame = Frame { bytes, flow: 0, position, payload_bytes };
        state.fate(Time::from_nanos(u64::from(index) * 1_000_000), &frame, &mut stream)
    };
    (0..count).map(&mut fate).collect()
}

/// Loss of each frame.
fn fates(config: &channel::Config, seed: u64, count: u32, bytes: u32) -> Vec<bool> {
    all_fates(config, seed, count, bytes).into_iter().map(Fate::is_loss).collect()
}

/// Numbers of losses and of bursts in each of many runs.
struct Runs {
    frames: f64,
    losses: Vec<f64>,
    starts: Vec<f64>,
}

/// Runs the model with many seeds. Such runs are independent, however correlated the losses within
/// one are, so their spread gives the standard error of the mean. Models start in their stationary
/// distribution, so short runs are unbiased.
fn runs(config: &channel::Config, bytes: u32) -> Runs {
    const RUNS: u64 = 300;
    const FRAMES: u32 = 1000;
    let mut runs = Runs { frames: f64::from(FRAMES), losses: vec![], starts: vec![] };
    for seed in 0..RUNS {
        // An additional frame in front tells whether a loss of the first frame begins a burst.
        let lost = fates(config, 1000 + seed, FRAMES + 1, bytes);
        runs.losses.push(lost[1..].iter().filter(|lost| **lost).count() as f64);
        runs.starts.push(lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64);
    }
    runs
}

/// The ratio of two sums, and its standard error over independent runs.
fn ratio(of: &[f64], to: &[f64]) -> (f64, f64) {
    let count = of.len() as f64;
    let mean = to.iter().sum::<f64>() / count;
    let ratio = of.iter().sum::<f64>() / count / mean;
    let squares: f64 = of.iter().zip(to).map(|(of, to)| (of - ratio * to).powi(2)).sum();
    (ratio, (squares / (count - 1.0) / count).sqrt() / mean)
}

/// Tolerance between a stated value and the measured one: four standard errors, or `edge` if all
/// runs are equal because nothing is random; the latter accounts for two frames at the edges of
/// each run.
fn allowed(sigma: f64, edge: f64) -> f64 {
    if sigma < 1e-12 { edge } else { 4.0 * sigma }
}

#[test]
fn the_stated_loss_rate_holds() {
    for config in all() {
        for bytes in [40, 1500] {
            let Some(rate) = config.loss_rate(bytes) else { continue };
            if bytes == 40 && config.loss_rate(1500) == Some(rate) {
                continue;
            }
            let runs = runs(&config, bytes);
            let (measured, sigma) = ratio(&runs.losses, &vec![runs.frames; runs.losses.len()]);
            assert!(
                (measured - rate).abs() <= allowed(sigma, 2.0 / runs.frames),
                "{config:?} at {bytes} bytes: {measured} ± {sigma} instead of {rate}"
            );
        }
    }
}

#[test]
fn the_stated_burst_length_holds() {
    for config in all() {
        let Some(mean) = config.mean_burst(1500) else { continue };
        let runs = runs(&config, 1500);
        assert!(runs.starts.iter().sum::<f64>() > 100.0, "{config:?} shows too few bursts");
        let (measured, sigma) = ratio(&runs.losses, &runs.starts);
        assert!(
            (measured - mean).abs() <= allowed(sigma, 2.0 * mean / runs.frames),
            "{config:?}: {measured} ± {sigma} instead of {mean}"
        );
    }
}

/// A model that only loses neither delays frames nor sets the rate of the link. One that keeps the
/// order has no frame overtaken or sent twice.
#[test]
fn the_stated_effects_hold() {
    for config in all() {
        let fates = all_fates(&config, 3, 5000, 1500);
        let passes = |fate: &Fate| fate.is_loss() || *fate == DELIVER;
        let only_loses = fates.iter().all(passes) && config.rates().is_none();
        assert_eq!(config.only_loses(), only_loses, "{config:?}");
        let is_in_order = |fate: &Fate| fate.is_loss() || matches!(fate, Fate::Deliver { .. });
        assert_eq!(config.keeps_order(), fates.iter().all(is_in_order), "{config:?}");
    }
}

/// Adopting an equal configuration, as a schedule does, keeps the model's state, so that no frame's
/// fate changes.
#[test]
fn a_model_carries_over_what_it_remembers() {
    for config in all() {
        let run = |adopts: bool| -> Vec<Fate> {
            let mut state = config.build();
            let mut stream = StreamKey { seed: 9, replication: 0 }.stream("channel");
            let mut fate = |index: u64| {
                if adopts && index % 37 == 5 {
                    state.adopt(config.build());
                }
                let frame =
                    Frame { bytes: 1500, flow: 0, position: index * 1460, payload_bytes: 1460 };
                state.fate(Time::from_nanos(index * 1_000_000), &frame, &mut stream)
            };
            (0..3000).map(&mut fate).collect()
        };
        // A script's list of segments to lose starts again when it is adopted.
        if !matches!(config, channel::Config::script(_)) {
            assert_eq!(run(true), run(false), "{config:?}");
        }
    }
}

/// Before the first frame there is nothing to remember: new parameters are all that counts. Where a
/// count or tokens are kept, they are those of the old parameters.
#[test]
fn a_schedule_changes_the_parameters() {
    let fates = |mut state: channel::State| -> Vec<Fate> {
        let mut stream = StreamKey { seed: 9, replication: 0 }.stream("channel");
        let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
        let at = |index: u64| Time::from_nanos(index * 1_000_000);
        (0..300).map(|index| state.fate(at(index), &frame, &mut stream)).collect()
    };
    for name in channel::Config::NAMES {
        if matches!(*name, "periodic" | "script" | "policer") {
            continue;
        }
        let configs: Vec<_> =
            texts(name).iter().map(|text| read(name, text.trim_start_matches('!'))).collect();
        for (old, new) in configs.iter().zip(configs.iter().skip(1)) {
            let mut state = old.build();
            state.adopt(new.build());
            assert_eq!(fates(state), fates(new.build()), "{old:?} {new:?}");
        }
    }
}

#[test]
fn the_seed_decides() {
    for (config, random) in samples() {
        let [one, same] = [(); 2].map(|()| all_fates(&config, 5, 5000, 1500));
        assert_eq!(one, same, "{config:?}");
        assert_eq!(all_fates(&config, 6, 5000, 1500) != one, random, "{config:?}");
    }
}

/// Runs that differ only in the loss rate use the same random draws: the frames lost at a small
/// rate are also lost at a larger one.
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
    let script = read("script", texts("script")[0].trim_start_matches('!'));
    let lost = fates(&script, 1, 2000, 1500);
    let indices: Vec<usize> = (0..lost.len()).filter(|index| lost[*index]).collect();
    // Position 1461 lies in frame 1 (1460 … 2919); the second entry for it would lose a further
    // copy, which is never sent.
    assert_eq!(indices, [0, 1, 5, 6, 1000]);
}

/// The exact form is 1 − (1 − BER)^L. The linear form is BER·L, at most 1, as in table 1 of
/// Electronics 2022, 11(14), 2254, except for the table's values above 1.
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

/// Each stated value from the equations of its model, evaluated here by hand. The measured rates
/// above have errors of some percent, in which a wrong sign or factor can hide.
#[test]
fn stated_values_of_the_closed_forms() {
    let independent = |loss: f64| Some(1.0 / (1.0 - loss));
    // Gilbert and Elliott: share of bad frames 0.01/0.21, losses of 1 % and 70 %, and both of two
    // successive frames lost with the probability that the chain stays or moves.
    let (good, bad) = (20.0 / 21.0, 1.0 / 21.0);
    let elliott = good * 0.01 + bad * 0.7;
    let both = good * 0.01 * (0.99 * 0.01 + 0.01 * 0.7) + bad * 0.7 * (0.2 * 0.01 + 0.8 * 0.7);
    let ber = 1.0 - (1.0 - 1e-5f64).powi(12_000);
    let cases = [
        ("bernoulli", r#"{"p":0.3}"#, Some(0.3), independent(0.3)),
        ("bernoulli", r#"{"p":0}"#, Some(0.0), None),
        ("bernoulli", r#"{"p":1}"#, Some(1.0), None),
        ("ber", r#"{"ber":1e-5}"#, Some(ber), independent(ber)),
        ("periodic", r#"{"every":8}"#, Some(0.125), Some(1.0)),
        ("periodic", r#"{"every":1}"#, Some(1.0), None),
        ("script", r#"{"drop":[0,5]}"#, None, None),
        (
            "gilbert_elliott",
            r#"{"p":0.01,"r":0.2,"k":0.99,"h":0.3}"#,
            Some(elliott),
            Some(elliott / (elliott - both)),
        ),
        ("gilbert_elliott", r#"{"loss":0.05,"mean_burst":5}"#, Some(0.05), Some(5.0)),
        (
            "gilbert_elliott_time",
            r#"{"mean_good":"0.1 ms","mean_bad":"0.3 ms","k":0.9,"h":0.4}"#,
            Some(0.25 * 0.1 + 0.75 * 0.6),
            None,
        ),
        ("gilbert_elliott_time", r#"{"loss":0.05,"mean_burst":"20 ms"}"#, Some(0.05), None),
        ("markov", r#"{"transitions":[[1]],"loss":[1]}"#, Some(1.0), None),
        ("outage", r#"{"count":7,"within":"500 ms","duration":"10 ms"}"#, Some(0.14), None),
        (
            "outage",
            r#"{"times":[{"start":"3 ms","duration":"20 ms"}],"every":"200 ms"}"#,
            Some(0.1),
            None,
        ),
        ("outage", r#"{"times":[{"start":"3 ms","duration":"20 ms"}]}"#, None, None),
        (
            "trace",
            r#"{"points":[{"at":"0 s","loss":0.02},{"at":"20 ms","loss":0.3}],"every":"50 ms"}"#,
            Some((0.02 * 20.0 + 0.3 * 30.0) / 50.0),
            None,
        ),
        ("trace", r#"{"points":[{"at":"0 s","loss":0.1}]}"#, None, independent(0.1)),
        ("trace", r#"{"points":[{"at":"0 s","delay":"1 ms"}]}"#, Some(0.0), None),
        ("trace", r#"{"opportunities_ms":[1]}"#, Some(0.0), None),
        ("random_delay", r#"{"share":0.1,"delay":"2 s"}"#, Some(0.0), None),
        ("jitter", r#"{"max":"10 ms"}"#, Some(0.0), None),
        ("duplicate", r#"{"p":0.1}"#, Some(0.0), None),
        ("reorder", r#"{"p":0.1,"packets":3}"#, Some(0.0), None),
        ("policer", r#"{"rate":"8 Mbit/s","bucket_bytes":15000}"#, None, None),
        ("fading", r#"{"mean_snr_db":12,"doppler_hz":50,"rician_k":3}"#, None, None),
    ];
    for (name, text, loss, burst) in cases {
        let config = read(name, text);
        for (stated, expected) in [(config.loss_rate(1500), loss), (config.mean_burst(1500), burst)]
        {
            let same = match (stated, expected) {
                (Some(stated), Some(expected)) => (stated - expected).abs() < 1e-9,
                (stated, expected) => stated == expected,
            };
            assert!(same, "{name} {text}: {stated:?} instead of {expected:?}");
        }
    }
}
