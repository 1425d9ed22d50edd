//! Packets from outside: programs of a real host send them, and are to get them when they have
//! passed the network. There are then no flows in the engine; who hands packets in sets its clock.
//!
//! What leaves the engine waits in a list, in the order in which it happened. A packet's number is
//! free once it has left, so the list is to be emptied before the next packet comes in.

use super::{Engine, Ways};
use crate::drop::Drop;
use crate::options::{Options, RunError};
use crate::packet::{NONE, Others, Transmission};
use crate::plan::{Plan, Side};
use crate::source::Pace;
use retx_record::capture::DropReason;
use retx_record::tables::Tables;
use retx_units::Time;
use retx_wire::{Ecn, Segment};
use std::collections::VecDeque;

/// What lies outside.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// Where each route of the plan begins among the engine's.
    starts: Vec<u32>,
    /// Payload of a full segment of each flow over TCP of the plan.
    smss: Vec<u32>,
    /// How many flows of UDP follow them.
    datagrams: usize,
    left: VecDeque<Left>,
}

/// A packet that comes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Arriving<'a> {
    /// Its way: an index into [`Plan::routes`].
    pub route: u32,
    /// The flow that it belongs to: an index into [`Plan::flows`], behind them for other packets.
    pub flow: u32,
    /// The end of the flow that it goes to.
    pub to: Side,
    /// What it says; of packets other than TCP how much it carries.
    pub segment: &'a Segment,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Position of its first sequence number: SYN 0, first byte of data 1. A datagram's number.
    pub position: u64,
    /// Counts the packets of the flow's data sender. Of a datagram, the nanosecond in which it was
    /// sent.
    pub copy: u64,
    /// Counts the connections of the flow, from 1.
    pub connection: u32,
    /// Whether it repeats anything.
    pub transmission: Transmission,
    /// Its row in the table `segments`, or in `acks`.
    pub row: Option<u32>,
}

/// What became of a packet from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It has come to the end of its way.
    Delivered {
        /// Its number.
        id: u32,
        /// When, by the engine's clock.
        at: Time,
        /// The ECN field that it has now.
        ecn: Ecn,
        /// Another of the copies that the network has made of it came before.
        again: bool,
        /// A relay has marked it: what it asks for was lost on a bad channel.
        loss_notice: bool,
    },
    /// It was dropped.
    Dropped {
        /// Its number.
        id: u32,
        /// Where and why.
        drop: Drop,
        /// No copy of it that the network has made has arrived, or is on its way.
        lost: bool,
        /// It had come no further than the first hop of its way.
        in_first_hop: bool,
    },
    /// A kept copy was let go, and with it a packet is lost of which all others were.
    GivenUp {
        /// Its number.
        id: u32,
        /// Where and why the last of the others was dropped.
        drop: Drop,
    },
    /// It has not left: it has come through the first hop of its way. Told of packets of sources
    /// that keep that hop full.
    PassedFirstHop {
        /// Its number.
        id: u32,
    },
    /// It has not left: the network has made a second one of it.
    Copied {
        /// The number of the original.
        from: u32,
        /// The number of the copy.
        to: u32,
    },
}

impl<'a> Engine<'a> {
    /// A run whose packets come from outside; the plan's flows are there only to be written down.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn for_outside(plan: &'a Plan, options: &Options) -> Result<Self, RunError> {
        let mut ways = Ways { routes: Vec::new(), ports: Vec::new(), pipes: plan.pipes.len() };
        let filled = |route: usize| {
            let saturates = |pace| matches!(pace, Pace::Saturating { .. });
            plan.datagrams.iter().any(|flow| flow.route as usize == route && saturates(flow.pace))
        };
        let routes = plan.routes.iter().enumerate();
        let starts = routes.map(|(index, hops)| ways.lay_for(hops, filled(index))).collect();
        let smss = |flow: &crate::plan::FlowPlan| {
            let tcp = &plan.tcps[flow.tcp as usize].config;
            tcp.mss - if tcp.timestamps { TIMESTAMP_BYTES.min(tcp.mss - 1) } else { 0 }
        };
        let smss = plan.flows.iter().map(smss).collect();
        let mut engine = Self::between(plan, options, ways, Vec::new(), Vec::new())?;
        engine.outside = Some(Box::new(Outside {
            starts,
            smss,
            datagrams: plan.datagrams.len(),
            left: VecDeque::new(),
        }));
        Ok(engine)
    }

    /// A packet comes in from outside, at `now` or at the time of the last event if that is later.
    /// Returns its number, until it has left.
    ///
    /// # Panics
    /// In an engine that is not for outside, when [`Self::advance`] has not come to `None`, and
    /// when the run is over.
    pub fn arrive(&mut self, now: Time, arriving: &Arriving<'_>) -> u32 {
        assert!(!self.over, "the run is over");
        self.now = self.now.max(now);
        assert!(self.next_time() >= self.now, "events come before what arrives after them");
        let outside = self.outside.as_ref().expect("an engine for outside");
        assert!(outside.left.is_empty(), "what has left is fetched first");
        let first = outside.starts[arriving.route as usize];
        self.counts.sent += 1;
        let (id, mut packet) = self.packets.insert(arriving.segment, arriving.ecn);
        packet.position = arriving.position;
        packet.set_copy(arriving.copy);
        packet.set_hop(first);
        packet.to = 2 * arriving.flow + arriving.to as u32;
        packet.set_bytes(arriving.bytes);
        packet.connection = arriving.connection;
        packet.set_transmission(arriving.transmission);
        packet.set_row(arriving.row.unwrap_or(NONE));
        self.send_into(self.step_of(id));
        id
    }

    fn poll_left(&mut self) -> Option<Left> {
        self.outside.as_mut()?.left.pop_front()
    }

    /// What has left by `now`, one after the other; `None` when all events up to then are handled,
    /// or the run is over, when time stands still.
    pub fn advance(&mut self, now: Time) -> Option<Left> {
        loop {
            if let Some(left) = self.poll_left() {
                return Some(left);
            }
            if self.over {
                return None;
            }
            if self.next_time() > now {
                break;
            }
            self.step();
        }
        self.now = self.now.max(now);
        None
    }

    /// Nothing happens before then.
    pub fn next_time(&mut self) -> Time {
        self.agenda.next_time()
    }

    /// The tables that are kept, to write down what only the ends know.
    pub const fn tables(&mut self) -> &mut Tables {
        &mut self.recorder.tables
    }

    /// Payload of a full segment of a flow of the plan.
    ///
    /// # Panics
    /// In an engine that is not for outside.
    pub fn full_segment(&self, flow: u32) -> u32 {
        self.outside.as_ref().expect("an engine for outside").smss[flow as usize]
    }

    /// A retransmission of a flow, its packet number `copy`, was necessary after all: tells the
    /// capture.
    pub fn was_necessary(&mut self, flow: u32, copy: u64) {
        if let Some(capture) = &mut self.recorder.capture {
            capture.was_necessary(flow, copy);
        }
    }

    /// A packet has come to the end of its way.
    #[cold]
    fn leave(&mut self, id: u32) {
        let packet = self.packets.get(id);
        let (ecn, again, loss_notice) = (packet.ecn(), packet.later(), packet.has_loss_notice());
        self.packets.remove(id);
        let outside = self.outside.as_mut().expect("a packet that belongs to no flow");
        outside.left.push_back(Left::Delivered { id, at: self.now, ecn, again, loss_notice });
    }

    /// A packet was dropped.
    #[cold]
    pub(super) fn drop_of_outside(&mut self, id: u32, drop: &Drop) {
        let packet = self.packets.get(id);
        let outside = self.outside.as_mut().expect("a packet that belongs to no flow");
        let flow = packet.flow() as usize;
        if (outside.smss.len()..outside.smss.len() + outside.datagrams).contains(&flow) {
            self.recorder.datagram_dropped(packet, drop);
        } else {
            let smss = outside.smss.get(flow).copied().unwrap_or(u32::MAX);
            self.recorder.dropped(packet, smss, drop);
        }
        // What a relay has absorbed is no loss.
        let lost = packet.others() == Others::None && drop.reason != DropReason::Suppressed;
        let in_first_hop = outside.starts.binary_search(&packet.hop()).is_ok();
        outside.left.push_back(Left::Dropped { id, drop: *drop, lost, in_first_hop });
        self.packets.remove(id);
    }

    /// All copies of a packet that came from outside are gone.
    #[cold]
    pub(super) fn give_up_for_outside(&mut self, id: u32, drop: &Drop) {
        let Some(outside) = self.outside.as_mut() else { return };
        self.recorder.lost(self.packets.get(id), drop);
        outside.left.push_back(Left::GivenUp { id, drop: *drop });
    }

    /// A packet has left the first hop of a way of which that is to be told: true where somebody
    /// outside is to know.
    pub(super) fn tell_of_first_hop(&mut self, id: u32) -> bool {
        let Some(outside) = self.outside.as_mut() else { return false };
        outside.left.push_back(Left::PassedFirstHop { id });
        true
    }

    /// A channel has made a copy of a packet.
    pub(super) fn tell_of_copy(&mut self, from: u32, to: u32) {
        if let Some(outside) = &mut self.outside {
            outside.left.push_back(Left::Copied { from, to });
        } else if self.packets.get(from).flow() as usize >= self.flows.len() {
            self.note_copy_of_datagram(to);
        }
    }

    /// A packet that belongs to no flow over TCP has reached its host.
    #[inline(never)]
    pub(super) fn deliver_elsewhere(&mut self, id: u32) {
        self.packets.end(id, true);
        if self.outside.is_some() {
            self.recorder.delivered(self.now, self.packets.get(id));
            self.leave(id);
        } else {
            self.deliver_datagram(id);
        }
    }

    /// A packet that belongs to no flow over TCP was dropped.
    #[inline(never)]
    pub(super) fn drop_elsewhere(&mut self, id: u32, drop: &Drop) {
        if self.outside.is_some() {
            self.drop_of_outside(id, drop);
        } else {
            self.drop_datagram(id, drop);
        }
    }
}

/// What timestamps take of each segment: ten bytes, and two of padding (RFC 7323 §3.2).
const TIMESTAMP_BYTES: u32 = 12;
