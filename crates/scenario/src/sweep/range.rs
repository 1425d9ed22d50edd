//! Ranges of values, such as `{ from = "1 ms", to = "100 ms", steps = 5, scale = "log" }`.

use crate::error::Problem;
use crate::wording;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Largest number of values in a range.
const VALUES_MAX: u64 = 1_000_000;
/// Number of significant digits of values between the ends: enough to distinguish the values, and
/// few enough to hide binary rounding.
const DIGITS: usize = 9;

/// Spacing of values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

/// Values from one number to another, both included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// First value: a number, or text with a unit.
    pub from: Value,
    /// Last value, in the same unit.
    pub to: Value,
    /// Number of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Difference between values, in place of `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Value>,
    /// Spacing: equal differences or equal ratios.
    #[serde(default)]
    pub scale: Scale,
    /// Round values to integers.
    #[serde(default)]
    pub round: bool,
}

/// True for a table that denotes a range rather than nested keys.
pub fn is_range(table: &Map<String, Value>) -> bool {
    ["from", "to"].iter().any(|key| table.get(*key).is_some_and(|end| !is_inner(end)))
}

/// True if the value belongs to a scenario key with the name `from` or `to`, not to a range.
const fn is_inner(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

/// Number with its unit; the unit may be empty.
type Quantity = (f64, String);

/// Reads and checks a range.
///
/// # Errors
/// Ends that are not numbers or differ in unit, or a logarithmic range over non-positive numbers.
pub fn read(value: &Value) -> Result<Range, Problem> {
    let range: Range = wording::deserialize(value)?;
    let ((from, unit), (to, other)) = (end(&range.from, "from")?, end(&range.to, "to")?);
    if unit != other {
        let message = format!("{} and {} differ in unit: write both in one", range.from, range.to);
        return Err(Problem::new(message).within("to"));
    }
    if range.scale == Scale::Log && (from <= 0.0 || to <= 0.0) {
        let (name, found) = if from <= 0.0 { ("from", from) } else { ("to", to) };
        let message = format!("{found}: equal ratios need numbers above 0; or scale = \"linear\"");
        return Err(Problem::new(message).within(name));
    }
    Ok(range)
}

fn end(value: &Value, name: &str) -> Result<Quantity, Problem> {
    quantity(value).map_err(|problem| problem.within(name))
}

fn quantity(value: &Value) -> Result<Quantity, Problem> {
    let refuse =
        || Problem::new(format!("{value}: expected a number, or one with a unit in quotes"));
    match value {
        Value::Number(number) => Ok((number.as_f64().ok_or_else(refuse)?, String::new())),
        Value::String(text) => {
            let text = text.trim();
            let unit = text.find(|c: char| !(c.is_ascii_digit() || "._+-eE".contains(c)));
            let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
            let number = number.replace('_', "").parse::<f64>().map_err(|_| refuse())?;
            let unit = unit.trim();
            if unit.is_empty() { Err(refuse()) } else { Ok((number, unit.to_owned())) }
        }
        _ => Err(refuse()),
    }
}

impl Range {
    fn ends(&self) -> (f64, f64, String) {
        let read = |value| quantity(value).expect("the ends have been checked");
        let ((from, unit), (to, _)) = (read(&self.from), read(&self.to));
        (from, to, unit)
    }

    /// Value at the fraction `share` of the range, 0 to 1.
    pub fn value_at(&self, share: f64) -> Value {
        let (from, to, unit) = self.ends();
        let number = match self.scale {
            Scale::Linear => from + (to - from) * share,
            Scale::Log => from * libm::pow(to / from, share),
        };
        self.value(number, &unit)
    }

    /// All values.
    ///
    /// # Errors
    /// The number of values is missing or too large.
    pub fn values(&self) -> Result<Vec<Value>, Problem> {
        let mut values: Vec<Value> = match (self.steps, &self.step) {
            (Some(_), Some(_)) => {
                return Err(Problem::new("`step` and `steps` exclude each other").within("step"));
            }
            (None, None) => {
                return Err(Problem::new("lacks `steps` (how many values) or `step`"));
            }
            (Some(steps), None) => self.by_number(steps)?,
            (None, Some(step)) => self.by_difference(step)?,
        };
        values.dedup();
        Ok(values)
    }

    fn by_number(&self, steps: u64) -> Result<Vec<Value>, Problem> {
        if !(2..=VALUES_MAX).contains(&steps) {
            let message = format!("{steps}: expected a whole number from 2 to {VALUES_MAX}");
            return Err(Problem::new(message).within("steps"));
        }
        // The ends are used as written, unless they are to be rounded.
        let end = |share: f64, written: &Value| match self.round {
            true => self.value_at(share),
            false => written.clone(),
        };
        let at = |index| match index {
            0 => end(0.0, &self.from),
            _ if index == steps - 1 => end(1.0, &self.to),
            _ => self.value_at(index as f64 / (steps - 1) as f64),
        };
        Ok((0..steps).map(at).collect())
    }

    fn by_difference(&self, step: &Value) -> Result<Vec<Value>, Problem> {
        let refuse = |message: String| Err(Problem::new(message).within("step"));
        if self.scale == Scale::Log {
            return refuse("equal ratios have no difference: write `steps`".into());
        }
        let (difference, unit) = end(step, "step")?;
        let (from, to, own) = self.ends();
        if unit != own {
            return refuse(format!("{step} and {} differ in unit: write both in one", self.from));
        }
        let steps = (to - from) / difference;
        if !(steps >= 0.0 && steps.is_finite()) {
            return refuse(format!("{step} does not lead from {} to {}", self.from, self.to));
        }
        if steps >= VALUES_MAX as f64 {
            return refuse(format!("{step}: more than {VALUES_MAX} values"));
        }
        // The last value may exceed the end by a rounding error.
        let count = libm::floor(steps + 1e-9) as u64;
        Ok((0..=count).map(|at| self.value(from + difference * at as f64, &own)).collect())
    }

    fn value(&self, number: f64, unit: &str) -> Value {
        let number = if self.round { libm::round(number) } else { rounded(number) };
        if !unit.is_empty() {
            return Value::String(format!("{number} {unit}"));
        }
        let whole_ends = !self.from.is_f64() && !self.to.is_f64();
        // Above 2^53 a float cannot represent every integer.
        if (self.round || whole_ends) && number.fract() == 0.0 && number.abs() < 9.0e15 {
            Value::from(number as i64)
        } else {
            Value::from(number)
        }
    }
}

/// Rounds to [`DIGITS`] significant digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.*e}", DIGITS - 1).parse().expect("it was a number")
}
