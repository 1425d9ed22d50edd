//! Parts of the file's JSON Schema that do not follow from the types that read it.

use crate::overrides::CHOICES;
use crate::sweep;
use crate::tcp::optional_fields;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

/// Removes null from the schema. TOML has no null; optional keys are left out.
pub fn without_null(mut schema: Schema) -> Schema {
    RecursiveTransform(|schema: &mut Schema| {
        let Some(table) = schema.as_object_mut() else { return };
        if let Some(Value::Array(types)) = table.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                table.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(forms)) = table.get_mut("anyOf") {
            forms.retain(|form| form != &json!({ "type": "null" }));
            if let [Value::Object(only)] = forms.as_slice() {
                let only = only.clone();
                table.remove("anyOf");
                for (key, value) in only {
                    // The description of a field takes precedence over that of its type.
                    table.entry(key).or_insert(value);
                }
            }
        }
        if table.get("default") == Some(&Value::Null) {
            table.remove("default");
        }
    })
    .transform(&mut schema);
    schema
}

/// Schema of `[tcp.NAME]`: every field of a TCP, none required, and `like`.
pub fn tcp_tables(generator: &mut SchemaGenerator) -> Schema {
    // The schema is inlined: the shared definition requires all keys of a TCP, this one none.
    let mut fields = SchemaGenerator::new(generator.settings().clone().with(|settings| {
        settings.inline_subschemas = true;
    }))
    .into_root_schema_for::<retx_tcp::Config>()
    .to_value();
    let optional = optional_fields(&fields);
    let presets: Vec<&str> = retx_tcp::presets::PRESETS.iter().map(|preset| preset.name).collect();
    let like = json!({
        "description": "The TCP that this one starts from: another [tcp.NAME], or a preset",
        "type": "string",
        "examples": presets
    });
    if let Some(table) = fields.as_object_mut() {
        for key in ["$schema", "title", "required"] {
            table.remove(key);
        }
        let properties = table.get_mut("properties").and_then(Value::as_object_mut);
        let properties = properties.expect("a TCP has fields");
        properties.insert("like".into(), like);
        for key in &optional {
            properties.insert(key.clone(), or_none(properties[key].clone()));
        }
        // The name and the parameters of a choice are optional, because a table `[tcp.NAME]` may
        // inherit them. User code (`python`) accepts any parameter, so its table must contain the
        // name; otherwise the schema would accept every table.
        for (key, tag) in CHOICES.iter().filter(|choice| choice.1 == "name") {
            let forms = properties.get_mut(*key).and_then(|choice| choice.get_mut("anyOf"));
            for form in forms.and_then(Value::as_array_mut).expect("a choice has forms") {
                let form = form.as_object_mut().expect("a form is a table");
                form.remove("required");
                if form.contains_key("properties")
                    && form.get("additionalProperties") != Some(&json!(false))
                {
                    form.insert("required".into(), json!([tag]));
                }
            }
        }
        // A table `[tcp.NAME]` takes missing keys of `delayed_ack` from the TCP that `like` names,
        // so the keys of `delayed_ack` are optional as well.
        if let Some(Value::Object(delayed_ack)) = properties.get_mut("delayed_ack") {
            delayed_ack.remove("required");
        }
    }
    schemars::json_schema!({ "type": "object", "additionalProperties": fields })
}

/// Schema of a field for which `"none"` removes the value that `like` provides.
fn or_none(mut field: Value) -> Value {
    let description = field.as_object_mut().and_then(|table| table.remove("description"));
    let none = json!({ "const": "none", "description": "as if it were never set" });
    json!({ "description": description, "anyOf": [field, none] })
}

/// Schema of `[sweep]`: replications, and the ranges of the scenario's keys.
pub fn sweep(generator: &mut SchemaGenerator) -> Schema {
    let range = generator.subschema_for::<sweep::Range>();
    let until = generator.subschema_for::<sweep::StoppingRule>();
    let case = generator.subschema_for::<sweep::Case>();
    let values = json!({
        "description": "values to take, or a range; or keys below this one",
        "anyOf": [
            { "type": "array", "minItems": 1 },
            range,
            { "type": "object", "not": { "anyOf": [
                { "required": ["from"] }, { "required": ["to"] },
            ] } },
        ],
    });
    let zip = json!({
        "type": "array",
        "description": "tables of lists that go side by side",
        "items": { "type": "object", "additionalProperties": values },
    });
    let cube = json!({
        "type": "object",
        "description": "points spread over all these keys at once",
        "properties": {
            "points": { "type": "integer", "minimum": 1, "maximum": sweep::POINTS_MAX },
            "seed": { "type": "integer", "minimum": 0 },
        },
        "required": ["points"],
        "additionalProperties": values,
    });
    let cases = json!({
        "type": "array",
        "description": "named points, each with values of several keys",
        "minItems": 1,
        "items": case,
    });
    let count = json!({
        "type": "integer",
        "description": "runs of each point",
        "minimum": 1,
        "maximum": sweep::REPLICATIONS_MAX,
    });
    schemars::json_schema!({
        "type": "object",
        "properties": {
            "replications": count,
            "until": until,
            "case": cases,
            "zip": zip,
            "latin_hypercube": cube,
        },
        "additionalProperties": values,
    })
}
