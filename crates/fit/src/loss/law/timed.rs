//! Two-state Markov chain in continuous time, observed only when a packet passes.
//!
//! *Equations.* The times in the good and the bad state are exponential with means T_g and T_b, so
//! the matrix Q of transition rates contains 1/T_g and 1/T_b. If a packet follows another one after
//! a time τ, the transition probabilities between them are exp(Q·τ) = 1·π + e^(−Λτ)·(I − 1·π). Here
//! Λ = 1/T_g + 1/T_b, and π = (1 − share of bad time, share of bad time). The likelihood sums over
//! the states between two packets, so idle times carry no information.

use super::{
    Law, ModelProperties, Parameter, format_time, probability, round_probability, seconds,
};
use crate::loss::chain::weight_and_scale;
use crate::loss::law::chains::{PairCounts, clamp_interior};
use crate::loss::series::{Evidence, Series};
use retx_units::RandomStream;
use serde_json::{Value, json};

/// Two-state chain in continuous time.
pub struct ContinuousTimeChain {
    /// True if each state has its own loss probability; otherwise the bad state loses every packet,
    /// and the good state none.
    pub has_loss_per_state: bool,
}

/// Parameters of the chain.
struct States {
    bad_share: f64,
    decay_s: f64,
    loss: [f64; 2],
}

impl States {
    fn of(values: &[f64]) -> Self {
        let [good, bad] = [values[0], values[1]];
        let loss = if values.len() > 2 { [1.0 - values[2], 1.0 - values[3]] } else { [0.0, 1.0] };
        Self { bad_share: bad / (good + bad), decay_s: 1.0 / good + 1.0 / bad, loss }
    }

    fn weights(&self, evidence: Evidence) -> [f64; 2] {
        self.loss.map(|loss| loss * evidence.lost + (1.0 - loss) * evidence.arrived)
    }

    fn moved(&self, forward: [f64; 2], kept: f64) -> [f64; 2] {
        let total = forward[0] + forward[1];
        let bad = kept * forward[1] + (1.0 - kept) * total * self.bad_share;
        [total - bad, bad]
    }
}

impl Law for ContinuousTimeChain {
    fn name(&self) -> &'static str {
        if self.has_loss_per_state { "gilbert_elliott_time" } else { "gilbert_time" }
    }

    fn title(&self) -> &'static str {
        if self.has_loss_per_state {
            "Gilbert–Elliott in time: losses in both states"
        } else {
            "Gilbert in time: bursts that last for a time"
        }
    }

    fn parameters(&self) -> &'static [Parameter] {
        const ALL: [Parameter; 4] =
            [seconds("mean_good"), seconds("mean_bad"), probability("k"), probability("h")];
        if self.has_loss_per_state { &ALL } else { ALL.split_at(2).0 }
    }

    fn log_likelihood(&self, values: &[f64], series: &Series) -> f64 {
        let states = States::of(values);
        if states.loss[0] > states.loss[1] {
            return f64::NEG_INFINITY;
        }
        let weights: Vec<[f64; 2]> =
            series.evidence_kinds.iter().map(|it| states.weights(*it)).collect();
        let mut forward = [1.0 - states.bad_share, states.bad_share];
        let (mut total, mut product) = (0.0, 1.0);
        for run in &series.timed_runs {
            let kept = libm::exp(-states.decay_s * run.gap_s);
            for _ in 0..run.count {
                forward = states.moved(forward, kept);
                product *= weight_and_scale(&mut forward, &weights[run.evidence_index]);
                // To save logarithms, factors are multiplied until the product becomes very small.
                if product < 1e-200 {
                    total += libm::log(product);
                    product = 1.0;
                }
            }
        }
        let total = total + libm::log(product);
        if total.is_nan() { f64::NEG_INFINITY } else { total }
    }

    fn starts(&self, series: &Series) -> Vec<Vec<f64>> {
        let spacing = series.duration_s() / (series.copies() - 1) as f64;
        if spacing <= 0.0 {
            return Vec::new();
        }
        let [p, r] = PairCounts::from_series(series).transitions();
        let start = |longer: f64| {
            // With a chain in continuous time, the states at successive packets are positively
            // correlated, so p + r < 1.
            let (good, bad) = (spacing / p, spacing / r * longer);
            if self.has_loss_per_state {
                let k = clamp_interior(1.0 - 0.3 * series.loss_rate);
                vec![good * longer, bad, k, if longer > 5.0 { 0.7 } else { 0.3 }]
            } else {
                vec![good, bad]
            }
        };
        let tries: &[f64] =
            if self.has_loss_per_state { &[1.0, 4.0, 20.0, 100.0] } else { &[0.2, 1.0, 5.0] };
        tries.iter().map(|longer| start(*longer)).collect()
    }

    fn draw(&self, values: &[f64], series: &Series, stream: &mut RandomStream) -> Vec<bool> {
        let states = States::of(values);
        let mut bad = stream.uniform() < states.bad_share;
        let mut before = series.times_s[0];
        let draw = |time: &f64| {
            let kept = libm::exp(-states.decay_s * (time - before));
            before = *time;
            if stream.uniform() >= kept {
                bad = stream.uniform() < states.bad_share;
            }
            stream.uniform() < states.loss[usize::from(bad)]
        };
        series.times_s.iter().map(draw).collect()
    }

    fn consequences(&self, values: &[f64], series: &Series) -> ModelProperties {
        let states = States::of(values);
        let (bad, [good_loss, bad_loss]) = (states.bad_share, states.loss);
        let lost = (1.0 - bad) * good_loss + bad * bad_loss;
        // The burst length in packets depends on the spacing of packets, so the average over the
        // series is used.
        let pairs: f64 =
            series.times_s.windows(2).map(|it| libm::exp(-states.decay_s * (it[1] - it[0]))).sum();
        let kept = pairs / (series.copies() - 1) as f64;
        let both = lost * lost + kept * bad * (1.0 - bad) * (bad_loss - good_loss).powi(2);
        let mean_burst = (lost - both > 0.0).then(|| lost / (lost - both));
        let visits = series.duration_s() / (values[0] + values[1]);
        ModelProperties { mean_loss: lost, mean_burst, visits }
    }

    fn channel(&self, values: &[f64]) -> Value {
        let mut table = json!({
            "model": "gilbert_elliott_time",
            "mean_good": format_time(values[0]),
            "mean_bad": format_time(values[1]),
        });
        if let [_, _, k, h] = values {
            if *k < 1.0 {
                table["k"] = json!(round_probability(*k));
            }
            if *h > 0.0 {
                table["h"] = json!(round_probability(*h));
            }
        }
        table
    }
}
