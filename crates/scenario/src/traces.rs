//! Trace files, whose contents replace their names in the scenario.

use crate::error::{Problem, Step};
use retx_units::{Duration, Probability, Rate};
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::str::FromStr;

/// Function that reads the file at a path relative to the scenario's file; its error is the reason
/// why the file cannot be read.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Reader that refuses every file, for scenarios that have none.
pub fn refuse_files(_: &str) -> Result<String, String> {
    Err("no files can be read here: write the values into the scenario".into())
}

/// Largest number of lines in a trace.
const LINES_MAX: usize = 4_000_000;

/// True if a trace comes from a file.
pub fn has_trace_file(values: &Value) -> bool {
    match values {
        Value::Object(table) => is_file(table) || table.values().any(has_trace_file),
        Value::Array(list) => list.iter().any(has_trace_file),
        _ => false,
    }
}

fn is_file(table: &Map<String, Value>) -> bool {
    table.get("model").and_then(Value::as_str) == Some("trace") && table.contains_key("file")
}

/// Replaces the name of each trace file by its contents.
///
/// # Errors
/// The first file that cannot be read or is not a trace.
pub fn embed(values: &mut Value, read: ReadFile<'_>) -> Result<(), Problem> {
    match values {
        Value::Object(table) => {
            if is_file(table) {
                return embed_file(table, read);
            }
            for (key, value) in table {
                embed(value, read).map_err(|problem| problem.within(key))?;
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter_mut().enumerate() {
                embed(value, read).map_err(|mut problem| {
                    problem.path.insert(0, Step::Index(index));
                    problem
                })?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn embed_file(table: &mut Map<String, Value>, read: ReadFile<'_>) -> Result<(), Problem> {
    let refuse = |key: &str, message: String| Err(Problem::new(message).within(key));
    let Some(Value::String(file)) = table.get("file").cloned() else {
        return refuse("file", "expected the path of a file in quotes".into());
    };
    for key in ["points", "opportunities_ms"] {
        if table.contains_key(key) {
            return refuse("file", format!("contradicts `{key}`: write one or the other"));
        }
    }
    let format = table.get("format").cloned().unwrap_or_else(|| "csv".into());
    let key = match format.as_str() {
        Some("csv") => "points",
        Some("mahimahi") => "opportunities_ms",
        _ => return refuse("format", format!("{format} is none of \"csv\", \"mahimahi\"")),
    };
    let fault = |message: String| Problem::new(message).within("file");
    let text = read(&file).map_err(|message| fault(format!("{file}: {message}")))?;
    let content = if key == "points" { points(&text) } else { opportunities(&text) };
    let content = content.map_err(|Fault { line, message }| {
        fault(line.map_or_else(
            || format!("{file}: {message}"),
            |line| format!("{file}:{line}: {message}"),
        ))
    })?;
    table.remove("file");
    table.remove("format");
    table.insert(key.into(), content);
    Ok(())
}

/// Error in a trace, with its line.
#[derive(Debug)]
struct Fault {
    line: Option<usize>,
    message: String,
}

impl Fault {
    fn at<T>(line: usize, message: impl Into<String>) -> Result<T, Self> {
        Err(Self { line: Some(line), message: message.into() })
    }
}

/// Quotes a part of a file, without control characters. The quotation is short, because a scenario
/// from a stranger may name a confidential file.
fn quoted(text: &str) -> String {
    const CHARACTERS_MAX: usize = 40;
    let mut shown: String =
        text.chars().take(CHARACTERS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    format!("\"{shown}\"")
}

/// Non-empty lines with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Parses a Mahimahi trace: milliseconds, one per line.
fn opportunities(text: &str) -> Result<Value, Fault> {
    let mut list: Vec<u64> = Vec::new();
    for (number, line) in lines(text) {
        let Ok(ms) = line.parse::<u64>() else {
            let line = quoted(line);
            let what = "is no whole number of milliseconds, as Mahimahi's traces have";
            return Fault::at(number, format!("{line} {what}"));
        };
        if let Some(last) = list.last().filter(|last| ms < **last) {
            return Fault::at(number, format!("{ms} ms goes back behind {last} ms"));
        }
        if list.len() == LINES_MAX {
            return Fault::at(number, format!("more than {LINES_MAX} lines"));
        }
        list.push(ms);
    }
    if list.last().is_none_or(|last| *last == 0) {
        let message = "no opportunity after 0 ms: the trace comes again after its last millisecond";
        return Err(Fault { line: None, message: message.into() });
    }
    Ok(json!(list))
}

/// Columns of a table, and the scenario key of each.
const COLUMNS: [(&str, &str); 4] =
    [("time_s", "at"), ("loss", "loss"), ("delay_s", "delay"), ("rate_bit_s", "rate")];

/// Parses a table with a header.
fn points(text: &str) -> Result<Value, Fault> {
    let mut lines = lines(text);
    let Some((number, header)) = lines.next() else {
        return Err(Fault { line: None, message: "empty: expected a header and lines".into() });
    };
    let keys = keys(number, header)?;
    let mut points: Vec<Value> = Vec::new();
    let mut last: Option<Duration> = None;
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != keys.len() {
            let message = format!("{} values under {} columns", cells.len(), keys.len());
            return Fault::at(number, message);
        }
        let mut point = Map::new();
        for (cell, (column, key)) in cells.into_iter().zip(&keys) {
            if cell.is_empty() {
                return Fault::at(number, format!("{column} is missing: a gap in the trace"));
            }
            point.insert((*key).into(), value(number, column, cell)?);
        }
        let at = point["at"].as_str().and_then(|at| at.parse::<Duration>().ok());
        let at = at.unwrap_or_default();
        match last {
            None if !at.is_zero() => {
                let message = format!("begins at {at}: a gap in the trace, which begins at 0 s");
                return Fault::at(number, message);
            }
            Some(last) if at <= last => {
                return Fault::at(number, format!("{at} does not come after {last}"));
            }
            _ => last = Some(at),
        }
        if points.len() == LINES_MAX {
            return Fault::at(number, format!("more than {LINES_MAX} lines"));
        }
        points.push(Value::Object(point));
    }
    if points.is_empty() {
        return Err(Fault { line: None, message: "no line after the header".into() });
    }
    Ok(Value::Array(points))
}

fn keys(number: usize, header: &str) -> Result<Vec<(&str, &'static str)>, Fault> {
    let known = COLUMNS.map(|(column, _)| column).join(", ");
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for column in header.split(',').map(str::trim) {
        let Some((_, key)) = COLUMNS.iter().find(|(name, _)| *name == column) else {
            let message = format!("unknown column {} (columns: {known})", quoted(column));
            return Fault::at(number, message);
        };
        if keys.iter().any(|(_, other)| other == key) {
            return Fault::at(number, format!("the column {column} stands twice"));
        }
        keys.push((column, key));
    }
    if keys.len() < 2 || keys.iter().all(|(_, key)| *key != "at") {
        return Fault::at(number, format!("needs time_s and at least one more of {known}"));
    }
    Ok(keys)
}

/// Converts a cell to the notation of scenarios.
fn value(number: usize, column: &str, cell: &str) -> Result<Value, Fault> {
    let unit = match column {
        "loss" => {
            let loss = cell.parse::<f64>().ok().and_then(Probability::new);
            return loss.map(|loss| json!(loss)).ok_or_else(|| Fault {
                line: Some(number),
                message: format!(
                    "loss: {} is not a probability, a number from 0 to 1",
                    quoted(cell)
                ),
            });
        }
        "rate_bit_s" => "bit/s",
        _ => "s",
    };
    let text = format!("{cell} {unit}");
    let written =
        if column == "rate_bit_s" { read::<Rate>(&text) } else { read::<Duration>(&text) };
    written.map_or_else(
        || Fault::at(number, format!("{column}: {} is no number from 0 on", quoted(cell))),
        |text| Ok(Value::String(text)),
    )
}

/// Parses a quantity and returns its text.
fn read<T: FromStr + Display>(text: &str) -> Option<String> {
    text.parse::<T>().ok().map(|quantity| quantity.to_string())
}
