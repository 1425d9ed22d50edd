//! Resolution of the file's tables to a scenario: names are resolved, defaults filled in,
//! contradictions refused.

use crate::FLOWS_MAX;
use crate::SampleInterval;
use crate::error::Problem;
use crate::file::File;
use crate::passing::LinksAndWlans;
use crate::relay_checks;
use crate::repair::resolve_repair;
use crate::routes::Network;
use crate::scenario::{Direction, Flow, Link, LinkDirection, Route, Scenario};
use crate::schedule;
use crate::sweep;
use crate::tables::{Channels, DirectionTable, FlowTable, LinkTable};
use crate::tcp::TcpTable;
use crate::transport;
use crate::wlan::{Wlan, WlanTable};
use crate::wording::{self, check_name};
use retx_link::channel::{self, Model};
use retx_link::queue;
use retx_tcp::Loader;
use retx_units::{Duration, Rate};
use serde_json::Value;
use std::collections::HashMap;

/// Overhead of Ethernet in bytes: preamble 8, header 14, checksum 4, gap 12 (IEEE 802.3).
const OVERHEAD_DEFAULT: u32 = 38;
/// MTU of Ethernet, bytes.
const MTU_DEFAULT: u32 = 1500;
/// Bytes of an IPv4 header (20) and of a TCP header with the maximum length of options (60).
const MTU_MIN: u32 = 20 + 60;
/// Largest IPv4 packet (RFC 791 §3.1), bytes.
const MTU_MAX: u32 = 65_535;
/// Maximum overhead. It exceeds that of any link layer, and keeps the number of bits of a frame far
/// from overflow.
const OVERHEAD_MAX: u32 = 65_535;

/// Reads the values of a file as a scenario; `loader` finds user code.
///
/// # Errors
/// The first error.
pub fn read_values(values: &Value, loader: &dyn Loader) -> Result<Scenario, Problem> {
    let file: File = wording::deserialize(values).map_err(|mut problem| {
        if problem.path.is_empty() {
            problem.message += &format!(": {}", wording::REQUIRED_TABLES);
        }
        problem
    })?;
    resolve(file, loader)
}

/// Resolves the tables of a file to a scenario.
///
/// # Errors
/// The first error.
pub fn resolve(file: File, loader: &dyn Loader) -> Result<Scenario, Problem> {
    assert!(file.topology.is_none(), "a shape has been written out before");
    check_times(&file)?;
    if let Some(table) = &file.sweep {
        sweep::read(table).map_err(|problem| problem.within("sweep"))?;
    }
    let mut tcps = TcpTable::read(&file.tcp, loader).map_err(|problem| problem.within("tcp"))?;
    let (links, wlans) = links_and_wlans(file.link, file.wlan)?;
    let routes: Vec<Route> = file
        .route
        .into_iter()
        .map(|route| Route { from: route.from, to: route.to, via: route.via })
        .collect();
    let network = Network::new(&links, &wlans, &routes)?;
    let mut flows = flows(file.flow, &mut tcps)?;
    network.compute_paths(&mut flows)?;
    let map = LinksAndWlans { links: &links, wlans: &wlans };
    relay_checks::check(&file.relay, &flows, map, (&network, &mut tcps))?;
    for (index, flow) in flows.iter_mut().enumerate() {
        transport::fit_to_path(flow, &tcps.all, &links)
            .map_err(|problem| problem.within_element("flow", index))?;
    }
    Ok(Scenario {
        title: file.title,
        duration: file.duration,
        stop: file.stop,
        warmup: file.warmup,
        seed: file.seed,
        sample_interval: file.sample_interval,
        tcps: tcps.all,
        links,
        wlans,
        routes,
        relays: file.relay,
        flows,
        sweep: file.sweep,
    })
}

fn check_times(file: &File) -> Result<(), Problem> {
    let instant = file.duration.is_zero() && file.warmup.is_zero();
    if file.warmup >= file.duration && !instant {
        let message = format!(
            "{} leaves nothing of the duration, {}: statistics start after the warm-up",
            file.warmup, file.duration
        );
        return Err(Problem::new(message).within("warmup"));
    }
    if file.sample_interval == Some(SampleInterval::Every(Duration::ZERO)) {
        let message = "0 s: samples need time between them; or write \"every_ack\"";
        return Err(Problem::new(message).within("sample_interval"));
    }
    Ok(())
}

/// Resolves links and wlans, which share a name space.
fn links_and_wlans(
    links: Vec<LinkTable>,
    wlans: Vec<WlanTable>,
) -> Result<(Vec<Link>, Vec<Wlan>), Problem> {
    if links.is_empty() && wlans.is_empty() {
        return Err(Problem::new(
            "no link: write at least one [[link]] with `name` and `ends`, or one [[wlan]] with \
             `name` and `stations`",
        ));
    }
    let mut names = HashMap::new();
    let link = |(index, table): (usize, LinkTable)| {
        let link = unique(&mut names, &table.name, index, "link").and_then(|()| link(table));
        link.map_err(|problem| problem.within_element("link", index))
    };
    let links: Vec<Link> = links.into_iter().enumerate().map(link).collect::<Result<_, _>>()?;
    let mut own_names = HashMap::new();
    let wlan = |(index, table): (usize, WlanTable)| {
        let wlan = unique(&mut own_names, &table.name, index, "wlan").and_then(|()| {
            if names.contains_key(&table.name) {
                let message = format!("\"{}\" names a link already", table.name);
                return Err(Problem::new(message).within("name"));
            }
            Wlan::new(table)
        });
        wlan.map_err(|problem| problem.within_element("wlan", index))
    };
    let wlans = wlans.into_iter().enumerate().map(wlan).collect::<Result<_, _>>()?;
    Ok((links, wlans))
}

/// Refuses duplicate and invalid names.
fn unique(
    names: &mut HashMap<String, usize>,
    name: &str,
    index: usize,
    what: &str,
) -> Result<(), Problem> {
    check_name(name, what).map_err(|problem| problem.within("name"))?;
    match names.insert(name.to_owned(), index) {
        None => Ok(()),
        Some(other) => Err(Problem::new(format!(
            "\"{name}\" names two {what}s, the {} and the {} of the file: give each its own name",
            ordinal(other + 1),
            ordinal(index + 1)
        ))
        .within("name")),
    }
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn link(table: LinkTable) -> Result<Link, Problem> {
    for node in &table.ends {
        check_name(node, "node").map_err(|problem| problem.within("ends"))?;
    }
    if table.ends[0] == table.ends[1] {
        let message = format!("joins \"{}\" to itself: name two different nodes", table.ends[0]);
        return Err(Problem::new(message).within("ends"));
    }
    let mut forward = direction(&table, &table.forward, "forward")?;
    let mut reverse = direction(&table, &table.reverse, "reverse")?;
    forward.changes = schedule::changes(&table, LinkDirection::Forward, &forward)?;
    reverse.changes = schedule::changes(&table, LinkDirection::Reverse, &reverse)?;
    forward.repair = resolve_repair(&table, &table.forward, LinkDirection::Forward, &forward)?;
    reverse.repair = resolve_repair(&table, &table.reverse, LinkDirection::Reverse, &reverse)?;
    Ok(Link { name: table.name, ends: table.ends, forward, reverse })
}

/// Resolves one direction. Its own values take precedence over those of the link, and those of the
/// link over the defaults.
fn direction(link: &LinkTable, own: &DirectionTable, way: &str) -> Result<Direction, Problem> {
    // An error in a value that both directions inherit is reported at the link.
    let blame = |key: &str, owned: bool, message: String| {
        let problem = Problem::new(message).within(key);
        if owned { problem.within(way) } else { problem }
    };
    let rate = own.rate.or(link.rate);
    if rate.is_some_and(|rate| rate < Rate::from_bit_s(1)) {
        let message = "0 bit/s sends nothing; without a rate frames take no time to send";
        return Err(blame("rate", own.rate.is_some(), message.into()));
    }
    let mtu = own.mtu.or(link.mtu).unwrap_or(MTU_DEFAULT);
    if !(MTU_MIN..=MTU_MAX).contains(&mtu) {
        let message = format!("{mtu} lies outside {MTU_MIN} … {MTU_MAX} bytes");
        return Err(blame("mtu", own.mtu.is_some(), message));
    }
    let overhead = own.overhead.or(link.overhead).unwrap_or(OVERHEAD_DEFAULT);
    if overhead > OVERHEAD_MAX {
        let message = format!("{overhead} lies outside 0 … {OVERHEAD_MAX} bytes");
        return Err(blame("overhead", own.overhead.is_some(), message));
    }
    let queue = own.queue.as_ref().or(link.queue.as_ref()).cloned();
    let Channels(channel) =
        own.channel.as_ref().or(link.channel.as_ref()).cloned().unwrap_or(Channels(Vec::new()));
    check_traces(rate, &channel)
        .map_err(|message| blame("channel", own.channel.is_some(), message))?;
    Ok(Direction {
        rate,
        delay: own.delay.or(link.delay).unwrap_or_default(),
        overhead,
        mtu,
        queue: queue.unwrap_or_else(|| queue::Config::droptail(Default::default())),
        channel,
        repair: None,
        changes: Vec::new(),
    })
}

/// Checks that the rate comes either from the link or from a trace.
fn check_traces(rate: Option<Rate>, models: &[channel::Config]) -> Result<(), String> {
    let mut given = rate.is_some();
    for model in models.iter().filter(|model| model.rates().is_some()) {
        if given {
            let name = model.name();
            return Err(format!(
                "this {name} gives the rate, which is given already: only one may, the link's \
                 `rate` or one {name}"
            ));
        }
        given = true;
    }
    Ok(())
}

fn flows(tables: Vec<FlowTable>, tcps: &mut TcpTable) -> Result<Vec<Flow>, Problem> {
    if tables.is_empty() {
        return Err(Problem::new(
            "no flow: write at least one [[flow]] with `name`, `from`, `to`, `tcp` or `udp`, and \
             `app`",
        ));
    }
    let mut names = HashMap::new();
    let mut flows = Vec::with_capacity(tables.len());
    let mut total = 0;
    for (index, table) in tables.into_iter().enumerate() {
        let flow = unique(&mut names, &table.name, index, "flow")
            .and_then(|()| check_count(&table, &mut total))
            .and_then(|()| table.app.check().map_err(|problem| problem.within("app")))
            .and_then(|()| flow(table, tcps))
            .map_err(|problem| problem.within_element("flow", index))?;
        flows.push(flow);
    }
    Ok(flows)
}

fn check_count(table: &FlowTable, total: &mut u32) -> Result<(), Problem> {
    let refuse = |key: &str, message: String| Err(Problem::new(message).within(key));
    if table.count == 0 || table.count > FLOWS_MAX {
        return refuse("count", format!("{} lies outside 1 … {FLOWS_MAX}", table.count));
    }
    *total += table.count;
    if *total > FLOWS_MAX {
        return refuse(
            "count",
            format!("{total} flows up to here: at most {FLOWS_MAX} can be run"),
        );
    }
    let offset = table.stagger.as_nanos().checked_mul(u64::from(table.count) - 1);
    let last = offset.and_then(|offset| offset.checked_add(table.start.as_nanos()));
    if last.is_none_or(|last| last > Duration::MAX.as_nanos()) {
        return refuse("stagger", "the last of these flows would start too late to count".into());
    }
    Ok(())
}

/// Resolves a flow, except for its paths.
fn flow(table: FlowTable, tcps: &mut TcpTable) -> Result<Flow, Problem> {
    Ok(Flow {
        transport: transport::resolve_transport(&table, tcps)?,
        name: table.name,
        from: table.from,
        to: table.to,
        app: table.app,
        start: table.start,
        count: table.count,
        stagger: table.stagger,
        forward_path: Vec::new(),
        reverse_path: Vec::new(),
    })
}
