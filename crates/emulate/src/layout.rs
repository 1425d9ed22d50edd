//! Layout of a scenario: hosts with addresses, flows with ports, and routes between them.

mod hosts;

use crate::error::EmulateError;
use crate::protocol::{
    Backend, DatagramSetup, ExchangeSetup, FlowSetup, FlowStreamKey, HostSetup, Program,
    ProxySetup, SourceSetup, WorkerSetup, Workload,
};
use crate::settings::KernelTcp;
use hosts::{host_nodes, host_setups, kernel_tcps};
use retx_scenario::{Hop, Scenario};
use retx_sim::build;
use retx_sim::plan::{AppPlan, FileSizes, FlowPlan, Plan, Side};
use retx_units::Rate;

/// Maximum number of hosts. Each is a namespace with a device that the emulator has to serve.
pub const HOSTS_MAX: usize = 256;
/// Maximum number of flows. Each has two threads.
pub const FLOWS_MAX: usize = 2000;
/// The listening end of flow n has port `FIRST_PORT` + n. These ports are below the range of
/// ephemeral ports.
pub const FIRST_PORT: u16 = 20_001;

/// Layout of an emulation: plan of the engine, setup of the worker, and routes.
#[derive(Debug)]
pub struct Layout {
    /// Stages and flows, and a route for each pair of hosts.
    pub plan: Plan,
    /// Hosts, flows and programs that the worker sets up.
    pub setup: WorkerSetup,
    /// Index of the route from each host to each other host, at `from × hosts + to`; `None` if
    /// there is no route.
    pub routes: Vec<Option<u32>>,
    /// For each flow, the fixed windows that are written into the segments of the sender and of the
    /// receiver; `None` if the windows are not changed.
    pub advertised_windows: Vec<[Option<u32>; 2]>,
}

/// Program to be run in a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProgram {
    /// Name of the node.
    pub host: String,
    /// Shell command; `None` for an interactive shell.
    pub command: Option<String>,
    /// True if the run does not wait for the program, and ends it when the run is over.
    pub background: bool,
}

/// Computes the layout of a scenario.
///
/// # Errors
/// A setting that no kernel supports, conflicting settings of a host, or too many hosts or flows.
pub fn compute_layout(
    scenario: &Scenario,
    programs: &[HostProgram],
    (backend, replication): (Backend, u64),
) -> Result<Layout, EmulateError> {
    let mut plan = build::plan_from_scenario(scenario);
    let kernels = kernel_tcps(&plan)?;
    let nodes = scenario.nodes();
    let hosts = host_nodes(&plan, programs, &nodes)?;
    let setups = host_setups(scenario, (&plan, &kernels), &hosts, programs)?;
    // Only nodes at which flows end or programs run become hosts; other nodes exist only in the
    // engine.
    let index_of = |node: u32| index_of(&hosts, node);
    let ends = |flow: &FlowPlan| ends(flow, &kernels);
    let draws = |name: &str| FlowStreamKey { seed: plan.seed, replication, name: name.to_owned() };
    let port = |index: usize| FIRST_PORT + index as u16;
    let flows = plan.flows.iter().enumerate().map(|(index, flow)| FlowSetup {
        hosts: flow.nodes.map(index_of),
        sender_opens: flow.initiator == Side::Sender,
        port: port(index),
        start: flow.start,
        workload: files(&flow.app, draws(&flow.name)),
        read_rate: flow.read_rate.map(Rate::as_bit_s),
        write_size: flow.write_size.into(),
        sockets: ends(flow).map(|kernel| kernel.socket.clone()),
    });
    let datagrams = plan.datagrams.iter().enumerate().map(|(index, flow)| DatagramSetup {
        hosts: flow.nodes.map(index_of),
        port: port(plan.flows.len() + index),
        source: SourceSetup::new(flow, draws(&flow.name)),
    });
    let proxies = plan.proxies.iter().map(|proxy| ProxySetup {
        legs: proxy.legs.map(|leg| leg as usize),
        buffer: proxy.buffer_bytes,
    });
    let (flows, datagrams, proxies) = (flows.collect(), datagrams.collect(), proxies.collect());
    let windows = |flow| ends(flow).map(|kernel| kernel.advertised_window);
    let advertised_windows = plan.flows.iter().map(windows).collect();
    let routes = routes(scenario, &mut plan, &setups);
    let programs = programs_at(programs, &setups);
    let passes_stdin = programs.iter().any(|program| program.command.is_none());
    let setup =
        WorkerSetup { backend, hosts: setups, flows, proxies, datagrams, programs, passes_stdin };
    Ok(Layout { plan, setup, routes, advertised_windows })
}

fn index_of(hosts: &[u32], node: u32) -> usize {
    hosts.iter().position(|host| *host == node).expect("it is a host")
}

/// Kernel settings of a flow's sender and of its receiver.
fn ends<'k>(flow: &FlowPlan, kernels: &'k [KernelTcp]) -> [&'k KernelTcp; 2] {
    [flow.tcp, flow.receiver_tcp].map(|tcp| &kernels[tcp as usize])
}

fn programs_at(programs: &[HostProgram], hosts: &[HostSetup]) -> Vec<Program> {
    let position = |program: &HostProgram| {
        let host = hosts.iter().position(|host| host.name == program.host);
        let HostProgram { command, background, .. } = program.clone();
        Program { host: host.expect("it is a host"), command, background }
    };
    programs.iter().map(position).collect()
}

fn files(work: &AppPlan, draws: FlowStreamKey) -> Workload {
    match work {
        AppPlan::Bulk => Workload::Endless,
        AppPlan::Files { sizes: FileSizes::Equal { count, bytes }, pause } => {
            Workload::Equal { count: *count, bytes: *bytes, pause: pause.as_nanos() }
        }
        AppPlan::Files { sizes: FileSizes::Each(bytes), pause } => {
            Workload::Each { bytes: bytes.to_vec(), pause: pause.as_nanos() }
        }
        AppPlan::Exchanges(plan) => Workload::Exchanges(ExchangeSetup::new(plan, draws)),
    }
}

/// Adds to the plan a route from each host to each other host: the path that a flow between the two
/// would take.
fn routes(scenario: &Scenario, plan: &mut Plan, hosts: &[HostSetup]) -> Vec<Option<u32>> {
    let mut routes = Vec::with_capacity(hosts.len() * hosts.len());
    for from in hosts {
        for to in hosts {
            let way: Option<Vec<Hop>> = scenario.path_between(&from.name, &to.name);
            routes.push(way.map(|way| {
                // Programs may communicate with any host, even if the scenario has no flow between
                // the two hosts.
                plan.routes.push(way.iter().map(build::plan_hop).collect());
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
    use std::net::Ipv4Addr;

    const TUN: (Backend, u64) = (Backend::Tun, 0);

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
            delay = "1 ms"
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
        let layout = compute_layout(&scenario, &[], TUN).expect("kernels can");
        let names: Vec<&str> = layout.setup.hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(layout.setup.hosts[1].address, Ipv4Addr::new(10, 0, 0, 3));
        assert_eq!(layout.setup.hosts[0].mtu, 1480);
        assert_eq!(layout.setup.hosts[0].route["advmss"], "1400");
        let [x, y] = &layout.setup.flows[..] else { panic!("two flows") };
        assert_eq!((x.hosts, x.sender_opens, x.port), ([0, 1], true, 20_001));
        assert_eq!((y.hosts, y.sender_opens, y.port), ([1, 0], false, 20_002));
        let found: Vec<bool> = layout.routes.iter().map(Option::is_some).collect();
        assert_eq!(found, [false, true, true, false]);

        let ping = HostProgram {
            host: "middle".into(),
            command: Some("ping a".into()),
            background: false,
        };
        let layout = compute_layout(&scenario, std::slice::from_ref(&ping), TUN).expect("it can");
        assert_eq!(layout.setup.hosts.len(), 3);
        assert_eq!(layout.setup.programs[0].host, 1);
        let nowhere = HostProgram { host: "c".into(), ..ping };
        let error = compute_layout(&scenario, &[nowhere], TUN).expect_err("there is no c");
        assert_eq!(error.to_string(), "unknown host \"c\" (the scenario's nodes are a, middle, b)");
    }

    #[test]
    fn one_host_has_one_setting() {
        let error =
            compute_layout(&scenario(["small", "plain"]), &[], TUN).expect_err("they differ");
        assert!(
            error.to_string().starts_with(
                "flows \"x\" and \"y\" share the host \"b\", which can have one tcp_sack only, and \
                 need 1 and 0"
            ),
            "{error}"
        );
        let error = compute_layout(&scenario(["small", "other"]), &[], TUN).expect_err("no kernel");
        assert!(error.to_string().starts_with("tcp.other: no kernel"), "{error}");
    }

    /// Each leg of a split flow is a separate flow, and UDP flows get the next ports.
    #[test]
    fn proxies_and_sources_are_laid_out() {
        let text = r#"
            duration = "10 s"
            [[link]]
            name = "first"
            ends = ["a", "middle"]
            [[link]]
            name = "second"
            ends = ["middle", "b"]
            mtu = 2000
            rate = "1 Mbit/s"
            [[relay]]
            kind = "split"
            name = "proxy"
            node = "middle"
            tcp = "linux_reno"
            buffer = 30_000
            [[flow]]
            name = "x"
            from = "a"
            to = "b"
            tcp = "linux"
            app = { kind = "transfer", bytes = 1000 }
            [[flow]]
            name = "voice"
            from = "middle"
            to = "b"
            udp = { packet = 1700, backlog = 3 }
            app = "bulk"
        "#;
        let scenario = parse(&Source { name: "test", text, overrides: &[] }).expect("sound");
        let programs = [HostProgram { host: "middle".into(), command: None, background: false }];
        let Layout { setup, .. } = compute_layout(&scenario, &programs, TUN).expect("kernels can");
        let hosts: Vec<[usize; 2]> = setup.flows.iter().map(|flow| flow.hosts).collect();
        assert_eq!(hosts, [[0, 1], [1, 2]]);
        assert_eq!((setup.proxies[0].legs, setup.proxies[0].buffer), ([0, 1], 30_000));
        let of =
            |flow: usize, end: usize| setup.flows[flow].sockets[end].congestion_control.clone();
        assert_eq!([of(0, 0), of(0, 1), of(1, 0), of(1, 1)], ["cubic", "cubic", "reno", "cubic"]);
        // Programs use the congestion control of the first flow that ends in their host.
        let default =
            |host: usize| setup.hosts[host].congestion_control.clone().expect("flows end");
        assert_eq!((default(0).name.as_str(), default(0).needed_by_programs), ("cubic", false));
        let middle = default(1);
        assert_eq!((middle.name.as_str(), middle.used_by_all_flows), ("cubic", false));
        assert!(middle.needed_by_programs);
        assert_eq!((setup.datagrams[0].hosts, setup.datagrams[0].port), ([1, 2], 20_003));
        assert!(setup.datagrams[0].source.fills_first_hop());
        assert_eq!(setup.hosts.iter().map(|host| host.mtu).collect::<Vec<_>>(), [1500, 1700, 1700]);
    }
}
