//! Descriptions of all choices: names, summaries and parameters, derived from the types.

use crate::topology::Topology;
use crate::wlan::{Wlan, WlanTable};
use crate::{App, Relay, schema};
use retx_link::pipe::repair::{arq, fec};
use retx_link::wlan::Standard;
use retx_link::{channel, queue};
use retx_tcp::{
    Config, Size, backoff, congestion_control, loss_cause, loss_detection, presets, rto, spurious,
};
use retx_units::choice::{JsonSchema, Schema, inline_generator};
use retx_units::{Distance, Duration, Probability, Rate};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// All choices that a scenario can name, by kind: `tcp` (presets), `congestion_control`,
/// `loss_detection`, `loss_cause`, `rto`, `backoff`, `spurious`, `channel`, `queue`, `repair` (keys
/// of a link), `wlan` (standards), `relay`, `application`, `topology` (shapes).
///
/// Each kind is a list of `{ name, summary, parameters }`. Each parameter is `{ name, type, doc,
/// required }`, with `default` if it has one. If only certain values are allowed, `values` lists
/// them as `{ name, doc }`. The parameters of a preset are all fields of a TCP, with the preset's
/// values as defaults. The parameters of a standard are all keys of a wlan, with the standard's
/// values as defaults.
pub fn describe() -> Value {
    let kinds = [
        ("tcp", tcp()),
        ("congestion_control", congestion_controls()),
        ("loss_detection", choices(loss_detection::Config::schemas())),
        ("loss_cause", choices(loss_cause::Config::schemas())),
        ("rto", choices(rto::Config::schemas())),
        ("backoff", choices(backoff::Config::schemas())),
        ("spurious", choices(spurious::Config::schemas())),
        ("channel", choices(channel::Config::schemas())),
        ("queue", choices(queue::Config::schemas())),
        ("repair", repairs()),
        ("wlan", standards()),
        ("relay", choices(Relay::schemas())),
        ("application", choices(App::schemas())),
        ("topology", choices(shapes())),
    ];
    Value::Object(kinds.map(|(kind, choices)| (kind.to_owned(), choices)).into_iter().collect())
}

fn tcp() -> Value {
    let fields = schema::without_null(Config::json_schema(&mut inline_generator()));
    let fields = parameters(&fields);
    let of_preset = |preset: &presets::Preset| {
        let values = serde_json::to_value((preset.config)()).expect("a TCP is plain data");
        let parameters = with_defaults(fields.clone(), &values);
        let names = if preset.is_linux() { LINUX_NAMES } else { "" };
        let summary = format!("{}{names}", preset.summary);
        entry(preset.name, summary.into(), parameters)
    };
    presets::PRESETS.iter().map(of_preset).collect()
}

/// Appended to the summary of each Linux preset.
const LINUX_NAMES: &str = ". Names of congestion controls are the kernel's";

/// Congestion controls. If a name has another meaning under the Linux presets, its summary says so.
fn congestion_controls() -> Value {
    let mut all = choices(congestion_control::Config::schemas());
    for choice in all.as_array_mut().into_iter().flatten() {
        let name = choice["name"].as_str().unwrap_or_default();
        let Some(module) = presets::linux_module(name) else { continue };
        let means = match serde_json::to_value(&module).expect("a choice is plain data") {
            _ if module.name() != name => module.name().to_owned(),
            table if table["variant"].is_string() => format!("variant = {}", table["variant"]),
            _ => continue,
        };
        let summary = choice["summary"].as_str().unwrap_or_default();
        choice["summary"] =
            format!("{summary} Under the presets of Linux the name means {means}.").into();
    }
    all
}

/// Marks all parameters as optional; the values in `values` become their defaults.
fn with_defaults(mut parameters: Vec<Value>, values: &Value) -> Vec<Value> {
    for parameter in &mut parameters {
        let value = parameter["name"].as_str().and_then(|name| values.get(name)).cloned();
        parameter["required"] = false.into();
        if let Some(value) = value {
            parameter["default"] = value;
        }
    }
    parameters
}

/// 802.11 standards; the parameters of each are all keys of a wlan.
fn standards() -> Value {
    let keys = schema::without_null(WlanTable::json_schema(&mut inline_generator()));
    let keys = parameters(&keys);
    let docs = Standard::json_schema(&mut inline_generator());
    let docs = values(docs.as_value());
    let of_standard = |standard: &Standard| {
        let table = WlanTable::from(&Wlan::two_stations(*standard));
        let values = serde_json::to_value(table).expect("a table is plain data");
        let mut parameters = with_defaults(keys.clone(), &values);
        parameters.retain(|parameter| parameter["name"] != "standard");
        for parameter in &mut parameters {
            let name = parameter["name"].as_str().unwrap_or_default();
            if let "name" | "stations" = name {
                parameter["required"] = true.into();
                parameter.as_object_mut().map(|it| it.remove("default"));
            } else if let "rate" | "basic_rates" = name {
                let rates = standard.rates();
                let rates = rates.iter().map(|rate| json!({ "name": rate, "doc": "" }));
                parameter["values"] = rates.collect();
            }
        }
        let doc = docs.iter().find(|value| value["name"] == standard.name());
        let summary = doc.map_or(Value::Null, |value| value["doc"].clone());
        entry(standard.name(), summary, parameters)
    };
    Standard::ALL.iter().map(of_standard).collect()
}

/// Link-layer repairs: the keys `arq` and `fec` of a link.
fn repairs() -> Value {
    let mut generator = inline_generator();
    choices(vec![
        ("arq", arq::Config::json_schema(&mut generator)),
        ("fec", fec::Config::json_schema(&mut generator)),
    ])
}

/// Shapes of a topology, with their schemas. Some parameters are tables with all keys of a link or
/// a flow, for which a description only says "table". Inlining the schemas of these tables would
/// take most of the time of [`describe`]. Definitions are therefore shared, and only the outermost
/// keys of a definition are copied to the parameter.
fn shapes() -> Vec<(&'static str, Schema)> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut shapes = Topology::schemas(&mut generator);
    let definitions = generator.take_definitions(false);
    for (_, shape) in &mut shapes {
        let properties = shape.get_mut("properties").and_then(Value::as_object_mut);
        for property in properties.into_iter().flat_map(Map::values_mut) {
            let reference = property.get("$ref").and_then(Value::as_str);
            let name = reference.and_then(|path| path.rsplit('/').next());
            let definition = name.and_then(|name| definitions.get(name)).cloned();
            let (Some(property), Some(Value::Object(definition))) =
                (property.as_object_mut(), definition)
            else {
                continue;
            };
            for (key, value) in definition {
                // The description of a field takes precedence over that of its type.
                property.entry(key).or_insert(value);
            }
        }
    }
    shapes
}

fn choices(schemas: Vec<(&'static str, Schema)>) -> Value {
    let of_choice = |(name, schema): (&str, Schema)| {
        let schema = schema::without_null(schema);
        let summary = doc(schema.as_value());
        entry(name, summary.into(), parameters(&schema))
    };
    schemas.into_iter().map(of_choice).collect()
}

/// Description of a choice. It is built without the macro `json!`, which would copy all parameters.
fn entry(name: &str, summary: Value, parameters: Vec<Value>) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), name.into());
    entry.insert("summary".into(), summary);
    entry.insert("parameters".into(), parameters.into());
    Value::Object(entry)
}

fn parameters(schema: &Schema) -> Vec<Value> {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Vec::new() };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &String| required.is_some_and(|names| names.iter().any(|required| required == name));
    let of_property = |(name, property): (&String, &Value)| {
        let mut parameter = Map::new();
        parameter.insert("name".into(), name.as_str().into());
        parameter.insert("type".into(), type_name(property).into());
        parameter.insert("required".into(), is_required(name).into());
        parameter.insert("doc".into(), doc(property).into());
        if let Some(default) = property.get("default") {
            parameter.insert("default".into(), default.clone());
        }
        let values = values(property);
        if !values.is_empty() {
            parameter.insert("values".into(), values.into());
        }
        Value::Object(parameter)
    };
    properties.iter().map(of_property).collect()
}

/// Description in a schema, as a single line; empty if there is none.
fn doc(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Schemas of the types with a unit, each with the type's name in descriptions. They are generated
/// only once, because every property of every choice is compared with them.
static UNITS: LazyLock<[(&str, Schema); 5]> = LazyLock::new(|| {
    let mut generator = inline_generator();
    [
        ("duration", Duration::json_schema(&mut generator)),
        ("rate", Rate::json_schema(&mut generator)),
        ("distance", Distance::json_schema(&mut generator)),
        ("probability", Probability::json_schema(&mut generator)),
        ("size", Size::json_schema(&mut generator)),
    ]
});

/// Type of a property: one of the types with a unit (`duration`, `rate`, `distance`, `probability`,
/// `size`), or the `type` of its schema.
fn type_name(property: &Value) -> String {
    // The description of a field replaces that of its type, so descriptions are not compared.
    let holds = |unit: &Schema| {
        let unit = unit.as_object().expect("units have schemas");
        unit.iter().all(|(key, value)| key == "description" || property.get(key) == Some(value))
    };
    if let Some((name, _)) = UNITS.iter().find(|(_, unit)| holds(unit)) {
        return (*name).into();
    }
    match property.get("type").and_then(Value::as_str) {
        Some("array") => {
            format!("list of {}", property.get("items").map_or("values".into(), type_name))
        }
        Some("object") => "table".into(),
        Some(name) => name.into(),
        None if property.get("oneOf").is_some() => "name".into(),
        None => "choice".into(),
    }
}

/// Allowed values with their descriptions; empty if the schema does not enumerate them.
fn values(property: &Value) -> Vec<Value> {
    if let Some(Value::Array(forms)) = property.get("oneOf") {
        let named =
            |form: &Value| form.get("const").map(|name| json!({ "name": name, "doc": doc(form) }));
        return forms.iter().filter_map(named).collect();
    }
    let names = property.get("enum").or_else(|| property.get("anyOf")?.get(0)?.get("enum"));
    let names = names.and_then(Value::as_array).into_iter().flatten();
    names.map(|name| json!({ "name": name, "doc": "" })).collect()
}
