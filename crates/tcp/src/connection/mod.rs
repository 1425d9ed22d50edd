//! One end of a TCP connection.

use crate::Config;
use crate::loss_cause::Cause;
use retx_units::{Duration, SeqNr, Time};
use retx_wire::Segment;

/// The states of RFC 9293 §3.3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// A segment to send, and what it carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// Position of its first sequence number: SYN 0, first byte of data 1.
    pub position: u64,
    /// True when some of it has been sent before.
    pub retransmission: bool,
}

/// Something that whoever drives the connection may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The peer has closed its direction, and all its data can be read.
    PeerClosed,
    /// Both directions are closed, and the peer knows of it (TIME-WAIT counts as closed).
    Closed,
    /// The connection was reset, by the peer or by giving up.
    Reset,
    /// Duplicate ACKs found a loss.
    LossFound(Episode),
    /// The retransmission timer expired.
    TimedOut(Episode),
    /// The last loss event is over: all data sent before it are acknowledged, or fast recovery
    /// has ended.
    Recovered {
        /// `cwnd` in bytes.
        cwnd: u64,
    },
    /// A raw RTT sample.
    Rtt(Duration),
}

/// The beginning of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// Position of the segment that is retransmitted first.
    pub trigger: u64,
    /// What the sender took the loss to be.
    pub said: Cause,
    /// `cwnd` before the reaction, in bytes.
    pub cwnd_before: u64,
    /// `cwnd` after it, in bytes, without what fast recovery adds.
    pub cwnd_after: u64,
    /// The timeout that was in force, backoff included.
    pub rto: Duration,
    /// Doublings in that timeout.
    pub backoff: u32,
}

/// One end of a TCP connection, without clock and without I/O.
#[derive(Debug, Clone)]
pub struct Connection {}

#[allow(missing_docs, unused_variables, clippy::todo)]
impl Connection {
    /// An end that opens: sends a SYN when first polled.
    pub fn connect(config: &Config, initial_sequence: SeqNr) -> Self {
        todo!()
    }

    /// An end that waits for a SYN.
    pub fn listen(config: &Config, initial_sequence: SeqNr) -> Self {
        todo!()
    }

    /// A segment has arrived. Data are stored until they are read.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        todo!()
    }

    /// The next segment to send now, until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        todo!()
    }

    /// When `handle_timeout` wants to be called next; [`Time::NEVER`] for not at all.
    pub fn poll_timeout(&self) -> Time {
        todo!()
    }

    /// Fires the timers due by `now`; none may be, and calling too early does no harm.
    pub fn handle_timeout(&mut self, now: Time) {
        todo!()
    }

    /// The next thing worth knowing, until `None`. Empty at nearly every call.
    pub fn poll_event(&mut self) -> Option<Event> {
        todo!()
    }

    /// The application hands over up to `bytes`; returns how many fit into the send buffer.
    pub fn write(&mut self, bytes: u64) -> u64 {
        todo!()
    }

    /// The application takes up to `bytes` that are in order; returns how many there were.
    pub fn read(&mut self, now: Time, bytes: u64) -> u64 {
        todo!()
    }

    /// Bytes in order and not yet read.
    pub fn readable(&self) -> u64 {
        todo!()
    }

    /// No more writes: a FIN follows what has been written.
    pub fn close(&mut self) {
        todo!()
    }

    /// Sends a reset and forgets everything.
    pub fn abort(&mut self) {
        todo!()
    }

    pub fn state(&self) -> State {
        todo!()
    }

    /// First unacknowledged position.
    pub fn snd_una(&self) -> u64 {
        todo!()
    }

    /// Position after the last byte ever sent.
    pub fn snd_max(&self) -> u64 {
        todo!()
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        todo!()
    }

    /// `snd_max − snd_una`.
    pub fn flight_size(&self) -> u64 {
        todo!()
    }

    pub fn cwnd(&self) -> u64 {
        todo!()
    }

    pub fn ssthresh(&self) -> u64 {
        todo!()
    }

    /// The peer's window, in bytes.
    pub fn snd_wnd(&self) -> u64 {
        todo!()
    }

    pub fn srtt(&self) -> Option<Duration> {
        todo!()
    }

    pub fn rttvar(&self) -> Option<Duration> {
        todo!()
    }

    /// The timeout in force, backoff included.
    pub fn rto(&self) -> Duration {
        todo!()
    }

    pub fn backoff(&self) -> u32 {
        todo!()
    }

    pub fn in_recovery(&self) -> bool {
        todo!()
    }

    /// Position of the next byte that the receiving side expects (RCV.NXT).
    pub fn rcv_nxt(&self) -> u64 {
        todo!()
    }

    /// True when every position from `from` up to `to` has arrived here, in order or not.
    pub fn has_received(&self, from: u64, to: u64) -> bool {
        todo!()
    }
}
