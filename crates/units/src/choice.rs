//! Registries of named choices, such as congestion controls, each with its own parameters. A choice
//! is written `"reno"` or `{ name = "reno", growth = "bytes_acked" }`.
//!
//! From a list of module names, the macro [`registry!`](crate::registry) generates:
//!
//! - the declarations of these modules;
//! - the enum of configurations, with its reading, writing and JSON Schema;
//! - the enum of running algorithms.
//!
//! A new choice takes one new file and one word in the list.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Map;

/// Choice as it was read: its name and its parameters.
#[derive(Debug)]
pub struct Choice {
    name: String,
    parameters: Map<String, Value>,
}

impl Choice {
    /// Reads `"name"` or `{ tag = "name", … }` and checks the name against the list.
    ///
    /// # Errors
    /// The value has another type, the tag is missing, or the name is not in `names`.
    pub fn read(value: Value, tag: &str, names: &[&str]) -> Result<Self, String> {
        let mut in_table = false;
        let choice = match value {
            Value::String(name) => Self { name, parameters: Map::new() },
            Value::Object(mut parameters) => match parameters.remove(tag) {
                Some(Value::String(name)) => {
                    in_table = true;
                    Self { name, parameters }
                }
                Some(other) => return Err(error_at(tag, &format!("{other} is not a name"))),
                None => return Err(format!("lacks `{tag}`: one of {}", names.join(", "))),
            },
            other => {
                return Err(format!(
                    "{other} is neither a name nor a table with `{tag}`; names are {}",
                    names.join(", ")
                ));
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
            Err(if in_table { error_at(tag, &message) } else { message })
        }
    }

    /// The chosen name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Converts the parameters to the chosen configuration.
    ///
    /// # Errors
    /// A parameter is unknown, missing, or of the wrong type; the message contains the inner path
    /// (see [`error_at`]).
    pub fn parameters<T: DeserializeOwned>(self) -> Result<T, String> {
        serde_path_to_error::deserialize(Value::Object(self.parameters)).map_err(|error| {
            let path = error.path().to_string();
            let message = error.into_inner().to_string();
            if path == "." { message } else { error_at(&path, &message) }
        })
    }
}

/// Adds a path to an error message: the location, within the value being read, of the part that is
/// wrong. A table is buffered to find its tag, so the position in the source is lost. The reader of
/// the whole document finds it again by this path ([`split_path`]).
pub fn error_at(path: &str, message: &str) -> String {
    // A nested choice has already added its own path, which is appended to this one.
    let (inner, message) = split_path(message);
    let full = if inner.is_empty() { path.to_owned() } else { format!("{path}.{inner}") };
    format!("\u{1f}{full}\u{1f}{message}")
}

/// Splits an error message into the path that [`error_at`] has added (empty if there is none) and
/// the text.
pub fn split_path(text: &str) -> (&str, &str) {
    text.strip_prefix('\u{1f}').and_then(|rest| rest.split_once('\u{1f}')).unwrap_or(("", text))
}

/// Returns a choice as a table: first the tag, then all parameters.
///
/// # Errors
/// The parameters cannot be represented in JSON.
pub fn table(tag: &str, name: &str, parameters: &impl Serialize) -> Result<Value, String> {
    let mut table = Map::new();
    table.insert(tag.to_owned(), Value::String(name.to_owned()));
    let parameters = serde_json::to_value(parameters).map_err(|error| error.to_string())?;
    if let Value::Object(parameters) = parameters {
        table.extend(parameters.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Ok(Value::Object(table))
}

/// Implements for an enum of named choices: their names, and reading and writing by serde.
///
/// `$name` is the method that returns the name of a choice. Each entry is a name and its variant.
/// The methods `from_value` and `to_value` are compiled once, in the crate of the enum, whereas the
/// methods of serde's traits are compiled for each format, in each crate that reads or writes such
/// an enum.
#[macro_export]
macro_rules! named_choices {
    ($type:ident, $name:ident, tag = $tag:expr; $($word:expr => $variant:ident),+ $(,)?) => {
        impl $type {
            /// All names, in the order of the list.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// Name of this choice in scenarios.
            pub const fn $name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $word,)+ }
            }

            fn from_value(value: $crate::choice::Value) -> Result<Self, String> {
                let choice = $crate::Choice::read(value, $tag, Self::NAMES)?;
                $(if choice.name() == $word {
                    return choice.parameters().map(Self::$variant);
                })+
                unreachable!("the name has been checked against the list")
            }

            fn to_value(&self) -> Result<$crate::choice::Value, String> {
                match self {
                    $(Self::$variant(it) => $crate::choice::table($tag, $word, it),)+
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = $crate::choice::Value::deserialize(deserializer)?;
                Self::from_value(value).map_err(serde::de::Error::custom)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_value().map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        }
    };
}

/// JSON Schema of a choice, which is written as a bare name or as a table.
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

/// Declares a registry from a list of module names.
///
/// Each word is the name of a module with `pub struct State` and `pub struct Config`. `Config`
/// implements serde's traits, `JsonSchema`, `Clone`, `Debug` and `PartialEq`, and its doc comment
/// is shown in listings. The macro declares:
///
/// - the modules;
/// - `enum Config`, whose variants are named like the modules, with `NAMES`, `name()` and
///   `schemas()`;
/// - `enum State`, the running form of a choice: its state during a run;
/// - local macros that match over the list: `dispatch!` over the running forms, `forward!` for
///   whole methods of them, `dispatch_config!` over the configurations, and `dispatch_pair!` over
///   two running forms.
///
/// With `context = T`, `Config::build(T)` calls `State::new(&Config, T)` of the chosen module. The
/// first token is a literal `$`, which the macro needs to write the local macros. If a word is
/// followed by `boxed`, its running form is stored in a `Box`, so that it does not enlarge the
/// enum.
#[macro_export]
macro_rules! registry {
    ($dollar:tt $(#[$meta:meta])* tag = $tag:literal, schema = $schema_name:literal,
     context = $context:ty; $($word:ident $($boxed:ident)?),+ $(,)?) => {
        $crate::registry! {
            $dollar $(#[$meta])* tag = $tag, schema = $schema_name; $($word $($boxed)?),+
        }

        impl Config {
            /// Creates the running form in the environment `context`.
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
        /// Choice with its parameters; variants have the names used in scenarios.
        #[allow(non_camel_case_types, missing_docs, clippy::large_enum_variant)]
        #[derive(Debug, Clone, PartialEq)]
        pub enum Config { $($word($word::Config),)+ }

        impl Config {
            /// Name and JSON Schema of each choice, from which listings and docs are generated.
            pub fn schemas() -> Vec<(&'static str, $crate::choice::Schema)> {
                let mut generator = $crate::choice::inline_generator();
                vec![$((
                    stringify!($word),
                    <$word::Config as $crate::choice::JsonSchema>::json_schema(&mut generator),
                )),+]
            }
        }

        $crate::named_choices! {
            Config, name, tag = $tag; $(stringify!($word) => $word),+
        }

        impl $crate::choice::JsonSchema for Config {
            fn schema_name() -> std::borrow::Cow<'static, str> { $schema_name.into() }
            fn json_schema(_: &mut $crate::choice::SchemaGenerator) -> $crate::choice::Schema {
                $crate::choice::schema($tag, Self::schemas())
            }
        }

        /// Running form of a choice: its state during a run.
        #[allow(non_camel_case_types, missing_docs, clippy::large_enum_variant)]
        #[derive(Debug, Clone)]
        pub enum State { $($word($crate::kept!($word::State $(, $boxed)?)),)+ }

        $(impl From<$word::State> for State {
            fn from(state: $word::State) -> Self {
                Self::$word(state.into())
            }
        })+

        /// `dispatch!(state, it => it.method())` calls a method of the running form, by a `match`
        /// over the list.
        #[allow(unused_macros)]
        macro_rules! dispatch {
            ($dollar state:expr, $dollar it:ident => $dollar call:expr) => {
                match $dollar state { $(State::$word($dollar it) => $dollar call,)+ }
            };
        }

        /// `forward! { fn method(&self, argument: Type) -> Type; … }` in an implementation for the
        /// running form: each method calls that of the chosen module.
        #[allow(unused_macros)]
        macro_rules! forward {
            () => {};
            ($dollar(#[$dollar attribute:meta])*
             fn $dollar name:ident(&mut $dollar this:ident
                                   $dollar(, $dollar argument:ident: $dollar type:ty)*)
             $dollar(-> $dollar result:ty)?; $dollar($dollar rest:tt)*) => {
                $dollar(#[$dollar attribute])*
                fn $dollar name(&mut $dollar this $dollar(, $dollar argument: $dollar type)*)
                $dollar(-> $dollar result)? {
                    dispatch!($dollar this, it => it.$dollar name($dollar($dollar argument),*))
                }
                forward! { $dollar($dollar rest)* }
            };
            ($dollar(#[$dollar attribute:meta])*
             fn $dollar name:ident(&$dollar this:ident
                                   $dollar(, $dollar argument:ident: $dollar type:ty)*)
             $dollar(-> $dollar result:ty)?; $dollar($dollar rest:tt)*) => {
                $dollar(#[$dollar attribute])*
                fn $dollar name(&$dollar this $dollar(, $dollar argument: $dollar type)*)
                $dollar(-> $dollar result)? {
                    dispatch!($dollar this, it => it.$dollar name($dollar($dollar argument),*))
                }
                forward! { $dollar($dollar rest)* }
            };
        }

        /// `dispatch_config!(config, it => it.method())` calls a method of the configuration, by a
        /// `match` over the list.
        #[allow(unused_macros)]
        macro_rules! dispatch_config {
            ($dollar config:expr, $dollar it:ident => $dollar call:expr) => {
                match $dollar config { $(Config::$word($dollar it) => $dollar call,)+ }
            };
        }

        /// `dispatch_pair!(one, other, (a, b) => same, (a, b) => different)` evaluates `same` if
        /// two running forms are of the same choice, and `different` otherwise.
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

/// Type in which a variant of `enum State` stores the state of its module: the state itself, or a
/// `Box` of it if `boxed` is given.
#[doc(hidden)]
#[macro_export]
macro_rules! kept {
    ($state:ty) => { $state };
    ($state:ty, boxed) => { Box<$state> };
}

pub use schemars::{JsonSchema, Schema, SchemaGenerator};
pub use serde_json::Value;

/// Schema generator that writes every subschema in place, so a listing need not follow references.
pub fn inline_generator() -> SchemaGenerator {
    schemars::generate::SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
}
