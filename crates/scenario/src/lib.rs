//! Scenario files: text in, checked types out.
//!
//! This crate does not access the file system. The caller may pass a function that reads the trace
//! files that a scenario names. A text is read in stages:
//!
//! 1. `document`: TOML to values with positions.
//! 2. `overrides`: changes by `--set`.
//! 3. `topology`: a shape to its links and flows.
//! 4. `traces`: embeds trace files.
//! 5. `file`, `tables`: values to the tables that users write.
//! 6. `resolve`: tables to a [`Scenario`], with names resolved, presets merged and routes computed.
//!
//! Each error names the file, the line, the key, the value and what is allowed. A long text without
//! errors is read by `pieces` instead, which never holds all its values at once.

mod amounts;
mod app;
mod describe;
mod document;
mod error;
mod file;
mod linux_names;
mod overrides;
mod passing;
mod pieces;
mod points;
mod relay;
mod relay_checks;
mod repair;
mod resolve;
mod routes;
mod sample_interval;
mod scenario;
mod schedule;
mod schema;
mod spread;
pub mod suggest;
pub mod sweep;
mod tables;
mod tcp;
mod topology;
mod traces;
mod transport;
mod udp;
mod wlan;
mod wording;
mod write;
mod written;

pub use amounts::Amounts;
pub use app::{App, Bulk, Cbr, Files, Ftp, OnOff, Poisson, RequestResponse, Reuse, Transfer};
pub use describe::describe;
pub use error::{Position, ScenarioError};
pub use file::json_schema;
pub use passing::{RelayPosition, Side};
pub use points::parse_points;
pub use relay::{Eln, Relay, Snoop, Split};
pub use sample_interval::SampleInterval;
pub use scenario::{
    Change, Direction, ExpandedFlow, Flow, Hop, Link, LinkDirection, NamedTcp, Route, Scenario,
    Transport,
};
pub use spread::{Amount, Distribution, Spread};
pub use tables::{Initiator, Stop};
pub use traces::ReadFile;
pub use udp::Udp;
pub use wlan::{Attempts, Wlan};
pub use written::ScenarioHeader;

use document::{AppliedOverride, Document, EffectiveValues};
use retx_tcp::{Loader, NoLoader};
use serde_json::Value;
use std::borrow::Cow;
use topology::Origins;

/// Size limit of a text, in bytes.
pub const TEXT_MAX_BYTES: usize = 16 << 20;

/// Largest number of flows in a scenario, after expanding `count`.
pub const FLOWS_MAX: u32 = 1_000_000;

/// Text of a scenario, and overrides.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Name of the file, for messages. Empty if the text comes from no file (see [`from_json`]):
    /// messages then give no line.
    pub name: &'a str,
    /// The TOML text.
    pub text: &'a str,
    /// Overrides from `--set key=value`, in order of application. Keys are written as in messages
    /// (`link.cloud.forward.channel.p`, list elements by their `name`), and values as in TOML; a
    /// bare word is a string.
    pub overrides: &'a [(String, String)],
}

/// Access to the files and code that a scenario names.
#[derive(Clone, Copy)]
pub struct ExternalSources<'a> {
    /// Reads trace files, which become part of the scenario.
    pub files: ReadFile<'a>,
    /// Finds user code.
    pub code: &'a dyn Loader,
}

/// Reads and checks a scenario that names neither trace files nor user code.
///
/// # Errors
/// The first error in the text or the overrides.
pub fn parse(source: &Source<'_>) -> Result<Scenario, ScenarioError> {
    parse_with(source, ExternalSources { files: &traces::refuse_files, code: &NoLoader })
}

/// Reads and checks a scenario, with the trace files and user code that it names.
///
/// # Errors
/// The first error in the text, the overrides, the files or the code.
pub fn parse_with(
    source: &Source<'_>,
    outside: ExternalSources<'_>,
) -> Result<Scenario, ScenarioError> {
    let in_pieces =
        pieces::is_splittable(source.text).then(|| pieces::read_in_pieces(source, outside.code));
    match in_pieces.flatten() {
        Some(scenario) => Ok(scenario),
        None => parse_whole(source, outside),
    }
}

fn parse_whole(
    source: &Source<'_>,
    outside: ExternalSources<'_>,
) -> Result<Scenario, ScenarioError> {
    let document = Document::parse(source.name, source.text)?;
    read(&document, source.overrides, outside).map_err(|error| {
        // An error about two keys may point to a line of the file, although only an override makes
        // this line invalid.
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
    ExternalSources { files, code }: ExternalSources<'_>,
) -> Result<Scenario, ScenarioError> {
    let mut values = Cow::Borrowed(document.values());
    let mut applied = Vec::with_capacity(changes.len());
    // Overrides of the topology are applied before its expansion, all others after it.
    let (of_shape, others): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| topology::changes_topology(&change.0));
    apply(document, &mut values, &mut applied, of_shape)?;
    let mut origins = Origins::default();
    if values.get(topology::KEY).is_some() {
        origins = topology::expand(values.to_mut()).map_err(|problem| {
            document.error_at(
                &EffectiveValues {
                    applied: &applied,
                    ..EffectiveValues::without_overrides(&values)
                },
                &problem,
            )
        })?;
    }
    apply(document, &mut values, &mut applied, others)?;
    // The values are copied only if there is a trace to embed.
    let embedded = traces::has_trace_file(&values).then(|| traces::embed(values.to_mut(), files));
    let embedded = embedded.unwrap_or(Ok(()));
    embedded.and_then(|()| resolve::read_values(&values, code)).map_err(|problem| {
        let made = EffectiveValues { values: &values, applied: &applied, origins: &origins };
        document.error_at(&made, &problem)
    })
}

/// Applies overrides in order, and records the paths that they set.
fn apply<'a>(
    document: &Document<'_>,
    values: &mut Cow<'_, Value>,
    applied: &mut Vec<AppliedOverride<'a>>,
    changes: Vec<&'a (String, String)>,
) -> Result<(), ScenarioError> {
    for change in changes {
        let path = overrides::apply(values.to_mut(), change)
            .map_err(|problem| document.error_in_override(change, &problem))?;
        applied.push((path, change));
    }
    Ok(())
}

/// Changes some fields of a TCP that is not in a scenario, such as `delayed_ack.segments=1`, as
/// `--set` does in a scenario. If `is_linux` is true, the TCP starts from a Linux preset, and names
/// of congestion controls are those of the kernel.
///
/// # Errors
/// An unknown key, or a value that no endpoint can run with.
pub fn adjust_tcp(
    tcp: &retx_tcp::Config,
    is_linux: bool,
    changes: &[(String, String)],
) -> Result<retx_tcp::Config, ScenarioError> {
    tcp::with_changes(tcp, is_linux, changes).map_err(|problem| ScenarioError {
        path: document::path_text(&Value::Null, &problem.path),
        ..ScenarioError::without_position("", &problem.message)
    })
}

/// Reads and checks a `[sweep]` table alone, given as JSON.
///
/// # Errors
/// The first error of the table.
pub fn read_sweep(json: &str) -> Result<sweep::Sweep, ScenarioError> {
    let plain = |message: String| ScenarioError::without_position("", &message);
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

/// Converts a scenario given as JSON (such as a Python dict) to TOML text, so that one parser reads
/// everything. A key whose value is `null` is left out.
///
/// # Errors
/// Not JSON, not an object, or a value that TOML cannot hold.
pub fn from_json(json: &str) -> Result<String, ScenarioError> {
    write::write_toml(&json_table(json)?).map_err(|(path, message)| ScenarioError {
        path,
        ..ScenarioError::without_position("", &message)
    })
}

/// Expands the `topology` of a scenario given as JSON. Returns JSON that contains the topology's
/// links and flows instead of the topology; they are not checked.
///
/// # Errors
/// Not JSON, not an object, an unknown shape, or unknown parameters.
pub fn expand_topology(json: &str) -> Result<String, ScenarioError> {
    let mut values = Value::Object(json_table(json)?);
    let expanded = topology::expand(&mut values);
    expanded.map(|_| values.to_string()).map_err(|problem| ScenarioError {
        path: document::path_text(&values, &problem.path),
        ..ScenarioError::without_position("", &problem.message)
    })
}

fn json_table(json: &str) -> Result<serde_json::Map<String, Value>, ScenarioError> {
    let refuse = |message: &str| ScenarioError::without_position("", message);
    if json.len() > TEXT_MAX_BYTES {
        return Err(ScenarioError::too_large("", json.len()));
    }
    match serde_json::from_str(json).map_err(|error| refuse(&format!("not JSON: {error}")))? {
        Value::Object(table) => Ok(table),
        _ => Err(refuse("a scenario is a table of keys and values")),
    }
}
