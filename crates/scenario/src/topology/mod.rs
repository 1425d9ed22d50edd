//! `[topology]`: network shapes from the literature, which are expanded to links and flows before
//! anything else is read.
//!
//! The generated links and flows are checked like those that a user writes. [`Origins`] attributes
//! an error in one of them to the `[topology]`.

mod shapes;
mod tables;

pub use shapes::{Chain, Dumbbell, ParkingLot, Satellite};

use crate::error::{Problem, Step};
use crate::wording;
use retx_units::choice;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;
use std::borrow::Cow;
use tables::{GeneratedTable, Origin, Tables};

/// Key of the table.
pub const KEY: &str = "topology";

/// Key that names the shape.
pub const TAG: &str = "shape";

/// Declares the shapes. Each entry consists of the shape's name in scenarios, its variant and its
/// type.
macro_rules! shapes {
    ($($word:literal $shape:ident),+ $(,)?) => {
        /// The `shape` of a `[topology]`, with its parameters.
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs)]
        pub enum Topology { $($shape($shape),)+ }

        impl Topology {
            /// Name and JSON Schema of every shape.
            pub fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Schema)> {
                vec![$(($word, $shape::json_schema(generator))),+]
            }

            fn tables(&self) -> Result<Tables, Problem> {
                match self { $(Self::$shape(shape) => shape.tables(),)+ }
            }
        }

        retx_units::named_choices! { Topology, name, tag = TAG; $($word => $shape),+ }
    };
}

shapes! {
    "chain" Chain, "dumbbell" Dumbbell, "parking_lot" ParkingLot, "satellite" Satellite,
}

impl JsonSchema for Topology {
    fn schema_name() -> Cow<'static, str> {
        "Topology".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        choice::schema(TAG, Self::schemas(generator))
    }
}

/// Origin in `[topology]` of each link and flow that the topology creates.
#[derive(Debug, Default)]
pub struct Origins {
    links: Vec<Origin>,
    flows: Vec<Origin>,
}

/// Origins of a file without a topology.
pub static NO_ORIGINS: Origins = Origins { links: Vec::new(), flows: Vec::new() };

impl Origins {
    /// Path in the user's file that corresponds to a path in the expanded values.
    pub fn path_in_file<'a>(&self, path: &'a [Step]) -> Cow<'a, [Step]> {
        let [Step::Key(list), Step::Index(index), rest @ ..] = path else {
            return path.into();
        };
        let made = match list.as_str() {
            "link" => &self.links,
            "flow" => &self.flows,
            _ => return path.into(),
        };
        let mut written = match made.get(*index) {
            Some(origin) => {
                let keys = std::iter::once(&KEY).chain(*origin);
                keys.map(|key| Step::Key((*key).to_owned())).collect()
            }
            None => vec![path[0].clone(), Step::Index(index - made.len())],
        };
        written.extend_from_slice(rest);
        written.into()
    }
}

/// True for a path in a `[topology]`.
pub fn is_topology_path(path: &[Step]) -> bool {
    path.first() == Some(&Step::Key(KEY.to_owned()))
}

/// True for the key of an override that changes the topology itself.
pub fn changes_topology(key: &str) -> bool {
    key.split('.').next().is_some_and(|first| first.trim() == KEY)
}

/// Replaces a `[topology]` by its links and flows, before those that the file contains.
///
/// # Errors
/// Unknown shape or parameters, numbers out of range, or duplicate names.
pub fn expand(values: &mut Value) -> Result<Origins, Problem> {
    // `shift_remove` keeps the order of the remaining keys.
    let table = values.as_object_mut().and_then(|table| table.shift_remove(KEY));
    let Some(table) = table else { return Ok(Origins::default()) };
    let tables = wording::deserialize::<Topology>(&table).and_then(|shape| shape.tables());
    let Tables { links, flows } = tables.map_err(|problem| problem.within(KEY))?;
    Ok(Origins { links: put(values, "link", links)?, flows: put(values, "flow", flows)? })
}

/// Inserts the generated elements at the front of a list.
fn put(values: &mut Value, key: &str, made: Vec<GeneratedTable>) -> Result<Vec<Origin>, Problem> {
    let list = &mut values[key];
    let written = match list {
        Value::Null => Vec::new(),
        Value::Array(written) => std::mem::take(written),
        // If the value is not a list, the error is reported later, when the key is read.
        _ => return Ok(Vec::new()),
    };
    let names: std::collections::HashSet<&str> = made.iter().map(GeneratedTable::name).collect();
    for (index, element) in written.iter().enumerate() {
        let name = element.get("name").and_then(Value::as_str);
        if let Some(name) = name.filter(|name| names.contains(name)) {
            let message = format!("\"{name}\" names a {key} of the [topology]: take another name");
            *list = Value::Array(written);
            return Err(Problem::new(message).within("name").within_element(key, index));
        }
    }
    let (origins, tables): (Vec<_>, Vec<_>) =
        made.into_iter().map(|made| (made.origin, Value::Object(made.table))).unzip();
    *list = Value::Array(tables.into_iter().chain(written).collect());
    Ok(origins)
}
