//! Turns the messages of deserialisers into sentences about a scenario file.

use crate::error::{Problem, Step};
use crate::suggest::{did_you_mean, list};
use retx_units::choice;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

/// Most flows of one `count`, and most files of one `ftp`.
pub const FLOWS_OR_FILES_MAX: u32 = crate::FLOWS_MAX;

/// What a file without any key is told.
pub const EMPTY: &str = "empty: a scenario needs at least a `duration`, one [[link]] with `name` \
     and `ends`, and one [[flow]] with `name`, `from`, `to`, `tcp` and `app`";

/// Reads a value as `T`.
///
/// # Errors
/// What does not fit, at its path within the value.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut path: Vec<Step> = error.path().iter().filter_map(step).collect();
        let text = error.into_inner().to_string();
        let (inner, message) = choice::split_path(&text);
        path.extend(inner.split(['.', '[']).filter(|part| !part.is_empty()).map(inner_step));
        Problem { path, message: sentence(message) }
    })
}

fn step(segment: &Segment) -> Option<Step> {
    match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// A step of a path that was carried as text: `drop[2]`, `0.p`.
fn inner_step(part: &str) -> Step {
    let part = part.strip_suffix(']').unwrap_or(part);
    part.parse().map_or_else(|_| Step::Key(part.to_owned()), Step::Index)
}

/// A deserialiser's message in the words of this crate; others are kept as they are.
fn sentence(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown field `") {
        return unknown(rest, "key", "keys here");
    }
    if let Some(rest) = message.strip_prefix("unknown variant `") {
        return unknown(rest, "name", "names here");
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("lacks {field}");
    }
    for prefix in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some(rest) = message.strip_prefix(prefix)
            && let Some((found, expected)) = rest.rsplit_once(", expected ")
        {
            let length = if prefix.starts_with("invalid length") { "a list of " } else { "" };
            return format!("expected {}; found {length}{found}", expectation(expected));
        }
    }
    message.to_owned()
}

/// The refusal of a name, from the rest of serde's message: ``x`, expected one of `a`, `b```.
fn unknown(rest: &str, what: &str, allowed: &str) -> String {
    // What the file says comes first and may hold anything; the known names come last.
    let (word, names) = match rest.rsplit_once("`, expected ") {
        Some((word, names)) => (word, names),
        None => (rest.split('`').next().unwrap_or_default(), ""),
    };
    let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
    let names = names.as_slice();
    format!(
        "unknown {what}{}{} ({allowed}: {})",
        if what == "key" { String::new() } else { format!(" \"{word}\"") },
        did_you_mean(word, names.iter().copied()),
        list(names.iter().copied())
    )
}

fn expectation(serde: &str) -> String {
    match serde {
        "u8" | "u16" | "u32" => "a whole number from 0 to 4294967295".into(),
        "u64" | "usize" => "a whole number, 0 or more".into(),
        "a nonzero u32" => "a whole number from 1 to 4294967295".into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        "a string" | "string" => "text in quotes".into(),
        other => match other.strip_prefix("an array of length ") {
            Some(length) => format!("a list of {length}"),
            None if other.starts_with("struct ") => "a table".into(),
            None => other.to_owned(),
        },
    }
}

/// A name of something that the user makes up: a link, a flow, a TCP, a node.
///
/// # Errors
/// Names that could not be told apart in messages, tables and keys.
pub fn check_name(name: &str, what: &str) -> Result<(), Problem> {
    const LONGEST: usize = 100;
    let fault = if name.is_empty() {
        "is empty".to_owned()
    } else if name.chars().count() > LONGEST {
        format!("has more than {LONGEST} characters")
    } else if name.trim() != name {
        "begins or ends with a space".into()
    } else if name.chars().any(char::is_control) {
        "holds a control character".into()
    } else if what != "node" && name.contains(['.', '"', '\'']) {
        // Keys of overrides and sweeps join names with dots: link.cloud.rate.
        "holds a dot or a quote, which keys like link.NAME.rate could not be told from".into()
    } else {
        return Ok(());
    };
    Err(Problem::new(format!("the {what}'s name \"{name}\" {fault}")))
}
