//! Properties of the Gilbert–Elliott channels other than the loss rate: burst lengths, parameters
//! estimated from moments, and the effect of idle time on a burst.

use retx_link::channel::{self, Channel, Fate, Frame, Model};
use retx_units::{StreamKey, Time};

fn model(text: &str) -> channel::Config {
    serde_json::from_str(text).expect("a model")
}

/// True for each of `count` frames that is lost; `gap` gives the time before each frame in
/// nanoseconds.
fn lost(config: &channel::Config, seed: u64, count: u32, gap: impl Fn(u32) -> u64) -> Vec<bool> {
    let mut state = config.build();
    let mut stream = StreamKey { seed, replication: 0 }.stream("channel");
    let mut now = 0;
    let mut fate = |index: u32| -> Fate {
        now += gap(index);
        let frame = Frame { bytes: 1500, flow: 0, position: 0, payload_bytes: 1460 };
        state.fate(Time::from_nanos(now), &frame, &mut stream)
    };
    (0..count).map(|index| fate(index).is_loss()).collect()
}

fn each_millisecond(_: u32) -> u64 {
    1_000_000
}

/// Lengths of the bursts of losses, omitting bursts that the start or end of the trace cuts off.
fn runs(lost: &[bool]) -> Vec<usize> {
    let inner: Vec<&[bool]> = lost.split(|lost| !lost).collect();
    inner[1..inner.len() - 1].iter().map(|run| run.len()).filter(|length| *length > 0).collect()
}

/// Pearson's χ² of burst lengths 1 … `bins` − 1 and longer against a geometric distribution with
/// continuation probability `on`.
fn chi_square(runs: &[usize], on: f64, bins: usize) -> f64 {
    let total = runs.len() as f64;
    let probability = |length: usize| {
        if length < bins {
            (1.0 - on) * on.powi(length as i32 - 1)
        } else {
            on.powi(bins as i32 - 1)
        }
    };
    (1..=bins)
        .map(|length| {
            let seen = runs.iter().filter(|run| (**run).min(bins) == length).count() as f64;
            let expected = total * probability(length);
            assert!(expected > 20.0, "{expected} runs are too few for a bin");
            (seen - expected).powi(2) / expected
        })
        .sum()
}

/// Burst lengths are geometric. After a loss the next frame is lost too with probability 1 − r in
/// the chain per frame, and with the probability that the state is still or again bad in the chain
/// in time. Each case is tested at level 1e-4 with fixed seeds: χ² must not exceed 27.86 at 7
/// degrees of freedom.
#[test]
fn run_lengths_are_geometric() {
    let cases = [
        (r#"{"model":"gilbert_elliott","loss":0.05,"mean_burst":5}"#, 0.8),
        (r#"{"model":"gilbert_elliott","loss":0.01,"mean_burst":3}"#, 2.0 / 3.0),
        (r#"{"model":"gilbert_elliott","p":0.02,"r":0.4}"#, 0.6),
        (
            // Rates of leaving the states add up to 1/10 ms + 1/90 ms; the share of bad time is
            // 0.1; frames are 1 ms apart.
            r#"{"model":"gilbert_elliott_time","mean_good":"90 ms","mean_bad":"10 ms"}"#,
            0.1 + 0.9 * (-1.0f64 / 9.0).exp(),
        ),
    ];
    for (text, on) in cases {
        for seed in 0..3 {
            let lost = lost(&model(text), seed, 400_000, each_millisecond);
            let statistic = chi_square(&runs(&lost), on, 8);
            assert!(statistic < 27.86, "{text}, seed {seed}: χ² = {statistic}");
            // A geometric distribution with a slightly different parameter would fail.
            assert!(chi_square(&runs(&lost), on - 0.08, 8) > 27.86, "{text}, seed {seed}");
        }
    }
}

/// Known values of the conversion from loss rate and mean burst length to transition probabilities.
#[test]
fn transitions_from_loss_and_burst() {
    for (loss, burst, p, r) in [(0.01, 3.0, 0.003_367, 1.0 / 3.0), (0.05, 5.0, 0.010_526, 0.2)] {
        let config =
            model(&format!(r#"{{"model":"gilbert_elliott","loss":{loss},"mean_burst":{burst}}}"#));
        let channel::Config::gilbert_elliott(config) = config else { unreachable!() };
        let chain = config.chain();
        // The expected values have six decimal places.
        assert!((chain.p - p).abs() < 5e-7 && (chain.r - r).abs() < 1e-12, "{chain:?}");
        assert!((chain.loss_rate() - loss).abs() < 1e-12);
        assert!((chain.mean_burst().unwrap() - burst).abs() < 1e-9);
    }
}

/// The loss rate L and the mean burst T of the chain in time mean T_b = T and T_g = T·(1 − L)/L.
#[test]
fn sojourns_from_loss_and_burst() {
    let chain = |text: &str| {
        let channel::Config::gilbert_elliott_time(config) = model(text) else { unreachable!() };
        config.chain()
    };
    for (loss, burst_ms, good_ms) in [(0.2, 20, 80), (0.5, 7, 7), (0.75, 90, 30)] {
        let derived = chain(&format!(
            r#"{{"model":"gilbert_elliott_time","loss":{loss},"mean_burst":"{burst_ms} ms"}}"#
        ));
        let given = chain(&format!(
            r#"{{"model":"gilbert_elliott_time","mean_good":"{good_ms} ms",
                "mean_bad":"{burst_ms} ms"}}"#
        ));
        for (derived, given) in [
            (derived.bad_share, given.bad_share),
            (derived.decay_s, given.decay_s),
            (derived.good_loss, given.good_loss),
            (derived.bad_loss, given.bad_loss),
        ] {
            assert!((derived - given).abs() <= 1e-12 * given, "{loss}: {derived} for {given}");
        }
    }
}

/// Rows whose sum differs from 1 by rounding are scaled: 0.7995 and 0.2 stand for 0.7995/0.9995 and
/// 0.2/0.9995.
#[test]
fn rounded_rows_are_scaled() {
    let config = model(r#"{"model":"markov","transitions":[[0.7995,0.2],[0.5,0.5]],"loss":[0,1]}"#);
    let p = 0.2 / 0.9995;
    let loss = config.loss_rate(1500).expect("a closed form");
    assert!((loss - p / (p + 0.5)).abs() < 1e-12, "{loss}");
    let burst = config.mean_burst(1500).expect("a closed form");
    assert!((burst - 2.0).abs() < 1e-9, "{burst}");
}

/// The moments of Gilbert 1960 recover the parameters from a trace: with a = P(1), b = P(1|1) and c
/// = P(111)/(P(101) + P(111)), where 1 is a loss, 1 − r = (ac − b²)/(2ac − b(a + c)), h = 1 − b/(1
/// − r) and p = ar/(1 − h − a).
#[test]
fn parameters_from_the_moments_of_a_trace() {
    let config = model(r#"{"model":"gilbert_elliott","p":0.01,"r":0.2,"h":0.3}"#);
    let estimates: Vec<[f64; 3]> = (0..30)
        .map(|seed| {
            let lost = lost(&config, seed, 300_000, each_millisecond);
            let share = |holds: &dyn Fn(&[bool]) -> bool, width: usize| {
                let windows = lost.windows(width);
                let count = windows.len() as f64;
                windows.filter(|window| holds(window)).count() as f64 / count
            };
            let a = share(&|window| window[0], 1);
            let b = share(&|window| window[0] && window[1], 2) / a;
            let all = share(&|window| window.iter().all(|lost| *lost), 3);
            let outer = share(&|window| window[0] && !window[1] && window[2], 3);
            let c = all / (outer + all);
            let stay = (a * c - b * b) / (2.0 * a * c - b * (a + c));
            let h = 1.0 - b / stay;
            [a * (1.0 - stay) / (1.0 - h - a), 1.0 - stay, h]
        })
        .collect();
    for (index, (name, truth)) in [("p", 0.01), ("r", 0.2), ("h", 0.3)].into_iter().enumerate() {
        let count = estimates.len() as f64;
        let mean = estimates.iter().map(|estimate| estimate[index]).sum::<f64>() / count;
        let variance =
            estimates.iter().map(|estimate| (estimate[index] - mean).powi(2)).sum::<f64>()
                / (count - 1.0);
        let sigma = (variance / count).sqrt();
        assert!((mean - truth).abs() < 4.0 * sigma, "{name}: {mean} ± {sigma} instead of {truth}");
    }
}

/// Both chains have the same loss rate and, at one frame per millisecond, the same mean burst.
/// Pauses of 100 ms between frames end the bursts of the chain in time, and do not change those of
/// the chain per frame.
#[test]
fn a_pause_ends_a_burst_of_time_only() {
    let per_frame = model(r#"{"model":"gilbert_elliott","loss":0.1,"mean_burst":10}"#);
    let per_time = model(r#"{"model":"gilbert_elliott_time","loss":0.1,"mean_burst":"10 ms"}"#);
    let burst = |config: &channel::Config, gap: u64| {
        let lost = lost(config, 3, 400_000, |_| gap);
        let runs = runs(&lost);
        runs.iter().sum::<usize>() as f64 / runs.len() as f64
    };
    let ms = 1_000_000;
    let frames = |gap: u64| lost(&per_frame, 3, 10_000, |_| gap);
    assert_eq!(frames(ms), frames(100 * ms));
    // A burst length's standard deviation is below its mean, and there are some 4000 bursts.
    let near =
        |measured: f64, stated: f64| (measured - stated).abs() < 4.0 * stated / 4000f64.sqrt();
    let stated = |gap_ms: f64| 1.0 / (0.9 * (1.0 - (-gap_ms / 9.0).exp()));
    assert!(near(burst(&per_frame, ms), 10.0));
    assert!(near(burst(&per_time, ms), stated(1.0)), "{}", burst(&per_time, ms));
    assert!(near(burst(&per_time, 100 * ms), stated(100.0)), "{}", burst(&per_time, 100 * ms));
    assert!(burst(&per_time, 100 * ms) < 1.2 && burst(&per_time, ms) > 9.0);
}

/// The joint distribution of the states at two times does not depend on how many frames come in
/// between.
#[test]
fn looking_more_often_does_not_change_the_law() {
    let config = model(
        r#"{"model":"gilbert_elliott_time","mean_good":"30 ms","mean_bad":"10 ms","k":0.9,
            "h":0.2}"#,
    );
    // Share of pairs of frames 6 ms apart that are both lost, with or without five other frames in
    // between.
    let both = |every: usize, gap: u64, seed: u64| {
        let lost = lost(&config, seed, 60_000 * every as u32, |_| gap);
        let seen: Vec<bool> = lost.into_iter().step_by(every).collect();
        seen.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / 60_000.0
    };
    let differences: Vec<f64> =
        (0..30).map(|seed| both(1, 6_000_000, seed) - both(6, 1_000_000, 100 + seed)).collect();
    let mean = differences.iter().sum::<f64>() / 30.0;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 29.0;
    assert!(mean.abs() < 4.0 * (variance / 30.0).sqrt(), "{mean} ± {}", (variance / 30.0).sqrt());
}

/// The stationary law is that to which every start converges; a state lasts 1 / (1 − p) frames.
/// Each state is read off by a chain that loses every frame in it and none elsewhere.
#[test]
fn a_markov_chain_states_its_law_and_its_bursts() {
    let chains: [&[&[f64]]; 6] = [
        &[&[0.98, 0.02], &[0.3, 0.7]],
        &[&[0.99, 0.0, 0.01], &[0.0, 0.8, 0.2], &[0.2, 0.4, 0.4]],
        &[&[0.05, 0.9, 0.05], &[0.6, 0.1, 0.3], &[0.25, 0.25, 0.5]],
        &[&[0.0, 1.0], &[0.5, 0.5]],
        &[&[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0], &[1.0, 0.0, 0.0]],
        // The first state is left for ever.
        &[&[0.5, 0.25, 0.25], &[0.0, 0.9, 0.1], &[0.0, 0.7, 0.3]],
    ];
    for moves in chains {
        let count = moves.len();
        let mut law = vec![1.0 / count as f64; count];
        for _ in 0..10_000 {
            let next = |to: usize| (0..count).map(|from| law[from] * moves[from][to]).sum();
            law = (0..count).map(next).collect();
        }
        for state in 0..count {
            let loss: Vec<u8> = (0..count).map(|other| u8::from(other == state)).collect();
            let text = format!(r#"{{"model":"markov","transitions":{moves:?},"loss":{loss:?}}}"#);
            let config = model(&text);
            let stated = config.loss_rate(1500).expect("a closed form");
            assert!((stated - law[state]).abs() < 1e-12, "{text}: {stated}, not {}", law[state]);
            let burst = (law[state] > 1e-12).then(|| 1.0 / (1.0 - moves[state][state]));
            match (config.mean_burst(1500), burst) {
                (Some(stated), Some(burst)) => assert!((stated / burst - 1.0).abs() < 1e-9),
                (stated, burst) => assert_eq!(stated, burst, "{text}"),
            }
        }
    }
}
