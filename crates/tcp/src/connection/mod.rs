//! One endpoint of a TCP connection.
//!
//! Internally both directions are counted in unwrapped positions: SYN 0, first byte of data 1, FIN
//! after the last. 32-bit sequence numbers exist only in segments.

mod abort;
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
mod prefetch;
mod receive;
mod recover;
mod reduction;
mod repair;
mod repeat;
mod requests;
mod retransmit;
mod rtt;
mod sender;
mod syn;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod timeout;
mod transmit;
mod unacceptable;
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
use fast_path::Sending;
pub use fast_path::Train;
pub use info::{Info, LossState};
pub use limit::Limit;
pub use outgoing::{PlainTransmit, Polled, Transmit};
use parameters::Parameters;
pub use parameters::SharedConfig;
use receive::Receiver;
pub use requests::KeepAlive;
use retx_units::{Duration, SeqNr, Time};
use retx_wire::Segment;
use sender::Sender;
use std::mem::offset_of;
use std::sync::Arc;
pub use validation::CwndValidation;

/// Connection states of RFC 9293 §3.3.2.
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

/// Event reported to the driver of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    /// The peer has closed its sending direction; data that it sent before can still be read.
    PeerClosed,
    /// Both directions are closed, and the peer has acknowledged our FIN (TIME-WAIT counts as
    /// closed).
    Closed,
    /// The connection was reset by the peer, or aborted.
    Reset,
    /// A loss was detected by duplicate ACKs.
    LossFound(Episode),
    /// The retransmission timer expired.
    TimedOut(Episode),
    /// The recovery from the last loss event is over: fast recovery has ended, or everything sent
    /// before a timeout is acknowledged.
    Recovered {
        /// Congestion window, bytes.
        cwnd: u64,
    },
    /// The congestion window before the last reduction has been restored, because nothing had been
    /// lost.
    Undone,
    /// ECN-Echo has reduced the congestion window (RFC 3168 §6.1.2).
    EchoTaken {
        /// Congestion window before the reduction, bytes.
        cwnd_before: u64,
        /// Congestion window after the reduction, bytes.
        cwnd_after: u64,
    },
    /// A raw RTT sample.
    Rtt(Duration),
    /// RTT sample that Linux takes from a timestamp echo if no segment gives a sample. The sample
    /// is the time since the echoed segment was sent. After an outage it therefore includes the
    /// wait for the retransmission.
    EchoedRtt(Duration),
}

/// Start of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Episode {
    /// Position of the segment that is retransmitted first.
    pub trigger: u64,
    /// True if that segment has been retransmitted already, by the tail loss probe that found the
    /// loss.
    pub repaired: bool,
    /// Cause that the sender inferred.
    pub inferred_cause: Cause,
    /// Congestion window before the reaction, bytes.
    pub cwnd_before: u64,
    /// Congestion window after the reaction, without the inflation of fast recovery, bytes.
    pub cwnd_after: u64,
    /// Retransmission timeout in force, backoff included.
    pub rto: Duration,
    /// Number of doublings that `rto` contains.
    pub backoff: u32,
    /// True if the episode concerns the same window of data as an earlier recovery; an undo then
    /// restores the window before that recovery.
    pub same_window_of_data: bool,
    /// True if the timer that expired had been started before the last partial ACK, which did not
    /// restart the timer (RFC 6582 §4). The timer then limited the duration of the recovery, not
    /// the time until the acknowledgment of a segment.
    pub stale_timer: bool,
}

/// Endpoint of a TCP connection, without a clock and without I/O.
///
/// With many flows, a connection is in no cache when a segment arrives. The fields that each
/// segment needs are therefore adjacent: the receiver's last cache line, the following one, and the
/// sender's first lines.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Connection {
    /// Reset or challenge ACK to send before anything else.
    reply: Option<Box<Segment>>,
    receiver: Receiver,
    state: State,
    /// True if both ends offered timestamps.
    timestamps: bool,
    /// Fast paths that are open.
    fast_paths: fast_path::FastPaths,
    parameters: Arc<Parameters>,
    timers: Timers,
    events: Events,
    sender: Sender,
    ecn: ecn::EcnState,
}

// A run may have a hundred thousand flows with two connections each, so a connection must be small.
const _: () = {
    const LINE: usize = 64;
    assert!(size_of::<Connection>() <= 10 * LINE);
    assert!(offset_of!(Connection, receiver.rcv_nxt).is_multiple_of(LINE));
    assert!(offset_of!(Connection, sender).is_multiple_of(LINE));
};

impl Connection {
    /// Creates an active endpoint, which sends a SYN when first polled.
    pub fn connect(config: &Config, initial_sequence: SeqNr) -> Self {
        Self::connect_as(&config.into(), initial_sequence)
    }

    /// Creates a passive endpoint, which waits for a SYN.
    pub fn listen(config: &Config, initial_sequence: SeqNr) -> Self {
        Self::listen_as(&config.into(), initial_sequence)
    }

    /// Like [`Self::connect`], with a configuration shared by many connections.
    pub fn connect_as(shared: &SharedConfig, initial_sequence: SeqNr) -> Self {
        Self::new(shared, initial_sequence, State::SynSent)
    }

    /// Like [`Self::listen`], with a configuration shared by many connections.
    pub fn listen_as(shared: &SharedConfig, initial_sequence: SeqNr) -> Self {
        Self::new(shared, initial_sequence, State::Listen)
    }

    fn new(shared: &SharedConfig, initial_sequence: SeqNr, state: State) -> Self {
        let config = shared.config();
        let sender = Sender::new(config, initial_sequence);
        let ecn = ecn::EcnMode::from_config(config, &sender.congestion_control);
        Self {
            state,
            sender,
            receiver: Receiver::new(config),
            timers: Timers::ALL_OFF,
            parameters: shared.parameters(),
            timestamps: false,
            ecn: ecn::EcnState::new(ecn),
            fast_paths: fast_path::FastPaths::default(),
            reply: None,
            events: Events::NONE,
        }
    }

    /// Removes and returns the next event.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Time of the next call of `handle_timeout`; [`Time::NEVER`] if none is needed.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        if let Some(usual) = self.next_usual_timer() {
            return usual;
        }
        if self.fast_paths.sending == Sending::Detailed {
            return self.timers.next_deadline_detailed();
        }
        self.next_timer()
    }

    // Not inlined, so that the loop of the caller stays small.
    #[inline(never)]
    fn next_timer(&self) -> Time {
        self.timers.next()
    }

    /// True if [`Self::poll_event`] has an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Closes the sending direction: a FIN follows the data written (RFC 9293 §3.10.4). An endpoint
    /// that is not synchronised yet closes at once.
    pub fn close(&mut self) {
        match self.state {
            State::Closed | State::Listen | State::SynSent => self.enter_closed(Event::Closed),
            // The handshake continues, and the FIN waits for it.
            _ => {
                self.send_ack_first();
                self.sender.fin_queued = true;
            }
        }
        self.recompute_fast_paths();
    }

    /// Detaches the application, which has read all data and will read no more: new data that
    /// arrive from now on are lost, and the peer gets a reset (RFC 9293 §3.6.1, SHLD-3).
    pub fn detach(&mut self) {
        self.receiver.detached = true;
        self.recompute_fast_paths();
    }

    /// Sends a reset and discards the connection (RFC 9293 §3.10.5).
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
            self.timers = Timers::ALL_OFF;
            self.receiver.ack_now = false;
            self.events.push_back(event);
            self.recompute_fast_paths();
        }
    }

    /// True while the peer may still send data.
    fn receives_data(&self) -> bool {
        matches!(self.state, State::Established | State::FinWait1 | State::FinWait2)
    }
}

/// Accessors.
impl Connection {
    /// State of RFC 9293.
    pub fn state(&self) -> State {
        self.state
    }

    /// Sequence number of position 0, the SYN (`ISS`).
    pub fn initial_sequence(&self) -> SeqNr {
        self.sender.iss
    }

    /// First unacknowledged position (`SND.UNA`).
    pub fn snd_una(&self) -> u64 {
        self.sender.snd_una
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

    /// Congestion window, slow start threshold and SMSS, in bytes.
    pub fn window(&self) -> &Window {
        &self.sender.window
    }

    /// Congestion window in bytes, with the inflation of fast recovery.
    pub fn cwnd(&self) -> u64 {
        self.sender.window.cwnd
    }

    /// Slow start threshold in bytes.
    pub fn ssthresh(&self) -> u64 {
        self.sender.window.ssthresh
    }

    /// Window advertised by the peer, in bytes (`SND.WND`).
    pub fn snd_wnd(&self) -> u64 {
        self.sender.snd_wnd
    }

    /// Smoothed RTT; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.sender.estimator.srtt()
    }

    /// RTT variation; `None` before the first sample.
    pub fn rttvar(&self) -> Option<Duration> {
        self.sender.estimator.rttvar()
    }

    /// Retransmission timeout in force, backoff included.
    #[inline(never)]
    pub fn rto(&self) -> Duration {
        self.sender.rto(self.parameters.max_rto)
    }

    /// Number of doublings of the timeout in force (backoff).
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

    /// Window most recently advertised, in bytes (`RCV.WND`).
    pub fn rcv_wnd(&self) -> u64 {
        self.receiver.right_edge.saturating_sub(self.receiver.rcv_nxt)
    }

    /// True if every position from `from` up to `to` has arrived, in order or not.
    pub fn has_received(&self, from: u64, to: u64) -> bool {
        self.receiver.has_received(from, to)
    }

    /// First range between `from` and `to` that has not arrived.
    pub fn first_missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let receiver = &self.receiver;
        receiver.out_of_order.first_gap(from.max(receiver.rcv_nxt), to)
    }
}
