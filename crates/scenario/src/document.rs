//! TOML text as plain values, with the position of each in the text.

use crate::error::{Position, Problem, ScenarioError, Step, one_line, with_overrides};
use crate::topology::{self, Origins};
use crate::wording;
use serde_json::{Map, Value};
use std::ops::Range;
use std::slice;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Parsed TOML text.
pub struct Document<'a> {
    file: &'a str,
    text: &'a str,
    places: Spanned<DeTable<'a>>,
    values: Value,
}

impl<'a> Document<'a> {
    /// Reads TOML. A text without any key is refused.
    pub fn parse(file: &'a str, text: &'a str) -> Result<Self, ScenarioError> {
        if text.len() > crate::TEXT_MAX_BYTES {
            return Err(ScenarioError::too_large(file, text.len()));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let places = DeTable::parse(text).map_err(|error| {
            let message = format!("not TOML: {}", error.message());
            let position = error.span().filter(|_| !file.is_empty());
            ScenarioError {
                position: position.map(|span| position_of(text, span.start)),
                ..ScenarioError::without_position(file, &message)
            }
        })?;
        if places.get_ref().is_empty() {
            return Err(ScenarioError::without_position(
                file,
                &format!("empty: {}", wording::REQUIRED_TABLES),
            ));
        }
        let mut document = Self { file, text, places, values: Value::Null };
        document.values = table_to_json(document.places.get_ref()).map_err(|problem| {
            document.error_at(&EffectiveValues::without_overrides(&Value::Null), &problem)
        })?;
        Ok(document)
    }

    /// Values of the text, always a table.
    pub fn values(&self) -> &Value {
        &self.values
    }

    /// Error about an override that cannot be applied.
    pub fn error_in_override(&self, change: &(String, String), problem: &Problem) -> ScenarioError {
        ScenarioError {
            r#override: Some(one_line(&with_overrides(slice::from_ref(change)))),
            ..ScenarioError::without_position(self.file, &problem.message)
        }
    }

    /// Locates a problem: in the override that set its path, or, without such an override, on a
    /// line of the text.
    pub fn error_at(&self, made: &EffectiveValues<'_>, problem: &Problem) -> ScenarioError {
        let mut error = ScenarioError::without_position(self.file, &problem.message);
        let written = made.origins.path_in_file(&problem.path);
        let last = |path: &[Step]| made.applied.iter().rfind(|(set, _)| path.starts_with(set));
        let own = last(&problem.path);
        // An error in a link or flow that a topology has generated is reported at the keys of the
        // topology. If an override has changed the link or flow, the error is reported there.
        let made_so = own.is_none() && topology::is_topology_path(&written);
        let path = if made_so { &*written } else { &problem.path };
        error.path = one_line(&path_text(made.values, path));
        if let Some((_, change)) = own.or_else(|| last(&written)) {
            error.r#override = Some(one_line(&with_overrides(slice::from_ref(change))));
            // The override already contains the key.
            if error.path == change.0 {
                error.path.clear();
            }
        } else {
            error.position = self.position(&written);
        }
        error
    }

    /// Position of a path in the text. If the text contains only the first steps of the path, the
    /// position of the last of them; `None` if the text comes from no file.
    pub fn position(&self, path: &[Step]) -> Option<Position> {
        let span = if self.file.is_empty() { None } else { self.place(path) };
        span.map(|span| position_of(self.text, span.start))
    }

    /// Byte range of a path in the text, or of the last of its steps that the text contains.
    fn place(&self, path: &[Step]) -> Option<Range<usize>> {
        let (Step::Key(first), rest) = path.split_first()? else { return None };
        let (key, mut value) = self.places.get_ref().get_key_value(first.as_str())?;
        let mut span = key.span();
        for step in rest {
            match (step, value.get_ref()) {
                (Step::Key(name), DeValue::Table(table)) => {
                    let Some((key, inner)) = table.get_key_value(name.as_str()) else { break };
                    (span, value) = (key.span(), inner);
                }
                (Step::Index(index), DeValue::Array(array)) => {
                    let Some(inner) = array.get(*index) else { break };
                    (span, value) = (inner.span(), inner);
                }
                _ => break,
            }
        }
        Some(span)
    }
}

/// An override and the path that it has set.
pub type AppliedOverride<'a> = (Vec<Step>, &'a (String, String));

/// Values after overrides and topology.
pub struct EffectiveValues<'a> {
    /// Root table.
    pub values: &'a Value,
    /// Overrides in order of application.
    pub applied: &'a [AppliedOverride<'a>],
    /// For each link and flow that a topology generates, the keys of `[topology]` from which it
    /// comes.
    pub origins: &'a Origins,
}

impl<'a> EffectiveValues<'a> {
    /// Values of the text itself, without overrides or topology.
    pub fn without_overrides(values: &'a Value) -> Self {
        Self { values, applied: &[], origins: &topology::NO_ORIGINS }
    }
}

/// Path in the notation of overrides, such as `link.cloud.rate`. A list element is given by its
/// name, or by its index if it has no name.
pub fn path_text(values: &Value, path: &[Step]) -> String {
    let mut parts = Vec::with_capacity(path.len());
    let mut value = Some(values);
    for step in path {
        match step {
            Step::Key(key) => {
                value = value.and_then(|value| value.get(key));
                parts.push(key.clone());
            }
            Step::Index(index) => {
                value = value.and_then(|value| value.get(index));
                let name = value.and_then(|value| value.get("name")).and_then(Value::as_str);
                parts.push(name.map_or_else(|| index.to_string(), str::to_owned));
            }
        }
    }
    parts.join(".")
}

fn position_of(text: &str, offset: usize) -> Position {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    // Continuation bytes of UTF-8 begin with the bits 10.
    let column = before[line_start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    let line = before.iter().filter(|byte| **byte == b'\n').count();
    Position { line: line as u32 + 1, column: column as u32 + 1 }
}

/// Converts a TOML table to plain data.
pub fn table_to_json(from: &DeTable<'_>) -> Result<Value, Problem> {
    let mut table = Map::new();
    for (key, inner) in from {
        let inner =
            value_to_json(inner.get_ref()).map_err(|problem| problem.within(key.get_ref()))?;
        table.insert(key.get_ref().to_string(), inner);
    }
    Ok(Value::Object(table))
}

/// Converts a TOML value to plain data. The depth of the recursion is bounded, because the parser
/// refuses deep nesting.
pub fn value_to_json(from: &DeValue<'_>) -> Result<Value, Problem> {
    Ok(match from {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map(Value::from)
            .map_err(|_| Problem::new(format!("{integer} is too large: integers end at 2^63")))?,
        DeValue::Float(float) => float
            .as_str()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| Problem::new(format!("{float} is not a finite number")))?,
        DeValue::Datetime(datetime) => {
            return Err(Problem::new(format!(
                "{datetime} is a date or a time of day: nothing in a scenario takes one"
            )));
        }
        DeValue::Array(array) => {
            let mut list = Vec::with_capacity(array.len());
            for (index, inner) in array.iter().enumerate() {
                list.push(value_to_json(inner.get_ref()).map_err(|mut problem| {
                    problem.path.insert(0, Step::Index(index));
                    problem
                })?);
            }
            Value::Array(list)
        }
        DeValue::Table(inner) => table_to_json(inner)?,
    })
}
