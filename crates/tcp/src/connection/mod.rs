//! One end of a TCP connection.
//!
//! Inside, both directions are counted in unwrapped positions: SYN 0, first byte of data 1, FIN
//! after the last. 32-bit numbers exist only in segments.

mod acknowledge;
mod arrive;
mod buffer;
#[cfg(test)]
mod cost;
mod deferral;
mod delivery;
mod ecn;
mod events;
mod fast_path;
mod header;
mod info;
mod limit;
mod linux;
mod model;
mod mtu_probe;
mod outgoing;
mod pacing;
mod parameters;
mod patience;
mod prefetch;
mod receive;
mod recover;
mod reduction;
mod repair;
mod requests;
mod retransmit;
mod rtt;
mod sender;
mod syn;
mod timeout;
mod transmit;
mod undo;
mod usage;
mod validation;

use crate::backoff::Backoff;
use crate::loss_cause::Cause;
use crate::loss_detection::LossDetection;
use crate::rto::Estimator;
use crate::timers::Timers;
use crate::{Config, congestion_control::Window};
use events::Events;
pub use info::{Info, LossState};
pub use limit::Limit;
pub use outgoing::{PlainTransmit, Polled, Transmit};
use parameters::Parameters;
pub use parameters::Prepared;
use receive::Receiver;
pub use requests::KeepAlive;
use retx_units::{Duration, SeqNr, Time};
use retx_wire::Segment;
use sender::Sender;
use std::mem::offset_of;
use std::sync::Arc;
pub use validation::CwndValidation;

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

/// Something that whoever drives the connection may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The peer has closed its direction; what it sent before can be read.
    PeerClosed,
    /// Both directions are closed, and the peer knows of it (TIME-WAIT counts as closed).
    Closed,
    /// The connection was reset, by the peer or by giving up.
    Reset,
    /// Duplicate ACKs found a loss.
    LossFound(Episode),
    /// The retransmission timer expired.
    TimedOut(Episode),
    /// What the last loss event began is over: fast recovery has ended, or everything sent before
    /// a timeout is acknowledged.
    Recovered {
        /// `cwnd` in bytes.
        cwnd: u64,
    },
    /// An echo of a mark has reduced the window (RFC 3168 §6.1.2).
    EchoTaken {
        /// `cwnd` before, in bytes.
        cwnd_before: u64,
        /// `cwnd` after, in bytes.
        cwnd_after: u64,
    },
    /// A raw RTT sample.
    Rtt(Duration),
    /// An RTT sample that Linux takes from a timestamp echo where no segment gives one. It counts
    /// from the segment that is echoed: after an outage, the wait for the retransmission as well.
    EchoedRtt(Duration),
}

/// The beginning of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// Position of the segment that is retransmitted first.
    pub trigger: u64,
    /// It has been, by the tail loss probe that found the loss.
    pub repaired: bool,
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
///
/// Where it lies is where its flow was left when it was last looked at, which is in no cache. So
/// what each segment needs lies together: the receiver's last line, the next, and the sender's
/// first lines.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Connection {
    /// A reset or a challenge to send before anything else.
    reply: Option<Box<Segment>>,
    receiver: Receiver,
    state: State,
    /// Both ends offered timestamps.
    timestamps: bool,
    /// Whether the short ways are open.
    course: fast_path::Course,
    parameters: Arc<Parameters>,
    timers: Timers,
    events: Events,
    sender: Sender,
    ecn: ecn::Notification,
}

// A flow keeps two, and there may be a hundred thousand flows.
const _: () = {
    const LINE: usize = 64;
    assert!(size_of::<Connection>() <= 10 * LINE);
    assert!(offset_of!(Connection, receiver.rcv_nxt).is_multiple_of(LINE));
    assert!(offset_of!(Connection, sender).is_multiple_of(LINE));
};

impl Connection {
    /// An end that opens: it sends a SYN when first polled.
    pub fn connect(config: &Config, initial_sequence: SeqNr) -> Self {
        Self::connect_as(&config.into(), initial_sequence)
    }

    /// An end that waits for a SYN.
    pub fn listen(config: &Config, initial_sequence: SeqNr) -> Self {
        Self::listen_as(&config.into(), initial_sequence)
    }

    /// As [`Self::connect`], by a configuration that many connections share.
    pub fn connect_as(shared: &Prepared, initial_sequence: SeqNr) -> Self {
        Self::new(shared, initial_sequence, State::SynSent)
    }

    /// As [`Self::listen`], by a configuration that many connections share.
    pub fn listen_as(shared: &Prepared, initial_sequence: SeqNr) -> Self {
        Self::new(shared, initial_sequence, State::Listen)
    }

    fn new(shared: &Prepared, initial_sequence: SeqNr, state: State) -> Self {
        let config = shared.config();
        Self {
            state,
            sender: Sender::new(config, initial_sequence),
            receiver: Receiver::new(config),
            timers: Timers::OFF,
            parameters: shared.parameters(),
            timestamps: false,
            ecn: ecn::Notification::new(config.ecn),
            course: fast_path::Course::default(),
            reply: None,
            events: Events::NONE,
        }
    }

    /// The next thing worth knowing, until `None`.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// When `handle_timeout` wants to be called next; [`Time::NEVER`] for not at all.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        self.next_usual_timer().unwrap_or_else(|| self.next_timer())
    }

    // A call with what the caller has at hand: who asks is in a loop.
    #[inline(never)]
    fn next_timer(&self) -> Time {
        self.timers.next()
    }

    /// True when [`Self::poll_event`] has something.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The application takes up to `bytes` that are in order; returns how many there were. Reading
    /// may open the window again, so poll for a segment afterwards.
    #[inline]
    pub fn read(&mut self, bytes: u64) -> u64 {
        if self.course.receives {
            return self.read_at_once(bytes);
        }
        let read = self.receiver.read(bytes);
        if read > 0 && self.receives_data() {
            self.receiver.update_window_after_read(&self.parameters);
        }
        read
    }

    /// Bytes in order and not yet read.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// No more writes: a FIN follows what has been written (RFC 9293 §3.10.4). An end that is
    /// not yet synchronised just goes away.
    pub fn close(&mut self) {
        match self.state {
            State::Closed | State::Listen | State::SynSent => self.enter_closed(Event::Closed),
            // The handshake goes on, the FIN waits for it.
            _ => self.sender.fin_queued = true,
        }
        self.settle();
    }

    /// Nobody will read any more, and all that came has been read: new data that arrive from now on
    /// are lost, which the peer is told by a reset (RFC 9293 §3.6.1, SHLD-3).
    pub fn detach(&mut self) {
        self.receiver.detached = true;
        self.settle();
    }

    /// Sends a reset and forgets everything (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        use State::{Closed, Closing, LastAck, Listen, SynSent, TimeWait};
        if !matches!(self.state, Closed | Listen | SynSent | Closing | LastAck | TimeWait) {
            self.reply = Some(Box::new(self.reset_segment()));
        }
        self.enter_closed(Event::Reset);
    }

    fn enter_closed(&mut self, event: Event) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.timers = Timers::OFF;
            self.receiver.ack_now = false;
            self.events.push_back(event);
            self.settle();
        }
    }

    /// True while the peer may still send data.
    fn receives_data(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }
}

/// What can be seen of a connection.
impl Connection {
    /// The state of RFC 9293.
    pub fn state(&self) -> State {
        self.state
    }

    /// The number on the wire of position 0, the SYN (`ISS`).
    pub fn initial_sequence(&self) -> SeqNr {
        self.sender.iss
    }

    /// First unacknowledged position (`SND.UNA`).
    pub fn snd_una(&self) -> u64 {
        self.sender.snd_una
    }

    /// Where a segment begins that a tail loss probe has sent again, acknowledged or not, as long
    /// as it may yet turn out that the probe has repaired a loss.
    pub fn open_probe(&self) -> Option<u64> {
        self.sender.loss_detection.open_probe()
    }

    /// Position after the last byte ever sent.
    pub fn snd_max(&self) -> u64 {
        self.sender.snd_max
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.sender.written.saturating_sub(self.sender.snd_una.max(1))
    }

    /// Sequence space in flight: `SND.NXT − SND.UNA`.
    pub fn flight_size(&self) -> u64 {
        self.sender.flight_size()
    }

    /// The window, in bytes.
    pub fn window(&self) -> &Window {
        &self.sender.window
    }

    /// Congestion window in bytes, with what fast recovery adds.
    pub fn cwnd(&self) -> u64 {
        self.sender.window.cwnd
    }

    /// Slow start threshold in bytes.
    pub fn ssthresh(&self) -> u64 {
        self.sender.window.ssthresh
    }

    /// The peer's window in bytes (`SND.WND`).
    pub fn snd_wnd(&self) -> u64 {
        self.sender.snd_wnd
    }

    /// Smoothed RTT, once there was a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.sender.estimator.srtt()
    }

    /// RTT variation, once there was a sample.
    pub fn rttvar(&self) -> Option<Duration> {
        self.sender.estimator.rttvar()
    }

    /// The timeout in force, backoff included.
    #[inline(never)]
    pub fn rto(&self) -> Duration {
        self.sender.rto(self.parameters.max_rto)
    }

    /// Doublings in force.
    pub fn backoff(&self) -> u32 {
        self.sender.backoff.exponent()
    }

    /// True during fast recovery.
    pub fn in_recovery(&self) -> bool {
        self.sender.loss_detection.in_recovery()
    }

    /// Position of the next byte that this end expects (`RCV.NXT`).
    pub fn rcv_nxt(&self) -> u64 {
        self.receiver.rcv_nxt
    }

    /// The window advertised last, in bytes (`RCV.WND`).
    pub fn rcv_wnd(&self) -> u64 {
        self.receiver.edge.saturating_sub(self.receiver.rcv_nxt)
    }

    /// True when every position from `from` up to `to` has arrived here, in order or not.
    pub fn has_received(&self, from: u64, to: u64) -> bool {
        self.receiver.has_received(from, to)
    }

    /// The first stretch from `from` up to `to` that has not arrived here.
    pub fn first_missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let receiver = &self.receiver;
        receiver.out_of_order.first_gap(from.max(receiver.rcv_nxt), to)
    }
}
