//! What flows send: at each end a thread with an ordinary blocking socket, as any program has one.
//!
//! The sender writes as the socket takes it, then shuts its direction down; the receiver reads to
//! the end and closes. A file has been read when its last byte has; it began when its connection
//! was opened.

use super::Teller;
use super::hosts::Hosts;
use crate::boundary;
use crate::clock::Clock;
use crate::protocol::{FileOrder, FlowOrder, FlowReport, Order, SocketOptions, Told};
use crate::tcp_info::TcpInfo;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockProtocol, SockType, SockaddrIn, bind, getsockopt,
    setsockopt, socket, sockopt,
};
use retx_units::Time;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What a sender writes and a receiver reads at once.
const CHUNK: usize = 256 << 10;
/// The stack of an end's thread.
const STACK: usize = 128 << 10;

/// Flows whose listening ends are open.
#[derive(Debug)]
pub struct Traffic {
    flows: Vec<Ready>,
}

/// A flow whose listening end is open.
#[derive(Debug)]
struct Ready {
    order: FlowOrder,
    /// Until it is started.
    listener: Mutex<Option<TcpListener>>,
    address: SocketAddrV4,
}

/// Flows that are running.
#[derive(Debug)]
pub struct Running(Vec<Arc<Mutex<State>>>);

/// What the two ends of a flow have in common.
#[derive(Debug, Default)]
struct State {
    report: FlowReport,
    /// The sender's socket, while it is open.
    sender: Option<TcpStream>,
    /// An end has come to its end.
    one_ended: bool,
    /// The emulator knows that the flow is over.
    told: bool,
}

/// One end of a flow, in its thread.
struct End {
    /// Index of the flow.
    flow: u32,
    order: FlowOrder,
    clock: Clock,
    warmup: Time,
    way: Way,
    state: Arc<Mutex<State>>,
    teller: Teller,
    buffer: Vec<u8>,
}

/// How an end comes to its connections.
enum Way {
    /// It opens them to here.
    To(SocketAddrV4),
    /// It waits for them.
    At(TcpListener),
}

impl Traffic {
    /// Opens what has to listen.
    ///
    /// # Errors
    /// A congestion control that this kernel lacks; a port that is taken.
    pub fn prepare(order: &Order, hosts: &Hosts) -> Result<Self, String> {
        let mut flows = Vec::with_capacity(order.flows.len());
        for flow in &order.flows {
            let listens = flow.hosts[usize::from(flow.sender_opens)];
            hosts.enter(listens)?;
            let address = SocketAddrV4::new(order.hosts[listens].address, flow.port);
            let listener = listen(address, &flow.socket)?;
            let listener = Mutex::new(Some(listener));
            flows.push(Ready { order: flow.clone(), listener, address });
        }
        Ok(Self { flows })
    }

    /// Starts both ends of each flow.
    ///
    /// # Errors
    /// No more threads.
    pub fn start(
        &self,
        (clock, warmup): (Clock, Time),
        hosts: &Arc<Hosts>,
        teller: &Teller,
    ) -> Result<Running, String> {
        let mut states = Vec::with_capacity(self.flows.len());
        for (flow, Ready { order, listener, address }) in (0..).zip(&self.flows) {
            let state = Arc::new(Mutex::new(State::default()));
            states.push(Arc::clone(&state));
            for sends in [true, false] {
                let way = if sends == order.sender_opens {
                    Way::To(*address)
                } else {
                    Way::At(lock(listener).take().expect("flows are started once"))
                };
                let (order, state) = (order.clone(), Arc::clone(&state));
                let (hosts, teller) = (Arc::clone(hosts), teller.clone());
                let host = order.hosts[usize::from(!sends)];
                let end = move || {
                    let buffer = vec![0; CHUNK];
                    let mut end = End { flow, order, clock, warmup, way, state, teller, buffer };
                    let entered = hosts.enter(host).map_err(io::Error::other);
                    let result = entered.and_then(|()| end.run(sends));
                    end.finish(&result);
                };
                thread::Builder::new()
                    .stack_size(STACK)
                    .spawn(end)
                    .map_err(|error| format!("no thread can be started: {error}"))?;
            }
        }
        Ok(Running(states))
    }
}

impl Running {
    /// What the flows have come to so far.
    pub fn report(&self) -> Vec<FlowReport> {
        let of = |state: &Arc<Mutex<State>>| {
            let state = lock(state);
            let mut report = state.report.clone();
            if let Some(open) = &state.sender
                && let Ok(info) = TcpInfo::of(open.as_fd())
            {
                report.kernel.add(&info);
            }
            report
        };
        self.0.iter().map(of).collect()
    }
}

impl End {
    fn run(&mut self, sends: bool) -> io::Result<()> {
        let mut number = 0;
        while let Some(bytes) = self.order.files.bytes(number) {
            if number > 0 {
                thread::sleep(self.order.files.pause());
            }
            let socket = self.connect(number, sends)?;
            if sends {
                self.send(&socket, bytes)?;
            } else {
                let last = self.order.files.bytes(number + 1).is_none();
                self.receive(&socket, (bytes, last))?;
            }
            number += 1;
        }
        Ok(())
    }

    fn connect(&self, number: u32, sends: bool) -> io::Result<TcpStream> {
        match &self.way {
            Way::At(listener) => {
                let (socket, _) = listener.accept()?;
                if sends {
                    self.teller.hand_over(self.flow, socket.as_fd());
                }
                Ok(socket)
            }
            Way::To(address) => {
                let socket = open(&self.order.socket)?;
                if sends {
                    self.teller.hand_over(self.flow, socket.as_fd());
                }
                if number == 0 {
                    self.clock.sleep_until(self.order.start);
                    lock(&self.state).report.start = Some(self.clock.now());
                }
                connect(socket, *address)
            }
        }
    }

    fn send(&mut self, socket: &TcpStream, bytes: u64) -> io::Result<()> {
        lock(&self.state).sender = Some(socket.try_clone()?);
        let result = self.write(socket, bytes);
        let mut state = lock(&self.state);
        if let Some(socket) = state.sender.take()
            && let Ok(info) = TcpInfo::of(socket.as_fd())
        {
            state.report.kernel.add(&info);
        }
        result
    }

    fn write(&mut self, mut socket: &TcpStream, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            let chunk = usize::try_from(bytes).unwrap_or(CHUNK).min(CHUNK);
            let written = socket.write(&self.buffer[..chunk])? as u64;
            bytes = if bytes == u64::MAX { bytes } else { bytes - written };
        }
        socket.shutdown(std::net::Shutdown::Write)?;
        // The other end closes when it has read everything.
        while socket.read(&mut self.buffer)? > 0 {}
        Ok(())
    }

    fn receive(&mut self, mut socket: &TcpStream, (bytes, last): (u64, bool)) -> io::Result<()> {
        let mut left = bytes;
        loop {
            let read = socket.read(&mut self.buffer)? as u64;
            let now = self.clock.now();
            left = if bytes == u64::MAX { bytes } else { left.saturating_sub(read) };
            let mut state = lock(&self.state);
            let report = &mut state.report;
            report.bytes_delivered += read;
            if now < self.warmup {
                report.bytes_in_warmup += read;
            }
            if left == 0 && last {
                report.finish.get_or_insert(now);
            }
            if read == 0 {
                return Ok(());
            }
        }
    }

    /// Tells that a finite flow is over when both its ends are, or one has failed.
    fn finish(&self, result: &io::Result<()>) {
        let mut state = lock(&self.state);
        let other_ended = std::mem::replace(&mut state.one_ended, true);
        if let Err(error) = result {
            state.report.fault.get_or_insert(error.to_string());
        }
        let over = other_ended || result.is_err();
        if over && !state.told && !matches!(self.order.files, FileOrder::Endless) {
            state.told = true;
            self.teller.tell(&Told::FlowDone);
        }
    }
}

/// A socket that has been told how to be.
fn open(options: &SocketOptions) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet, SockType::Stream, flags, SockProtocol::Tcp)?;
    let algorithm = OsString::from(&options.congestion_control);
    setsockopt(&socket, sockopt::TcpCongestion, &algorithm)?;
    setsockopt(&socket, sockopt::TcpNoDelay, &options.no_delay)?;
    // By force, with privileges: then not held to `wmem_max` and `rmem_max`, the machine's.
    if let Some(bytes) = options.send_buffer {
        setsockopt(&socket, sockopt::SndBufForce, &bytes)
            .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &bytes))?;
        check_buffer("wmem_max", getsockopt(&socket, sockopt::SndBuf)?, bytes)?;
    }
    if let Some(bytes) = options.receive_buffer {
        setsockopt(&socket, sockopt::RcvBufForce, &bytes)
            .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &bytes))?;
        check_buffer("rmem_max", getsockopt(&socket, sockopt::RcvBuf)?, bytes)?;
    }
    if options.pacing {
        boundary::pace(socket.as_fd())?;
    }
    Ok(socket)
}

/// The kernel makes a buffer twice as large as asked for, unless a sysctl bounds it.
fn check_buffer(sysctl: &str, has: usize, asked: usize) -> io::Result<()> {
    if has >= 2 * asked {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "a buffer of {asked} bytes needs root, or net.core.{sysctl} of as much"
    )))
}

fn listen(address: SocketAddrV4, options: &SocketOptions) -> Result<TcpListener, String> {
    let socket = open(options).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT) => format!(
            "this kernel has no congestion control \"{name}\"; it has {}; load the module \
             tcp_{name} if there is one",
            available(),
            name = options.congestion_control
        ),
        _ => format!("a socket cannot be set up: {error}"),
    })?;
    let bound = bind(socket.as_raw_fd(), &SockaddrIn::from(address))
        .and_then(|()| nix::sys::socket::listen(&socket, Backlog::MAXCONN));
    bound.map_err(|error| format!("{address} cannot be listened at: {}", error.desc()))?;
    Ok(TcpListener::from(socket))
}

fn connect(socket: OwnedFd, address: SocketAddrV4) -> io::Result<TcpStream> {
    nix::sys::socket::connect(socket.as_raw_fd(), &SockaddrIn::from(address))?;
    Ok(TcpStream::from(socket))
}

fn available() -> String {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    std::fs::read_to_string(path)
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(", ")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
