//! `[sweep]`: the values varied by `retx sweep`, and the number of runs of each point.
//!
//! The grid is the product of all parts of the table:
//!
//! - keys of the scenario, in quotes or not, each with a list of values or a range;
//! - `[[sweep.zip]]`: such keys whose lists advance together;
//! - `[sweep.latin_hypercube]`: keys whose ranges are sampled together by a Latin hypercube;
//! - `[[sweep.case]]`: the points of the list, each with a name.

mod case;
mod range;

use crate::error::{Problem, Step};
use crate::suggest::did_you_mean;
use crate::wording;
pub use case::Case;
pub use range::Range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Largest number of points of a grid.
pub const POINTS_MAX: usize = 10_000_000;
/// Largest number of replications of a point.
pub const REPLICATIONS_MAX: u64 = 1_000_000_000;

/// Keys of `[sweep]` that are not keys of the scenario.
const OWN_KEYS: [&str; 5] = ["replications", "until", "case", "zip", "latin_hypercube"];

/// Checked `[sweep]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// Number of runs of each point, if given; with `until`, the initial number.
    pub replications: Option<u64>,
    /// Stopping rule for the runs of a point, if any.
    pub until: Option<StoppingRule>,
    /// Named points; each is run with all combinations of the other values.
    pub cases: Vec<Case>,
    /// Axes of the grid; all combinations of their values are run.
    pub axes: Vec<Axis>,
    /// Points of a Latin hypercube over several keys, if any.
    pub hypercube: Option<Hypercube>,
}

/// Keys that vary together, with lists of equal length.
pub type Axis = Map<String, Value>;

/// Stopping rule: runs are added until the mean of a quantity has this precision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoppingRule {
    /// Column of the flows, such as `goodput_bit_s` (of all flows), `flow.NAME.COLUMN` or
    /// `link.NAME.DIRECTION.COLUMN`.
    pub metric: String,
    /// Half the width of the confidence interval, divided by the mean.
    pub relative_half_width: f64,
    /// Confidence level of the interval.
    #[serde(default = "confidence_default")]
    pub confidence: f64,
    /// Largest number of runs of a point.
    pub max_replications: u64,
}

/// `[sweep.latin_hypercube]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hypercube {
    /// Number of points.
    pub points: u64,
    /// Seed for the random choice of the points.
    pub seed: u64,
    /// Keys with their ranges.
    pub dimensions: Vec<(String, Dimension)>,
}

/// Range of a key of a hypercube.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Dimension {
    /// Interval of numbers.
    Range(Box<Range>),
    /// List of values.
    Values(Vec<Value>),
}

impl Dimension {
    /// Value at the fraction `share` of the range, 0 ≤ `share` < 1.
    pub fn value_at(&self, share: f64) -> Value {
        match self {
            Self::Range(range) => range.value_at(share),
            Self::Values(values) => {
                let index = (share * values.len() as f64) as usize;
                values[index.min(values.len() - 1)].clone()
            }
        }
    }
}

const fn confidence_default() -> f64 {
    0.95
}

/// Reads and checks the table.
///
/// # Errors
/// The first error, at its path in the table.
pub fn read(table: &Map<String, Value>) -> Result<Sweep, Problem> {
    let replications = replications(table.get("replications"))?;
    let until = table.get("until").map(until).transpose().map_err(|it| it.within("until"))?;
    if let (Some(first), Some(until)) = (replications, &until)
        && first > until.max_replications
    {
        let message = format!("{first} is more than max_replications of `until`");
        return Err(Problem::new(message).within("replications"));
    }
    let cases = case::read(table.get("case"))?;
    let mut axes = Vec::new();
    for (key, values) in flat(table, &OWN_KEYS) {
        let list = values_of(&values).map_err(|problem| problem.at(&key))?;
        axes.push(Map::from_iter([(key.join("."), Value::Array(list))]));
    }
    axes.extend(zipped(table.get("zip"))?);
    let hypercube = table.get("latin_hypercube").map(hypercube).transpose();
    let hypercube = hypercube.map_err(|problem| problem.within("latin_hypercube"))?;
    let sweep = Sweep { replications, until, cases, axes, hypercube };
    check_keys(&sweep)?;
    case::check(&sweep)?;
    check_size(&sweep)?;
    Ok(sweep)
}

impl Problem {
    /// Prepends keys to the path.
    fn at(mut self, keys: &[String]) -> Self {
        self.path.splice(0..0, keys.iter().cloned().map(Step::Key));
        self
    }
}

fn replications(value: Option<&Value>) -> Result<Option<u64>, Problem> {
    let Some(value) = value else { return Ok(None) };
    match value.as_u64() {
        Some(count @ 1..=REPLICATIONS_MAX) => Ok(Some(count)),
        _ => {
            let message = format!("{value}: expected a whole number from 1 to {REPLICATIONS_MAX}");
            Err(Problem::new(message).within("replications"))
        }
    }
}

fn until(value: &Value) -> Result<StoppingRule, Problem> {
    let until: StoppingRule = wording::deserialize(value)?;
    let share = |name: &str, value: f64| {
        let message = format!("{value}: expected a number between 0 and 1, such as 0.05");
        let inside = value > 0.0 && value < 1.0;
        if inside { Ok(()) } else { Err(Problem::new(message).within(name)) }
    };
    share("relative_half_width", until.relative_half_width)?;
    share("confidence", until.confidence)?;
    if !(2..=REPLICATIONS_MAX).contains(&until.max_replications) {
        let found = until.max_replications;
        let message = format!("{found}: expected a whole number from 2 to {REPLICATIONS_MAX}");
        return Err(Problem::new(message).within("max_replications"));
    }
    Ok(until)
}

/// Keys of the scenario with their ranges. In TOML, a key without quotes such as `link.cloud.rate`
/// denotes nested tables, which are joined to one key here.
fn flat(table: &Map<String, Value>, own: &[&str]) -> Vec<(Vec<String>, Value)> {
    let mut found = Vec::new();
    let mut todo: Vec<(Vec<String>, &Value)> = Vec::new();
    let below = |path: &[String], table: &'_ Map<String, Value>| -> Vec<Vec<String>> {
        let inner = |key: &String| [path, std::slice::from_ref(key)].concat();
        table.keys().rev().map(inner).collect()
    };
    for path in below(&[], table) {
        if !own.contains(&path[0].as_str()) {
            todo.push((path.clone(), &table[&path[0]]));
        }
    }
    while let Some((path, value)) = todo.pop() {
        match value {
            Value::Object(inner) if !inner.is_empty() && !range::is_range(inner) => {
                for path in below(&path, inner) {
                    let value = &inner[&path[path.len() - 1]];
                    todo.push((path, value));
                }
            }
            value => found.push((path, value.clone())),
        }
    }
    found
}

/// Values of a list or a range.
fn values_of(value: &Value) -> Result<Vec<Value>, Problem> {
    match value {
        Value::Array(list) if list.is_empty() => {
            Err(Problem::new("an empty list: name the values to take"))
        }
        Value::Array(list) => Ok(list.clone()),
        Value::Object(table) if range::is_range(table) => range::read(value)?.values(),
        value => Err(Problem::new(format!(
            "{value}: expected a list of values, or a range such as \
             {{ from = 1e-4, to = 0.1, steps = 4, scale = \"log\" }}"
        ))),
    }
}

fn zipped(value: Option<&Value>) -> Result<Vec<Axis>, Problem> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let Value::Array(tables) = value else {
        let message = "expected tables of lists, each under a [[sweep.zip]] of its own";
        return Err(Problem::new(message).within("zip"));
    };
    let one = |(index, table): (usize, &Value)| {
        zip(table).map_err(|problem| problem.within_element("zip", index))
    };
    tables.iter().enumerate().map(one).collect()
}

fn zip(table: &Value) -> Result<Axis, Problem> {
    let Value::Object(table) = table else {
        return Err(Problem::new("expected a table of lists that go side by side"));
    };
    let mut axis = Axis::new();
    let mut first: Option<(String, usize)> = None;
    for (key, values) in flat(table, &[]) {
        let list = values_of(&values).map_err(|problem| problem.at(&key))?;
        let name = key.join(".");
        match &first {
            Some((other, length)) if *length != list.len() => {
                let message = format!(
                    "{} values beside {length} of {other}: zipped lists are equally long",
                    list.len()
                );
                return Err(Problem::new(message).at(&key));
            }
            Some(_) => {}
            None => first = Some((name.clone(), list.len())),
        }
        axis.insert(name, Value::Array(list));
    }
    if axis.len() < 2 {
        return Err(Problem::new("expected two keys or more, whose values go side by side"));
    }
    Ok(axis)
}

fn hypercube(value: &Value) -> Result<Hypercube, Problem> {
    const OWN: [&str; 2] = ["points", "seed"];
    let Value::Object(table) = value else {
        return Err(Problem::new("expected a table with `points` and the keys that vary"));
    };
    let number = |name: &str, least: u64, most: u64| match table.get(name).map(Value::as_u64) {
        None => Ok(None),
        Some(Some(number)) if (least..=most).contains(&number) => Ok(Some(number)),
        Some(_) => {
            let found = &table[name];
            let message = format!("{found}: expected a whole number from {least} to {most}");
            Err(Problem::new(message).within(name))
        }
    };
    let points = number("points", 1, POINTS_MAX as u64)?;
    let points = points.ok_or_else(|| Problem::new("lacks `points`, the number of points"))?;
    let seed = number("seed", 0, i64::MAX as u64)?.unwrap_or(1);
    let mut dimensions = Vec::new();
    for (key, value) in flat(table, &OWN) {
        let dimension = dimension(&value).map_err(|problem| problem.at(&key))?;
        dimensions.push((key.join("."), dimension));
    }
    if dimensions.is_empty() {
        return Err(Problem::new("names no key that varies"));
    }
    Ok(Hypercube { points, seed, dimensions })
}

fn dimension(value: &Value) -> Result<Dimension, Problem> {
    match value {
        Value::Object(table) if range::is_range(table) => {
            let range = range::read(value)?;
            if range.steps.is_some() || range.step.is_some() {
                let key = if range.steps.is_some() { "steps" } else { "step" };
                let message = "a hypercube takes values from the whole range: leave this out";
                return Err(Problem::new(message).within(key));
            }
            Ok(Dimension::Range(Box::new(range)))
        }
        value => values_of(value).map(Dimension::Values),
    }
}

/// Refuses duplicate keys, and keys that no scenario has.
fn check_keys(sweep: &Sweep) -> Result<(), Problem> {
    let spread = sweep.hypercube.iter().flat_map(|cube| &cube.dimensions).map(|(key, _)| key);
    let mut seen: Vec<&str> = Vec::new();
    for key in sweep.axes.iter().flat_map(Map::keys).chain(spread) {
        if seen.contains(&key.as_str()) {
            return Err(Problem::new(format!("\"{key}\" varies twice: name it once")));
        }
        seen.push(key);
        check_own(key)?;
        if !key.contains('.')
            && let near = did_you_mean(key, OWN_KEYS)
            && !near.is_empty()
        {
            return Err(Problem::new(format!("\"{key}\" is no key of a scenario{near}")));
        }
    }
    Ok(())
}

fn check_own(key: &str) -> Result<(), Problem> {
    if key == "sweep" || key.starts_with("sweep.") {
        return Err(Problem::new(format!("\"{key}\": a sweep does not vary itself")));
    }
    Ok(())
}

fn check_size(sweep: &Sweep) -> Result<(), Problem> {
    let length = |axis: &Axis| axis.values().next().and_then(Value::as_array).map_or(1, Vec::len);
    let cube = sweep.hypercube.as_ref().map_or(1, |cube| cube.points as usize);
    let named = sweep.cases.len().max(1).saturating_mul(cube);
    let points = sweep.axes.iter().map(length).fold(named, usize::saturating_mul);
    if points > POINTS_MAX {
        return Err(Problem::new(format!("{points} points: a grid has at most {POINTS_MAX}")));
    }
    Ok(())
}
