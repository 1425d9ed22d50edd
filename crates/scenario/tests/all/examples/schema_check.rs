//! A validator for the part of JSON Schema that our schema uses. A keyword that it does not know
//! is an error, so that nothing is passed over in silence.

use serde_json::Value;

/// Keywords that are annotations only.
const SILENT: &[&str] =
    &["$schema", "$defs", "title", "description", "default", "examples", "format"];

/// Checks a value; the error says where it fails and why.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    Root(schema).check(schema, value, "")
}

struct Root<'a>(&'a Value);

impl Root<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            return if schema == true { Ok(()) } else { Err(format!("{at}: nothing is allowed")) };
        };
        for (keyword, rule) in keywords {
            if SILENT.contains(&keyword.as_str()) {
                continue;
            }
            self.keyword((keyword, rule), schema, value, at)?;
        }
        Ok(())
    }

    fn keyword(
        &self,
        (keyword, rule): (&str, &Value),
        schema: &Value,
        value: &Value,
        at: &str,
    ) -> Result<(), String> {
        let hold = |holds: bool| {
            if holds { Ok(()) } else { Err(format!("{at}: {value} against {keyword} {rule}")) }
        };
        let limit = || rule.as_f64().expect("a limit is a number");
        let length = || rule.as_u64().expect("a length is a number") as usize;
        match keyword {
            "$ref" => {
                let pointer = text(rule).strip_prefix('#').expect("references are local");
                self.check(self.0.pointer(pointer).expect("references resolve"), value, at)
            }
            "type" => hold(is_type(value, text(rule))),
            "const" => hold(value == rule),
            "enum" => hold(list(rule).contains(value)),
            "anyOf" => hold(self.count(rule, value, at) > 0),
            "oneOf" => hold(self.count(rule, value, at) == 1),
            "not" => hold(self.check(rule, value, at).is_err()),
            "minimum" => hold(value.as_f64().is_none_or(|number| number >= limit())),
            "exclusiveMinimum" => hold(value.as_f64().is_none_or(|number| number > limit())),
            "exclusiveMaximum" => hold(value.as_f64().is_none_or(|number| number < limit())),
            "maximum" => hold(value.as_f64().is_none_or(|number| number <= limit())),
            "minItems" => hold(value.as_array().is_none_or(|list| list.len() >= length())),
            "maxItems" => hold(value.as_array().is_none_or(|list| list.len() <= length())),
            // Our patterns all describe a number and its unit, or a number and `mss`.
            "pattern" => hold(value.as_str().is_none_or(|text| {
                text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(char::is_alphabetic)
            })),
            "items" => value.as_array().into_iter().flatten().enumerate().try_for_each(
                |(index, element)| self.check(rule, element, &format!("{at}/{index}")),
            ),
            "required" => {
                let Value::Object(table) = value else { return Ok(()) };
                let names = list(rule);
                hold(names.iter().all(|name| table.contains_key(text(name))))
            }
            "properties" => {
                let Value::Object(table) = value else { return Ok(()) };
                let known = rule.as_object().expect("properties are a table").iter();
                known.filter_map(|(name, rule)| Some((name, rule, table.get(name)?))).try_for_each(
                    |(name, rule, value)| self.check(rule, value, &format!("{at}/{name}")),
                )
            }
            "additionalProperties" => {
                let Value::Object(table) = value else { return Ok(()) };
                let known = |name: &String| schema["properties"].get(name).is_some();
                table
                    .iter()
                    .filter(|(name, _)| !known(name))
                    .try_for_each(|(name, value)| self.check(rule, value, &format!("{at}/{name}")))
            }
            other => panic!("{at}: the schema uses {other}, which this check does not know"),
        }
    }

    fn count(&self, forms: &Value, value: &Value, at: &str) -> usize {
        let forms = list(forms).iter();
        forms.filter(|form| self.check(form, value, at).is_ok()).count()
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("unknown type {other}"),
    }
}
