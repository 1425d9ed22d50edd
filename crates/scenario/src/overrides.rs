//! `--set key=value`: changes to the values of a file before they are read as a scenario.

use crate::document;
use crate::error::{Problem, Step};
use crate::suggest::{did_you_mean, join_names};
use crate::topology;
use retx_tcp::presets;
use serde_json::{Map, Value};
use toml::de::DeValue;

/// Keys whose value is a choice, each with the key that names the choice when it is written as a
/// table, such as `discipline` for `queue`.
pub const CHOICES: &[(&str, &str)] = &[
    (topology::KEY, topology::TAG),
    ("queue", "discipline"),
    ("channel", "model"),
    ("app", "kind"),
    ("congestion_control", "name"),
    ("loss_detection", "name"),
    ("loss_cause", "name"),
    ("rto", "name"),
    ("backoff", "name"),
    ("spurious", "name"),
];

/// Applies one change; returns the path that it has set.
///
/// Elements of a list are addressed by name, or by number if no element has a name. A choice
/// written as a bare name becomes a table when one of its parameters is set.
///
/// # Errors
/// The key names something that does not exist, or the value is not TOML.
pub fn apply(values: &mut Value, (key, text): &(String, String)) -> Result<Vec<Step>, Problem> {
    let value = parse_value(text)?;
    let parts: Vec<&str> = key.split('.').map(unquoted).collect();
    if let Some(part) = parts.iter().find(|part| part.is_empty()) {
        return Err(Problem::new(format!("\"{part}\" is no key: write one like link.NAME.rate")));
    }
    let mut path = Vec::with_capacity(parts.len());
    let mut at = values;
    for (depth, part) in parts.iter().enumerate() {
        let last = depth + 1 == parts.len();
        let parent = match path.last() {
            Some(Step::Key(key)) => key.clone(),
            // The parent is an element of a list, which the previous part of the key names.
            _ => parts[..depth].last().map_or(String::new(), |part| (*part).to_owned()),
        };
        if depth == 2 && ["link", topology::KEY].contains(&parts[0]) && parts.len() > 4 {
            inherit(at, part, parts[3]);
        }
        if depth == 1 && parts[0] == "tcp" && !last {
            start_from_preset(at, part);
        }
        open_choice(at, &parent);
        at = match at {
            Value::Object(table) => {
                if depth == 1 && parts[0] == "tcp" && !table.contains_key(*part) {
                    return Err(unknown("TCP", part, table.keys().map(String::as_str)));
                }
                path.push(Step::Key((*part).to_owned()));
                table.entry(*part).or_insert_with(|| Value::Object(Map::new()))
            }
            Value::Array(elements) => {
                let index = find(elements, part, &parent)?;
                path.push(Step::Index(index));
                &mut elements[index]
            }
            other => {
                let so_far = parts[..depth].join(".");
                return Err(Problem::new(format!("{so_far} is {other}: it has no \"{part}\"")));
            }
        };
    }
    *at = value;
    Ok(path)
}

fn unquoted(part: &str) -> &str {
    let part = part.trim();
    let bare = |quote: char| part.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    bare('"').or_else(|| bare('\'')).unwrap_or(part)
}

/// Reads a value as TOML. Text that is not valid TOML is a string, so that `--set flow.a.tcp=reno`
/// and `--set link.a.delay="20 ms"` need no second pair of quotes.
fn parse_value(text: &str) -> Result<Value, Problem> {
    let trimmed = text.trim();
    match DeValue::parse(trimmed) {
        Ok(value) if !matches!(value.get_ref(), DeValue::Datetime(_)) => {
            document::value_to_json(value.get_ref())
        }
        Err(error) if trimmed.starts_with(['[', '{', '"', '\'']) => {
            Err(Problem::new(format!("the value is not TOML: {}", error.message())))
        }
        _ => Ok(Value::String(trimmed.to_owned())),
    }
}

/// Index of the element that a key names.
fn find(elements: &[Value], part: &str, list_name: &str) -> Result<usize, Problem> {
    let name = |element: &Value| element.get("name").and_then(Value::as_str).map(str::to_owned);
    if let Some(index) = elements.iter().position(|element| name(element).as_deref() == Some(part))
    {
        return Ok(index);
    }
    let named: Vec<String> = elements.iter().filter_map(name).collect();
    if !named.is_empty() {
        return Err(unknown(list_name, part, named.iter().map(String::as_str)));
    }
    part.parse().ok().filter(|index| *index < elements.len()).ok_or_else(|| {
        Problem::new(format!(
            "{list_name} is a list of {}: name an element by its number, from 0",
            elements.len()
        ))
    })
}

fn unknown<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Problem {
    Problem::new(format!(
        "no {what} \"{name}\"{} (here: {})",
        did_you_mean(name, names.clone()),
        join_names(names)
    ))
}

/// Prepares an override such as `forward.channel.p` for a link whose channel applies to both
/// directions: the direction gets its own copy of the channel.
fn inherit(link: &mut Value, way: &str, key: &str) {
    let Value::Object(link) = link else { return };
    if !matches!(way, "forward" | "reverse") {
        return;
    }
    let Some(shared) = link.get(key).cloned() else { return };
    let own = link.entry(way).or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(own) = own {
        own.entry(key).or_insert(shared);
    }
}

/// Prepares an override such as `tcp.reno.mss` for a file whose flows name the preset itself: the
/// file gets a table that starts from the preset.
fn start_from_preset(tcp: &mut Value, name: &str) {
    if let Value::Object(tables) = tcp
        && !tables.contains_key(name)
        && presets::find(name).is_some()
    {
        tables.insert(name.to_owned(), serde_json::json!({ "like": name }));
    }
}

/// Turns a choice such as `queue = "droptail"` into the table `{ discipline = "droptail" }`.
fn open_choice(value: &mut Value, key: &str) {
    let Some((_, tag)) = CHOICES.iter().find(|choice| choice.0 == key) else { return };
    if let Value::String(name) = value {
        let name = Value::String(std::mem::take(name));
        *value = Value::Object(Map::from_iter([((*tag).to_owned(), name)]));
    }
}
