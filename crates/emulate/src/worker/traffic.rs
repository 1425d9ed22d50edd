//! TCP flows. A thread at each end uses an ordinary blocking socket, as in any program.

use super::MessageSender;
use super::datagrams::{self, Datagrams};
use super::ends::{Establishment, FlowEnd, SharedFlowState, lock};
use super::hosts::Hosts;
use super::proxy::{self, Proxy};
use super::sockets::listen;
use crate::clock::Clock;
use crate::protocol::{
    DatagramReport, FlowReport, FlowSetup, ProxyReport, ProxySetup, WorkerSetup,
};
use crate::tcp_info::TcpInfo;
use retx_units::Time;
use std::io;
use std::net::{SocketAddrV4, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

/// Stack size of a thread, bytes.
const STACK: usize = 128 << 10;

/// Flows whose listening ends are open.
#[derive(Debug)]
pub struct Traffic {
    flows: Vec<Ready>,
    proxies: Vec<ProxySetup>,
    datagrams: Datagrams,
}

/// Flow whose listening end is open.
#[derive(Debug)]
struct Ready {
    setup: FlowSetup,
    /// Listener until the flow is started.
    listener: Mutex<Option<TcpListener>>,
    address: SocketAddrV4,
    /// For the sending and the receiving end, true if it belongs to a proxy.
    at_proxy: [bool; 2],
}

/// Running flows.
#[derive(Debug)]
pub struct RunningFlows {
    flows: Vec<SharedFlowState>,
    proxies: Vec<proxy::SharedForwardedBytes>,
    datagrams: datagrams::RunningDatagrams,
}

/// State shared by a run's threads.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// Clock of the run.
    pub clock: Clock,
    /// Start of statistics.
    pub warmup: Time,
    /// Hosts of the run.
    pub hosts: Arc<Hosts>,
    /// Sender of messages to the emulator.
    pub messages: MessageSender,
}

impl RunContext {
    /// Starts a thread in a host.
    ///
    /// # Errors
    /// No further thread can be started.
    pub fn spawn(
        &self,
        host: usize,
        work: impl FnOnce(io::Result<()>) + Send + 'static,
    ) -> Result<(), String> {
        let hosts = Arc::clone(&self.hosts);
        thread::Builder::new()
            // Each flow has two threads, so 2000 flows would reserve 8 GB with the default stack of
            // 2 MiB.
            .stack_size(STACK)
            .spawn(move || work(hosts.enter_namespace(host).map_err(io::Error::other)))
            .map(drop)
            .map_err(|error| format!("no thread can be started: {error}"))
    }
}

impl Traffic {
    /// Opens all listening sockets.
    ///
    /// # Errors
    /// This kernel lacks the congestion control, or a port is in use.
    pub fn prepare(setup: &WorkerSetup, hosts: &Hosts) -> Result<Self, String> {
        let mut flows = Vec::with_capacity(setup.flows.len());
        for (index, flow) in setup.flows.iter().enumerate() {
            let side = usize::from(flow.sender_opens);
            let listens = flow.hosts[side];
            hosts.enter_namespace(listens)?;
            let address = SocketAddrV4::new(setup.hosts[listens].address, flow.port);
            // All listeners are opened before the run begins, so that no SYN is refused.
            let listener = listen(address, &flow.sockets[side])?;
            let listener = Mutex::new(Some(listener));
            let at = |leg: usize| setup.proxies.iter().any(|proxy| proxy.legs[leg] == index);
            // A proxy is the sender of its second leg and the receiver of its first one.
            let at_proxy = [at(1), at(0)];
            flows.push(Ready { setup: flow.clone(), listener, address, at_proxy });
        }
        let datagrams = Datagrams::prepare(setup, hosts)?;
        Ok(Self { flows, proxies: setup.proxies.clone(), datagrams })
    }

    /// Passes the emulator's ends of the sockets for reports on the first hops to the emulator.
    ///
    /// # Errors
    /// The emulator is gone.
    pub fn hand_over(&self, socket: &UnixStream) -> io::Result<()> {
        self.datagrams.hand_over(socket)
    }

    /// Starts both ends of each flow.
    ///
    /// # Errors
    /// No further thread can be started.
    pub fn start(&self, run: &RunContext) -> Result<RunningFlows, String> {
        let flows: Vec<SharedFlowState> =
            self.flows.iter().map(|_| SharedFlowState::default()).collect();
        for (flow, (ready, state)) in (0..).zip(self.flows.iter().zip(&flows)) {
            for (side, at_proxy) in ready.at_proxy.into_iter().enumerate() {
                if at_proxy {
                    continue;
                }
                let sends = side == 0;
                let way = ready.way(sends == ready.setup.sender_opens);
                let setup = (flow, ready.setup.clone());
                let mut end = FlowEnd::new(setup, way, Arc::clone(state), run);
                run.spawn(ready.setup.hosts[side], move |entered| {
                    let result = entered.and_then(|()| end.run(sends));
                    end.record_result(&result);
                })?;
            }
        }
        let mut proxies = Vec::with_capacity(self.proxies.len());
        for setup in &self.proxies {
            let legs = setup.legs.map(|leg| &self.flows[leg]);
            // The flow's opener connects to the proxy, which then opens the connection of the other
            // leg.
            let accepts = usize::from(!legs[0].setup.sender_opens);
            let ways = [0, 1].map(|leg| legs[leg].way(leg != accepts));
            let states = setup.legs.map(|leg| Arc::clone(&flows[leg]));
            let setups = legs.map(|leg| leg.setup.clone());
            let mut proxy = Proxy::new(setup, (setups, ways), states, run);
            proxies.push(proxy.forwarded_bytes());
            run.spawn(legs[1].setup.hosts[0], move |entered| {
                let result = entered.and_then(|()| proxy.run());
                proxy.record_result(&result);
            })?;
        }
        Ok(RunningFlows { flows, proxies, datagrams: self.datagrams.start(run)? })
    }
}

impl Ready {
    fn way(&self, opens: bool) -> Establishment {
        if opens {
            Establishment::Connect(self.address)
        } else {
            Establishment::Accept(lock(&self.listener).take().expect("flows are started once"))
        }
    }
}

impl RunningFlows {
    /// Results so far: TCP flows, proxies, and UDP flows.
    pub fn report(&self, now: Time) -> (Vec<FlowReport>, Vec<ProxyReport>, Vec<DatagramReport>) {
        let of = |state: &SharedFlowState| {
            let state = lock(state);
            let mut report = state.report.clone();
            // The statistics of sockets that are still open have not been added yet.
            for socket in state.sender.iter().chain(&state.closing) {
                if let Ok(info) = TcpInfo::from_socket(socket.as_fd()) {
                    report.kernel.add(&info);
                }
            }
            report
        };
        let proxies = self.proxies.iter().map(|proxy| lock(proxy).report(now));
        (self.flows.iter().map(of).collect(), proxies.collect(), self.datagrams.report())
    }
}
