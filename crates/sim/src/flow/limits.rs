//! Limits of a flow: what keeps its sender from sending more, determined whenever it has sent all
//! that it may send.
//!
//! The sender's connection knows which of its windows is full; this module adds information that a
//! connection does not have: whether the application has more to write, whether the data in flight
//! keep the bottleneck busy, and whether the peer delays the acknowledgment of all data sent.

use super::{Flow, Phase, RECEIVER, SENDER};
use crate::path::PathProduct;
use retx_record::flow::FlowLimit;
use retx_tcp::{Connection, Limit};
use retx_units::Time;

/// Load of the bottleneck by the data in flight.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// True if the data of this flow alone keep it busy.
    by_itself: bool,
    /// True if the data of all flows over the bottleneck together keep it busy.
    with_others: bool,
}

impl Flow {
    /// Sets the bandwidth-delay product of the path.
    pub fn set_path(&mut self, path: Option<Box<PathProduct>>) {
        self.path = path;
    }

    /// Bandwidth-delay product of the path, if defined.
    pub fn path_mut(&mut self) -> Option<&mut PathProduct> {
        self.path.as_deref_mut()
    }

    /// Records why the sender cannot send more now. `in_flight` holds, for each pipe that is a
    /// bottleneck, the bytes in flight over it.
    #[inline(always)]
    pub fn note_limit(&mut self, now: Time, in_flight: &mut [u64]) {
        if self.keeps_limit(now, in_flight) {
            debug_assert_eq!(self.record.limit(), self.find_limit(now, in_flight));
        } else {
            self.note_new_limit(now, in_flight);
        }
    }

    /// True if the limit is evidently the same as before: a full segment still waits for the
    /// bottleneck, or for a window. Most calls end here.
    #[inline(always)]
    fn keeps_limit(&mut self, now: Time, in_flight: &mut [u64]) -> bool {
        let sender = &self.ends[SENDER];
        let is_simple = sender.sends_new_data() && sender.has_full_segment();
        let path = self.path.as_deref_mut().filter(|path| is_simple && now < path.simple_until);
        let Some(path) = path else { return false };
        let flight = sender.flight_size();
        let all = if path.is_shared { path.add_up(flight, in_flight) } else { flight };
        let fits_peer_window = sender.fits_peer_window(flight);
        match self.record.limit() {
            FlowLimit::Bottleneck => path.is_busy(all) && (!path.is_shared || fits_peer_window),
            FlowLimit::SlowStart | FlowLimit::Window(_) => {
                !path.is_busy(all) && fits_peer_window && !sender.fits_cwnd(flight)
            }
            FlowLimit::ReceiveWindow => !path.is_busy(flight) && !fits_peer_window,
            _ => false,
        }
    }

    /// Determines and records the limit.
    #[inline(never)]
    fn note_new_limit(&mut self, now: Time, in_flight: &mut [u64]) {
        if self.phase != Phase::Open {
            self.record.limited_by(now, FlowLimit::Application);
            return;
        }
        let load = load(self.path.as_deref_mut(), now, &self.ends[SENDER], in_flight);
        if self.keeps_limit_of_recovery(load) {
            debug_assert_eq!(self.record.limit(), self.limit(now, load));
        } else {
            self.record.limited_by(now, self.limit(now, load));
        }
    }

    /// Limit, determined in full.
    fn find_limit(&mut self, now: Time, in_flight: &mut [u64]) -> FlowLimit {
        let load = load(self.path.as_deref_mut(), now, &self.ends[SENDER], in_flight);
        self.limit(now, load)
    }

    /// Like [`Self::keeps_limit`], for a recovery: a full segment that has room in the peer's
    /// window waits for the bottleneck, or for the congestion window of this recovery.
    fn keeps_limit_of_recovery(&self, load: Load) -> bool {
        let sender = &self.ends[SENDER];
        let waits = sender.is_established()
            && sender.has_full_segment()
            && sender.fits_peer_window(sender.flight_size());
        waits
            && match self.record.limit() {
                FlowLimit::Bottleneck => load.with_others,
                FlowLimit::Recovery(_) => !load.with_others && sender.recovers_unpaced(),
                _ => false,
            }
    }

    fn limit(&self, now: Time, load: Load) -> FlowLimit {
        let limits = &self.record.counters.limited_by;
        match self.ends[SENDER].limit(now) {
            Limit::Handshake if self.is_asked_next() => FlowLimit::Application,
            Limit::Handshake => FlowLimit::Handshake,
            Limit::Nagle if !self.app.has_more() => FlowLimit::Nagle,
            Limit::Data if !self.app.has_more() => FlowLimit::Application,
            Limit::Data | Limit::Nagle | Limit::ReceiveWindow if load.by_itself => {
                FlowLimit::Bottleneck
            }
            // The application has more data, but the full send buffer does not accept them.
            Limit::Data | Limit::Nagle => FlowLimit::SendBuffer,
            Limit::ReceiveWindow => FlowLimit::ReceiveWindow,
            _ if load.with_others => FlowLimit::Bottleneck,
            Limit::CongestionWindow | Limit::Deferral => limits.window(),
            Limit::Recovery => limits.recovery(),
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
            self.record.limited_by(now, FlowLimit::Application);
        }
    }

    /// Records that the receiver sends an acknowledgment.
    #[inline(always)]
    pub(super) fn note_ack_sent(&mut self, now: Time) {
        let [sender, receiver] = &self.ends;
        let acked = receiver.last_ack_sent();
        self.record.note_ack_sent(now, acked, || [sender.snd_una(), sender.snd_max()]);
        if let Some(path) = &mut self.path {
            path.note_ack_sent(now, acked);
        }
    }
}

fn load(
    path: Option<&mut PathProduct>,
    now: Time,
    sender: &Connection,
    in_flight: &mut [u64],
) -> Load {
    let flight = sender.pipe();
    let Some(path) = path else {
        let waits = sender.waits_in_queues();
        return Load { by_itself: waits, with_others: waits };
    };
    path.ack_has_come(now, || sender.snd_una());
    let by_itself = path.is_filled(now, flight);
    if !path.is_shared {
        return Load { by_itself, with_others: by_itself };
    }
    let all = path.add_up(flight, in_flight);
    Load { by_itself, with_others: path.is_filled(now, all) }
}
