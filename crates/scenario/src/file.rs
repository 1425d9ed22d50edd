//! The scenario file, as users write it, and its JSON Schema.

use crate::tables::{FlowTable, LinkTable, RouteTable, Stop};
use crate::topology::Topology;
use crate::wlan::WlanTable;
use crate::{Relay, SampleInterval, schema};
use retx_units::Duration;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Map, Value};

/// An experiment: nodes, links, flows, and the TCPs that they run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "retx scenario")]
pub struct File {
    /// Title of the scenario.
    #[serde(default)]
    pub title: String,
    /// Longest duration of the run.
    pub duration: Duration,
    /// Condition that ends the run.
    #[serde(default)]
    pub stop: Stop,
    /// Time at which statistics start.
    #[serde(default)]
    pub warmup: Duration,
    /// Seed of all random streams.
    #[serde(default = "default_seed")]
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: u64,
    /// Sampling of time series: an interval, or `"every_ack"`; without this key no samples are
    /// taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_interval: Option<SampleInterval>,
    /// TCPs by name. `like` names the preset, or another of these TCPs, from which a TCP starts.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schemars(schema_with = "schema::tcp_tables")]
    pub tcp: Map<String, Value>,
    /// A network shape that generates links and flows; the file may add others. A resolved scenario
    /// contains the links and flows instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Links between nodes; a node exists by being an end of a link or a station.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkTable>,
    /// Cells of 802.11 stations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wlan: Vec<WlanTable>,
    /// Routes that differ from the default, the route with the fewest hops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<RouteTable>,
    /// Relays: agents at nodes that handle passing packets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relay: Vec<Relay>,
    /// The flows.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub flow: Vec<FlowTable>,
    /// Parameters varied by `retx sweep`; a single run ignores them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::sweep")]
    pub sweep: Option<Map<String, Value>>,
}

fn default_seed() -> u64 {
    1
}

/// JSON Schema (draft 2020-12) of a scenario file as users write it, for editors.
pub fn json_schema() -> String {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<File>();
    let mut text =
        serde_json::to_string_pretty(&schema::without_null(schema)).expect("a schema is JSON");
    text.push('\n');
    text
}
