//! A connection, and what its socket knows about it.

use super::{Answer, Errno, ready};
use retx_tcp::{Connection, Event, State, Transmit};
use retx_units::{Duration, Time};
use std::collections::VecDeque;

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
    /// MSS that this end offers.
    pub mss: u32,
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
            mss,
            flight: VecDeque::new(),
        }
    }

    /// Segments sent and not yet acknowledged.
    pub fn segments_in_flight(&self) -> usize {
        self.flight.len()
    }

    /// Takes notice of what has happened in the connection.
    pub fn take_events(&mut self, cause: Cause) {
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => self.connected = true,
                Event::PeerClosed => self.peer_closed = true,
                Event::Reset => self.error = reset_error(cause),
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
            self.flight.push_back((transmit.position, transmit.position + space));
        }
    }

    /// Where the next read stands: how much there is, or why there is nothing.
    pub fn readable(&self) -> Result<u64, Answer> {
        let readable = self.connection.readable();
        if readable > 0 {
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

    /// Where the next write stands: how much room there is, or why there is none.
    pub fn writable(&self) -> Result<u64, Answer> {
        if let Some(errno) = self.error {
            return Err(Answer::Error(errno));
        }
        if self.write_shut || (self.connected && self.connection.state() == State::Closed) {
            return Err(Answer::Error("EPIPE"));
        }
        let room = self.send_buffer.saturating_sub(self.connection.unacknowledged());
        let open = matches!(self.connection.state(), State::Established | State::CloseWait);
        if open && room > 0 { Ok(room) } else { Err(Answer::Wait) }
    }

    /// `poll`'s answer.
    pub fn ready(&self) -> u32 {
        let mut bits = 0;
        if self.readable().is_ok() || self.error.is_some() {
            bits |= ready::IN;
        }
        if self.writable() != Err(Answer::Wait) {
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
