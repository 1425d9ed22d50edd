//! Distributions of the extra delay of a frame.

use retx_units::{Duration, Law, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Distribution of the delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LawKind {
    /// Always `delay`.
    Constant,
    /// Exponential with mean `delay`.
    Exponential,
    /// Uniform from `min` (by default 0 s) to `max`.
    Uniform,
    /// Pareto: at least `min`, and longer than t with probability (min/t)^`shape`.
    Pareto,
}

/// Parameters of all distributions; `None` if a parameter is not given.
#[derive(Debug, Clone, Copy)]
pub struct DelayParameters {
    /// Distribution to which the parameters belong.
    pub law: LawKind,
    /// Delay (constant), or its mean (exponential).
    pub delay: Option<Duration>,
    /// Minimum delay.
    pub min: Option<Duration>,
    /// Maximum delay.
    pub max: Option<Duration>,
    /// Exponent of the Pareto distribution.
    pub shape: Option<f64>,
}

impl DelayParameters {
    /// Distribution in seconds.
    ///
    /// # Errors
    /// A parameter is missing, belongs to another distribution, or is impossible; the message
    /// contains the parameter's name.
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
                return Err(choice::error_at(
                    key,
                    &format!("the law {name} takes {takes} instead"),
                ));
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
            LawKind::Uniform if min > max => Err(choice::error_at(
                "min",
                &format!("{min} s lies above max, {max} s: write the shorter one as min"),
            )),
            LawKind::Uniform => Ok(Law::Uniform(min, max)),
            LawKind::Pareto => {
                let shape = self.shape.unwrap_or(0.0);
                if shape.is_finite() && shape > 0.0 {
                    Ok(Law::Pareto(min, shape))
                } else {
                    Err(choice::error_at(
                        "shape",
                        &format!("{shape} is refused: write a number above 0"),
                    ))
                }
            }
        }
    }
}
