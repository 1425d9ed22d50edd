//! Likelihoods beside direct computation, and evidence that is not certain.

use crate::series::{fates, fit_one, instants, model, series};

const GILBERT: &str = r#"{"model":"gilbert_elliott","p":0.02,"r":0.3}"#;

/// A chain whose states show has the likelihood of its transitions, and its estimates are shares.
#[test]
fn gilbert_is_the_chain_of_counted_transitions() {
    let times = instants(5000, 1);
    let lost = fates(GILBERT, &times, 1);
    let mut counts = [[0.0_f64; 2]; 2];
    for pair in lost.windows(2) {
        counts[pair[0] as usize][pair[1] as usize] += 1.0;
    }
    let first = lost[0];
    let answer = fit_one("gilbert", &series(times, lost));
    let found = model(&answer, "gilbert");
    let [p, r] = [found.parameters[0].value, found.parameters[1].value];
    let start = if first > 0.5 { p / (p + r) } else { r / (p + r) };
    let direct = counts[0][0] * (1.0 - p).ln()
        + counts[0][1] * p.ln()
        + counts[1][0] * r.ln()
        + counts[1][1] * (1.0 - r).ln()
        + start.ln();
    assert!((found.log_likelihood - direct).abs() < 1e-6, "{} {direct}", found.log_likelihood);
    // The first packet, which finds the stationary law, moves the estimates a little.
    let share = counts[0][1] / (counts[0][0] + counts[0][1]);
    assert!((p / share - 1.0).abs() < 0.02, "{p} {share}");
}

/// The bound that nobody can beat: se(p)/p ≈ 1/√b, se(r)/r ≈ √((1 − r)/b).
#[test]
fn intervals_have_the_width_of_the_statistical_bound() {
    let times = instants(20_000, 2);
    let lost = fates(GILBERT, &times, 2);
    let answer = fit_one("gilbert", &series(times, lost));
    let bursts = answer.bursts as f64;
    let parameters = &model(&answer, "gilbert").parameters;
    let bounds = [1.0, (1.0 - parameters[1].value).sqrt()].map(|it| it / bursts.sqrt());
    for (parameter, bound) in parameters.iter().zip(bounds) {
        let width = parameter.high.expect("high") - parameter.low.expect("low");
        let error = width / (2.0 * 1.96 * parameter.value);
        assert!((error / bound - 1.0).abs() < 0.05, "{parameter:?}: {error} for {bound}");
    }
}

/// Probabilities that are right on average leave the loss rate as it is, and widen the interval.
#[test]
fn uncertain_fates_keep_the_loss_rate() {
    let times = instants(20_000, 3);
    let certain = fates(r#"{"model":"bernoulli","p":0.05}"#, &times, 3);
    let mut which = 0_u32;
    let uncertain: Vec<f64> = certain
        .iter()
        .map(|lost| {
            which = which.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Of 40 of 2000 that say 0.02 one is lost; so is nearly each of those that say 0.98.
            if *lost > 0.5 && which % 10 > 3 {
                0.97
            } else if *lost > 0.5 {
                0.02
            } else {
                0.021
            }
        })
        .collect();
    let mean = uncertain.iter().sum::<f64>() / uncertain.len() as f64;
    let answer = fit_one("bernoulli", &series(times, uncertain));
    let estimate = &model(&answer, "bernoulli").parameters[0];
    assert!((estimate.value / mean - 1.0).abs() < 1e-3, "{estimate:?} {mean}");
    let exact = 2.0 * 1.96 * (mean * (1.0 - mean) / 20_000.0).sqrt();
    let width = estimate.high.expect("high") - estimate.low.expect("low");
    assert!(width > 1.05 * exact, "{width} {exact}");
}

/// Packets that nobody saw still move the chain: leaving out every second one changes nothing but
/// the width.
#[test]
fn unseen_packets_count_as_steps_of_the_chain() {
    let times = instants(40_000, 4);
    let mut lost = fates(GILBERT, &times, 4);
    lost.iter_mut().skip(1).step_by(2).for_each(|it| *it = f64::NAN);
    let answer = fit_one("gilbert", &series(times, lost));
    let parameters = &model(&answer, "gilbert").parameters;
    for (parameter, truth) in parameters.iter().zip([0.02, 0.3]) {
        assert!((parameter.value / truth - 1.0).abs() < 0.15, "{parameter:?} for {truth}");
    }
}

#[test]
fn lists_that_do_not_belong_together_are_refused() {
    use retx_fit::loss::{Series, SeriesError};
    let wrong = Series::new(vec![0.0, 1.0], vec![1.0], vec![0.0, 0.0]);
    assert_eq!(wrong.unwrap_err(), SeriesError::Lengths(2, 1, 2));
    let wrong = Series::new(vec![1.0, 0.0], vec![1.0; 2], vec![0.0; 2]);
    assert_eq!(wrong.unwrap_err(), SeriesError::Time(1));
    let wrong = Series::new(vec![0.0, 1.0], vec![1.0; 2], vec![0.0, 1.5]);
    assert_eq!(wrong.unwrap_err(), SeriesError::Probability(1));
}
