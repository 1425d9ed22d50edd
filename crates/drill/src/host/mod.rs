//! Sockets over connections, as seen by an application and a network card. Calls and arriving
//! packets are inputs, sent packets are outputs, each at a given time. There is no clock and no
//! I/O.

mod calls;
mod epoll;
mod limits;
mod options;
pub mod ready;
mod settings;
mod socket_end;
mod stamps;
mod writes;

pub use calls::Fault;
pub use limits::{LimitClocks, unsent_bytes};
pub use socket_end::{ActionCause, Counters, SocketEnd};
pub use stamps::{TransmitTimestamp, TransmitTimestamps};

use retx_tcp::{Buffers, Config, Connection, State};
use retx_units::{SeqNr, Time};
use retx_wire::{Ecn, Flags, Segment};
use settings::Settings;
use std::collections::{BTreeMap, VecDeque};

/// Name of an error: `EAGAIN`.
pub type Errno = &'static str;

/// Result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// The call returns this value.
    Done(i64),
    /// The call fails.
    Error(Errno),
    /// The call waits.
    Wait,
}

/// Packet sent by an end.
#[derive(Debug, Clone, Copy)]
pub struct SentPacket {
    /// Time of transmission.
    pub at: Time,
    /// Index of the connection.
    pub end: usize,
    /// TCP segment.
    pub segment: Segment,
    /// ECN field of the IP header.
    pub ecn: Ecn,
}

/// Connection or socket to which the next packet belongs. There is only one, because a script
/// drives one connection at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Focus {
    Nothing,
    /// Socket without a connection yet.
    Socket(i32),
    End(usize),
}

/// Active or passive open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Opener,
    Listener,
}

#[derive(Debug, Clone)]
struct Socket {
    kind: Kind,
    settings: Settings,
    nonblocking: bool,
    /// Time until which a pending `close` waits; `None` if no `close` is pending.
    closing_until: Option<Time>,
}

impl Socket {
    fn new(kind: Kind, settings: Settings) -> Self {
        Self { kind, settings, nonblocking: false, closing_until: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fresh,
    Listener,
    End(usize),
    File,
    Epoll(usize),
}

/// Machine under test.
#[derive(Debug)]
pub struct Host {
    config: Config,
    initial_sequence: SeqNr,
    sockets: BTreeMap<i32, Socket>,
    ends: Vec<SocketEnd>,
    epolls: Vec<epoll::Epoll>,
    focus: Focus,
    /// `net.ipv4.tcp_notsent_lowat`, in bytes; `None` if it sets no limit.
    unsent_low_water: Option<u64>,
    /// True if the device refuses packets.
    device_closed: bool,
    /// True if listeners accept ECN (`net.ipv4.tcp_ecn=2`).
    accepts_ecn: bool,
    /// Initial MSS of path MTU probing; `None` if it is off.
    base_mss: Option<u32>,
    /// Packets sent and not yet compared.
    pub sent: VecDeque<SentPacket>,
    /// Number of packets that may still be sent. This limit stops scripts that would never end.
    budget: u64,
}

impl Host {
    /// Creates a machine whose connections have this configuration and start at this sequence
    /// number.
    pub fn new(config: Config, initial_sequence: SeqNr, budget: u64) -> Self {
        Self {
            config,
            initial_sequence,
            sockets: BTreeMap::new(),
            ends: Vec::new(),
            epolls: Vec::new(),
            focus: Focus::Nothing,
            unsent_low_water: None,
            device_closed: false,
            accepts_ecn: false,
            base_mss: None,
            sent: VecDeque::new(),
            budget,
        }
    }

    /// Changes the configuration of connections opened from now on.
    pub fn reconfigure(&mut self, config: Config) {
        self.config = config;
    }

    /// Sets the default of `TCP_NOTSENT_LOWAT`.
    pub fn set_unsent_low_water(&mut self, bytes: Option<u64>) {
        self.unsent_low_water = bytes;
    }

    /// Makes listeners accept ECN; if `accepts` is false, they follow their configuration.
    pub fn set_accepts_ecn(&mut self, accepts: bool) {
        self.accepts_ecn = accepts;
    }

    /// Sets the initial MSS of path MTU probing for connections opened from now on.
    pub fn set_base_mss(&mut self, base_mss: Option<u32>) {
        self.base_mss = base_mss;
    }

    /// Sets whether the device refuses every packet (`pfifo limit 0`).
    pub fn set_device_closed(&mut self, closed: bool) {
        self.device_closed = closed;
        for end in &mut self.ends {
            end.connection.set_device_closed(closed);
        }
    }

    /// Connection that packets currently belong to.
    pub fn current_connection(&self) -> Option<usize> {
        match self.focus {
            Focus::End(end) => Some(end),
            _ => None,
        }
    }

    /// Connection of the given index.
    pub fn end(&self, end: usize) -> &SocketEnd {
        &self.ends[end]
    }

    /// True if the machine has sent more packets than its budget.
    pub const fn is_exhausted(&self) -> bool {
        self.budget == 0
    }

    /// Connection that receives an arriving packet; a SYN for a listener creates one.
    ///
    /// # Errors
    /// The socket's options do not form a valid configuration.
    pub fn connection_for(&mut self, flags: Flags) -> Result<usize, String> {
        let opens = flags.contains(Flags::SYN) && !flags.contains(Flags::ACK);
        let listener = match self.focus {
            Focus::End(end) => {
                let over = opens && self.ends[end].connection.state() == State::Closed;
                match self.ends[end].listener.filter(|fd| over && self.is_listening(*fd)) {
                    Some(fd) => Some(fd),
                    None => return Ok(end),
                }
            }
            Focus::Socket(fd) if self.is_listening(fd) => Some(fd),
            Focus::Socket(_) | Focus::Nothing => None,
        };
        self.open_for_packet(listener)
    }

    /// Creates a connection for a packet that belongs to none, on the listening socket `listener`.
    /// Without a listener the connection is closed, and answers with a reset.
    ///
    /// # Errors
    /// The socket's options do not form a valid configuration.
    pub fn open_for_packet(&mut self, listener: Option<i32>) -> Result<usize, Fault> {
        let settings = listener.map(|fd| self.sockets[&fd].settings.clone()).unwrap_or_default();
        let end = self.open(&settings, Role::Listener)?;
        if listener.is_none() {
            self.ends[end].connection.close();
        }
        self.ends[end].listener = listener;
        Ok(end)
    }

    /// True if the socket of this descriptor listens.
    pub fn is_listening(&self, fd: i32) -> bool {
        self.sockets.get(&fd).is_some_and(|socket| socket.kind == Kind::Listener)
    }

    /// Opens a connection, to which packets belong from now on.
    fn open(&mut self, settings: &Settings, role: Role) -> Result<usize, String> {
        let (mut config, send_buffer) = settings.configure(&self.config)?;
        config.ecn |= self.accepts_ecn && role == Role::Listener;
        let end = self.ends.len();
        let initial_sequence = self.initial_sequence.add(end as u32 * 1_000_003);
        let mut connection = match role {
            Role::Opener => Connection::connect(&config, initial_sequence),
            Role::Listener => Connection::listen(&config, initial_sequence),
        };
        if settings.cork {
            connection.set_cork(true);
        }
        if settings.user_timeout.is_some() {
            connection.set_user_timeout(settings.user_timeout);
        }
        if let Some(base_mss) = self.base_mss {
            connection.enable_mtu_probing(base_mss);
        }
        if self.device_closed {
            connection.set_device_closed(true);
        }
        let mut end_of_socket = SocketEnd::new(connection, send_buffer, config.mss);
        end_of_socket.counts_buffer_memory = config.buffers == Buffers::Linux;
        end_of_socket.unsent_low_water = settings.unsent_low_water.or(self.unsent_low_water);
        end_of_socket.read_low_water = settings.read_low_water;
        end_of_socket.keepalive = settings.keepalive;
        self.ends.push(end_of_socket);
        self.focus = Focus::End(end);
        Ok(end)
    }

    /// Delivers a packet to a connection.
    pub fn deliver(&mut self, now: Time, end: usize, segment: &Segment, ecn: Ecn) {
        let target = &mut self.ends[end];
        let state = target.connection.state();
        target.counters.segments_in += 1;
        if segment.payload_bytes > 0 {
            target.counters.data_segments_in += 1;
            target.counters.last_data_received = now;
        }
        if segment.flags.contains(Flags::ACK) {
            target.counters.last_ack_received = now;
        }
        target.connection.handle_packet(now, segment, ecn);
        self.serve(now, end, ActionCause::Segment(state));
    }

    /// Time of the next timer; [`Time::NEVER`] if there is none.
    pub fn poll_timeout(&self) -> Time {
        self.ends.iter().map(|end| end.connection.poll_timeout()).min().unwrap_or(Time::NEVER)
    }

    /// Fires the timers that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        for end in 0..self.ends.len() {
            if self.ends[end].connection.poll_timeout() <= now {
                self.ends[end].connection.handle_timeout(now);
                self.serve(now, end, ActionCause::Timer);
            }
        }
    }

    /// Handles the events of a connection, and lets it send.
    fn serve(&mut self, now: Time, end: usize, cause: ActionCause) {
        let target = &mut self.ends[end];
        target.handle_events(now, cause);
        while self.budget > 0
            && let Some(transmit) = target.connection.poll_transmit(now)
        {
            self.budget -= 1;
            target.note_sent(now, &transmit);
            if self.device_closed {
                continue;
            }
            self.sent.push_back(SentPacket {
                at: now,
                end,
                segment: transmit.segment,
                ecn: transmit.ecn,
            });
        }
        target.handle_events(now, ActionCause::Call);
        target.wake_waiters(now);
    }
}
