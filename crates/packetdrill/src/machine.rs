//! The machine under test: sockets at addresses, packets as bytes, a virtual clock.

use crate::settings::Settings;
use crate::{information, options};
use libc::c_int;
use retx_drill::host::{Fault, Host, Return};
use retx_drill::{Operation, SocketOption, Transfer};
use retx_tcp::State;
use retx_units::{SeqNr, Time};
use retx_wire::{
    DecodedPacket, Endpoint, Flags, Ipv4Header, Packet, Segment, Transport, decode_packet,
    encode_packet,
};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

/// Initial sequence number. It is arbitrary, because packetdrill's numbers are relative to the SYN.
const INITIAL_SEQUENCE: SeqNr = SeqNr(0xC0DE_1234);

/// Number of packets after which the endpoint is assumed to send without end.
const PACKETS_MAX: u64 = 1_000_000;

/// Default local address of a socket, which is packetdrill's default for the local machine.
const LOCAL: Endpoint = Endpoint { address: Ipv4Addr::new(192, 168, 0, 1), port: 40_000 };

/// Addresses of both ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flow {
    local: Endpoint,
    remote: Endpoint,
}

/// Machine under test.
#[derive(Debug)]
pub struct Machine {
    host: Host,
    settings: Settings,
    /// Virtual time.
    pub now: Time,
    /// Addresses of each connection.
    flows: Vec<Flow>,
    bound: BTreeMap<i32, Endpoint>,
    /// A real file for each descriptor, because packetdrill calls the C library to close
    /// descriptors that a script leaves open.
    files: BTreeMap<i32, File>,
    outgoing: VecDeque<(Time, Vec<u8>)>,
}

impl Machine {
    /// Creates a machine with these settings.
    ///
    /// # Errors
    /// The settings do not form a valid configuration.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let config = settings.configuration()?;
        Ok(Self {
            host: Host::new(config, INITIAL_SEQUENCE, PACKETS_MAX),
            settings,
            now: Time::ZERO,
            flows: Vec::new(),
            bound: BTreeMap::new(),
            files: BTreeMap::new(),
            outgoing: VecDeque::new(),
        })
    }

    /// Applies the commands that the script has run so far to connections that are opened from now
    /// on.
    fn renew(&mut self) -> Result<(), Fault> {
        if let Some(config) = self.settings.reread_configuration()? {
            self.host.reconfigure(config);
        }
        Ok(())
    }

    fn new_file() -> Result<(i32, File), Fault> {
        let file = File::open("/dev/null").map_err(|error| format!("/dev/null: {error}"))?;
        Ok((file.as_raw_fd(), file))
    }

    /// Handles the call `socket`.
    ///
    /// # Errors
    /// The settings do not form a valid configuration.
    pub fn socket(&mut self, nonblocking: bool) -> Result<Return, Fault> {
        self.renew()?;
        let (fd, file) = Self::new_file()?;
        let answer = self.host.call(self.now, &Operation::Socket { nonblocking }, Some(fd.into()));
        self.files.insert(fd, file);
        answer
    }

    /// Handles the call `bind`.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn bind(&mut self, fd: i32, local: Endpoint) -> Result<Return, Fault> {
        let answer = self.host.call(self.now, &Operation::Bind(fd), None)?;
        self.bound.insert(fd, local);
        Ok(answer)
    }

    /// Handles the call `connect`.
    ///
    /// # Errors
    /// No such descriptor, or its options do not form a valid configuration.
    pub fn connect(&mut self, fd: i32, remote: Endpoint) -> Result<Return, Fault> {
        self.renew()?;
        let answer = self.host.call(self.now, &Operation::Connect(fd), None);
        if self.host.end_for_fd(fd)? == Some(self.flows.len()) {
            let port = LOCAL.port + self.flows.len() as u16;
            let local = self.bound.get(&fd).copied().unwrap_or(Endpoint { port, ..LOCAL });
            self.flows.push(Flow { local, remote });
        }
        self.collect();
        answer
    }

    /// Handles the call `accept`. Returns the new descriptor, and the peer's address.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn accept(&mut self, fd: i32) -> Result<(Return, Option<Endpoint>), Fault> {
        let (new, file) = Self::new_file()?;
        let answer = self.host.call(self.now, &Operation::Accept(fd), Some(new.into()))?;
        if !matches!(answer, Return::Done(_)) {
            return Ok((answer, None));
        }
        self.files.insert(new, file);
        let end = self.host.end_for_fd(new)?;
        Ok((answer, end.map(|end| self.flows[end].remote)))
    }

    /// Handles the call `write`; `written` bytes of the transfer have been accepted so far.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn write(&mut self, transfer: &Transfer, written: &mut u64) -> Result<Return, Fault> {
        let answer = self.host.continue_write(self.now, transfer, written);
        self.collect();
        answer
    }

    /// Handles all other calls.
    ///
    /// # Errors
    /// No such descriptor, or an invalid option.
    pub fn call(&mut self, operation: &Operation) -> Result<Return, Fault> {
        let answer = self.host.call(self.now, operation, None);
        self.collect();
        if let Operation::Close(fd) = operation
            && answer != Ok(Return::Wait)
        {
            self.bound.remove(fd);
            self.files.remove(fd);
        }
        answer
    }

    /// Number of bytes that can be read (`SIOCINQ`); `None` for a socket without a connection.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn in_queue(&self, fd: i32) -> Result<Option<u64>, Fault> {
        let end = self.host.end_for_fd(fd)?;
        Ok(end.map(|end| self.host.end(end).connection.readable()))
    }

    /// Number of bytes that are not yet acknowledged (`SIOCOUTQ`); `None` for a socket without a
    /// connection.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn out_queue(&self, fd: i32) -> Result<Option<u64>, Fault> {
        let end = self.host.end_for_fd(fd)?;
        Ok(end.map(|end| self.host.end(end).connection.unacknowledged()))
    }

    /// Bits that `poll` returns for a descriptor.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn ready_events(&self, fd: i32) -> Result<u32, Fault> {
        self.host.ready_events(fd)
    }

    /// True for a descriptor of this machine.
    pub fn has_descriptor(&self, fd: i32) -> bool {
        self.files.contains_key(&fd)
    }

    /// Value of an option, as a number.
    ///
    /// # Errors
    /// The number of the error.
    pub fn read_option(&mut self, fd: i32, option: &SocketOption) -> Result<i32, c_int> {
        let found = self.host.option(fd, option).map_err(|_| libc::ENOPROTOOPT)?;
        options::option_value(&found)
    }

    /// `TCP_INFO` of a connection; `None` for a socket without one.
    pub fn tcp_info(&self, fd: i32) -> Option<[u8; information::TCP_INFO_BYTES]> {
        let end = self.host.end_for_fd(fd).ok()??;
        Some(information::tcp_info_bytes(self.host.end(end), self.now))
    }

    /// Delivers a packet.
    ///
    /// # Errors
    /// The packet is not TCP over IPv4, or the listener's options do not form a valid
    /// configuration.
    pub fn deliver_packet(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let DecodedPacket { packet, .. } =
            decode_packet(bytes).map_err(|error| error.to_string())?;
        let Transport::Tcp(segment) = packet.transport else {
            return Err("a UDP datagram: only TCP is played".into());
        };
        let flow = Flow { local: packet.destination, remote: packet.source };
        let end = match self.known(&flow, segment.flags) {
            Some(end) => end,
            None => {
                self.renew()?;
                let end = self.host.open_for_packet(self.listener(flow.local))?;
                assert_eq!(end, self.flows.len(), "every connection has its flow");
                self.flows.push(flow);
                end
            }
        };
        self.host.deliver(self.now, end, &segment, packet.ip.ecn);
        self.collect();
        Ok(())
    }

    /// Connection of a packet; `None` for a SYN that begins a new connection after the end of the
    /// last one.
    fn known(&self, flow: &Flow, flags: Flags) -> Option<usize> {
        let end = self.flows.iter().rposition(|known| known == flow)?;
        let opens = flags.contains(Flags::SYN) && !flags.contains(Flags::ACK);
        let over = self.host.end(end).connection.state() == State::Closed;
        (!(opens && over)).then_some(end)
    }

    fn listener(&self, local: Endpoint) -> Option<i32> {
        let matches = |bound: &Endpoint| {
            bound.port == local.port
                && (bound.address.is_unspecified() || bound.address == local.address)
        };
        self.bound
            .iter()
            .find(|(fd, bound)| matches(bound) && self.host.is_listening(**fd))
            .map(|(fd, _)| *fd)
    }

    /// Time of the next timer.
    pub fn next_timeout(&self) -> Time {
        self.host.poll_timeout()
    }

    /// Advances the clock to `to`; no timer may be due before.
    pub fn advance_to(&mut self, to: Time) {
        self.now = self.now.max(to);
        if self.host.poll_timeout() <= self.now {
            self.host.handle_timeout(self.now);
            self.collect();
        }
    }

    /// Next packet sent, with its time.
    pub fn dequeue_sent(&mut self) -> Option<(Time, Vec<u8>)> {
        self.outgoing.pop_front()
    }

    /// True if a packet has been sent.
    pub fn has_sent(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// True if the machine has sent more than [`PACKETS_MAX`] packets.
    pub fn is_exhausted(&self) -> bool {
        self.host.is_exhausted()
    }

    /// Encodes the segments that the connections have sent.
    fn collect(&mut self) {
        while let Some(sent) = self.host.sent.pop_front() {
            let Flow { local, remote } = self.flows[sent.end];
            let packet = Packet {
                source: local,
                destination: remote,
                ip: Ipv4Header { identification: 0, time_to_live: 64, ecn: sent.ecn },
                transport: Transport::Tcp(unpushed(sent.segment)),
            };
            let mut bytes = Vec::new();
            encode_packet(&packet, &mut |_| {}, &mut bytes);
            self.outgoing.push_back((sent.at, bytes));
        }
    }

    /// Leaves the files open when the machine is dropped: packetdrill closes them, and reports an
    /// error if a file is already closed.
    pub fn leave_files_open(&mut self) {
        for file in std::mem::take(&mut self.files).into_values() {
            std::mem::forget(file);
        }
    }
}

/// Removes PSH. Which segment of a write carries PSH depends on the segmentation, which no standard
/// prescribes. As in `retx drill`, PSH is therefore not compared.
fn unpushed(segment: Segment) -> Segment {
    Segment { flags: Flags(segment.flags.0 & !Flags::PSH.0), ..segment }
}
