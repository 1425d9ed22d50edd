//! Determines which limit keeps the kernel's sender of an observed flow from sending more.
//!
//! *Rule.* The rule of a simulation (`docs/decisions/0018-what-limits-a-flow.md`), applied to
//! `TCP_INFO`. The socket is queried after each acknowledgment that the kernel has processed. If
//! something other than an acknowledgment can end the limit (a write of the application, a pacing
//! timer), the socket is also queried after each segment. It is queried after each retransmission,
//! since a timer may have caused it: a timeout reduces the data in flight that kept the bottleneck
//! busy.
//!
//! *Limitation.* The amount of data that a program has not written yet may be unknown. A server of
//! requests therefore counts as limited by its application while nothing waits in its socket.

use crate::socket_state::{LossState, SocketState};
use retx_record::flow::{FlowLimit, FlowRecord};
use retx_sim::Transmission;
use retx_sim::path::BandwidthDelayProduct;
use retx_sim::plan::{AppPlan, CopyOnWrite};
use retx_units::{Duration, Time};

/// An acknowledgment that is sent within this time after the data is not a delayed ACK, because
/// Linux delays an ACK by at least one tick.
const PROMPT: Duration = Duration::from_millis(1);

/// State of a flow from which the limit of its sender is determined.
#[derive(Debug)]
pub struct Limiter {
    app: CopyOnWrite<AppPlan>,
    /// Bandwidth-delay product of the path, if defined.
    path: Option<Box<BandwidthDelayProduct>>,
    /// True if the sender paces its segments.
    paces: bool,
    /// Number, from 0, of the file that the flow is transferring.
    file: u32,
    /// Time at which the last segment reached the receiver.
    on_arrived: Time,
    /// Position that the receiver has acknowledged last.
    last_ack_sent: u64,
    /// True if the client is connected, and the sender waits for the first request.
    client_asks: bool,
}

/// Load that the data in flight put on a bottleneck.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// True if this flow alone keeps the bottleneck busy.
    by_itself: bool,
    /// True if all flows over the bottleneck together keep it busy.
    with_others: bool,
}

/// State of a sender at one time.
#[derive(Debug, Clone, Copy)]
pub struct SenderSnapshot<'s> {
    /// Current time.
    pub now: Time,
    /// State of the socket.
    pub state: &'s SocketState,
    /// Bytes sent and not acknowledged cumulatively.
    pub flight_size: u64,
    /// First unacknowledged position.
    pub snd_una: u64,
}

impl Limiter {
    /// Creates the state of a flow that has not begun.
    pub fn new(
        work: CopyOnWrite<AppPlan>,
        path: Option<Box<BandwidthDelayProduct>>,
        tcp: &retx_tcp::Config,
    ) -> Self {
        Self {
            app: work,
            path,
            paces: tcp.paces(),
            file: 0,
            on_arrived: Time::ZERO,
            last_ack_sent: 0,
            client_asks: false,
        }
    }

    /// Bandwidth-delay product of the path, if defined.
    pub fn path_mut(&mut self) -> Option<&mut BandwidthDelayProduct> {
        self.path.as_deref_mut()
    }

    /// Handles the opening of a connection; `number` counts from 1.
    pub fn begin_connection(&mut self, number: u32) {
        self.file = number.saturating_sub(1);
        (self.on_arrived, self.last_ack_sent, self.client_asks) = (Time::ZERO, 0, false);
        if let Some(path) = &mut self.path {
            path.begin_connection();
        }
    }

    /// Position after the flow's last byte; `None` if another connection sends it, or if it is
    /// unknown.
    pub fn end_of_flow(&self) -> Option<u64> {
        let bytes = self.app.file_bytes(self.file).filter(|bytes| *bytes > 0)?;
        self.app.file_bytes(self.file + 1).is_none().then(|| bytes.saturating_add(1))
    }

    /// Records the limit now in force. `in_flight` contains the bytes in flight over each
    /// bottleneck.
    pub fn record_limit(
        &mut self,
        snapshot: &SenderSnapshot<'_>,
        in_flight: &mut [u64],
        record: &mut FlowRecord,
    ) {
        if !snapshot.state.is_closed() {
            let limit = self.limit(snapshot, in_flight, record);
            record.set_limit(snapshot.now, limit);
        }
    }

    /// Handles the end of the handshake at a receiver that opened the connection. The sender then
    /// waits for a request, so its limit is the application, as on a connection that was already
    /// open.
    pub fn on_client_connected(&mut self, now: Time, record: &mut FlowRecord) {
        if self.app.sends_requests() && !self.client_asks {
            self.client_asks = true;
            if record.counters.limited_by.limit() == FlowLimit::Handshake {
                record.set_limit(now, FlowLimit::Application);
            }
        }
    }

    /// Handles the arrival of a segment.
    pub fn on_arrived(&mut self, now: Time, record: &mut FlowRecord) {
        self.on_arrived = now;
        record.note_arrival(now);
    }

    /// Handles an acknowledgment of everything before `acked`, sent by the receiver. At this time
    /// the sender has received the acknowledgment of everything before `snd_una`, and has sent
    /// everything before `snd_max`.
    pub fn on_ack_sent(
        &mut self,
        now: Time,
        acked: u64,
        sender: [u64; 2],
        record: &mut FlowRecord,
    ) {
        if let Some(path) = &mut self.path {
            path.note_ack_sent(now, acked);
        }
        let before = std::mem::replace(&mut self.last_ack_sent, acked);
        if now.since(self.on_arrived) > PROMPT {
            record.note_delayed_ack(now, before..acked, sender);
        }
    }

    /// True if the limit may have changed without an acknowledgment when a segment is sent.
    pub fn may_end_at(&self, limit: FlowLimit, transmission: Transmission) -> bool {
        // A sender that paces sends its last data at any time, and then waits for its application.
        self.paces || transmission != Transmission::First || ends_without_ack(limit)
    }

    fn limit(
        &mut self,
        snapshot: &SenderSnapshot<'_>,
        in_flight: &mut [u64],
        record: &FlowRecord,
    ) -> FlowLimit {
        let state = snapshot.state;
        if state.in_handshake() {
            return if self.client_asks { FlowLimit::Application } else { FlowLimit::Handshake };
        }
        let load = self.load(snapshot, in_flight);
        let limits = &record.counters.limited_by;
        let recovers = state.loss_state == LossState::Recovery;
        let repairs = if recovers { limits.recovery_limit() } else { limits.window_limit() };
        // A window that keeps the bottleneck busy does not limit the flow, whatever its size.
        let filled = |limit| if load.with_others { FlowLimit::Bottleneck } else { limit };
        // No data wait in the socket, so no window is the limit.
        if state.notsent_bytes == 0 {
            return if state.is_recovering() {
                filled(repairs)
            } else if !self.has_more(state) {
                FlowLimit::Application
            } else if load.by_itself {
                FlowLimit::Bottleneck
            } else {
                FlowLimit::SendBuffer
            };
        }
        let needed = state.notsent_bytes.min(state.mss);
        let has_room = state.pipe_segments < state.cwnd;
        // Lost segments lie within the window that the peer has offered, so only the congestion
        // window can delay their retransmission.
        let waits_to_repair = state.lost_segments > 0 && !has_room;
        let offered = state.snd_wnd.unwrap_or(u64::MAX).saturating_sub(snapshot.flight_size);
        if offered < needed && !waits_to_repair {
            return if load.by_itself { FlowLimit::Bottleneck } else { FlowLimit::ReceiveWindow };
        }
        if !has_room {
            filled(repairs)
        } else if self.paces {
            filled(FlowLimit::Pacing)
        } else if recovers {
            filled(repairs)
        } else if state.notsent_bytes < state.mss {
            if !self.has_more(state) {
                FlowLimit::Nagle
            } else if load.by_itself {
                FlowLimit::Bottleneck
            } else {
                FlowLimit::SendBuffer
            }
        } else {
            filled(limits.window_limit())
        }
    }

    /// True if the application has data that are not in the socket yet.
    fn has_more(&self, state: &SocketState) -> bool {
        let whole = self.app.file_bytes(self.file).unwrap_or(0);
        state.unique_bytes_sent + state.notsent_bytes < whole
    }

    fn load(&mut self, snapshot: &SenderSnapshot<'_>, in_flight: &mut [u64]) -> Load {
        let state = snapshot.state;
        let Some(path) = self.path.as_deref_mut() else {
            // `Connection::waits_in_queues` is the same condition for a simulated sender.
            let waits = state.srtt.zip(state.min_rtt).is_some_and(|(srtt, least)| {
                // True if the SRTT is at least 1.5 times the minimum RTT, in integer arithmetic.
                srtt.as_nanos() / 3 >= least.as_nanos() / 2 && least > Duration::ZERO
            });
            return Load { by_itself: waits, with_others: waits };
        };
        path.ack_arrived(snapshot.now, || snapshot.snd_una);
        let flight = state.pipe_segments * state.mss;
        let by_itself = path.is_filled(snapshot.now, flight);
        let all = path.contribution.update_in_flight(flight, in_flight);
        let with_others = all.map_or(by_itself, |all| path.is_filled(snapshot.now, all));
        Load { by_itself, with_others }
    }
}

/// True if something other than an acknowledgment can end this limit.
const fn ends_without_ack(limit: FlowLimit) -> bool {
    use FlowLimit::{Application, Handshake, Nagle, Pacing, SendBuffer};
    matches!(limit, Handshake | Application | SendBuffer | Nagle | Pacing)
}
