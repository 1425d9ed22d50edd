//! Shapes: their nodes, links and flows.

use super::tables::{COUNT_MAX, Cross, FlowKeys, LinkKeys, TableTemplate, Tables, check_range};
use crate::error::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Largest number of links in a row: a packet counts its hops in a byte.
const HOPS_MAX: u32 = 255;

/// One flow, `flow`, over `hops` equal links in a row: `hop0` … between the nodes `n0` ….
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Number of links.
    #[schemars(range(min = 1, max = 255))]
    pub hops: u32,
    /// Keys for all links. Defaults: 10 Mbit/s, 10 ms, a queue of 100 packets.
    #[serde(default)]
    pub link: LinkKeys,
    /// Keys for the flow. Defaults: `newreno` and `bulk`.
    #[serde(default)]
    pub flow: FlowKeys,
    /// UDP flows over all links: `udp0` … in the direction of the flow, `udp_reverse0` … in the
    /// other.
    #[serde(default)]
    pub cross: Cross,
}

impl Chain {
    pub(super) fn tables(&self) -> Result<Tables, Problem> {
        let mut tables = Tables::default();
        let nodes = row(&mut tables, self.hops, &self.link)?;
        let ends = [nodes[0].clone(), nodes[nodes.len() - 1].clone()];
        tables.add_flow(
            "flow",
            ends.each_ref().map(String::as_str),
            &TableTemplate::for_flows(&self.flow)?,
        );
        tables.add_cross_traffic(&self.cross, &[ends])?;
        Ok(tables)
    }
}

/// Senders `left0` … at one end of the link `bottleneck`, from `r1` to `r2`, and as many receivers
/// `right0` … at its other end: a flow for each pair, `flow0` …. The links of hosts have the names
/// of the hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Number of pairs.
    #[schemars(range(min = 1, max = 10_000))]
    pub n: u32,
    /// Keys for the link in the middle. Defaults: 10 Mbit/s, 10 ms, a queue of 100 packets.
    #[serde(default)]
    pub bottleneck: LinkKeys,
    /// Keys for the links of hosts. Defaults: 100 Mbit/s, 1 ms.
    #[serde(default)]
    pub access: LinkKeys,
    /// Keys for all flows. Defaults: `newreno` and `bulk`.
    #[serde(default)]
    pub flow: FlowKeys,
    /// Number of pairs, from the first, that also have a flow from right to left, `reverse0` ….
    #[serde(default)]
    pub reverse: u32,
    /// Additional flows of UDP, one for each pair in turn: `udp0` … from left to right,
    /// `udp_reverse0` … from right to left.
    #[serde(default)]
    pub cross: Cross,
}

impl Dumbbell {
    pub(super) fn tables(&self) -> Result<Tables, Problem> {
        check_range("n", self.n, [1, COUNT_MAX])?;
        check_range("reverse", self.reverse, [0, self.n])?;
        let bottleneck = TableTemplate::for_links(&["bottleneck"], slow(), &self.bottleneck)?;
        let usual = json!({ "rate": "100 Mbit/s", "delay": "1 ms" });
        let access = TableTemplate::for_links(&["access"], usual, &self.access)?;
        let flow = TableTemplate::for_flows(&self.flow)?;
        let mut tables = Tables::default();
        tables.add_link("bottleneck", ["r1", "r2"], &bottleneck);
        let pairs: Vec<[String; 2]> =
            (0..self.n).map(|i| [format!("left{i}"), format!("right{i}")]).collect();
        pairs.iter().for_each(|[left, _]| tables.add_link(left, [left, "r1"], &access));
        pairs.iter().for_each(|[_, right]| tables.add_link(right, ["r2", right], &access));
        for (i, [left, right]) in pairs.iter().enumerate() {
            tables.add_flow(&format!("flow{i}"), [left, right], &flow);
        }
        for (i, [left, right]) in pairs.iter().take(self.reverse as usize).enumerate() {
            tables.add_flow(&format!("reverse{i}"), [right, left], &flow);
        }
        tables.add_cross_traffic(&self.cross, &pairs)?;
        Ok(tables)
    }
}

/// A flow, `long`, over `hops` bottlenecks in a row, and a flow, `cross0` …, over each of them
/// alone. The bottlenecks are the links `hop0` … between the nodes `n0` ….
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParkingLot {
    /// Number of bottlenecks.
    #[schemars(range(min = 1, max = 255))]
    pub hops: u32,
    /// Keys for all links. Defaults: 10 Mbit/s, 10 ms, a queue of 100 packets.
    #[serde(default)]
    pub link: LinkKeys,
    /// Keys for all flows. Defaults: `newreno` and `bulk`.
    #[serde(default)]
    pub flow: FlowKeys,
    /// UDP flows, over each bottleneck in turn: `udp0` … in the direction of the other flows,
    /// `udp_reverse0` … in the opposite direction.
    #[serde(default)]
    pub cross: Cross,
}

impl ParkingLot {
    pub(super) fn tables(&self) -> Result<Tables, Problem> {
        let mut tables = Tables::default();
        let nodes = row(&mut tables, self.hops, &self.link)?;
        let flow = TableTemplate::for_flows(&self.flow)?;
        tables.add_flow("long", [&nodes[0], &nodes[nodes.len() - 1]], &flow);
        let single: Vec<[String; 2]> =
            nodes.windows(2).map(|pair| [pair[0].clone(), pair[1].clone()]).collect();
        for (i, [from, to]) in single.iter().enumerate() {
            tables.add_flow(&format!("cross{i}"), [from, to], &flow);
        }
        tables.add_cross_traffic(&self.cross, &single)?;
        Ok(tables)
    }
}

/// A flow, `download`, from a `server` over the link `ground` to a `gateway`, and from there over
/// the link `space`, by a geostationary satellite, to a `terminal`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Satellite {
    /// Keys for the link from gateway to terminal. Defaults: 2 Mbit/s, 250 ms each way (RFC 2488
    /// §2: 239.6 ms below the satellite, 279 ms at the edge of its view), a queue of 100 packets.
    #[serde(default)]
    pub space: LinkKeys,
    /// Keys for the link from server to gateway. Defaults: 100 Mbit/s, 10 ms.
    #[serde(default)]
    pub ground: LinkKeys,
    /// Keys for the flow. Defaults: `newreno` and `bulk`.
    #[serde(default)]
    pub flow: FlowKeys,
    /// Flows of UDP: `udp0` … from the server to the terminal, `udp_reverse0` … back.
    #[serde(default)]
    pub cross: Cross,
}

impl Satellite {
    pub(super) fn tables(&self) -> Result<Tables, Problem> {
        let usual = json!({ "rate": "100 Mbit/s", "delay": "10 ms" });
        let ground = TableTemplate::for_links(&["ground"], usual, &self.ground)?;
        let usual = json!({ "rate": "2 Mbit/s", "delay": "250 ms", "queue": queue() });
        let space = TableTemplate::for_links(&["space"], usual, &self.space)?;
        let mut tables = Tables::default();
        tables.add_link("ground", ["server", "gateway"], &ground);
        tables.add_link("space", ["gateway", "terminal"], &space);
        tables.add_flow("download", ["server", "terminal"], &TableTemplate::for_flows(&self.flow)?);
        tables.add_cross_traffic(&self.cross, &[["server".to_owned(), "terminal".to_owned()]])?;
        Ok(tables)
    }
}

/// Adds links `hop0` … in a row; returns the nodes.
fn row(tables: &mut Tables, hops: u32, given: &LinkKeys) -> Result<Vec<String>, Problem> {
    check_range("hops", hops, [1, HOPS_MAX])?;
    let kind = TableTemplate::for_links(&["link"], slow(), given)?;
    let nodes: Vec<String> = (0..=hops).map(|i| format!("n{i}")).collect();
    for (i, pair) in nodes.windows(2).enumerate() {
        tables.add_link(&format!("hop{i}"), [&pair[0], &pair[1]], &kind);
    }
    Ok(nodes)
}

/// Default keys of a bottleneck.
fn slow() -> Value {
    json!({ "rate": "10 Mbit/s", "delay": "10 ms", "queue": queue() })
}

fn queue() -> Value {
    json!({ "discipline": "droptail", "packets": 100 })
}
