//! `[[sweep.case]]`: named points, each with values of several keys.

use super::{REPLICATIONS_MAX, Sweep, check_own};
use crate::error::{Problem, Step};
use crate::wording;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Named point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Name of the point: its value in the column `case`.
    pub name: String,
    /// Values by scenario key, in quotes: `{ "link.cloud.delay" = "5 ms" }`.
    #[serde(default)]
    pub set: Map<String, Value>,
    /// Number of runs of the case, in place of the sweep's; 1 suffices if nothing is random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replications: Option<u64>,
}

/// Reads the list of cases.
pub fn read(value: Option<&Value>) -> Result<Vec<Case>, Problem> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let Value::Array(tables) = value else {
        let message = "expected tables with `name` and `set`, each under a [[sweep.case]]";
        return Err(Problem::new(message).within("case"));
    };
    if tables.is_empty() {
        return Err(Problem::new("an empty list: leave it out").within("case"));
    }
    let one = |(index, table): (usize, &Value)| {
        one(table).map_err(|problem| problem.within_element("case", index))
    };
    tables.iter().enumerate().map(one).collect()
}

fn one(table: &Value) -> Result<Case, Problem> {
    let case: Case = wording::deserialize(table)?;
    if case.replications.is_some_and(|count| !(1..=REPLICATIONS_MAX).contains(&count)) {
        let message = format!("expected a whole number from 1 to {REPLICATIONS_MAX}");
        return Err(Problem::new(message).within("replications"));
    }
    for (key, value) in &case.set {
        check_own(key).map_err(|problem| problem.within("set"))?;
        // Without quotes around the key, `link.cloud.delay = "5 ms"` is a nested table. A case
        // never sets a whole table of the scenario, so quotes are missing.
        if !key.contains('.') && value.is_object() {
            let message = "write the whole key in quotes, such as \"link.cloud.delay\" = \"5 ms\"";
            return Err(Problem::new(message).within(key).within("set"));
        }
    }
    Ok(case)
}

/// Refuses duplicate names, and keys that also vary elsewhere.
pub fn check(sweep: &Sweep) -> Result<(), Problem> {
    let spread = sweep.hypercube.iter().flat_map(|cube| &cube.dimensions).map(|(key, _)| key);
    let varied: Vec<&String> = sweep.axes.iter().flat_map(Map::keys).chain(spread).collect();
    for (index, case) in sweep.cases.iter().enumerate() {
        if sweep.cases[..index].iter().any(|other| other.name == case.name) {
            let message = format!("\"{}\" is the name of two cases", case.name);
            return Err(Problem::new(message).within("name").within_element("case", index));
        }
        if let Some(key) = case.set.keys().find(|key| varied.contains(key)) {
            let message = "varies besides: leave out one of the two";
            let path = vec![Step::Key("set".into()), Step::Key(key.clone())];
            let problem = Problem { path, message: message.into() };
            return Err(problem.within_element("case", index));
        }
    }
    Ok(())
}
