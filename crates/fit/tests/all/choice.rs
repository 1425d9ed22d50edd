//! The right law is chosen, with intervals that hold its parameters; a wrong one is refused.

use crate::series::{fates, fit_one, fitted, instants, model, series};
use retx_fit::loss::{Options, fit};

/// Channel, name of its law, and its parameters.
const CASES: [(&str, &str, &[f64]); 7] = [
    (r#"{"model":"bernoulli","p":0.01}"#, "bernoulli", &[0.01]),
    (r#"{"model":"gilbert_elliott","p":0.004,"r":0.3}"#, "gilbert", &[0.004, 0.3]),
    (
        r#"{"model":"gilbert_elliott","p":0.01,"r":0.1,"h":0.4}"#,
        "gilbert_elliott_3",
        &[0.01, 0.1, 0.4],
    ),
    (
        r#"{"model":"gilbert_elliott_time","mean_good":"500 ms","mean_bad":"20 ms"}"#,
        "gilbert_time",
        &[0.5, 0.02],
    ),
    (
        r#"{"model":"markov","loss":[0,1,0,1],
            "transitions":[[0.98,0.02,0,0],[0,0,0.8,0.2],[0.7,0.3,0,0],[0,0,0.3,0.7]]}"#,
        "second_order",
        &[0.02, 0.2, 0.3, 0.7],
    ),
    (
        r#"{"model":"outage","times":[{"start":"300 ms","duration":"40 ms"}],"every":"1500 ms"}"#,
        "outages",
        &[1.5, 0.3, 0.04, 0.0],
    ),
    (
        r#"{"model":"policer","rate":"8 Mbit/s","bucket_bytes":30000}"#,
        "policer",
        &[8e6, 30_000.0, 0.0],
    ),
];

#[test]
fn each_channel_is_recognised_and_its_parameters_lie_in_their_intervals() {
    for (channel, name, parameters) in CASES {
        let answer = fitted(channel, 5);
        assert_eq!(answer.chosen, Some(name), "{channel}: {:?}", answer.reason);
        for (estimate, truth) in model(&answer, name).parameters.iter().zip(parameters) {
            // 99.7 % rather than 95 %: these few must hold for every one of them.
            let (low, high) = (estimate.low.expect(name), estimate.high.expect(name));
            let (below, above) = (estimate.value - low, high - estimate.value);
            let near = estimate.value - 1.6 * below - 2e-3 * truth <= *truth
                && *truth <= estimate.value + 1.6 * above + 2e-3 * truth;
            assert!(near, "{name}: {truth} for {estimate:?}");
        }
    }
}

#[test]
fn a_two_state_fit_is_refused_on_a_second_order_chain() {
    let times = instants(10_000, 3);
    let lost = fates(CASES[4].0, &times, 3);
    let names = ["gilbert".to_string(), "second_order".to_string()];
    let options =
        Options { drawn_series: 119, tested: vec![names[0].clone()], laws: names.to_vec() };
    let answer = fit(&series(times, lost), &options).expect("a fit");
    let refusals: Vec<_> =
        answer.tests.iter().filter(|test| test.model == "gilbert" && !test.passed).collect();
    assert!(refusals.iter().any(|test| test.name == "gap_runs"), "{:?}", answer.tests);
}

#[test]
fn a_series_that_changes_is_not_stationary_and_no_law_is_chosen() {
    let times = instants(10_000, 4);
    let mut lost = fates(r#"{"model":"gilbert_elliott","loss":0.01,"mean_burst":2}"#, &times, 4);
    let later = fates(r#"{"model":"gilbert_elliott","loss":0.05,"mean_burst":2}"#, &times, 5);
    lost[6_000..].copy_from_slice(&later[6_000..]);
    let change = times[6_000] - times[0];
    let laws = ["bernoulli", "gilbert", "gilbert_elliott_4"].map(String::from).to_vec();
    let options = Options { laws, ..Options::default() };
    let answer = fit(&series(times, lost), &options).expect("a fit");
    assert_eq!(answer.chosen, None);
    assert!(answer.reason.as_ref().is_some_and(|it| it.contains("not stationary")), "{answer:?}");
    assert!((answer.change_points[0].time_s - change).abs() < 1.0, "{:?}", answer.change_points);
}

#[test]
fn evenly_spaced_packets_do_not_tell_a_chain_per_packet_from_one_in_time() {
    let times: Vec<f64> = (0..10_000).map(|index| f64::from(index) * 0.001).collect();
    let lost = fates(CASES[1].0, &times, 6);
    let laws = ["bernoulli", "gilbert", "gilbert_time"].map(String::from).to_vec();
    let options = Options { laws, ..Options::default() };
    let answer = fit(&series(times, lost), &options).expect("a fit");
    assert_eq!(answer.chosen, None);
    assert_eq!(answer.contenders, ["gilbert", "gilbert_time"]);
    assert!(answer.reason.is_some_and(|it| it.contains("evenly spaced")));
}

#[test]
fn few_losses_decide_nothing_and_none_bound_the_rate() {
    let times = instants(1000, 7);
    let mut lost = vec![0.0; 1000];
    let answer = fit(&series(times.clone(), lost.clone()), &Options::default()).expect("a fit");
    assert_eq!(answer.chosen, None);
    let bernoulli = &model(&answer, "bernoulli").parameters[0];
    // Clopper and Pearson: 1 − 0.025^(1/1000).
    assert!((bernoulli.high.expect("bound") - 0.003_682).abs() < 2e-5, "{bernoulli:?}");
    lost[10] = 1.0;
    lost[11] = 1.0;
    let answer = fit(&series(times, lost), &Options::default()).expect("a fit");
    assert!(answer.reason.is_some_and(|it| it.contains("too few")));
}

#[test]
fn a_policer_is_found_to_a_packet_s_tokens_whatever_its_rate() {
    for seed in 1_000..1_012_u64 {
        let rate = 7_200_000 + 350_000 * (seed - 1_000);
        let bucket = 6_000 + 4_500 * (seed - 1_000);
        let channel =
            format!(r#"{{"model":"policer","rate":"{rate} bit/s","bucket_bytes":{bucket}}}"#);
        let times = instants(12_000, seed);
        let lost = fates(&channel, &times, seed);
        let answer = fit_one("policer", &series(times, lost));
        let [found_rate, found_bucket, loss] = &model(&answer, "policer").parameters[..] else {
            panic!("three parameters")
        };
        for (estimate, truth) in [(found_rate, rate), (found_bucket, bucket)] {
            let (low, high) = (estimate.low.expect("low"), estimate.high.expect("high"));
            assert!(low <= truth as f64 && truth as f64 <= high, "{seed}: {truth}, {estimate:?}");
        }
        assert!((found_rate.value / rate as f64 - 1.0).abs() < 1e-4, "{seed}: {found_rate:?}");
        assert!((found_bucket.value - bucket as f64).abs() < 150.0, "{seed}: {found_bucket:?}");
        assert!(loss.value <= 0.0, "{seed}: {loss:?}");
    }
}

#[test]
fn a_model_with_fewer_parameters_is_not_chosen_over_a_true_one_that_does_not_contain_it() {
    // A Gilbert–Elliott chain with three parameters comes near to this chain of second order.
    let channel = r#"{"model":"markov","loss":[0,1,0,1],
        "transitions":[[0.98,0.02,0,0],[0,0,0.54,0.46],[0.84,0.16,0,0],[0,0,0.47,0.53]]}"#;
    let laws = ["gilbert", "gilbert_elliott_3", "second_order"].map(String::from).to_vec();
    for seed in 1_000..1_010 {
        let times = instants(20_000, seed);
        let lost = fates(channel, &times, seed);
        let options = Options { drawn_series: 19, laws: laws.clone(), ..Options::default() };
        let answer = fit(&series(times, lost), &options).expect("a fit");
        assert!(
            answer.chosen.is_none_or(|it| it == "second_order"),
            "{seed}: {:?}, {:?}",
            answer.chosen,
            answer.models.iter().map(|it| (it.name, it.bic)).collect::<Vec<_>>()
        );
    }
}
