//! Probability distributions of times and sizes.

use crate::RandomStream;

/// Distribution with its parameters, in the unit of the values drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Constant.
    Constant(f64),
    /// Exponential with the given mean.
    Exponential(f64),
    /// Uniform between the first and the second value.
    Uniform(f64, f64),
    /// Pareto with a minimum and an exponent: P(X > t) = (minimum/t)^exponent.
    Pareto(f64, f64),
}

impl Law {
    /// Draws one value. Every distribution takes one random number, so that runs with different
    /// distributions use the same draws and can be compared in pairs.
    #[inline]
    pub fn draw(self, stream: &mut RandomStream) -> f64 {
        let uniform = stream.uniform();
        match self {
            Self::Constant(amount) => amount,
            Self::Exponential(mean) => -mean * libm::log1p(-uniform),
            Self::Uniform(min, max) => min + (max - min) * uniform,
            Self::Pareto(min, shape) => min * libm::pow(1.0 - uniform, -1.0 / shape),
        }
    }

    /// Mean; infinite for a Pareto distribution with an exponent of 1 or less.
    pub fn mean(self) -> f64 {
        match self {
            Self::Constant(mean) | Self::Exponential(mean) => mean,
            Self::Uniform(min, max) => 0.5 * (min + max),
            Self::Pareto(min, shape) if shape > 1.0 => min * shape / (shape - 1.0),
            Self::Pareto(min, _) if min > 0.0 => f64::INFINITY,
            Self::Pareto(..) => 0.0,
        }
    }

    /// Mean of values clamped to `least` … `most`; `most` must not be below `least`.
    pub fn mean_within(self, least: f64, most: f64) -> f64 {
        // For a non-negative variable, the mean is the integral of P(X > t).
        match self {
            Self::Constant(amount) => amount.clamp(least, most),
            Self::Exponential(mean) if mean > 0.0 => {
                let [from, to] = [least, most].map(|end| libm::exp(-end.max(0.0) / mean));
                least.max(0.0) + mean * (from - to)
            }
            Self::Uniform(min, max) if max > min => {
                let [from, to] = [least, most].map(|end| end.clamp(min, max));
                let exceeded = |end: f64| -0.5 * (max - end) * (max - end) / (max - min);
                min.clamp(least, most) + exceeded(to) - exceeded(from)
            }
            Self::Pareto(min, shape) if min > 0.0 => {
                let [from, to] = [least, most].map(|end| end.max(min) / min);
                let above = shape - 1.0;
                let exceeded = if above.abs() < 1e-9 {
                    libm::log(to / from)
                } else {
                    (libm::pow(from, -above) - libm::pow(to, -above)) / above
                };
                min.clamp(least, most) + min * exceeded
            }
            Self::Uniform(amount, _) => amount.clamp(least, most),
            Self::Exponential(_) | Self::Pareto(..) => 0_f64.clamp(least, most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamKey;

    const DRAWS: u32 = 200_000;

    fn draws(law: Law) -> Vec<f64> {
        let mut stream = StreamKey { seed: 3, replication: 0 }.stream("law");
        (0..DRAWS).map(|_| law.draw(&mut stream)).collect()
    }

    /// Cumulative distribution function: P(X ≤ `amount`).
    fn cdf(law: Law, amount: f64) -> f64 {
        match law {
            Law::Exponential(mean) => -libm::expm1(-amount / mean),
            Law::Uniform(min, max) => ((amount - min) / (max - min)).clamp(0.0, 1.0),
            Law::Pareto(min, _) if amount < min => 0.0,
            Law::Pareto(min, shape) => 1.0 - libm::pow(min / amount, shape),
            Law::Constant(_) => unreachable!("not compared"),
        }
    }

    /// The means are right for clamping bounds below, within and above the support.
    #[test]
    fn means_of_amounts_that_are_held_between_two() {
        let laws = [
            Law::Constant(2.0),
            Law::Exponential(2.0),
            Law::Uniform(1.0, 5.0),
            Law::Pareto(0.5, 1.5),
            Law::Pareto(0.5, 1.0),
            Law::Pareto(1.0, 3.0),
        ];
        for law in laws {
            let all = draws(law);
            for (least, most) in
                [(0.0, 0.3), (0.1, 1.7), (0.7, 20.0), (2.0, 2.0), (2.5, 4.5), (6.0, 9.0)]
            {
                let held: Vec<f64> = all.iter().map(|draw| draw.clamp(least, most)).collect();
                let mean = held.iter().sum::<f64>() / f64::from(DRAWS);
                let square = held.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
                let sigma = square.sqrt() / f64::from(DRAWS);
                let expected = law.mean_within(least, most);
                assert!(
                    (mean - expected).abs() <= 4.0 * sigma + 1e-9,
                    "{law:?} {least} {most}: {mean} for {expected}"
                );
            }
        }
    }

    /// The shares of draws below the quartiles, the median and points far in the tail agree with
    /// the distribution within four standard deviations; so does the mean, if the variance is
    /// finite.
    #[test]
    fn draws_follow_the_law() {
        let laws = [
            Law::Exponential(2.0),
            Law::Uniform(1.0, 5.0),
            Law::Pareto(0.5, 1.5),
            Law::Pareto(1.0, 3.0),
        ];
        for law in laws {
            let all = draws(law);
            for amount in [0.4, 0.6, 0.9, 1.5, 2.5, 4.0, 8.0, 20.0] {
                let p = cdf(law, amount);
                let below = all.iter().filter(|draw| **draw <= amount).count() as f64;
                let sigma = (f64::from(DRAWS) * p * (1.0 - p)).sqrt();
                assert!((below - f64::from(DRAWS) * p).abs() <= 4.0 * sigma, "{law:?} {amount}");
            }
            let variance = match law {
                Law::Exponential(mean) => mean * mean,
                Law::Uniform(min, max) => (max - min).powi(2) / 12.0,
                Law::Pareto(least, k) if k > 2.0 => {
                    least * least * k / ((k - 1.0).powi(2) * (k - 2.0))
                }
                _ => continue,
            };
            let mean = all.iter().sum::<f64>() / f64::from(DRAWS);
            let sigma = (variance / f64::from(DRAWS)).sqrt();
            assert!((mean - law.mean()).abs() < 4.0 * sigma, "{law:?}: {mean}");
        }
    }
}
