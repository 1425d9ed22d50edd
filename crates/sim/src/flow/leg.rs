//! A flow that is a leg of a longer way: it begins or ends at a proxy, which passes on what it
//! reads ([`crate::proxy`]).

use super::{Context, Flow, Phase, RECEIVER, SENDER};
use crate::plan::Side;
use crate::recorder::Recorder;
use retx_tcp::State;
use retx_units::Time;

/// What a flow has to do with proxies, and what has happened that they have to know.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leg {
    /// Which chain of legs it belongs to.
    chain: u32,
    /// Which ends are a proxy's: the data sender, the data receiver.
    at_proxy: [bool; 2],
    /// Who opens its connections is a proxy, which does so when it has been asked to.
    waits: bool,
    /// The peer of a proxy's end has closed.
    peer_closed: [bool; 2],
    /// The proxy has closed its receiving end, too.
    receiver_closed: bool,
    /// A proxy has reset its end.
    aborted: [bool; 2],
    /// What it carries does not arrive: the proxy's other connection is gone.
    doomed: bool,
}

impl Leg {
    /// The peer of this end has closed; true when it is for a proxy to answer that.
    pub const fn peer_closed(&mut self, side: Side) -> bool {
        self.peer_closed[side as usize] = true;
        self.at_proxy[side as usize]
    }

    /// The proxy has reset this end itself.
    pub const fn is_aborted(&self, side: Side) -> bool {
        self.aborted[side as usize]
    }

    /// However it ends, it was in vain.
    pub const fn is_doomed(&self) -> bool {
        self.doomed
    }

    /// Its connections are opened when a proxy is asked to.
    pub const fn waits(&self) -> bool {
        self.waits
    }

    /// The next connection begins.
    pub const fn begin_connection(&mut self) {
        self.peer_closed = [false; 2];
        self.receiver_closed = false;
    }
}

impl Flow {
    /// A proxy receives what this flow carries.
    pub fn end_at_proxy(&mut self) {
        self.app.feed_another();
        self.begin_leg(Side::Receiver);
    }

    /// A proxy sends what this flow carries.
    pub fn begin_at_proxy(&mut self) {
        self.app.be_fed();
        self.begin_leg(Side::Sender);
    }

    fn begin_leg(&mut self, side: Side) {
        let leg = self.leg.get_or_insert_default();
        leg.at_proxy[side as usize] = true;
        if side == self.initiator {
            leg.waits = true;
            self.phase = Phase::Waiting;
            self.opens = Time::NEVER;
        }
    }

    /// The peer of this end has closed; true when it is for a proxy to answer that.
    pub(super) fn peer_closed(&mut self, side: Side) -> bool {
        self.leg.as_mut().is_some_and(|leg| leg.peer_closed(side))
    }

    fn has_peer_closed(&self, side: usize) -> bool {
        self.leg.as_ref().is_some_and(|leg| leg.peer_closed[side])
    }

    /// This has happened; true when it is news.
    fn note(&mut self, what: impl Fn(&mut Leg) -> &mut bool) -> bool {
        !std::mem::replace(what(self.leg.get_or_insert_default()), true)
    }

    /// It belongs to this chain of legs.
    pub fn join_chain(&mut self, chain: u32) {
        self.leg.get_or_insert_default().chain = chain;
    }

    /// The chain of legs that it belongs to, if it is one.
    pub fn chain(&self) -> Option<u32> {
        self.leg.as_ref().map(|leg| leg.chain)
    }

    /// The end that opens its connections.
    pub const fn initiator(&self) -> Side {
        self.initiator
    }

    /// How many connections have been opened.
    pub const fn connections(&self) -> u32 {
        self.connections
    }

    /// True when it waits for its next connection to be opened.
    pub fn is_waiting(&self) -> bool {
        self.phase == Phase::Waiting
    }

    /// True while a connection is open.
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// True when it has come to nothing.
    pub fn has_failed(&self) -> bool {
        self.is_done() && self.reset
    }

    /// True once the handshake is over at this end of the open connection.
    pub fn is_connected_at(&self, side: Side) -> bool {
        let state = self.ends[side as usize].state();
        let before = [State::Listen, State::SynSent, State::SynReceived, State::Closed];
        self.is_open() && !before.contains(&state)
    }

    /// Bytes that the data receiver has read, on all connections so far.
    pub const fn read_bytes(&self) -> u64 {
        self.record.counters.bytes_delivered
    }

    /// The proxy is asked to open the next connection.
    pub fn open_now(&mut self, now: Time, context: &Context<'_>) {
        self.open(now, context);
    }

    /// The proxy's other connection is gone: it resets its end of this one. True when there is
    /// something to send.
    pub fn fail_along(&mut self, side: Side) -> bool {
        let leg = self.leg.get_or_insert_default();
        leg.doomed = true;
        if self.is_waiting() {
            self.reset = true;
            self.has_closed = true;
            self.phase = Phase::Done;
        }
        let news = self.is_open() && self.note(|leg| &mut leg.aborted[side as usize]);
        if news {
            self.ends[side as usize].abort();
        }
        news
    }

    /// The proxy that receives has room for so many bytes: reads what waits, and returns how many
    /// they were.
    pub fn make_room(&mut self, now: Time, bytes: u64) -> u64 {
        self.app.set_room(bytes);
        let read = self.app.receive(&mut self.ends[RECEIVER]);
        self.record.counters.bytes_delivered += read;
        if read > 0 && self.app.is_complete() {
            self.record.note_finish(now);
        }
        self.app.set_room(bytes - read);
        read
    }

    /// The proxy that sends has so many bytes more.
    pub fn give(&mut self, now: Time, bytes: u64, recorder: &mut Recorder) {
        self.app.give(bytes);
        self.drive_sender_apart(now, recorder);
    }

    /// The data sender has closed and all before that has been read, or its connection is over.
    pub fn is_read_to_the_end(&self) -> bool {
        let closed = self.has_peer_closed(RECEIVER) && self.ends[RECEIVER].readable() == 0;
        !self.is_open() || closed
    }

    /// The proxy that sends gets no more of this file; true when that is news.
    pub fn end_supply(&mut self, now: Time, recorder: &mut Recorder) -> bool {
        let news = self.app.is_open();
        if news {
            self.app.end_supply();
            self.drive_sender_apart(now, recorder);
        }
        news
    }

    /// The data receiver has closed, or the connection is over.
    pub fn is_closed_by_receiver(&self) -> bool {
        !self.is_open() || self.has_peer_closed(SENDER)
    }

    /// The proxy that receives closes, too; true when that is news.
    pub fn close_receiver(&mut self) -> bool {
        let news = self.is_open() && self.note(|leg| &mut leg.receiver_closed);
        if news {
            self.ends[RECEIVER].close();
        }
        news
    }
}
