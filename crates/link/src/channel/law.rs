//! Laws of extra delays: how long a frame is delayed that is.

use retx_units::{Duration, Stream, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long delays are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LawKind {
    /// Always `delay`.
    Constant,
    /// Exponential with mean `delay`.
    Exponential,
    /// Uniform from `min` (0 s without it) to `max`.
    Uniform,
    /// Pareto from `min` on: longer than t with probability (min/t)^`shape`.
    Pareto,
}

/// The parameters of all laws, as far as they are given.
#[derive(Debug, Clone, Copy)]
pub struct Amounts {
    /// Which law they belong to.
    pub law: LawKind,
    /// The delay, or its mean.
    pub delay: Option<Duration>,
    /// The shortest.
    pub min: Option<Duration>,
    /// The longest.
    pub max: Option<Duration>,
    /// The exponent.
    pub shape: Option<f64>,
}

/// A law with its parameters, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Always so long.
    Constant(f64),
    /// With this mean.
    Exponential(f64),
    /// From the first to the second.
    Uniform(f64, f64),
    /// From so long on, with this exponent.
    Pareto(f64, f64),
}

impl Amounts {
    /// The law.
    ///
    /// # Errors
    /// A parameter that the law lacks, one that is not the law's, an impossible one; the message
    /// carries the parameter's name.
    pub fn law(&self) -> Result<Law, String> {
        let given = [
            ("delay", self.delay.is_some()),
            ("min", self.min.is_some()),
            ("max", self.max.is_some()),
            ("shape", self.shape.is_some()),
        ];
        let (name, needed, allowed): (_, &[&str], &[&str]) = match self.law {
            LawKind::Constant => ("constant", &["delay"], &["delay"]),
            LawKind::Exponential => ("exponential", &["delay"], &["delay"]),
            LawKind::Uniform => ("uniform", &["max"], &["min", "max"]),
            LawKind::Pareto => ("pareto", &["min", "shape"], &["min", "shape"]),
        };
        for (key, given) in given {
            if given && !allowed.contains(&key) {
                let takes = allowed.join(" and ");
                return Err(choice::at(key, &format!("the law {name} takes {takes} instead")));
            }
            if !given && needed.contains(&key) {
                return Err(format!("the law {name} needs `{key}`"));
            }
        }
        let [delay, min, max] = [self.delay, self.min, self.max]
            .map(|amount| amount.unwrap_or(Duration::ZERO).as_secs_f64());
        match self.law {
            LawKind::Constant => Ok(Law::Constant(delay)),
            LawKind::Exponential => Ok(Law::Exponential(delay)),
            LawKind::Uniform if min > max => Err(choice::at(
                "min",
                &format!("{min} s lies above max, {max} s: write the shorter one as min"),
            )),
            LawKind::Uniform => Ok(Law::Uniform(min, max)),
            LawKind::Pareto => {
                let shape = self.shape.unwrap_or(0.0);
                if shape.is_finite() && shape > 0.0 {
                    Ok(Law::Pareto(min, shape))
                } else {
                    Err(choice::at("shape", &format!("{shape} is refused: write a number above 0")))
                }
            }
        }
    }
}

impl Law {
    /// One delay. Every law takes one draw, so that laws can be compared pairwise.
    pub fn draw(self, stream: &mut Stream) -> Duration {
        let uniform = stream.uniform();
        Duration::from_secs_f64(match self {
            Self::Constant(delay) => delay,
            Self::Exponential(mean) => -mean * libm::log1p(-uniform),
            Self::Uniform(min, max) => min + (max - min) * uniform,
            Self::Pareto(min, shape) => min * libm::pow(1.0 - uniform, -1.0 / shape),
        })
    }

    /// The mean, in seconds; infinite for a Pareto law whose shape is 1 or less.
    pub fn mean_s(self) -> f64 {
        match self {
            Self::Constant(mean) | Self::Exponential(mean) => mean,
            Self::Uniform(min, max) => 0.5 * (min + max),
            Self::Pareto(min, shape) if shape > 1.0 => min * shape / (shape - 1.0),
            Self::Pareto(min, _) if min > 0.0 => f64::INFINITY,
            Self::Pareto(..) => 0.0,
        }
    }

    /// The probability of a delay of at most `t` seconds.
    pub fn cumulative(self, t: f64) -> f64 {
        match self {
            Self::Constant(delay) => f64::from(u8::from(t >= delay)),
            Self::Exponential(mean) if mean > 0.0 => -libm::expm1(-t.max(0.0) / mean),
            Self::Uniform(min, max) if max > min => ((t - min) / (max - min)).clamp(0.0, 1.0),
            Self::Exponential(_) => f64::from(u8::from(t >= 0.0)),
            Self::Uniform(min, _) => f64::from(u8::from(t >= min)),
            Self::Pareto(min, _) if t < min => 0.0,
            Self::Pareto(_, _) if t <= 0.0 => 1.0,
            Self::Pareto(min, shape) => 1.0 - libm::pow(min / t, shape),
        }
    }
}
