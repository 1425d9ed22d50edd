//! The points of a sweep: one scenario many times, each with other values.

use crate::document::Document;
use crate::error::{ScenarioError, Step, listed, one_line, with};
use crate::{Outside, Scenario, Source, read};
use serde_json::{Map, Value};
use std::slice;

/// Reads and checks a scenario once for each point, whose changes come after the source's own.
///
/// # Errors
/// The first thing in the first point that no run could be made of. What is due to a value of the
/// sweep is told with the line of `[sweep]` that names its key.
pub fn parse_points(
    source: &Source<'_>,
    points: &[Vec<(String, String)>],
    outside: Outside<'_>,
) -> Result<Vec<Scenario>, ScenarioError> {
    let document = Document::parse(source.name, source.text)?;
    let one = |changes: &Vec<(String, String)>| {
        let all = [source.overrides, changes].concat();
        read(&document, &all, outside).map_err(|error| told(error, &document, source, changes))
    };
    points.iter().map(one).collect()
}

/// The error in the words of a sweep.
fn told(
    error: ScenarioError,
    document: &Document<'_>,
    source: &Source<'_>,
    changes: &[(String, String)],
) -> ScenarioError {
    let said = |change: &(String, String)| one_line(&with(slice::from_ref(change)));
    let blamed = |change: &&(String, String)| error.r#override.as_ref() == Some(&said(change));
    if let Some(change) = changes.iter().find(blamed) {
        let place = place(document.values(), &change.0);
        let position = place.and_then(|path| document.position(&path));
        let said = one_line(&format!("sweep: {}", listed(slice::from_ref(change))));
        // The key is in what the sweep sets already.
        let path = if error.path == change.0 { String::new() } else { error.path };
        return ScenarioError { position, r#override: Some(said), path, ..error };
    }
    if error.r#override.is_some() || source.overrides.is_empty() && changes.is_empty() {
        return error;
    }
    // A fault that spans two keys: all that the point sets is to blame.
    let said = one_line(&format!("sweep: {}", listed(changes)));
    ScenarioError { position: None, r#override: Some(said), ..error }
}

/// Where `[sweep]` names a key.
fn place(values: &Value, key: &str) -> Option<Vec<Step>> {
    let sweep = values.get("sweep")?;
    let step = |key: &str| Step::Key(key.to_owned());
    let mut starts = vec![(vec![step("sweep")], sweep)];
    if let Some(cube) = sweep.get("latin_hypercube") {
        starts.push((vec![step("sweep"), step("latin_hypercube")], cube));
    }
    let zips = sweep.get("zip").and_then(Value::as_array);
    for (index, zip) in zips.into_iter().flatten().enumerate() {
        starts.push((vec![step("sweep"), step("zip"), Step::Index(index)], zip));
    }
    let varies = starts.into_iter().find_map(|(path, table)| below(&path, table.as_object()?, key));
    varies.or_else(|| in_case(sweep, key))
}

/// Where a case sets a key; none where several do, since a change does not say whose it is.
fn in_case(sweep: &Value, key: &str) -> Option<Vec<Step>> {
    let cases = sweep.get("case").and_then(Value::as_array)?.iter().enumerate();
    let mut places = cases.filter(|(_, case)| case["set"].get(key).is_some());
    let (index, _) = places.next()?;
    let step = |key: &str| Step::Key(key.to_owned());
    let path = vec![step("sweep"), step("case"), Step::Index(index), step("set"), step(key)];
    places.next().is_none().then_some(path)
}

/// The path of a dotted key, be it one key in quotes or tables within tables.
fn below(path: &[Step], table: &Map<String, Value>, key: &str) -> Option<Vec<Step>> {
    table.iter().find_map(|(name, value)| {
        let path = [path, &[Step::Key(name.clone())]].concat();
        if name == key {
            return Some(path);
        }
        let rest = key.strip_prefix(name.as_str())?.strip_prefix('.')?;
        below(&path, value.as_object()?, rest)
    })
}
