//! Connection and the state of its socket.

use super::limits::{LimitClocks, unsent_bytes};
use super::settings::{KeepAliveOption, SendBuffer};
use super::stamps::TransmitTimestamps;
use super::{Errno, Return, ready};
use retx_tcp::{Connection, Event, State, Transmit};
use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// A connection, and the state of its socket.
#[derive(Debug, Clone)]
pub struct SocketEnd {
    /// The endpoint.
    pub connection: Connection,
    /// Listening descriptor that has received the SYN; `None` without a listener.
    pub listener: Option<i32>,
    /// True if the connection has a descriptor: `accept` has returned it, or `connect` has created
    /// it.
    pub has_descriptor: bool,
    /// True once the handshake is complete.
    pub connected: bool,
    /// True once the peer has closed its direction.
    pub peer_closed: bool,
    /// True after `shutdown(SHUT_RD)`: reads no longer wait. As in Linux, data that arrive can
    /// still be read.
    pub read_shutdown: bool,
    /// True after `shutdown(SHUT_WR)` or `close`.
    pub write_shutdown: bool,
    /// Error that the next call returns, if any.
    pub error: Option<Errno>,
    /// Size of the send buffer.
    pub send_buffer: SendBuffer,
    /// Counters for `TCP_INFO`.
    pub counters: Counters,
    /// True if packet overhead counts towards the send buffer, as in Linux.
    pub counts_buffer_memory: bool,
    /// MSS offered by this end.
    pub mss: u32,
    /// `TCP_NOTSENT_LOWAT`: limit of unsent bytes above which writes wait; `None` without a limit.
    pub unsent_low_water: Option<u64>,
    /// `SO_RCVLOWAT`.
    pub read_low_water: u64,
    /// `SO_KEEPALIVE`.
    pub keepalive: KeepAliveOption,
    /// Transmit timestamps, if enabled.
    pub timestamps: Option<Box<TransmitTimestamps>>,
    /// Times during which the peer's window or the send buffer limits the sender.
    pub limits: LimitClocks,
    /// Number of events that have woken waiters of the socket.
    pub wakeups: u64,
    /// True from a write that finds the send buffer full until enough of the buffer is free again.
    pub found_buffer_full: bool,
    /// True while a blocking write waits for the connection or for its buffer.
    pub write_waits: bool,
    /// Number of readable bytes at the previous call of [`Self::wake_waiters`].
    woken_at: u64,
    /// Segments sent and not yet acknowledged, as (first position, position after the last).
    flight: VecDeque<(u64, u64)>,
}

/// Counters of `TCP_INFO`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    /// Segments sent.
    pub segments_out: u64,
    /// Segments sent with data.
    pub data_segments_out: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Payload bytes sent.
    pub bytes_out: u64,
    /// Payload bytes retransmitted.
    pub bytes_retransmitted: u64,
    /// Segments that arrived.
    pub segments_in: u64,
    /// Segments with data that arrived.
    pub data_segments_in: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Smallest RTT measured; `None` before the first sample.
    pub rtt_min: Option<Duration>,
    /// Time at which data were last sent.
    pub last_data_sent: Time,
    /// Time at which data last arrived.
    pub last_data_received: Time,
    /// Time at which an acknowledgment last arrived.
    pub last_ack_received: Time,
}

/// Origin of an action of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionCause {
    /// Arrival of a segment while the connection was in this state.
    Segment(State),
    /// Expiry of a timer.
    Timer,
    /// Call of the application.
    Call,
}

impl SocketEnd {
    /// Creates the socket of a connection.
    pub fn new(connection: Connection, send_buffer: SendBuffer, mss: u32) -> Self {
        Self {
            connection,
            listener: None,
            has_descriptor: false,
            connected: false,
            peer_closed: false,
            read_shutdown: false,
            write_shutdown: false,
            error: None,
            send_buffer,
            counters: Counters::default(),
            counts_buffer_memory: false,
            mss,
            unsent_low_water: None,
            read_low_water: 1,
            keepalive: KeepAliveOption::default(),
            timestamps: None,
            limits: LimitClocks::default(),
            wakeups: 0,
            found_buffer_full: false,
            write_waits: false,
            woken_at: 0,
            flight: VecDeque::new(),
        }
    }

    /// Segments sent and not yet acknowledged.
    pub fn segments_in_flight(&self) -> usize {
        self.flight.len()
    }

    /// Updates the socket's state from the connection's events, which are due to `cause`.
    pub fn handle_events(&mut self, now: Time, cause: ActionCause) {
        let connected = self.connected;
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => {
                    self.connected = true;
                    self.wakeups += 1;
                    // When the handshake ends, Linux sets these times as if data had been sent and
                    // received (`tcp_finish_connect`).
                    self.counters.last_data_received = now;
                    self.counters.last_data_sent = now;
                }
                Event::PeerClosed => {
                    self.peer_closed = true;
                    self.wakeups += 1;
                }
                Event::Reset => {
                    self.error = reset_error(cause);
                    self.wakeups += 1;
                }
                Event::TimedOut(_) => self.counters.timeouts += 1,
                Event::Rtt(rtt) | Event::EchoedRtt(rtt) => {
                    self.counters.rtt_min =
                        Some(self.counters.rtt_min.map_or(rtt, |known| known.min(rtt)));
                }
                _ => {}
            }
        }
        let acknowledged = self.connection.snd_una();
        while self.flight.front().is_some_and(|segment| segment.1 <= acknowledged) {
            self.flight.pop_front();
        }
        if let Some(stamps) = &mut self.timestamps {
            stamps.on_acknowledged(now, acknowledged);
        }
        let opened = self.connected && !connected;
        if opened || matches!(cause, ActionCause::Segment(_)) {
            self.grow_send_buffer(now, opened);
        }
    }

    /// Lets the send buffer grow before the connection sends, if the handshake is complete
    /// (`tcp_init_buffer_space`) or a write waits (`tcp_check_space`), and wakes the write.
    fn grow_send_buffer(&mut self, now: Time, opened: bool) {
        let SendBuffer { bytes, most: Some(most) } = self.send_buffer else { return };
        if !opened && !self.found_buffer_full {
            return;
        }
        if opened || self.connection.lets_send_buffer_grow(now) {
            self.send_buffer.bytes = bytes.max(self.connection.wanted_send_memory().min(most));
        }
        if self.found_buffer_full {
            self.wake_waiters(now);
        }
    }

    /// Wakes calls that wait for data or for space in the send buffer, and updates the times in
    /// `limits`. Called after each input to the connection.
    pub fn wake_waiters(&mut self, now: Time) {
        let readable = self.connection.readable();
        if readable > self.woken_at {
            self.wakeups += 1;
        }
        self.woken_at = readable;
        self.limits.update(now, &self.connection, self.found_buffer_full);
        if self.found_buffer_full && self.has_room() {
            self.found_buffer_full = false;
            self.wakeups += 1;
            self.limits.update(now, &self.connection, false);
        }
    }

    /// True if a waiting writer may be woken (`sk_stream_is_writeable`). If memory is counted, a
    /// third of the send buffer must be free. With `TCP_NOTSENT_LOWAT`, less than half of that
    /// limit may be unsent.
    fn has_room(&self) -> bool {
        let used = self.used();
        let unsent = unsent_bytes(&self.connection);
        let room = self.send_buffer.bytes.saturating_sub(used);
        let enough = if self.counts_buffer_memory { room >= used / 2 } else { room > 0 };
        enough && self.unsent_low_water.is_none_or(|low| 2 * unsent < low)
    }

    /// Counts a segment that is sent.
    pub fn note_sent(&mut self, now: Time, transmit: &Transmit) {
        let bytes = u64::from(transmit.segment.payload_bytes);
        let space = u64::from(transmit.segment.seq_len());
        let counts = &mut self.counters;
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
            if let Some(stamps) = &mut self.timestamps {
                stamps.on_sent(now, transmit.position + space);
            }
            self.flight.push_back((transmit.position, transmit.position + space));
        }
    }

    /// Number of readable bytes; `Err` is the result of a read that fails or has to wait.
    pub fn readable(&self) -> Result<u64, Return> {
        let readable = self.connection.readable();
        if readable >= self.read_low_water || readable > 0 && self.peer_closed {
            return Ok(readable);
        }
        if let Some(errno) = self.error {
            return Err(Return::Error(errno));
        }
        let over = self.peer_closed
            || self.read_shutdown
            || matches!(self.connection.state(), State::Closed | State::TimeWait);
        if over { Ok(0) } else { Err(Return::Wait) }
    }

    /// `Ok` if a write can proceed; `Err` is the result of a write that fails or has to wait.
    pub fn check_writable(&self) -> Result<(), Return> {
        if let Some(errno) = self.error {
            return Err(Return::Error(errno));
        }
        if self.write_shutdown || (self.connected && self.connection.state() == State::Closed) {
            return Err(Return::Error("EPIPE"));
        }
        let open = matches!(self.connection.state(), State::Established | State::CloseWait);
        if open { Ok(()) } else { Err(Return::Wait) }
    }

    /// Bytes of the send buffer in use.
    fn used(&self) -> u64 {
        if self.counts_buffer_memory {
            self.connection.send_memory_taken()
        } else {
            self.connection.unacknowledged()
        }
    }

    /// Number of bytes that the connection accepts of a write of `bytes`; 0 if the write has to
    /// wait. If memory is counted, or with `TCP_NOTSENT_LOWAT`, a block of the send queue (an skb)
    /// may be started while the limit is not reached, and is then filled even beyond the limit
    /// (`tcp_sendmsg_locked`).
    pub fn writable_bytes(&self, bytes: u64) -> u64 {
        let room = self.send_buffer.bytes.saturating_sub(self.used());
        let bytes = if self.counts_buffer_memory { bytes } else { bytes.min(room) };
        if !self.counts_buffer_memory && self.unsent_low_water.is_none() {
            return bytes;
        }
        let block = self.connection.block_bytes();
        let unsent = unsent_bytes(&self.connection);
        match unsent % block {
            0 if room == 0 || self.unsent_low_water.is_some_and(|low| unsent >= low) => 0,
            begun => bytes.min(block - begun),
        }
    }

    /// Bits reported by `poll`.
    pub fn ready_events(&self) -> u32 {
        let mut bits = 0;
        if self.readable().is_ok() || self.error.is_some() {
            bits |= ready::IN;
        }
        if self.check_writable().is_ok() && self.has_room()
            || matches!(self.check_writable(), Err(Return::Error(_)))
        {
            bits |= ready::OUT;
        }
        if self.error.is_some() {
            bits |= ready::ERR;
        }
        if self.peer_closed || self.read_shutdown {
            bits |= ready::RDHUP;
        }
        if self.connection.state() == State::Closed
            || (self.write_shutdown && (self.peer_closed || self.read_shutdown))
        {
            bits |= ready::HUP;
        }
        ready::add_normal_bits(bits)
    }
}

/// Error reported to the application after a reset.
fn reset_error(cause: ActionCause) -> Option<Errno> {
    match cause {
        ActionCause::Segment(State::SynSent) => Some("ECONNREFUSED"),
        ActionCause::Segment(State::CloseWait) => Some("EPIPE"),
        ActionCause::Segment(_) => Some("ECONNRESET"),
        ActionCause::Timer => Some("ETIMEDOUT"),
        ActionCause::Call => None,
    }
}
