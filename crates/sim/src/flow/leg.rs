//! Flow that is a leg of a longer path: at least one of its endpoints is a proxy, which forwards
//! the data ([`crate::proxy`]).

use super::{Context, Flow, Phase, RECEIVER, SENDER};
use crate::plan::Side;
use crate::recorder::Recorder;
use retx_tcp::State;
use retx_units::Time;

/// State of a leg that its proxies need.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leg {
    /// Index of the chain to which the leg belongs.
    chain: u32,
    /// True for each endpoint, data sender and data receiver, that is a proxy.
    at_proxy: [bool; 2],
    /// True if a proxy is the sender; its connections are opened by that proxy.
    opened_by_proxy: bool,
    /// True for each endpoint, data sender and data receiver, whose peer has closed.
    peer_closed: [bool; 2],
    /// True once the proxy has closed its receiving endpoint.
    receiver_closed: bool,
    /// True for each endpoint, data sender and data receiver, that a proxy has reset.
    aborted: [bool; 2],
    /// True if the data of this leg cannot reach the receiver, because the proxy's other connection
    /// has failed.
    doomed: bool,
}

impl Leg {
    /// Records that the peer of this endpoint has closed; true if the endpoint is a proxy, which
    /// then closes later.
    pub const fn note_peer_close(&mut self, side: Side) -> bool {
        self.peer_closed[side as usize] = true;
        self.at_proxy[side as usize]
    }

    /// True if a proxy has reset this endpoint.
    pub const fn is_aborted(&self, side: Side) -> bool {
        self.aborted[side as usize]
    }

    /// True if the data of this leg cannot reach the receiver, because the proxy's other connection
    /// has failed.
    pub const fn data_cannot_arrive(&self) -> bool {
        self.doomed
    }

    /// True if a proxy is the sender; its connections are opened by that proxy.
    pub const fn opened_by_proxy(&self) -> bool {
        self.opened_by_proxy
    }

    /// Resets the state for the next connection.
    pub const fn begin_connection(&mut self) {
        self.peer_closed = [false; 2];
        self.receiver_closed = false;
    }
}

impl Flow {
    /// Makes a proxy the receiver of the flow.
    pub fn end_at_proxy(&mut self) {
        self.app.make_receiver_proxy();
        self.begin_leg(Side::Receiver);
    }

    /// Makes a proxy the sender of the flow.
    pub fn begin_at_proxy(&mut self) {
        self.app.make_sender_proxy();
        self.begin_leg(Side::Sender);
    }

    fn begin_leg(&mut self, side: Side) {
        let leg = self.leg.get_or_insert_default();
        leg.at_proxy[side as usize] = true;
        if side == self.initiator {
            leg.opened_by_proxy = true;
            self.phase = Phase::Waiting;
            self.opens = Time::NEVER;
        }
    }

    /// Records that the peer of this endpoint has closed; true if the endpoint is a proxy, which
    /// then closes later.
    pub(super) fn note_peer_close(&mut self, side: Side) -> bool {
        self.leg.as_mut().is_some_and(|leg| leg.note_peer_close(side))
    }

    fn has_peer_closed(&self, side: usize) -> bool {
        self.leg.as_ref().is_some_and(|leg| leg.peer_closed[side])
    }

    /// Sets a flag; true if it was not set before.
    fn note(&mut self, what: impl Fn(&mut Leg) -> &mut bool) -> bool {
        !std::mem::replace(what(self.leg.get_or_insert_default()), true)
    }

    /// Makes the flow a leg of this chain.
    pub fn join_chain(&mut self, chain: u32) {
        self.leg.get_or_insert_default().chain = chain;
    }

    /// Chain of legs that the flow belongs to, if any.
    pub fn chain(&self) -> Option<u32> {
        self.leg.as_ref().map(|leg| leg.chain)
    }

    /// Endpoint that opens the connections.
    pub const fn initiator(&self) -> Side {
        self.initiator
    }

    /// Number of connections opened.
    pub const fn connections_opened(&self) -> u32 {
        self.connections
    }

    /// True if the flow waits until its next connection is opened.
    pub fn awaits_next_connection(&self) -> bool {
        self.phase == Phase::Waiting
    }

    /// True while a connection is open.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// True if the flow has failed: its connection was reset before its data were read.
    pub fn has_failed(&self) -> bool {
        self.is_done() && self.reset
    }

    /// True once the handshake is complete at this endpoint of the open connection.
    pub fn is_connected_at(&self, side: Side) -> bool {
        let state = self.ends[side as usize].state();
        let before = [State::Listen, State::SynSent, State::SynReceived, State::Closed];
        self.is_open() && !before.contains(&state)
    }

    /// Bytes read by the data receiver on all connections so far.
    pub const fn read_bytes(&self) -> u64 {
        self.record.counters.bytes_delivered
    }

    /// Opens the next connection; called by a proxy.
    pub fn open_now(&mut self, now: Time, context: &Context<'_>) {
        self.open(now, context);
    }

    /// Resets the proxy's endpoint of this connection, because the proxy's other connection has
    /// failed. True if there is a segment to send.
    pub fn reset_with_other_leg(&mut self, now: Time, side: Side) -> bool {
        let leg = self.leg.get_or_insert_default();
        leg.doomed = true;
        if self.awaits_next_connection() {
            self.reset = true;
            self.has_closed = true;
            self.phase = Phase::Done;
            self.record.note_failure(now);
        }
        let news = self.is_open() && self.note(|leg| &mut leg.aborted[side as usize]);
        if news {
            self.ends[side as usize].abort();
        }
        news
    }

    /// Sets the free buffer space of the receiving proxy to `bytes`, and lets the proxy read
    /// waiting data. Returns the number of bytes read.
    pub fn read_into_proxy(&mut self, now: Time, bytes: u64) -> u64 {
        self.app.set_read_limit(bytes);
        let read = self.app.read_from(&mut self.ends[RECEIVER]);
        self.record.counters.bytes_delivered += read;
        if read > 0 && self.app.is_complete() {
            self.record.note_finish(now);
        }
        self.app.set_read_limit(bytes - read);
        read
    }

    /// Gives `bytes` more bytes to the sending proxy, which writes them.
    pub fn supply_proxy(&mut self, now: Time, bytes: u64, recorder: &mut Recorder) {
        self.app.add_supply(bytes);
        self.drive_sender_out_of_line(now, recorder);
    }

    /// True if the data sender has closed and all its data have been read, or if no connection is
    /// open.
    pub fn is_read_to_the_end(&self) -> bool {
        let closed = self.has_peer_closed(RECEIVER) && self.ends[RECEIVER].readable() == 0;
        !self.is_open() || closed
    }

    /// Informs the sending proxy that no more data of this file follow. Returns true at the first
    /// call.
    pub fn end_supply(&mut self, now: Time, recorder: &mut Recorder) -> bool {
        let news = self.app.is_supply_open();
        if news {
            self.app.end_supply();
            self.drive_sender_out_of_line(now, recorder);
        }
        news
    }

    /// True if the data receiver has closed, or if no connection is open.
    pub fn is_closed_by_receiver(&self) -> bool {
        !self.is_open() || self.has_peer_closed(SENDER)
    }

    /// Closes the endpoint of the receiving proxy. Returns true at the first call.
    pub fn close_receiver(&mut self) -> bool {
        let news = self.is_open() && self.note(|leg| &mut leg.receiver_closed);
        if news {
            self.ends[RECEIVER].close();
        }
        news
    }
}
