//! Limits of a flow: the reason why its sender sends no more, determined whenever the sender has
//! sent all that it may send.
//!
//! The sender's connection knows which of its windows is full. This module adds information that a
//! connection does not have:
//! - whether the application has more to write,
//! - whether the data in flight keep the bottleneck busy,
//! - whether the peer delays the acknowledgment of all data sent.

use super::{Flow, Phase, RECEIVER, SENDER};
use crate::path::{BandwidthDelayProduct, FlightContribution};
use retx_record::flow::FlowLimit;
use retx_tcp::Limit;
use retx_units::Time;

/// Load of the bottleneck by the data in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct BottleneckLoad {
    /// True if the data of this flow alone keep the bottleneck busy.
    pub filled_alone: bool,
    /// True if the data of all flows over the bottleneck together keep it busy.
    pub filled_with_others: bool,
}

impl Flow {
    /// Sets the bandwidth-delay product of the path.
    pub fn set_path(&mut self, path: Option<Box<BandwidthDelayProduct>>) {
        self.path = path;
    }

    /// Notes whether other flows use the bottleneck, once all paths are known.
    pub fn note_bottleneck_sharing(&mut self) {
        self.share = self.path.as_ref().map_or(FlightContribution::NONE, |path| path.contribution);
    }

    /// Bandwidth-delay product of the path, if defined.
    pub fn path_mut(&mut self) -> Option<&mut BandwidthDelayProduct> {
        self.path.as_deref_mut()
    }

    /// Records why the sender cannot send more now. `in_flight` holds, for each pipe that is a
    /// bottleneck, the bytes in flight over it.
    pub fn note_limit(&mut self, now: Time, in_flight: &mut [u64]) {
        let limit = self.find_limit(now, in_flight);
        self.record.set_limit(now, limit);
    }

    fn find_limit(&mut self, now: Time, in_flight: &mut [u64]) -> FlowLimit {
        if self.phase != Phase::Open {
            return FlowLimit::Application;
        }
        let load = self.load(now, in_flight);
        self.limit(now, load)
    }

    pub(super) fn limit(&self, now: Time, load: BottleneckLoad) -> FlowLimit {
        let limits = &self.record.counters.limited_by;
        match self.ends[SENDER].limit(now) {
            Limit::Handshake if self.is_asked_next() => FlowLimit::Application,
            Limit::Handshake => FlowLimit::Handshake,
            Limit::Nagle if !self.app.has_more() => FlowLimit::Nagle,
            Limit::Data if !self.app.has_more() => FlowLimit::Application,
            Limit::Data | Limit::Nagle | Limit::ReceiveWindow if load.filled_alone => {
                FlowLimit::Bottleneck
            }
            // The application has more data, but the full send buffer does not accept them.
            Limit::Data | Limit::Nagle => FlowLimit::SendBuffer,
            Limit::ReceiveWindow => FlowLimit::ReceiveWindow,
            _ if load.filled_with_others => FlowLimit::Bottleneck,
            Limit::CongestionWindow | Limit::Deferral => limits.window_limit(),
            Limit::Recovery => limits.recovery_limit(),
            Limit::Pacing => FlowLimit::Pacing,
        }
    }

    /// True if the sender waits for the client's first request, which is on its way: the handshake
    /// is complete at the client, though not yet at the sender. This time counts as a limit by the
    /// application, because the sender would wait just as long on an open connection.
    fn is_asked_next(&self) -> bool {
        self.exchanges.is_some() && self.ends[RECEIVER].is_established()
    }

    /// Records that the client is connected: the sender now waits for its first request.
    pub(super) fn note_client_connected(&mut self, now: Time) {
        if self.is_asked_next() && self.ends[SENDER].limit(now) == Limit::Handshake {
            self.record.set_limit(now, FlowLimit::Application);
        }
    }

    /// True if acknowledgments wait in queues behind data of other flows.
    pub fn has_waiting_acks(&self) -> bool {
        self.path.as_ref().is_some_and(|path| path.is_delaying_acks())
    }

    /// Position that the receiver has acknowledged last.
    pub fn last_ack_sent(&self) -> u64 {
        self.ends[RECEIVER].last_ack_sent()
    }

    /// Handles a transmission by the receiver that was not triggered by the arrival of a segment.
    /// `before` is the highest position acknowledged until then. If the receiver now acknowledges
    /// more, it had delayed this acknowledgment.
    pub fn note_delayed_ack(&mut self, now: Time, before: u64) {
        let [sender, receiver] = &self.ends;
        let acked = receiver.last_ack_sent();
        self.record.note_delayed_ack(now, before..acked, [sender.snd_una(), sender.snd_max()]);
    }

    /// Handles the expiry of a sender's timer: if the receiver is still delaying the acknowledgment
    /// of all data, the timer ends this delay, because the receiver acknowledges a needless
    /// retransmission at once.
    pub(super) fn note_pending_ack(&mut self, now: Time) {
        let [sender, receiver] = &self.ends;
        if !sender.only_opens_gate(now) {
            let pending = receiver.last_ack_sent()..receiver.rcv_nxt();
            self.record.note_delayed_ack(now, pending, [sender.snd_una(), sender.snd_max()]);
        }
    }

    /// Records that the receiver sends an acknowledgment, for a path on which acknowledgments wait.
    #[inline]
    pub(super) fn note_ack_wait(&mut self, now: Time) {
        if let Some(path) = &mut self.path {
            path.note_ack_sent(now, self.ends[RECEIVER].last_ack_sent());
        }
    }

    pub(super) fn load(&mut self, now: Time, in_flight: &mut [u64]) -> BottleneckLoad {
        let sender = &self.ends[SENDER];
        let flight = sender.pipe();
        let Some(path) = self.path.as_deref_mut() else {
            let waits = sender.waits_in_queues();
            return BottleneckLoad { filled_alone: waits, filled_with_others: waits };
        };
        path.ack_arrived(now, || sender.snd_una());
        let by_itself = path.is_filled(now, flight);
        let all = self.share.update_in_flight(flight, in_flight);
        let with_others = all.map_or(by_itself, |all| path.is_filled(now, all));
        BottleneckLoad { filled_alone: by_itself, filled_with_others: with_others }
    }
}
