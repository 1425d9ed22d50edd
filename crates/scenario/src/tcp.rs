//! `[tcp.NAME]`: presets and other TCPs, with some fields overridden.

use crate::error::{Problem, Step as PathStep};
use crate::linux_names;
use crate::overrides;
use crate::scenario::NamedTcp;
use crate::suggest::{did_you_mean, join_names};
use crate::wording::{self, check_name, unknown_key};
use retx_tcp::presets;
use retx_tcp::{Loader, NoLoader};
use retx_units::choice::{self, JsonSchema};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::LazyLock;

/// Maximum number of `[tcp.NAME]` tables. The limit bounds memory, since each resolved TCP takes
/// some KB; no study needs as many.
const TABLES_MAX: usize = 10_000;

/// TCPs of a scenario, resolved.
pub struct TcpTable {
    /// TCPs in the order of the file, then presets in order of first use.
    pub all: Vec<NamedTcp>,
    index: HashMap<String, usize>,
    defined: usize,
}

impl TcpTable {
    /// Resolves the `[tcp.NAME]` tables; `loader` finds user code.
    ///
    /// # Errors
    /// Unknown or circular `like`, or a field that is unknown or out of range; the error is at
    /// `NAME` or below.
    pub fn read(tables: &Map<String, Value>, loader: &dyn Loader) -> Result<Self, Problem> {
        if tables.len() > TABLES_MAX {
            let message = format!("{} tables: at most {TABLES_MAX} are read", tables.len());
            return Err(Problem::new(message));
        }
        let mut resolver = Resolver { tables, loader, done: HashMap::new() };
        for name in tables.keys() {
            check_name(name, "TCP").map_err(|problem| problem.within(name))?;
            resolver.resolve(name)?;
        }
        let take = |name: &String| {
            let done = resolver.done.remove(name).expect("every table has been resolved");
            NamedTcp { name: name.clone(), config: done.config }
        };
        let all: Vec<NamedTcp> = tables.keys().map(take).collect();
        let index = all.iter().enumerate().map(|(at, tcp)| (tcp.name.clone(), at)).collect();
        Ok(Self { defined: all.len(), all, index })
    }

    /// Index of a TCP or preset by name.
    ///
    /// # Errors
    /// No TCP or preset has that name.
    pub fn find(&mut self, name: &str) -> Result<usize, Problem> {
        if let Some(index) = self.index.get(name) {
            return Ok(*index);
        }
        let Some(preset) = presets::find(name) else {
            let defined = self.all[..self.defined].iter().map(|tcp| tcp.name.as_str());
            return Err(unknown(name, defined));
        };
        let index = self.all.len();
        self.index.insert(name.to_owned(), index);
        self.all.push(NamedTcp { name: name.to_owned(), config: (preset.config)() });
        Ok(index)
    }
}

/// Copy of a TCP with some fields changed, as `--set` changes those of a table. If `is_linux` is
/// true, names of congestion controls are those of the kernel.
///
/// # Errors
/// An unknown key or a value out of range; the error is at the path below the TCP.
pub fn with_changes(
    tcp: &retx_tcp::Config,
    is_linux: bool,
    changes: &[(String, String)],
) -> Result<retx_tcp::Config, Problem> {
    const NAME: &str = "adjusted";
    let whole = serde_json::to_value(tcp).expect("a TCP is plain data");
    let mut values = serde_json::json!({ "tcp": { NAME: whole } });
    for (key, text) in changes {
        overrides::apply(&mut values, &(format!("tcp.{NAME}.{key}"), text.clone()))?;
        if is_linux && key.split('.').next() == Some("congestion_control") {
            let choice = &mut values["tcp"][NAME]["congestion_control"];
            *choice = linux_names::resolve_linux_name(choice, None);
        }
    }
    let tables = values["tcp"].as_object().expect("it was made above");
    let mut tcps = TcpTable::read(tables, &NoLoader).map_err(|mut problem| {
        if problem.path.first() == Some(&PathStep::Key(NAME.to_owned())) {
            problem.path.remove(0);
        }
        problem
    })?;
    Ok(tcps.all.remove(0).config)
}

fn unknown<'a>(name: &str, defined: impl Iterator<Item = &'a str> + Clone) -> Problem {
    let presets = presets::PRESETS.iter().map(|preset| preset.name);
    Problem::new(format!(
        "unknown TCP \"{name}\"{} ([tcp] tables here: {}; presets: {})",
        did_you_mean(name, defined.clone().chain(presets.clone())),
        join_names(defined),
        join_names(presets)
    ))
}

/// TCP as a table of all its fields, and as a checked configuration.
struct Resolved {
    fields: Value,
    /// True for a Linux preset, whose names of congestion controls are the kernel's.
    is_linux: bool,
    config: retx_tcp::Config,
}

/// TCP from which another TCP starts.
struct Base {
    fields: Value,
    is_linux: bool,
}

/// Step in resolving a table.
enum Step {
    /// Resolved.
    Resolved(Box<Resolved>),
    /// The named table has to be resolved first.
    Needs(String),
}

struct Resolver<'a> {
    tables: &'a Map<String, Value>,
    loader: &'a dyn Loader,
    done: HashMap<String, Resolved>,
}

/// Keys of a `[tcp.NAME]`.
struct Keys {
    all: Vec<String>,
    /// Keys that may be absent.
    optional: Vec<String>,
}

/// Keys of every `[tcp.NAME]`. They are computed once, because generating schemas takes longer than
/// the rest of reading a scenario.
static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let schema = retx_tcp::Config::json_schema(&mut choice::inline_generator()).to_value();
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.expect("a TCP has fields").keys().cloned();
    Keys {
        all: iter::once("like".to_owned()).chain(properties).collect(),
        optional: optional_fields(&schema),
    }
});

/// Keys that may be absent; `"none"` unsets a key that the base sets.
pub fn optional_fields(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.expect("a TCP has fields that it needs");
    let properties = properties.expect("a TCP has fields").keys();
    properties.filter(|key| !required.iter().any(|name| name == *key)).cloned().collect()
}

impl Resolver<'_> {
    /// Resolves the table `name`, after the tables on which its `like` depends.
    fn resolve(&mut self, name: &str) -> Result<(), Problem> {
        // A chain of `like` may be as long as the file, so a work list is used instead of
        // recursion.
        let mut chain = vec![name.to_owned()];
        let mut waiting: HashSet<String> = chain.iter().cloned().collect();
        while let Some(name) = chain.last().cloned() {
            if self.done.contains_key(&name) {
                chain.pop();
                continue;
            }
            match self.step(&name).map_err(|problem| problem.within(&name))? {
                Step::Resolved(resolved) => {
                    self.done.insert(name, *resolved);
                }
                Step::Needs(like) => {
                    if !waiting.insert(like.clone()) {
                        return Err(circle(&chain, &like).within("like").within(&name));
                    }
                    chain.push(like);
                }
            }
        }
        Ok(())
    }

    fn step(&self, name: &str) -> Result<Step, Problem> {
        let own = own_fields(&self.tables[name])?;
        if let Some(key) = own.keys().find(|key| !KEYS.all.contains(key)) {
            let fields: Vec<&str> = KEYS.all.iter().map(String::as_str).collect();
            return Err(Problem::new(unknown_key(key, &fields)).within(key));
        }
        let Some(like) = like(own)? else {
            let nothing = Base { fields: Value::Object(Map::new()), is_linux: false };
            return self.merged(nothing, own).map_err(|mut problem| {
                if problem.path.is_empty() {
                    problem.message += "; start from a preset with `like`, or write every field";
                }
                problem
            });
        };
        // A table named like a preset may start from that preset.
        let of_itself = like == name && presets::find(like).is_some();
        if of_itself || !self.tables.contains_key(like) {
            return self.merged(self.preset(like, name)?, own);
        }
        match self.done.get(like) {
            Some(Resolved { fields, is_linux, .. }) => {
                self.merged(Base { fields: fields.clone(), is_linux: *is_linux }, own)
            }
            None => Ok(Step::Needs(like.to_owned())),
        }
    }

    fn preset(&self, like: &str, own: &str) -> Result<Base, Problem> {
        let Some(preset) = presets::find(like) else {
            let others = self.tables.keys().map(String::as_str).filter(|name| *name != own);
            return Err(unknown(like, others).within("like"));
        };
        let fields = serde_json::to_value((preset.config)()).expect("a TCP is plain data");
        Ok(Base { fields, is_linux: preset.is_linux() })
    }

    /// Merges the table's own fields into the base. A choice keeps the parameters of the base if it
    /// has the same name (and class, for user code) or no name. A table that is not a choice, such
    /// as `delayed_ack`, keeps the values of the base that it does not set.
    fn merged(&self, base: Base, own: &Map<String, Value>) -> Result<Step, Problem> {
        let Base { fields: Value::Object(mut base), is_linux } = base else {
            unreachable!("a TCP is a table")
        };
        for (key, value) in own.iter().filter(|(key, _)| *key != "like") {
            if value == "none" && KEYS.optional.contains(key) {
                base.remove(key);
                continue;
            }
            let value = if is_linux && key == "congestion_control" {
                &linux_names::resolve_linux_name(value, base.get(key))
            } else {
                value
            };
            match (base.get_mut(key), value) {
                (Some(Value::Object(inner)), Value::Object(fields))
                    if ["name", "class"].iter().all(|key| {
                        fields.get(*key).is_none_or(|name| inner.get(*key) == Some(name))
                    }) =>
                {
                    inner.extend(fields.clone());
                }
                _ => {
                    base.insert(key.clone(), value.clone());
                }
            }
        }
        // An explicit send buffer disables its autotuning, as `SO_SNDBUF` does.
        if own.contains_key("send_buffer") && !own.contains_key("send_autotuning") {
            base.remove("send_autotuning");
        }
        let fields = Value::Object(base);
        let mut config: retx_tcp::Config = wording::deserialize(&fields)?;
        config.load(self.loader).map_err(|(decision, refusal)| {
            let problem = Problem::new(refusal.message);
            let problem =
                if refusal.key.is_empty() { problem } else { problem.within(&refusal.key) };
            problem.within(decision)
        })?;
        config.check().map_err(|error| {
            let fields = error.field.rsplit('.');
            fields.fold(Problem::new(error.message), |problem, field| problem.within(field))
        })?;
        Ok(Step::Resolved(Box::new(Resolved { fields, is_linux, config })))
    }
}

fn own_fields(table: &Value) -> Result<&Map<String, Value>, Problem> {
    table.as_object().ok_or_else(|| {
        Problem::new(format!("expected a table such as {{ like = \"reno\" }}; found {table}"))
    })
}

fn like(table: &Map<String, Value>) -> Result<Option<&str>, Problem> {
    table.get("like").map_or(Ok(None), |like| {
        like.as_str().map(Some).ok_or_else(|| {
            Problem::new(format!("expected the name of a TCP; found {like}")).within("like")
        })
    })
}

fn circle(chain: &[String], like: &str) -> Problem {
    let from = chain.iter().position(|name| name == like).unwrap_or(0);
    let names = chain[from..].iter().map(String::as_str).chain([like]);
    let names: Vec<&str> = names.collect();
    let shown = if names.len() > 8 { names[..8].join(", ") + ", …" } else { names.join(", ") };
    Problem::new(format!("\"{like}\" goes round in a circle: {shown}"))
}
