//! Hosts of an emulation, with the kernel settings that their flows need.

use super::{FLOWS_MAX, HOSTS_MAX, HostProgram, ends, index_of};
use crate::error::EmulateError;
use crate::protocol::{DefaultCongestionControl, HostSetup};
use crate::settings::{KernelTcp, kernel_tcp};
use retx_record::capture::node_address;
use retx_scenario::Scenario;
use retx_scenario::suggest::did_you_mean;
use retx_sim::plan::{DatagramPlan, FlowPlan, Plan, Side, TcpPlan};
use retx_units::Law;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Sysctl that sets the receive buffers of a host.
const RECEIVE_BUFFERS: &str = "ipv4/tcp_rmem";

/// Setups of all hosts.
pub(super) fn host_setups(
    scenario: &Scenario,
    (plan, kernels): (&Plan, &[KernelTcp]),
    hosts: &[u32],
    programs: &[HostProgram],
) -> Result<Vec<HostSetup>, EmulateError> {
    let nodes = scenario.nodes();
    let mtu = mtu(scenario);
    let mut setups: Vec<HostSetup> = hosts
        .iter()
        .map(|node| HostSetup {
            name: nodes[*node as usize].to_owned(),
            address: node_address(*node),
            mtu,
            sysctls: BTreeMap::new(),
            route: BTreeMap::new(),
            congestion_control: None,
        })
        .collect();
    let mut owners = BTreeMap::new();
    for (index, flow) in plan.flows.iter().enumerate() {
        let sends_at_proxy = plan.proxies.iter().any(|proxy| proxy.legs[1] as usize == index);
        for (side, kernel) in ends(flow, kernels).into_iter().enumerate() {
            let mut kernel = kernel.clone();
            if side == Side::Sender as usize && sends_at_proxy {
                // The proxy is the sender of this leg. The setting of its receive buffer comes from
                // the other leg, where it is the receiver.
                kernel.sysctls.remove(RECEIVE_BUFFERS);
            }
            set_host(&mut setups[index_of(hosts, flow.nodes[side])], flow, &kernel, &mut owners)?;
        }
    }
    for program in programs {
        let host = setups.iter_mut().find(|host| host.name == program.host);
        if let Some(default) = host.and_then(|host| host.congestion_control.as_mut()) {
            default.needed_by_programs = true;
        }
    }
    for flow in &plan.datagrams {
        for node in flow.nodes {
            let host = &mut setups[index_of(hosts, node)];
            // The models do not fragment UDP packets, so the MTU must be large enough for them.
            host.mtu = host.mtu.max(largest(flow));
        }
    }
    Ok(setups)
}

/// Kernel settings of each TCP of the plan; default settings for a TCP that no flow uses.
pub(super) fn kernel_tcps(plan: &Plan) -> Result<Vec<KernelTcp>, EmulateError> {
    let used = |index: usize| {
        plan.flows.iter().any(|flow| [flow.tcp, flow.receiver_tcp].contains(&(index as u32)))
    };
    let kernel = |(index, tcp): (usize, &TcpPlan)| {
        // A TCP that no flow uses may have settings that no kernel supports, so it is not
        // converted.
        if !used(index) {
            return Ok(KernelTcp::default());
        }
        kernel_tcp(&tcp.config)
            .map_err(|message| EmulateError::Scenario(format!("tcp.{}: {message}", tcp.name)))
    };
    plan.tcps.iter().enumerate().map(kernel).collect()
}

/// Nodes where flows end or programs run.
pub(super) fn host_nodes(
    plan: &Plan,
    programs: &[HostProgram],
    nodes: &[&str],
) -> Result<Vec<u32>, EmulateError> {
    let of_datagrams = plan.datagrams.iter().flat_map(|flow| flow.nodes);
    let mut hosts: Vec<u32> =
        plan.flows.iter().flat_map(|flow| flow.nodes).chain(of_datagrams).collect();
    for program in programs {
        let node = nodes.iter().position(|node| *node == program.host).ok_or_else(|| {
            EmulateError::Scenario(format!(
                "unknown host \"{}\"{} (the scenario's nodes are {})",
                program.host,
                did_you_mean(&program.host, nodes.iter().copied()),
                nodes.join(", ")
            ))
        })?;
        hosts.push(node as u32);
    }
    hosts.sort_unstable();
    // Several flows may end at one node.
    hosts.dedup();
    if hosts.len() > HOSTS_MAX {
        let message = format!("{} hosts: at most {HOSTS_MAX} can be emulated", hosts.len());
        return Err(EmulateError::Scenario(message));
    }
    let flows = plan.flows.len() + plan.datagrams.len();
    if flows > FLOWS_MAX {
        let message = format!("{flows} flows: at most {FLOWS_MAX} can be emulated");
        return Err(EmulateError::Scenario(message));
    }
    Ok(hosts)
}

/// For each setting of a host, the name of the TCP that determined the value.
type Owners = BTreeMap<(Ipv4Addr, String), String>;

/// Applies a flow's settings to a host; refuses conflicts with other flows.
fn set_host(
    host: &mut HostSetup,
    flow: &FlowPlan,
    kernel: &KernelTcp,
    owners: &mut Owners,
) -> Result<(), EmulateError> {
    let name = &kernel.socket.congestion_control;
    let default = host.congestion_control.get_or_insert_with(|| DefaultCongestionControl {
        name: name.clone(),
        used_by_all_flows: true,
        needed_by_programs: false,
    });
    // If all flows of the host have the same congestion control, it can be set by an attribute of
    // the route instead of the namespace's default.
    default.used_by_all_flows &= default.name == *name;
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
    // A wlan has no MTU: it carries packets of any size.
    links.min().unwrap_or(1500)
}

/// Largest packet of a UDP flow.
fn largest(flow: &DatagramPlan) -> u32 {
    match flow.sizes.distribution {
        Law::Constant(bytes) => (bytes.round() as u32).min(flow.sizes.max_bytes),
        _ => flow.sizes.max_bytes,
    }
}
