//! A connection, and what its socket knows about it.

use super::limits::{Limits, unsent_bytes};
use super::settings::KeepAliveOption;
use super::stamps::Stamps;
use super::{Answer, Errno, ready};
use retx_tcp::{Connection, Event, State, Transmit};
use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// Memory that Linux takes for a packet in the send queue, beside its data (`skb->truesize`).
const PACKET_MEMORY_BYTES: u64 = 1_280;

/// A connection with its socket's state.
#[derive(Debug, Clone)]
pub struct End {
    /// The endpoint.
    pub connection: Connection,
    /// The descriptor that it is to be accepted from.
    pub listener: Option<i32>,
    /// `accept` has returned it, or `connect` made it.
    pub taken: bool,
    /// The handshake is complete.
    pub connected: bool,
    /// Nothing more comes.
    pub peer_closed: bool,
    /// `shutdown(SHUT_RD)`: a read does not wait any more. As in Linux, what comes can be read.
    pub read_shut: bool,
    /// `shutdown(SHUT_WR)` or `close`.
    pub write_shut: bool,
    /// What the next call fails with.
    pub error: Option<Errno>,
    /// Bytes that the application may write ahead of their acknowledgment.
    pub send_buffer: u64,
    /// What has been counted.
    pub counts: Counts,
    /// The send buffer counts memory, as in Linux.
    pub counts_memory: bool,
    /// MSS that this end offers.
    pub mss: u32,
    /// `TCP_NOTSENT_LOWAT`: no room for writing while so many bytes are unsent.
    pub unsent_low_water: Option<u64>,
    /// `SO_RCVLOWAT`.
    pub read_low_water: u64,
    /// `SO_KEEPALIVE`.
    pub keepalive: KeepAliveOption,
    /// Transmit timestamps, where they are on.
    pub stamps: Option<Box<Stamps>>,
    /// Limit that holds the sender back now.
    pub limits: Limits,
    /// How often something has happened that wakes those who wait for the socket.
    pub wakes: u64,
    /// Somebody has found no room for writing.
    pub short: bool,
    /// Readable bytes when the socket last woke a waiter.
    woken_at: u64,
    /// Segments sent and not yet acknowledged, as (first position, position after the last).
    flight: VecDeque<(u64, u64)>,
}

/// What `TCP_INFO` counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    /// Segments sent.
    pub segments_out: u64,
    /// Of these, with data.
    pub data_segments_out: u64,
    /// Of these, sent again.
    pub retransmissions: u64,
    /// Payload bytes sent.
    pub bytes_out: u64,
    /// Of these, sent again.
    pub bytes_retransmitted: u64,
    /// Segments that arrived.
    pub segments_in: u64,
    /// Of these, with data.
    pub data_segments_in: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Smallest RTT measured.
    pub rtt_min: Option<Duration>,
    /// When data last left, arrived, and an acknowledgment last arrived.
    pub last_data_sent: Time,
    /// See above.
    pub last_data_received: Time,
    /// See above.
    pub last_ack_received: Time,
}

/// What made a connection do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A segment that found it in this state.
    Segment(State),
    /// A timer.
    Timer,
    /// The application.
    Call,
}

impl End {
    /// A connection's socket.
    pub fn new(connection: Connection, send_buffer: u64, mss: u32) -> Self {
        Self {
            connection,
            listener: None,
            taken: false,
            connected: false,
            peer_closed: false,
            read_shut: false,
            write_shut: false,
            error: None,
            send_buffer,
            counts: Counts::default(),
            counts_memory: false,
            mss,
            unsent_low_water: None,
            read_low_water: 1,
            keepalive: KeepAliveOption::default(),
            stamps: None,
            limits: Limits::default(),
            wakes: 0,
            short: false,
            woken_at: 0,
            flight: VecDeque::new(),
        }
    }

    /// Segments sent and not yet acknowledged.
    pub fn segments_in_flight(&self) -> usize {
        self.flight.len()
    }

    /// Takes notice of what has happened in the connection.
    pub fn take_events(&mut self, now: Time, cause: Cause) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => {
                    self.connected = true;
                    self.wakes += 1;
                    // As if data had gone both ways (`tcp_finish_connect`).
                    self.counts.last_data_received = now;
                    self.counts.last_data_sent = now;
                }
                Event::PeerClosed => {
                    self.peer_closed = true;
                    self.wakes += 1;
                }
                Event::Reset => {
                    self.error = reset_error(cause);
                    self.wakes += 1;
                }
                Event::TimedOut(_) => self.counts.timeouts += 1,
                Event::Rtt(rtt) | Event::EchoedRtt(rtt) => {
                    self.counts.rtt_min =
                        Some(self.counts.rtt_min.map_or(rtt, |known| known.min(rtt)));
                }
                _ => {}
            }
        }
        let acknowledged = self.connection.snd_una();
        while self.flight.front().is_some_and(|segment| segment.1 <= acknowledged) {
            self.flight.pop_front();
        }
        if let Some(stamps) = &mut self.stamps {
            stamps.on_acknowledged(now, acknowledged);
        }
    }

    /// The connection has been served: wakes those who wait for data or for room, and notes what
    /// limits the sender.
    pub fn observe(&mut self, now: Time) {
        let readable = self.connection.readable();
        if readable > self.woken_at {
            self.wakes += 1;
        }
        self.woken_at = readable;
        self.limits.observe(now, &self.connection, self.short);
        if self.short && self.has_room() {
            self.short = false;
            self.wakes += 1;
            self.limits.observe(now, &self.connection, false);
        }
    }

    /// Enough room that a writer is woken: where memory counts a third of the buffer, and less
    /// than half of `TCP_NOTSENT_LOWAT` is unsent (`sk_stream_is_writeable`).
    fn has_room(&self) -> bool {
        let used = self.used();
        let unsent = unsent_bytes(&self.connection);
        let room = self.send_buffer.saturating_sub(used);
        let enough = if self.counts_memory { room >= used / 2 } else { room > 0 };
        enough && self.unsent_low_water.is_none_or(|low| 2 * unsent < low)
    }

    /// Counts a segment that leaves.
    pub fn note_sent(&mut self, now: Time, transmit: &Transmit) {
        let bytes = u64::from(transmit.segment.payload_bytes);
        let space = u64::from(transmit.segment.seq_len());
        let counts = &mut self.counts;
        counts.segments_out += 1;
        if bytes > 0 {
            counts.data_segments_out += 1;
            counts.bytes_out += bytes;
            counts.last_data_sent = now;
        }
        if transmit.retransmission {
            counts.retransmissions += 1;
            counts.bytes_retransmitted += bytes;
        } else if space > 0 {
            if let Some(stamps) = &mut self.stamps {
                stamps.on_sent(now, transmit.position + space);
            }
            self.flight.push_back((transmit.position, transmit.position + space));
        }
    }

    /// Where the next read stands: how much there is, or why there is nothing.
    pub fn readable(&self) -> Result<u64, Answer> {
        let readable = self.connection.readable();
        if readable >= self.read_low_water || readable > 0 && self.peer_closed {
            return Ok(readable);
        }
        if let Some(errno) = self.error {
            return Err(Answer::Error(errno));
        }
        let over = self.peer_closed
            || self.read_shut
            || matches!(self.connection.state(), State::Closed | State::TimeWait);
        if over { Ok(0) } else { Err(Answer::Wait) }
    }

    /// Where the next write stands: why there can be none, if so.
    pub fn writable(&self) -> Result<(), Answer> {
        if let Some(errno) = self.error {
            return Err(Answer::Error(errno));
        }
        if self.write_shut || (self.connected && self.connection.state() == State::Closed) {
            return Err(Answer::Error("EPIPE"));
        }
        let open = matches!(self.connection.state(), State::Established | State::CloseWait);
        if open { Ok(()) } else { Err(Answer::Wait) }
    }

    /// Bytes of the send buffer in use.
    fn used(&self) -> u64 {
        let bytes = self.connection.unacknowledged();
        if !self.counts_memory {
            return bytes;
        }
        bytes + PACKET_MEMORY_BYTES * bytes.div_ceil(self.connection.block_bytes())
    }

    /// How many of `bytes` a write may hand over at once; 0 when it has to wait. Where memory
    /// counts, or `TCP_NOTSENT_LOWAT`, a block is begun only while there is room, and then filled
    /// (`tcp_sendmsg_locked`).
    pub fn piece(&self, bytes: u64) -> u64 {
        let room = self.send_buffer.saturating_sub(self.used());
        let bytes = if self.counts_memory { bytes } else { bytes.min(room) };
        if !self.counts_memory && self.unsent_low_water.is_none() {
            return bytes;
        }
        let block = self.connection.block_bytes();
        let unsent = unsent_bytes(&self.connection);
        match unsent % block {
            0 if room == 0 || self.unsent_low_water.is_some_and(|low| unsent >= low) => 0,
            begun => bytes.min(block - begun),
        }
    }

    /// `poll`'s answer.
    pub fn ready(&self) -> u32 {
        let mut bits = 0;
        if self.readable().is_ok() || self.error.is_some() {
            bits |= ready::IN;
        }
        if self.writable().is_ok() && self.has_room()
            || matches!(self.writable(), Err(Answer::Error(_)))
        {
            bits |= ready::OUT;
        }
        if self.error.is_some() {
            bits |= ready::ERR;
        }
        if self.peer_closed || self.read_shut {
            bits |= ready::RDHUP;
        }
        if self.connection.state() == State::Closed
            || (self.write_shut && (self.peer_closed || self.read_shut))
        {
            bits |= ready::HUP;
        }
        ready::widened(bits)
    }
}

/// What an application is told of a reset.
fn reset_error(cause: Cause) -> Option<Errno> {
    match cause {
        Cause::Segment(State::SynSent) => Some("ECONNREFUSED"),
        Cause::Segment(State::CloseWait) => Some("EPIPE"),
        Cause::Segment(_) => Some("ECONNRESET"),
        Cause::Timer => Some("ETIMEDOUT"),
        Cause::Call => None,
    }
}
