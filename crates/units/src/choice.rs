//! Registries: a named choice with its own parameters, written `"reno"` or
//! `{ name = "reno", growth = "bytes_acked" }`.
//!
//! [`registry!`](crate::registry) turns a list of module names into everything that follows from
//! it: the modules themselves, the configuration enum with its reading, writing and JSON Schema,
//! and the enum of running algorithms. A new choice is one new file and one word in its list.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A choice as read: its name and its parameters.
#[derive(Debug)]
pub struct Choice {
    name: String,
    parameters: Map<String, Value>,
}

impl Choice {
    /// Reads `"name"` or `{ tag = "name", … }` and checks the name against the list.
    ///
    /// # Errors
    /// Another type, a missing tag, a name that is not in `names`.
    pub fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
        tag: &str,
        names: &[&str],
    ) -> Result<Self, D::Error> {
        let mut in_table = false;
        let choice = match Value::deserialize(deserializer)? {
            Value::String(name) => Self { name, parameters: Map::new() },
            Value::Object(mut parameters) => match parameters.remove(tag) {
                Some(Value::String(name)) => {
                    in_table = true;
                    Self { name, parameters }
                }
                Some(other) => {
                    return Err(D::Error::custom(at(tag, &format!("{other} is not a name"))));
                }
                None => {
                    return Err(D::Error::custom(format!(
                        "lacks `{tag}`: one of {}",
                        names.join(", ")
                    )));
                }
            },
            other => {
                return Err(D::Error::custom(format!(
                    "{other} is neither a name nor a table with `{tag}`; names are {}",
                    names.join(", ")
                )));
            }
        };
        if names.contains(&choice.name.as_str()) {
            Ok(choice)
        } else {
            let expected: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let message = format!(
                "unknown variant `{}`, expected one of {}",
                choice.name,
                expected.join(", ")
            );
            Err(D::Error::custom(if in_table { at(tag, &message) } else { message }))
        }
    }

    /// The chosen name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parameters as the chosen configuration.
    ///
    /// # Errors
    /// Unknown, missing or ill-typed parameters; the message carries the inner path, see [`at`].
    pub fn parameters<T: DeserializeOwned, E: serde::de::Error>(self) -> Result<T, E> {
        serde_path_to_error::deserialize(Value::Object(self.parameters)).map_err(|error| {
            let path = error.path().to_string();
            let message = error.into_inner().to_string();
            E::custom(if path == "." { message } else { at(&path, &message) })
        })
    }
}

/// Marks a message with the path, inside the value being read, of the part that it is about.
/// Buffering a table to find its tag loses the source position; the path lets the reader of the
/// whole document find it again ([`split_path`]).
pub fn at(path: &str, message: &str) -> String {
    // A nested choice has already marked its own, deeper path.
    let (inner, message) = split_path(message);
    let full = if inner.is_empty() { path.to_owned() } else { format!("{path}.{inner}") };
    format!("\u{1f}{full}\u{1f}{message}")
}

/// The path that [`at`] put into a message (empty when there is none), and the message proper.
pub fn split_path(text: &str) -> (&str, &str) {
    text.strip_prefix('\u{1f}').and_then(|rest| rest.split_once('\u{1f}')).unwrap_or(("", text))
}

/// Writes a choice as a table: the tag first, then every parameter.
///
/// # Errors
/// Errors of the serializer.
pub fn write<S: Serializer>(
    serializer: S,
    tag: &str,
    name: &str,
    parameters: &impl Serialize,
) -> Result<S::Ok, S::Error> {
    let mut table = Map::new();
    table.insert(tag.to_owned(), Value::String(name.to_owned()));
    let parameters = serde_json::to_value(parameters).map_err(serde::ser::Error::custom)?;
    if let Value::Object(parameters) = parameters {
        table.extend(parameters.into_iter().filter(|(_, value)| !value.is_null()));
    }
    table.serialize(serializer)
}

/// The schema of a choice: a bare name, or one of the tables.
pub fn schema(tag: &str, choices: Vec<(&'static str, schemars::Schema)>) -> schemars::Schema {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let mut forms = vec![serde_json::json!({ "enum": names })];
    for (name, schema) in choices {
        let mut form = schema.to_value();
        if let Some(table) = form.as_object_mut() {
            table.insert("title".into(), name.into());
            let properties = table.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            if let Some(properties) = properties.as_object_mut() {
                properties.insert(tag.into(), serde_json::json!({ "const": name }));
            }
            let required = table.entry("required").or_insert_with(|| Value::Array(Vec::new()));
            if let Some(required) = required.as_array_mut() {
                required.insert(0, tag.into());
            }
        }
        forms.push(form);
    }
    schemars::json_schema!({ "anyOf": forms })
}

/// Declares a registry: a list of module names, and everything that follows from the list.
///
/// Each word is a module with `pub struct Config` (serde, `JsonSchema`, `Clone`, `Debug`,
/// `PartialEq`; its doc comment is what listings show) and `pub struct State`. The macro declares
/// the modules, `enum Config` (variants named like the modules) with `NAMES`, `name()`,
/// `schemas()`, `enum State`, and local macros that match over the list: `dispatch!` over the
/// running forms, `dispatch_config!` over the configurations, `dispatch_pair!` over two running
/// forms.
/// With `context = T`, `Config::build(T)` calls `State::new(&Config, T)` of the chosen module.
/// The first token is a literal `$`, which lets the macro write that inner macro. A word followed
/// by `boxed` keeps its running form in a place of its own, so that the others need no room for it.
#[macro_export]
macro_rules! registry {
    ($dollar:tt $(#[$meta:meta])* tag = $tag:literal, schema = $schema_name:literal,
     context = $context:ty; $($word:ident $($boxed:ident)?),+ $(,)?) => {
        $crate::registry! {
            $dollar $(#[$meta])* tag = $tag, schema = $schema_name; $($word $($boxed)?),+
        }

        impl Config {
            /// Creates the running form in this environment.
            pub fn build(&self, context: $context) -> State {
                match self {
                    $(Self::$word(config) => {
                        State::$word($word::State::new(config, context).into())
                    })+
                }
            }
        }
    };
    ($dollar:tt $(#[$meta:meta])*
     tag = $tag:literal, schema = $schema_name:literal;
     $($word:ident $($boxed:ident)?),+ $(,)?) => {
        $(#[allow(missing_docs)] pub mod $word;)+

        $(#[$meta])*
        ///
        /// The choice with its parameters; variants carry the names that scenarios use.
        #[allow(non_camel_case_types, missing_docs, clippy::large_enum_variant)]
        #[derive(Debug, Clone, PartialEq)]
        pub enum Config { $($word($word::Config),)+ }

        impl Config {
            /// Every name, in listing order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($word)),+];

            /// The scenario name of this choice.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$word(_) => stringify!($word),)+ }
            }

            /// Name and JSON Schema of every choice: what listings and docs are made of.
            pub fn schemas() -> Vec<(&'static str, $crate::choice::Schema)> {
                let mut generator = $crate::choice::inline_generator();
                vec![$((
                    stringify!($word),
                    <$word::Config as $crate::choice::JsonSchema>::json_schema(&mut generator),
                )),+]
            }
        }

        impl<'de> serde::Deserialize<'de> for Config {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let choice = $crate::Choice::read(deserializer, $tag, Self::NAMES)?;
                match choice.name() {
                    $(stringify!($word) => choice.parameters().map(Self::$word),)+
                    other => unreachable!("{other} has been checked against the list"),
                }
            }
        }

        impl serde::Serialize for Config {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$word(config) => {
                        $crate::choice::write(serializer, $tag, stringify!($word), config)
                    })+
                }
            }
        }

        impl $crate::choice::JsonSchema for Config {
            fn schema_name() -> std::borrow::Cow<'static, str> { $schema_name.into() }
            fn json_schema(_: &mut $crate::choice::SchemaGenerator) -> $crate::choice::Schema {
                $crate::choice::schema($tag, Self::schemas())
            }
        }

        /// The running form of each choice.
        #[allow(non_camel_case_types, missing_docs, clippy::large_enum_variant)]
        #[derive(Debug, Clone)]
        pub enum State { $($word($crate::kept!($word::State $(, $boxed)?)),)+ }

        $(impl From<$word::State> for State {
            fn from(state: $word::State) -> Self {
                Self::$word(state.into())
            }
        })+

        /// `dispatch!(state, it => it.method())`: a `match` over the list, not a virtual call.
        #[allow(unused_macros)]
        macro_rules! dispatch {
            ($dollar state:expr, $dollar it:ident => $dollar call:expr) => {
                match $dollar state { $(State::$word($dollar it) => $dollar call,)+ }
            };
        }

        /// `dispatch_config!(config, it => it.method())`: a `match` over the configurations.
        #[allow(unused_macros)]
        macro_rules! dispatch_config {
            ($dollar config:expr, $dollar it:ident => $dollar call:expr) => {
                match $dollar config { $(Config::$word($dollar it) => $dollar call,)+ }
            };
        }

        /// `dispatch_pair!(one, other, (a, b) => both_the_same, neither)`: over two running forms.
        #[allow(unused_macros)]
        macro_rules! dispatch_pair {
            ($dollar one:expr, $dollar other:expr,
             ($dollar a:ident, $dollar b:ident) => $dollar call:expr,
             ($dollar c:ident, $dollar d:ident) => $dollar else:expr) => {
                match ($dollar one, $dollar other) {
                    $((State::$word($dollar a), State::$word($dollar b)) => $dollar call,)+
                    #[allow(unreachable_patterns)]
                    ($dollar c, $dollar d) => $dollar else,
                }
            };
        }
    };
}

/// Type that holds a running form: the form itself, or a `Box` of it where `boxed` is given.
#[doc(hidden)]
#[macro_export]
macro_rules! kept {
    ($state:ty) => { $state };
    ($state:ty, boxed) => { Box<$state> };
}

pub use schemars::{JsonSchema, Schema, SchemaGenerator};

/// A generator that writes every subschema in place, so that a listing needs no look-ups.
pub fn inline_generator() -> SchemaGenerator {
    schemars::generate::SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
}
