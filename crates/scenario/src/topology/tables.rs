//! Tables of the links and flows that a shape generates. Each contains first the keys that the
//! shape itself sets, then those that the user sets for all links or flows of a kind.

use crate::error::Problem;
use crate::tables::{FlowTable, LinkTable};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Keys below `[topology]` from which a link or a flow was generated.
pub type Origin = &'static [&'static str];

/// Keys of a `[[link]]`, for all links of a kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkKeys(Map<String, Value>);

/// Keys of a `[[flow]]`, for all flows of a kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlowKeys(Map<String, Value>);

/// Keys of a link that the shape itself sets.
const LINK_OWN: &[&str] = &["name", "ends"];
/// Keys of a flow that the shape itself sets.
const FLOW_OWN: &[&str] = &["name", "from", "to"];

impl JsonSchema for LinkKeys {
    fn schema_name() -> Cow<'static, str> {
        "LinkKeys".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        keys_of(LinkTable::json_schema(generator), "link", LINK_OWN)
    }
}

impl JsonSchema for FlowKeys {
    fn schema_name() -> Cow<'static, str> {
        "FlowKeys".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        keys_of(FlowTable::json_schema(generator), "flow", FLOW_OWN)
    }
}

/// Schema of a table without the keys that the shape sets; none of the remaining keys is required.
fn keys_of(mut schema: Schema, list: &str, own: &[&str]) -> Schema {
    let table = schema.as_object_mut().expect("a table has a schema");
    table.remove("required");
    let properties = table.get_mut("properties").and_then(Value::as_object_mut);
    properties.expect("a table has keys").retain(|key, _| !own.contains(&key.as_str()));
    let description = format!("Keys of a [[{list}]], for all of a kind in a [topology].");
    table.insert("description".into(), description.into());
    schema
}

/// UDP flows in addition to those of a shape.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cross {
    /// Number of flows in the direction of the shape's flows.
    #[schemars(range(max = 10_000))]
    pub forward: u32,
    /// Number of flows in the opposite direction.
    #[schemars(range(max = 10_000))]
    pub reverse: u32,
    /// Keys of each UDP flow; by default 512-byte packets at a constant 100 kbit/s.
    pub flow: FlowKeys,
}

/// Link or flow with its origin.
#[derive(Debug)]
pub struct GeneratedTable {
    pub table: Map<String, Value>,
    pub origin: Origin,
}

impl GeneratedTable {
    /// Name, unique in its list.
    pub fn name(&self) -> &str {
        self.table["name"].as_str().expect("a shape gives names")
    }
}

/// Links and flows of the file.
#[derive(Debug, Default)]
pub struct Tables {
    pub links: Vec<GeneratedTable>,
    pub flows: Vec<GeneratedTable>,
}

/// Keys shared by all links or flows of a kind.
#[derive(Debug)]
pub struct TableTemplate {
    keys: Map<String, Value>,
    origin: Origin,
}

impl TableTemplate {
    /// Kind of links with the given keys. The other keys have the topology's defaults, `usual`.
    pub fn for_links(origin: Origin, usual: Value, given: &LinkKeys) -> Result<Self, Problem> {
        Self::new(origin, usual, &given.0, LINK_OWN)
    }

    /// Kind of flows with the given keys; the TCP is `newreno` and the application `bulk` unless
    /// given.
    pub fn for_flows(given: &FlowKeys) -> Result<Self, Problem> {
        let mut usual = json!({ "tcp": "newreno", "app": "bulk" });
        if given.0.contains_key("udp") {
            usual = json!({ "app": "bulk" });
        }
        Self::new(&["flow"], usual, &given.0, FLOW_OWN)
    }

    fn for_cross_traffic(given: &FlowKeys) -> Result<Self, Problem> {
        let usual = json!({ "udp": { "packet": 512, "rate": "100 kbit/s" }, "app": "cbr" });
        Self::new(&["cross", "flow"], usual, &given.0, FLOW_OWN)
    }

    fn new(
        origin: Origin,
        usual: Value,
        given: &Map<String, Value>,
        own: &[&str],
    ) -> Result<Self, Problem> {
        if let Some(key) = own.iter().find(|key| given.contains_key(**key)) {
            let message = format!("the shape itself gives {}: leave this out", own.join(", "));
            let within = |problem: Problem, key: &&str| problem.within(key);
            return Err(origin.iter().rev().fold(Problem::new(message).within(key), within));
        }
        let Value::Object(mut keys) = usual else { unreachable!("a table") };
        keys.extend(given.clone());
        Ok(Self { keys, origin })
    }

    fn made(&self, own: Value) -> GeneratedTable {
        let Value::Object(mut table) = own else { unreachable!("a table") };
        table.extend(self.keys.clone());
        GeneratedTable { table, origin: self.origin }
    }
}

impl Tables {
    /// Adds a link.
    pub fn add_link(&mut self, name: &str, ends: [&str; 2], kind: &TableTemplate) {
        self.links.push(kind.made(json!({ "name": name, "ends": ends })));
    }

    /// Adds a flow from the first of the nodes to the second.
    pub fn add_flow(&mut self, name: &str, [from, to]: [&str; 2], kind: &TableTemplate) {
        self.flows.push(kind.made(json!({ "name": name, "from": from, "to": to })));
    }

    /// Adds UDP flows, one for each of these pairs in turn; after the last pair the first follows.
    pub fn add_cross_traffic(
        &mut self,
        cross: &Cross,
        pairs: &[[String; 2]],
    ) -> Result<(), Problem> {
        let kind = TableTemplate::for_cross_traffic(&cross.flow)?;
        let numbers =
            [("udp", "forward", cross.forward), ("udp_reverse", "reverse", cross.reverse)];
        for (name, key, number) in numbers {
            check_range(key, number, [0, COUNT_MAX]).map_err(|problem| problem.within("cross"))?;
            for (i, [from, to]) in (0..number).zip(pairs.iter().cycle()) {
                let ends = if key == "forward" { [from, to] } else { [to, from] };
                self.add_flow(&format!("{name}{i}"), ends.map(String::as_str), &kind);
            }
        }
        Ok(())
    }
}

/// Maximum number of pairs, and of flows of a kind. The routes of a larger network would take
/// minutes to compute.
pub const COUNT_MAX: u32 = 10_000;

/// Refuses a number out of range.
pub fn check_range(key: &str, number: u32, [least, most]: [u32; 2]) -> Result<(), Problem> {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    Err(Problem::new(format!("{number} lies outside {least} … {most}")).within(key))
}
