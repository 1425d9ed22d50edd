//! UDP flows. A thread at one end sends what the simulator's source generates; a thread at the
//! other end reads.
//!
//! A source that keeps its first hop full must know the fate of its packets there, which only the
//! emulator observes. The emulator therefore sends the source a byte for each packet, over a
//! separate socket.

use super::ends::lock;
use super::hosts::Hosts;
use super::traffic::RunContext;
use crate::boundary;
use crate::protocol::{
    DatagramReport, DatagramSetup, WorkerMessage, WorkerSetup, first_hop, send_descriptor,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use retx_sim::datagram::{RETRY_INTERVAL, Sender};
use retx_units::Time;
use std::io::{self, Read};
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Receive buffer of the receiving socket, in bytes.
const RECEIVE_BUFFER: usize = 16 << 20;
/// Largest IPv4 datagram, bytes.
const LARGEST: usize = 65_535;
/// Time after the end of the run during which packets that have reached the host are still read.
const LAST_READS: Duration = Duration::from_millis(200);

/// Flows whose sockets are open.
#[derive(Debug)]
pub struct Datagrams(Vec<Ready>);

#[derive(Debug)]
struct Ready {
    setup: DatagramSetup,
    sender: UdpSocket,
    receiver: UdpSocket,
    /// Socket pair for reports on the first hop: one for the source, one for the emulator.
    feedback: Option<[UnixStream; 2]>,
}

/// Running flows.
#[derive(Debug)]
pub struct RunningDatagrams(Vec<(Arc<Mutex<DatagramReport>>, UdpSocket)>);

impl Datagrams {
    /// Opens the sockets of both ends.
    ///
    /// # Errors
    /// A port is in use.
    pub fn prepare(setup: &WorkerSetup, hosts: &Hosts) -> Result<Self, String> {
        let mut all = Vec::with_capacity(setup.datagrams.len());
        for flow in &setup.datagrams {
            let addresses =
                flow.hosts.map(|host| SocketAddrV4::new(setup.hosts[host].address, flow.port));
            let bind = |end: usize| {
                hosts.enter_namespace(flow.hosts[end])?;
                UdpSocket::bind(addresses[end])
                    .map_err(|error| format!("{} cannot be bound: {error}", addresses[end]))
            };
            let refused = |error: io::Error| format!("a socket cannot be set up: {error}");
            // A socket belongs to the namespace of the thread that opens it, so this thread enters
            // each host.
            let (sender, receiver) = (bind(0)?, bind(1)?);
            sender.connect(addresses[1]).map_err(refused)?;
            setsockopt(&receiver, sockopt::RcvBufForce, &RECEIVE_BUFFER)
                .or_else(|_| setsockopt(&receiver, sockopt::RcvBuf, &RECEIVE_BUFFER))
                .map_err(|error| refused(error.into()))?;
            let feedback = match flow.source.fills_first_hop() {
                true => Some(UnixStream::pair().map_err(refused)?.into()),
                false => None,
            };
            all.push(Ready { setup: flow.clone(), sender, receiver, feedback });
        }
        Ok(Self(all))
    }

    /// Passes the emulator's ends of the report sockets to the emulator.
    ///
    /// # Errors
    /// The emulator is gone.
    pub fn hand_over(&self, socket: &UnixStream) -> io::Result<()> {
        let all = self.0.iter().filter_map(|flow| flow.feedback.as_ref());
        all.into_iter().try_for_each(|[_, emulators]| send_descriptor(socket, emulators.as_fd()))
    }

    /// Starts both ends of each flow.
    ///
    /// # Errors
    /// No further thread can be started.
    pub fn start(&self, run: &RunContext) -> Result<RunningDatagrams, String> {
        let mut running = Vec::with_capacity(self.0.len());
        for (number, flow) in self.0.iter().enumerate() {
            let copy = |socket: &UdpSocket| {
                socket.try_clone().map_err(|error| format!("a socket cannot be copied: {error}"))
            };
            let report = Arc::new(Mutex::new(DatagramReport::default()));
            running.push((Arc::clone(&report), copy(&flow.receiver)?));
            let [from, to] = flow.setup.hosts;
            let (receiver, received) = (copy(&flow.receiver)?, Arc::clone(&report));
            run.spawn(to, move |entered| {
                let result = entered.and_then(|()| receive(&receiver, &received));
                note_fault(&received, &result);
            })?;
            let mut source = Sending {
                run: run.clone(),
                sender: flow.setup.source.sender(),
                socket: copy(&flow.sender)?,
                feedback: match &flow.feedback {
                    Some([own, _]) => Some(
                        own.try_clone()
                            .map_err(|error| format!("a socket cannot be copied: {error}"))?,
                    ),
                    None => None,
                },
                refused: 0,
                retry_at: Time::ZERO,
                payload: vec![0; LARGEST],
                report,
            };
            run.spawn(from, move |entered| {
                let result = entered.and_then(|()| source.run());
                note_fault(&source.report, &result);
                let packets = source.sender.packets_sent();
                source.run.messages.report(&WorkerMessage::AllSent { flow: number, packets });
            })?;
        }
        Ok(RunningDatagrams(running))
    }
}

fn note_fault(report: &Mutex<DatagramReport>, result: &io::Result<()>) {
    if let Err(error) = result {
        lock(report).fault.get_or_insert(error.to_string());
    }
}

/// Reads and counts packets; returns only if reading fails.
fn receive(socket: &UdpSocket, report: &Mutex<DatagramReport>) -> io::Result<()> {
    let mut buffer = vec![0; LARGEST];
    loop {
        socket.recv(&mut buffer)?;
        lock(report).received += 1;
    }
}

/// Sending end, in its thread.
struct Sending {
    run: RunContext,
    sender: Sender,
    socket: UdpSocket,
    feedback: Option<UnixStream>,
    /// Number of packets that the first hop has dropped and that have not been reported to the
    /// source yet. If each drop were reported immediately, the source would replace all dropped
    /// packets at once, because it learns of the first drop only after it has sent the others.
    refused: u32,
    /// Earliest time at which the next drop is reported to the source, which then tries again.
    retry_at: Time,
    payload: Vec<u8>,
    report: Arc<Mutex<DatagramReport>>,
}

impl Sending {
    /// Sends until there is nothing more to send.
    fn run(&mut self) -> io::Result<()> {
        // A source gets real-time priority, if this is allowed, so that it does not wait for other
        // programs. Those are hardly delayed, because a source sleeps most of the time.
        let _ = boundary::set_realtime_priority();
        loop {
            let now = self.run.clock.now();
            self.sender.handle_timeout(now);
            if self.refused > 0 && now >= self.retry_at {
                // One drop is reported per retry interval. The source then sends one packet, as in
                // a simulation.
                self.refused -= 1;
                self.retry_at = now + RETRY_INTERVAL;
                self.sender.on_dropped_in_first_hop(now, Time::ZERO);
            }
            if self.sender.start.is_some() {
                lock(&self.report).start = self.sender.start;
            }
            while let Some(datagram) = self.sender.poll_transmit(now) {
                self.socket.send(&self.payload[..datagram.payload_bytes as usize])?;
            }
            self.sender.finish_instant(now);
            if self.sender.is_done(now) {
                return Ok(());
            }
            let retry = if self.refused > 0 { self.retry_at } else { Time::NEVER };
            self.wait(self.sender.poll_timeout().min(retry))?;
        }
    }

    /// Waits until a time, or until a report on the first hop arrives.
    fn wait(&mut self, until: Time) -> io::Result<()> {
        let Some(feedback) = &mut self.feedback else {
            self.run.clock.sleep_until(until);
            return Ok(());
        };
        let left = until.since(self.run.clock.now().min(until));
        let most = (until < Time::NEVER)
            .then(|| TimeSpec::from_duration(Duration::from_nanos(left.as_nanos())));
        let mut ready = [PollFd::new(feedback.as_fd(), PollFlags::POLLIN)];
        if ppoll(&mut ready, most, None)? == 0 {
            return Ok(());
        }
        let mut bytes = [0; 256];
        // There is one byte for each packet; several may have accumulated.
        let read = feedback.read(&mut bytes)?;
        let now = self.run.clock.now();
        for what in &bytes[..read] {
            match *what {
                first_hop::PASSED => self.sender.on_left_first_hop(),
                first_hop::LOST => self.sender.on_dropped_in_first_hop(now, Time::ZERO),
                _ => {
                    self.refused += 1;
                    // The source tries again after the retry interval, as in a simulation.
                    self.retry_at = self.retry_at.max(now + RETRY_INTERVAL);
                }
            }
        }
        // The emulator is gone.
        if read == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }
}

impl RunningDatagrams {
    /// Waits until packets that have reached the hosts have been read, then returns the results of
    /// the flows.
    pub fn report(&self) -> Vec<DatagramReport> {
        let until = std::time::Instant::now() + LAST_READS;
        let of = |(report, receiver): &(Arc<Mutex<DatagramReport>>, UdpSocket)| {
            let waits = || {
                let mut socket = [PollFd::new(receiver.as_fd(), PollFlags::POLLIN)];
                poll(&mut socket, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
            };
            while waits() && std::time::Instant::now() < until {
                thread::sleep(Duration::from_millis(1));
            }
            lock(report).clone()
        };
        self.0.iter().map(of).collect()
    }
}
