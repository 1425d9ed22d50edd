//! Writing a scenario as a file with all values explicit.

use crate::scenario::{Direction, Flow, Link, NamedTcp, Route, Scenario};
use crate::tables::{Channels, DirectionTable, FlowTable, LinkTable, RouteTable, take_equal};
use crate::wlan::WlanTable;
use crate::{repair, schedule};
use serde::ser::{Serialize, SerializeMap, Serializer};

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self, true, serializer)
    }
}

/// Scenario that is written without its links, wlans, routes and flows, because there may be
/// thousands of these.
#[derive(Debug, Clone, Copy)]
pub struct ScenarioHeader<'a>(pub &'a Scenario);

impl Serialize for ScenarioHeader<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write(self.0, false, serializer)
    }
}

/// Writes the keys of [`crate::file::File`], in its order.
fn write<S: Serializer>(of: &Scenario, lists: bool, serializer: S) -> Result<S::Ok, S::Error> {
    let mut file = serializer.serialize_map(None)?;
    file.serialize_entry("title", &of.title)?;
    file.serialize_entry("duration", &of.duration)?;
    file.serialize_entry("stop", &of.stop)?;
    file.serialize_entry("warmup", &of.warmup)?;
    file.serialize_entry("seed", &of.seed)?;
    if let Some(interval) = &of.sample_interval {
        file.serialize_entry("sample_interval", interval)?;
    }
    if !of.tcps.is_empty() {
        file.serialize_entry("tcp", &TcpTable(&of.tcps))?;
    }
    if lists && !of.links.is_empty() {
        file.serialize_entry("link", &Each(&of.links, LinkTable::from))?;
    }
    if lists && !of.wlans.is_empty() {
        file.serialize_entry("wlan", &Each(&of.wlans, WlanTable::from))?;
    }
    if lists && !of.routes.is_empty() {
        file.serialize_entry("route", &Each(&of.routes, RouteTable::from))?;
    }
    if !of.relays.is_empty() {
        file.serialize_entry("relay", &of.relays)?;
    }
    if lists {
        file.serialize_entry("flow", &Each(&of.flows, |flow| FlowTable::new(flow, of)))?;
    }
    if let Some(sweep) = &of.sweep {
        file.serialize_entry("sweep", sweep)?;
    }
    file.end()
}

/// List whose elements are converted one at a time while they are written.
struct Each<'a, T, F>(&'a [T], F);

impl<'a, T, U: Serialize, F: Fn(&'a T) -> U> Serialize for Each<'a, T, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}

/// TCPs, written as a table with their names as keys.
struct TcpTable<'a>(&'a [NamedTcp]);

impl Serialize for TcpTable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|tcp| (&tcp.name, &tcp.config)))
    }
}

impl From<&Link> for LinkTable {
    /// Values that are equal in both directions are written in the link itself.
    fn from(link: &Link) -> Self {
        let mut forward = DirectionTable::from(&link.forward);
        let mut reverse = DirectionTable::from(&link.reverse);
        Self {
            name: link.name.clone(),
            ends: link.ends.clone(),
            rate: take_equal(&mut forward.rate, &mut reverse.rate),
            delay: take_equal(&mut forward.delay, &mut reverse.delay),
            overhead: take_equal(&mut forward.overhead, &mut reverse.overhead),
            mtu: take_equal(&mut forward.mtu, &mut reverse.mtu),
            queue: take_equal(&mut forward.queue, &mut reverse.queue),
            channel: take_equal(&mut forward.channel, &mut reverse.channel),
            arq: take_equal(&mut forward.arq, &mut reverse.arq),
            fec: take_equal(&mut forward.fec, &mut reverse.fec),
            schedule: schedule::change_tables(&link.forward.changes, &link.reverse.changes),
            forward,
            reverse,
        }
    }
}

impl From<&Direction> for DirectionTable {
    fn from(direction: &Direction) -> Self {
        let (arq, fec) = repair::repair_tables(direction.repair);
        Self {
            rate: direction.rate,
            delay: Some(direction.delay),
            overhead: Some(direction.overhead),
            mtu: Some(direction.mtu),
            queue: Some(direction.queue.clone()),
            channel: Some(Channels(direction.channel.clone())),
            arq,
            fec,
        }
    }
}

impl From<&Route> for RouteTable {
    fn from(route: &Route) -> Self {
        let Route { from, to, via } = route.clone();
        Self { from, to, via }
    }
}

impl FlowTable {
    fn new(flow: &Flow, scenario: &Scenario) -> Self {
        Self {
            name: flow.name.clone(),
            from: flow.from.clone(),
            to: flow.to.clone(),
            tcp: flow.tcp().map(|(tcp, _)| scenario.tcps[tcp].name.clone()),
            udp: flow.udp().copied(),
            app: flow.app.clone(),
            start: flow.start,
            count: flow.count,
            stagger: flow.stagger,
            initiator: flow.tcp().map(|(_, initiator)| initiator),
            read_rate: flow.read_rate(),
        }
    }
}
