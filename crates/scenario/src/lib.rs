//! The scenario file: text in, checked types out. No files are read here; a caller may hand in a
//! function that reads those that a scenario names.
//!
//! The way of a text: `document` (TOML to values, with their places) → `overrides` (`--set`) →
//! `topology` (a shape to the links and flows that it stands for) → `traces` (the files that it
//! names) → `file` (values to the tables that users write) → `resolve` (tables to a [`Scenario`],
//! in which every name is found, every preset merged and every route laid). Each refusal names the
//! file, the line, the key, the value and what is allowed. A long text without a fault takes a
//! shorter way, `pieces`, on which it is never held as values all at once.

mod app;
mod describe;
mod document;
mod error;
mod file;
mod linux_names;
mod overrides;
mod pieces;
mod points;
mod relay;
mod repair;
mod resolve;
mod routes;
mod sample_interval;
mod scenario;
mod schedule;
mod schema;
mod spread;
mod suggest;
pub mod sweep;
mod tcp;
mod topology;
mod traces;
mod transport;
mod udp;
mod wlan;
mod wording;
mod write;
mod written;

pub use app::{App, Bulk, Cbr, Files, Ftp, OnOff, Poisson, RequestResponse, Reuse, Transfer};
pub use describe::describe;
pub use error::{Position, ScenarioError};
pub use file::{Initiator, Stop};
pub use points::parse_points;
pub use relay::{Eln, Passage, Relay, Side, Snoop, Split};
pub use sample_interval::SampleInterval;
pub use scenario::{
    Direction, ExpandedFlow, Flow, Hop, Link, NamedTcp, Route, Scenario, Transport, Way,
};
pub use schedule::Change;
pub use schema::json_schema;
pub use spread::{Drawn, Spread};
pub use traces::ReadFile;
pub use udp::Udp;
pub use wlan::{Attempts, Wlan};
pub use written::Head;

use document::{Applied, Document, Made};
use retx_tcp::user::{Loader, NoLoader};
use serde_json::Value;
use std::borrow::Cow;
use topology::Origins;

/// Largest text that is read, in bytes.
pub const TEXT_MAX_BYTES: usize = 16 << 20;

/// Most flows in a scenario, every `count` expanded.
pub const FLOWS_MAX: u32 = 1_000_000;

/// A scenario's text and what the command line changes in it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file's name, for messages. Empty when the text comes from no file (see [`from_json`]):
    /// messages then give no line.
    pub name: &'a str,
    /// The TOML text.
    pub text: &'a str,
    /// `--set key=value`: keys as in messages (`link.cloud.forward.channel.p`, elements of lists
    /// by their `name`); values as in TOML, bare words as strings. Applied in order.
    pub overrides: &'a [(String, String)],
}

/// How to get at what a scenario names and does not hold.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// Reads the trace files, which become part of the scenario.
    pub files: ReadFile<'a>,
    /// Finds code of the user's own.
    pub code: &'a dyn Loader,
}

/// Reads and checks a scenario that names neither trace files nor code of the user's own.
///
/// # Errors
/// The first thing in the text or the overrides that no run could be made of.
pub fn parse(source: &Source<'_>) -> Result<Scenario, ScenarioError> {
    parse_with(source, Outside { files: &traces::no_files, code: &NoLoader })
}

/// Reads and checks a scenario, and what it names.
///
/// # Errors
/// The first thing in the text, the overrides, the files or the code that no run could be made of.
pub fn parse_with(source: &Source<'_>, outside: Outside<'_>) -> Result<Scenario, ScenarioError> {
    let in_pieces = pieces::is_long(source.text).then(|| pieces::read(source, outside.code));
    match in_pieces.flatten() {
        Some(scenario) => Ok(scenario),
        None => parse_whole(source, outside),
    }
}

fn parse_whole(source: &Source<'_>, outside: Outside<'_>) -> Result<Scenario, ScenarioError> {
    let document = Document::parse(source.name, source.text)?;
    read(&document, source.overrides, outside).map_err(|error| {
        // A fault that spans two keys may lie at a line that is sound in the file as it stands.
        let blamed = error.r#override.is_some() || source.overrides.is_empty();
        if !blamed && read(&document, &[], outside).is_ok() {
            error.blame_overrides(source.overrides)
        } else {
            error
        }
    })
}

fn read(
    document: &Document<'_>,
    changes: &[(String, String)],
    Outside { files, code }: Outside<'_>,
) -> Result<Scenario, ScenarioError> {
    let mut values = Cow::Borrowed(document.values());
    let mut applied = Vec::with_capacity(changes.len());
    // A shape is changed before it is written out; what it stands for, after.
    let (of_shape, others): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| topology::is_meant(&change.0));
    apply(document, &mut values, &mut applied, of_shape)?;
    let mut origins = Origins::default();
    if values.get(topology::KEY).is_some() {
        origins = topology::expand(values.to_mut()).map_err(|problem| {
            document.refuse(&Made { applied: &applied, ..Made::plain(&values) }, &problem)
        })?;
    }
    apply(document, &mut values, &mut applied, others)?;
    // A copy only where there is a trace to put in.
    let embedded = traces::are_named(&values).then(|| traces::embed(values.to_mut(), files));
    let embedded = embedded.unwrap_or(Ok(()));
    embedded.and_then(|()| resolve::read(&values, code)).map_err(|problem| {
        let made = Made { values: &values, applied: &applied, origins: &origins };
        document.refuse(&made, &problem)
    })
}

/// Applies overrides in their order, and notes what they set.
fn apply<'a>(
    document: &Document<'_>,
    values: &mut Cow<'_, Value>,
    applied: &mut Vec<Applied<'a>>,
    changes: Vec<&'a (String, String)>,
) -> Result<(), ScenarioError> {
    for change in changes {
        let path = overrides::apply(values.to_mut(), change)
            .map_err(|problem| document.refuse_override(change, &problem))?;
        applied.push((path, change));
    }
    Ok(())
}

/// A TCP with some fields changed as `--set` writes them, such as `delayed_ack.segments=1`: for
/// those who need no scenario around it. With `is_linux` the TCP starts from a preset of Linux, and
/// names of congestion controls are the kernel's.
///
/// # Errors
/// A key that is unknown, a value that no endpoint could run with.
pub fn adjust_tcp(
    tcp: &retx_tcp::Config,
    is_linux: bool,
    changes: &[(String, String)],
) -> Result<retx_tcp::Config, ScenarioError> {
    tcp::adjusted(tcp, is_linux, changes).map_err(|problem| ScenarioError {
        path: document::path_text(&Value::Null, &problem.path),
        ..ScenarioError::plain("", &problem.message)
    })
}

/// Reads and checks a `[sweep]` table alone, given as JSON.
///
/// # Errors
/// The first thing that no sweep could be made of.
pub fn read_sweep(json: &str) -> Result<sweep::Sweep, ScenarioError> {
    let plain = |message: String| ScenarioError::plain("", &message);
    let value = serde_json::from_str(json).map_err(|error| plain(format!("not JSON: {error}")))?;
    let Value::Object(table) = value else {
        return Err(plain("a sweep is a table of keys and values".into()));
    };
    sweep::read(&table).map_err(|problem| {
        let problem = problem.within("sweep");
        let path = document::path_text(&Value::Null, &problem.path);
        ScenarioError { path, ..plain(problem.message) }
    })
}

/// Turns a scenario given as JSON (a Python dict, say) into TOML text, so that one parser reads
/// everything. A key whose value is `null` is left out.
///
/// # Errors
/// Not JSON, not an object, or a value that TOML cannot hold.
pub fn from_json(json: &str) -> Result<String, ScenarioError> {
    write::toml(&json_table(json)?)
        .map_err(|(path, message)| ScenarioError { path, ..ScenarioError::plain("", &message) })
}

/// Writes out the `topology` of a scenario given as JSON: the same with the links and flows that it
/// stands for, as JSON. They are not checked.
///
/// # Errors
/// Not JSON, not an object, no such shape, parameters that it does not have.
pub fn expand_topology(json: &str) -> Result<String, ScenarioError> {
    let mut values = Value::Object(json_table(json)?);
    let expanded = topology::expand(&mut values);
    expanded.map(|_| values.to_string()).map_err(|problem| ScenarioError {
        path: document::path_text(&values, &problem.path),
        ..ScenarioError::plain("", &problem.message)
    })
}

fn json_table(json: &str) -> Result<serde_json::Map<String, Value>, ScenarioError> {
    let refuse = |message: &str| ScenarioError::plain("", message);
    if json.len() > TEXT_MAX_BYTES {
        return Err(ScenarioError::too_large("", json.len()));
    }
    match serde_json::from_str(json).map_err(|error| refuse(&format!("not JSON: {error}")))? {
        Value::Object(table) => Ok(table),
        _ => Err(refuse("a scenario is a table of keys and values")),
    }
}
