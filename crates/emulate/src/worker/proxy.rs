//! Proxy that splits connections, as a program in its host: it accepts a connection, opens another
//! one, and copies from one socket to the other.
//!
//! The proxy holds at most `buffer` bytes that it has read from one connection and that are not yet
//! acknowledged on the other. The kernel reports their number (`SIOCOUTQ`), but does not notify the
//! proxy of acknowledgments, so a full proxy polls every half millisecond. Further data stay in the
//! receiving socket, whose window closes. A FIN is forwarded in both directions, after all data
//! before it. If one connection fails, the proxy resets the other.

use super::MessageSender;
use super::ends::{Establishment, SharedFlowState, lock};
use super::sockets;
use super::traffic::RunContext;
use crate::boundary;
use crate::clock::Clock;
use crate::protocol::{FlowSetup, ProxyReport, ProxySetup};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use retx_record::counters::{Gauge, Measure};
use retx_units::Time;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Largest number of bytes read at once.
const CHUNK: usize = 64 << 10;
/// Polling interval while the proxy waits for acknowledgments.
const LOOK: Duration = Duration::from_micros(500);
/// Polling interval while nothing is unacknowledged.
const REST: Duration = Duration::from_millis(100);

/// Bytes forwarded by a proxy.
#[derive(Debug, Default)]
pub struct ForwardedBytes {
    bytes: u64,
    held: Gauge,
    /// Bytes relayed and level of the buffer at the end of the warm-up; `None` before that time.
    start: Option<(u64, Gauge)>,
}

/// State shared by threads.
pub type SharedForwardedBytes = Arc<Mutex<ForwardedBytes>>;

impl ForwardedBytes {
    fn set(&mut self, now: Time, warmup: Time, held: u64) {
        if self.start.is_none() && now >= warmup {
            self.held.advance_to(now);
            self.held.restart_maximum();
            self.start = Some((self.bytes, self.held));
        }
        self.held.set(now, held);
    }

    /// Results after the warm-up until now.
    pub fn report(&mut self, now: Time) -> ProxyReport {
        self.held.advance_to(now);
        let Some((bytes, start)) = &self.start else { return ProxyReport::default() };
        let held = self.held.since(start);
        ProxyReport {
            bytes_relayed: self.bytes - bytes,
            buffer_mean_bytes: held.mean(),
            buffer_max_bytes: held.max,
            buffer_end_bytes: held.value(),
        }
    }
}

/// Proxy between two legs, in its thread.
pub struct Proxy {
    buffer: u64,
    /// Indices of the flows of the legs. The proxy is the sender of the second.
    flows: [u32; 2],
    messages: MessageSender,
    legs: [FlowSetup; 2],
    ways: [Establishment; 2],
    states: [SharedFlowState; 2],
    clock: Clock,
    warmup: Time,
    passed: SharedForwardedBytes,
}

/// Two open connections.
struct Pair<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    /// Bytes read from the first connection.
    read: u64,
    written: u64,
    /// Bytes read and not written yet.
    chunk: Vec<u8>,
    next: usize,
    /// For the data sender and the receiver, true once this end has closed.
    closed: [bool; 2],
}

impl Proxy {
    /// Creates a proxy, which is not started yet. `legs` contain the options of its sockets, and
    /// how its connections are established.
    pub fn new(
        setup: &ProxySetup,
        (legs, ways): ([FlowSetup; 2], [Establishment; 2]),
        states: [SharedFlowState; 2],
        run: &RunContext,
    ) -> Self {
        let RunContext { clock, warmup, .. } = *run;
        let (buffer, messages) = (setup.buffer, run.messages.clone());
        let flows = setup.legs.map(|leg| leg as u32);
        let passed = SharedForwardedBytes::default();
        Self { buffer, flows, messages, legs, ways, states, clock, warmup, passed }
    }

    /// State shared with other threads.
    pub fn forwarded_bytes(&self) -> SharedForwardedBytes {
        Arc::clone(&self.passed)
    }

    /// Records that the proxy has finished or failed.
    pub fn record_result(&self, result: &io::Result<()>) {
        let (now, is_finite) = (self.clock.now(), self.legs[0].workload.is_finite());
        for (state, &flow) in self.states.iter().zip(&self.flows) {
            lock(state).on_end_finished((flow, now), result, is_finite, &self.messages);
        }
    }

    /// Serves the connections one after another.
    ///
    /// # Errors
    /// The error of a socket.
    pub fn run(&mut self) -> io::Result<()> {
        let files = self.legs[0].workload.clone();
        let mut number = 0;
        while let Some(bytes) = files.file_bytes(number) {
            let [from, to] = self.connect()?;
            // The counters of the second leg are read from this socket at the end.
            lock(&self.states[1]).sender = Some(to.try_clone()?);
            let last = files.file_bytes(number + 1).is_none();
            let result = self.pass([&from, &to], last.then_some(bytes));
            lock(&self.states[1]).close_sender();
            if result.is_err() {
                for socket in [from, to] {
                    // An error is ignored: a connection that no longer exists needs no reset.
                    let _ = boundary::reset_connection(socket.as_fd());
                }
                return result;
            }
            number += 1;
        }
        Ok(())
    }

    /// Accepts a connection, then opens the other one.
    fn connect(&self) -> io::Result<[TcpStream; 2]> {
        match &self.ways {
            [Establishment::Accept(listener), Establishment::Connect(address)] => {
                let from = listener.accept()?.0;
                Ok([from, self.open((1, 0), *address)?])
            }
            [Establishment::Connect(address), Establishment::Accept(listener)] => {
                let to = listener.accept()?.0;
                self.messages.hand_over(self.flows[1], to.as_fd());
                Ok([self.open((0, 1), *address)?, to])
            }
            ways => unreachable!("a proxy accepts a connection before it opens one: {ways:?}"),
        }
    }

    fn open(
        &self,
        (leg, side): (usize, usize),
        address: std::net::SocketAddrV4,
    ) -> io::Result<TcpStream> {
        let socket = sockets::open_socket(&self.legs[leg].sockets[side])?;
        if leg == 1 {
            self.messages.hand_over(self.flows[1], socket.as_fd());
        }
        lock(&self.states[leg]).report.start.get_or_insert(self.clock.now());
        sockets::connect(socket, address)
    }

    /// Copies until both directions are closed. `last` is the number of bytes that the last
    /// connection carries; `None` if another connection follows.
    fn pass(&self, [from, to]: [&TcpStream; 2], last: Option<u64>) -> io::Result<()> {
        from.set_nonblocking(true)?;
        to.set_nonblocking(true)?;
        // One thread serves both directions, so neither socket may block it.
        let mut pair = Pair {
            from,
            to,
            read: 0,
            written: 0,
            chunk: Vec::with_capacity(CHUNK),
            next: 0,
            closed: [false; 2],
        };
        while pair.closed != [true; 2] {
            let held = pair.held()?;
            lock(&self.passed).set(self.clock.now(), self.warmup, held);
            // While the buffer is full, nothing is read, so the receive window of the first
            // connection closes.
            let room = self.buffer.saturating_sub(held);
            pair.wait(room > 0, if held > 0 { LOOK } else { REST })?;
            let read = pair.read(room)?;
            if read > 0 {
                let now = self.clock.now();
                lock(&self.passed).bytes += read;
                let mut state = lock(&self.states[0]);
                state.on_read(now, read, self.warmup);
                if last == Some(pair.read) {
                    state.report.finish.get_or_insert(now);
                }
            }
            pair.write()?;
            pair.note_close_of_receiver()?;
        }
        lock(&self.passed).set(self.clock.now(), self.warmup, 0);
        Ok(())
    }
}

impl Pair<'_> {
    /// Number of bytes that were read and are not acknowledged on the other connection.
    fn held(&self) -> io::Result<u64> {
        // A FIN counts as one byte, too.
        let under_way = boundary::unacknowledged_bytes(self.to.as_fd())?.min(self.written);
        Ok(self.read - self.written + under_way)
    }

    fn is_pending(&self) -> bool {
        self.next < self.chunk.len()
    }

    /// Waits until a socket is ready, but not longer than `most`.
    fn wait(&self, has_room: bool, most: Duration) -> io::Result<()> {
        let mut from = PollFlags::empty();
        from.set(PollFlags::POLLIN, has_room && !self.is_pending() && !self.closed[0]);
        let mut to = PollFlags::empty();
        // The receiver sends nothing but its FIN. The FIN makes the socket readable.
        to.set(PollFlags::POLLIN, !self.closed[1]);
        to.set(PollFlags::POLLOUT, self.is_pending());
        let mut all = [PollFd::new(self.from.as_fd(), from), PollFd::new(self.to.as_fd(), to)];
        match ppoll(&mut all, Some(TimeSpec::from_duration(most)), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads up to `room` bytes.
    fn read(&mut self, room: u64) -> io::Result<u64> {
        if room == 0 || self.is_pending() || self.closed[0] {
            return Ok(0);
        }
        let most = usize::try_from(room).unwrap_or(CHUNK).min(CHUNK);
        self.chunk.resize(most, 0);
        self.next = 0;
        let mut from = self.from;
        let read = match from.read(&mut self.chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.chunk.clear();
                return Ok(0);
            }
            Err(error) => return Err(error),
        };
        self.chunk.truncate(read);
        self.read += read as u64;
        if read == 0 {
            self.closed[0] = true;
            // All data have been written, because data are read only when the chunk is empty.
            self.to.shutdown(Shutdown::Write)?;
        }
        Ok(read as u64)
    }

    /// Writes as much as the other connection accepts.
    fn write(&mut self) -> io::Result<()> {
        let mut to = self.to;
        while self.is_pending() {
            match to.write(&self.chunk[self.next..]) {
                Ok(written) => {
                    self.next += written;
                    self.written += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Checks whether the data receiver has closed. The receiver sends nothing but its FIN.
    fn note_close_of_receiver(&mut self) -> io::Result<()> {
        let mut to = self.to;
        if self.closed[1] {
            return Ok(());
        }
        match to.read(&mut [0; 1]) {
            Ok(0) => {
                self.closed[1] = true;
                self.from.shutdown(Shutdown::Write)
            }
            Ok(_) => Err(io::Error::other("data came from where data go")),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }
}
