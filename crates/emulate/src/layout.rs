//! From a scenario to hosts with addresses, flows with ports, and ways between them.

use crate::error::EmulateError;
use crate::protocol::{Backend, FileOrder, FlowOrder, HostOrder, Order, Program};
use crate::settings::{KernelTcp, kernel_tcp};
use retx_record::capture::node_address;
use retx_scenario::{App, Hop, Scenario};
use retx_sim::build;
use retx_sim::plan::{FlowPlan, Plan, Side, Sizes, Work};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Most hosts: each is a namespace and a device that the emulator has to look after.
pub const HOSTS_MAX: usize = 256;
/// Most flows: each is two threads.
pub const FLOWS_MAX: usize = 2000;
/// The listening end of flow n has port `FIRST_PORT` + n, below the range from which the kernel
/// takes ports by itself.
pub const FIRST_PORT: u16 = 20_001;

/// What is to be run, and where.
#[derive(Debug)]
pub struct Layout {
    /// The stages and the flows, with a route for each pair of hosts.
    pub plan: Plan,
    /// What the worker is to set up.
    pub order: Order,
    /// The route from each host to each other: index `from × hosts + to`.
    pub routes: Vec<Option<u32>>,
    /// What is written into the segments of each flow, if anything.
    pub advertised_windows: Vec<Option<u32>>,
}

/// A program that is to be run in a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramAt {
    /// The node's name.
    pub host: String,
    /// What a shell is given; `None` for a shell of the user's.
    pub command: Option<String>,
    /// The run does not wait for its end: it ends with the run.
    pub background: bool,
}

/// Lays a scenario out.
///
/// # Errors
/// What no kernel can do, or not all in one host; more hosts or flows than can be.
pub fn lay(
    scenario: &Scenario,
    programs: &[ProgramAt],
    backend: Backend,
) -> Result<Layout, EmulateError> {
    check_traffic(scenario)?;
    let mut plan = build::plan(scenario);
    if let Some(relay) = scenario.relays.first() {
        let message = format!(
            "relay.{}: relays look into segments and answer them, which emulation leaves to the \
             kernel; leave it out",
            relay.name()
        );
        return Err(EmulateError::Scenario(message));
    }
    let kernels = kernels(scenario)?;
    let nodes = scenario.nodes();
    let hosts = hosts(&plan, programs, &nodes)?;
    let index_of = |node: u32| hosts.iter().position(|host| *host == node).expect("it is a host");
    let mtu = mtu(scenario);
    let mut orders: Vec<HostOrder> = hosts
        .iter()
        .map(|node| HostOrder {
            name: nodes[*node as usize].to_owned(),
            address: node_address(*node),
            mtu,
            sysctls: BTreeMap::new(),
            route: BTreeMap::new(),
        })
        .collect();
    let mut owners = BTreeMap::new();
    for flow in &plan.flows {
        for node in flow.nodes {
            let host = &mut orders[index_of(node)];
            set_host(host, flow, &kernels[flow.tcp as usize], &mut owners)?;
        }
    }
    let flows = plan.flows.iter().enumerate().map(|(index, flow)| FlowOrder {
        hosts: flow.nodes.map(index_of),
        sender_opens: flow.initiator == Side::Sender,
        port: FIRST_PORT + index as u16,
        start: flow.start,
        files: files(&flow.work),
        socket: kernels[flow.tcp as usize].socket.clone(),
    });
    let flows = flows.collect();
    let advertised_windows =
        plan.flows.iter().map(|flow| kernels[flow.tcp as usize].advertised_window).collect();
    let routes = routes(scenario, &mut plan, &orders);
    let position = |program: &ProgramAt| {
        let host = orders.iter().position(|host| host.name == program.host);
        let ProgramAt { command, background, .. } = program.clone();
        Program { host: host.expect("it is a host"), command, background }
    };
    let programs: Vec<Program> = programs.iter().map(position).collect();
    let has_input = programs.iter().any(|program| program.command.is_none());
    let order = Order { backend, hosts: orders, flows, programs, has_input };
    Ok(Layout { plan, order, routes, advertised_windows })
}

/// Refuses what the hosts' programs do not send.
fn check_traffic(scenario: &Scenario) -> Result<(), EmulateError> {
    if let Some(relay) = scenario.relays.first() {
        return Err(EmulateError::Scenario(format!(
            "relay.{}: relays cannot be emulated, as they hold connections of retx's own TCP",
            relay.name()
        )));
    }
    let what = |flow: &retx_scenario::Flow| match flow.app {
        _ if flow.udp().is_some() => Some("UDP"),
        App::RequestResponse(_) => Some("requests and responses"),
        _ => None,
    };
    let unable = scenario.flows.iter().find_map(|flow| Some((flow, what(flow)?)));
    unable.map_or(Ok(()), |(flow, what)| {
        Err(EmulateError::Scenario(format!(
            "flow.{}: {what} cannot be emulated: bulk, transfer and ftp over TCP can",
            flow.name
        )))
    })
}

/// What the kernel is set to for each TCP of the scenario that a flow uses.
fn kernels(scenario: &Scenario) -> Result<Vec<KernelTcp>, EmulateError> {
    let used = |index: usize| {
        scenario.flows.iter().any(|flow| flow.tcp().is_some_and(|(tcp, _)| tcp == index))
    };
    let kernel = |(index, tcp): (usize, &retx_scenario::NamedTcp)| {
        if !used(index) {
            return Ok(KernelTcp::default());
        }
        kernel_tcp(&tcp.config)
            .map_err(|message| EmulateError::Scenario(format!("tcp.{}: {message}", tcp.name)))
    };
    scenario.tcps.iter().enumerate().map(kernel).collect()
}

/// The nodes where flows end or programs run.
fn hosts(plan: &Plan, programs: &[ProgramAt], nodes: &[&str]) -> Result<Vec<u32>, EmulateError> {
    let mut hosts: Vec<u32> = plan.flows.iter().flat_map(|flow| flow.nodes).collect();
    for program in programs {
        let node = nodes.iter().position(|node| *node == program.host).ok_or_else(|| {
            EmulateError::Scenario(format!(
                "unknown host \"{}\"; the scenario's nodes are {}",
                program.host,
                nodes.join(", ")
            ))
        })?;
        hosts.push(node as u32);
    }
    hosts.sort_unstable();
    hosts.dedup();
    if hosts.len() > HOSTS_MAX {
        let message = format!("{} hosts: at most {HOSTS_MAX} can be emulated", hosts.len());
        return Err(EmulateError::Scenario(message));
    }
    if plan.flows.len() > FLOWS_MAX {
        let message = format!("{} flows: at most {FLOWS_MAX} can be emulated", plan.flows.len());
        return Err(EmulateError::Scenario(message));
    }
    Ok(hosts)
}

/// Who has set which setting of which host.
type Owners = BTreeMap<(Ipv4Addr, String), String>;

/// What a flow needs of a host as a whole, which another may not want otherwise.
fn set_host(
    host: &mut HostOrder,
    flow: &FlowPlan,
    kernel: &KernelTcp,
    owners: &mut Owners,
) -> Result<(), EmulateError> {
    for (all, of_host) in [(&kernel.sysctls, &mut host.sysctls), (&kernel.route, &mut host.route)] {
        for (key, value) in all {
            let before = of_host.insert(key.clone(), value.clone());
            let owner = owners.entry((host.address, key.clone())).or_insert(flow.name.clone());
            if let Some(before) = before
                && before != *value
            {
                let setting = key.trim_start_matches("ipv4/");
                return Err(EmulateError::Scenario(format!(
                    "flows \"{owner}\" and \"{}\" share the host \"{}\", which can have one \
                     {setting} only, and need {before} and {value}: give one of them a host of \
                     its own",
                    flow.name, host.name
                )));
            }
        }
    }
    Ok(())
}

fn mtu(scenario: &Scenario) -> u32 {
    let links = scenario.links.iter().flat_map(|link| [link.forward.mtu, link.reverse.mtu]);
    // A wlan takes packets of any size that its hosts send.
    links.min().unwrap_or(1500)
}

fn files(work: &Work) -> FileOrder {
    match work {
        Work::Bulk => FileOrder::Endless,
        Work::Files { sizes: Sizes::Equal { count, bytes }, pause } => {
            FileOrder::Equal { count: *count, bytes: *bytes, pause: pause.as_nanos() }
        }
        Work::Files { sizes: Sizes::Each(bytes), pause } => {
            FileOrder::Each { bytes: bytes.to_vec(), pause: pause.as_nanos() }
        }
        Work::Exchanges(_) => unreachable!("refused before"),
    }
}

/// Adds a route between each two hosts to the plan, as flows between them would take it.
fn routes(scenario: &Scenario, plan: &mut Plan, hosts: &[HostOrder]) -> Vec<Option<u32>> {
    let mut routes = Vec::with_capacity(hosts.len() * hosts.len());
    for from in hosts {
        for to in hosts {
            let way: Option<Vec<Hop>> = scenario.way(&from.name, &to.name);
            routes.push(way.map(|way| {
                plan.routes.push(way.iter().map(build::hop).collect());
                plan.routes.len() as u32 - 1
            }));
        }
    }
    routes
}

#[cfg(test)]
mod tests {
    use super::*;
    use retx_scenario::{Source, parse};

    fn scenario(tcp: [&str; 2]) -> Scenario {
        let text = format!(
            r#"
            duration = "10 s"
            [tcp.plain]
            like = "linux"
            sack = false
            mss = 1400
            [[link]]
            name = "first"
            ends = ["a", "middle"]
            [[link]]
            name = "second"
            ends = ["middle", "b"]
            mtu = 1480
            [[flow]]
            name = "x"
            from = "a"
            to = "b"
            initiator = "from"
            tcp = "{}"
            app = {{ kind = "transfer", bytes = 1000 }}
            [[flow]]
            name = "y"
            from = "b"
            to = "a"
            initiator = "to"
            tcp = "{}"
            app = {{ kind = "bulk" }}
            [tcp.small]
            like = "linux"
            mss = 1400
            [tcp.other]
            like = "sack"
            mss = 1400
            "#,
            tcp[0], tcp[1]
        );
        parse(&Source { name: "test", text: &text, overrides: &[] }).expect("a sound scenario")
    }

    #[test]
    fn hosts_are_where_flows_end_or_programs_run() {
        let scenario = scenario(["small", "small"]);
        let layout = lay(&scenario, &[], Backend::Tun).expect("kernels can");
        let names: Vec<&str> = layout.order.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(layout.order.hosts[1].address, Ipv4Addr::new(10, 0, 0, 3));
        assert_eq!(layout.order.hosts[0].mtu, 1480);
        assert_eq!(layout.order.hosts[0].route["advmss"], "1400");
        let [x, y] = &layout.order.flows[..] else { panic!("two flows") };
        assert_eq!((x.hosts, x.sender_opens, x.port), ([0, 1], true, 20_001));
        assert_eq!((y.hosts, y.sender_opens, y.port), ([1, 0], false, 20_002));
        let found: Vec<bool> = layout.routes.iter().map(Option::is_some).collect();
        assert_eq!(found, [false, true, true, false]);

        let ping =
            ProgramAt { host: "middle".into(), command: Some("ping a".into()), background: false };
        let layout = lay(&scenario, std::slice::from_ref(&ping), Backend::Tun).expect("it can");
        assert_eq!(layout.order.hosts.len(), 3);
        assert_eq!(layout.order.programs[0].host, 1);
        let nowhere = ProgramAt { host: "c".into(), ..ping };
        let error = lay(&scenario, &[nowhere], Backend::Tun).expect_err("there is no c");
        assert_eq!(error.to_string(), "unknown host \"c\"; the scenario's nodes are a, middle, b");
    }

    #[test]
    fn one_host_has_one_setting() {
        let error = lay(&scenario(["small", "plain"]), &[], Backend::Tun).expect_err("they differ");
        assert!(
            error.to_string().starts_with(
                "flows \"x\" and \"y\" share the host \"b\", which can have one tcp_sack only, and \
                 need 1 and 0"
            ),
            "{error}"
        );
        let error = lay(&scenario(["small", "other"]), &[], Backend::Tun).expect_err("no kernel");
        assert!(error.to_string().starts_with("tcp.other: no kernel"), "{error}");
    }
    #[test]
    fn only_what_the_hosts_send_is_emulated() {
        let refused = |flow: &str, app: &str| {
            let text = format!(
                "duration = \"1 s\"\n[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\n[[flow]]\n\
                 name = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\napp = {app}\n"
            );
            let source = Source { name: "test", text: &text, overrides: &[] };
            let scenario = parse(&source).expect("a sound scenario");
            lay(&scenario, &[], Backend::Tun).expect_err("it cannot").to_string()
        };
        let udp = refused("udp = { packet = 100, rate = \"1 Mbit/s\" }", "\"cbr\"");
        assert_eq!(udp, "flow.f: UDP cannot be emulated: bulk, transfer and ftp over TCP can");
        let app = "{ kind = \"request_response\", request = 1, response = 1 }";
        assert!(refused("tcp = \"linux\"", app).starts_with("flow.f: requests and responses"));
    }
}
