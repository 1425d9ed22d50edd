//! Points of a sweep: one scenario with different values for some keys.

use crate::document::Document;
use crate::error::{ScenarioError, Step, list_overrides, one_line, with_overrides};
use crate::{ExternalSources, Scenario, Source, read};
use serde_json::{Map, Value};
use std::slice;

/// Reads and checks a scenario once for each point. The changes of the point apply after the
/// overrides of the source.
///
/// # Errors
/// The first error of the first faulty point. If a value of the sweep causes it, the error gives
/// the line of `[sweep]` that names its key.
pub fn parse_points(
    source: &Source<'_>,
    points: &[Vec<(String, String)>],
    outside: ExternalSources<'_>,
) -> Result<Vec<Scenario>, ScenarioError> {
    let document = Document::parse(source.name, source.text)?;
    let one = |changes: &Vec<(String, String)>| {
        let all = [source.overrides, changes].concat();
        read(&document, &all, outside).map_err(|error| rephrased(error, &document, source, changes))
    };
    points.iter().map(one).collect()
}

/// Attributes an error to the line of the sweep that causes it.
fn rephrased(
    error: ScenarioError,
    document: &Document<'_>,
    source: &Source<'_>,
    changes: &[(String, String)],
) -> ScenarioError {
    let said = |change: &(String, String)| one_line(&with_overrides(slice::from_ref(change)));
    let blamed = |change: &&(String, String)| error.r#override.as_ref() == Some(&said(change));
    if let Some(change) = changes.iter().find(blamed) {
        let place = place(document.values(), &change.0);
        let position = place.and_then(|path| document.position(&path));
        let said = one_line(&format!("sweep: {}", list_overrides(slice::from_ref(change))));
        // The quoted change already contains the key.
        let path = if error.path == change.0 { String::new() } else { error.path };
        return ScenarioError { position, r#override: Some(said), path, ..error };
    }
    if error.r#override.is_some() || source.overrides.is_empty() && changes.is_empty() {
        return error;
    }
    // The error concerns two keys, so it is attributed to all changes of the point.
    let said = one_line(&format!("sweep: {}", list_overrides(changes)));
    ScenarioError { position: None, r#override: Some(said), ..error }
}

/// Path of a key in `[sweep]`.
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

/// Path of a key in a case; `None` if several cases set it, because a change does not record its
/// case.
fn in_case(sweep: &Value, key: &str) -> Option<Vec<Step>> {
    let cases = sweep.get("case").and_then(Value::as_array)?.iter().enumerate();
    let mut places = cases.filter(|(_, case)| case["set"].get(key).is_some());
    let (index, _) = places.next()?;
    let step = |key: &str| Step::Key(key.to_owned());
    let path = vec![step("sweep"), step("case"), Step::Index(index), step("set"), step(key)];
    places.next().is_none().then_some(path)
}

/// Path of a dotted key, written as one key in quotes or as nested tables.
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
