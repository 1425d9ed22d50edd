//! Formatting of values as TOML text, as a person would write it: each table and each list element
//! has its own header, and each key its own line.

use serde_json::{Map, Value};
use std::fmt::Write;

/// Value that cannot be written: its path, and the problem.
type Refusal = (String, String);

/// Writes a table as a TOML document. Keys whose value is `null` are left out.
///
/// # Errors
/// Values that TOML cannot represent: `null` in a list, or integers from 2^63 on.
pub fn write_toml(table: &Map<String, Value>) -> Result<String, Refusal> {
    let mut out = String::new();
    let (tables, plain): (Vec<_>, Vec<_>) =
        table.iter().partition(|(_, value)| is_table(value) || is_list_of_tables(value));
    for (name, value) in plain {
        line(&mut out, &key(name), value).map_err(within(name))?;
    }
    for (name, value) in tables {
        match value {
            Value::Object(inner) if !inner.is_empty() && inner.values().all(is_table) => {
                for (sub, value) in inner {
                    let header = format!("[{}.{}]", key(name), key(sub));
                    let path = format!("{name}.{sub}");
                    section(&mut out, &header, value).map_err(within(&path))?;
                }
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    let header = format!("[[{}]]", key(name));
                    let path = format!("{name}.{index}");
                    section(&mut out, &header, element).map_err(within(&path))?;
                }
            }
            value => {
                section(&mut out, &format!("[{}]", key(name)), value).map_err(within(name))?;
            }
        }
    }
    Ok(out)
}

fn is_table(value: &Value) -> bool {
    value.is_object()
}

fn is_list_of_tables(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_table))
}

fn within(outer: &str) -> impl Fn(Refusal) -> Refusal {
    move |(path, message)| {
        let path = if path.is_empty() { outer.to_owned() } else { format!("{outer}.{path}") };
        (path, message)
    }
}

fn section(out: &mut String, header: &str, value: &Value) -> Result<(), Refusal> {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(header);
    out.push('\n');
    let Value::Object(table) = value else { unreachable!("sections are tables") };
    for (name, value) in table {
        match value {
            // The directions of a link are written as dotted keys, as in the manual.
            Value::Object(inner) if name == "forward" || name == "reverse" => {
                for (sub, value) in inner {
                    let path = format!("{name}.{sub}");
                    line(out, &format!("{name}.{}", key(sub)), value).map_err(within(&path))?;
                }
            }
            value => line(out, &key(name), value).map_err(within(name))?,
        }
    }
    Ok(())
}

fn line(out: &mut String, key: &str, value: &Value) -> Result<(), Refusal> {
    if value.is_null() {
        return Ok(());
    }
    let _ = write!(out, "{key} = ");
    inline(out, value)?;
    out.push('\n');
    Ok(())
}

fn inline(out: &mut String, value: &Value) -> Result<(), Refusal> {
    match value {
        Value::Null => return Err((String::new(), "a list cannot hold null".into())),
        Value::Number(number) if number.as_u64().is_some_and(|n| i64::try_from(n).is_err()) => {
            return Err((String::new(), format!("{number} is too large: integers end at 2^63")));
        }
        // Numbers have the same notation in JSON and TOML.
        Value::Bool(_) | Value::Number(_) => {
            let _ = write!(out, "{value}");
        }
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Array(list) => {
            out.push('[');
            for (index, value) in list.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                inline(out, value).map_err(within(&index.to_string()))?;
            }
            out.push(']');
        }
        Value::Object(table) => {
            let mut separator = "{ ";
            for (name, value) in table.iter().filter(|(_, value)| !value.is_null()) {
                let _ = write!(out, "{separator}{} = ", key(name));
                inline(out, value).map_err(within(name))?;
                separator = ", ";
            }
            out.push_str(if separator == "{ " { "{}" } else { " }" });
        }
    }
    Ok(())
}

fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// Quotes a string: TOML's escapes are those of JSON, except that DEL must be escaped too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}
