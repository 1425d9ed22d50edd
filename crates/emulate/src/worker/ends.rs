//! Ends of a TCP flow.
//!
//! *Files.* The sender writes as fast as the socket accepts data, then shuts down the sending
//! direction of the connection. The receiver reads to the end and closes the connection. The
//! duration of a file extends from the opening of its connection to the reading of its last byte.
//!
//! *Requests.* A client sends its first request as soon as it is connected, and its server responds
//! when it has read the complete request. Both draw the sizes from the same random streams. If each
//! request has a separate connection, no end waits until both ends have closed the previous
//! connection. The client continues when it has read the response, and the server accepts the next
//! connection.

use super::MessageSender;
use super::sockets;
use super::traffic::RunContext;
use crate::clock::Clock;
use crate::protocol::{
    ExchangeReport, ExchangeSetup, FlowReport, FlowSetup, WorkerMessage, Workload,
};
use crate::tcp_info::TcpInfo;
use retx_sim::plan::READ_BLOCK;
use retx_units::{Rate, Time};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Largest number of bytes read at once.
const CHUNK: usize = 256 << 10;

/// State shared by the two ends of a flow.
#[derive(Debug, Default)]
pub struct FlowState {
    /// Results so far.
    pub report: FlowReport,
    /// The sender's socket, while it is open.
    pub sender: Option<TcpStream>,
    /// Sockets of earlier connections that the sender has shut down, but the other end has not
    /// closed yet.
    pub closing: Vec<TcpStream>,
    /// True once an end has finished.
    one_ended: bool,
    /// True once the end of the flow has been reported to the emulator.
    is_reported: bool,
}

/// State shared by threads.
pub type SharedFlowState = Arc<Mutex<FlowState>>;

impl FlowState {
    /// Reads the final `TCP_INFO` of the sender. Its connection must be over or about to end.
    pub fn close_sender(&mut self) {
        if let Some(socket) = self.sender.take() {
            self.add_kernel(&socket);
        }
    }

    /// Called when the sender has shut down the sending direction of a connection. Keeps the socket
    /// until the other end has closed the connection. The next connection need not wait for this.
    pub fn retire_sender(&mut self) -> io::Result<()> {
        if let Some(socket) = self.sender.take() {
            socket.set_nonblocking(true)?;
            self.closing.push(socket);
        }
        for mut socket in std::mem::take(&mut self.closing) {
            // If the read does not block, the other end has closed the connection, so the counters
            // of the socket are final.
            match socket.read(&mut [0]) {
                // The other end has not closed yet. The socket is checked again before the next
                // connection.
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.closing.push(socket),
                _ => self.add_kernel(&socket),
            }
        }
        Ok(())
    }

    fn add_kernel(&mut self, socket: &TcpStream) {
        if let Ok(info) = TcpInfo::from_socket(socket.as_fd()) {
            self.report.kernel.add(&info);
        }
    }

    /// Records bytes read by the receiver.
    pub fn on_read(&mut self, now: Time, bytes: u64, warmup: Time) {
        self.report.bytes_delivered += bytes;
        if now < warmup {
            self.report.bytes_in_warmup += bytes;
        }
    }

    /// Records that one of the two ends of `flow` has finished now. Reports a flow that has failed
    /// before its last byte was read. Reports a finite flow as done when both ends have finished,
    /// or one has failed.
    pub fn on_end_finished(
        &mut self,
        (flow, now): (u32, Time),
        result: &io::Result<()>,
        is_finite: bool,
        messages: &MessageSender,
    ) {
        let other_ended = std::mem::replace(&mut self.one_ended, true);
        if let Err(error) = result {
            if self.report.fault.is_none() && self.report.finish.is_none() {
                messages.report(&WorkerMessage::FlowFailed { flow, at: now });
            }
            self.report.fault.get_or_insert(error.to_string());
        }
        // If one end has failed, the flow is over: the other end might wait forever.
        let over = other_ended || result.is_err();
        if over && is_finite && !std::mem::replace(&mut self.is_reported, true) {
            messages.report(&WorkerMessage::FlowDone);
        }
    }
}

/// End of a flow, in its thread.
pub struct FlowEnd {
    /// Index of the flow.
    flow: u32,
    setup: FlowSetup,
    clock: Clock,
    warmup: Time,
    messages: MessageSender,
    establishment: Establishment,
    state: SharedFlowState,
    buffer: Vec<u8>,
}

/// Method by which an end gets its connections.
#[derive(Debug)]
pub enum Establishment {
    /// Opens connections to this address.
    Connect(SocketAddrV4),
    /// Accepts connections from this listener.
    Accept(TcpListener),
}

impl FlowEnd {
    /// Creates one end of a flow, which is not started yet.
    pub fn new(
        (flow, setup): (u32, FlowSetup),
        establishment: Establishment,
        state: SharedFlowState,
        run: &RunContext,
    ) -> Self {
        let RunContext { clock, warmup, .. } = *run;
        let messages = run.messages.clone();
        let buffer = vec![0; CHUNK.max(setup.write_size as usize)];
        Self { flow, setup, clock, warmup, messages, establishment, state, buffer }
    }

    /// Runs the end until it has finished.
    ///
    /// # Errors
    /// The error of a socket.
    pub fn run(&mut self, sends: bool) -> io::Result<()> {
        match (self.setup.workload.clone(), sends) {
            (Workload::Exchanges(exchanges), true) => self.answer(&exchanges),
            (Workload::Exchanges(exchanges), false) => self.ask(&exchanges),
            (files, _) => self.run_files(&files, sends),
        }
    }

    /// Records that the end has finished or failed.
    pub fn record_result(&self, result: &io::Result<()>) {
        let ended = (self.flow, self.clock.now());
        let is_finite = self.setup.workload.is_finite();
        lock(&self.state).on_end_finished(ended, result, is_finite, &self.messages);
    }

    fn run_files(&mut self, files: &Workload, sends: bool) -> io::Result<()> {
        let mut number = 0;
        while let Some(bytes) = files.file_bytes(number) {
            if number > 0 {
                thread::sleep(files.pause());
            }
            let (socket, _) = self.connect(number, sends)?;
            if sends {
                self.sending(&socket, |end, socket| end.write(socket, bytes))?;
                self.close(&socket)?;
            } else {
                let last = files.file_bytes(number + 1).is_none();
                self.receive(&socket, (bytes, last))?;
            }
            number += 1;
        }
        Ok(())
    }

    /// Establishes the next connection; also returns the time at which it was opened.
    fn connect(&self, number: u32, sends: bool) -> io::Result<(TcpStream, Time)> {
        match &self.establishment {
            Establishment::Accept(listener) => {
                let (socket, _) = listener.accept()?;
                if sends {
                    self.messages.hand_over(self.flow, socket.as_fd());
                }
                Ok((socket, self.clock.now()))
            }
            Establishment::Connect(address) => {
                // The emulator gets the socket before the SYN is sent, and can query it from then
                // on.
                let socket = sockets::open_socket(&self.setup.sockets[usize::from(!sends)])?;
                if sends {
                    self.messages.hand_over(self.flow, socket.as_fd());
                }
                if number == 0 {
                    self.clock.sleep_until(self.setup.start);
                    lock(&self.state).report.start = Some(self.clock.now());
                }
                let opened = self.clock.now();
                Ok((sockets::connect(socket, *address)?, opened))
            }
        }
    }

    /// Runs `part`, which sends on a connection, then shuts down the sending direction of the
    /// connection.
    fn sending(
        &mut self,
        socket: &TcpStream,
        part: impl FnOnce(&mut Self, &TcpStream) -> io::Result<()>,
    ) -> io::Result<()> {
        // A second descriptor keeps the counters readable after this thread has closed its own.
        lock(&self.state).sender = Some(socket.try_clone()?);
        let result = part(self, socket).and_then(|()| socket.shutdown(Shutdown::Write));
        if result.is_err() {
            lock(&self.state).close_sender();
        }
        result
    }

    /// Waits until the other end, which has read everything, has closed a connection that the
    /// sender has shut down.
    fn close(&mut self, socket: &TcpStream) -> io::Result<()> {
        let result = self.read_to_the_end(socket);
        lock(&self.state).close_sender();
        result
    }

    fn write(&self, mut socket: &TcpStream, mut bytes: u64) -> io::Result<()> {
        while bytes > 0 {
            let chunk = bytes.min(self.setup.write_size) as usize;
            // `write` blocks while the send buffer is full, so that the kernel always has data to
            // send.
            let written = socket.write(&self.buffer[..chunk])? as u64;
            // `u64::MAX` denotes an endless file.
            bytes = if bytes == u64::MAX { bytes } else { bytes - written };
        }
        Ok(())
    }

    fn read_to_the_end(&mut self, mut socket: &TcpStream) -> io::Result<()> {
        while socket.read(&mut self.buffer)? > 0 {}
        Ok(())
    }

    fn receive(&mut self, mut socket: &TcpStream, (bytes, last): (u64, bool)) -> io::Result<()> {
        let mut left = bytes;
        loop {
            // A slow receiver reads small blocks, so that its buffer empties steadily.
            let most = self.block();
            let read = socket.read(&mut self.buffer[..most])? as u64;
            let now = self.clock.now();
            left = if bytes == u64::MAX { bytes } else { left.saturating_sub(read) };
            let mut state = lock(&self.state);
            state.on_read(now, read, self.warmup);
            // The file is complete when its last byte is read; the FIN may arrive a round trip
            // later.
            if left == 0 && last {
                state.report.finish.get_or_insert(now);
            }
            drop(state);
            if read == 0 {
                return Ok(());
            }
            self.work_on(read, now);
        }
    }

    /// Largest number of bytes that the receiver reads at once.
    fn block(&self) -> usize {
        if self.setup.read_rate.is_some() { READ_BLOCK as usize } else { CHUNK }
    }

    /// Waits for as long as a slow receiver takes to process the bytes that it has read.
    fn work_on(&self, read: u64, since: Time) {
        if let Some(rate) = self.setup.read_rate {
            self.clock.sleep_until(since + Rate::from_bit_s(rate).transmission_time(read as u32));
        }
    }

    /// Runs the client: sends requests and reads the responses.
    fn ask(&mut self, exchanges: &ExchangeSetup) -> io::Result<()> {
        let mut script = exchanges.exchange_sequence();
        for number in 0.. {
            // If each request has a separate connection, the response time includes the handshake.
            let (socket, mut begun) = self.connect(number, false)?;
            loop {
                let exchange = script.next_exchange();
                self.write(&socket, exchange.request)?;
                self.read_exactly(&socket, exchange.response, true)?;
                let now = self.clock.now();
                let mut state = lock(&self.state);
                state.report.exchanges.push(ExchangeReport {
                    start: begun,
                    finish: now,
                    request_bytes: exchange.request,
                    response_bytes: exchange.response,
                });
                if script.is_last() {
                    state.report.finish = Some(now);
                }
                drop(state);
                if script.is_last_of_connection() {
                    break;
                }
                thread::sleep(Duration::from_nanos(script.draw_think_time().as_nanos()));
                begun = self.clock.now();
            }
            self.read_to_the_end(&socket)?;
            drop(socket);
            if script.is_last() {
                break;
            }
            thread::sleep(Duration::from_nanos(script.draw_think_time().as_nanos()));
        }
        Ok(())
    }

    /// Runs the server: reads requests and sends the responses.
    fn answer(&mut self, exchanges: &ExchangeSetup) -> io::Result<()> {
        let mut script = exchanges.exchange_sequence();
        for number in 0.. {
            let (socket, _) = self.connect(number, true)?;
            self.sending(&socket, |end, socket| {
                loop {
                    let exchange = script.next_exchange();
                    end.read_exactly(socket, exchange.request, false)?;
                    thread::sleep(Duration::from_nanos(script.draw_service_time().as_nanos()));
                    end.write(socket, exchange.response)?;
                    if script.is_last_of_connection() {
                        return Ok(());
                    }
                }
            })?;
            if script.is_last() {
                self.close(&socket)?;
                break;
            }
            lock(&self.state).retire_sender()?;
        }
        // The counters of a socket are final once the client has closed its end.
        let closing = std::mem::take(&mut lock(&self.state).closing);
        for socket in closing {
            socket.set_nonblocking(false)?;
            self.read_to_the_end(&socket)?;
            lock(&self.state).add_kernel(&socket);
        }
        Ok(())
    }

    /// Reads exactly `bytes` bytes, which count as delivered if `count` is true.
    fn read_exactly(
        &mut self,
        mut socket: &TcpStream,
        mut bytes: u64,
        count: bool,
    ) -> io::Result<()> {
        while bytes > 0 {
            let block = if count { self.block() } else { CHUNK };
            let most = usize::try_from(bytes).unwrap_or(block).min(block);
            let read = socket.read(&mut self.buffer[..most])? as u64;
            if read == 0 {
                let early = "the other end closed before it had sent everything";
                return Err(io::Error::new(ErrorKind::UnexpectedEof, early));
            }
            bytes -= read;
            if count {
                let now = self.clock.now();
                lock(&self.state).on_read(now, read, self.warmup);
                // The response is complete when its last byte is read, so the time of processing
                // that byte does not count.
                if bytes > 0 {
                    self.work_on(read, now);
                }
            }
        }
        Ok(())
    }
}

/// Locks shared state.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
