//! Rewording of deserialisation errors as sentences about a scenario file.

use crate::error::{Problem, Step};
use crate::suggest::{did_you_mean, join_names};
use retx_units::{Duration, choice};
use serde::Deserialize;
use serde_json::Value;
use serde_path_to_error::Segment;

/// Largest `count` of a flow, and largest number of files of an `ftp`.
pub const FLOWS_OR_FILES_MAX: u32 = crate::FLOWS_MAX;

/// Minimum contents of a scenario.
pub const REQUIRED_TABLES: &str = "a scenario needs at least a `duration`, one [[link]] with \
     `name` and `ends` or one [[wlan]] with `name` and `stations`, and one [[flow]] with \
     `name`, `from`, `to`, `tcp` or `udp`, and `app`";

/// Reads a value as `T`.
///
/// # Errors
/// The value does not have the type; the error is at its path.
pub fn deserialize<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut path: Vec<Step> = error.path().iter().filter_map(step).collect();
        let text = error.into_inner().to_string();
        let (inner, message) = choice::split_path(&text);
        path.extend(inner.split(['.', '[']).filter(|part| !part.is_empty()).map(inner_step));
        let message = sentence(message, &path);
        Problem { path, message }
    })
}

fn step(segment: &Segment) -> Option<Step> {
    match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// Step of a path that was passed as text: `drop[2]`, `0.p`.
fn inner_step(part: &str) -> Step {
    let part = part.strip_suffix(']').unwrap_or(part);
    part.parse().map_or_else(|_| Step::Key(part.to_owned()), Step::Index)
}

/// Rewords a deserialiser's message; unknown messages are kept.
fn sentence(message: &str, path: &[Step]) -> String {
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let (word, names) = known(rest);
        return unknown_key(word, &names);
    }
    if let Some(rest) = message.strip_prefix("unknown variant `") {
        let (word, names) = known(rest);
        let near = did_you_mean(word, names.iter().copied());
        return format!("unknown name \"{word}\"{near} (expected one of {})", join_names(names));
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("lacks {field}");
    }
    if let Some(length) = message.strip_prefix("invalid length ") {
        return wrong_length(length, path);
    }
    let rest =
        message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    match (rest.and_then(|rest| rest.rsplit_once(", expected ")), path) {
        // A single table `[link]` in place of the list `[[link]]`.
        (Some(("map", "a sequence")), [Step::Key(key)]) => {
            format!("expected a list of tables, each under a [[{key}]] of its own; found a table")
        }
        (Some((found, expected)), _) => {
            let (wanted, value) = (expectation(expected), finding(found));
            let spelling = as_number(&value).filter(|_| wanted.contains("number"));
            let hint = spelling.map_or_else(String::new, |number| format!(": write {number}"));
            format!("expected {wanted}; found {value}{hint}")
        }
        (None, _) => message.to_owned(),
    }
}

/// Unknown name and known names from a message of serde: ``x`, expected one of `a`, …``.
fn known(rest: &str) -> (&str, Vec<&str>) {
    // The name from the file comes first in the message, and may itself contain a separator, so the
    // message is split at the last one.
    let (word, names) = match rest.rsplit_once("`, expected ") {
        Some((word, names)) => (word, names),
        None => (rest.split('`').next().unwrap_or_default(), ""),
    };
    (word, names.split('`').skip(1).step_by(2).collect())
}

/// Words that others use for a key, and the key.
const SYNONYMS: [(&str, &str); 9] = [
    ("preset", "like"),
    ("cc", "congestion_control"),
    ("bandwidth", "rate"),
    ("capacity", "rate"),
    ("latency", "delay"),
    ("buffer", "queue"),
    ("source", "from"),
    ("destination", "to"),
    ("application", "app"),
];

/// Error for an unknown key.
pub fn unknown_key(word: &str, known: &[&str]) -> String {
    let synonym = SYNONYMS.iter().find(|(other, key)| *other == word && known.contains(key));
    let near = did_you_mean(synonym.map_or(word, |(_, key)| key), known.iter().copied());
    format!("unknown key{near} (keys here: {})", join_names(known.iter().copied()))
}

/// Lists of a fixed length, by key. Serde does not name the length if there are too many elements.
const LENGTHS: [(&str, &str); 4] = [
    ("ends", "a link has two ends"),
    ("positions", "a position has two coordinates"),
    ("limits", "there are three limits"),
    ("thresholds", "there are four thresholds"),
];

/// Rewords serde's `3, expected an array of length 2`.
fn wrong_length(serde: &str, path: &[Step]) -> String {
    let key = path.iter().rev().find(|step| matches!(step, Step::Key(_)));
    let is_named = |it: &&(&str, &str)| matches!(key, Some(Step::Key(key)) if key == it.0);
    match (serde.split_once(", expected "), LENGTHS.iter().find(is_named)) {
        (Some((found, _)), Some((_, rule))) => format!("{rule}; found a list of {found}"),
        (Some((found, "fewer elements in array")), _) => format!("a list of {found} is too long"),
        (Some((found, expected)), _) => {
            format!("expected {}; found a list of {found}", expectation(expected))
        }
        (None, _) => format!("wrong length: {serde}"),
    }
}

/// Converts a value from serde's notation (integer `-3`, string "a") to that of the file.
fn finding(serde: &str) -> String {
    match serde {
        "map" => "a table".into(),
        "sequence" => "a list".into(),
        _ => {
            let words = ["integer ", "floating point ", "boolean ", "string "];
            let value = words.iter().find_map(|word| serde.strip_prefix(word)).unwrap_or(serde);
            value.trim_matches('`').to_owned()
        }
    }
}

/// Number that a text such as `"50%"` or `"10 MB"` denotes.
fn as_number(value: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 6] = [
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
    ];
    let text = value.trim_matches('"').trim();
    let number = |unit: &str| text.strip_suffix(unit)?.trim().parse::<f64>().ok();
    let share = number("%").map(|percent| percent / 100.0);
    share.or_else(|| UNITS.iter().find_map(|(unit, scale)| Some(number(unit)? * scale)))
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

/// Checks a name that the user has chosen for a link, a flow, a TCP or a node.
///
/// # Errors
/// Names that would be ambiguous in messages, tables and keys.
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
        // Keys of overrides and sweeps join names with dots, as in link.cloud.rate.
        "holds a dot or a quote, which keys like link.NAME.rate could not be told from".into()
    } else {
        return Ok(());
    };
    Err(Problem::new(format!("the {what}'s name \"{name}\" {fault}")))
}

/// Checks that changes are in order of time.
pub fn check_order(at: Duration, before: Option<Duration>) -> Result<(), Problem> {
    if let Some(before) = before.filter(|before| at <= *before) {
        let message = format!(
            "{at} does not come after {before}, the change before: write changes in order of time"
        );
        return Err(Problem::new(message).within("at"));
    }
    Ok(())
}
